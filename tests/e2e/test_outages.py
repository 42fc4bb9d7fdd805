#!/usr/bin/env python3
"""What is between benchd and the API server goes wrong: before its start, and under a run. The pods are KWOK's; benchd is
a process with the rights of manifests/rbac.yaml."""
import datetime
import json
import re
import signal
import subprocess
import sys
import time
import urllib.request

import kwok
import tap
from benchd import BENCHCTL, Benchd, definition, wait_for
from cluster import CONTROLLERS, CRD, Cluster, die_with_parent
from kubeconfigs import set_authority, set_server, set_token
from rest import NS, RUNS, Api

RBAC = tap.ROOT / "manifests" / "rbac.yaml"
FINAL = ("Succeeded", "PartiallyFailed", "Failed", "Cancelled")
SOON_S, LATE_S = 50, 180   # what benchd gives up after 10 s and 60 s, on a loaded machine


# ---- a wrong kubeconfig ----

class WrongStarts:
    """benchds that cannot begin, all at once: each says at once what is wrong, and ends in its time."""

    def __init__(self, t, cluster):
        self.t, self.cluster = t, cluster
        k = cluster.kubectl
        k("create", "serviceaccount", "stranger")
        stranger = k("create", "token", "stranger").stdout.strip()
        server = json.loads(k("config", "view", "-o", "json").stdout)["clusters"][0]["cluster"]["server"]
        self.soon = [self.start(*row) for row in (
            ("wrong authority", set_authority(tap.make_certificate(cluster.dir, "other")[0].read_bytes()),
             "TLS: .*certificate.*; check certificate-authority"),
            ("refused token", set_token("wrong"), "HTTP 401 Unauthorized: .*log in again, or choose another context"),
            ("no rights", set_token(stranger),
             "HTTP 403 Forbidden: .*cannot get resource .*in the namespace .benchd.; ask an administrator"),
            ("no TLS", set_server(server.replace("https:", "http:")), "HTTP request to an HTTPS server"),
        )]
        self.late = [
            self.start("nobody listens", set_server("https://127.0.0.1:1"),
                       "cannot reach the API server: .*; is it running, and is its address right in the kubeconfig"),
            self.start("no such namespace", lambda *_: None, 'HTTP 404 NotFound: namespaces "nowhere" not found',
                       "--namespace", "nowhere")]

    def start(self, name, change, pattern, *options):
        path = self.cluster.make_kubeconfig(name.replace(" ", "-"), change)
        daemon = Benchd(self.cluster, "--kubeconfig", path, *options, name=name.replace(" ", "-"))
        daemon.start()
        return name, pattern, daemon, time.time()

    def check_warned(self):
        for name, _, daemon, _ in self.soon + self.late:
            self.t.ok(wait_for(lambda: "level=warn" in daemon.log.read_text()), f"{name}: benchd warns at once")

    def check_ended(self, rows, seconds):
        for name, pattern, daemon, began in rows:
            self.t.equal(5, daemon.process.wait(timeout=200), f"{name}: and ends with exit 5")
            took = daemon.log.stat().st_mtime - began   # its last word
            self.t.ok(took < seconds, f"{name}: within {seconds} s", took)
            self.t.match(f"(?m)^benchd: .*{pattern}", daemon.log.read_text(), f"{name}: message")

    def kill(self):
        for _, _, daemon, _ in self.soon + self.late:
            daemon.kill()


def check_usage(t, cluster):
    """What can be seen without asking anybody ends at once."""
    nowhere = cluster.make_kubeconfig("context", lambda _c, _u, config: config.update({"current-context": "nowhere"}))
    for name, options, pattern in (
            ("missing file", ("--kubeconfig", "/no/such/file"), "kubeconfig: open /no/such/file: No such file"),
            ("wrong current context", ("--kubeconfig", nowhere), "no 'nowhere' in contexts"),
            ("wrong --context", ("--context", "elsewhere"), "elsewhere")):
        daemon = Benchd(cluster, *options, name="usage")
        daemon.start()
        t.equal(2, daemon.process.wait(timeout=60), f"{name}: exit 2")
        t.match(f"(?m)^benchd: .*{pattern}", daemon.log.read_text(), f"{name}: message")


def check_kinds_missing(t, cluster, daemon):
    daemon.start()
    t.ok(wait_for(lambda: "level=warn" in daemon.log.read_text()), "kinds missing: benchd says so at once")
    t.match("benchd's kinds are not installed: kubectl apply -f manifests/benchmark-crd.yaml", daemon.log.read_text(), "kinds missing: what to do")
    cluster.kubectl("apply", "-f", CRD)
    t.ok(wait_for(lambda: "the API server answers again" in daemon.log.read_text()), "and goes on when they come", daemon.log.read_text())


