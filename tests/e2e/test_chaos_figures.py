#!/usr/bin/env python3
"""Half an hour of mishaps on a real node whose kubelet replaces logs after 64 KiB, with programs of which each figure is known: pods, Jobs and
JobSets, with and without a queue of Kueue, some with much other output, and gangs that the node has no room for. benchd is killed and stopped,
the API server is stopped and frozen, pods, side objects and Workloads are deleted, the queue evicts all, and the node is full. Then every run has
ended, or says what it waits for; each figure is the one that is known, or there is none and a reason; nothing that was stored is lost or changed.
Which replicas ran together is taken from the status of their pods, which this program watches.

test_chaos_figures.py [--minutes N] [--seed N] [--without kueue,jobset]: as test_chaos.py; kinds that are left out.
BENCHD_BUILD_DIR names the build tree whose programs go into the images, BENCHCTL the program."""
import argparse
import collections
import contextlib
import ctypes
import datetime
import json
import os
import pathlib
import random
import signal
import sqlite3
import sys
import threading
import time

import kueue
import tap
from cluster import becomes, wait_until
from machine import BUSYBOX, why_not
from node import Node
from rest import MERGE, NS, RUNS, Api
from test_chaos import END_S, NO_ANSWER, QUEUE, WORKLOADS, Chaos, Runs
from user import definition

RATES = range(10, 50)
FIGURE = len(RATES) / sum(1 / rate for rate in RATES)   # of a worker, in images a second
NOISE = "yes 0123456789012345678901234567890123456789012345678 | head -c {}; echo; sleep {}"
# Of a log that was replaced there is no figure: never of QUIET, sometimes of MORE, always of LOUD.
QUIET, MORE, LOUD = "sleep 0.1", NOISE.format(930, 0.3), NOISE.format(16000, 0.1)
LOG_SIZE = "64Ki"
SMALL_LOGS = f"containerLogMaxSize: {LOG_SIZE}\ncontainerLogMonitorInterval: 3s"
MEMORY_KIB = 128 << 10   # of benchd
GONE_S = 180
LEAST_RUNS = 20          # of half an hour, two of each kind
CPUS = 1000 * os.cpu_count()   # of the node, in millis
WORKER, NO_ROOM, FILLER = "500m", f"{CPUS * 6 // 10}m", f"{CPUS - 800}m"   # a filler leaves room for one worker
JOBS = "/apis/batch/v1/namespaces/benchd/jobs"
JOBSETS = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/benchd/jobsets"
CLONE_NEWNET = 0x40000000

# name: numbers of workers, CPUs of each, what they print between figures, the object, whether behind the queue
KINDS = {
    "pod": ((1,), WORKER, MORE, None, False),
    "gang": ((1, 2), WORKER, QUIET, None, False),
    "job": ((1, 2), WORKER, MORE, "Job", False),
    "full": ((2,), NO_ROOM, QUIET, None, False),
    "queued": ((1, 2), WORKER, QUIET, None, True),
    "queuedjob": ((2,), WORKER, MORE, "Job", True),
    "loud": ((1,), WORKER, LOUD, None, False),
    "jobset": ((1, 2), WORKER, QUIET, "JobSet", False),
    "fulljob": ((2,), NO_ROOM, QUIET, "Job", False),
    "loudjob": ((2,), WORKER, LOUD, "Job", False),
}


def kind_of(run):
    return run.rpartition("-")[0]


def job_of(kind, pod, labels):
    """The fields of a system that is a job object, of which each pod is a worker; as benchctl writes them out of the profile."""
    spec = {"completionMode": "Indexed", "parallelism": 1, "completions": 1, "backoffLimit": 0, "template": {"spec": {**pod, "restartPolicy": "Never"}}}
    path, whole, done = {
        "Job": ("/spec", {"apiVersion": "batch/v1", "spec": spec}, "Complete"),
        "JobSet": ("/spec/replicatedJobs/0/template/spec", {"apiVersion": "jobset.x-k8s.io/v1alpha2", "spec": {
            "failurePolicy": {"maxRestarts": 0}, "replicatedJobs": [{"name": "node", "replicas": 1, "template": {"spec": spec}}]}}, "Completed")}[kind]
    return {"job": {"template": {"kind": kind, "metadata": {"labels": labels}, **whole}, "pods": {"worker": {"template": f"{path}/template"}},
                    "set": [{"path": f"{path}/{field}", "from": "workers"} for field in ("parallelism", "completions")],
                    "succeeded": done, "failed": "Failed"}}


