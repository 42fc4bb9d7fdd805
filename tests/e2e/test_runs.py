#!/usr/bin/env python3
"""BenchmarkRuns through benchd on a real API server; pods are played by the test (benchd.py)."""
import json
import sys

import tap
from benchd import Benchd, Kubelet, definition, wait_for
from cluster import Cluster
from rest import MERGE, RUNS

FINAL = ("Succeeded", "PartiallyFailed", "Failed", "Cancelled")


def create(k, name, **spec):
    body = {"apiVersion": "benchd.io/v1alpha1", "kind": "BenchmarkRun", "metadata": {"name": name}, "spec": spec}
    k("create", "--validate=strict", "-f", "-", stdin=json.dumps(body))


def get(node, name):
    """The run, or None."""
    return node.api.get(f"{RUNS}/{name}")


def phase(node, name):
    return get(node, name).get("status", {}).get("phase")


def condition(run, kind):
    found = [c for c in run["status"]["conditions"] if c["type"] == kind]
    return (found[0]["status"], found[0]["reason"], found[0]["message"]) if found else None


def wait_phase(node, name, phases, ends=False, seconds=240):
    """The phase. ends: the node ends all pods that come meanwhile."""
    def look():
        if ends:
            node.end_all()
        return phase(node, name) in phases
    wait_for(look, seconds)
    return phase(node, name)


def delete(k, name):
    k("delete", "bmr", name)
    k("delete", "pods", "--all", "--force", "--grace-period=0")   # there is no garbage collector here


def check_plain(t, k, node, daemon):
    k("create", "-f", "-", stdin=json.dumps({"apiVersion": "benchd.io/v1alpha1", "kind": "Benchmark",
                                             "metadata": {"name": "small"}, "spec": definition()}))
    create(k, "plain", benchmarkRef={"name": "small"}, overrides={"sweep": {"grid": {"trainers": [2]}},
                                                                  "repeats": {"min": 1}})
    first = wait_for(lambda: len(node.pods()) >= 1 and node.pods())
    t.ok(first, "pods are made", daemon.log.read_text())
    pod = first[0]
    t.equal("plain-p0t0a0-pserver-0", pod["metadata"]["name"], "a pod's name")
    t.equal("plain", pod["metadata"]["labels"]["benchd.io/run"], "its label")
    t.equal(get(node, "plain")["metadata"]["uid"], pod["metadata"]["ownerReferences"][0]["uid"], "its owner")
    t.equal("Never", pod["spec"]["restartPolicy"], "restartPolicy")
    t.equal(1, len(first), "by address, servers come first")
    node.run(pod, "10.1.2.3")
    trainers = wait_for(lambda: [p for p in node.pods() if p["metadata"]["labels"]["benchd.io/role"] == "trainer"]
                        if len(node.pods()) == 3 else None)
    env = {e["name"]: e.get("value") for e in (trainers or first)[0]["spec"]["containers"][0]["env"]}
    t.equal("10.1.2.3:7164", env.get("BENCHD_PSERVER_ADDRS"), "trainers get the server's address")
    for trainer in trainers or []:
        node.end(trainer)
    node.end(pod)
    t.equal("Succeeded", wait_phase(node, "plain", FINAL, ends=True), "the run ends well")
    waited = k("wait", "--for=condition=Complete", "--timeout=60s", "bmr/plain", check=False)
    t.equal(0, waited.returncode, "kubectl wait --for=condition=Complete")
    run = json.loads(k("get", "bmr", "plain", "--show-managed-fields", "-o", "json").stdout)
    t.equal([2], run["status"]["definition"]["sweep"]["grid"]["trainers"], "status.definition is the merged one")
    t.ok("local" not in run["status"]["definition"], "without overrides in it")
    managers = {f["manager"] for f in run["metadata"]["managedFields"] if f.get("subresource") == "status"}
    t.equal({"benchd", "benchd-definition"}, managers, "two managers of the status")
    t.equal("2/2", run["status"]["completions"], "completions: the point and its baseline")
    result = daemon.results("plain")
    t.equal(("Succeeded", True, run["metadata"]["uid"]), (result["phase"], result["simulated"], result["uid"]),
            "the results, simulated: no container had an id")
    t.ok(result["points"][0]["throughput"]["value"] > 0, "with a throughput", result["points"])
    t.equal([], [p["metadata"]["name"] for p in node.pods()], "no pod is left")
    def events():   # that of the end is posted after the status
        each = "{range .items[*]}{.reason} {end}"
        return set(k("get", "events.events.k8s.io", "-o", f"jsonpath={each}").stdout.split())
    t.ok(wait_for(lambda: {"RunStarted", "Completed"} <= events()), "Events report it", events())


