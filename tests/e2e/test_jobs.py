#!/usr/bin/env python3
"""Systems that are job objects: a Job, a JobSet and a TrainJob, made by their real controllers on simulated nodes. A manifest becomes a table
in two commands; one waits behind Kueue; benchd is killed in the middle of a trial; what cannot be measured is a clear failure.

The pods are simulated: their figures are recorded, and every result says that it is simulated."""
import json
import signal
import sys

import kueue
import kwok
import tap
from benchctl import Benchctl
from benchd import Benchd
from cluster import CONTROLLERS, Cluster, becomes, wait_until
from kubeconfigs import set_token
from rest import MERGE, NS, RUNS, Api

QUEUE, CPUS, WAIT_S = "team", 40, 180
JOBS = "/apis/batch/v1/namespaces/benchd/jobs"
RESOURCES = {"requests": {"cpu": "10", "memory": "1Gi"}, "limits": {"cpu": "10", "memory": "1Gi"}}
POD = {"spec": {"restartPolicy": "OnFailure", "containers": [{"name": "main", "image": "x", "resources": RESOURCES}]}}
GPUS = {"spec": {"restartPolicy": "OnFailure", "containers": [{"name": "main", "image": "x", "resources": {
    kind: {**limits, "nvidia.com/gpu": "8"} for kind, limits in RESOURCES.items()}}]}}
TRAINER = "trainer.kubeflow.org/v1alpha1"
# As people have them: with a name, and what benchd must change (restarts, numbers of pods). kind: (path, manifest)
MANIFESTS = {
    "Job": (JOBS, {"apiVersion": "batch/v1", "spec": {"parallelism": 2, "completions": 2, "backoffLimit": 4, "template": GPUS}}),
    "JobSet": ("/apis/jobset.x-k8s.io/v1alpha2/namespaces/benchd/jobsets", {"apiVersion": "jobset.x-k8s.io/v1alpha2", "spec": {
        "failurePolicy": {"maxRestarts": 3}, "replicatedJobs": [{"name": "node", "replicas": 1, "template": {
            "spec": {"parallelism": 2, "completions": 2, "template": POD}}}]}}),
    "TrainJob": (f"/apis/{TRAINER}/namespaces/benchd/trainjobs", {"apiVersion": TRAINER, "spec": {
        "runtimeRef": {"kind": "TrainingRuntime", "name": "once"}, "trainer": {"numNodes": 2, "resourcesPerNode": RESOURCES}}}),
}
RUNTIME = {"apiVersion": TRAINER, "kind": "TrainingRuntime", "metadata": {"name": "once"}, "spec": {
    "mlPolicy": {"numNodes": 1}, "template": {"spec": {"replicatedJobs": [{"name": "node", "template": {
        "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}, "spec": {"backoffLimit": 0, "template": {
            "spec": {"restartPolicy": "Never", "containers": [{"name": "node", "image": "x"}]}}}}}]}}}}


class Ends(kwok.GangEnds):
    """Ends the pods of each Job of which all run."""

    def _look(self, pods):
        gangs = {}
        for pod in pods:
            if pod["status"]["phase"] == "Running" and "deletionTimestamp" not in pod["metadata"] and not self.is_held.is_set():
                gangs.setdefault(pod["metadata"]["labels"]["batch.kubernetes.io/job-name"], []).append(pod)
        for job, gang in gangs.items():
            found = self._api.get(f"{JOBS}/{job}")
            if found and len(gang) == found["spec"].get("completions"):
                for pod in gang:
                    self._end(pod)


