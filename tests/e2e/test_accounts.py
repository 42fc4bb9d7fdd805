#!/usr/bin/env python3
"""What an account can do to benchd that may only create BenchmarkRuns: many large ones. RUNS: how many."""
import json
import os
import sys

import tap
from benchd import Benchd, definition
from cluster import API, Cluster, becomes
from rest import RUNS, Api

LIMIT_MIB = 60   # with the definition of each run in memory it was 2 MiB for each
N_LARGE = int(os.environ.get("RUNS", "25"))


def make_run(name, body):
    return {"apiVersion": "benchd.io/v1alpha1", "kind": "BenchmarkRun", "metadata": {"name": name}, "spec": {"definition": body}}


def phase_of(api, name):
    return ((api.get(f"{RUNS}/{name}") or {}).get("status") or {}).get("phase")


def peak_mib(daemon):
    status = open(f"/proc/{daemon.process.pid}/status", encoding="utf-8").read().splitlines()
    return max(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024


def check_memory(t, api, daemon):
    text = {"env": [{"name": f"V{i}", "value": "x" * 32000} for i in range(30)]}
    large = json.loads(json.dumps(definition()))   # each role has a template of its own
    large["roles"]["trainer"]["template"]["spec"]["containers"][0].update(text)
    for i in range(N_LARGE):
        status, answer = api("POST", RUNS, make_run(f"large-{i}", large))
        if status != 201:
            raise RuntimeError(answer)
    for what in ("while they are accepted", "after a restart"):
        if what != "while they are accepted":
            daemon.kill()
            daemon.start()
        other = f"other-{what.split()[0]}"
        api("POST", RUNS, make_run(other, definition()))
        seen = becomes(lambda name=other: phase_of(api, name) == "Queued" and
                       all(phase_of(api, f"large-{i}") == "Queued" for i in range(0, N_LARGE, 10)), 600)
        t.ok(seen, f"{N_LARGE} runs of 939 KiB, and one of another account, are accepted {what}")
        peak = peak_mib(daemon)
        print(f"# benchd's peak {what}: {peak:.0f} MiB")
        t.ok(peak < LIMIT_MIB, f"benchd needs less than {LIMIT_MIB} MiB {what}", f"{peak:.0f} MiB")


def main():
    t = tap.Tap()
    with Cluster(parts=(*API, "kube-scheduler")) as cluster:   # which says that no node has room
        cluster.apply_kinds()
        api = Api(cluster)
        with Benchd(cluster) as daemon:
            check_memory(t, api, daemon)
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
