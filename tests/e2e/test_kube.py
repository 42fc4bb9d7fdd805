#!/usr/bin/env python3
"""lib/kube against a real API server: what the fake of tests/kube says must be what the real one says."""
import copy
import json
import sys
import time

import tap
from cluster import Cluster, becomes

sys.path.insert(0, str(tap.ROOT / "tests" / "kube"))
from probe import Probe  # noqa: E402

NS = "benchd"
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": {"app.kubernetes.io/managed-by": "benchd"}},
       "spec": {"restartPolicy": "Never", "automountServiceAccountToken": False,
                "containers": [{"name": "main", "image": "none"}]}}
RUN = {"apiVersion": "benchd.io/v1alpha1", "kind": "BenchmarkRun", "metadata": {"name": "r"},
       "spec": {"benchmarkRef": {"name": "vgg16-pserver-sweep"}}}
PODS_AT_ONCE = 160
OTHER_UID = "00000000-0000-0000-0000-000000000000"


def named(template, name, **metadata):
    made = copy.deepcopy(template)
    made["metadata"] = {**made["metadata"], "name": name, **metadata}
    return made


def object_of(answer):
    return json.loads(answer.get("body") or "{}")


def check_pods(t, p):
    watch = p.start("informer", resource="pods", ns=NS)
    t.equal("synced", p.next(watch).get("event"), "pods: an empty list")
    made = p.ask("create", resource="pods", ns=NS, object=named(POD, "a"))
    t.equal((0, 201), (made.get("r"), made.get("code")), "pods: created")
    uid = object_of(made)["metadata"]["uid"]
    told = p.next(watch)
    t.equal(("added", "a", uid), (told.get("event"), told.get("name"), told.get("uid")), "pods: the watch tells")
    again = p.ask("create", resource="pods", ns=NS, object=named(POD, "a"))
    t.equal(-17, again.get("r"), "pods: the same name again is EEXIST")
    wrong = named(POD, "b")
    wrong["spec"]["restartPolice"] = "Never"
    refused = p.ask("create", resource="pods", ns=NS, object=wrong)
    t.equal(-22, refused.get("r"), "pods: an unknown field is EINVAL")
    t.match(r'create pod .b.: HTTP 400 BadRequest: .*unknown field "spec.restartPolice"', refused.get("error"), "pods: named")
    t.equal(0, p.ask("dry_run", resource="pods", ns=NS, object=named(POD, "b")).get("r"), "pods: a dry run")
    t.equal(-2, p.ask("get", path=f"/api/v1/namespaces/{NS}/pods/b").get("r"), "pods: ... leaves nothing")
    other = p.ask("delete", resource="pods", ns=NS, name="a", uid=OTHER_UID)
    t.equal((-116, True), (other.get("r"), "UID in the precondition" in other.get("error", "")), "pods: another uid stays")
    t.equal(0, p.ask("delete", resource="pods", ns=NS, name="a", uid=uid).get("r"), "pods: deleted by uid")
    t.ok(p.until(watch, "removed", name="a"), "pods: the watch tells of it")
    t.match("benchd.*not found|not found", p.ask("create", resource="pods", ns="nowhere", object=named(POD, "a")).get("error"),
            "pods: no such namespace")
    return watch


# A pod that has what is kept, and more.
FULL = {"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "forms", "labels": {"benchd.io/role": "trainer", "a": ""}, "annotations": {"not": "kept"},
                     "ownerReferences": [{"apiVersion": "benchd.io/v1alpha1", "kind": "BenchmarkRun", "name": "r", "uid": "u-1",
                                          "controller": True, "blockOwnerDeletion": False}]},
        "spec": {"nodeName": "nowhere", "restartPolicy": "Never", "automountServiceAccountToken": False,
                 "volumes": [{"name": "benchd-key", "emptyDir": {}}],
                 "initContainers": [{"name": "first", "image": "none"}],
                 "containers": [{"name": "side", "image": "none"},
                                {"name": "main", "image": "none", "env": [{"name": "A", "value": "b"}],
                                 "resources": {"limits": {"cpu": "500m", "memory": "1Gi"}},
                                 "volumeMounts": [{"name": "benchd-key", "mountPath": "/s"}]}]}}
TIME = "2026-11-20T08:52:51Z"
STATUSES = (
    {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 n\u00f6des"},
                                        {"type": "Other", "status": "True"}],
     "initContainerStatuses": [{"name": "first", "image": "", "imageID": "", "ready": False, "restartCount": 0,
                                "state": {"waiting": {"reason": "ErrImagePull", "message": "\"x\": no"}}}]},
    {"phase": "Running", "podIP": "10.1.2.3", "podIPs": [{"ip": "10.1.2.3"}], "startTime": TIME,
     "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": TIME}],
     "containerStatuses": [{"name": name, "image": "none:1", "imageID": "sha256:1", "containerID": f"c://{name}", "ready": True,
                            "started": True, "restartCount": 2, "state": {"running": {"startedAt": TIME}},
                            "lastState": {"terminated": {"exitCode": 1, "containerID": "c://old"}}} for name in ("main", "side")]},
    {"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory.",
     "containerStatuses": [{"name": "main", "image": "none:1", "imageID": "sha256:1", "ready": False, "restartCount": 0,
                            "state": {"terminated": {"exitCode": 137, "signal": 9, "reason": "OOMKilled", "message": "last\nwords \u20ac",
                                                     "startedAt": TIME, "finishedAt": TIME, "containerID": "c://main"}}}]},
)


