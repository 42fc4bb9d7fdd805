#!/usr/bin/env python3
"""benchd whose runs wait in a queue of Kueue, on simulated nodes. Job objects in a queue: test_jobs.py."""
import contextlib
import json
import os
import subprocess
import sys

import kueue
import kwok
import tap
from benchd import Benchd, definition
from cluster import CONTROLLERS, Cluster, becomes, wait_until
from gangs import attempt
from rest import MERGE, NS, RUNS, Api

KUEUE = f"/apis/{kueue.VERSION}"
WORKLOADS = f"{KUEUE}/namespaces/benchd/workloads"
QUEUE, CPUS = "team", 40
FLAVOR = {"pool": "a"}   # the labels of its nodes
WAIT_S = 120


def pod_spec(more=None):
    resources = {"cpu": "10", "memory": "1Gi", **(more or {})}
    return {"restartPolicy": "Never", "containers": [{"name": "main", "image": "x", "resources": {"requests": resources, "limits": resources}}]}


def workload(name, owner, priority=None):
    """priority: a WorkloadPriorityClass and its value, which Kueue does not look up."""
    owner = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
             "controller": True, "blockOwnerDeletion": True}
    spec = {"queueName": QUEUE, "podSets": [
        {"name": role, "count": count, "template": {"metadata": {"labels": {"benchd.io/role": role}}, "spec": pod_spec()}}
        for role, count in (("pserver", 1), ("trainer", 2))]}
    if priority:
        spec["priorityClassRef"] = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": priority[0]}
        spec["priority"] = priority[1]
    return {"apiVersion": kueue.VERSION, "kind": "Workload", "metadata": {"name": name, "ownerReferences": [owner]}, "spec": spec}


class Queue:
    def __init__(self, t, cluster):
        self.t, self.api = t, Api(cluster)

    def post(self, path, body):
        status, made = self.api("POST", path, body)
        if status != 201:
            raise RuntimeError(made)
        return made

    def conditions(self, path):
        status = (self.api.get(path) or {}).get("status", {})
        return {c["type"]: (c["status"], f"{c['reason']}: {c['message']}") for c in status.get("conditions", [])}

    def until(self, path, kind, status="True"):
        """The words of this condition, once it is so."""
        wait_until(lambda: self.conditions(path).get(kind, [None])[0] == status, WAIT_S, f"{path} {kind}={status}")
        return self.conditions(path)[kind][1]

    def remove(self, path):
        self.api("DELETE", f"{path}?propagationPolicy=Background")
        wait_until(lambda: self.api.get(path) is None, WAIT_S, f"{path} is gone")

    def pods(self, count):
        """Once so many of them run."""
        def running():
            return [pod for pod in self.api.get(f"{NS}/pods")["items"] if pod["status"]["phase"] == "Running"]
        wait_until(lambda: len(running()) == count, WAIT_S, f"{count} pods run")
        return running()

    def state(self, path):
        """What is known of a run, for a failure."""
        pods = [(pod["metadata"]["name"], pod["spec"].get("nodeName"), pod["status"]["phase"], "deletionTimestamp" in pod["metadata"])
                for pod in self.api.get(f"{NS}/pods")["items"]]
        loads = {name: self.conditions(f"{WORKLOADS}/{name}") for name in (item["metadata"]["name"] for item in self.api.get(WORKLOADS)["items"])}
        return json.dumps({"run": self.api.get(path)["status"], "pods": pods, "workloads": loads})

    def is_empty(self):
        usage = self.api.get(f"{KUEUE}/clusterqueues/{QUEUE}")["status"]["flavorsReservation"][0]["resources"]
        return {used["total"] for used in usage} == {"0"} and self.api.get(WORKLOADS)["items"] + self.api.get(f"{NS}/pods")["items"] == []


OTHERS = ("team-b", "team-c")   # namespaces of other benchds
TOO_LARGE = {"cpu": "20"}


def runs_of(namespace):
    return RUNS.replace("benchd/benchmarkruns", f"{namespace}/benchmarkruns")