# ---- under a run ----

class Runs:
    """Runs of four trials, of 1 pserver and 1 or 2 trainers, each about 2 s."""

    def __init__(self, t, cluster, daemon):
        self.t, self.cluster, self.daemon, self.k = t, cluster, daemon, cluster.kubectl
        self.api = Api(cluster)
        self.seen = {}   # name: uids of every pod that was there

    def create(self, name, **spec):
        body = {"apiVersion": "benchd.io/v1alpha1", "kind": "BenchmarkRun", "metadata": {"name": name},
                "spec": {"definition": definition(addressing="DNS", **spec.pop("definition", {})), **spec}}
        self.k("create", "--validate=strict", "-f", "-", stdin=json.dumps(body))

    def get(self, name):
        return self.api.get(f"{RUNS}/{name}")

    def status(self, name):
        return self.get(name).get("status", {})

    def look(self):
        for pod in self.api.get(f"{NS}/pods")["items"]:
            self.seen.setdefault(pod["metadata"]["name"], set()).add(pod["metadata"]["uid"])
        return [name for name in self.seen]

    def wait_trials(self, name, count):
        """Until so many trials are done and the next has pods. Where this test was held up for seconds, the run may be over."""
        def is_there():
            self.look()
            status = self.status(name)
            is_over = status.get("phase") in FINAL
            return int(status.get("completions", "0/0").partition("/")[0]) >= count and (status.get("current") or is_over)
        # Where the API server's own watches stand still after etcd was away, benchd lists again after two silences of 90 s.
        self.t.ok(wait_for(is_there, 400), f"{name}: {count} trials are done, the next is under way", self.daemon.log.read_text()[-2000:])

    def wait_end(self, name, expected="Succeeded"):
        wait_for(lambda: self.look() and self.status(name).get("phase") in FINAL)
        status = self.status(name)
        self.t.equal(expected, status.get("phase"), f"{name}: ends {expected}")
        return {c["type"]: c for c in status["conditions"]}

    def check_whole(self, name, trials=4):
        """Each trial was measured once, and no pod was made twice."""
        result = self.daemon.results(name)
        attempts = [trial["attempt"] for point in result["points"] for trial in point["trials"]]
        self.t.equal([0] * trials, attempts, f"{name}: each trial at its first attempt")
        twice = {pod: uids for pod, uids in self.seen.items() if pod.startswith(f"{name}-") and len(uids) > 1}
        self.t.equal({}, twice, f"{name}: no pod was made twice")

    def wait_gang(self, name, count):
        """Until an attempt has all its pods: a process that is stopped before would send the rest, which it has made, when it wakes
        up."""
        def is_whole():
            pods = [pod["metadata"] for pod in self.api.get(f"{NS}/pods")["items"]]
            return (self.status(name).get("phase") in FINAL or
                    count == sum(m["name"].startswith(f"{name}-") and "deletionTimestamp" not in m for m in pods))
        self.t.ok(wait_for(is_whole), f"{name}: the next trial has all its pods")

    def versions(self):
        """What benchd writes: the version of each object, of pods, which others change, the uid and the deletion."""
        items = json.loads(self.k("get", "bmr,pods,services,secrets,leases", "-o", "json").stdout)["items"]
        return {(i["kind"], i["metadata"]["name"]):
                (i["metadata"]["uid"], i["metadata"].get("deletionTimestamp")) if i["kind"] == "Pod" else
                i["metadata"]["resourceVersion"] for i in items}

    def versions_at_rest(self):
        """The same once nodes have ended what benchd has asked them to end."""
        def is_at_rest():
            seen = self.versions()
            return seen if all(not isinstance(of, tuple) or of[1] is None for of in seen.values()) else None
        return wait_for(is_at_rest)


