#!/usr/bin/env python3
"""script/bench measured: what does it cost a system that benchd measures it?

A program does the same work again and again, in steps of about 10 ms, and prints a line a step, as a training script does. It
runs by itself, its output in a file, and under `benchctl run --local`, by turns, on the same CPU. It times itself: the work from
the first step to the last, by the clock on the wall and by its CPU time. A round is one of each; its cost is how much longer the
second one took. Where other programs keep the CPU busy (the program alone gets less than 98% of it), CPU time counts; where they
take more than half of it, that says nothing either. The 95% interval of the median cost must lie on one side of the bar, else
nothing is decided.

Ends with "reached N of M"; exit 1 where the bar is missed or nothing is decided."""
import argparse
import json
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

from figures import Bar, Spread, table

ROOT = pathlib.Path(__file__).resolve().parent.parent
BAR = 0.5  # percent
QUIET_SHARE = 0.98
USABLE_SHARE = 0.5
PROGRAM = """
import hashlib, json, os, sys, time
out, steps, work = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
def step():
    hashlib.pbkdf2_hmac("sha256", b"x", b"y", work)
for _ in range(5):
    step()
began, cpu = time.monotonic(), time.process_time()
for i in range(steps):
    at = time.monotonic()
    step()
    print(f"step {i}: loss 2.5, {1 / (time.monotonic() - at):.2f} samples/s", flush=True)
with open(out, "w", encoding="ascii") as f:
    json.dump({"wall_s": time.monotonic() - began, "cpu_s": time.process_time() - cpu, "cpus": sorted(os.sched_getaffinity(0))}, f)
"""


def parse(argv):
    parser = argparse.ArgumentParser(prog="script/bench measured", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value, text in (("rounds", 15, "of one run alone and one that is measured"), ("steps", 300, "of a run"),
                              ("work", 7000, "of a step: iterations of SHA-256")):
        parser.add_argument(f"--{name}", type=int, default=value, metavar="N", help=f"{text} (default {value})")
    args = parser.parse_args(argv)
    if min(args.rounds, args.steps, args.work) < 1:
        parser.error("expected positive numbers")
    return args


class Bench:
    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        self.benchctl = os.environ.get("BENCHCTL", str(ROOT / "build" / "ctl" / "benchctl"))
        self.program, self.out = folder / "program.py", folder / "out.json"
        self.program.write_text(PROGRAM, encoding="ascii")
        self.command = [sys.executable, str(self.program), str(self.out), str(args.steps), str(args.work)]
        self.definition = folder / "measured.json"
        self.definition.write_text(json.dumps({
            "apiVersion": "benchd.io/v1alpha1", "kind": "Benchmark", "metadata": {"name": "measured"}, "spec": {
                "systems": [{"name": "program", "profile": "none", "command": self.command,
                             "log": {"lines": [{"kind": "Step", "pattern": "step (?<step>): loss (?<loss>), (?<rate>) samples/s"}]}}],
                "workload": {"model": "sha256", "batchSize": 1, "exchange": {"kind": "AllReduce"}},
                "sweep": {"grid": {"workers": [1]}}, "roles": {"worker": {"replicas": {"from": "workers"}}},
                "repeats": {"min": 1}}}), encoding="ascii")

    def took(self):
        found = json.loads(self.out.read_text(encoding="ascii"))
        self.out.unlink()
        return found

    def alone(self, cpus):
        with open(self.folder / "log", "wb") as log:
            subprocess.run(self.command, stdout=log, check=True, preexec_fn=lambda: os.sched_setaffinity(0, cpus))
        return self.took()

    def measured(self):
        done = subprocess.run([self.benchctl, "run", str(self.definition), "--local", "--store", f"sqlite:{self.folder}/results.db",
                               "-o", "json", "--progress", "none"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"benchctl run: exit code {done.returncode}\n{done.stderr}")
        return self.took()


def costs(rounds, clock):
    """Percent, a round each."""
    return [100 * (measured[clock] / alone[clock] - 1) for alone, measured in rounds]


def median_interval(values):
    """The 95% interval of the median by ranks, whatever the distribution; None: there are fewer than six values."""
    values, n = sorted(values), len(values)
    outside, rank = 0.0, 0  # P(at most rank - 1 values are below the median)
    while outside + math.comb(n, rank) / 2**n <= 0.025:
        outside += math.comb(n, rank) / 2**n
        rank += 1
    return None if rank == 0 else (values[rank - 1], values[n - rank])


def measure(bench):
    cpus = bench.measured()["cpus"]  # those that benchctl gives it
    rounds = []
    for i in range(bench.args.rounds):
        if i % 2 == 0:
            alone = bench.alone(cpus)
            measured = bench.measured()
        else:
            measured = bench.measured()
            alone = bench.alone(cpus)
        rounds.append((alone, measured))
        print(f"round {i + 1} of {bench.args.rounds}", file=sys.stderr, flush=True)
    return rounds


def report(args, rounds):
    share = statistics.median(alone["cpu_s"] / alone["wall_s"] for alone, _ in rounds)
    clock = "wall_s" if share >= QUIET_SHARE else "cpu_s"
    lines = [[what, Spread.of([r[i]["wall_s"] for r in rounds]).text(3), Spread.of([r[i]["cpu_s"] for r in rounds]).text(3)]
             for i, what in enumerate(("alone", "measured by benchd"))]
    print(table([f"{args.steps} STEPS", "WALL S", "CPU S"], lines))
    print(f"cost by the wall: {Spread.of(costs(rounds, 'wall_s')).text()}%, by CPU time: {Spread.of(costs(rounds, 'cpu_s')).text()}%")
    print(f"the program alone had {100 * share:.1f}% of a CPU: {'the wall' if clock == 'wall_s' else 'CPU time'} counts")
    found = costs(rounds, clock)
    interval = median_interval(found)
    why_not = None
    if share < USABLE_SHARE:
        why_not = "the machine is too busy to decide"
    elif interval is None:
        why_not = "not decided: fewer than 6 rounds"
    elif interval[0] < BAR <= interval[1]:
        why_not = f"not decided: the 95% interval of the median, {interval[0]:.2f}-{interval[1]:.2f}%, holds the bar"
    if why_not is not None:
        print(why_not)
    bar = Bar(f"cost of being measured, %, median of {len(rounds)} rounds", Spread.of(found) if why_not is None else None, BAR, "<")
    print(bar.text())
    print(f"reached {int(bar.is_reached)} of 1")
    return 0 if bar.is_reached else 1


def main(argv):
    args = parse(argv)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="bench-measured-"))
    try:
        return report(args, measure(Bench(args, folder)))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