def post_run(q, name, scheduling=None, namespace="benchd", more=None, parallel=1, **changes):
    """A run of one trial: a server and two trainers of 10 CPUs."""
    template = {"spec": pod_spec(more)}
    roles = {role: {"replicas": {"from": role + "s"}, "template": template} for role in ("pserver", "trainer")}
    spec = definition(roles=roles, **{"sweep": {"grid": {"pservers": [1], "trainers": [2]}}, "addressing": "DNS", "repeats": {"min": 1},
                                      "baseline": {"kind": "Point", "where": {"trainers": 2}}, **changes})
    q.post(runs_of(namespace), {"apiVersion": "benchd.io/v1alpha1", "kind": "BenchmarkRun", "metadata": {"name": name},
                                "spec": {"definition": spec, "parallelism": {"trials": parallel}, "scheduling": scheduling or {"queueName": QUEUE, "priorityClass": "low"}}})
    return f"{runs_of(namespace)}/{name}"


def phase(q, path):
    return (q.api.get(path) or {}).get("status", {}).get("phase")


def until_phase(q, path, *phases):
    wait_until(lambda: phase(q, path) in phases, WAIT_S, lambda: f"{path} is {phases}, not {(q.api.get(path) or {}).get('status')}")


def check_competition(t, q):
    """Three runs of three teams, and a quota for one gang: all succeed, one after another."""
    paths = [post_run(q, "rival", namespace=namespace) for namespace in ("benchd", *OTHERS)]
    waits = set()

    def look():
        waits.update((path, condition[1]) for path in paths if (condition := q.conditions(path).get("Waiting")) and condition[0] == "True")
        return {phase(q, path) for path in paths} == {"Succeeded"}
    wait_until(look, 2 * WAIT_S, "all three have succeeded")
    t.ok(len({path for path, words in waits if "has not admitted it" in words and words.startswith("Queued: ")}) >= 1,
         "a run that waits for the others says what Kueue says", waits)
    t.ok(becomes(q.is_empty, WAIT_S), "three runs, a quota of one gang: all succeed, nothing is left")


def check_preemption(t, q, daemon, ends):
    run = q.api.get(post_run(q, "preempted"))
    ends.is_held.set()
    pods = q.pods(3)
    t.equal([FLAVOR] * 3 + [None] * 3, [pod["spec"].get("nodeSelector") for pod in pods] + [pod["metadata"].get("finalizers") for pod in pods],
            "pods of the flavor's nodes, without a finalizer")
    q.post(WORKLOADS, workload("urgent", run, ("high", 100)))
    q.until(f"{WORKLOADS}/urgent", "Admitted")
    t.equal([], [pod for pod in q.api.get(f"{NS}/pods")["items"] if "deletionTimestamp" not in pod["metadata"]],
            "its pods are gone before others get the quota")
    until_phase(q, f"{RUNS}/preempted", "Queued")
    q.remove(f"{WORKLOADS}/urgent")
    q.pods(3)
    ends.is_held.clear()
    until_phase(q, f"{RUNS}/preempted", "Succeeded")
    result = daemon.results("preempted")
    (trial,) = result["points"][0]["trials"]
    t.equal(("Succeeded", 1), (trial["phase"], trial["attempt"]), "preempted in mid-trial: the next attempt counts")
    t.equal({"queue_s", "admission_s", "start_spread_s"}, set(trial["metrics"]) - {"shared_ratio"}, "the trial says how it came to run")
    words = daemon.ctl("describe", "preempted").stdout
    t.match("Trials: +1 of 1 done, 0 failed, 1 preempted", words, "describe counts the preemption")
    t.match("Scheduling: +queue 'team', priority class 'low'", words, "and says how the run was scheduled")
    t.match("AttemptPreempted.*Preempted to accommodate a workload", " ".join(words.split()), "with Kueue's words")
    t.ok(becomes(q.is_empty, WAIT_S), "preemption: nothing is left")


def ours(q):
    """The Workloads and pods of benchd."""
    return [item["metadata"]["name"] for path in (WORKLOADS, f"{NS}/pods") for item in q.api.get(path)["items"]
            if item["metadata"].get("labels", {}).get("app.kubernetes.io/managed-by") == "benchd"]


