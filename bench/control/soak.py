"""soak: runs in a row with objects that expire: does benchd's memory grow, do its descriptors, do objects stay?"""
import collections
import functools
import json
import sys

from control import plane, process, single
from figures import Bar, Spread

NAME = "soak"
WARM_RUNS = 10        # the first sample: caches are full
SAMPLES = 10          # at most: one for ten runs
TTL_S = 1
WATCH_S = 660         # a connection that benchd has left stays until its last watch ends: 5 to 10 min (WATCH_TIMEOUT_S of lib/kube/reflector.c)
LEFT_MOST = 12        # descriptors of such connections: 3 of each, 3 watches and a followed log
GROWTH_MIB = 0.5      # pages of the allocator that this many runs may leave dirty, however many they are
KINDS = {"pods": plane.PODS, "runs": plane.RUNS, "services": "/api/v1/namespaces/benchd/services",
         "secrets": "/api/v1/namespaces/benchd/secrets", "config maps": "/api/v1/namespaces/benchd/configmaps",
         "leases": "/apis/coordination.k8s.io/v1/namespaces/benchd/leases"}
EVENTS = "/apis/events.k8s.io/v1/namespaces/benchd/events"   # the API server removes them after an hour


def settings(options):
    return {"runs": options.runs}


def gone(where):
    return where.api.count(plane.RUNS) == 0 and where.api.count(plane.PODS) == 0 and where.api.count(KINDS["secrets"]) == 0


def is_over(where, run):
    """A run that expires unseen is over, too."""
    status = where.api.status(run)
    return status is None or status.get("phase") == "Succeeded"


def beside(names, first):
    """What is open and was not in the first sample."""
    return sorted((collections.Counter(names) - collections.Counter(first)).elements())


def settle(daemon, first):
    """At the end: what comes back at all has come back."""
    deadline = plane.time.monotonic() + WATCH_S
    while len(process.descriptors(daemon.pid)) > len(first) and plane.time.monotonic() < deadline:
        plane.time.sleep(5)


def sample(where, daemon, done, first, is_last):
    """`first`: what was open in the first one; None: this is it."""
    plane.wait_for(lambda: gone(where), "expired runs and what they own are gone", 300, 0.5)
    plane.time.sleep(5)
    if is_last and first is not None:
        settle(daemon, first)
    memory, names = daemon.memory(), process.descriptors(daemon.pid)
    return {"runs": done, "private_mib": memory["Private_Dirty"] / process.MIB, "rss_mib": memory["Rss"] / process.MIB,
            "descriptors": len(names), "names": names, "beside": [] if first is None else beside(names, first),
            "objects": {kind: where.api.count(path) for kind, path in KINDS.items()},
            "events": where.api.count(EVENTS), "store_mb": daemon.metric("benchd_store_bytes") / 1e6}


def rounds(options, wanted):
    """One round has all runs."""
    for _ in wanted[:1]:
        row = {"load": [process.load()], "samples": []}
        warm = min(WARM_RUNS, max(1, options.runs // 2))
        n = max(1, min(SAMPLES, options.runs // 10))
        at = {warm, *(warm + (options.runs - warm) * i // n for i in range(1, n + 1))}
        definition = single.definition(1, "100ms")
        definition["runPolicy"] = {"ttlSecondsAfterFinished": TTL_S}
        with plane.Plane(1, functools.partial(plane.steered, last_s=0.1)) as where, plane.Daemon(where) as daemon:
            began = plane.time.monotonic()
            for i in range(1, options.runs + 1):
                where.api.create_run(f"run-{i}", definition)
                plane.wait_for(lambda name=f"run-{i}": is_over(where, name), f"run-{i} succeeds", 120)
                if i in at:
                    first = row["samples"][0]["names"] if row["samples"] else None
                    row["samples"].append(sample(where, daemon, i, first, i == options.runs))
                    print(f"soak: {json.dumps(row['samples'][-1])}", file=sys.stderr, flush=True)   # all that one that is ended leaves
            well = sum(run["phase"] == "Succeeded" for run in json.loads(daemon.get("/api/v1/runs"))["items"])
            if well != options.runs:
                raise plane.Failed(f"{well} of {options.runs} runs succeeded")
            row["seconds"] = plane.time.monotonic() - began
        row["load"].append(process.load())
        yield row


def growth(rows, value):
    """From the first sample to the highest later one."""
    grown = [max(value(s) for s in row["samples"][1:]) - value(row["samples"][0]) for row in rows if len(row["samples"]) > 1]
    return Spread.of(grown) if grown else None


def left(rows):
    """Of descriptors: from the first sample to the last, for which they had time to be closed."""
    grown = [row["samples"][-1]["descriptors"] - row["samples"][0]["descriptors"] for row in rows if len(row["samples"]) > 1]
    return Spread.of(grown) if grown else None


def counted(names):
    return ", ".join(f"{n} {name}" for name, n in sorted(collections.Counter(names).items()))


def bars(rows):
    return [Bar("growth of private memory, MiB", growth(rows, lambda s: s["private_mib"]), GROWTH_MIB, "<="),
            Bar("growth of descriptors", left(rows), 0, "<="),
            Bar("descriptors of connections that end with their watches", growth(rows, lambda s: s["descriptors"]), LEFT_MOST, "<="),
            Bar("growth of API objects", growth(rows, lambda s: sum(s["objects"].values())), 0, "<=")]


def table(rows):
    header = ["after runs", "private MiB", "RSS MiB", "descriptors", "beside the first", "API objects", "Events", "store MB"]
    return header, [[str(s["runs"]), f"{s['private_mib']:.2f}", f"{s['rss_mib']:.2f}", str(s["descriptors"]),
                     counted(s.get("beside", [])), str(sum(s["objects"].values())), str(s["events"]), f"{s['store_mb']:.2f}"]
                    for row in rows for s in row["samples"]]
