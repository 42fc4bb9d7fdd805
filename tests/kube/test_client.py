#!/usr/bin/env python3
"""The real transport, client and informer against an API server that misbehaves."""
import base64
import contextlib
import json
import os
import pathlib
import select
import socket
import socketserver
import ssl
import subprocess
import sys
import tempfile
import threading
from unittest import mock

import fake_api
from fake_api import nothing, obj, reply, status, stream
from probe import Probe, ProbeScene

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
import tap  # noqa: E402

POD = {"kind": "Pod", "metadata": {"name": "a"}}
ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, "unknown")
PODS = "/api/v1/namespaces/n/pods"
CLUSTER = {"certificate-authority", "certificate-authority-data", "insecure-skip-tls-verify", "tls-server-name", "proxy-url", "disable-compression"}


def kubeconfig(folder, server, **more):
    """A kubeconfig of one context; what is no field of the cluster goes to the user."""
    path = pathlib.Path(folder) / "config"
    path.write_text(json.dumps({
        "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": {"server": server} |
                      {k: v for k, v in more.items() if k in CLUSTER}}],
        "users": [{"name": "u", "user": {k: v for k, v in more.items() if k not in CLUSTER}}]}))
    return path


class Scene(ProbeScene):
    def __init__(self, t, name, **user):
        self.t, self.name, self.user = t, name, user
        self.fake = fake_api.FakeApi()

    def __enter__(self):
        self.kept = tempfile.TemporaryDirectory(prefix="benchd-kube-")
        self.fake.__enter__()
        self.probe = Probe(kubeconfig(self.kept.name, self.fake.url, **self.user))
        return self


def answers(t):
    with Scene(t, "answers") as s:
        s.fake.on("GET", "/ok", obj(200, {"x": 1}, 'Warning: 299 - "old field"'))
        got = s.probe.ask("get", path="/ok")
        s.equal((0, 200, '{"x": 1}', 1795164771000, '299 - "old field"'),
                tuple(got.get(k) for k in ("r", "code", "body", "date_ms", "warning")), "an object")
        s.fake.on("GET", "/html", reply(404, "text/html", "<html>no</html>"))
        s.match("HTTP 404: an HTML page", s.probe.ask("get", path="/html").get("error", ""), "a page")
        early = b'HTTP/1.1 103 X\r\nContent-Type: text/html\r\nWarning: 299 - "early"\r\n\r\nHTTP/1.1 404 X\r\nContent-Length: 2\r\n\r\nno'
        s.fake.on("GET", "/early", lambda _, handler: handler.wfile.write(early))
        got = s.probe.ask("get", path="/early")
        s.equal(("ask: HTTP 404: no", ""), tuple(got.get(k) for k in ("error", "warning")), "words before the answer")
        s.fake.on("POST", PODS, status(409, "AlreadyExists", "pods a exists"))
        got = s.probe.ask("create", resource="pods", ns="n", object=POD)
        s.equal(("create pod 'a': HTTP 409 AlreadyExists: pods a exists", -17), (got.get("error"), got.get("r")), "409")
        request = s.fake.seen("POST", PODS)[0]
        s.equal("application/json, */*", request.headers["accept"], "what it can read")
        s.equal(("application/json", f"probe/1 (linux/{ARCHITECTURE})", "fieldValidation=Strict", POD),
                (request.headers["content-type"], request.headers["user-agent"], request.path.split("?")[1],
                 json.loads(request.body)), "what was sent")
        s.fake.on("GET", "/big", reply(200, "application/json", "x" * 5000))
        s.match("too large", s.probe.ask("get", path="/big", max_bytes=4999).get("error", ""), "one byte too many")
        s.equal(0, s.probe.ask("get", path="/big", max_bytes=5000).get("r"), "just enough")
        s.equal(1, s.fake.connections - 1, "two connections: a new one after the answer that was cut off")


def warnings(t):
    """The server's words reach the user, each once."""
    with Scene(t, "warnings") as s:
        two = ['Warning: 299 - "v1 is old"', 'Warning: 299 - "unknown field \\"x\\""', 'Warning: 199 - "not ours"']
        s.fake.on("GET", "/x", obj(200, {}, *two))
        s.fake.on("GET", "/y", status(403, "Forbidden", "no", 'Warning: 299 - "v1 is old"', 'Warning: 299 - "another"'))
        s.fake.on("GET", "/w", stream(end="silence", lines=['Warning: 299 - "of a watch"']))
        s.equal(0, s.probe.ask("burst", path="/x", n=5).get("r"), "the answers")
        s.equal(["v1 is old", 'unknown field "x"'], s.probe.notices(), "each once")
        s.probe.ask("get", path="/y")
        s.probe.next(s.probe.start("stream", path="/w"))
        s.equal(["another", "of a watch"], s.probe.notices(), "of a failure, of a stream")


