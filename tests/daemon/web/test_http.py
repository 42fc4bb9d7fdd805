"""The HTTP server in its loop: what it answers, and clients that misbehave. Run under asan too."""
import concurrent.futures
import contextlib
import http.client
import json
import os
import pathlib
import select
import shutil
import socket
import sqlite3
import ssl
import subprocess
import time

import serve
import run_file


class Http(serve.ServedCase):
    def connect(self, timeout_s=20):
        return self.connect_to(self.server, timeout_s)

    def connect_to(self, server, timeout_s=20):
        return contextlib.closing(socket.create_connection((server.host, server.port), timeout=timeout_s))

    def raw(self, data, timeout_s=20):
        """Sends the bytes as they are; the status line, "" if it was hung up or there was silence."""
        with self.connect(timeout_s) as s:
            with contextlib.suppress(OSError):  # hung up already
                s.sendall(data)
                s.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionResetError, TimeoutError):
                return s.makefile("rb").readline().decode(errors="replace").strip()
            return ""

    def assert_alive(self):
        self.assertEqual(self.server.get("/healthz")[::2], (200, "ok\n"))

    def test_answers(self):
        rows = [("/metrics", 200, "text/plain; version=0.0.4; charset=utf-8"),
                ("/healthz", 200, "text/plain; charset=utf-8"),
                ("/readyz", 200, "text/plain; charset=utf-8"),
                ("/api/v1/runs", 200, "application/json"),
                (f"/api/v1/runs/{self.name}", 200, "application/json"),
                (f"/api/v1/runs/{self.name}/results", 200, "application/json"),
                (f"/api/v1/runs/{self.name}/logs?point=0", 200, "text/plain; charset=utf-8"),
                ("/", 200, "text/html; charset=utf-8"),
                (f"/runs/{self.name}", 200, "text/html; charset=utf-8"),
                (f"/runs/{self.name}/point", 404, "application/json"),
                (f"/compare?run={self.name}&run={self.name}", 404, "application/json"),
                (f"/benchmarks/{self.document['benchmark']}", 404, "application/json"),
                ("/favicon.ico", 404, "application/json"),
                ("/api/v1/runs/%2e%2e%2fetc", 404, "application/json"),
                ("/api/v1/runs/a%00b", 404, "application/json")]
        for path, code, content_type in rows:
            with self.subTest(path):
                got, headers, body = self.server.get(path)
                self.assertEqual((got, headers["Content-Type"]), (code, content_type))
                self.assertEqual(int(headers["Content-Length"]), len(body.encode()))
                self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
                self.assertIn("default-src 'none'", headers["Content-Security-Policy"])

    def test_the_same_documents_as_benchctl(self):
        printed = self.ctl("results", self.name, "--store", self.store, "-o", "json").stdout
        self.assertEqual(self.server.get(f"/api/v1/runs/{self.name}/results")[2], printed)
        listed = self.ctl("get", "runs", "--store", self.store, "-o", "json").stdout
        self.assertEqual(self.server.get("/api/v1/runs")[2], listed)
        log = self.ctl("logs", self.name, "--store", self.store, "--point", "2", "--trial", "1",
                       "--role", "pserver").stdout
        self.assertEqual(self.server.get(f"/api/v1/runs/{self.name}/logs?point=2&trial=1&role=pserver")[2], log)

    def test_methods(self):
        code, headers, body = self.server.get("/metrics", method="HEAD")
        self.assertEqual((code, body), (200, ""))
        self.assertGreater(int(headers["Content-Length"]), 1000)
        for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "BREW"):
            with self.subTest(method):
                code, headers, body = self.server.get("/api/v1/runs", method=method)
                self.assertEqual((code, headers["Allow"]), (405, "GET, HEAD"))
                self.assertIn('"code": 405', body)

    def test_a_body_is_not_read(self):
        for method, code in (("POST", "405"), ("GET", "400")):
            for framing in ("Content-Length: 1000000000", "Transfer-Encoding: chunked"):
                with self.subTest(f"{method} {framing}"):
                    head = f"{method} /metrics HTTP/1.1\r\nHost: x\r\n{framing}\r\n\r\n".encode()
                    self.assertIn(f" {code} ", self.raw(head))
                    # Who goes on sending may see the reset before the answer.
                    self.assertIn(self.raw(head + b"x" * 100000).split(" ")[1:2], ([code], []))
        self.assert_alive()

    def test_too_much(self):
        rows = [("headers", b"GET /metrics HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 100000 + b"\r\n\r\n", ("431", "413")),
                ("many headers", b"GET / HTTP/1.1\r\nHost: x\r\n" + b"a: b\r\n" * 20000 + b"\r\n", ("431", "413")),
                ("path", b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", ("414",)),
                ("arguments", b"GET /?" + b"a=b&" * 17 + b" HTTP/1.1\r\nHost: x\r\n\r\n", ("400",))]
        for name, data, codes in rows:
            with self.subTest(name):
                line = self.raw(data)
                # It may hang up on someone who goes on sending: then the reset can beat the answer.
                self.assertTrue(line == "" or line.split()[1] in codes, line)
        self.assert_alive()

    def test_no_http(self):
        """What is never complete is left to the limit of 10 s of silence; nobody waits for that here."""
        for data in (b"\x16\x03\x01\x02\x00\x01\x00", b"\r\n\r\n\r\n", b"GET", b"GET / HTTP/9.9\r\n\r\n", b"\0" * 5000, b""):
            with self.subTest(data[:20]):
                self.assertNotIn(" 200 ", self.raw(data, 0.5))
        self.assert_alive()

    def test_two_hundred_at_once(self):
        paths = ["/metrics", "/api/v1/runs", f"/api/v1/runs/{self.name}/results", "/"] * 50
        with concurrent.futures.ThreadPoolExecutor(200) as pool:
            answers = list(pool.map(self.server.get, paths))
        late = [headers for code, headers, _ in answers if code != 200]  # more than may wait
        self.assertEqual([headers["Retry-After"] for headers in late], ["2"] * len(late))
        self.assertEqual({code for code, _, _ in answers} - {503}, {200})
        self.assertLess(len(late), 100)
        self.assertEqual(len({body for (code, _, body), path in zip(answers, paths) if (path, code) == ("/", 200)}), 1)

    def test_others_wait_for_nobody(self):
        """Half a request on a hundred connections, and a client that reads nothing."""
        with contextlib.ExitStack() as stack:
            for _ in range(100):
                stack.enter_context(self.connect()).sendall(b"GET /metrics HTTP/1.1\r\nHos")
            deaf = stack.enter_context(self.connect())
            deaf.sendall(f"GET /api/v1/runs/{self.name}/results HTTP/1.1\r\nHost: x\r\n\r\n".encode() * 100)
            self.assert_alive()
        self.assert_alive()

    def test_one_address_does_not_take_all_connections(self):
        """More than there are, which say nothing: the probes of another address are answered before they count as idle."""
        with contextlib.ExitStack() as stack:
            for _ in range(600):
                stack.enter_context(self.connect())
            kubelet = stack.enter_context(contextlib.closing(
                http.client.HTTPConnection(self.server.host, self.server.port, timeout=5, source_address=("127.0.0.2", 0))))
            kubelet.request("GET", "/healthz")
            self.assertEqual(kubelet.getresponse().status, 200)

    def test_logs_that_are_read_slowly(self):
        """Their memory has a limit; others are told to come again, and probes and scrapes are answered all the same."""
        server = self.serve(self.name, big=True)
        path = f"/api/v1/runs/{self.name}/logs?point=0&attempt=7"
        request = f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
        self.assertEqual(server.get(path)[0], 200)
        with contextlib.ExitStack() as stack:
            slow = []
            for _ in range(8):
                for reader in slow:     # one that reads nothing is dropped, and the next answer may take as long as that
                    reader.recv(1 << 20, socket.MSG_WAITALL)
                reader = socket.socket()
                reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 18)     # far less than a log
                stack.enter_context(contextlib.closing(reader))
                reader.connect((server.host, server.port))
                reader.sendall(request)
                if reader.recv(12) != b"HTTP/1.1 200":   # the first that there is no room for
                    break
                slow.append(reader)
            refused = reader.recv(4096).decode()
            self.assertIn("try again later", refused)
            self.assertEqual(server.get("/healthz")[0], 200)
            code, _, page = server.get("/metrics")
            self.assertEqual((code, len(page) > 1 << 16), (200, True), "it has room of its own")
        until = time.monotonic() + 90       # the server has to notice that they left
        while server.get(path)[0] == 503:
            self.assertLess(time.monotonic(), until, "what was sent to clients that left still counts")

    def test_a_long_document(self):
        """Each reader gets a run's file whole, at its own speed, and the store's folder has nothing of it afterwards."""
        server = self.serve(self.name, big=True)
        path = f"/api/v1/runs/{self.name}/file?point=0&attempt=7&logs=true"
        with self.connect_to(server) as slow:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
            slow.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
            self.assertEqual(slow.recv(12), b"HTTP/1.1 200")
            for _ in range(3):
                code, headers, body = server.get(path)
                self.assertEqual((code, int(headers["Content-Length"])), (200, len(body)))
                db = sqlite3.connect(":memory:")
                db.deserialize(run_file.decompress(body.encode("latin-1")))
                (facts,), = db.execute("SELECT facts FROM replica JOIN environment ON id = environment").fetchall()
                self.assertEqual(len(json.loads(facts)["pad"]), 3 << 20)
            head = http.client.HTTPConnection(server.host, server.port, timeout=20)
            with contextlib.closing(head):
                head.request("HEAD", path)
                answer = head.getresponse()
                self.assertEqual((answer.status, int(answer.getheader("Content-Length"))), (200, len(body)))
            rest = b"".join(iter(lambda: slow.recv(1 << 20), b""))
            self.assertEqual(rest.partition(b"\r\n\r\n")[2].decode("latin-1"), body)
        self.assertEqual([p for p in self.folder.iterdir() if ".run-" in p.name], [])

    def test_a_full_disk(self):
        """A run's file is made next to the store; where there is no room, in memory."""
        if os.geteuid() != 0:
            self.skipTest("only root can mount a small disk")
        small = self.folder / "small"
        small.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", small], check=True)
        try:
            for path in self.folder.glob("results.db*"):
                shutil.copy(path, small)
            server = serve.Server(f"sqlite:{small}/results.db")
            _, _, body = server.get(f"/api/v1/runs/{self.name}/file")
            with contextlib.suppress(OSError), open(small / "fill", "wb", buffering=0) as fill:
                while fill.write(bytes(4096)):
                    pass
            again = server.get(f"/api/v1/runs/{self.name}/file")[::2]
            self.assertEqual((server.end(), again), ((0, ""), (200, body)))
        finally:
            subprocess.run(["umount", "-l", small], check=True)

    def test_clients_that_go_away(self):
        request = f"GET /api/v1/runs/{self.name}/results HTTP/1.1\r\nHost: x\r\n\r\n".encode()
        for i in range(50):
            with self.connect() as s:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset, not a goodbye
                s.sendall(request * 20 if i % 2 else request[:i])
        self.assert_alive()

    def test_one_connection_many_requests(self):
        request = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
        last = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        with self.connect() as s:
            s.sendall(request * 99 + last)
            self.assertEqual(s.makefile("rb").read().count(b"HTTP/1.1 200 OK"), 100)

    def test_fifty_clients_cost_the_loop_nothing(self):
        """The Lease is renewed by a timer of the same loop. What counts is the CPU that the loop spends between two
        beats: it does not depend on what else the machine does."""
        paths = [f"/api/v1/runs/{self.name}/results", f"/runs/{self.name}", "/", f"/api/v1/runs/{self.name}/file",
                 "/api/v1/runs", f"/api/v1/runs/{self.name}", f"/api/v1/runs/{self.name}/logs?point=0", "/metrics"]

        def ask(i):
            return [self.server.get(paths[(i + k) % len(paths)])[0] for k in range(16)]
        with concurrent.futures.ThreadPoolExecutor(50) as pool:
            codes = [code for codes in pool.map(ask, range(50)) for code in codes]
        self.assertEqual(self.server.end(), (0, ""))
        self.assertEqual(set(codes) - {200, 503}, set())
        self.assertGreater(codes.count(200), 400)
        self.server.judge_loop(self)

    def cpu_s(self):
        """What the server has used; its loop uses next to nothing."""
        fields = pathlib.Path(f"/proc/{self.server.process.pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
        return sum(int(ticks) for ticks in fields[11:13]) / os.sysconf("SC_CLK_TCK")

    def test_fifty_clients_have_a_fifth_of_a_cpu(self):
        """web_server says that a run is driven. Nobody is sent away. A sanitizer has its own time, which is no figure of benchd."""
        if self.server.is_slow():
            self.skipTest("a sanitizer's time is not benchd's")
        paths = [f"/api/v1/runs/{self.name}/results", f"/runs/{self.name}", "/", "/api/v1/runs", f"/api/v1/runs/{self.name}/file"]
        until = time.monotonic() + 6

        def ask(i):
            codes = []
            while time.monotonic() < until:
                codes.append(self.server.get(paths[(i + len(codes)) % len(paths)])[0])
            return codes
        before, began = self.cpu_s(), time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(50) as pool:
            codes = [code for codes in pool.map(ask, range(50)) for code in codes]
        took = time.monotonic() - began
        used = self.cpu_s() - before
        print(f"# {len(codes)} answers, {used:.2f} s of CPU in {took:.1f} s")
        self.assertEqual(set(codes), {200})
        self.assertLess(used, 0.5 + 0.02 + took / 5 + 0.4, "the burst, a slice, the share, and what was under way")

    def threads(self):
        """What each thread of the server does now ("S": it sleeps), and how much it has worked."""
        tasks = pathlib.Path(f"/proc/{self.server.process.pid}/task").glob("*/stat")
        fields = [path.read_text(encoding="ascii").rsplit(")", 1)[1].split() for path in tasks]
        return [(state, *ticks[10:12]) for state, *ticks in fields]

    def is_at_rest(self):
        """All threads sleep, each time that one looks, and none works in between."""
        before = self.threads()
        for _ in range(25):
            time.sleep(0.02)  # how long it rests is what this is about
            if self.threads() != before:
                return False
        return all(state == "S" for state, *_ in before)

    def test_rests_while_nothing_comes(self):
        """An edge-triggered epoll set and a timeout of 0 make a busy loop of the smallest mistake."""
        with contextlib.ExitStack() as stack:
            for head in (b"", b"GET /metrics HTTP/1.1\r\nHos", b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n") * 10:
                client = stack.enter_context(self.connect())
                client.sendall(head)
            self.assertIn(b" 200 ", client.recv(1000))
            late = stack.enter_context(self.connect())
            serve.cli.wait_for("the server is at rest", self.is_at_rest)
            if select.select([late], [], [], 0)[0]:
                self.assertEqual(late.recv(1), b"", "closed as idle, if the machine is slow, and never answered")

    def certificate(self, name):
        """A new pair of files in place of the last one, as kubelet puts them there; the client's trust in it."""
        files = [self.folder / f"{name}.{end}" for end in ("crt", "key")]
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", f"/CN={name}",
                        "-addext", "subjectAltName=IP:127.0.0.1", "-out", files[0], "-keyout", files[1]], check=True, capture_output=True)
        for file, place in zip(files, ("TLS_CERT", "TLS_KEY")):
            os.environ[place] = str(self.folder / place)
            shutil.copy(file, f"{os.environ[place]}.new")
            os.rename(f"{os.environ[place]}.new", os.environ[place])
        return ssl.create_default_context(cafile=files[0])

    def ask_tls(self, context):
        with contextlib.closing(http.client.HTTPSConnection(self.server.host, self.server.port, context=context, timeout=20)) as c:
            c.request("GET", f"/api/v1/runs/{self.name}")
            return c.getresponse().status

    def test_tls(self):
        self.addCleanup(lambda: (os.environ.pop("TLS_CERT"), os.environ.pop("TLS_KEY")))
        first = self.certificate("first")
        self.server = serve.Server(self.store)
        self.addCleanup(self.server.end)
        self.assertEqual(self.ask_tls(first), 200)
        self.assertEqual(self.raw(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"), "", "without TLS the connection is closed at once")
        with self.connect_to(self.server) as idle, contextlib.closing(http.client.HTTPSConnection(self.server.address, context=first)) as kept:
            kept.request("GET", "/healthz")
            self.assertEqual(kept.getresponse().read(), b"ok\n")
            second = self.certificate("second")

            def is_new():
                with contextlib.suppress(ssl.SSLCertVerificationError):
                    return self.ask_tls(second) == 200
            serve.cli.wait_for("the new certificate is served", is_new)
            self.assertLess(len(idle.makefile("rb").read()), 100, "one that says nothing is closed, as without TLS")
        for name, damage in (("TLS_KEY", b"no key"), ("TLS_CERT", pathlib.Path(self.folder / "first.crt").read_bytes())):
            good = pathlib.Path(os.environ[name]).read_bytes()
            pathlib.Path(os.environ[name]).write_bytes(damage)
            process = subprocess.run([os.environ["WEB_SERVER"], self.store], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
            self.assertRegex(process.stderr, "certificate '.*' with key '.*': ", name)
            pathlib.Path(os.environ[name]).write_bytes(good)
        self.assertEqual(self.ask_tls(second), 200, "what cannot be used changes nothing")
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            self.assertEqual(set(pool.map(self.ask_tls, [second] * 200)), {200})
        self.assertEqual(self.server.end()[0], 0)
        self.server.judge_loop(self)

    def test_ends_while_clients_are_there(self):
        with self.connect() as idle, self.connect() as half:
            half.sendall(b"GET / HTT")
            idle.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            self.assertIn(b"200", idle.recv(100))
            self.assertEqual(self.server.end(), (0, ""))

    def test_ends_while_documents_are_made(self):
        """The end comes at any moment of an answer: one in twenty servers meets the one where MHD takes none. The plain build tries
        that often; a sanitizer looks at what each of them does, and starts them slowly."""
        request = f"GET /api/v1/runs/{self.name}/results HTTP/1.1\r\nHost: x\r\n\r\n".encode()
        for _ in range(20 if self.server.is_slow() else 100):
            server = self.serve()
            with self.connect_to(server) as client:
                client.sendall(request * 100)
                self.assertEqual(server.end(), (0, ""))


if __name__ == "__main__":
    serve.cli.main()
