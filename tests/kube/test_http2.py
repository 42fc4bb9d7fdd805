#!/usr/bin/env python3
"""The real transport on HTTP/2: many requests on one connection, which the server gives up, refuses or forgets."""
import pathlib
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import fake_api
import fake_h2
from fake_h2 import each, goaway, more, ok, reset
from probe import Probe, ProbeScene
from test_client import kubeconfig, tap

POD = {"kind": "Pod", "metadata": {"name": "a"}}
# How long a request waits for an answer that never comes. One that does come has as long, on a machine that stalls for seconds.
TRY_MS = 8000
# After so long a connection that says nothing is asked, and half of it is the time for the answer.
SILENCE_MS = 9000


class Scene(ProbeScene):
    def __init__(self, t, name, folder, pair, silence_ms=0):
        self.t, self.name = t, name
        self.fake = fake_h2.FakeH2(fake_api.tls_context(*pair))
        self.silence_ms, self.config = silence_ms, kubeconfig(folder, self.fake.url, **{"certificate-authority": str(pair[0])})

    def __enter__(self):
        self.fake.__enter__()
        self.probe = Probe(self.config, more=("0", str(self.silence_ms)))
        return self

    def get(self, **more_of_it):
        return self.probe.ask("get", path="/x", **more_of_it).get("r")


def one_connection(t, *where):
    with Scene(t, "a burst", *where) as s:
        s.fake.answer(ok)
        s.equal(0, s.get(), "the connection")
        s.equal(0, s.probe.ask("burst", path="/x", n=20).get("r"), "twenty at once")
        s.equal({0}, {number for number, _ in s.fake.requests}, "over one connection")


def goaways(t, *where):
    """What kube-apiserver does with --goaway-chance and when it ends: what is under way goes on."""
    with Scene(t, "a polite GOAWAY", *where) as s:
        s.fake.answer(fake_h2.begun, each(goaway(lambda stream: stream), ok), ok)
        watch = s.probe.start("stream", path="/watch")
        s.probe.until(watch, "data")
        s.equal(0, s.get(), "the answer beside it")
        s.equal(0, s.get(), "the next request")
        s.equal([0, 0, 1], [number for number, _ in s.fake.requests], "goes to a new connection")
        more(s.fake.connections[0], 1, b"still here", end=True)
        s.equal("still here", (s.probe.until(watch, "data") or [{}])[-1].get("data"), "the watch goes on")
        s.equal(0, s.probe.next(watch).get("r"), "to its own end")
    with Scene(t, "a GOAWAY that leaves requests out", *where) as s:
        s.fake.answer(ok, goaway(lambda stream: stream - 2), ok)
        s.equal(0, s.get(), "the connection")
        s.equal(0, s.probe.ask("create", resource="pods", ns="n", object=POD).get("r"), "is sent again")
        s.equal([0, 0, 1], [number for number, _ in s.fake.requests], "over a new connection")


def resets(t, *where):
    for name, code in (("REFUSED_STREAM", fake_h2.REFUSED_STREAM), ("INTERNAL_ERROR", fake_h2.INTERNAL_ERROR)):
        with Scene(t, name, *where) as s:
            s.fake.answer(ok, reset(code), ok)
            s.equal(0, s.get(), "the connection")
            s.equal(0, s.get(), "is sent again")
            s.equal(3, len(s.fake.requests), "once")


def early_answers(t, *where):
    """A server that refuses (429, 401) does not wait for the body; Go's then resets the stream, for which curl may
    forget the answer. A race: many times."""
    for name, answer, wanted in (("an answer before the body", ok, {0}),
                                 ("and a reset after it", each(ok, reset(fake_h2.NO_ERROR)), {0, -104})):
        results = []
        for _ in range(12):
            fake = fake_h2.FakeH2(fake_api.tls_context(*where[1]))
            fake.is_early = True
            with fake:
                probe = Probe(kubeconfig(where[0], fake.url, **{"certificate-authority": str(where[1][0])}))
                fake.answer(answer)
                # Without an answer only this time ends it, however long the machine takes for the handshake.
                results.append(probe.ask("create", resource="pods", ns="n", object=POD, timeout_ms=60000,
                                         tries=1).get("r"))
                probe.quit()
            if results[-1] not in wanted:
                break
        t.ok(set(results) <= wanted, f"{name} is never waited for in vain", results)


def forgotten(t, *where):
    """A server, or a proxy before it, that takes bytes and says nothing: TCP finds nothing wrong."""
    with Scene(t, "a connection that says nothing", *where) as s:
        s.fake.answer(fake_h2.begun, ok)
        watch = s.probe.start("stream", path="/watch")
        s.probe.until(watch, "data")
        s.fake.freeze()
        s.equal(0, s.get(timeout_ms=TRY_MS, tries=3), "the second try is answered")
        s.fake.answer(ok)
        for i in range(4):
            s.equal(0, s.get(timeout_ms=TRY_MS, tries=1), f"nothing goes there any more ({i})")
        s.equal(0, s.probe.ask("burst", path="/x", n=10, timeout_ms=TRY_MS, tries=1).get("r"), "nor do many at once")
        s.equal({1}, {number for number, _ in s.fake.requests}, "one new connection is enough")
        s.equal({}, s.probe.next(watch, 0.1), "the watch is its owner's affair")