def check_queued(t, q, daemon, run):
    """Whatever ends a run that is queued, nothing of it is left; and a benchd that is killed finds its place again."""
    q.post(WORKLOADS, workload("blocker", run))
    q.until(f"{WORKLOADS}/blocker", "Admitted")

    def queued(name):
        path = post_run(q, name)
        until_phase(q, path, "Queued")
        wait_until(lambda: "20 more needed" in q.conditions(path)["Waiting"][1], WAIT_S, "Kueue's words")
        return path
    for wish in ({"suspend": True}, {"cancel": True}):
        path = queued(next(iter(wish)))
        q.api("PATCH", path, {"spec": wish}, MERGE)
        until_phase(q, path, "Suspended", "Cancelled")
        t.equal([], ours(q), f"{wish}: no Workload, no pod")
        q.remove(path)
    path = queued("killed-and-cancelled")
    daemon.kill()
    q.api("PATCH", path, {"spec": {"cancel": True}}, MERGE)
    daemon.start()
    until_phase(q, path, "Cancelled")
    t.equal([], ours(q), "kill -9, then a cancellation: no Workload, no pod")
    path = queued("deleted")
    q.remove(path)
    t.ok(becomes(lambda: ours(q) == [], WAIT_S), "a deletion: no Workload, no pod", ours(q))
    path = queued("killed")
    before = [(item["metadata"]["name"], item["metadata"]["uid"]) for item in q.api.get(WORKLOADS)["items"]]
    daemon.kill()
    daemon.start()
    until_phase(q, path, "Queued")
    q.remove(f"{WORKLOADS}/blocker")
    wait_until(lambda: q.api.get(f"{NS}/pods")["items"], WAIT_S, "it has pods")
    t.ok({item["metadata"]["uid"] for item in q.api.get(WORKLOADS)["items"]} < {uid for _, uid in before},
         "kill -9 while queued: it keeps its place", before)
    until_phase(q, path, "Succeeded")
    t.ok(becomes(q.is_empty, WAIT_S), "queued runs: nothing is left")


def check_lanes(t, q, ends):
    """Two trials in the queue at a time, a Workload and a node each. Without the topology a first attempt may have pods on both nodes
    before the second is admitted."""
    ends.is_held.set()
    scheduling = {"queueName": QUEUE, "priorityClass": "low", "topology": {"key": "kubernetes.io/hostname"}}
    path = post_run(q, "lanes", scheduling, parallel=2, more={"cpu": "5"}, sweep={"grid": {"pservers": [1], "trainers": [1, 2, 3]}}, repeats={"min": 2})
    attempts, nodes = set(), set()

    def look():
        pods = [pod for pod in q.api.get(f"{NS}/pods")["items"] if pod["status"]["phase"] == "Running"]
        attempts.clear()
        attempts.update(attempt(pod) for pod in pods)
        nodes.update((pod["spec"]["nodeName"], attempt(pod)) for pod in pods)
        return len(attempts) == 2
    wait_until(look, WAIT_S, lambda: f"two attempts run; {sorted(attempts)} do, {q.state(path)}")
    admitted = [item["metadata"]["name"] for item in q.api.get(WORKLOADS)["items"] if q.conditions(f"{WORKLOADS}/{item['metadata']['name']}").get("Admitted")]
    t.equal((2, 2, 2), (len(admitted), len({node for node, _ in nodes}), len(nodes)), "two Workloads are admitted, and each attempt has a node of its own")
    ends.is_held.clear()
    until_phase(q, path, "Succeeded")
    t.ok(becomes(q.is_empty, WAIT_S), "lanes: nothing is left")


