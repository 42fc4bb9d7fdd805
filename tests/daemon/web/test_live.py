"""Who follows a run by server-sent events: what comes, when, and what followers that misbehave cost."""
import contextlib
import json
import os
import re
import select
import socket
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import serve

WITHIN_S = 90  # for what must come at all, however busy the machine is
MAX = 100      # STREAMS_MAX of daemon/web/stream.h


class Follower:
    """One connection; what it has received."""

    def __init__(self, server, path, last_id=None, receive_bytes=None):
        self.socket = socket.socket()
        if receive_bytes:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self.socket.settimeout(WITHIN_S)
        self.socket.connect((server.host, server.port))
        known = f"Last-Event-ID: {last_id}\r\n" if last_id else ""
        self.socket.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n{known}\r\n".encode())
        self.data = b""

    def close(self):
        self.socket.close()

    def read_until(self, pattern):
        """All bytes, once they hold the pattern; AssertionError where the connection ends before."""
        end = time.monotonic() + WITHIN_S
        while not re.search(pattern, self.data):
            if time.monotonic() > end:
                raise AssertionError(f"no {pattern} within {WITHIN_S} s: {self.data[-500:]}")
            more = self.socket.recv(65536)
            if not more:
                raise AssertionError(f"ended without {pattern}: {self.data[-500:]}")
            self.data += more
        return self.data.decode()

    def is_ended(self):
        """Reads to the end of the answer: the last chunk, or the end of the connection."""
        end = time.monotonic() + WITHIN_S
        while not self.data.endswith(b"0\r\n\r\n"):
            if not select.select([self.socket], [], [], max(0, end - time.monotonic()))[0]:
                return False
            more = self.socket.recv(65536)
            if not more:
                return True
            self.data += more
        return True

    def events(self):
        """The events so far: (id, kind, data)."""
        return [(one, kind, json.loads(data)) for one, kind, data in
                re.findall(r"id: (\w+)\nevent: (\w+)\ndata: (.*)\n\n", self.data.decode())]


