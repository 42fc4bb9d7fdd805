#!/usr/bin/env python3
"""benchd as a pod of the real node, installed and removed as the README says.

BENCHD_BUILD_DIR names the build tree whose programs go into the images.
"""
import json
import os
import pathlib
import sys

import mkimage
import tap
from machine import why_not
from node import Node

MANIFESTS = tap.ROOT / "manifests"
PROXY = "/api/v1/namespaces/benchd/services/benchd:http/proxy"


def why_not_here():
    program = mkimage.PROGRAMS["benchd"][0]
    if not (pathlib.Path(os.environ["BENCHD_BUILD_DIR"]) / program).exists():
        return f"there is no {program} in the build tree"
    return why_not()


def check_pod(t, k):
    pods = json.loads(k("get", "pods", "--selector=app.kubernetes.io/component=controller", "-o", "json").stdout)["items"]
    t.equal([("Running", 0)], [(pod["status"]["phase"], pod["status"]["containerStatuses"][0]["restartCount"])
                               for pod in pods], "one pod, never restarted")
    t.equal("Bound", k("get", "pvc", "benchd", "-o", "jsonpath={.status.phase}").stdout, "its volume is bound")
    for path in ("/healthz", "/readyz"):
        done = k("get", "--raw", PROXY + path, check=False)
        t.equal((0, ""), (done.returncode, done.stderr), f"{path} through the API server's proxy")


def check_store_survives(t, k, folder):
    t.ok((folder / "results.db").exists(), "the store lies on the volume", list(folder.iterdir()))
    k("delete", "pod", "--selector=app.kubernetes.io/component=controller")
    done = k("rollout", "status", "deployment/benchd", "--timeout=200s", check=False)
    t.equal(0, done.returncode, "a deleted pod is replaced")
    t.ok((folder / "results.db").exists(), "and the store is still there", list(folder.iterdir()))


def check_removal(t, k):
    for what in (("-k", MANIFESTS), ("-f", MANIFESTS / "benchmark-crd.yaml")):
        done = k("delete", *what, "--timeout=200s", check=False)
        t.equal((0, ""), (done.returncode, done.stderr), f"kubectl delete {what[0]}")
    left = k("get", "namespaces,customresourcedefinitions", "-o", "name").stdout.split()
    t.equal([], [name for name in left if "benchd" in name], "no namespace and no kind is left")
    t.equal("", k("get", "pods", "--all-namespaces", "-o", "name").stdout, "no pod is left")


def main():
    tap.skip_if(why_not_here())
    t = tap.Tap()
    with Node(namespace=None) as node:
        k = node.cluster.kubectl
        node.install()
        check_pod(t, k)
        check_store_survives(t, k, node.dir / "volumes" / "benchd")
        check_removal(t, k)
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