def check_servers_restart(t, cluster, runs):
    """etcd, then the API server, killed in the middle. While a trial of 2 s runs."""
    runs.create("steady", definition={"repeats": {"min": 3}})
    daemon = runs.daemon
    wait_for(lambda: runs.status("steady").get("current"))
    attached = subprocess.Popen([BENCHCTL, "attach", "steady", "-o", "json"], env=cluster.env(), text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                preexec_fn=die_with_parent())
    for done, server in ((1, "etcd"), (2, "kube-apiserver")):
        runs.wait_trials("steady", done)
        began = time.monotonic()
        cluster.restart(server)
        wait_for(lambda: cluster.kubectl("get", "bmr", check=False).returncode == 0)
        cluster.restart("kwok")   # a kubelet tries a write again that failed; KWOK forgets the pod for minutes
        renewed = wait_for(lambda: renewals(cluster.kubectl))   # until the next one it may still find that its Lease was too old
        wait_for(lambda: daemon.process.poll() is not None or renewals(cluster.kubectl) not in ("", renewed))
        print(f"# {server} was away for {time.monotonic() - began:.1f} s", flush=True)
        if daemon.process.poll() is not None:   # longer than its Lease lives: then a kubelet would do this
            t.equal(14, daemon.process.returncode, f"{server} away for long: exit 14")
            daemon.start()
    runs.wait_trials("steady", 3)
    cluster.servers["kube-apiserver"].send_signal(signal.SIGSTOP)
    t.equal(14, daemon.process.wait(timeout=90), "an API server that hangs for longer than the Lease lives: exit 14")
    t.match("(?m)^benchd: lease 'benchd' in namespace 'benchd' was lost: .*(not renewed|no answer|connection)",
            daemon.log.read_text().splitlines()[-1], "and says why")
    cluster.servers["kube-apiserver"].send_signal(signal.SIGCONT)
    daemon.start()
    runs.wait_end("steady")
    runs.check_whole("steady", 6)
    out, err = attached.communicate(timeout=180)
    t.equal(0, attached.returncode, "benchctl attach has looked on all the while")
    t.match('"phase": "Succeeded"', out, "and has the result")
    t.ok("error" not in err, "without an error on the way", err)
    waited = cluster.kubectl("wait", "--for=condition=Complete", "--timeout=60s", "bmr/steady", check=False)
    t.equal(0, waited.returncode, "steady: kubectl wait --for=condition=Complete")
    created = re.search(r"(?m)^benchd_pods_created_total (\d+)", metrics(cluster)) if daemon.process.poll() is None else None
    t.ok(created, "its metrics are there", metrics(cluster))


def renewals(k):
    return k("get", "lease", "benchd", "-o", "jsonpath={.spec.renewTime}", check=False).stdout


def metrics(cluster):
    lease = json.loads(cluster.kubectl("get", "lease", "benchd", "-o", "json").stdout)
    with urllib.request.urlopen(lease["metadata"]["annotations"]["benchd.io/address"] + "/metrics", timeout=60) as res:
        return res.read().decode()


def steal_lease(k):
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    k("patch", "lease", "benchd", "--type=merge", "-p", json.dumps({"spec": {"holderIdentity": "thief", "renewTime": now}}))


def free_lease(k):
    k("patch", "lease", "benchd", "--type=merge", "-p", '{"spec":{"holderIdentity":""}}')


def check_lease_deleted(t, k, runs):
    runs.create("unleased")
    runs.wait_trials("unleased", 1)
    k("delete", "lease", "benchd")
    t.ok(wait_for(lambda: k("get", "lease", "benchd", check=False).returncode == 0), "a deleted Lease is made again")
    runs.wait_end("unleased")
    runs.check_whole("unleased")
    t.equal(None, runs.daemon.process.poll(), "by the same process")


def check_lease_stolen(t, k, runs):
    daemon = runs.daemon
    runs.create("stolen", definition={"repeats": {"min": 3}})
    runs.wait_trials("stolen", 1)
    steal_lease(k)
    t.equal(14, daemon.process.wait(timeout=60), "the Lease stolen: exit 14")
    t.match("(?m)^benchd: lease 'benchd' in namespace 'benchd' was lost: .*'thief' holds it now", daemon.log.read_text(),
            "the message names the thief")
    k("patch", "lease", "benchd", "--type=merge", "-p", '{"spec":{"leaseDurationSeconds":3600}}')
    before = runs.versions_at_rest()
    daemon.start()
    t.ok(wait_for(lambda: "waiting for it" in daemon.log.read_text()), "another one waits for it, and says so", daemon.log.read_text())
    t.equal(before, runs.versions(), "and touches nothing")
    held = daemon.log.read_text().count("holding the lease")
    free_lease(k)
    t.ok(wait_for(lambda: daemon.log.read_text().count("holding the lease") > held), "it takes a Lease that is free")
    runs.wait_trials("stolen", 2)
    runs.wait_gang("stolen", 3)
    daemon.process.send_signal(signal.SIGSTOP)
    stopped = time.monotonic()
    steal_lease(k)
    wait_for(lambda: time.monotonic() - stopped > 11, 20)
    before = runs.versions_at_rest()
    daemon.process.send_signal(signal.SIGCONT)
    t.equal(14, daemon.process.wait(timeout=60), "stolen while it was stopped: exit 14")
    t.equal(before, runs.versions(), "and nothing was touched after it woke up")
    free_lease(k)
    daemon.start()
    runs.wait_end("stolen")
    runs.check_whole("stolen", 6)