class Jobs:
    def __init__(self, t, cluster, kinds):
        self.t, self.cluster, self.api, self.ctl, self.kinds = t, cluster, Api(cluster), Benchctl(t, cluster), kinds

    def define(self, kind, labels=None, spec=None):
        """A manifest, with its usual spec or this one, and the definition that init makes of it."""
        path = self.cluster.dir / f"{kind}.json"
        path.write_text(json.dumps({"kind": kind, "metadata": {"name": kind.lower(), "labels": labels or {}}, **MANIFESTS[kind][1], **({"spec": spec} if spec else {})}))
        done = self.ctl("init", "-f", path)
        self.t.equal((0, ""), (done.returncode, done.stderr), f"{kind}: init -f")
        made = self.cluster.dir / f"{kind}.yaml"
        made.write_text(done.stdout.replace("{min: 3}", "{min: 1}"))
        return str(made)

    def is_empty(self):
        return not any(self.api.get(path)["items"] for path in (*(MANIFESTS[kind][0] for kind in self.kinds), f"{NS}/pods", JOBS))

    def start(self, definition):
        return self.ctl.run_and_detach(definition)["metadata"]["name"]

    def status(self, run):
        return (self.api.get(f"{RUNS}/{run}") or {}).get("status", {})

    def until(self, run, what, text):
        wait_until(lambda: what(self.status(run)), WAIT_S, lambda: f"{run}: {text}: {json.dumps(self.status(run).get('conditions'))[:600]}")

    def ends(self, run, phase="Succeeded"):
        self.until(run, lambda status: status.get("phase") in ("Succeeded", "Failed", "PartiallyFailed", "Cancelled"), "ends")
        self.t.equal(phase, self.status(run)["phase"], f"{run} ends")

    def running_pods(self):
        return [pod for pod in self.api.get(f"{NS}/pods")["items"] if pod["status"]["phase"] == "Running"]


def check_table(t, jobs, kind):
    """A manifest becomes a table in two commands."""
    definition = jobs.define(kind)
    done = jobs.ctl("run", definition, "--explain")
    t.equal(0, done.returncode, f"{kind}: run")
    has_gpus = MANIFESTS[kind][1]["spec"].get("template") is GPUS
    t.match(r"(?s)16 devices: 2\.000x .*\n +1 +8 .* 1/1 .*\n +2 +16 .* 1/1 .*Efficiency: Speedup / number of devices" if has_gpus else
            r"(?s)WORKERS .* SPEEDUP .*\n +1 .* 1/1 +1\.000 .*\n +2 .* 1/1 +2\.000 ", done.stdout, f"{kind}: a table of speedup")
    t.match("(?i)simulated", done.stdout, f"{kind}: that says what it is")
    if has_gpus:
        plan = jobs.ctl("plan", "-f", definition).stdout
        t.match(r"(?s)DEVICES.*\n +0 +1 +8 .*\n +1 +2 +16 ", plan, f"{kind}: GPUs are planned")
        t.match("at 3.000 a GPU hour", jobs.ctl("results", "latest", "--price", "3/gpu-hour").stdout, f"{kind}: what a million samples cost")
    t.ok(becomes(jobs.is_empty, WAIT_S), f"{kind}: nothing is left")


def check_queue(t, jobs, kind, ends):
    """Behind Kueue an object that waits is a wait; a preemption costs no attempt; a cancelled run leaves nothing."""
    q, run = kueue.VERSION, None
    before = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "before", "labels": {"kueue.x-k8s.io/queue-name": QUEUE}},
              "spec": {"parallelism": 4, "template": {"spec": {**POD["spec"], "restartPolicy": "Never", "serviceAccountName": "default"}}}}
    jobs.api("POST", JOBS, before)
    wait_until(lambda: len(jobs.running_pods()) == 4, WAIT_S, "the queue is full")
    run = jobs.start(jobs.define(kind, {"kueue.x-k8s.io/queue-name": QUEUE}))
    jobs.until(run, lambda status: status.get("phase") == "Queued", "is Queued")
    waiting = {c["type"]: c for c in jobs.status(run)["conditions"]}["Waiting"]
    t.equal("True", waiting["status"], f"{kind}: it waits")
    t.match(f"{kind} '{run}-p.*' is suspended: its queue has not admitted it", waiting["message"], f"{kind}: and says for what")
    ends.is_held.set()
    jobs.api("DELETE", f"{JOBS}/before?propagationPolicy=Background")
    wait_until(lambda: any("benchd.io/run" in pod["metadata"]["labels"] for pod in jobs.running_pods()), WAIT_S, "it is admitted")
    name = jobs.api.get(MANIFESTS[kind][0])["items"][0]["metadata"]["name"]
    workload = next(w["metadata"]["name"] for w in jobs.api.get(f"/apis/{q}/namespaces/benchd/workloads")["items"]
                    if name in json.dumps(w["metadata"]["ownerReferences"]))
    jobs.api("PATCH", f"/apis/{q}/namespaces/benchd/workloads/{workload}", {"spec": {"active": False}}, MERGE)
    wait_until(lambda: "AttemptPreempted" in jobs.ctl("describe", run).stdout, WAIT_S, "it is preempted")
    ends.is_held.clear()
    jobs.ends(run)
    t.ok("AttemptVoid" not in jobs.ctl("describe", run).stdout, f"{kind}: at no cost")
    t.ok(becomes(jobs.is_empty, WAIT_S), f"{kind}: nothing is left")