def pod_of(cpu, script):
    pod = definition("x", cpu=cpu, memory="64Mi", image=BUSYBOX)["spec"]["roles"]["trainer"]["template"]["spec"]
    pod["containers"][0]["command"] = ["/bin/sh", "-c", script]
    return {**pod, "terminationGracePeriodSeconds": 1}


def spec_of(kind):
    workers, cpu, each, job, is_queued = KINDS[kind]
    pod = pod_of(cpu, f"for rate in $(seq {RATES[0]} {RATES[-1]}); do echo $rate images/sec; {each}; done")
    role = {"replicas": {"from": "workers"}, **({} if job else {"template": {"spec": pod}})}
    system = job_of(job, pod, {"kueue.x-k8s.io/queue-name": QUEUE} if is_queued else {}) if job else {}
    made = {
        "systems": [{"name": kind, "profile": "none", "log": {"lines": [{"kind": "Step", "scope": "Each", "pattern": r"^(?<rate>\d+) images/sec"}]}, **system}],
        "workload": {"model": "m", "batchSize": 1, "exchange": {"kind": "AllReduce"}}, "sweep": {"grid": {"workers": list(workers)}},
        "baseline": {"kind": "Point", "where": {"workers": workers[0]}}, "roles": {"worker": role}, "repeats": {"min": 1},
        "measure": {"warmupSteps": 0, "steps": len(RATES)}, "runPolicy": {"backoffLimit": 1 if each == LOUD else 50, "cleanPodPolicy": "All"}}
    return {"definition": made, **({"scheduling": {"queueName": QUEUE}} if is_queued and not job else {})}


class FigureRuns(Runs):
    """Runs of each kind in turn. One of a gang without room is cancelled once it says so."""

    def __init__(self, cluster, store, kinds):
        super().__init__(cluster, store)
        self.kinds, self.reported, self.completed = kinds, collections.Counter(), {}

    def next_name(self):
        return f"{self.kinds[len(self.names) % len(self.kinds)]}-{len(self.names)}"

    def spec(self, name):
        return spec_of(kind_of(name))

    def look(self):
        super().look()
        for run in (self.api.get(RUNS) or {"items": []})["items"]:
            name, status = run["metadata"]["name"], run.get("status", {})
            self.completed[name] = max(self.completed.get(name, 0), int(status.get("completions", "0/0").partition("/")[0]))
            if self.waits_for(status) == "NoRoom" and name.startswith("full") and not run["spec"].get("cancel"):
                self.reported[kind_of(name)] += 1
                self.api("PATCH", f"{RUNS}/{name}", {"spec": {"cancel": True}}, MERGE)

    @staticmethod
    def waits_for(status):
        return next((c["reason"] for c in status.get("conditions", []) if (c["type"], c["status"]) == ("Waiting", "True")), None)