def check_dns(t, k, node):
    create(k, "dns", definition=definition(addressing="DNS", repeats={"min": 1}))
    t.ok(wait_for(lambda: len(node.pods()) >= 2), "by name, all are posted at once", node.pods())
    pod = node.pods()[0]
    service = json.loads(k("get", "services", "-o", "json").stdout)["items"]
    own = [s for s in service if s["metadata"]["name"].startswith("dns-")]
    t.equal(("None", None), (own[0]["spec"]["clusterIP"], own[0]["spec"].get("selector")),
            "a headless Service without a selector: nobody else writes its addresses")
    t.equal(own[0]["metadata"]["name"], pod["spec"]["subdomain"], "pods are named behind it")
    t.equal("Succeeded", wait_phase(node, "dns", FINAL, ends=True), "it ends well")
    slices = json.loads(k("get", "endpointslices", "-l", f"kubernetes.io/service-name={own[0]['metadata']['name']}",
                          "-o", "json").stdout)["items"]
    t.equal(1, len(slices), "one slice has all addresses")
    t.ok(pod["spec"]["hostname"].split("-", 1)[1] in {e["hostname"].split("-", 1)[1] for e in slices[0]["endpoints"]},
         "by host name", slices[0]["endpoints"])
    delete(k, "dns")


def enforce(k, level):
    """Returns when admission knows it, which looks at its own copy of the namespace."""
    k("label", "namespace", "benchd", "pod-security.kubernetes.io/enforce" + (f"={level}" if level else "-"))
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"containers": [{"name": "main", "image": "x"}]}}

    def is_refused():
        return "violates PodSecurity" in k("create", "--dry-run=server", "-f", "-", stdin=json.dumps(pod), check=False).stderr
    wait_for(lambda: is_refused() == (level is not None))


def check_template(t, k, node):
    """What only the API server can refuse of a template, before anything is made of the run."""
    enforce(k, "restricted")
    rows = {"field": ({"imagee": "x"}, 'template of pserver: .*unknown field "spec.containers\\[0\\].imagee"'),
            "security": ({"securityContext": {"runAsUser": 0}},
                         "violates PodSecurity \"restricted:latest\": allowPrivilegeEscalation .* runAsNonRoot != true .*"
                         "securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\"\\)$")}
    for name, (change, message) in rows.items():
        template = {"spec": {"containers": [{"name": "main", "image": "x", **change}]}}
        create(k, name, definition=definition(roles={
            role: {"replicas": {"from": role + "s"}, "template": template} for role in ("pserver", "trainer")}))
        t.equal("Failed", wait_phase(node, name, FINAL), f"{name}: a template that the API server refuses")
        accepted = condition(get(node, name), "Accepted")
        t.equal(("False", "InvalidTemplate"), accepted[:2], f"{name}: its condition")
        t.match(message, accepted[2], f"{name}: in the server's words, to their end")
        t.equal(accepted[2], condition(get(node, name), "Failed")[2], f"{name}: and so in the condition Failed")
        made = k("get", "pods,secrets,services", "-l", f"benchd.io/run={name}", "-o", "name").stdout
        t.equal("", made, f"{name}: nothing was made")
        delete(k, name)
    create(k, "silent", definition=definition())
    t.equal("Succeeded", wait_phase(node, "silent", FINAL, ends=True), "a template that says nothing of it: benchd adds what the level requires")
    delete(k, "silent")
    enforce(k, None)


def check_refused(t, k, node, daemon):
    create(k, "wrong", definition=definition(workload={"model": "vgg99", "batchSize": 16}))
    t.equal("Failed", wait_phase(node, "wrong", FINAL), "a definition that only benchd can refuse")
    t.equal(("False", "InvalidDefinition"), condition(get(node, "wrong"), "Accepted")[:2], "its condition")
    t.match(r'a run was not accepted.*wrong.*InvalidDefinition.*vgg99', daemon.log.read_text(), "benchd's log has it")
    check_template(t, k, node)
    create(k, "early", benchmarkRef={"name": "late"})
    t.ok(wait_for(lambda: condition(get(node, "early"), "Accepted") if "status" in get(node, "early") else None),
         "a run before its Benchmark waits")
    t.equal(("False", "BenchmarkNotFound", "there is no Benchmark 'late' in this namespace"),
            condition(get(node, "early"), "Accepted"), "and says so")
    k("create", "-f", "-", stdin=json.dumps({"apiVersion": "benchd.io/v1alpha1", "kind": "Benchmark",
                                             "metadata": {"name": "late"}, "spec": definition()}))
    t.equal("Succeeded", wait_phase(node, "early", FINAL, ends=True), "and goes on when it comes")
    for name in ("wrong", "early"):
        delete(k, name)


