"""An HTTP/2 server that misbehaves frame by frame: TLS with ALPN, standard library only.

Requests are numbered in the order in which their headers come, over all connections; each takes the next answer, the
last one stays. Headers are not decoded (nothing here needs a path). An answer is a function (connection, stream)."""
import socketserver
import struct
import threading
import time

import fake_api

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY = 0, 1, 3, 4, 6, 7
END_STREAM, END_HEADERS, ACK = 1, 4, 1
NO_ERROR, INTERNAL_ERROR, REFUSED_STREAM = 0, 2, 7
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
OK = b"\x88" + b"\x0f\x10\x10application/json"   # :status 200 and content-type, by HPACK's static table


class Connection:
    def __init__(self, fake, handler, number):
        self.fake, self.handler, self.number = fake, handler, number
        self.lock = threading.Lock()

    def send(self, kind, flags, stream, payload=b""):
        head = struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream)
        with self.lock:
            self.handler.wfile.write(head + payload)

    def read(self):
        """(kind, flags, stream, payload), None at the end."""
        head = self.handler.rfile.read(9)
        if len(head) < 9:
            return None
        size = int.from_bytes(head[:3], "big")
        return head[3], head[4], int.from_bytes(head[5:], "big"), self.handler.rfile.read(size)

    def serve(self):
        if self.handler.rfile.read(len(PREFACE)) != PREFACE:
            return
        self.send(SETTINGS, 0, 0)
        while (frame := self.read()) is not None:
            kind, flags, stream, payload = frame
            if self.number in self.fake.frozen:
                self.fake.is_over.wait()   # the kernel goes on to take bytes in
                return
            if kind == SETTINGS and not flags & ACK:
                self.send(SETTINGS, ACK, 0)
            elif kind == PING and not flags & ACK:
                self.send(PING, ACK, 0, payload)
            elif kind == HEADERS if self.fake.is_early else kind in (HEADERS, DATA) and flags & END_STREAM:
                self.fake.take(self, stream)(self, stream)


class FakeH2:
    def __init__(self, tls):
        tls.set_alpn_protocols(["h2"])
        self.answers, self.requests, self.times = [], [], []   # requests: (number of the connection, stream)
        self.connections, self.frozen = [], set()
        self.is_early = False                  # answers come before a request's body
        self.lock = threading.Condition()
        self.is_over = threading.Event()
        fake = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                with fake.lock:
                    connection = Connection(fake, self, len(fake.connections))
                    fake.connections.append(connection)
                connection.serve()

        self.server = fake_api.Server(("127.0.0.1", 0), Handler)
        self.server.tls = tls
        self.url = f"https://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.server.shutdown()
        self.server.server_close()

    def answer(self, *answers):
        with self.lock:
            self.answers = list(answers)
            self.requests, self.times = [], []

    def take(self, connection, stream):
        with self.lock:
            self.requests.append((connection.number, stream))
            self.times.append(time.monotonic())
            self.lock.notify_all()
            return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def wait_for(self, n, wait_s=120):
        """True when n requests have come since the answers were given."""
        with self.lock:
            return self.lock.wait_for(lambda: len(self.requests) >= n, wait_s)

    def freeze(self):
        """From now on the connections that are there take bytes and say nothing."""
        with self.lock:
            self.frozen = set(range(len(self.connections)))


def ok(connection, stream):
    connection.send(HEADERS, END_HEADERS, stream, OK)
    connection.send(DATA, END_STREAM, stream, b"{}")


def begun(connection, stream):
    """The headers and a piece of the body; the rest when the test says so: more()."""
    connection.send(HEADERS, END_HEADERS, stream, OK)
    more(connection, stream, b"begun\n")


def more(connection, stream, data, end=False):
    connection.send(DATA, END_STREAM if end else 0, stream, data)


def silent(_connection, _stream):
    pass


def reset(code):
    def answer(connection, stream):
        connection.send(RST_STREAM, 0, stream, struct.pack(">I", code))
    return answer


def goaway(last, code=NO_ERROR):
    """No stream after `last` (a function of the request's) was or will be worked on."""
    def answer(connection, stream):
        connection.send(GOAWAY, 0, 0, struct.pack(">II", last(stream), code))
    return answer


def each(*answers):
    def answer(connection, stream):
        for one in answers:
            one(connection, stream)
    return answer