def retries(t):
    good = obj(200, {})
    rows = [
        ("429 as plain text", [reply(429, "text/plain", "Too many requests\n", "Retry-After: 1"), good], 2),
        ("HTML 500", [reply(500, "text/html", "<html>"), good], 2),
        ("503 with a date", [reply(503, "text/plain", "", "Retry-After: Fri, 20 Nov 2026 08:52:52 GMT"), good], 2),
        ("RST before any byte", [nothing("rst"), good], 2),
        ("FIN before any byte", [nothing("close"), good], 2),
        ("close after the headers", [nothing("headers"), good], 2),
        ("400", [status(400, "BadRequest", "no"), good], 1),
    ]
    with Scene(t, "retries") as s:
        for name, list_of, n in rows:
            s.fake.on("GET", f"/{n}", *list_of)
            before = len(s.fake.seen("GET", f"/{n}"))
            got = s.probe.ask("get", path=f"/{n}")
            s.equal((0 if n == 2 else -22), got.get("r"), f"{name}: the end ({got.get('error')})")
            requests = s.fake.seen("GET", f"/{n}")[before:]
            s.equal(n, len(requests), f"{name}: requests")
            if name == "429 as plain text":
                s.equal(True, requests[1].at_s - requests[0].at_s >= 1, f"{name}: a second passes")
        s.fake.on("GET", "/down", status(503, "ServiceUnavailable", "down"))
        got = s.probe.ask("get", path="/down", tries=3)
        s.equal((-5, 3), (got.get("r"), len(s.fake.seen("GET", "/down"))), "gives up after three")


def paths(t):
    """The server gets the path as it is, so a name of dots is not the collection that its pods are in."""
    with Scene(t, "paths") as s:
        for name in (".", ".."):
            s.fake.on("DELETE", f"{PODS}/{name}", status(400, "BadRequest", f"{name} is no name"))
            got = s.probe.ask("delete", resource="pods", ns="n", name=name)
            s.equal((-22, 1), (got.get("r"), len(s.fake.seen("DELETE", f"{PODS}/{name}"))), f"{name}: as it is")


def pieces(t):
    """A body that the answer need not hold has no limit, and begins anew with the request."""
    big = stream("x" * 4000, "y" * 4000)
    with Scene(t, "pieces") as s:
        s.fake.on("GET", "/log", stream("cut", end="rst"), status(503, "ServiceUnavailable", "down"), big)
        got = s.probe.ask("get", path="/log", in_pieces=True, max_bytes=100)
        s.equal((0, "", "x" * 4000 + "y" * 4000, 2), tuple(got.get(k) for k in ("r", "body", "pieces", "agains")), "whole")
        s.fake.on("GET", "/none", status(404, "NotFound", "no such pod"))
        got = s.probe.ask("get", path="/none", in_pieces=True)
        s.equal((-2, "", 0), tuple(got.get(k) for k in ("r", "pieces", "agains")), "a failure is no body")
        s.match("no such pod", got.get("error", ""), "its text")
        s.fake.on("GET", "/many", reply(300, "text/plain", "choose"))
        s.equal("", s.probe.ask("get", path="/many", in_pieces=True).get("pieces"), "nor is a 300")


def time_outs(t):
    with Scene(t, "time-outs") as s:
        s.fake.on("GET", "/silent", nothing("silence"))
        got = s.probe.ask("get", path="/silent", timeout_ms=3000, tries=2)
        s.fake.wait_for("GET", "/silent", 2)   # a fake that is late has them in its sockets still
        s.equal((-110, 2), (got.get("r"), len(s.fake.seen("GET", "/silent"))), "silence")
        s.fake.on("GET", "/slow", nothing("slow"))
        s.equal(-110, s.probe.ask("get", path="/slow", timeout_ms=700, tries=1).get("r"), "a byte now and then")
        s.fake.on("GET", "/ok", obj(200, {}))
        s.equal(0, s.probe.ask("get", path="/ok").get("r"), "others go on")


def lost_answer(t):
    """The write is done, its answer lost: the second POST finds it there."""
    with Scene(t, "write accepted, answer lost") as s:
        s.fake.on("POST", PODS, nothing("rst"), status(409, "AlreadyExists", "exists"))
        got = s.probe.ask("create", resource="pods", ns="n", object=POD)
        s.equal((-17, 2), (got.get("r"), len(s.fake.seen("POST", PODS))), "AlreadyExists")
        s.fake.on("DELETE", f"{PODS}/a", nothing("close"), status(404, "NotFound", "gone"))
        got = s.probe.ask("delete", resource="pods", ns="n", name="a", uid="u1")
        s.equal(-2, got.get("r"), "NotFound")
        s.equal("u1", json.loads(s.fake.seen("DELETE", f"{PODS}/a")[1].body)["preconditions"]["uid"], "uid guard")


