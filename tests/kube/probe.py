"""Drives the program probe: commands out, events in, each with a time limit."""
import json
import os
import queue
import subprocess
import threading
import time

WAIT_S = 120  # for what only a crawling machine delays


class Probe:
    """probe as a child; `kubeconfig` is a path; `under`: the words of a program that starts it; `more`: arguments."""

    def __init__(self, kubeconfig, under=(), more=(), **options):
        self.child = subprocess.Popen([*under, os.environ["KUBE_PROBE"], str(kubeconfig), *more], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
        self.events = {}
        self.last_id = 0
        self.lock = threading.Lock()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _queue(self, number):
        with self.lock:
            return self.events.setdefault(number, queue.Queue())

    def _read(self):
        for line in self.child.stdout:
            event = json.loads(line)
            self._queue(event["id"]).put(event)

    def start(self, op, **more):
        """Sends a command; returns its number."""
        self.last_id += 1
        self.send(id=self.last_id, op=op, **more)
        return self.last_id

    def send(self, **command):
        self.child.stdin.write(json.dumps(command) + "\n")
        self.child.stdin.flush()

    def start_and_cancel(self, op, **more):
        """The same with a command that cancels it; the probe reads both before it goes on."""
        self.last_id += 1
        self.child.stdin.write(json.dumps({"id": self.last_id, "op": op, **more}) + "\n" +
                               json.dumps({"op": "cancel", "target": self.last_id}) + "\n")
        self.child.stdin.flush()
        return self.last_id

    def next(self, number, wait_s=WAIT_S):
        """The next event of a command; {} if none comes in time."""
        try:
            return self._queue(number).get(timeout=wait_s)
        except queue.Empty:
            return {}

    def until(self, number, event, wait_s=WAIT_S, **wanted):
        """Events up to the one that is wanted, which comes last; [] if it does not come."""
        seen, deadline = [], time.monotonic() + wait_s
        while time.monotonic() < deadline:
            got = self.next(number, max(deadline - time.monotonic(), 0.01))
            seen.append(got)
            if got.get("event") == event and all(got.get(k) == v for k, v in wanted.items()):
                return seen
        return []

    def ask(self, op, **more):
        """Sends a command and waits for its end."""
        return self.next(self.start(op, **more))

    def notices(self):
        """The texts of all notices until now; call it after an answer."""
        found = []
        while (event := self.next(0, 0.05)):
            found.append(event["text"])
        return found

    def quit(self):
        """Ends it with whatever is under way; returns (exit status, what it said on stderr)."""
        try:
            self.send(op="quit")
            self.child.stdin.close()
        except BrokenPipeError:
            pass
        status = self.child.wait(timeout=WAIT_S)
        self.reader.join()
        with self.child.stdout, self.child.stderr:
            return status, self.child.stderr.read()


class ProbeScene:
    """A fake and a probe on it, which a subclass starts; at the end the probe must have closed everything."""
    kept = None   # a folder that goes at the end
    said = ""     # what a plugin of its says on standard error

    def __exit__(self, kind, *_):
        end = self.probe.quit()
        self.fake.__exit__()
        if self.kept is not None:
            self.kept.cleanup()
        if kind is None:
            self.equal((0, self.said), end, "ends clean")

    def equal(self, wanted, got, what):
        self.t.equal(wanted, got, f"{self.name}: {what}")

    def match(self, wanted, got, what):
        self.t.match(wanted, got, f"{self.name}: {what}")
