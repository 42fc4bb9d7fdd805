"""Runs of benchd under faults, and what came of them in words that two runs can be compared by.

    with cluster_for_runs() as cluster, FaultProxy(port_of(cluster), cluster.dir / "pki") as proxy, Gangs(cluster) as gangs:
        with benchd_behind(cluster, proxy.port) as daemon:
            runs = Runs(cluster, gangs, daemon)
"""
import contextlib
import time

import tap
from benchd import Benchd, definition
from cluster import Cluster, becomes
from kubeconfigs import set_token
from rest import MERGE, NS, RUNS, Api

RBAC = tap.ROOT / "manifests" / "rbac.yaml"
FINAL = ("Succeeded", "PartiallyFailed", "Failed", "Cancelled")


def through(port, token):
    """A change for Cluster.make_kubeconfig: this account, by way of a proxy."""
    def change(entry, user, config):
        set_token(token)(entry, user, config)
        entry["server"] = f"https://127.0.0.1:{port}"
    return change


@contextlib.contextmanager
def cluster_for_runs(api_options=()):
    """An API server with benchd's kinds and rights, without controllers."""
    with Cluster(api_options=api_options) as cluster:
        k = cluster.kubectl
        cluster.apply_kinds()
        k("apply", "-n", "benchd", "-f", RBAC)
        yield cluster


def benchd_behind(cluster, port, name="results", *options):
    token = cluster.kubectl("create", "token", "benchd").stdout.strip()
    return Benchd(cluster, "--kubeconfig", cluster.make_kubeconfig(f"by-{name}", through(port, token)), *options, name=name)


class Runs:
    """Two points, of 1 pserver with 1 and with 2 trainers."""

    def __init__(self, cluster, gangs, daemon, repeats=1):
        self.gangs, self.daemon, self.repeats = gangs, daemon, repeats
        self.api = Api(cluster)

    def create(self, name, **changes):
        """Returns its uid."""
        body = {"apiVersion": "benchd.io/v1alpha1", "kind": "BenchmarkRun", "metadata": {"name": name},
                "spec": {"definition": definition(**{"addressing": "DNS", "repeats": {"min": self.repeats}, **changes})}}
        status, made = self.api("POST", RUNS, body)
        if status != 201:
            raise RuntimeError(made)
        return made["metadata"]["uid"]

    def status(self, name):
        return (self.api.get(f"{RUNS}/{name}") or {}).get("status", {})

    def condition(self, name, kind):
        """The condition if it is true, or None."""
        return next((c for c in self.status(name).get("conditions", []) if c["type"] == kind and c["status"] == "True"), None)

    def completed(self, name):
        return int(self.status(name).get("completions", "0/0").partition("/")[0])

    def delete(self, name):
        """As benchctl delete does it."""
        self.api("PATCH", f"{RUNS}/{name}", {"metadata": {"annotations": {"benchd.io/erase": "Now"}}}, MERGE)
        self.api("DELETE", f"{RUNS}/{name}")

    def wait_end(self, name, seconds, restart=False):
        """Whether it ended within the time; benchd is started again each time if it may be killed."""
        def ended():
            if restart and self.daemon.process.poll() is not None:
                self.daemon.start()
            return self.status(name).get("phase") in FINAL
        return becomes(ended, seconds)

    def outcome(self, name):
        """What must be the same for two runs of one definition; nothing in it has the run's name or a time."""
        run = self.api.get(f"{RUNS}/{name}")
        status = run.get("status", {})
        result = self.daemon.results(name)
        points = [{key: point[key] for key in ("point", "throughput", "speedup")} | {"trials": [
            {key: trial[key] for key in ("trial", "attempt", "phase", "throughput")} for trial in point["trials"]]}
            for point in result["points"]]
        left = [pod["metadata"]["name"] for pod in self.api.get(f"{NS}/pods")["items"]]
        return {"phase": status.get("phase"), "completions": status.get("completions"), "points": points, "left": left,
                "conditions": sorted((c["type"], c["status"]) for c in status.get("conditions", [])),
                "pods": sorted(pod.removeprefix(name) for pod in self.gangs.names(run["metadata"]["uid"]))}


def attempts(outcome):
    return [trial["attempt"] for point in outcome["points"] for trial in point["trials"]]



def difference(expected, actual):
    """Of two outcomes, the keys that differ."""
    return "\n".join(f"{key}:\n  expected {expected[key]}\n  actual   {actual[key]}" for key in expected
                     if expected[key] != actual[key])


class Scene:
    """What every scenario needs."""

    def __init__(self, t, cluster, gangs, daemon, long):
        self.t, self.cluster, self.gangs, self.daemon, self.long = t, cluster, gangs, daemon, long
        self.runs = Runs(cluster, gangs, daemon)
        self.undisturbed = None

    def learn(self, name):
        """How a run ends that nobody disturbs."""
        self.runs.create(name)
        self.runs.wait_end(name, 180)
        self.undisturbed = self.runs.outcome(name)
        self.t.equal(("Succeeded", [0, 0]), (self.undisturbed["phase"], attempts(self.undisturbed)), f"{name}: nothing is wrong")

    def check_end(self, name, seconds, what, process=None):
        """It ends as one that nobody disturbed, by the same process if that is given."""
        began = time.monotonic()
        ended = self.runs.wait_end(name, seconds)
        self.t.ok(ended, f"{what}: the run ends within {seconds} s ({time.monotonic() - began:.1f} s)", self.log())
        told = difference(self.undisturbed, self.runs.outcome(name))
        self.t.ok(told == "", f"{what}: as one that nobody disturbed", told)
        self.check_whole(what, process)

    def check_whole(self, what, process=None):
        self.t.equal([], self.gangs.broken, f"{what}: no pod twice, no two attempts at a time")
        self.gangs.broken.clear()
        if process is not None:
            self.t.equal((None, process.pid), (self.daemon.process.poll(), self.daemon.process.pid), f"{what}: by the same process")

    def log(self):
        return self.daemon.log.read_text()[-3000:]

    @contextlib.contextmanager
    def held(self):
        """Gangs run until this ends."""
        self.gangs.run_s = None
        try:
            yield
        finally:
            self.gangs.end_now()

    def wait_pods(self, name, count):
        """Until so many pods of the run run."""
        def running():
            return sum(pod["status"]["phase"] == "Running" for pod in list(self.gangs.pods.values())
                       if pod["metadata"]["name"].startswith(f"{name}-p")) >= count
        return self.t.ok(becomes(running, 120), f"{name}: {count} pods run", self.log())
