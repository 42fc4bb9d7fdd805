#!/usr/bin/env python3
"""Workers that exchange through NCCL, with stand-ins for NCCL's library and the driver's (stand_in_nccl.c, stand_in_cuda.c):
they end with the parameters of a ring, every failure is one line and exit 13, and a killed peer is named although
the other one waits in the library. On a GPU none of this has run.

test_nccl.py FOLDER: the one with the stand-ins."""
import os
import sys
import time

from gang import Ring, seconds_since, signal
from tap import Tap

FOLDER = sys.argv[1]
STEPS = ["--warmup-steps", 1, "--steps", 2, "--print-digest"]
LIMIT_S = 5  # its main thread spins beside it, on a busy machine


class Env:
    """Variables of all workers that are started within."""

    def __init__(self, **variables):
        self.variables = variables

    def __enter__(self):
        self.before = {k: os.environ.get(k) for k in self.variables}
        os.environ.update(self.variables)

    def __exit__(self, *_):
        for k, v in self.before.items():
            os.environ.pop(k, None)
            if v is not None:
                os.environ[k] = v


def ends(n, transport, **variables):
    with Env(**{"LD_LIBRARY_PATH": FOLDER, **variables}), Ring(n, [*STEPS, "--transport", transport]) as ring:
        end = ring.end()
        return end, {name: [r for r in ring[name].records if r["type"] == "summary"] for name in end}


def check_sums(tap):
    """Two gradients have one sum, in whatever order they are added; three have not, but all ranks the same."""
    ring, _ = ends(2, "Tcp")
    want = ring["worker/0"][2]
    for n in (2, 3):
        end, summaries = ends(n, "Nccl")
        want = want if n == 2 else end["worker/0"][2]
        for name, (code, error, stderr) in end.items():
            tap.equal((0, None, want), (code, error, stderr), f"{n} workers: {name} has the parameters of all")
            summary = summaries[name][-1] if summaries[name] else {}
            tap.equal("Nccl", summary.get("transport"), f"{n} workers: {name} says so")


FAILURES = [
    ({"STAND_IN_GPUS": "0"}, "transport Nccl: there is no GPU"),
    ({"LD_LIBRARY_PATH": "/nowhere"}, "transport Nccl: libcuda.so.1: cannot open shared object file"),
    ({"STAND_IN_NCCL_FAILS": "ncclGetUniqueId"}, "ncclGetUniqueId: stand-in failure (NCCL 2)"),
    ({"STAND_IN_NCCL_FAILS": "ncclCommInitRank"}, "ncclCommInitRank: stand-in failure (NCCL 2)"),
    ({"STAND_IN_NCCL_FAILS": "ncclReduceScatter"}, "ncclReduceScatter: stand-in failure (NCCL 2)"),
]


def check_failures(tap):
    for variables, says in FAILURES:
        end, _ = ends(2, "Nccl", **variables)
        codes = sorted(code for code, _, _ in end.values())
        tap.ok(codes[-1] == 13 and codes[0] in (11, 13), f"{says}: exit codes", f"got {codes}")
        for name, (code, error, stderr) in end.items():
            tap.ok(says in stderr, f"{says}: {name} says so", f"got {stderr!r}")
            tap.equal(1, stderr.count("\n"), f"{says}: {name} says it in one line")


def check_kill(tap):
    with Env(LD_LIBRARY_PATH=FOLDER), Ring(2, ["--steps", 100000, "--transport", "Nccl"]) as ring:
        ring["worker/0"].wait_for("step", 3)
        begin = time.monotonic()
        ring["worker/1"].signal(signal.SIGKILL)
        code, error, stderr = ring["worker/0"].end()
        tap.equal((11, "worker/1"), (code, error and error["peer"]), "a killed peer is named")
        tap.equal(1, stderr.count("\n"), "in one line")
        tap.ok(seconds_since(begin) < LIMIT_S, "at once", f"after {seconds_since(begin):.1f} s")


def main():
    tap = Tap()
    check_sums(tap)
    check_failures(tap)
    check_kill(tap)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
