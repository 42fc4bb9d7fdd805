#!/usr/bin/env python3
"""benchctl against a real API server, for what needs no benchd: what it creates is what the kinds take, and each thing
that is missing has its exit code. """
import datetime
import json
import sys

import tap
from benchctl import NS, Benchctl
from cluster import CRD, Cluster


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
        check_created(t, cluster, ctl)
        check_namespaces(t, cluster, ctl)
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