def check_foreign_pod(t, k, node):
    k("create", "-f", "-", stdin=json.dumps({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "foreign-p0t0a0-pserver-0"},
        "spec": {"containers": [{"name": "c", "image": "x"}]}}))
    create(k, "foreign", definition=definition(
        repeats={"min": 1}, sweep={"grid": {"pservers": [1], "trainers": [1]}},
        failurePolicy={"onTrialFailure": "Stop"}))
    t.equal("Failed", wait_phase(node, "foreign", FINAL), "a foreign pod in the way ends the trial")
    t.match("a pod 'foreign-p0t0a0-pserver-0' exists already and does not belong to this run",
            condition(get(node, "foreign"), "Failed")[2], "the message names it")
    t.equal(0, k("get", "pod", "foreign-p0t0a0-pserver-0", check=False).returncode, "it is left alone")
    delete(k, "foreign")


def check_failure(t, k, node):
    create(k, "crash", definition=definition(addressing="DNS", failurePolicy={"onTrialFailure": "Stop"}))
    wait_for(lambda: len(node.pods()) >= 2)
    trainer = [p for p in node.pods() if p["metadata"]["labels"]["benchd.io/role"] == "trainer"][0]
    node.end(trainer, code=3, reason="Error", message="no such data\n")
    t.equal("Failed", wait_phase(node, "crash", FINAL), "crash: the run fails")
    t.match("exit code 3: no such data", condition(get(node, "crash"), "Failed")[2], "crash: message")
    kept = [p["metadata"]["name"] for p in node.pods() if "deletionTimestamp" not in p["metadata"]]
    t.equal([trainer["metadata"]["name"]], kept, "crash: cleanPodPolicy OnSuccess keeps what failed")
    delete(k, "crash")


def check_vanished(t, k, node, daemon):
    create(k, "vanish", definition=definition(addressing="DNS", repeats={"min": 1}))
    t.ok(wait_for(lambda: "vanish-p0t0a0-trainer-0" in {p["metadata"]["name"] for p in node.pods()}), "a gang is there")
    k("delete", "pod", "vanish-p0t0a0-trainer-0", "--force", "--grace-period=0")
    t.ok(wait_for(lambda: [p for p in node.pods() if "a1-" in p["metadata"]["name"]]),
         "a pod that vanishes: the next attempt")
    t.equal("Succeeded", wait_phase(node, "vanish", FINAL, ends=True), "which ends well")
    delete(k, "vanish")


def check_queue(t, k, node):
    create(k, "q1", definition=definition())
    wait_for(lambda: phase(node, "q1") == "Running")
    create(k, "q2", definition=definition(repeats={"min": 1}))
    t.equal("Queued", wait_phase(node, "q2", ("Queued", "Running")), "the second run is queued")
    create(k, "q3", definition=definition())
    wait_for(lambda: phase(node, "q3") == "Queued")
    k("patch", "bmr", "q3", "--type=merge", "-p", '{"spec":{"cancel":true}}')
    t.equal("Cancelled", wait_phase(node, "q3", FINAL), "a queued run is cancelled at once")
    k("patch", "bmr", "q1", "--type=merge", "-p", '{"spec":{"suspend":true}}')
    t.equal("Suspended", wait_phase(node, "q1", ("Suspended",)), "a running one is suspended")
    t.equal("True", condition(get(node, "q1"), "Suspended")[0], "its condition")
    t.ok(wait_for(lambda: not [p for p in node.pods() if p["metadata"]["name"].startswith("q1-")
                               and "deletionTimestamp" not in p["metadata"]]), "no pod of it lives")
    t.equal("Succeeded", wait_phase(node, "q2", FINAL, ends=True), "the next one runs meanwhile")
    k("patch", "bmr", "q1", "--type=merge", "-p", '{"spec":{"suspend":false}}')
    t.equal("Succeeded", wait_phase(node, "q1", FINAL, ends=True), "and then it goes on")
    create(k, "q4", definition=definition())
    wait_for(lambda: [p for p in node.pods() if p["metadata"]["name"].startswith("q4-")])
    k("patch", "bmr", "q4", "--type=merge", "-p", '{"spec":{"cancel":true}}')
    t.equal("Cancelled", wait_phase(node, "q4", FINAL), "a running one is cancelled")
    for name in ("q1", "q2", "q3", "q4"):
        delete(k, name)


