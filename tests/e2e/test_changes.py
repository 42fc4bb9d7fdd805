#!/usr/bin/env python3
"""What benchd stands on changes during a run: its token is replaced and the old one revoked, the API server gets a certificate of another
authority, the machine's clock jumps by hours, a quota comes when half a gang is there. Each time the run goes on in the same process
and ends as one that nobody disturbed."""
import collections
import datetime
import functools
import json
import os
import ssl
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.request

import tap
from benchd import Benchd, wait_for
from cluster import becomes
from fault_proxy import Fault, FaultProxy
from faulted import Scene, attempts, cluster_for_runs
from gangs import Gangs
from rest import MERGE, NS, Api, port_of

CLOCK_STEP = os.environ.get("CLOCK_STEP_MODULE", str(tap.ROOT / "build" / "tests" / "e2e" / "libclock_step.so"))
HOUR_S = 3600


class Daemon(Benchd):
    """A benchd with its token and its authority in files, and a clock that a test sets."""

    def __init__(self, cluster, port):
        self.token, self.authority = cluster.dir / "token", cluster.dir / "authority.crt"
        self.clock = cluster.dir / "clock"
        self.step(6 * HOUR_S)   # later it goes back to the time at which the certificates were made

        def change(entry, user, _config):
            entry.pop("certificate-authority-data")
            entry.update({"server": f"https://127.0.0.1:{port}", "certificate-authority": str(self.authority)})
            user.clear()
            user["tokenFile"] = str(self.token)
        super().__init__(cluster, "--kubeconfig", cluster.make_kubeconfig("files", change))

    def step(self, seconds):
        """The clock is off by so much from now on."""
        with open(self.clock, "r+b" if self.clock.exists() else "w+b") as file:
            file.write(struct.pack("=q", seconds))

    def start(self, *options):
        os.environ.update(LD_PRELOAD=CLOCK_STEP, CLOCK_STEP=str(self.clock))
        try:
            super().start(*options)
        finally:
            del os.environ["LD_PRELOAD"], os.environ["CLOCK_STEP"]


def replace(path, text):
    """As the kubelet does it: whole or not at all."""
    new = path.with_suffix(".new")
    new.write_text(text)
    new.rename(path)


def make_token(k, name):
    """A token of benchd's account that is good as long as this Secret is there."""
    k("create", "secret", "generic", name)
    return k("create", "token", "benchd", "--bound-object-kind=Secret", f"--bound-object-name={name}").stdout.strip()


def is_refused(cluster, token):
    request = urllib.request.Request(f"https://127.0.0.1:{port_of(cluster)}{NS}/pods", headers={"Authorization": f"Bearer {token}"})
    try:
        urllib.request.urlopen(request, context=ssl.create_default_context(cafile=cluster.dir / "pki/ca.crt"), timeout=30).close()
    except urllib.error.HTTPError as e:
        return e.code == 401
    return False


def make_authority(folder, name):
    """A new authority and a certificate for the API server's address by it; the paths of its certificate, the other, its key."""
    ca, cert, key = folder / f"{name}.crt", folder / f"{name}-server.crt", folder / f"{name}-server.key"
    extensions = folder / f"{name}.ext"
    extensions.write_text("subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth\n")
    for words in (
            ("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30", "-subj",
             f"/CN={name}", "-keyout", folder / f"{name}.key", "-out", ca, "-addext", "keyUsage=critical,keyCertSign"),
            ("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=api",
             "-keyout", key, "-out", folder / f"{name}.csr"),
            ("x509", "-req", "-in", folder / f"{name}.csr", "-CA", ca, "-CAkey", folder / f"{name}.key", "-CAcreateserial",
             "-days", "30", "-extfile", extensions, "-out", cert)):
        subprocess.run(["openssl", *words], check=True, capture_output=True)
    return ca, cert, key


def check_token(scene):
    process, k, file = scene.daemon.process, scene.cluster.kubectl, scene.daemon.token
    with scene.held():
        scene.runs.create("token")
        scene.wait_pods("token", 2)
        old = file.read_text()
        replace(file, make_token(k, "token-2"))
        k("delete", "secret", "token-1")
        # The API server remembers a good token for 10 s.
        scene.t.ok(becomes(lambda: is_refused(scene.cluster, old), 120), "token: the old one is revoked")
    scene.check_end("token", 120, "another token", process)


def check_authority(scene, proxy):
    """The server resets its connections and has another certificate; the file follows at once or (--long) seconds later."""
    for name, gap_s in (("authority", 0), *((("late-authority", 4),) if scene.long else ())):
        process = scene.daemon.process
        ca, *certificate = make_authority(scene.cluster.dir, name)
        with scene.held():
            scene.runs.create(name)
            scene.wait_pods(name, 2)
            proxy.use_certificate(*certificate)
        time.sleep(gap_s)
        replace(scene.daemon.authority, ca.read_text())
        scene.check_end(name, 120, f"another authority, its file {gap_s} s later", process)


def time_of(text):
    return datetime.datetime.fromisoformat(text).timestamp()