def check_rights_taken(t, k, runs):
    daemon = runs.daemon
    runs.create("banned")
    runs.wait_trials("banned", 1)
    k("delete", "rolebinding", "benchd")
    t.equal(14, daemon.process.wait(timeout=90), "all rights taken away: exit 14")
    t.match("(?m)^benchd: lease 'benchd' in namespace 'benchd' was lost: .*HTTP 403 Forbidden: .*ask an administrator",
            daemon.log.read_text(), "the message says which right")
    k("apply", "-n", "benchd", "-f", RBAC)
    daemon.start()
    runs.wait_end("banned")
    runs.check_whole("banned")


def check_in_the_way(t, k, runs):
    """Objects of others that bear a run's names: they hold its uid, so they come between its creation and its turn."""
    for name, kind, suffix in (("foreign-service", "Service", ""), ("foreign-key", "Secret", "-key")):
        runs.create(name, suspend=True, definition={"failurePolicy": {"onTrialFailure": "Stop"}, "repeats": {"min": 1}})
        foreign = f"{name}-{runs.get(name)['metadata']['uid'].partition('-')[0]}{suffix}"
        body = {"apiVersion": "v1", "kind": kind, "metadata": {"name": foreign}}
        if kind == "Service":
            body["spec"] = {"ports": [{"port": 80}]}
        k("create", "-f", "-", stdin=json.dumps(body))
        k("patch", "bmr", name, "--type=merge", "-p", '{"spec":{"suspend":false}}')
        if kind == "Service":
            failed = runs.wait_end(name, "Failed")["Failed"]
            t.match(f"a Service '{foreign}' exists already and does not belong to this run; delete it", failed["message"],
                    "a foreign Service: message")
        else:
            runs.wait_end(name)   # a key that all members have is a key; benchd may not read it
        owners = json.loads(k("get", kind, foreign, "-o", "json").stdout)["metadata"].get("ownerReferences")
        t.equal(None, owners, f"a foreign {kind} is left alone")


def check_kinds_deleted(t, k, runs):
    """The kinds go, and with them all runs and their pods; benchd stays, says so, and drives what comes later."""
    runs.create("unkind")
    runs.wait_trials("unkind", 1)
    told = len(runs.daemon.log.read_text())
    k("delete", "-f", CRD, "--timeout=200s")
    t.ok(wait_for(lambda: "benchd's kinds are not installed" in runs.daemon.log.read_text()[told:]), "kinds deleted: it says so",
         runs.daemon.log.read_text()[told:])
    t.ok(wait_for(lambda: k("get", "pods", "-o", "name").stdout == ""), "kinds deleted: no pod is left")
    k("apply", "-f", CRD)
    runs.cluster.wait_for_kinds()
    runs.create("kind", definition={"repeats": {"min": 1}})
    runs.wait_end("kind")
    t.equal(None, runs.daemon.process.poll(), "by the same process")


def check_namespace_deleted(t, k, runs):
    runs.create("doomed")
    runs.wait_trials("doomed", 1)
    t.equal(0, k("delete", "namespace", "benchd", "--timeout=200s", check=False).returncode, "the namespace goes in the middle")
    t.equal(14, runs.daemon.process.wait(timeout=90), "its benchd ends with 14")
    t.match("(?m)^benchd: lease 'benchd' in namespace 'benchd' was lost: .*(being terminated|not found|HTTP 40)",
            runs.daemon.log.read_text(), "and says why")


def main():
    t = tap.Tap()
    with Cluster(parts=CONTROLLERS, kwok=kwok.without_ends) as cluster, kwok.GangEnds(cluster):
        k = cluster.kubectl
        kwok.make_nodes(cluster, 4)
        k("apply", "-n", "benchd", "-f", RBAC)
        token = k("create", "token", "benchd").stdout.strip()
        own = cluster.make_kubeconfig("benchd", set_token(token))
        starts = WrongStarts(t, cluster)
        daemon = Benchd(cluster, "--kubeconfig", own)
        runs = Runs(t, cluster, daemon)
        try:
            check_usage(t, cluster)
            check_kinds_missing(t, cluster, daemon)
            starts.check_warned()
            check_lease_deleted(t, k, runs)
            check_lease_stolen(t, k, runs)
            check_rights_taken(t, k, runs)
            check_in_the_way(t, k, runs)
            check_kinds_deleted(t, k, runs)
            starts.check_ended(starts.soon, SOON_S)
            starts.check_ended(starts.late, LATE_S)
            check_servers_restart(t, cluster, runs)
            check_namespace_deleted(t, k, runs)
        finally:
            starts.kill()
            daemon.kill()
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