class Witness(threading.Thread):
    """What the API server says of pods: when each of an attempt ran; and which are those of benchd."""

    def __init__(self, cluster):
        super().__init__(daemon=True)
        self.cluster, self.spans, self.controllers = cluster, collections.defaultdict(dict), set()

    def run(self):
        while True:
            with contextlib.suppress(*NO_ANSWER, RuntimeError):
                for event in Api(self.cluster).watch(f"{NS}/pods"):
                    self.see(event["object"])
            time.sleep(0.2)

    def see(self, pod):
        labels, uid = pod["metadata"].get("labels", {}), pod["metadata"]["uid"]
        if labels.get("app.kubernetes.io/component") == "controller":
            self.controllers.add(uid)
        elif "benchd.io/attempt" in labels:
            key = (labels["benchd.io/run"], *(int(labels[f"benchd.io/{word}"]) for word in ("point", "trial", "attempt")))
            for container in pod["status"].get("containerStatuses", []):
                for state in container["state"].values():
                    if state.get("startedAt"):   # null where the kubelet has lost the container
                        self.spans[key][uid] = (seconds(state["startedAt"]), seconds(state["finishedAt"]) if state.get("finishedAt") else None)

    def ran_together(self, key, size):
        """True, False, or None where an end was not seen. The times are whole seconds."""
        spans = list(self.spans[key].values())
        if len(spans) != size or any(end is None for _, end in spans):
            return None
        return max(start for start, _ in spans) <= min(end for _, end in spans)


def seconds(date):
    return datetime.datetime.fromisoformat(date.replace("Z", "+00:00")).timestamp()


class Meter(threading.Thread):
    """benchd's memory, the logs that were replaced, and the rows of the store, which never change once they are there."""

    def __init__(self, node, witness, database):
        super().__init__(daemon=True)
        self.node, self.witness, self.database = node, witness, database
        self.most_kib, self.pids, self.replaced, self.rows, self.changed, self.looks = 0, set(), set(), {}, set(), 0

    def run(self):
        while True:
            time.sleep(0.5)
            for pid in self.benchds():
                with contextlib.suppress(OSError, StopIteration):
                    status = pathlib.Path(f"/proc/{pid}/status").read_text()
                    self.most_kib = max(self.most_kib, int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]))
                    self.pids.add(pid)
            self.replaced.update(path.parent.parent.name for path in (self.node.dir / "podlogs").glob("*/*/*.log.*"))
            with contextlib.suppress(sqlite3.Error):
                self.compare()

    def benchds(self):
        return [pid for uid in list(self.witness.controllers) for pid in self.node.processes(uid, "benchd")]

    def compare(self):
        with contextlib.closing(sqlite3.connect(f"file:{self.database}?mode=ro", uri=True, timeout=5)) as store:
            found = {row[:4]: row[4:] for row in store.execute(
                "SELECT r.name, point, trial, attempt, outcome, throughput, error, a.started_unix_ms, a.ended_unix_ms "
                "FROM attempt a JOIN run r ON r.uid = a.run_uid")}
        self.looks += 1
        self.changed.update(f"{key}: {row}, then {found.get(key)}" for key, row in self.rows.items() if found.get(key) != row)
        self.rows.update(found)


class FigureChaos(Chaos):
    def __init__(self, node, meter, seed, has_queue):
        super().__init__(node.cluster, None, (None, None), None, seed)
        self.meter, self.has_queue = meter, has_queue

    def mishaps(self):
        of_queue = [self.delete_workload, self.evict_all] if self.has_queue else []
        return [self.kill_benchd, self.kill_benchd, self.kill_benchd, self.stop_benchd, self.stop_api_server, self.freeze_api_server,
                self.delete_pod, self.delete_pod, self.delete_side_object, self.fill_node, self.fill_node, *of_queue]

    def kill_benchd(self):
        for pid in self.meter.benchds():
            os.kill(pid, signal.SIGKILL)

    def stop_benchd(self):
        """Up to 20 s, which is longer than its Lease."""
        self.freeze(self.meter.benchds())

    def freeze_api_server(self):
        self.freeze([self.cluster.servers["kube-apiserver"].pid])

    def freeze(self, pids):
        for number, pause in ((signal.SIGSTOP, self.random.uniform(2, 20)), (signal.SIGCONT, 0)):
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):   # a liveness probe may have ended it
                    os.kill(pid, number)
            time.sleep(pause)

    def stop_api_server(self):
        server = self.cluster.servers["kube-apiserver"]
        server.kill()
        time.sleep(self.random.uniform(0, 20))
        self.cluster.restart("kube-apiserver")

    def fill_node(self):
        """A pod of somebody else, which leaves room for one worker."""
        self.api("POST", f"{NS}/pods", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "filler"}, "spec": {
            **pod_of(FILLER, "sleep 60"), "restartPolicy": "Never", "automountServiceAccountToken": False}})
        time.sleep(self.random.uniform(3, 20))
        wait_until(lambda: self.api("DELETE", f"{NS}/pods/filler", {"gracePeriodSeconds": 0})[0] in (200, 202, 404), GONE_S, "the filler is deleted")