def check_kill(t, jobs, daemon, ends):
    """kill -9 in the middle of a trial: the next process finds the object, and its trial goes on."""
    ends.is_held.set()
    run = jobs.start(jobs.define("Job"))
    wait_until(jobs.running_pods, WAIT_S, "pods run")
    before = {item["metadata"]["uid"] for item in jobs.api.get(JOBS)["items"]}
    daemon.process.send_signal(signal.SIGKILL)
    daemon.process.wait()
    daemon.start()
    ends.is_held.clear()
    jobs.ends(run)
    events = jobs.ctl("describe", run).stdout
    t.ok(len(before) == 1 and "AttemptVoid" not in events, "after kill -9 the trial goes on", (before, events))
    ends.is_held.set()
    run = jobs.start(jobs.define("Job"))
    wait_until(jobs.running_pods, WAIT_S, "pods run")
    daemon.process.send_signal(signal.SIGKILL)
    daemon.process.wait()
    jobs.api("PATCH", f"{RUNS}/{run}", {"spec": {"cancel": True}}, MERGE)
    daemon.start()
    jobs.ends(run, "Cancelled")
    ends.is_held.clear()
    t.ok(becomes(jobs.is_empty, WAIT_S), "a run that was cancelled meanwhile leaves nothing")


def check_repairs(t, jobs, ends):
    """A pod that its controller replaces voids the attempt."""
    ends.is_held.set()
    run = jobs.start(jobs.define("Job"))
    wait_until(jobs.running_pods, WAIT_S, "pods run")
    jobs.api("DELETE", f"{NS}/pods/{jobs.running_pods()[0]['metadata']['name']}")
    wait_until(lambda: "AttemptVoid" in jobs.ctl("describe", run).stdout, WAIT_S, "the attempt is void")
    ends.is_held.clear()
    jobs.ends(run)


def check_refusals(t, jobs):
    definition = jobs.define("Job")
    path = jobs.cluster.dir / "Job.yaml"
    text = path.read_text()
    for what, old, new, words in (
            ("a kind that is not installed", "batch/v1\n", "batch/v9\n", "the cluster has no jobs; install them"),
            ("a field that does not exist", "backoffLimit: 4", "backofLimit: 4", 'unknown field "spec.backofLimit"')):
        path.write_text(text.replace(old, new))
        done = jobs.ctl("run", definition)
        t.match(words, done.stdout + done.stderr, f"{what} ends the run")
    done = jobs.ctl("run", definition, "--local")
    t.equal(2, done.returncode, "--local: exit code")
    t.match("system 'job' is a Job, which runs in a cluster only", done.stderr, "--local: message")


