#!/usr/bin/env python3
"""benchctl against a real API server, for what needs no benchd: what it creates is what the kinds take, and each thing
that is missing has its exit code. """
import datetime
import json
import sys

import tap
from benchctl import NS, Benchctl
from cluster import CRD, Cluster
from kubeconfigs import foreign_authority, set_authority


def renew_lease(k, ns=NS):
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
             "metadata": {"name": "benchd", "namespace": ns, "annotations": {"benchd.io/address": "service"}},
             "spec": {"holderIdentity": "test", "leaseDurationSeconds": 3600, "renewTime": now}}
    k("apply", "-f", "-", stdin=json.dumps(lease))


def check_missing(t, cluster, ctl):
    k = cluster.kubectl
    ctl.expect("kinds missing", 3, "benchmark-crd.yaml", "get", "runs")
    ctl.expect("kinds missing, run", 3, "benchmark-crd.yaml", "run", "vgg16-pserver-sweep")
    k("apply", "-f", str(CRD))
    cluster.wait_for_kinds()
    ctl.expect("nothing there", 0, "No resources found in", "get", "runs")
    ctl.expect("no such run", 3, "there is no run 'x'", "describe", "x")
    ctl.expect("no benchd", 5, "benchd is not running in namespace 'benchd'", "run", "vgg16-pserver-sweep")
    t.equal("", k("get", "bm,bmr", "-A", "-o", "name").stdout, "nothing was made")


def check_rights(ctl, cluster):
    k = cluster.kubectl
    k("create", "serviceaccount", "stranger", "-n", NS)
    token = k("create", "token", "stranger", "-n", NS).stdout.strip()
    config = json.loads(k("config", "view", "--raw", "--flatten", "-o", "json").stdout)
    config["users"] = [{"name": user["name"], "user": {"token": token}} for user in config["users"]]
    path = cluster.dir / "stranger"
    path.write_text(json.dumps(config), encoding="utf-8")
    ctl.expect("a stranger", 4, "ask an administrator", "get", "runs", "--kubeconfig", str(path))
    for user in config["users"]:
        user["user"]["token"] = "wrong"
    path.write_text(json.dumps(config), encoding="utf-8")
    ctl.expect("a wrong token", 4, "log in again", "get", "runs", "--kubeconfig", str(path))
    foreign = cluster.make_kubeconfig("authority", set_authority(foreign_authority(cluster.dir)))
    ctl.expect("a wrong authority", 5, "TLS: .*certificate.*; check certificate-authority", "get", "runs", "--kubeconfig",
               str(foreign))
    nowhere = cluster.make_kubeconfig("nowhere", lambda _c, _u, whole: whole.update({"current-context": "nowhere"}))
    ctl.expect("a wrong context", 2, "no 'nowhere' in contexts", "get", "runs", "--kubeconfig", str(nowhere))
    ctl.expect("no such file", 2, "kubeconfig: open /no/such/file", "get", "runs", "--kubeconfig", "/no/such/file")
    config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    path.write_text(json.dumps(config), encoding="utf-8")
    ctl.expect("nobody listens", 5, "cannot reach the API server", "get", "runs", "--kubeconfig", str(path))


def check_created(t, cluster, ctl):
    renew_lease(cluster.kubectl)
    plain = ctl.run_and_detach("vgg16-pserver-sweep")
    t.equal({"benchmarkRef": {"name": "vgg16-pserver-sweep"}}, plain["spec"], "a reference alone")
    swept = ctl.run_and_detach("vgg16-pserver-sweep", "--set", "pservers=1,2", "--set", "trainers=1,2", "--set",
                               "batch_size=16", "--set", "cpu=400m", "--set", "memory=1Gi", "--steps", "8",
                               "--repeats", "2")
    t.equal({"sweep": {"grid": {"pservers": [1, 2], "trainers": [1, 2], "batch_size": [16], "cpu": ["400m"],
                                "memory": ["1Gi"]}}, "measure": {"steps": 8}, "repeats": {"min": 2}},
            swept["spec"]["overrides"], "overrides as the kind takes them")
    for path in tap.SHIPPED:
        done = ctl.run_and_detach("-f", str(path), "--steps", "8")
        t.equal(8, done["spec"]["definition"]["measure"]["steps"], f"{path.stem} inline")
        t.ok("templateFrom" not in json.dumps(done), f"{path.stem}: with its templates")
    name = swept["metadata"]["name"]
    t.equal(f"run/{name} cancelled\n", ctl("cancel", name).stdout, "cancel")
    spec = json.loads(cluster.kubectl("get", "bmr", name, "-n", NS, "-o", "json").stdout)["spec"]
    t.equal(True, spec["cancel"], "cancel is set")
    t.equal(f"run/{name} deleted\n", ctl("delete", name[-5:]).stdout, "delete")
    ctl.expect("deleted", 3, "there is no run", "delete", name)


def check_namespaces(t, cluster, ctl):
    k = cluster.kubectl
    ctl.expect("no such namespace", 5, "benchd is not running in namespace 'nowhere': there is no lease 'benchd'", "run",
               "vgg16-pserver-sweep", "-n", "nowhere")
    k("create", "namespace", "going")
    renew_lease(k, "going")
    k("delete", "namespace", "going", "--wait=false")   # nobody here ends what has begun to go
    ctl.expect("a namespace that goes", 3, "HTTP 403 Forbidden: .*because it is being terminated", "run",
               "vgg16-pserver-sweep", "-n", "going")


def main():
    t = tap.Tap()
    with Cluster() as cluster:
        ctl = Benchctl(t, cluster)
        check_missing(t, cluster, ctl)
        check_rights(ctl, cluster)
        check_created(t, cluster, ctl)
        check_namespaces(t, cluster, ctl)
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
