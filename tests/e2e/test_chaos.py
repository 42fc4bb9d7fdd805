#!/usr/bin/env python3
"""An hour of mishaps, one after another, while runs of four trials are made all the time, half of them in two lanes and half of them
behind a queue of Kueue: kill -9 of benchd, of etcd, of the API server and of Kueue; a second benchd with the same store; a Lease, a pod,
a Secret, a Service or a Workload deleted; a queue that evicts all; a store that is read-only, or full, for a minute. Then every run has
ended with all its trials, no result differs from what it was when its run ended, and there were never more attempts at a time than
lanes, or two of a point, or two on a node. The pods are KWOK's.

test_chaos.py [--minutes N] [--seed N]: the seed says which mishap comes when. BENCHD and BENCHCTL name the programs."""
import argparse
import contextlib
import http.client
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time

import kueue
import kwok
import tap
from benchd import Benchd, definition
from cluster import CONTROLLERS, CRD, Cluster, becomes, wait_until
from faulted import FINAL, RBAC
from kubeconfigs import set_token
from rest import MERGE, NS, RUNS, Api

OPEN_RUNS = 3       # that wait or run at a time
REST_S = (5, 25)    # between two mishaps
STORE_S = 60        # a store that cannot be written
END_S = 1200        # until the last runs are through
LEAST_RUNS = 100    # of an hour
QUEUE = "team"
KUEUE = f"/apis/{kueue.VERSION}"
WORKLOADS = f"{KUEUE}/namespaces/benchd/workloads"
SPEC = {"repeats": {"min": 2}, "sweep": {"grid": {"pservers": [1], "trainers": [1, 2]}}, "addressing": "DNS",
        "runPolicy": {"backoffLimit": 50, "ttlSecondsAfterFinished": 600}}   # each start of benchd lists those that are there


NO_ANSWER = (OSError, ValueError, http.client.HTTPException)   # of an API server that is away


class Keeper(threading.Thread):
    """Starts benchds again, as a Deployment does."""

    def __init__(self):
        super().__init__(daemon=True)
        self.wanted, self.lock, self.exits = [], threading.Lock(), {}
        self.is_over = threading.Event()

    def run(self):
        while not self.is_over.wait(1):
            with self.lock:
                for daemon in self.wanted:
                    code = daemon.process.poll() if daemon.process else None
                    if code is not None:
                        self.exits[code] = self.exits.get(code, 0) + 1
                    if daemon.process is None or code is not None:
                        daemon.start()

    def remove(self, daemon):
        with self.lock:
            self.wanted.remove(daemon)
            daemon.kill()

    def add(self, daemon):
        with self.lock:
            daemon.process = None
            self.wanted.append(daemon)


def lanes_of(run):
    """run-N: every other one has two lanes."""
    return 1 + int(run.rpartition("-")[2]) % 2


def spec_of(run):
    spec = {"definition": definition(**SPEC), "parallelism": {"trials": lanes_of(run)}}
    return {**spec, "scheduling": {"queueName": QUEUE}} if int(run.rpartition("-")[2]) % 4 >= 2 else spec


class Witness(threading.Thread):
    """Looks at all pods, again and again."""

    def __init__(self, cluster):
        super().__init__(daemon=True)
        self.api, self.uids, self.broken, self.looks, self.most = Api(cluster), {}, set(), 0, 0

    def run(self):
        while True:
            time.sleep(0.2)
            with contextlib.suppress(*NO_ANSWER):
                listed = self.api.get(f"{NS}/pods")
                if listed:
                    self.look(listed["items"])

    def look(self, pods):
        self.looks += 1
        alive = {}   # the nodes of each attempt
        for pod in pods:
            meta, labels = pod["metadata"], pod["metadata"]["labels"]
            self.uids.setdefault((labels["benchd.io/run"], meta["name"]), set()).add(meta["uid"])
            if pod["status"]["phase"] in ("Pending", "Running"):
                nodes = alive.setdefault(tuple(labels[f"benchd.io/{key}"] for key in ("run", "point", "trial", "attempt")), set())
                nodes.add(pod["spec"].get("nodeName"))
        runs, points = {run for run, *_ in alive}, {(run, point) for run, point, *_ in alive}
        nodes = [node for one in alive.values() for node in one if node]
        self.most = max(self.most, len(alive))
        if len(runs) > 1 or len(points) < len(alive) or len(alive) > max([lanes_of(run) for run in runs], default=0) or len(nodes) > len(set(nodes)):
            self.broken.add(f"at a time: {sorted(alive.items())}")

    def twice(self):
        return [name for name, uids in self.uids.items() if len(uids) > 1]


