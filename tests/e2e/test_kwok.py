#!/usr/bin/env python3
"""The simulated nodes carry a point of the shipped sweep at full size, and end pods in the ways that tests need."""
import collections
import copy
import json
import sys
import time

import kwok
import tap
from cluster import CONTROLLERS, CRD, Cluster, wait_until
from rest import NS, Api

PSERVERS, TRAINERS = 60, 100
NODES = 80
POINT_S = 400
BENCHMARK = tap.ROOT / "benchmarks" / "vgg16-pserver-sweep.yaml"


def make_pod(name, template, annotations=None, labels=None):
    return {"apiVersion": "v1", "kind": "Pod", "spec": {**template["spec"], "restartPolicy": "Never"},
            "metadata": {"name": name, "annotations": annotations or {}, "labels": labels or {}}}


def create(k, pods):
    done = k("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": pods}))
    return len(done.stdout.splitlines())


def get(k, selector):
    return json.loads(k("get", "pods", f"--selector={selector}", "-o", "json").stdout)["items"]


def terminated(pod):
    return pod["status"]["containerStatuses"][0]["state"].get("terminated", {})


def check_point(t, k, api, template):
    """160 pods of 10 CPUs and 5Gi: all run at once, and each leaves the recorded summary as its own."""
    replicas = [("pserver", i) for i in range(PSERVERS)] + [("trainer", i) for i in range(TRAINERS)]
    pods = [make_pod(f"full-{role}-{i}", template, labels={
        "benchd.io/run": "full", "benchd.io/role": role, "benchd.io/replica-index": str(i), "benchd.io/attempt": "2"})
        for role, i in replicas]
    started = time.monotonic()
    t.equal(PSERVERS + TRAINERS, create(k, pods), "160 pods are taken")

    def phases():
        return collections.Counter(pod["status"]["phase"] for pod in api.get(f"{NS}/pods?labelSelector=benchd.io/run%3Dfull")["items"])
    wait_until(lambda: phases() == {"Succeeded": PSERVERS + TRAINERS}, POINT_S, "160 pods succeed")
    print(f"# {time.monotonic() - started:.1f} s from the first create to the last end")

    pods = get(k, "benchd.io/run=full")
    names = {pod["metadata"]["name"] for pod in pods}
    t.equal({f"full-{role}-{i}" for role, i in replicas}, names, "all of them succeed")
    wrong = []
    for pod in pods:
        labels = pod["metadata"]["labels"]
        expected = json.loads(kwok.summary(labels["benchd.io/role"]))
        expected.update(index=int(labels["benchd.io/replica-index"]), attempt=2)
        if json.loads(terminated(pod)["message"]) != expected:
            wrong.append(terminated(pod)["message"])
    t.equal([], wrong, "each with the recorded summary, and its own index and attempt")
    t.equal([], [pod for pod in pods if "containerID" in pod["status"]["containerStatuses"][0]],
            "no container has a containerID")
    shapes = {json.dumps(pod["spec"]["containers"][0]["resources"]["limits"], sort_keys=True) for pod in pods}
    t.equal({'{"cpu": "10", "memory": "5Gi"}'}, shapes, "each has 10 CPUs and 5Gi")
    t.equal({"Guaranteed"}, {pod["status"]["qosClass"] for pod in pods}, "and they are its own")
    log = (kwok.RECORDED / "trainer.log").read_text()
    t.equal(log, k("logs", "full-trainer-99").stdout, "each shows the recorded log")


def check_steered(t, k, template):
    """The lives that annotations give a pod."""
    cases = {
        "oom": {"sim/run": "10ms", "sim/exit": "137", "sim/reason": "OOMKilled"},
        "error": {"sim/run": "10ms", "sim/exit": "11", "sim/message": "peer lost"},
        "no-summary": {"sim/run": "10ms"},
        "no-image": {"sim/wait": "ImagePullBackOff"},
    }
    labels = {"benchd.io/run": "steered", "benchd.io/role": "trainer"}
    create(k, [make_pod(name, template, annotations, labels) for name, annotations in cases.items()])

    def status(name):
        return json.loads(k("get", "pod", name, "-o", "json").stdout)["status"]
    for name, phase, code, reason, message in (("oom", "Failed", 137, "OOMKilled", ""),
                                               ("error", "Failed", 11, "Error", "peer lost"),
                                               ("no-summary", "Succeeded", 0, "Completed", "")):
        k("wait", f"--for=jsonpath={{.status.phase}}={phase}", f"pod/{name}", "--timeout=180s")
        end = status(name)["containerStatuses"][0]["state"]["terminated"]
        t.equal((code, reason, message), (end["exitCode"], end["reason"], end.get("message", "")), f"{name}: its end")
    reason = "{.status.containerStatuses[0].state.waiting.reason}"
    k("wait", f"--for=jsonpath={reason}=ImagePullBackOff", "pod/no-image", "--timeout=180s")
    t.equal("Pending", status("no-image")["phase"], "no-image: waits for ever")

    huge = copy.deepcopy(template)
    for kind in ("requests", "limits"):
        huge["spec"]["containers"][0]["resources"][kind]["cpu"] = "64"
    create(k, [make_pod("too-big", huge, labels=labels)])
    k("wait", "--for=condition=PodScheduled=False", "pod/too-big", "--timeout=180s")
    t.match("Insufficient cpu", status("too-big")["conditions"][0]["message"], "too-big: fits on no node")
    k("delete", "pods", "--all", "--timeout=180s")
    t.equal("", k("get", "pods", "-o", "name").stdout, "all pods go when they are deleted")


def main():
    t = tap.Tap()
    with Cluster(parts=CONTROLLERS, kwok=kwok.configuration) as cluster:
        k = cluster.kubectl
        k("apply", "-f", CRD)
        cluster.wait_for_kinds()
        k("apply", "-f", "-", stdin=tap.whole(BENCHMARK))
        spec = json.loads(k("get", "bm", "vgg16-pserver-sweep", "-o", "json").stdout)["spec"]
        template = spec["roles"]["trainer"]["template"]
        kwok.make_nodes(cluster, NODES)
        check_point(t, k, Api(cluster), template)
        check_steered(t, k, template)
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
