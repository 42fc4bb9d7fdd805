#!/usr/bin/env python3
"""The shipped vgg16-pserver-sweep at its full size through benchd, on simulated nodes: 100 trainers, up to 60 pservers of
10 CPUs and 5Gi, all four points and the baseline. One repeat: what is checked is the same for each."""
import collections
import json
import re
import sys

import kwok
import tap
from benchd import Benchd, wait_for
from cluster import CONTROLLERS, Cluster

CRD = tap.ROOT / "manifests" / "benchmark-crd.yaml"
NAME = "vgg16-pserver-sweep"
NODES = 80
RUN_S = 420


def watch(k, name):
    """Waits for the end; every pod of the run that was seen on the way, by point."""
    pods = collections.defaultdict(dict)

    def look():
        for pod in json.loads(k("get", "pods", "-o", "json").stdout)["items"]:
            pods[pod["metadata"]["labels"]["benchd.io/point"]][pod["metadata"]["name"]] = pod
        phase = k("get", "bmr", name, "-o", "jsonpath={.status.phase}").stdout
        return phase if phase in ("Succeeded", "PartiallyFailed", "Failed", "Cancelled") else None
    return wait_for(look, RUN_S), pods


def check(t, cluster, daemon):
    k = cluster.kubectl
    k("apply", "-f", tap.ROOT / "benchmarks" / f"{NAME}.yaml")
    body = {"apiVersion": "benchd.io/v1alpha1", "kind": "BenchmarkRun", "metadata": {"name": "full"},
            "spec": {"benchmarkRef": {"name": NAME}, "overrides": {"repeats": {"min": 1}}}}
    k("create", "--validate=strict", "-f", "-", stdin=json.dumps(body))
    phase, pods = watch(k, "full")
    t.equal("Succeeded", phase, "all points succeed")
    counts = {}
    for point, named in pods.items():
        roles = collections.Counter(re.search(r"-(pserver|trainer)-\d+$", name)[1] for name in named)
        counts[point] = (roles["pserver"], roles["trainer"])
    t.equal({"0": (10, 100), "1": (20, 100), "2": (40, 100), "3": (60, 100), "4": (0, 1)}, counts, "pods of each point")
    pod = next(iter(pods["3"].values()))
    size = {"cpu": "10", "memory": "5Gi"}
    t.equal({"requests": size, "limits": size}, pod["spec"]["containers"][0]["resources"], "10 CPU / 5Gi each")
    t.equal({"0"}, {p["metadata"]["labels"]["benchd.io/attempt"] for named in pods.values() for p in named.values()},
            "no attempt was lost")
    run = json.loads(k("get", "bmr", "full", "-o", "json").stdout)
    t.equal("5/5", run["status"]["completions"], "completions")
    conditions = {c["type"]: c["status"] for c in run["status"]["conditions"]}
    t.equal({"Accepted": "True", "Suspended": "False", "Running": "False", "Complete": "True", "Failed": "False",
             "MetricsUnavailable": "False"}, {n: s for n, s in conditions.items() if n != "ThresholdFailed"}, "conditions")
    rest = {**run["status"], "definition": None}
    t.ok(len(json.dumps(rest)) < 64 * 1024, "the status fits", len(json.dumps(rest)))
    result = daemon.results("full")
    t.equal((True, 4), (result["simulated"], len(result["points"])), "simulated, and says so")
    t.ok(all(p["throughput"]["value"] > 0 for p in result["points"]), "each point has a throughput")
    t.equal("", k("get", "pods", "-o", "name").stdout, "no pod is left")


def main():
    t = tap.Tap()
    with Cluster(parts=CONTROLLERS, kwok=kwok.configuration) as cluster:
        cluster.kubectl("apply", "-f", CRD)
        cluster.kubectl("wait", "--for=condition=Established", "--timeout=60s", "-f", CRD)
        kwok.make_nodes(cluster, NODES)
        with Benchd(cluster) as daemon:
            check(t, cluster, daemon)
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