def check_facts(t, p, k):
    """What is kept of a pod as the server writes it, in watches and lists."""
    watch = p.start("informer", resource="pods", ns=NS, **{"as": "facts"})

    def told(said, event, what):
        got = p.next(said)
        t.equal(event, got.get("event"), f"facts: {what}")
        return got.get("object") or {}
    told(watch, "synced", "an empty list")
    made = p.ask("create", resource="pods", ns=NS, object=FULL)
    t.equal(0, made.get("r"), f"facts: created {made.get('error')}")
    pod = told(watch, "added", "a new pod")
    t.equal(("main", "1Gi"), (pod.get("container"), pod.get("memory_limit")), "facts: its main container")
    t.equal(("u-1", True), (pod.get("owner_uid"), pod.get("is_of_a_run")), "facts: its owner")

    def update(number):
        status = STATUSES[number]
        k("patch", "pod", "forms", "-n", NS, "--subresource=status", "--type=merge", "-p", json.dumps({"status": status}))
        facts = told(watch, "updated", f"status {number}")
        t.equal(status["phase"] == "Failed", facts.get("phase") == 2, f"facts: status {number} is kept")
        return facts
    update(0)
    pod = update(1)
    again = p.start("informer", resource="pods", ns=NS, **{"as": "facts"})
    t.equal(pod, told(again, "added", "a list"), "facts: a list has what the watch had")
    told(again, "synced", "a whole list")
    k("delete", "pod", "forms", "-n", NS, "--wait=false")
    pod = told(watch, "updated", "a pod that goes")
    t.ok(pod["is_going"] and pod["asked_to_go"] > 0, "facts: since when")
    pod = update(2)
    t.equal(9, pod["containers"][pod["main"]]["signal"], "facts: down to a signal")
    k("delete", "pod", "forms", "-n", NS, "--force", "--grace-period=0")
    t.ok(p.until(watch, "removed"), "facts: a pod that went")
    for one in (watch, again):
        p.send(op="cancel", target=one)


def check_speed(t, p, watch):
    """Not a measurement: a note, and a bound that only a lost connection or a queue in series would break."""
    begin = time.monotonic()
    numbers = [p.start("create", resource="pods", ns=NS, object=named(POD, f"s{i:03}")) for i in range(PODS_AT_ONCE)]
    results = [p.next(n) for n in numbers]
    taken = time.monotonic() - begin
    print(f"# {PODS_AT_ONCE} pods created in {taken:.2f} s")
    t.equal([0], sorted({r.get("r") for r in results}), f"{PODS_AT_ONCE} pods at once")
    t.ok(taken < 120, f"{PODS_AT_ONCE} pods at once: not one by one", taken)
    t.equal(PODS_AT_ONCE, len({e["name"] for e in (p.next(watch) for _ in range(PODS_AT_ONCE)) if e}),
            "all are told")
    stats = p.ask("stats")
    t.ok(stats["connections"] <= 3, "over few connections (HTTP/2)", stats)
    second = p.start("informer", resource="pods", ns=NS)
    t.equal(PODS_AT_ONCE, len(p.until(second, "synced")) - 1, "another list sees them all")
    p.send(op="cancel", target=second)
    t.equal(stats["streams"], p.ask("stats")["streams"], "a watch that is cancelled is no stream any more")


