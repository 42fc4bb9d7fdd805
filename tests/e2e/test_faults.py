#!/usr/bin/env python3
"""What is between benchd and a real API server goes wrong during a run: answers and requests are lost, the server is overloaded, slow
or broken, watches freeze or break, connections freeze, are cut or told to go away. Each time the run ends within a bound, as one that nobody
disturbed.

With --long more of it, and for longer."""
import json
import re
import sys
import time
import urllib.request

import tap
from cluster import becomes
from fault_proxy import LOSE, Fault, FaultProxy, Wire, answer
from faulted import Scene, attempts, benchd_behind, cluster_for_runs
from gangs import Gangs
from rest import NS, port_of

HTML = b"<html><body>\x00 the proxy in between is not well</body></html>"


# ---- faults ----

def key_of(request):
    """The same for a request that is sent again."""
    return request.method, request.path, request.body


class Once(Fault):
    """The first time that each write of a run is made, it fails: in the way of `given`, or else its answer is lost."""

    def __init__(self, given=None):
        self.given, self.seen = given, set()

    def _is_first(self, request):
        first = request.is_write and key_of(request) not in self.seen
        self.seen.add(key_of(request))
        return first

    def before(self, request):
        return self.given if self.given is not None and self._is_first(request) else None

    def after(self, request, status, body):
        return LOSE if self.given is None and self._is_first(request) else None


class Storm(Fault):
    """All requests that `hits` selects get `given`, for so many seconds from the first one on, and until a few have come: a benchd that
    was held up sends none for a while."""
    LEAST = 3

    def __init__(self, given, seconds, hits):
        self.given, self.seconds, self.hits = given, seconds, hits
        self.began, self.count = None, 0

    def before(self, request):
        if not self.hits(request):
            return None
        self.began = self.began or time.monotonic()
        if time.monotonic() > self.began + self.seconds and self.count >= self.LEAST:
            return None
        self.count += 1
        return self.given


class Slow(Fault):
    delay_s = 0.4


class Frozen(Fault):
    """Watches of this kind give no byte while it is so."""

    def __init__(self, kind):
        self.kind, self.is_frozen = kind, True

    def frozen(self, request):
        return self.is_frozen and f"/{self.kind}?" in request.path


class NoWatch(Fault):
    """No watch of pods comes about, nor a list; what is deleted meanwhile is never seen."""

    def before(self, request):
        return answer(503, "Service Unavailable") if request.method == "GET" and "/pods?" in request.path else None


# ---- requests that fail ----

def is_any(_request):
    return True


def posts_pod(request):
    return request.method == "POST" and "/pods" in request.path


def check_requests(scene, proxy):
    busy = answer(429, "Too Many Requests", b"slow down", retry_after=1)
    storm_s = 5 if scene.long else 3   # the Lease lives for 10 s, and was renewed up to 2 s before
    rows = {
        "lost-answers": ("each write loses its answer once", Once()),
        "storm-429": (f"{storm_s} s of 429 for everything, the Lease too", Storm(busy, storm_s, is_any)),
        "pods-429": ("no pod can be posted for a while", Storm(busy, 6, posts_pod)),
        "slow": ("every request takes 0.4 s longer", Slow()),
    }
    if scene.long:
        rows |= {
            "all-429": ("30 s of 429 for everything but the Lease", Storm(busy, 30, lambda request: not request.is_lease)),
            "long-pods-429": ("no pod can be posted for 40 s", Storm(busy, 40, posts_pod)),
            "lost-requests": ("each write is lost once", Once(LOSE)),
            "each-500": ("each write gets a 500 with HTML once", Once(answer(500, "Internal Server Error", HTML))),
            "storm-503": (f"{storm_s} s of 503 for everything", Storm(answer(503, "Service Unavailable", HTML), storm_s, is_any)),
        }
    for name, (what, fault) in rows.items():
        process = scene.daemon.process
        proxy.fault = fault
        scene.runs.create(name)
        scene.check_end(name, 180, what, process)
        proxy.fault = Fault()
        if isinstance(fault, Storm):
            scene.t.ok(fault.count >= Storm.LEAST, f"{what}: {fault.count} requests were refused")


# ---- watches ----

def check_frozen_pods(scene, proxy):
    """Pods end while their watch is frozen; it thaws. With --long it never does: 90 s of silence are noticed."""
    for name, thaws in (("frozen", True), *((("silent", False),) if scene.long else ())):
        process = scene.daemon.process
        with scene.held():
            scene.runs.create(name)
            scene.wait_pods(name, 2)
            proxy.fault = frozen = Frozen("pods")
        ended = becomes(lambda name=name: scene.runs.status(name).get("phase") == "Succeeded", 3)
        scene.t.ok(not ended, f"{name}: benchd does not see the ends")
        if thaws:
            frozen.is_frozen = False
        else:
            proxy.fault = Fault()   # for watches that come later; the old one stays frozen
        scene.check_end(name, 80 if thaws else 240, "pods end behind a frozen watch" if thaws else "a watch is silent for ever", process)
    proxy.fault = Fault()


def check_again_behind_frozen(scene, proxy):
    """A run is deleted and created again under its name while the watch of runs is frozen: two incarnations, one name."""
    process, api = scene.daemon.process, scene.runs.api
    with scene.held():
        first = scene.runs.create("again")
        scene.wait_pods("again", 2)
        proxy.fault = frozen = Frozen("benchmarkruns")
        scene.runs.delete("again")
        for name in scene.gangs.names(first):   # the garbage collector's part
            api("DELETE", f"{NS}/pods/{name}")
        scene.runs.create("again")
        time.sleep(1)
        frozen.is_frozen = False
    scene.check_end("again", 120, "the same name again behind a frozen watch", process)
    proxy.fault = Fault()