class Live(serve.ServedCase):
    def serve(self, active=None, big=False):
        return super().serve(active or getattr(self, "name", None) or self.document["run"], big)

    def follow(self, path=None, **how):
        follower = Follower(self.server, path or f"/runs/{self.name}/events", **how)
        self.addCleanup(follower.close)
        return follower

    def test_what_comes_first(self):
        follower = self.follow()
        text = follower.read_until(rb"\ndata: .*\n\n")
        head = text.split("\r\n\r\n")[0]
        for line in ("HTTP/1.1 200 OK", "Content-Type: text/event-stream; charset=utf-8", "Cache-Control: no-store",
                     "X-Content-Type-Options: nosniff", "X-Accel-Buffering: no"):
            self.assertIn(line, head)
        (one, kind, state), = follower.events()
        self.assertEqual((len(one), kind, state["name"], state["progress"]["step"]), (16, "run", self.name, 3))
        self.assertEqual((state["total"], state["over"]), (self.document["trials"]["total"] if "trials" in self.document
                                                             else state["total"], False))

    def test_a_step_comes_within_a_second(self):
        """From the daemon's word to the follower's socket; the server publishes at once, as benchd does at a step."""
        follower = self.follow()
        follower.read_until(rb'"step":3,')
        took_s = []
        for step in range(4, 14):
            said = time.monotonic()
            self.server.say(f"step {step}")
            follower.read_until(rb'"step":%d,' % step)
            took_s.append(time.monotonic() - said)
        print(f"# a step came after {min(took_s) * 1e3:.0f} to {max(took_s) * 1e3:.0f} ms")
        self.assertLess(sorted(took_s)[len(took_s) // 2], 1.0)

    def test_who_has_the_state_waits_for_the_next(self):
        first = self.follow()
        first.read_until(rb"\ndata: .*\n\n")
        one = first.events()[0][0]
        again = self.follow(last_id=one)
        again.read_until(rb"retry: 2000\n\n")
        self.server.say("step 9")
        again.read_until(rb'"step":9,')
        self.assertEqual([state["progress"]["step"] for _, _, state in again.events()], [9])
        other = self.follow(last_id="0123456789abcdef")
        other.read_until(rb'"step":9,')

    def test_the_end(self):
        follower = self.follow()
        follower.read_until(rb'"step":3,')
        self.server.say("phase Failed")
        self.assertTrue(follower.is_ended())
        self.assertEqual([(state["phase"], state["over"]) for _, _, state in follower.events()][-1], ("Failed", True))

    def test_a_run_that_goes_away(self):
        follower = self.follow()
        follower.read_until(rb'"step":3,')
        self.server.say("gone")
        self.assertTrue(follower.is_ended())
        code, _, body = self.server.get(f"/runs/{self.name}/events")
        self.assertEqual((code, "there is nothing to follow" in body), (404, True))

    def test_the_list(self):
        follower = self.follow("/events")
        follower.read_until(rb"\ndata: .*\n\n")
        self.server.say("phase Suspended")
        follower.read_until(rb'"phase":"Suspended"')
        self.assertEqual({kind for _, kind, _ in follower.events()}, {"runs"})
        self.assertEqual([run["name"] for run in follower.events()[-1][2]["runs"]], [self.name])

    def test_heartbeat(self):
        follower = self.follow()
        follower.read_until(rb": still here\n\n")
        self.assertEqual(len(follower.events()), 1)

    def test_head_and_wrong_paths(self):
        self.assertEqual(self.server.get(f"/runs/{self.name}/events", method="HEAD")[0], 200)
        for path in ("/runs/none/events", "/runs//events", "/runs/a/b/events"):
            with self.subTest(path):
                self.assertEqual(self.server.get(path)[0], 404)

    def test_a_limit_with_a_clear_answer(self):
        """What others ask is answered all the same; who leaves makes room."""
        with contextlib.ExitStack() as stack:
            followers = [stack.enter_context(contextlib.closing(Follower(self.server, f"/runs/{self.name}/events")))
                         for _ in range(MAX)]
            for follower in followers:
                follower.read_until(rb"\ndata: .*\n\n")
            code, headers, body = self.server.get(f"/runs/{self.name}/events")
            self.assertEqual((code, headers["Retry-After"]), (503, "2"))
            self.assertIn(f"{MAX} pages follow runs already", body)
            self.assertEqual(self.server.get("/healthz")[0], 200)
            self.assertEqual(self.server.get(f"/runs/{self.name}")[0], 200)
            self.server.say("step 11")
            for follower in followers:
                follower.read_until(rb'"step":11,')
            page = self.server.get("/metrics")[2]
            self.assertIn(f"benchd_http_streams {MAX}\n", page)
        serve.cli.wait_for("a place", lambda: Follower(self.server, f"/runs/{self.name}/events").read_until(
            rb"HTTP/1.1 \d+ ").startswith("HTTP/1.1 200"), WITHIN_S)

    def test_who_reads_nothing_is_dropped(self):
        """Its event is the newest one all the time: nothing piles up, and in the end it is closed."""
        deaf = self.follow(receive_bytes=2048)
        quick = self.follow()
        streams = lambda: int(re.search(r"\nbenchd_http_streams (\d+)\n", self.server.get("/metrics")[2]).group(1))
        serve.cli.wait_for("both", lambda: streams() == 2, WITHIN_S)
        end = time.monotonic() + 90
        step = 4
        while streams() == 2:
            self.assertLess(time.monotonic(), end, "it is still followed by one that reads nothing")
            step += 1
            self.server.say(f"step {step}")
            quick.read_until(rb'"step":%d,' % step)
        self.assertEqual(streams(), 1)
        deaf.close()

    def test_fifty_followers_cost_the_loop_nothing(self):
        followers = [self.follow() for _ in range(50)]
        for step in range(20, 40):
            self.server.say(f"step {step}")
            for follower in followers:
                follower.read_until(rb'"step":%d,' % step)
        for follower in followers:
            follower.close()
        self.assertEqual(self.server.end(), (0, ""))
        self.server.judge_loop(self)

    def test_ends_while_some_follow(self):
        followers = [self.follow() for _ in range(5)]
        for follower in followers:
            follower.read_until(rb"\ndata: .*\n\n")
        self.assertEqual(self.server.end(), (0, ""))

    def test_the_read_key(self):
        os.environ["READ_KEY"] = "k" * 32
        self.addCleanup(os.environ.pop, "READ_KEY")
        server = self.serve(self.name)
        path = f"/runs/{self.name}/events"
        self.assertEqual(server.get(path)[0], 403)
        self.assertEqual(server.get(path, method="HEAD", **{"X-Benchd-Read-Key": "k" * 32})[0], 200)


if __name__ == "__main__":
    serve.cli.main()
