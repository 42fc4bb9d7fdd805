"""What goes wrong between benchd and a real API server, on loopback.

    with FaultProxy(port, pki) as proxy:      # ends TLS on both sides, speaks HTTP/1.1: knows each request
        proxy.fault = LoseAnswers(...)
    with Wire(port) as wire:                  # passes bytes: TLS and HTTP/2 stay those of benchd and the server
        wire.freeze(); wire.cut()

A fault is an object with any of the methods of Fault. They are called in the proxy's thread, one at a time, and must not wait.
benchd has to come with a token: a client certificate does not pass a proxy that ends TLS.
"""
import asyncio
import dataclasses
import ssl
import threading

WRITES = ("POST", "PUT", "PATCH", "DELETE")
LINE = 1 << 20   # a head, or a piece of a chunked body, is shorter
PIECE = 1 << 16


@dataclasses.dataclass(frozen=True)
class Request:
    method: str
    path: str      # with its query
    head: bytes    # with the empty line
    body: bytes

    @property
    def is_lease(self):
        return "/leases" in self.path

    @property
    def is_dry(self):
        return "dryRun=" in self.path

    @property
    def is_write(self):
        """Of a run: a dry run changes nothing, and the Lease is benchd's own."""
        return self.method in WRITES and not self.is_lease and not self.is_dry

    @property
    def is_watch(self):
        return self.method == "GET" and "watch=" in self.path


def answer(status, reason, body=b"", **headers):
    """An answer that the proxy gives itself; keyword retry_after is the header Retry-After."""
    lines = [f"HTTP/1.1 {status} {reason}", "Content-Type: text/plain", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-').title()}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


class Fault:
    """No fault. before() may return LOSE (the server never gets the request), bytes (an answer instead of the server's) or None.
    after() sees the status and, but of a watch, the body of the server's answer; it may return LOSE: benchd never gets it.
    sent() follows when benchd got the answer. frozen() is asked before each piece of a watch: true holds it."""
    delay_s = 0

    def before(self, request):
        return None

    def after(self, request, status, body):
        return None

    def sent(self, request):
        pass

    def frozen(self, request):
        return False


LOSE = object()


class Server:
    """An asyncio server on a free loopback port, in a thread of its own."""

    def __init__(self):
        self.port = 0
        self.loop = asyncio.new_event_loop()
        self.writers = set()     # of all connections of benchd
        self._tasks = set()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)

    def __enter__(self):
        self._thread.start()
        self.call(self._listen())
        return self

    def __exit__(self, *_):
        self.call(self._close())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()

    def call(self, coroutine):
        """Runs it in the proxy's thread; returns its result."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(timeout=30)

    def cut(self):
        """Resets every connection that there is: what is under way is lost, on both sides."""
        async def abort():
            for writer in list(self.writers):
                writer.transport.abort()
        self.call(abort())

    async def _listen(self):
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port, ssl=self.tls(), limit=LINE)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _close(self):
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def tls(self):
        return None

    async def _accept(self, reader, writer):
        self.writers.add(writer)
        self._tasks.add(asyncio.current_task())
        upstream = []   # the writer of this connection's other end, once there is one
        try:
            await self.serve(reader, writer, upstream)
        except (OSError, EOFError, asyncio.LimitOverrunError, asyncio.CancelledError):
            pass   # either side has gone, or the test is over
        finally:
            self.writers.discard(writer)
            self._tasks.discard(asyncio.current_task())
            for end in (writer, *upstream):
                end.transport.abort()


class FaultProxy(Server):
    def __init__(self, upstream_port, pki):
        super().__init__()
        self.fault = Fault()
        self.upstream_port = upstream_port
        self._pki = pki
        self._cert = (pki / "apiserver.crt", pki / "apiserver.key")
        self._to_server = ssl.create_default_context(cafile=pki / "ca.crt")

    def tls(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self._cert)
        return context

    def use_certificate(self, cert, key):
        """Serves another certificate from now on, and resets what there is."""
        async def again():
            self._server.close()
            self._cert = (cert, key)
            await self._listen()
        self.call(again())
        self.cut()

    async def serve(self, reader, writer, upstream):
        server_reader = None
        while True:
            request = await read_request(reader)
            if request is None:
                return
            fault = self.fault
            given = fault.before(request)
            if fault.delay_s:
                await asyncio.sleep(fault.delay_s)
            if given is LOSE:
                return
            if given is not None:
                writer.write(given)
                await writer.drain()
                continue
            if not upstream:
                server_reader, server_writer = await asyncio.open_connection(
                    "127.0.0.1", self.upstream_port, ssl=self._to_server, limit=LINE)
                upstream.append(server_writer)
            upstream[0].write(request.head + request.body)
            await upstream[0].drain()
            if not await self._answer(request, server_reader, reader, writer):
                return

    async def _answer(self, request, server_reader, reader, writer):
        """Passes the server's answer on; False if the connection is over."""
        head = await server_reader.readuntil(b"\r\n\r\n")
        status, headers = parse_head(head)
        if request.is_watch and status == 200:
            writer.write(head)
            await self._stream(request, server_reader, reader, writer)
            return False
        body, plain = await read_body(server_reader, status, headers)
        if self.fault.after(request, status, plain) is LOSE:
            return False
        writer.write(head + body)
        await writer.drain()
        self.fault.sent(request)
        return headers.get("connection") != "close"

    async def _stream(self, request, server_reader, reader, writer):
        """Bytes as they come, until either side ends."""
        gone = asyncio.ensure_future(reader.read(1))   # benchd says nothing more on this connection
        try:
            while not gone.done():
                piece = asyncio.ensure_future(server_reader.read(PIECE))
                await asyncio.wait([gone, piece], return_when=asyncio.FIRST_COMPLETED)
                if not piece.done():
                    piece.cancel()
                    return
                # A stream stays under the faults that froze it: a later one is whole.
                fault = self.fault
                while fault.frozen(request) and not gone.done():
                    await asyncio.wait([gone], timeout=0.02)
                if not piece.result():
                    return
                writer.write(piece.result())
                await writer.drain()
        finally:
            gone.cancel()