def check_runs(t, p, k):
    watch = p.start("informer", resource="benchmarkruns", ns=NS)
    t.equal("synced", p.next(watch).get("event"), "runs: an empty list")
    made = p.ask("create", resource="benchmarkruns", ns=NS, object=RUN)
    t.equal(0, made.get("r"), f"runs: created {made.get('error')}")
    uid, generation = (object_of(made)["metadata"][key] for key in ("uid", "generation"))
    t.equal("added", p.next(watch).get("event"), "runs: the watch tells")
    status = {**named(RUN, "r", uid=uid), "status": {"phase": "Running", "completions": "1/2"}}
    del status["spec"]
    applied = p.ask("apply", resource="benchmarkruns", ns=NS, object=status)
    t.equal((0, "Running", generation), (applied.get("r"), object_of(applied).get("status", {}).get("phase"),
                                         object_of(applied).get("metadata", {}).get("generation")),
            f"runs: status applied {applied.get('error')}")
    t.equal("updated", p.next(watch).get("event"), "runs: the watch tells of the status")
    managers = [m for m in object_of(applied)["metadata"]["managedFields"] if m.get("subresource") == "status"]
    t.equal([("benchd", "Apply")], [(m["manager"], m["operation"]) for m in managers], "runs: by manager benchd")
    other = p.ask("merge", resource="benchmarkruns", ns=NS, name="r", uid=OTHER_UID, object={"spec": {"cancel": True}})
    t.ok(other.get("r") in (-116, -22) and "uid" in other.get("error", "").lower(), "runs: another uid is refused", other)
    t.equal("", k("get", "benchmarkruns", "r", "-o", "jsonpath={.spec.cancel}").stdout, "runs: and nothing is changed")
    changed = p.ask("merge", resource="benchmarkruns", ns=NS, name="r", uid=uid, object={"spec": {"cancel": True}})
    t.equal(0, changed.get("r"), f"runs: cancel {changed.get('error')}")
    t.equal(0, p.ask("delete", resource="benchmarkruns", ns=NS, name="r", uid=uid).get("r"), "runs: deleted")
    t.ok(p.until(watch, "removed", name="r"), "runs: the watch tells of it")
    late = p.ask("apply", resource="benchmarkruns", ns=NS, object=status)
    t.ok(late.get("r") in (-116, -2), "runs: a status that comes too late makes nothing anew", late)
    t.equal("", k("get", "benchmarkruns", "-o", "name").stdout, "runs: nothing there")
    return watch


def check_errors(t, cluster, p):
    t.match("HTTP 404.*kubectl apply -f manifests", p.ask("get", path=f"/apis/benchd.io/v9/namespaces/{NS}/x").get("error"),
            "a kind that is not installed")
    t.equal(-2, p.ask("get", path=f"/api/v1/namespaces/{NS}/pods/none/log").get("r"), "the log of no pod")
    text = cluster.kubeconfig.read_text()
    for name, user, wanted in (("wrong token", "{token: nonsense}", "HTTP 401 Unauthorized.*log in again"),
                               ("no credentials", "{}", "system:anonymous.*log in again")):
        bad = cluster.dir / "pki" / "bad.kubeconfig"
        bad.write_text("\n".join(f"users: [{{name: admin, user: {user}}}]" if line.startswith("users:") else line
                                 for line in text.splitlines()))
        other = Probe(bad)
        got = other.ask("get", path=f"/api/v1/namespaces/{NS}/pods")
        t.equal(-13, got.get("r"), f"{name}: EACCES")
        t.match(wanted, got.get("error"), f"{name}: says what to do")
        t.equal((0, ""), other.quit(), f"{name}: ends clean")


def check_restart(t, cluster, p, pods, runs):
    """kill -9 of the API server under two watches. The new one has forgotten old versions: 410 is what it says."""
    path = f"/apis/benchd.io/v1alpha1/namespaces/{NS}/benchmarkruns?watch=1&resourceVersion=1"
    cluster.restart("kube-apiserver")
    made = p.ask("create", resource="benchmarkruns", ns=NS, object=named(RUN, "after"))
    t.equal(0, made.get("r"), "requests go on after the restart")
    t.ok(p.until(runs, "added", name="after", wait_s=60), "the watch of runs has come back")
    t.equal(0, p.ask("delete", resource="pods", ns=NS, name="s000").get("r"), "a pod goes")
    t.ok(p.until(pods, "removed", name="s000", wait_s=60), "the watch of pods has come back")
    answer = []

    def is_open():   # 429 "storage is (re)initializing" for a while
        old = p.start("stream", path=path)
        answer[:] = [p.next(old)]
        if answer[0].get("event") == "open":
            answer.append(p.next(old))
        return len(answer) > 1
    t.ok(becomes(is_open, 60), "a watch from an old version", answer)
    t.match(r'"type":"ERROR".*"code":410', answer[-1].get("data", ""), "410 comes inside a 200")


def check_outage(t, cluster, p, runs):
    """What happens while nobody can watch is told afterwards."""
    server = cluster.servers["kube-apiserver"]
    server.kill()
    server.wait()
    down = p.ask("get", path="/version", tries=2)
    t.equal(-113, down.get("r"), "no server: EHOSTUNREACH")
    waits = p.start("get", path="/version")
    cluster.restart("kube-apiserver")
    t.equal(0, p.next(waits, 60).get("r"), "a request that waited gets its answer")
    cluster.kubectl("delete", "benchmarkruns", "after")
    t.ok(p.until(runs, "removed", name="after", wait_s=60), "a run that went is told")


def main():
    t = tap.Tap()
    with Cluster() as cluster:
        k = cluster.kubectl
        cluster.apply_kinds()
        p = Probe(cluster.kubeconfig)
        check_facts(t, p, k)
        pods = check_pods(t, p)
        check_speed(t, p, pods)
        runs = check_runs(t, p, k)
        check_errors(t, cluster, p)
        check_restart(t, cluster, p, pods, runs)
        check_outage(t, cluster, p, runs)
        t.equal((0, ""), p.quit(), "ends clean, with two watches open")
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