def unreachable(t):
    # A port that is bound and not listened at: nobody else gets it meanwhile.
    with tempfile.TemporaryDirectory(prefix="benchd-kube-") as folder, socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        probe = Probe(kubeconfig(folder, f"http://127.0.0.1:{deaf.getsockname()[1]}"))
        got = probe.ask("get", path="/x", tries=2)
        t.equal(-113, got.get("r"), "nobody listens: EHOSTUNREACH")
        t.match("ask: cannot reach the API server: .*is it running", got.get("error", ""), "nobody listens: text")
        t.equal((0, ""), probe.quit(), "nobody listens: ends clean")


def tokens(t):
    with tempfile.TemporaryDirectory(prefix="benchd-kube-") as folder:
        token = pathlib.Path(folder) / "token"
        token.write_text("first\n")
        with Scene(t, "token file", tokenFile=str(token)) as s:
            s.fake.on("GET", "/x", obj(200, {}), status(401, "Unauthorized", "old"), obj(200, {}))
            s.equal(0, s.probe.ask("get", path="/x").get("r"), "the first token")
            token.write_text("second")
            s.equal(0, s.probe.ask("get", path="/x").get("r"), "replaced: read again after a 401")
            s.equal(["Bearer first", "Bearer first", "Bearer second"],
                    [r.headers.get("authorization") for r in s.fake.seen("GET", "/x")], "what was sent")
            s.fake.on("GET", "/y", status(403, "Forbidden", 'User "system:anonymous" cannot get'), obj(200, {}))
            s.equal(0, s.probe.ask("get", path="/y").get("r"), "anonymous: read again")
            s.fake.on("GET", "/z", status(401, "Unauthorized", "never"))
            got = s.probe.ask("get", path="/z")
            s.equal((-13, 2), (got.get("r"), len(s.fake.seen("GET", "/z"))), "refused twice: no third")
            s.fake.on("GET", "/s", status(401, "Unauthorized", "old"), stream("x"))
            number = s.probe.start("stream", path="/s")
            s.equal(["open", "data", "end"], [s.probe.next(number).get("event") for _ in range(3)], "a stream: read again")
            s.fake.on("GET", "/t", status(401, "Unauthorized", "never"))
            got = s.probe.ask("stream", path="/t")
            s.equal((-13, 2), (got.get("r"), len(s.fake.seen("GET", "/t"))), "a stream refused twice: no third")
            s.fake.on("GET", f"{PODS}/a/log", status(401, "Unauthorized", "old"), stream("2026-11-20T08:52:51.1Z one\n", end="silence"))
            number = s.probe.start("follow", ns="n", pod="a")
            s.equal("one", s.probe.next(number).get("line"), "a log: read again")
    with Scene(t, "fixed token", token="t0") as s:
        s.fake.on("GET", "/z", status(401, "Unauthorized", "never"))
        got = s.probe.ask("get", path="/z")
        s.equal((-13, 1), (got.get("r"), len(s.fake.seen("GET", "/z"))), "nothing else to try")
        s.match("log in again", got.get("error", ""), "says what to do")


def item(name, uid, version):
    return {"metadata": {"name": name, "uid": uid, "resourceVersion": str(version)}}


def pod_list(version, *items):
    return obj(200, {"metadata": {"resourceVersion": str(version)}, "items": list(items)})


def line(kind, body):
    return json.dumps({"type": kind, "object": body}) + "\n"


def changes(events):
    return [(e["event"], e.get("name"), e.get("version")) for e in events]


WATCHES = f"{PODS}?watch=1&allowWatchBookmarks=true&resourceVersion="


class Watched(Scene):
    """Lists and watches apart: a watch is any GET of pods with watch=1."""

    def script(self, lists, watches):
        self.lists, self.watches = list(lists), list(watches)

        def answer(fake, handler):
            with fake.lock:
                is_watch = "watch=1" in handler.asked.path
                queue = self.watches if is_watch else self.lists
                chosen = queue.pop(0) if len(queue) > 1 else queue[0]
            return chosen(fake, handler)
        self.fake.on("GET", PODS, answer)