def check_clock(scene):
    """Hours back, before the certificates' time but for what this clock began with, then far ahead. An hour's deadline and an
    hour's time to live do not notice."""
    process, patience = scene.daemon.process, {"activeDeadlineSeconds": HOUR_S, "ttlSecondsAfterFinished": HOUR_S}
    ahead_s = time_of(scene.runs.status("plain")["startTime"]) - time.time()
    scene.t.ok(5 * HOUR_S < ahead_s < 7 * HOUR_S, "benchd has begun with a clock that is 6 hours ahead", ahead_s)
    for name, hours in (("back", 0), ("ahead", 30)):
        with scene.held():
            scene.runs.create(name, runPolicy=patience)
            scene.wait_pods(name, 2)
            scene.daemon.step(hours * HOUR_S)
            time.sleep(1)
        scene.check_end(name, 120, f"the clock goes {name}", process)
    scene.runs.create("after", runPolicy=patience)
    scene.check_end("after", 120, "a run after that", process)
    scene.t.ok(all(scene.runs.status(name) for name in ("back", "ahead")), "no run has expired")
    lease = json.loads(scene.cluster.kubectl("get", "lease", "benchd", "-o", "json").stdout)["spec"]
    off_s = time.time() - time_of(lease["renewTime"])
    scene.t.ok(abs(off_s) < 60, "the Lease has the API server's time", off_s)


# ---- quota ----

class QuotaInTheMiddle(Fault):
    """A quota of `pods` as soon as the first pod of a gang is there. There is no quota controller, so this counts."""
    TRIES = 3   # after so many refusals of one pod its gang waits for the next one, and then makes room

    def __init__(self, cluster, pods):
        self.api, self.pods = Api(cluster), pods
        self.is_there = False
        self.refused = collections.Counter()   # by the pod's name

    def rooms_made(self):
        """Attempts that have made room: how many were refused too often depends on when the quota is lifted."""
        return len({name.rsplit("-", 2)[0] for name, times in self.refused.items() if times > self.TRIES})

    def after(self, request, status, body):
        if request.method != "POST" or request.is_dry or "/pods" not in request.path:
            return None
        if status == 403:
            self.refused[json.loads(request.body)["metadata"]["name"]] += 1
        if self.is_there or status != 201:
            return None
        self.is_there = True
        hard = {"pods": str(self.pods)}
        self.api("POST", f"{NS}/resourcequotas", {"metadata": {"name": "few"}, "spec": {"hard": hard}})
        self._use(hard, self.pods)
        becomes(self._is_known, 60)   # everything else waits, too
        self._use(hard, 1)
        return None

    def _use(self, hard, used):
        self.api("PATCH", f"{NS}/resourcequotas/few/status", {"status": {"hard": hard, "used": {"pods": str(used)}}}, MERGE)

    def _is_known(self):
        """Admission knows of the quota, which is full: it refuses even what would only be tried."""
        pod = {"metadata": {"name": "one-more"}, "spec": {"containers": [{"name": "main", "image": "none"}]}}
        return self.api("POST", f"{NS}/pods?dryRun=All", pod)[0] == 403


def refused(runs, name):
    """The condition while it is true. benchd takes it back for the moment of each next try, so it is read once a look."""
    found = runs.condition(name, "Waiting")
    return found if found and found["reason"] == "QuotaExceeded" else None


def check_quota(scene, proxy):
    """Lifted soon: the half gang waits for the rest. Lifted late (--long): the half gang makes room, which costs no attempt though the next
    has another number."""
    alone = {"sweep": {"grid": {"pservers": [1], "trainers": [5]}}, "baseline": {"kind": "Point", "where": {"trainers": 5}},
             "runPolicy": {"backoffLimit": 0}}
    for name, seconds in (("quota", 4), *((("long-quota", 25),) if scene.long else ())):
        process, api = scene.daemon.process, scene.runs.api
        with scene.held():
            proxy.fault = quota = QuotaInTheMiddle(scene.cluster, 3)
            uid = scene.runs.create(name, **alone)
            waiting = wait_for(functools.partial(refused, scene.runs, name))
            scene.t.ok(waiting, f"{name}: the run waits", scene.runs.status(name).get("conditions"))
            scene.t.match("exceeded quota: few", (waiting or {}).get("message", ""), f"{name}: the condition has the server's words")
            made = len(scene.gangs.names(uid))
            scene.t.ok(1 <= made < 6, f"{name}: {made} pods of 6 are there")
            time.sleep(seconds)
            api("DELETE", f"{NS}/resourcequotas/few")
        scene.t.ok(scene.runs.wait_end(name, 180), f"{name}: lifted after {seconds} s, the run ends", scene.log())
        proxy.fault = Fault()
        attempt = quota.rooms_made()   # 0, or 1 of the long one; of either where this machine stood for 10 s
        outcome = scene.runs.outcome(name)
        scene.t.equal(("Succeeded", [attempt], []), (outcome["phase"], attempts(outcome), outcome["left"]), f"{name}: and succeeds")
        scene.check_whole(name, process)


def main():
    long = "--long" in sys.argv[1:]
    t = tap.Tap()
    with cluster_for_runs() as cluster, FaultProxy(port_of(cluster), cluster.dir / "pki") as proxy, Gangs(cluster) as gangs:
        daemon = Daemon(cluster, proxy.port)
        replace(daemon.token, make_token(cluster.kubectl, "token-1"))
        replace(daemon.authority, (cluster.dir / "pki/ca.crt").read_text())
        with daemon:
            scene = Scene(t, cluster, gangs, daemon, long)
            scene.learn("plain")
            check_quota(scene, proxy)
            check_clock(scene)
            check_token(scene)
            check_authority(scene, proxy)
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