def is_near(value, known):
    return value is not None and abs(value - known) <= 1e-9 * known


def wrong_figures(name, phase, points, witness):
    """What must not be in the results of a run that has ended."""
    base = points[0]["parameters"]["workers"]
    for point in points:
        size, number = point["parameters"]["workers"], point["point"]
        for trial in point["trials"]:
            what = f"{name}, point {number}, trial {trial['trial']}, attempt {trial['attempt']}: {trial['phase']}"
            if trial["phase"] == "Succeeded":
                if not is_near(trial["throughput"]["value"], size * FIGURE):
                    yield f"{what}: {trial['throughput']['value']} instead of {size * FIGURE}"
                if name.startswith("full") or witness.ran_together((name, number, trial["trial"], trial["attempt"]), size) is False:
                    yield f"{what}: its replicas did not run together"
            elif phase == "Succeeded" or trial["phase"] != "Pending" and phase != "Cancelled" and not trial["error"]:
                yield f"{what}: without a reason, in a run that is {phase}"
            elif trial["throughput"]["value"] is not None:
                yield f"{what}: with a figure, {trial['throughput']['value']}"
        for figure, known in (("throughput", size * FIGURE), ("speedup", size / base)):
            if point[figure]["value"] is not None and not is_near(point[figure]["value"], known):
                yield f"{name}, point {number}: a {figure} of {point[figure]['value']} instead of {known}"


def remaining(api, kinds):
    paths = [JOBS, *([JOBSETS] if "jobset" in kinds else []), *([WORKLOADS] if "queued" in kinds else []), f"{NS}/pods"]
    return [f"{path.rpartition('/')[2]}/{item['metadata']['name']}" for path in paths for item in api.get(path)["items"]
            if any(owner["kind"] in ("BenchmarkRun", "Job", "JobSet") for owner in item["metadata"].get("ownerReferences", []))]


def check(t, api, runs, witness, meter, told):
    ended = becomes(runs.are_ended, END_S)
    trials = {(name, point["point"], trial["trial"]): trial for name, (_, points) in runs.ends.items() for point in points for trial in point["trials"]}
    outcomes = collections.Counter((kind_of(name), trial["phase"]) for (name, _, _), trial in trials.items())
    rows = collections.Counter((kind_of(key[0]), row[0]) for key, row in meter.rows.items())
    print(f"# {told}: {len(runs.names)} runs; trials {dict(outcomes)}; rows {dict(rows)}; cancelled for lack of room {dict(runs.reported)}; {len(meter.pids)} processes of "
          f"benchd, at most {meter.most_kib} KiB; {len(meter.replaced)} pods of which logs were replaced; the store was read {meter.looks} times", flush=True)
    status = {run["metadata"]["name"]: run.get("status", {}) for run in api.get(RUNS)["items"]}
    silent = {name: status.get(name) for name in set(runs.names) - set(runs.ends) if not runs.waits_for(status.get(name, {}))}
    t.equal({}, silent, "every run has ended, or says what it waits for")
    t.ok(ended, "in the end none waits", sorted(set(runs.names) - set(runs.ends)))
    t.equal([], [text for name, (phase, points) in sorted(runs.ends.items()) for text in wrong_figures(name, phase, points, witness)],
            "each figure is the one that is known, or there is none and a reason")
    t.equal([], sorted(meter.changed), "no attempt that was stored is lost or changed")
    t.equal([], [name for name, (_, points) in runs.ends.items() if runs.results(name) != points], "no result has changed since its run ended")
    succeeded = collections.Counter(name for (name, _, _), trial in trials.items() if trial["phase"] == "Succeeded")
    t.equal([], [name for name, count in runs.completed.items() if name in runs.ends and succeeded[name] < count], "every trial that a status has counted is there")
    left = []

    def is_empty():
        left[:] = remaining(api, runs.kinds)
        return not left
    t.ok(becomes(is_empty, GONE_S), "no pod, job object or Workload remains", left)
    t.ok(0 < meter.most_kib < MEMORY_KIB, f"benchd needs less than {MEMORY_KIB >> 10} MiB", meter.most_kib)
    together = [witness.ran_together((name, point, number, trial["attempt"]), KINDS[kind_of(name)][0][point])
                for (name, point, number), trial in trials.items() if trial["phase"] == "Succeeded"]
    t.ok(2 * together.count(True) > len(together), "the pods of most trials were seen to the end", collections.Counter(together))
    t.ok(meter.replaced and meter.looks > 10, "logs were replaced, and the store was read")
    for kind in runs.kinds:
        if kind.startswith("full"):
            t.ok(runs.reported[kind], f"{kind}: the lack of room was reported")
        elif kind.startswith("loud"):
            t.ok(rows[kind, "Void"] or outcomes[kind, "Failed"], f"{kind}: a log that was replaced gave no figure")
        else:
            t.ok(outcomes[kind, "Succeeded"], f"{kind}: some were measured")


