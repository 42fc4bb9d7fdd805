#!/usr/bin/env python3
"""Mid-trial, a worker of a ring is killed or stopped: all others are out, and all name it, also those
that are no neighbours of it; a stopped one that wakes finds itself out. Before: what workers end with, and a worker
that is killed before the ring is closed or at the barrier."""
import sys
from concurrent.futures import ThreadPoolExecutor

from worker_gang import NOTICED, SHORT, Ring, signal
from tap import Tap

ROWS = [(4, "worker/1", signal.SIGKILL), (2, "worker/0", signal.SIGKILL), (4, "worker/2", signal.SIGSTOP)]


def fault(row):
    n, victim, number = row
    limit = SHORT if number == signal.SIGSTOP else []
    with Ring(n, ["--steps", 100000, *limit]) as ring:
        return ring.strike(victim, number)


def check_end(tap):
    """Three workers end with the same parameters; they sent two thirds twice."""
    first = None
    with Ring(3, ["--warmup-steps", 1, "--steps", 2, "--print-digest"]) as ring:
        ends = ring.end()
        summaries = {name: [r for r in ring[name].records if r["type"] == "summary"] for name in ends}
    for name, (code, error, stderr) in ends.items():
        first = first or stderr
        tap.equal((0, None, first), (code, error, stderr), f"{name} ends with the parameters of all")
        summary = summaries[name][-1] if summaries[name] else {}
        tap.equal("Tcp", summary.get("transport"), f"{name} says how it reached the others")
        want = 2 * 2 * 4 * 15254602 * 2 / 3
        tap.ok(want * 0.98 < summary.get("bytes_tx", 0) < want * 1.02, f"{name}: bytes",
               f"expected about {want:.0f}, got {summary.get('bytes_tx')}")


# Before the ring is closed, and at the barrier: the victim, and its record that is waited for (None: none).
EARLY = [("worker/1", None), ("worker/1", "step"), ("worker/0", "step")]


def early_fault(row):
    victim, record = row
    with Ring(3, ["--warmup-steps", 1, "--steps", 100000, "--rendezvous-s", 20]) as ring:
        if record is not None:
            ring[victim].wait_for(record)
        ring[victim].signal(signal.SIGKILL)
        return ring.end([name for name in ring.replicas if name != victim])


def check_early(tap):
    with ThreadPoolExecutor(len(EARLY)) as pool:  # they mostly wait
        results = list(pool.map(early_fault, EARLY))
    for (victim, record), others in zip(EARLY, results):
        what = f"SIGKILL of {victim} {'at its start' if record is None else 'at the barrier'}"
        for name, (code, error, stderr) in others.items():
            tap.equal((11, victim), (code, error and error["peer"]), f"{what}: {name} names the cause")
            tap.match(victim, stderr, f"{what}: {name} says so on stderr")


def main():
    tap = Tap()
    check_end(tap)
    check_early(tap)
    with ThreadPoolExecutor(len(ROWS)) as pool:
        results = list(pool.map(fault, ROWS))
    for (n, victim, number), (took_s, others, woken) in zip(ROWS, results):
        what = f"{number.name} of {victim} of {n}"
        print(f"# {what}: the last one left after {took_s:.1f} s")
        for name, (code, error, stderr) in others.items():
            tap.equal((11, victim), (code, error and error["peer"]), f"{what}: {name} names the cause")
            tap.match(f"{victim}.*{NOTICED[number]}", stderr, f"{what}: {name} says so on stderr, and how it was noticed")
            tap.equal(1, stderr.count("\n"), f"{what}: {name} says it in one line")
        if woken is not None:
            code, error, _ = woken
            tap.equal((11, victim), (code, error and error["peer"]), f"{what}: it finds itself out")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