def check_refusals(t, q):
    for name, changes, words in (
            ("by-ip", {"addressing": "IP"}, "InvalidDefinition: spec.addressing: IP starts the servers first"),
            ("too-large", {"more": TOO_LARGE}, "NoTrialSucceeded: .* insufficient quota for cpu in flavor team"),
            ("no-class", {"scheduling": {"queueName": QUEUE, "priorityClass": "none"}}, 'NoTrialSucceeded: .*"none" not found')):
        path = post_run(q, name, **changes)
        until_phase(q, path, "Failed")
        t.match(words, q.conditions(path)["Failed"][1], f"{name}: refused, with the reason")
    t.ok(becomes(q.is_empty, WAIT_S), "refused runs: nothing is left")


def check_plan(t, cluster):
    """Two nodes of 64 CPUs take 12 pods of 10, and the quota 4: what never fits is named before a run begins."""
    roles = {role: {"replicas": {"from": role + "s"}, "template": {"spec": pod_spec()}} for role in ("pserver", "trainer")}
    spec = definition(roles=roles, sweep={"grid": {"pservers": [1], "trainers": [3, 4, 12]}}, baseline={"kind": "Point", "where": {"trainers": 3}})
    document = {"apiVersion": "benchd.io/v1alpha1", "kind": "Benchmark", "metadata": {"name": "gangs"}, "spec": spec}
    def ctl(*args):
        done = subprocess.run([os.environ["BENCHCTL"], *args, "--queue", QUEUE, "-n", "benchd", "--kubeconfig", cluster.kubeconfig, "-o", "json"],
                              input=json.dumps(document), capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, json.loads(done.stdout)

    code, plan = ctl("plan", "-f", "-")
    what = "never fit what there is: point"
    t.equal((1, [("nodes", f"{what} 2 has too little cpu"), ("queue", f"{what} 1 has too little cpu; point 2 has too little cpu")]),
            (code, [(check["name"], check["found"]) for check in plan["cluster"]]), "plan: what never fits")


def check_benchd(t, q, cluster):
    q.remove(f"{RUNS}/r")
    for name, value in (("low", 10), ("high", 100)):
        q.post(f"{KUEUE}/workloadpriorityclasses", {"apiVersion": kueue.VERSION, "kind": "WorkloadPriorityClass",
                                                    "metadata": {"name": name}, "value": value})
    for namespace in OTHERS:
        cluster.kubectl("create", "namespace", namespace)
        cluster.kubectl("wait", "--for=create", "serviceaccount/default", "-n", namespace, "--timeout=60s")
        q.post(f"{KUEUE}/namespaces/{namespace}/localqueues", {
            "apiVersion": kueue.VERSION, "kind": "LocalQueue", "metadata": {"name": QUEUE}, "spec": {"clusterQueue": QUEUE}})
    with contextlib.ExitStack() as stack:
        daemon = stack.enter_context(Benchd(cluster))
        ends = stack.enter_context(kwok.GangEnds(cluster, run_s=4))   # a wait of less than 5 s is not told
        others = contextlib.ExitStack()
        for namespace in OTHERS:
            others.enter_context(Benchd(cluster, "--namespace", namespace, name=namespace))
            others.enter_context(kwok.GangEnds(cluster, namespace=namespace, run_s=4))
        with others:
            check_competition(t, q)
        ends.run_s = 1
        check_preemption(t, q, daemon, ends)
        check_queued(t, q, daemon, q.api.get(f"{RUNS}/preempted"))
        check_lanes(t, q, ends)
        check_refusals(t, q)


def main():
    tap.skip_if(kueue.missing())
    t = tap.Tap()
    with Cluster(parts=CONTROLLERS, kwok=kwok.without_ends) as cluster:
        cluster.apply_kinds()
        kwok.make_nodes(cluster, 2, cpu="64")
        cluster.kubectl("label", "node", "--all", *(f"{key}={value}" for key, value in FLAVOR.items()))
        kueue.start(cluster, "kueue")
        kueue.make_queue(cluster, QUEUE, CPUS, FLAVOR)
        q = Queue(t, cluster)
        check_plan(t, cluster)
        run = q.post(RUNS, {"apiVersion": "benchd.io/v1alpha1", "kind": "BenchmarkRun", "metadata": {"name": "r"},
                            "spec": {"definition": definition()}})
        check_benchd(t, q, cluster)
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