def prepare(node, kinds):
    k, manifests = node.cluster.kubectl, tap.ROOT / "manifests"
    node.install()
    words = [{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": word} for word in ("--container-log-max-size", LOG_SIZE)]
    k("patch", "deployment", "benchd", "-n", "benchd", "--type=json", "-p", json.dumps(words))
    k("rollout", "status", "deployment/benchd", "-n", "benchd", f"--timeout={GONE_S}s")
    for file in (*(f"jobs/{kind}.yaml" for kind in ("job", "jobset") if kind in kinds), *(["kueue.yaml"] if "queued" in kinds else [])):
        k("apply", "-n", "benchd", "-f", manifests / file)
    peers = [name for name, kind in (("kueue", "queued"), ("jobset", "jobset")) if kind in kinds]
    if peers:
        kueue.start(node.cluster, *peers)
    if "kueue" in peers:
        kueue.make_queue(node.cluster, QUEUE, 1)   # a gang of two


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 31))
    parser.add_argument("--without", default="", type=lambda text: text.split(","))
    args = parser.parse_args()
    tap.skip_if(why_not() or kueue.missing())
    left_out = {kind for kind in KINDS if kind in args.without or "kueue" in args.without and KINDS[kind][4]}
    kinds = [kind for kind in KINDS if kind not in left_out]
    t = tap.Tap()
    with Node(namespace=None, kubelet=SMALL_LOGS) as node:
        prepare(node, kinds)
        with open(f"/proc/{node.first_pid}/ns/net", "rb") as network:   # of this thread, and of those that it starts
            if ctypes.CDLL(None, use_errno=True).setns(network.fileno(), CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "setns")
        database = node.dir / "volumes/benchd/results.db"
        witness, runs = Witness(node.cluster), FigureRuns(node.cluster, f"sqlite:{database}", kinds)
        meter = Meter(node, witness, database)
        chaos = FigureChaos(node, meter, args.seed, "queued" in kinds)
        for thread in (witness, meter, runs):
            thread.start()
        chaos.go_on(args.minutes * 60)
        runs.is_over.set()
        check(t, chaos.api, runs, witness, meter, f"{args.minutes:g} minutes, seed {args.seed}, left out {sorted(left_out)}; {chaos.counts}")
        least = LEAST_RUNS * args.minutes / 30
        t.ok(len(runs.ends) >= least, f"at least {least:g} runs", len(runs.ends))
        if t.failures:
            print("".join(f"# {line}\n" for line in node.cluster.kubectl("logs", "-n", "benchd", "deployment/benchd", "--tail=60", check=False).stdout.splitlines()))
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