class Runs(threading.Thread):
    """Makes runs until it is told to stop, and keeps the results of each as they were at its end."""

    def __init__(self, cluster, store):
        super().__init__(daemon=True)
        self.api, self.reader = Api(cluster), Benchd(cluster)
        self.reader.store = store
        self.names, self.ends, self.is_over = [], {}, threading.Event()

    def run(self):
        while True:
            time.sleep(0.5)
            with contextlib.suppress(*NO_ANSWER):
                self.look()

    def look(self):
        listed = self.api.get(RUNS)
        if listed is None:
            return
        phases = {run["metadata"]["name"]: run.get("status", {}).get("phase") for run in listed["items"]}
        for name in [name for name, phase in phases.items() if phase in FINAL and name not in self.ends]:
            points = self.results(name)
            if points is not None:   # else the store cannot be read now
                self.ends[name] = (phases[name], points)
        if sum(phase not in FINAL for phase in phases.values()) < OPEN_RUNS and not self.is_over.is_set():
            name = self.next_name()
            status, _ = self.api("POST", RUNS, {"apiVersion": "benchd.io/v1alpha1", "kind": "BenchmarkRun", "metadata": {"name": name},
                                                "spec": self.spec(name)})
            if status in (201, 409):   # the answer to the first try may have been lost
                self.names.append(name)

    def next_name(self):
        return f"run-{len(self.names)}"

    def spec(self, name):
        return spec_of(name)

    def results(self, name):
        done = self.reader.ctl("results", name, "-o", "json")
        return json.loads(done.stdout)["points"] if done.returncode == 0 else None

    def are_ended(self):
        return len(self.ends) == len(self.names)


class Chaos:
    def __init__(self, cluster, keeper, daemons, folder, seed):
        self.cluster, self.keeper, self.folder = cluster, keeper, folder
        self.daemon, self.second = daemons
        self.random, self.api, self.counts = random.Random(seed), Api(cluster), {}

    def mishaps(self):
        return [self.kill_benchd, self.kill_benchd, self.kill_etcd, self.kill_api_server, self.delete_lease, self.delete_pod,
                self.delete_pod, self.delete_side_object, self.delete_side_object, self.delete_workload,
                self.delete_workload, self.evict_all, self.kill_kueue, self.two_benchds, self.store_read_only, self.store_full]

    def go_on(self, seconds):
        mishaps, end = self.mishaps(), time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(self.random.uniform(*REST_S))
            mishap = self.random.choice(mishaps)
            with contextlib.suppress(*NO_ANSWER):
                mishap()
                self.counts[mishap.__name__] = self.counts.get(mishap.__name__, 0) + 1

    def kill_benchd(self):
        with self.keeper.lock:
            self.daemon.kill()

    def kill_server(self, name):
        self.cluster.restart(name)
        wait_until(lambda: self.cluster.kubectl("get", "bmr", check=False).returncode == 0, 240, f"{name} is back")
        self.cluster.restart("kwok")   # it does not try a write again that failed

    def kill_etcd(self):
        self.kill_server("etcd")

    def kill_api_server(self):
        self.kill_server("kube-apiserver")

    def delete_lease(self):
        self.api("DELETE", "/apis/coordination.k8s.io/v1/namespaces/benchd/leases/benchd")

    def delete_one(self, kind, **options):
        items = self.api.get(f"{NS}/{kind}")["items"]
        owned = sorted(item["metadata"]["name"] for item in items if item["metadata"].get("ownerReferences"))
        if owned:
            self.api("DELETE", f"{NS}/{kind}/{self.random.choice(owned)}", options)

    def delete_pod(self):
        self.delete_one("pods", gracePeriodSeconds=self.random.choice((0, 5)))

    def delete_side_object(self):
        self.delete_one(self.random.choice(("secrets", "services")))

    def delete_workload(self):
        names = [item["metadata"]["name"] for item in self.api.get(WORKLOADS)["items"]]
        if names:
            self.api("DELETE", f"{WORKLOADS}/{self.random.choice(sorted(names))}")

    def evict_all(self):
        for policy in ("HoldAndDrain", "None"):
            wait_until(lambda policy=policy: self.api("PATCH", f"{KUEUE}/clusterqueues/{QUEUE}", {"spec": {"stopPolicy": policy}}, MERGE)[0] == 200,
                       60, f"the queue's stopPolicy is {policy}")
            time.sleep(self.random.uniform(1, 20))

    def kill_kueue(self):
        self.cluster.restart("kueue")

    def two_benchds(self):
        """A rollout that was not told to end the old one first."""
        self.keeper.add(self.second)
        time.sleep(self.random.uniform(5, 40))
        self.keeper.remove(self.daemon)
        time.sleep(self.random.uniform(5, 40))
        self.keeper.add(self.daemon)
        self.keeper.remove(self.second)

    def store_read_only(self):
        """No file that is open for writing may be there, so benchd is killed first; then it cannot start."""
        self.keeper.remove(self.daemon)
        subprocess.run(["mount", "-o", "remount,ro", self.folder], check=True)
        self.keeper.add(self.daemon)
        time.sleep(STORE_S)
        subprocess.run(["mount", "-o", "remount,rw", self.folder], check=True)

    def store_full(self):
        filler = self.folder / "filler"
        with contextlib.suppress(OSError), open(filler, "wb", 0) as f:
            while True:
                f.write(b"x" * 65536)
        time.sleep(STORE_S)
        filler.unlink()


