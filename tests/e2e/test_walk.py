#!/usr/bin/env python3
"""The walk of a user, on the real node: install benchd, benchctl run vgg16-pserver-sweep, real pods train, the tables appear,
logs and results outlive the pods, delete leaves nothing.

BENCHD_BUILD_DIR names the build tree whose programs go into the images, BENCHCTL the program."""
import json
import os
import sys

import tap
from cluster import becomes
from node import Node, why_not

NS = "benchd"
GONE_S = 60  # a kubelet's grace, and its next look at the pod
SMALL = ["--set", "pservers=1", "--set", "trainers=1,2", "--set", "batch_size=16", "--set", "cpu=400m",
         "--set", "memory=1Gi", "--steps", "4", "--repeats", "1"]


class Walk:
    def __init__(self, t, node):
        self.t, self.k, self.cluster = t, node.cluster.kubectl, node.cluster
        self.env = {"BENCHCTL_PATH": str(tap.ROOT / "benchmarks"), "LC_ALL": "C.UTF-8"}

    def ctl(self, *args, code=0, timeout=500):
        done = self.cluster.run(os.environ["BENCHCTL"], *args, timeout=timeout, env=self.env)
        self.t.equal((code, ""), (done.returncode, done.stderr if done.returncode != code else ""),
                     f"benchctl {args[0]}: exit code")
        return done

    def run(self):
        done = self.ctl("run", "vgg16-pserver-sweep", *SMALL, "-o", "json")
        result = json.loads(done.stdout)
        self.t.equal("Succeeded", result["phase"], "the run succeeds")
        self.t.equal((2, 1), (len(result["points"]), len(result["baselines"])), "its points and its baseline")
        for point in result["points"] + result["baselines"]:
            self.t.ok(point["throughput"]["value"] > 0, f"point {point['point']} has a throughput", point["throughput"])
        self.t.equal(False, result["simulated"], "real containers are not simulated")
        self.t.match("created", done.stderr, "the shipped definition is created, and that is said")
        return result

    def check_gone(self, what, *words):
        left = []

        def is_gone():
            left[:] = self.k("get", *words, "-n", NS, "-o", "name").stdout.split()
            return not left

        self.t.ok(becomes(is_gone, GONE_S), what, left)

    def check_what_stays(self, result):
        name = result["run"]
        self.check_gone("no pod of the run is running", "pods", "--field-selector=status.phase=Running",
                        f"--selector=benchd.io/run={name}")
        again = json.loads(self.ctl("results", name, "-o", "json").stdout)
        self.t.equal(result["points"], again["points"], "the same results without the pods")
        log = self.ctl("logs", name, "--point", "1", "--role", "trainer", "--index", "1").stdout
        self.t.match('"type":"summary"', log, "the log of a trainer whose pod is gone")
        self.t.match("THROUGHPUT", self.ctl("results", name).stdout, "the tables")
        self.t.match(f"{name}.*Succeeded", self.ctl("get", "runs").stdout, "get runs")

    def check_delete(self, name):
        self.ctl("delete", name)
        for kinds in ("pods", "services", "secrets"):
            self.check_gone(f"delete leaves none of {kinds}", kinds, f"--selector=benchd.io/run={name}")
        self.check_gone("nor a run", "bmr")
        self.ctl("results", name, code=3)


def main():
    reason = why_not()
    if reason:
        print(f"1..0 # SKIP {reason}")
        return 0
    t = tap.Tap()
    with Node(namespace=None) as node:
        node.install()
        walk = Walk(t, node)
        result = walk.run()
        walk.check_what_stays(result)
        walk.check_delete(result["run"])
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
