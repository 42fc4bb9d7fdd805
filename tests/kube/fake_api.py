"""An API server that misbehaves as it is told: HTTP/1.1 over plain TCP or TLS, standard library only.

    with FakeApi() as fake:
        fake.on("GET", "/version", fake.json(200, {}), fake.status(429, ...))

Each path has a list of answers; each request takes the next one, the last one stays. An answer is a function
(fake, handler) that writes what it likes; handler.asked is the request. False from it means that the connection is closed."""
import json
import socket
import socketserver
import ssl
import struct
import threading
import time

CLOSE = False


class Request:
    def __init__(self, method, path, headers, body):
        self.method, self.path, self.headers, self.body, self.at_s = method, path, headers, body, None


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128
    tls = None

    def get_request(self):
        connection, address = super().get_request()
        if self.tls is not None:
            connection = self.tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        return connection, address

    def handle_error(self, *_):
        pass   # clients that go away in the middle are what this is for


class FakeApi:
    def __init__(self, tls=None, port=0):
        self.answers, self.requests = {}, []
        self.lock = threading.Condition()
        self.connections = 0
        self.is_over = threading.Event()   # ends those who wait
        fake = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                fake.serve(self)

        self.server = Server(("127.0.0.1", port), Handler)
        self.server.tls = tls
        self.port = self.server.server_address[1]
        self.scheme = "http" if tls is None else "https"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.stop_listening()

    def stop_listening(self):
        """Connections that are there go on."""
        self.server.shutdown()
        self.server.server_close()

    @property
    def url(self):
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def on(self, method, path, *answers):
        """`path` without query, or with it when it matters."""
        with self.lock:
            self.answers[(method, path)] = list(answers)

    def seen(self, method, path):
        with self.lock:
            return [r for r in self.requests if r.method == method and r.path.split("?")[0] == path]

    def wait_for(self, method, path, n, wait_s=120):
        """True when n such requests have come."""
        with self.lock:
            return self.lock.wait_for(lambda: len(self.seen_now(method, path)) >= n, wait_s)

    def seen_now(self, method, path):
        return [r for r in self.requests if r.method == method and r.path.split("?")[0] == path]

    def take(self, request):
        with self.lock:
            request.at_s = time.monotonic()
            self.requests.append(request)
            self.lock.notify_all()
            short = request.path.split("?")[0]
            for key in ((request.method, request.path), (request.method, short)):
                answers = self.answers.get(key)
                if answers:
                    return answers.pop(0) if len(answers) > 1 else answers[0]
        return status(404, "NotFound", "no answer prepared")

    def serve(self, handler):
        with self.lock:
            self.connections += 1
        while True:
            line = handler.rfile.readline()
            if not line:
                return
            method, path, _ = line.decode().split(" ", 2)
            headers = {}
            while (line := handler.rfile.readline().strip()):
                name, _, value = line.decode().partition(":")
                name, value = name.lower(), value.strip()
                headers[name] = f"{headers[name]}, {value}" if name in headers else value
            body = handler.rfile.read(int(headers.get("content-length", 0)))
            handler.asked = Request(method, path, headers, body)   # the last of self.requests may be another connection's
            if self.take(handler.asked)(self, handler) is CLOSE:
                return


def head(code, content_type, *lines, length=None):
    lines = list(lines) + ([f"Content-Length: {length}"] if length is not None else [])
    return "\r\n".join([f"HTTP/1.1 {code} X", f"Content-Type: {content_type}",
                        "Date: Fri, 20 Nov 2026 08:52:51 GMT", "Audit-Id: audit-1", *lines, "", ""]).encode()


def reply(code, content_type, body, *lines):
    """A whole answer."""
    body = body.encode() if isinstance(body, str) else body

    def answer(_, handler):
        handler.wfile.write(head(code, content_type, *lines, length=len(body)) + body)
    return answer


def obj(code, body, *lines):
    return reply(code, "application/json", json.dumps(body), *lines)


def status(code, reason, message, *lines):
    return obj(code, {"kind": "Status", "code": code, "reason": reason, "message": message}, *lines)


def chunk(data):
    data = data.encode() if isinstance(data, str) else data
    return b"%x\r\n%s\r\n" % (len(data), data)


def reset(handler):
    """A RST instead of a FIN."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()
    return CLOSE


def stream(*pieces, end="clean", hold=None, lines=()):
    """A chunked 200. end: clean, rst, close (in the middle of the chunks), silence (until the fake ends)."""
    def answer(fake, handler):
        handler.wfile.write(head(200, "application/json", "Transfer-Encoding: chunked", *lines))
        for piece in pieces:
            handler.wfile.write(chunk(piece))
            handler.wfile.flush()
        if hold is not None:
            hold.wait(30)
        if end == "rst":
            return reset(handler)
        if end == "silence":
            fake.is_over.wait()
            return CLOSE
        if end == "clean":
            handler.wfile.write(b"0\r\n\r\n")
            return None
        return CLOSE
    return answer


def nothing(how):
    """No answer: rst, close, silence, headers (and then close), slow (a byte now and then)."""
    def answer(fake, handler):
        if how == "rst":
            return reset(handler)
        if how == "silence":
            fake.is_over.wait()
        elif how == "headers":
            handler.wfile.write(head(200, "application/json", length=1000))
        elif how == "slow":
            for byte in head(200, "application/json", length=2) + b"{}":
                handler.wfile.write(bytes([byte]))
                if fake.is_over.wait(0.2):
                    break
        return CLOSE
    return answer


def tls_context(certificate, key):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context
