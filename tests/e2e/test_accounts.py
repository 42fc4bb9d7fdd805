#!/usr/bin/env python3
"""What an account can do that may only create BenchmarkRuns, against benchd, a real API server and the controllers, of which the
garbage collector deletes objects for it. RUNS: how many large runs it makes."""
import json
import os
import sys

import tap
from benchctl import Benchctl
from benchd import Benchd, definition
from cluster import CONTROLLERS, Cluster, becomes, wait_until
from kubeconfigs import set_token
from rest import MERGE, RUNS, Api

LIMIT_MIB = 80   # with the definition of each run in memory it was 2 MiB for each
N_LARGE = int(os.environ.get("RUNS", "50"))
FIND = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "resourceNames": ["benchd"], "verbs": ["get"]}
CREATE = [FIND, {"apiGroups": ["benchd.io"], "resources": ["benchmarkruns"], "verbs": ["get", "create"]}]
ERASE = [FIND, {"apiGroups": ["benchd.io"], "resources": ["benchmarkruns"], "verbs": ["get", "create", "patch", "delete"]},
         {"apiGroups": ["benchd.io"], "resources": ["benchmarkruns/status"], "verbs": ["patch"]}]


def make_account(cluster, name, rules):
    """A ServiceAccount with these rules; its kubeconfig."""
    k = cluster.kubectl
    k("create", "serviceaccount", name)
    meta = {"name": name, "namespace": "benchd"}
    group = "rbac.authorization.k8s.io"
    role = {"apiVersion": f"{group}/v1", "kind": "Role", "metadata": meta, "rules": rules}
    binding = {"apiVersion": f"{group}/v1", "kind": "RoleBinding", "metadata": meta,
               "roleRef": {"apiGroup": group, "kind": "Role", "name": name},
               "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "benchd"}]}
    k("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": [role, binding]}))
    return cluster.make_kubeconfig(name, set_token(k("create", "token", name).stdout.strip()))


def make_run(name, more=None, spec=None, **metadata):
    return {"apiVersion": "benchd.io/v1alpha1", "kind": "BenchmarkRun", "metadata": {"name": name, **metadata},
            "spec": spec or {"definition": definition(**(more or {}))}}


def phase_of(api, name):
    return ((api.get(f"{RUNS}/{name}") or {}).get("status") or {}).get("phase")


def leave_results(api, name):
    """Results of a run whose object is gone; its uid."""
    _, run = api("POST", RUNS, make_run(name, {"runPolicy": {"ttlSecondsAfterFinished": 0}}))
    wait_until(lambda: phase_of(api, name) in ("Queued", "Running"), 120, f"{name} is accepted")
    api("PATCH", f"{RUNS}/{name}", {"spec": {"cancel": True}}, MERGE)
    wait_until(lambda: api.get(f"{RUNS}/{name}") is None, 120, f"the time to live of {name} is over")
    return run["metadata"]["uid"]


def check_erase(t, cluster, api, daemon, ctl):
    mallory, eraser = make_account(cluster, "mallory", CREATE), make_account(cluster, "eraser", ERASE)
    uid = leave_results(api, "victim")
    request = {"benchmarkRef": {"name": "none"}, "cancel": True}
    owner = [{"apiVersion": "v1", "kind": "ConfigMap", "name": "none", "uid": "00000000-0000-4000-8000-000000000000"}]
    body = {**make_run("by-mallory", spec=request, annotations={"benchd.io/erase-run": uid}, ownerReferences=owner),
            "status": {"eraseRun": uid}}
    done = cluster.kubectl("create", "--kubeconfig", mallory, "-n", "benchd", "-f", "-", stdin=json.dumps(body), check=False)
    t.equal((0, ""), (done.returncode, done.stderr), "an account that may create runs asks to erase the results of another one")
    wait_until(lambda: api.get(f"{RUNS}/by-mallory") is None, 120, "the garbage collector deletes what asks")
    api("POST", RUNS, make_run("after"))   # benchd sees it after that
    wait_until(lambda: phase_of(api, "after") is not None, 120, "benchd has seen the deletion")
    t.equal(0, daemon.ctl("get", "runs", "victim").returncode, "the results stay")
    ctl.expect("delete without the right", 4, "patch benchmarkruns/status", "delete", "victim", "--kubeconfig", str(mallory))
    t.equal(0, daemon.ctl("get", "runs", "victim").returncode, "the results stay")
    done = ctl("delete", "victim", "--kubeconfig", str(eraser))
    t.equal((0, "run/victim deleted\n"), (done.returncode, done.stdout), "delete with the right")
    t.equal(3, daemon.ctl("get", "runs", "victim").returncode, "the results are erased")


def peak_mib(daemon):
    status = open(f"/proc/{daemon.process.pid}/status", encoding="utf-8").read().splitlines()
    return max(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024


def check_memory(t, api, daemon):
    text = {"env": [{"name": f"V{i}", "value": "x" * 32000} for i in range(30)]}
    large = json.loads(json.dumps(definition()))   # each role has a template of its own
    large["roles"]["trainer"]["template"]["spec"]["containers"][0].update(text)
    for i in range(N_LARGE):
        status, answer = api("POST", RUNS, make_run(f"large-{i}", spec={"definition": large}))
        if status != 201:
            raise RuntimeError(answer)
    for what in ("while they are accepted", "after a restart"):
        if what != "while they are accepted":
            daemon.kill()
            daemon.start()
        other = f"other-{what.split()[0]}"
        api("POST", RUNS, make_run(other))
        seen = becomes(lambda name=other: phase_of(api, name) == "Queued" and
                       all(phase_of(api, f"large-{i}") == "Queued" for i in range(0, N_LARGE, 10)), 600)
        t.ok(seen, f"{N_LARGE} runs of 939 KiB, and one of another account, are accepted {what}")
        peak = peak_mib(daemon)
        print(f"# benchd's peak {what}: {peak:.0f} MiB")
        t.ok(peak < LIMIT_MIB, f"benchd needs less than {LIMIT_MIB} MiB {what}", f"{peak:.0f} MiB")


def main():
    t = tap.Tap()
    with Cluster(parts=CONTROLLERS) as cluster:
        cluster.apply_kinds()
        api = Api(cluster)
        with Benchd(cluster) as daemon:
            check_erase(t, cluster, api, daemon, Benchctl(t, cluster))
            check_memory(t, api, daemon)
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
