#!/usr/bin/env python3
"""kill -9 of benchd after every single write of a run, through a proxy that counts them. Each time benchd starts again, and the run
ends as one that nobody disturbed: the same trials at their first attempt, the same figures, the same pods, each made once.

Without options every fifth write; with --long all of them, each twice: killed before benchd has the answer, and right after."""
import json
import signal
import sys
import threading
import time

import tap
from benchd import Benchd, definition
from cluster import Cluster, becomes
from fault_proxy import LOSE, Fault, FaultProxy
from gangs import Gangs
from kubeconfigs import set_token
from rest import NS, RUNS, Api, port_of

CRD = tap.ROOT / "manifests" / "benchmark-crd.yaml"
RBAC = tap.ROOT / "manifests" / "rbac.yaml"
FINAL = ("Succeeded", "PartiallyFailed", "Failed", "Cancelled")
RUN_S = 60
SHORT = 5   # every so manyth write


class CountWrites(Fault):
    """The writes of benchd that the API server took, in their order."""

    def __init__(self):
        self.writes = []

    def after(self, request, status, _body):
        if request.is_write and status < 300:
            self.writes.append(f"{request.method} {request.path.partition('?')[0].rpartition('benchd/')[2]}")
        return None


class KillAfter(CountWrites):
    """Kills benchd at its `number`th write, before it has the answer or after."""

    def __init__(self, daemon, number, with_answer):
        super().__init__()
        self.daemon, self.number, self.with_answer = daemon, number, with_answer
        self.killed = threading.Event()

    def _kill(self):
        self.daemon.process.send_signal(signal.SIGKILL)
        self.killed.set()

    def after(self, request, status, body):
        if self.killed.is_set():
            return None
        super().after(request, status, body)
        if len(self.writes) == self.number and not self.with_answer:
            self._kill()
            return LOSE
        return None

    def sent(self, request):
        if self.with_answer and request.is_write and len(self.writes) >= self.number and not self.killed.is_set():
            time.sleep(0.002)   # benchd reads the answer, and perhaps does the next thing
            self._kill()


class Kills:
    def __init__(self, cluster, gangs, proxy, daemon, repeats):
        self.gangs, self.proxy, self.daemon, self.repeats = gangs, proxy, daemon, repeats
        self.api = Api(cluster)

    def create(self, name):
        body = {"apiVersion": "benchd.io/v1alpha1", "kind": "BenchmarkRun", "metadata": {"name": name},
                "spec": {"definition": definition(addressing="Dns", repeats={"min": self.repeats})}}
        status, answer = self.api("POST", RUNS, body)
        if status != 201:
            raise RuntimeError(answer)

    def run(self, name, fault):
        """One run from its creation to its end under a fault; what came of it, in words that do not hold its name."""
        self.proxy.fault = fault
        self.create(name)

        def ended():
            if self.daemon.process.poll() is not None:
                self.daemon.start()
            return self.api.get(f"{RUNS}/{name}").get("status", {}).get("phase") in FINAL

        becomes(ended, RUN_S)
        # The end is written last of all but the Event that tells it.
        becomes(lambda: any(write.startswith("POST events") for write in fault.writes[-2:]) or self.was_killed(fault), 1)
        self.proxy.fault = Fault()
        if self.daemon.process.poll() is not None:
            self.daemon.start()
        return self.outcome(name)

    @staticmethod
    def was_killed(fault):
        return isinstance(fault, KillAfter) and fault.killed.is_set()

    def outcome(self, name):
        status = self.api.get(f"{RUNS}/{name}")["status"]
        result = self.daemon.results(name)
        points = [{key: point[key] for key in ("point", "throughput", "speedup")} | {"trials": [
            {key: trial[key] for key in ("trial", "attempt", "phase", "throughput")} for trial in point["trials"]]}
            for point in result["points"]]
        left = [pod["metadata"]["name"] for pod in self.api.get(f"{NS}/pods")["items"]]
        return {"phase": status["phase"], "completions": status["completions"], "points": points, "left": left,
                "conditions": sorted((c["type"], c["status"]) for c in status["conditions"]),
                "pods": sorted(pod.removeprefix(name) for pod in self.gangs.names(name))}


def check_kills(t, kills, long):
    fault = CountWrites()
    undisturbed = kills.run("plain", fault)
    print("# its writes: " + ", ".join(fault.writes), flush=True)
    attempts = [trial["attempt"] for point in undisturbed["points"] for trial in point["trials"]]
    t.equal(("Succeeded", 2 * kills.repeats * [0]), (undisturbed["phase"], attempts), "undisturbed: each trial at once")
    killed = 0
    numbers = range(1, len(fault.writes) + 1)
    for number in numbers if long else numbers[::SHORT]:
        for with_answer in (False, True) if long else (number // SHORT % 2 == 1,):
            name = f"{'after' if with_answer else 'before'}-{number}"
            fault = KillAfter(kills.daemon, number, with_answer)
            began = time.monotonic()
            outcome = kills.run(name, fault)
            killed += fault.killed.is_set()
            what = fault.writes[-1] if fault.killed.is_set() else "not reached"
            t.equal(undisturbed, outcome, f"killed {'after' if with_answer else 'before'} the answer to write {number}, {what} "
                                          f"({time.monotonic() - began:.1f} s)")
            t.equal([], kills.gangs.broken, "no pod twice, no two attempts at a time")
            kills.gangs.broken.clear()
    wanted = len(numbers if long else numbers[::SHORT]) * (2 if long else 1)
    # Statuses are at most one a second, so that another run may have a few writes less.
    t.ok(killed >= wanted - (6 if long else 1), f"{killed} kills of {wanted}")


def main():
    long = "--long" in sys.argv[1:]
    t = tap.Tap()
    with Cluster() as cluster:
        k = cluster.kubectl
        k("apply", "-f", CRD)
        k("apply", "-n", "benchd", "-f", RBAC)
        k("create", "serviceaccount", "default", check=False)   # its controller is not here
        k("wait", "--for=condition=Established", "--timeout=60s", "-f", CRD)
        token = k("create", "token", "benchd").stdout.strip()
        with FaultProxy(port_of(cluster), cluster.dir / "pki") as proxy, Gangs(cluster) as gangs:
            def through_proxy(entry, user, config):
                set_token(token)(entry, user, config)
                entry["server"] = f"https://127.0.0.1:{proxy.port}"
            with Benchd(cluster, "--kubeconfig", cluster.make_kubeconfig("proxied", through_proxy)) as daemon:
                check_kills(t, Kills(cluster, gangs, proxy, daemon, 2 if long else 1), long)
                if t.failures:
                    print("\n".join("# " + line for line in daemon.log.read_text().splitlines()[-60:]))
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