def informer(t):
    gone = line("ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "old"})
    added = line("ADDED", item("b", "u2", 6)).encode()
    hold = threading.Event()   # a RST overtakes what it follows
    rows = [
        ("410 in the stream", [stream(gone)], 9),
        ("410 as a code", [status(410, "Expired", "old")], 9),
        ("two empty watches", [stream(), stream()], 9),
        ("half a line, then RST", [stream(added + added[:30], end="rst", hold=hold)], 6),
        ("half a line, then FIN", [stream(added, added[:30], end="close")], 6),
        ("an event in single bytes", [stream(*[added[i:i + 1] for i in range(len(added))])], 6),
        ("HTML 500", [reply(500, "text/html", "<html>")], 5),
        ("429 as plain text", [reply(429, "text/plain", "busy", "Retry-After: 1")], 5),
        ("HTML in a 200", [stream("<html>\n")], 5),
        ("RST before any byte", [nothing("rst")], 5),
    ]
    for name, watches, version in rows:
        with Watched(t, f"informer: {name}") as s:
            end = stream(line("ADDED", item("end", "u3", 50)), end="silence")
            s.script([pod_list(5, item("a", "u1", 3)), pod_list(9, item("a", "u1", 3))], watches + [end])
            number = s.probe.start("informer", resource="pods", ns="n")
            if version == 6:
                s.probe.until(number, "added", name="b")
                hold.set()
            events = s.probe.until(number, "added", name="end")
            s.equal(("added", "end", "50"), (changes(events) or [None])[-1], "goes on to the end")
            s.equal(f"resourceVersion={version}",
                    [p for p in s.fake.seen("GET", PODS)[-1].path.split("&") if p.startswith("resourceV")][0],
                    "watches from the right version")


def informer_deletion(t):
    with Watched(t, "informer: a deletion that no watch told") as s:
        s.script([pod_list(5, item("a", "u1", 3), item("b", "u2", 4)), pod_list(9, item("b", "u9", 8))],
                 [status(410, "Expired", "old"), stream(end="silence")])
        number = s.probe.start("informer", resource="pods", ns="n")
        events = s.probe.until(number, "synced") + s.probe.until(number, "synced")
        s.equal([("added", "a", "3"), ("added", "b", "4"), ("synced", None, None), ("removed", "b", "4"),
                 ("added", "b", "8"), ("removed", "a", "3"), ("synced", None, None)], changes(events), "is told")


def server_restart(t):
    """The server goes away in the middle of a watch, and comes back at the same port with more."""
    with Watched(t, "informer: one list after the other") as s:
        s.script([status(503, "ServiceUnavailable", "starting"), nothing("rst"), pod_list(5, item("a", "u1", 3))],
                 [stream(end="rst"), stream(line("DELETED", item("a", "u1", 7)), end="silence")])
        number = s.probe.start("informer", resource="pods", ns="n")
        s.equal([("added", "a", "3"), ("synced", None, None), ("removed", "a", "7")], changes(s.probe.until(number, "removed")), "arrives")


def server_ends_politely(t):
    """On SIGTERM an API server stops listening, and leaves its watches open and silent for a minute."""
    with Watched(t, "an old server holds the watch, a new one is there") as s:
        s.script([pod_list(5, item("a", "u1", 3))], [stream(end="silence")])
        number = s.probe.start("informer", resource="pods", ns="n")
        s.probe.until(number, "synced")
        s.fake.wait_for("GET", PODS, 2)
        s.fake.stop_listening()
        call = s.probe.start("get", path="/x")
        s.equal({}, s.probe.next(call, 0.5), "nobody listens")
        with fake_api.FakeApi(port=s.fake.port) as new:
            new.on("GET", "/x", obj(200, {}))
            new.on("GET", PODS, stream(line("ADDED", item("b", "u2", 6)), end="silence"))
            s.equal(0, s.probe.next(call).get("r"), "the new one answers")
            s.equal([("added", "b", "6")], changes(s.probe.until(number, "added", wait_s=60)), "and is watched")
            s.match("resourceVersion=5", "".join(r.path for r in new.seen("GET", PODS)), "from where the old one was")
            s.probe.send(op="cancel", target=number)
            s.probe.ask("stats")


def follow(t):
    log = "/api/v1/namespaces/n/pods/a/log"
    one, two = ("2026-11-20T08:52:51.1Z one\n", "2026-11-20T08:52:51.2Z two\n")
    with Scene(t, "follow") as s:
        s.fake.on("GET", log, status(400, "BadRequest", "is waiting to start: ContainerCreating"),
                  stream(one), status(500, "", "dial tcp: connection refused"), stream(one, two, end="silence"))
        number = s.probe.start("follow", ns="n", pod="a")
        lines = [s.probe.next(number).get("line"), s.probe.next(number).get("line")]
        s.equal(["one", "two"], lines, "no line twice")
        s.equal("sinceTime=2026-11-20T08%3A52%3A50Z", s.fake.seen("GET", log)[-1].path.split("&")[-1], "since")
        s.equal({}, s.probe.next(number, 0.2), "the end of a stream is not the end")
    with Scene(t, "follow to the end") as s:
        hold = threading.Event()
        s.fake.on("GET", log, stream(one, two, hold=hold))
        number = s.probe.start("follow", ns="n", pod="a")
        s.probe.until(number, "line", line="two")
        s.probe.send(op="ended", target=number)
        s.probe.ask("stats")   # the word has arrived
        hold.set()
        s.equal(("end", 0), (lambda e: (e.get("event"), e.get("r")))(s.probe.next(number)), "ends with the container")
    with Scene(t, "the server is away when the container ends") as s:
        s.fake.on("GET", log, stream(one, end="close"), *[nothing("rst")] * 5, stream(one, two))
        number = s.probe.start("follow", ns="n", pod="a")
        s.probe.until(number, "line", line="one")
        s.probe.send(op="ended", target=number)
        s.equal(("two", 0), (s.probe.next(number).get("line"), s.probe.next(number).get("r")), "the rest is not lost")
    with Scene(t, "a node is gone when the container ends") as s:
        s.fake.on("GET", log, stream(one, end="close"), status(500, "", "dial tcp: no route to host"))
        number = s.probe.start("follow", ns="n", pod="a")
        s.probe.until(number, "line", line="one")
        s.probe.send(op="ended", target=number)
        s.equal(-5, s.probe.next(number).get("r"), "a few tries, and the reason")
    with Scene(t, "follow a pod that is gone") as s:
        s.fake.on("GET", log, status(404, "NotFound", "gone"))
        s.equal(-2, s.probe.ask("follow", ns="n", pod="a").get("r"), "ENOENT")


def counting(t):
    with Scene(t, "what is counted") as s:
        s.fake.on("GET", "/x", obj(200, {}))
        s.fake.on("GET", "/gone", status(404, "NotFound", "gone"))
        s.fake.on("GET", "/stream", stream("x"))
        for op, path, n in (("get", "/x", 1), ("get", "/gone", 2), ("stream", "/gone", 4), ("stream", "/stream", 3)):
            for _ in range(n):
                s.probe.until(s.probe.start(op, path=path), "end")
        stats = s.probe.ask("stats")
        s.equal((10, 6, 0), (stats["requests"], stats["failures"], stats["retries"]), "two calls and four streams failed")
        gone = len(json.dumps({"kind": "Status", "code": 404, "reason": "NotFound", "message": "gone"}))
        s.equal((6 * gone + len("{}") + 3 * len("x"), s.fake.connections), (stats["bytes_in"], stats["connections"]), "bytes of bodies")


def cancelling(t):
    with Scene(t, "cancel") as s:
        s.fake.on("GET", "/silent", nothing("silence"))
        s.fake.on("GET", "/stream", stream("x", end="silence"))
        number = s.probe.start("stream", path="/stream")
        s.probe.until(number, "data")
        s.probe.send(op="cancel", target=number)
        call = s.probe.start("get", path="/silent")
        s.fake.wait_for("GET", "/silent", 1)
        s.probe.send(op="cancel", target=call)
        at_once = s.probe.start_and_cancel("stream", path="/stream")
        stats = s.probe.ask("stats")
        s.equal((0, 0, 0), (stats["in_flight"], stats["queued"], stats["streams"]), "nothing left")
        s.equal(({}, {}), (s.probe.next(call, 0.1), s.probe.next(at_once, 0.1)), "no callback any more")
    with Scene(t, "cancel one of many") as s:
        s.fake.on("GET", "/silent", nothing("silence"))
        s.probe.ask("get", path="/x")   # then it is known that each request needs a connection
        call = s.probe.start("get", path="/silent", timeout_ms=600000)
        s.probe.start("burst", path="/silent", n=32, timeout_ms=600000)
        s.fake.wait_for("GET", "/silent", 32)
        s.equal(1, s.probe.ask("stats")["queued"], "there is no room")
        s.probe.send(op="cancel", target=call)
        s.equal(True, s.fake.wait_for("GET", "/silent", 33), "now there is")
    with Scene(t, "quit in the middle of everything") as s:
        s.fake.on("GET", "/silent", nothing("silence"))
        s.fake.on("GET", "/stream", stream("x", end="silence"))
        s.fake.on("GET", "/down", status(503, "", "wait"))
        s.probe.until(s.probe.start("stream", path="/stream"), "data")
        s.probe.start("burst", path="/silent", n=40)
        s.probe.start("get", path="/down")
        s.fake.wait_for("GET", "/silent", 32)
        stats = s.probe.ask("stats")
        s.equal((32, True), (stats["in_flight"], stats["queued"] >= 8), "32 in flight, the rest queues")
        s.fake.on("GET", "/lease", obj(200, {}))
        s.equal(0, s.probe.ask("get", path="/lease", urgent=True).get("r"), "a renewal passes all of them")


RUNS = "/apis/benchd.io/v1alpha1/namespaces/n/benchmarkruns"
EVENTS = "/apis/events.k8s.io/v1/namespaces/n/events"


def priorities(t):
    """160 pods that a slow server creates: the status of a run, an event and the Lease do not queue behind them."""
    go = threading.Event()

    def slowly(fake, handler):
        go.wait(600)   # the calls end before that
        obj(201, {})(fake, handler)

    with Scene(t, "160 pods in flight") as s:
        s.fake.on("POST", PODS, slowly)
        s.fake.on("PATCH", f"{RUNS}/r/status", obj(200, {}))
        s.fake.on("POST", EVENTS, obj(201, {}))
        s.fake.on("GET", "/lease", obj(200, {}))
        s.probe.ask("get", path="/lease")   # from here on it is known that each request needs a connection
        pods = s.probe.start("burst", resource="pods", ns="n", object=POD, n=160)
        s.fake.wait_for("POST", PODS, 32)
        run = {"kind": "BenchmarkRun", "metadata": {"name": "r"}}
        for name, op, more in (("a status", "apply", {"resource": "benchmarkruns", "object": run}),
                               ("an event", "create", {"resource": "events", "object": {"metadata": {"name": "e"}}}),
                               ("the Lease", "get", {"path": "/lease", "urgent": True})):
            s.equal(0, s.probe.ask(op, ns="n", **more).get("r"), f"{name} is sent at once")
        stats = s.probe.ask("stats")
        s.equal((32, 128), (stats["in_flight"], stats["queued"]), "the pods wait for each other")
        s.equal(True, s.fake.connections <= 35, f"connections ({s.fake.connections})")
        go.set()
        s.equal((0, 160), (s.probe.next(pods).get("r"), len(s.fake.seen("POST", PODS))), "all pods are created")
    go.clear()
    with Scene(t, "160 events in flight") as s:
        s.fake.on("POST", EVENTS, slowly)
        s.fake.on("POST", PODS, obj(201, {}))
        s.fake.on("GET", "/lease", obj(200, {}))
        s.probe.ask("get", path="/lease")
        events = s.probe.start("burst", resource="events", ns="n", object={"metadata": {"name": "e"}}, n=160)
        s.fake.wait_for("POST", EVENTS, 8)
        s.equal(0, s.probe.ask("get", path="/lease", urgent=True).get("r"), "the Lease passes them")
        s.equal(0, s.probe.ask("create", resource="pods", ns="n", object=POD).get("r"), "they do not keep pods waiting")
        s.equal(8, s.probe.ask("stats")["in_flight"], "eight at a time")
        go.set()
        s.equal(0, s.probe.next(events).get("r"), "all are created")


def system_trust(t, folder, good, other):
    """The kubeconfig's CA is the only one: what the system trusts counts only where none is named."""
    private = ["unshare", "-rm", "sh", "-c", 'mount --bind "$0" /etc/ssl/certs && exec "$@"', str(folder / "system")]
    (folder / "system").mkdir()
    digest = subprocess.run(["openssl", "x509", "-hash", "-noout", "-in", other[0]], check=True, capture_output=True, text=True).stdout.strip()
    for name in (f"{digest}.0", "ca-certificates.crt"):
        (folder / "system" / name).write_bytes(other[0].read_bytes())
    if subprocess.run([*private, "true"], capture_output=True).returncode != 0:
        t.ok(True, "TLS: the system's CAs # SKIP no mount namespaces here")
        return
    with fake_api.FakeApi(fake_api.tls_context(*other)) as fake:
        fake.on("GET", "/x", obj(200, {}))
        for name, cluster, own, r in (("another CA is named", {"certificate-authority": "good.crt"}, f"{folder}/other.crt", -71), ("none is", {}, "", 0),
                                      ("SSL_CERT_FILE names another", {}, f"{folder}/good.crt", -71)):
            probe = Probe(kubeconfig(folder, fake.url, **cluster), ["env", f"SSL_CERT_FILE={own}", *private])
            t.equal(r, probe.ask("get", path="/x", tries=1).get("r"), f"TLS: the system trusts it, {name}")
            t.equal((0, ""), probe.quit(), f"TLS: the system trusts it, {name}: ends clean")


def tls(t):
    with tempfile.TemporaryDirectory(prefix="benchd-kube-") as folder:
        folder = pathlib.Path(folder)

        good, other, named = (tap.make_certificate(folder, *row) for row in (
            ("good", "IP:127.0.0.1"), ("other", "IP:127.0.0.1"), ("named", "DNS:kube.test")))
        inline = base64.b64encode(good[0].read_bytes()).decode()
        rows = [
            ("CA as a file", good, {"certificate-authority": "good.crt"}, 0, ""),
            ("CA inline", good, {"certificate-authority-data": inline}, 0, ""),
            ("not checked", other, {"insecure-skip-tls-verify": True}, 0, ""),
            ("another CA", other, {"certificate-authority-data": inline}, -71, "check certificate-authority"),
            ("another name", named, {"certificate-authority": "named.crt"}, -71, "TLS"),
            ("tls-server-name", named, {"certificate-authority": "named.crt", "tls-server-name": "kube.test"}, 0, ""),
        ]
        for name, pair, cluster, r, error in rows:
            with fake_api.FakeApi(fake_api.tls_context(*pair)) as fake:
                fake.on("GET", "/x", obj(200, {}))
                probe = Probe(kubeconfig(folder, fake.url, **cluster))
                got = probe.ask("get", path="/x", tries=2)
                t.equal(r, got.get("r"), f"TLS: {name}")
                t.match(error, got.get("error", ""), f"TLS: {name}: text")
                t.equal((0, ""), probe.quit(), f"TLS: {name}: ends clean")
        system_trust(t, folder, good, other)
        with fake_api.FakeApi(fake_api.tls_context(*other)) as fake:
            fake.on("GET", "/x", obj(200, {}))
            (folder / "ca.crt").write_bytes(good[0].read_bytes())
            probe = Probe(kubeconfig(folder, fake.url, **{"certificate-authority": "ca.crt"}))
            (folder / "ca.crt").write_bytes(other[0].read_bytes())
            t.equal(0, probe.ask("get", path="/x", tries=1).get("r"), "TLS: the CA was replaced: read again")
            t.equal((0, ""), probe.quit(), "TLS: the CA was replaced: ends clean")


def relay(near, far):
    """Both ways until one side has left; in one thread, since a TLS socket has one user at a time."""
    with contextlib.suppress(OSError):
        while True:
            for source in select.select([near, far], [], [])[0]:
                if not (data := source.recv(65536)):
                    return
                (far if source is near else near).sendall(data)


class Proxy(socketserver.ThreadingTCPServer):
    """CONNECT to wherever: the way goes to one port of this machine."""
    daemon_threads = True

    def __init__(self, port, tls=None):
        proxy = self
        self.wanted = []

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                proxy.wanted.append(self.rfile.readline().decode().split()[1])
                while self.rfile.readline().strip():
                    pass
                self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                with socket.create_connection(("127.0.0.1", port)) as far:
                    relay(self.connection, far)

        super().__init__(("127.0.0.1", 0), Handler)
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_side=True)
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()