def forgotten_by_many(t, *where):
    with Scene(t, "many wait on it", *where) as s:
        s.fake.answer(ok)
        s.equal(0, s.get(), "the connection")
        s.fake.freeze()
        s.equal(0, s.probe.ask("burst", path="/x", n=20, timeout_ms=TRY_MS, tries=3).get("r"), "all are answered")
        s.equal(2, len(s.fake.connections), "by one new connection")


def silences(t, *where):
    """A stream may have nothing to say for minutes; whether its connection lives is asked."""
    with Scene(t, "a black hole under an idle watch", *where, silence_ms=SILENCE_MS) as s:
        s.fake.answer(fake_h2.begun)
        watch = s.probe.start("stream", path="/watch")
        s.probe.until(watch, "data")
        s.fake.freeze()
        s.equal(("end", -110), (lambda e: (e.get("event"), e.get("r")))(s.probe.next(watch)), "its stream ends")
        watch = s.probe.start("stream", path="/watch")
        s.t.ok(s.probe.until(watch, "data"), "a black hole under an idle watch: the next stream is answered")
        s.equal(1, s.fake.requests[-1][0], "on a new connection")


def loud_log(t, *where):
    """The connection of logs rests between pieces; then each log goes on where it was, and no request waits for them."""
    with Scene(t, "logs without end", *where) as s:
        def print_lines(connection, stream):
            for number in range(90):
                more(connection, stream, b"2026-11-20T08:52:51.1Z %d %s\n" % (number, b"x" * 16000))

        def loud(connection, stream):
            connection.send(fake_h2.HEADERS, fake_h2.END_HEADERS, stream, fake_h2.OK)
            threading.Thread(target=print_lines, args=(connection, stream), daemon=True).start()
        s.fake.answer(loud, loud, loud, ok)
        logs = [s.probe.start("follow", ns="n", pod="a") for _ in range(3)]
        s.fake.wait_for(3)
        s.equal(0, s.probe.ask("get", path="/x").get("r"), "a request between their lines")
        for number in logs:
            s.equal([str(n) for n in range(90)], [s.probe.next(number).get("line", "").split(" ")[0] for _ in range(90)], "all lines")
        s.equal(1, len({connection for connection, _ in s.fake.requests[:3]}), "over one connection")


def silent_log(t, *where):
    with Scene(t, "the same under a log that is followed", *where, silence_ms=SILENCE_MS) as s:
        s.fake.answer(fake_h2.begun)
        number = s.probe.start("follow", ns="n", pod="a")
        s.fake.wait_for(1)
        s.probe.until(number, "line")
        s.fake.freeze()
        s.t.ok(s.fake.wait_for(3), "the same under a log that is followed: opened again")   # one was the question
        s.equal(1, s.fake.requests[-1][0], "on a new connection")


def idle_watch(t, *where):
    with Scene(t, "a watch without events", *where, silence_ms=SILENCE_MS) as s:
        s.fake.answer(fake_h2.begun, ok)
        watch = s.probe.start("stream", path="/watch")
        s.probe.until(watch, "data")
        s.t.ok(s.fake.wait_for(3), "a watch without events: is asked about, again and again")
        times = s.fake.times
        s.t.ok(times[2] - times[1] >= SILENCE_MS / 1000, "a watch without events: an answer is a sign of life", times)
        more(s.fake.connections[0], 1, b"an event", end=True)
        s.equal("an event", (s.probe.until(watch, "data") or [{}])[-1].get("data"), "it goes on")
        s.equal({0}, {number for number, _ in s.fake.requests}, "on its connection")


def unanswered_stream(t, *where):
    with Scene(t, "a stream that nobody answers", *where, silence_ms=SILENCE_MS) as s:
        s.fake.answer(fake_h2.silent, ok)
        started_s = time.monotonic()
        s.probe.start("stream", path="/watch")
        s.t.ok(s.fake.wait_for(2) and s.fake.times[1] - started_s >= SILENCE_MS / 1000,
               "a stream that nobody answers: is asked about when it has had its time", s.fake.times)


def slow_beside_a_watch(t, *where):
    with Scene(t, "a request that is slow beside a watch that lives", *where, silence_ms=60000) as s:
        s.fake.answer(fake_h2.begun, fake_h2.silent, ok)
        watch = s.probe.start("stream", path="/watch")
        s.probe.until(watch, "data")
        s.equal(0, s.get(timeout_ms=TRY_MS, tries=2), "is answered by another connection")
        s.equal({}, s.probe.next(watch, 14), "nobody ends the watch")   # silent connections are looked for every 20 s
        more(s.fake.connections[0], 1, b"an event", end=True)
        s.equal("an event", (s.probe.until(watch, "data") or [{}])[-1].get("data"), "the watch goes on")


TESTS = (one_connection, goaways, resets, early_answers, forgotten, forgotten_by_many, silences, loud_log, silent_log, idle_watch,
         unanswered_stream, slow_beside_a_watch)


def main():
    t = tap.Tap()  # the scenes mostly wait, so they run at the same time
    with tempfile.TemporaryDirectory(prefix="benchd-kube-") as folder:
        folder = pathlib.Path(folder)
        pair = tap.make_certificate(folder, "h2", "IP:127.0.0.1")
        for test in TESTS:
            (folder / test.__name__).mkdir()
        with ThreadPoolExecutor(len(TESTS)) as pool:
            for result in [pool.submit(test, t, folder / test.__name__, pair) for test in TESTS]:
                result.result()
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