def check_unseen(scene, proxy):
    """A pod is deleted by somebody while nothing of pods can be read."""
    process = scene.daemon.process
    with scene.held():
        uid = scene.runs.create("unseen")
        scene.wait_pods("unseen", 2)
        proxy.fault = NoWatch()
        proxy.cut()
        scene.runs.api("DELETE", f"{NS}/pods/unseen-p0t0a0-trainer-0")
        scene.t.ok(becomes(lambda: "unseen-p0t0a0-trainer-0" not in scene.gangs.pods, 120), "unseen: a pod is deleted and gone")
        time.sleep(1)
        proxy.fault = Fault()
        scene.t.ok(becomes(lambda: any("-p0t0a1-" in name for name in scene.gangs.names(uid)), 120),
                   "unseen: benchd learns of it, and tries again", scene.log())
    scene.runs.wait_end("unseen", 120)
    outcome = scene.runs.outcome("unseen")
    scene.t.equal(("Succeeded", [1, 0]), (outcome["phase"], attempts(outcome)), "unseen: one attempt more, and its result")
    scene.t.equal([], outcome["left"], "unseen: no pod is left")
    scene.check_whole("unseen", process)


# ---- lists at the start ----

class NoList(Fault):
    """Lists of runs fail: those of all, or those by a field."""

    def __init__(self, given, is_by_field):
        self.given, self.is_by_field, self.count = given, is_by_field, 0

    def before(self, request):
        is_list = request.method == "GET" and "/benchmarkruns?" in request.path and not request.is_watch
        if not is_list or ("fieldSelector=" in request.path) != self.is_by_field:
            return None
        self.count += 1
        return self.given


def check_lists(scene, proxy):
    """A run waits while benchd starts, and others have ended. It is driven by the list of those that are open, before all are
    known; and where the definition of the kind has no field to select by, by the list of all."""
    rows = {
        "early": ("the list of all runs fails", NoList(answer(503, "Service Unavailable"), is_by_field=False)),
        "no-field": ("runs cannot be selected by a field", NoList(answer(400, "Bad Request"), is_by_field=True)),
    }
    for name, (what, fault) in rows.items():
        scene.daemon.stop()
        scene.runs.create(name)
        proxy.fault = fault
        scene.daemon.start()
        scene.check_end(name, 90, f"benchd starts, and {what}", scene.daemon.process)
        scene.t.ok(fault.count > 0, f"{what}, {fault.count} times")
        proxy.fault = Fault()


# ---- connections, over HTTP/2 ----

def check_wire(scene, wire):
    process = scene.daemon.process
    cuts = 20 if scene.long else 8
    scene.runs.create("cut")
    for _ in range(cuts):
        time.sleep(0.3)
        wire.cut()
    scene.check_end("cut", 120, f"all connections are cut {cuts} times", process)
    with scene.held():   # else they run for a tenth of a second, and nobody may look at that time
        scene.runs.create("frozen-wire")
        scene.wait_pods("frozen-wire", 1)
        wire.freeze()
    seconds = 6 if scene.long else 3
    time.sleep(seconds)
    wire.thaw()
    scene.check_end("frozen-wire", 120, f"no byte passes for {seconds} s", process)
    if scene.long:
        check_lost_lease(scene, wire)


def check_lost_lease(scene, wire):
    scene.runs.create("lost-lease")
    with scene.held():
        scene.wait_pods("lost-lease", 2)
        wire.freeze()
        scene.t.equal(14, scene.daemon.process.wait(timeout=90), "no byte passes for longer than the Lease lives: exit 14")
    wire.thaw()
    scene.daemon.start()
    scene.check_end("lost-lease", 120, "and the next benchd goes on")


def check_goaway(scene):
    """The API server ends one HTTP/2 connection in 50 requests (--goaway-chance). Runs follow each other until it has done so."""
    process = scene.daemon.process
    before, number = connections(scene.cluster), 0
    while connections(scene.cluster) < before + (10 if scene.long else 3) and number < 30:
        scene.runs.create(f"goaway-{number}")
        scene.check_end(f"goaway-{number}", 120, f"run {number} under GOAWAY", process)
        number += 1
    told = connections(scene.cluster) - before
    scene.t.ok(told >= 3, f"the server said GOAWAY {told} times in {number} runs")


def connections(cluster):
    lease = json.loads(cluster.kubectl("get", "lease", "benchd", "-o", "json").stdout)
    with urllib.request.urlopen(lease["metadata"]["annotations"]["benchd.io/address"] + "/metrics", timeout=60) as res:
        return int(re.search(r"(?m)^benchd_api_connections_total (\d+)", res.read().decode())[1])


def main():
    long = "--long" in sys.argv[1:]
    t = tap.Tap()
    with cluster_for_runs(("--goaway-chance=0.02",)) as cluster, Gangs(cluster) as gangs:
        port = port_of(cluster)
        with FaultProxy(port, cluster.dir / "pki") as proxy, benchd_behind(cluster, proxy.port) as daemon:
            scene = Scene(t, cluster, gangs, daemon, long)
            scene.learn("plain")
            check_requests(scene, proxy)
            check_frozen_pods(scene, proxy)
            check_again_behind_frozen(scene, proxy)
            check_unseen(scene, proxy)
            check_lists(scene, proxy)
            daemon.stop()
        with Wire(port) as wire, benchd_behind(cluster, wire.port, "wire") as daemon:
            scene = Scene(t, cluster, gangs, daemon, long)
            scene.learn("plain-h2")
            check_wire(scene, wire)
            check_goaway(scene)
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