def proxies(t):
    """$HTTPS_PROXY and $NO_PROXY are obeyed as other programs for Kubernetes do, which never use a proxy for this machine.
    0.0.0.0 leads here, too, but is no address of this machine to them."""
    with tempfile.TemporaryDirectory(prefix="benchd-kube-") as folder:
        pair = tap.make_certificate(pathlib.Path(folder), "far", "DNS:kube.test,IP:127.0.0.1,IP:0.0.0.0")
        with fake_api.FakeApi(fake_api.tls_context(*pair)) as fake, Proxy(fake.port) as proxy:
            fake.on("GET", "/x", obj(200, {}))
            fake.on("GET", "/forbidden", status(403, "Forbidden", "no"))
            for host, exempt, is_asked in (("kube.test", "", True), ("127.0.0.1", "", False), ("0.0.0.0", "", True),
                                           ("0.0.0.0", "10.0.0.0/8,0.0.0.0/8", False), ("0.0.0.0", "10.0.0.0/8,1.0.0.0/8", True)):
                name = f"proxy: {host}, NO_PROXY='{exempt}'"
                with mock.patch.dict(os.environ, {"HTTPS_PROXY": f"http://127.0.0.1:{proxy.server_address[1]}", "NO_PROXY": exempt}):
                    os.environ.pop("no_proxy", None)   # it counts more
                    probe = Probe(kubeconfig(folder, f"https://{host}:{fake.port}", **{"certificate-authority": "far.crt"}))
                got = probe.ask("stream", path="/forbidden")
                t.equal(("end", -13, 403), (got.get("event"), got.get("r"), got.get("code")), f"{name}: its own answer opens no stream")
                t.equal(0, probe.ask("get", path="/x", tries=1).get("r"), name)
                t.equal([f"{host}:{fake.port}"] if is_asked else [], sorted(set(proxy.wanted)), f"{name}: who was asked for")
                t.equal((0, ""), probe.quit(), f"{name}: ends clean")
                proxy.wanted.clear()
            proxy.shutdown()


