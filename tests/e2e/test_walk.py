#!/usr/bin/env python3
"""The walk of a user, on the real node: install benchd, benchctl run vgg16-pserver-sweep, real pods train, the tables
appear, logs and results outlive the pods, delete leaves nothing. The shipped sweep of a ring does the same. Node, Services and
pods have IPv6 addresses alone; other tests have IPv4.

BENCHD_BUILD_DIR names the build tree whose programs go into the images, BENCHCTL the program."""
import json
import sys

import tap
from cluster import becomes
from machine import has_ipv6, why_not
from node import Node
from user import GONE_S, NS, SWEEP, User, definition

TRIALS = 6   # two points and their baseline, twice


def objects(user):
    """All that there is in the namespace but Events, which go by themselves, and what controllers name anew."""
    kinds = user.k("api-resources", "--verbs=list", "--namespaced", "-o", "name").stdout.split()
    kinds = [kind for kind in kinds if not kind.startswith("events")]
    return set(user.k("get", ",".join(kinds), "-n", NS, "-o", "name", "--ignore-not-found").stdout.split())


def check_run(t, user):
    done = user.ctl("run", *SWEEP, "-o", "json")
    result = json.loads(done.stdout)
    t.equal("Succeeded", result["phase"], "the run succeeds")
    t.equal((2, 1), (len(result["points"]), len(result["baselines"])), "its points and its baseline")
    for point in result["points"] + result["baselines"]:
        t.ok(point["throughput"]["value"] > 0, f"point {point['point']} has a throughput", point["throughput"])
        t.equal(2, len(point["trials"]), f"point {point['point']} has two trials")
    t.equal(False, result["simulated"], "real containers are not simulated")
    t.equal(TRIALS, done.stderr.count("outcome=Succeeded"), "each trial is told of when it ends")
    return result


def check_what_stays(t, user, result):
    name = result["run"]
    user.gone("no pod of the run is running", "pods", "--field-selector=status.phase=Running",
              f"--selector=benchd.io/run={name}")
    again = json.loads(user.ctl("results", name, "-o", "json").stdout)
    t.equal(result["points"], again["points"], "the same results without the pods")
    log = user.ctl("logs", name, "--point", "1", "--role", "trainer", "--index", "1").stdout
    t.match('"type":"summary"', log, "the log of a trainer whose pod is gone")
    t.match("SAMPLES/S|BATCHES/S", user.ctl("results", name).stdout, "the tables")
    t.match(f"{name}.*Succeeded", user.ctl("get", "runs").stdout, "get runs")


def check_delete(t, user, name, before):
    user.delete(name)
    left = set()

    def as_before():
        left.clear()
        left.update(objects(user) ^ before)
        return not left

    t.ok(becomes(as_before, GONE_S), "the namespace holds what it held before, the Lease too", left)
    user.ctl("results", name, code=3)


def check_ip(t, user):
    """By addresses instead of names; on this node Auto takes names."""
    result, _ = user.run(definition("by-ip", trainers=(2,), addressing="IP"))
    t.equal("Succeeded", result["phase"], "a run in IP mode")
    t.equal("", user.k("get", "services", "-n", NS, f"--selector=benchd.io/run={result['run']}", "-o", "name").stdout,
            "needs no Service")
    user.delete(result["run"])


# The shipped sweep of a ring, fitted to a node of two CPUs.
RING = ["vgg16-allreduce-sweep", "--set", "workers=1,2", "--set", "batch_size=4", "--set", "cpu=400m", "--set", "memory=1Gi", "--steps", "4", "--repeats", "1"]


def check_ring(t, user):
    """Workers in pods with networks of their own meet by name and take TCP; the run ends in tables."""
    result = json.loads(user.ctl("run", *RING, "-o", "json").stdout)
    t.equal("Succeeded", result["phase"], "the ring succeeds")
    t.equal([1, 2], [point["parameters"]["workers"] for point in result["points"]], "its points")
    for point in result["points"]:
        figure = point["throughput"]
        t.ok(figure["value"] > 0 and figure["unit"] == "samples/s", f"the ring: point {point['point']} has a figure", figure)
    t.match("EFFICIENCY", user.ctl("results", result["run"]).stdout, "the ring: the tables")
    log = user.ctl("logs", result["run"], "--point", "1", "--role", "worker").stdout
    t.match('"transport":"TCP"', log, "the ring: what a worker says")
    user.delete(result["run"])


def main():
    tap.skip_if(why_not())
    t = tap.Tap()
    with Node(namespace=None, only_ipv6=has_ipv6()) as node:
        node.install()
        user = User(t, node)
        addresses = user.k("get", "pods", "-n", NS, "-o", "jsonpath={.items[*].status.podIPs[*].ip}").stdout.split()
        t.equal([has_ipv6()], [":" in address for address in addresses], "benchd's pod has one address, of IPv6 where the kernel has that")
        before = objects(user)
        result = check_run(t, user)
        check_what_stays(t, user, result)
        check_delete(t, user, result["run"], before)
        check_ip(t, user)
        check_ring(t, user)
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