@contextlib.contextmanager
def small_disk(folder):
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256m", "benchd-chaos", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def check(t, minutes, seed, runs, witness, keeper, chaos):
    ended = becomes(runs.are_ended, END_S)
    told = f"{minutes:g} minutes, seed {seed}: {len(runs.names)} runs; {chaos.counts}; benchd's exit codes {keeper.exits}; {witness.looks} looks, " \
           f"at most {witness.most} attempts at a time"
    print(f"# {told}", flush=True)
    t.ok(ended, "every run has ended", sorted(set(runs.names) - set(runs.ends)))
    t.equal({}, {name: phase for name, (phase, _) in runs.ends.items() if phase != "Succeeded"}, "and succeeded")
    lost = [name for name, (_, points) in runs.ends.items()
            if [trial["phase"] for point in points for trial in point["trials"]] != ["Succeeded"] * 4]
    t.equal([], lost, "with all its trials")
    t.equal([], [name for name, (_, points) in runs.ends.items() if runs.results(name) != points], "no result has changed since")
    t.equal([], sorted(witness.broken), "no more attempts than lanes, each on nodes of its own")
    t.equal(2, witness.most, "two attempts were there at a time")
    t.equal([], witness.twice(), "no pod was made twice")
    least = LEAST_RUNS * minutes / 60
    t.ok(len(runs.ends) >= least, f"at least {least:g} runs", len(runs.ends))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 31))
    args = parser.parse_args()
    tap.skip_if(os.geteuid() != 0 and "it needs root, to mount a disk that becomes read-only")
    tap.skip_if(kueue.missing())
    t = tap.Tap()
    with Cluster(parts=CONTROLLERS, kwok=kwok.without_ends) as cluster, kwok.GangEnds(cluster), \
            small_disk(cluster.dir / "store") as folder:
        kwok.make_nodes(cluster, 4)
        cluster.kubectl("apply", "-f", CRD)
        cluster.wait_for_kinds()
        kueue.start(cluster, "kueue")
        kueue.make_queue(cluster, QUEUE, 1000)
        for file in (RBAC, RBAC.with_name("kueue.yaml")):
            cluster.kubectl("apply", "-n", "benchd", "-f", file)
        own = cluster.make_kubeconfig("benchd", set_token(cluster.kubectl("create", "token", "benchd", "--duration=12h").stdout.strip()))
        store = f"sqlite:{folder}/results.db"
        daemons = [Benchd(cluster, "--kubeconfig", own, "--store", store, name=name) for name in ("first", "second")]
        keeper, witness, runs = Keeper(), Witness(cluster), Runs(cluster, store)
        chaos = Chaos(cluster, keeper, daemons, folder, args.seed)
        try:
            keeper.add(daemons[0])
            for thread in (keeper, witness, runs):
                thread.start()
            chaos.go_on(args.minutes * 60)
            runs.is_over.set()
            check(t, args.minutes, args.seed, runs, witness, keeper, chaos)
            if t.failures:
                print("\n".join("# " + line for line in daemons[0].log.read_text().splitlines()[-60:]))
        finally:
            keeper.is_over.set()
            keeper.join()
            for daemon in daemons:
                if daemon.process:
                    daemon.process.send_signal(signal.SIGKILL)
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