def of_its_own_rights(cluster):
    """A benchd that may make Jobs and no ConfigMaps."""
    for file in ("rbac.yaml", "jobs/job.yaml"):
        cluster.kubectl("apply", "-n", "benchd", "-f", tap.ROOT / "manifests" / file)
    cluster.kubectl("delete", "-n", "benchd", "--ignore-not-found", "-f", tap.ROOT / "manifests/jobs/objects.yaml")
    token = cluster.kubectl("create", "token", "benchd", "-n", "benchd").stdout.strip()
    return Benchd(cluster, "--kubeconfig", cluster.make_kubeconfig("own", set_token(token)), name="own")


def check_refused_objects(t, jobs, ends):
    """An object that the Job needs and no Role allows: the Job, of which the pods would be made again and again, is deleted, and the next run goes on."""
    definition = jobs.define("Job")
    path = jobs.cluster.dir / "Job.yaml"
    text = path.read_text()
    path.write_text(text.replace("      template:\n", "      objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {a: b}}]\n      template:\n", 1))
    ends.is_held.set()   # pods that need an object do not run without it
    run = jobs.start(definition)
    jobs.ends(run, "Failed")
    ends.is_held.clear()
    t.ok(becomes(jobs.is_empty, WAIT_S), "the Job is deleted")
    t.match(rf"Job '{run}-p0t0a0' needs ConfigMap 'settings-{run}-p0t0a0', which cannot be created; apply manifests/rbac.yaml and manifests/jobs/objects.yaml: .*configmaps",
            " ".join(jobs.ctl("describe", run).stdout.split()), "the failure says what to apply")
    path.write_text(text)
    jobs.ends(jobs.start(definition))


def check_refused_pods(t, jobs):
    """One of two pod templates of a JobSet is refused: the status has the words of the controller that makes its pods."""
    spec, second = MANIFESTS["JobSet"][1]["spec"], {"name": "second", "replicas": 1, "template": {"spec": {"template": {"spec": {
        "restartPolicy": "Never", "serviceAccountName": "nobody", "containers": [{"name": "main", "image": "x"}]}}}}}
    run = jobs.start(jobs.define("JobSet", spec={**spec, "replicatedJobs": [*spec["replicatedJobs"], second]}))
    jobs.until(run, lambda status: "FailedCreate: " in json.dumps(status.get("conditions")), "says why pods are missing")
    t.match("serviceaccount .*nobody", json.dumps(jobs.status(run)["conditions"]), "with the words of the server")
    jobs.api("PATCH", f"{RUNS}/{run}", {"spec": {"cancel": True}}, MERGE)
    jobs.ends(run, "Cancelled")
    t.ok(becomes(jobs.is_empty, WAIT_S), "nothing is left")


def main():
    tap.skip_if(kueue.missing())
    t = tap.Tap()
    with Cluster(parts=CONTROLLERS, kwok=kwok.without_ends) as cluster, Ends(cluster) as ends:
        cluster.apply_kinds()
        cluster.kubectl("apply", "-n", "benchd", "-f", tap.ROOT / "manifests/rbac.yaml")
        cluster.kubectl("apply", "-n", "benchd", "-f", tap.ROOT / "manifests/jobs")
        kwok.make_nodes(cluster, 2, cpu="64", **{"nvidia.com/gpu": "16"})
        kueue.start(cluster, "kueue", "jobset", "trainer")
        kueue.make_queue(cluster, QUEUE, CPUS)
        cluster.kubectl("create", "-n", "benchd", "-f", "-", stdin=json.dumps(RUNTIME))
        jobs = Jobs(t, cluster, MANIFESTS)
        with Benchd(cluster) as daemon:
            wait_until(lambda: "holding the lease" in daemon.log.read_text(), WAIT_S, "benchd is ready")
            for kind in MANIFESTS:
                check_table(t, jobs, kind)
            check_queue(t, jobs, "TrainJob", ends)
            check_kill(t, jobs, daemon, ends)
            check_repairs(t, jobs, ends)
            check_refusals(t, jobs)
            check_refused_pods(t, jobs)
        with of_its_own_rights(cluster):
            check_refused_objects(t, jobs, ends)
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