def check_foreground(t, k, node, daemon):
    """Deleted with its dependents first: the object stays until they are gone, and must not get new ones."""
    create(k, "front", definition=definition(addressing="DNS"))
    wait_for(lambda: len(node.pods()) >= 2)
    k("delete", "bmr", "front", "--cascade=foreground", "--wait=false")
    t.ok(wait_for(lambda: not [p for p in node.pods() if "deletionTimestamp" not in p["metadata"]]), "its pods go")
    t.ok(wait_for(lambda: json.loads(daemon.ctl("get", "runs", "-o", "json").stdout)["items"][0]["phase"] == "Cancelled"),
         "nobody drives it any more")
    k("delete", "pods", "--all", "--force", "--grace-period=0")
    k("patch", "bmr", "front", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')   # the garbage collector's part
    t.ok(wait_for(lambda: get(node, "front") is None), "it goes")
    t.equal("Cancelled", daemon.results("front")["phase"], "its results stay for a while")
    t.equal(set(), {name for name in node.seen if name.startswith("front-") and "a0-" not in name}, "no attempt was added")


def check_end_of_life(t, k, node, daemon):
    create(k, "short", definition=definition(repeats={"min": 1}, runPolicy={"ttlSecondsAfterFinished": 1}))
    uid = get(node, "short")["metadata"]["uid"]
    gone = wait_for(lambda: node.end_all() or get(node, "short") is None)
    t.ok(gone, "the object goes when its time is over")
    t.equal(("Succeeded", uid), (daemon.results("short")["phase"], daemon.results("short")["uid"]), "its results stay")
    listed = json.loads(daemon.ctl("get", "runs", "-o", "json").stdout)["items"]
    t.equal([True], [run["simulated"] for run in listed if run["name"] == "short"], "get runs says simulated")
    create(k, "short", definition=definition(repeats={"min": 1}))
    t.equal("Succeeded", wait_phase(node, "short", FINAL, ends=True), "another run of that name")
    t.equal((uid, get(node, "short")["metadata"]["uid"]),
            (daemon.results(f"short-{uid[:8]}")["uid"], daemon.results("short")["uid"]), "both have their results")
    delete(k, "short")
    create(k, "waits", benchmarkRef={"name": "never"})
    wait_for(lambda: "status" in get(node, "waits"))
    k("patch", "bmr", "waits", "--type=merge", "-p", '{"spec":{"cancel":true}}')
    t.equal("Cancelled", wait_phase(node, "waits", FINAL), "a run that waits for its Benchmark is cancelled")
    delete(k, "waits")
    delete(k, "plain")
    t.equal("Succeeded", daemon.results("plain")["phase"], "a deleted run's results stay for a while")


def check_many(t, node, daemon):
    """Those that are there when benchd starts, all of them new, do not hold its loop: tap.done() looks at each of its turns."""
    names = [f"many-{i}" for i in range(100)]

    def are_all(wanted):
        phases = {run["metadata"]["name"]: run.get("status", {}).get("phase") for run in node.api.get(RUNS)["items"]}
        return {phases.get(name) for name in names} == {wanted}

    daemon.kill()
    for name in names:
        node.api("POST", RUNS, {"apiVersion": "benchd.io/v1alpha1", "kind": "BenchmarkRun", "metadata": {"name": name},
                                "spec": {"definition": definition(), "suspend": True}})
    daemon.start()
    t.ok(wait_for(lambda: are_all("Suspended")), f"{len(names)} runs at once are accepted")
    for name in names:
        node.api("PATCH", f"{RUNS}/{name}", {"spec": {"cancel": True}}, MERGE)
    t.ok(wait_for(lambda: are_all("Cancelled")), "and cancelled")


def check_exits(t, k, cluster, daemon):
    second = Benchd(cluster)
    second.start()
    t.equal(9, second.process.wait(timeout=60), "a second benchd on the same store: exit 9")
    (cluster.dir / "bad.kubeconfig").write_text("clusters: {")
    bad = Benchd(cluster)
    bad.start("--kubeconfig", cluster.dir / "bad.kubeconfig", "--store", f"sqlite:{cluster.dir}/other.db")
    t.equal(2, bad.process.wait(timeout=60), "a wrong kubeconfig: exit 2")
    t.equal(0, daemon.stop(), "SIGTERM: exit 0")
    lease = json.loads(k("get", "lease", "benchd", "-o", "json").stdout)
    t.equal("", lease["spec"].get("holderIdentity"), "the Lease is given up")
    t.match(r"^http://127\.0\.0\.1:\d+$", lease["metadata"]["annotations"]["benchd.io/address"], "its address")


def main():
    t = tap.Tap()
    with Cluster() as cluster:
        k = cluster.kubectl
        cluster.apply_kinds()
        node = Kubelet(cluster)
        with Benchd(cluster) as daemon:
            check_plain(t, k, node, daemon)
            check_dns(t, k, node)
            check_refused(t, k, node, daemon)
            check_foreign_pod(t, k, node)
            check_failure(t, k, node)
            check_vanished(t, k, node, daemon)
            check_queue(t, k, node)
            check_foreground(t, k, node, daemon)
            check_end_of_life(t, k, node, daemon)
            check_many(t, node, daemon)
            check_exits(t, k, cluster, daemon)
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