class Socks(socketserver.ThreadingTCPServer):
    """SOCKS5 to a name that the proxy resolves: the way goes to one port of this machine."""
    daemon_threads = True

    def __init__(self, port):
        socks = self
        self.wanted = []

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                self.rfile.read(self.rfile.read(2)[1])
                self.wfile.write(b"\5\0")
                kind = self.rfile.read(4)[3]
                name = self.rfile.read(self.rfile.read(1)[0]).decode() if kind == 3 else f"an address of kind {kind}"
                socks.wanted.append(f"{name}:{int.from_bytes(self.rfile.read(2), 'big')}")
                self.wfile.write(b"\5\0\0\1" + bytes(6))
                with socket.create_connection(("127.0.0.1", port)) as far:
                    relay(self.connection, far)

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()


def proxy_url(t):
    """The cluster's own proxy: used for every address, and whatever the environment says."""
    with tempfile.TemporaryDirectory(prefix="benchd-kube-") as folder:
        pair = tap.make_certificate(pathlib.Path(folder), "far", "DNS:kube.test,IP:127.0.0.1")
        environment = {"HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "*"}
        with fake_api.FakeApi(fake_api.tls_context(*pair)) as fake, Proxy(fake.port) as http, Socks(fake.port) as socks, \
                Proxy(fake.port, fake_api.tls_context(*pair)) as https, mock.patch.dict(os.environ, environment):
            fake.on("GET", "/x", obj(200, {}))
            for scheme, proxy, host in (("http", http, "kube.test"), ("http", http, "127.0.0.1"),
                                        ("https", https, "kube.test"), ("socks5", socks, "kube.test")):
                url = f"{scheme}://127.0.0.1:{proxy.server_address[1]}"
                probe = Probe(kubeconfig(folder, f"https://{host}:{fake.port}", **{"certificate-authority": "far.crt", "proxy-url": url}))
                got = probe.ask("get", path="/x", tries=1)
                t.equal(0, got.get("r"), f"proxy-url: {scheme} to {host} ({got.get('error')})")
                t.equal([f"{host}:{fake.port}"], sorted(set(proxy.wanted)), f"proxy-url: {scheme}: who was asked for")
                t.equal((0, ""), probe.quit(), f"proxy-url: {scheme}: ends clean")
                proxy.wanted.clear()
            for proxy in (http, https, socks):
                proxy.shutdown()


def acting_as(t):
    """Impersonation, on every request; a list that is not compressed on request."""
    user = {"as": "jane", "as-groups": ["a", "b"], "as-uid": "7", "as-user-extra": {"why/x": ["one"]}}
    with Scene(t, "acting as", token="t0", **user) as s:
        s.fake.on("GET", "/x", obj(200, {}))
        s.probe.ask("get", path="/x")
        headers = s.fake.seen("GET", "/x")[0].headers
        s.equal(("Bearer t0", "jane", "a, b", "7", "one", "gzip"),
                tuple(headers.get(k) for k in ("authorization", "impersonate-user", "impersonate-group", "impersonate-uid",
                                               "impersonate-extra-why%2fx", "accept-encoding")), "what was sent")
        s.probe.ask("get", path="/x", ns="lab", account="benchd-jobs")
        headers = s.fake.seen("GET", "/x")[1].headers
        s.equal({"impersonate-user": "system:serviceaccount:lab:benchd-jobs"},
                {k: v for k, v in headers.items() if k.startswith("impersonate-")}, "an account of one request, and no group of another user")
    with Scene(t, "no compression", **{"disable-compression": True}) as s:
        s.fake.on("GET", "/x", obj(200, {}))
        s.probe.ask("get", path="/x")
        s.equal(None, s.fake.seen("GET", "/x")[0].headers.get("accept-encoding"), "none is offered")


def client_certificates(t):
    """A certificate that is replaced: what tells us is a 401, for TLS itself lets an old one pass."""
    with tempfile.TemporaryDirectory(prefix="benchd-kube-") as folder:
        folder = pathlib.Path(folder)
        server = tap.make_certificate(folder, "server", "IP:127.0.0.1")
        old, new = tap.make_certificate(folder, "old", "DNS:old"), tap.make_certificate(folder, "new", "DNS:new")
        context = fake_api.tls_context(*server)
        context.verify_mode = ssl.CERT_OPTIONAL
        context.load_verify_locations(cadata=old[0].read_text() + new[0].read_text())
        accepted = ["old"]

        def answer(fake, handler):
            name = dict(pair[0] for pair in handler.connection.getpeercert()["subject"])["commonName"]
            good = name == accepted[0]
            (obj(200, {}) if good else status(401, "Unauthorized", "expired"))(fake, handler)

        def use(pair):
            for path, name in zip(pair, ("client.crt", "client.key")):
                (folder / name).write_bytes(path.read_bytes())

        with fake_api.FakeApi(context) as fake:
            fake.on("GET", "/x", answer)
            use(old)
            probe = Probe(kubeconfig(folder, fake.url, **{"certificate-authority": "server.crt",
                                                          "client-certificate": "client.crt",
                                                          "client-key": "client.key"}))
            t.equal(0, probe.ask("get", path="/x").get("r"), "client certificate")
            accepted[0] = "new"
            got = probe.ask("get", path="/x")
            t.equal((-13, 2), (got.get("r"), len(fake.seen("GET", "/x"))), "client certificate: nothing new to try")
            use(new)
            t.equal(0, probe.ask("get", path="/x").get("r"), "client certificate: read again after a 401")
            t.equal((0, ""), probe.quit(), "client certificate: ends clean")


def main():
    t = tap.Tap()
    for test in (answers, warnings, retries, paths, pieces, time_outs, lost_answer, unreachable, tokens, informer, informer_deletion,
                 server_restart, server_ends_politely, follow, counting, cancelling, priorities, tls, client_certificates, proxies, proxy_url,
                 acting_as):
        test(t)
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