async def read_request(reader):
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as e:
        if e.partial:
            raise
        return None
    method, path, _ = head.partition(b"\r\n")[0].decode().split(" ")
    _, headers = parse_head(head)
    return Request(method, path, head, await reader.readexactly(int(headers.get("content-length", 0))))


def parse_head(head):
    """The second word of the first line as a number if it is one, and the headers, lower-case."""
    first, *lines = head.decode("latin-1").split("\r\n")
    word = first.split(" ")[1]
    pairs = (line.partition(":") for line in lines if line)
    return int(word) if word.isdigit() else word, {name.lower(): value.strip() for name, _, value in pairs}


async def read_body(reader, status, headers):
    """The bytes as they were sent, and the same without the marks of chunks."""
    if status in (204, 304):
        return b"", b""
    if headers.get("transfer-encoding") != "chunked":
        body = await reader.readexactly(int(headers["content-length"]))
        return body, body
    raw, plain = b"", b""
    while True:
        line = await reader.readuntil(b"\r\n")
        piece = await reader.readexactly(int(line, 16) + 2)
        raw, plain = raw + line + piece, plain + piece[:-2]
        if len(piece) == 2:
            return raw, plain


class Wire(Server):
    def __init__(self, upstream_port):
        super().__init__()
        self.upstream_port = upstream_port
        self._thawed = threading.Event()
        self._thawed.set()
        self.delay_s = 0

    def freeze(self):
        """No byte passes, in no direction; connections stay open, new ones are accepted."""
        self._thawed.clear()

    def thaw(self):
        self._thawed.set()

    async def serve(self, reader, writer, upstream):
        server_reader, server_writer = await asyncio.open_connection("127.0.0.1", self.upstream_port)
        upstream.append(server_writer)
        ways = [asyncio.ensure_future(self._pass(reader, server_writer)),
                asyncio.ensure_future(self._pass(server_reader, writer))]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)

    async def _pass(self, reader, writer):
        while True:
            piece = await reader.read(PIECE)
            if self.delay_s:
                await asyncio.sleep(self.delay_s)
            while not self._thawed.is_set():
                await asyncio.sleep(0.02)
            if not piece:
                return
            writer.write(piece)
            await writer.drain()
