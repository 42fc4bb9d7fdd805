#!/usr/bin/env python3
"""script/bench measured: what does it cost a system that benchd measures it?

A program does the same work again and again, in steps of about 10 ms, and prints a line a step, as a training script does. Two of
it run at the same time on the same CPU: one by itself, its output in a file, and one under `benchctl run --local`. They work by
turns, a slice of some steps each, and a program that waits for its turn sleeps. Each times its slices, by the clock on the wall and
by its CPU time. The cost of a slice is how much longer it took than the one before it by the other program, so what disturbs the
machine for longer than a slice is in both. A round is a new pair of processes, and its cost is the median of its slices: no two
processes lie equally in memory.

Where other programs keep the CPU busy (the program alone gets less than 98% of it), CPU time counts; where they take more than half
of it, that says nothing either. The 95% interval of the median cost of the rounds must lie on one side of the bar, else nothing is
decided.

Ends with "reached N of M"; exit 1 where the bar is missed or nothing is decided."""
import argparse
import hashlib
import json
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import entry
from figures import Bar, Spread, table

ROOT = pathlib.Path(__file__).resolve().parent.parent
BAR = 0.5  # percent
STEP_US = 10000
QUIET_SHARE = 0.98
USABLE_SHARE = 0.5
TURN_LIMIT_S = 60
PROGRAM = """
import hashlib, json, os, select, sys, time
out, mine, other = sys.argv[1:4]
slices, steps, work = map(int, sys.argv[4:7])
mine, other = os.open(mine, os.O_RDWR), os.open(other, os.O_RDWR)
def step():
    hashlib.pbkdf2_hmac("sha256", b"x", b"y", work)
def turn():
    if not select.select([mine], [], [], %d)[0]:
        sys.exit("the other program did not end its turn")
    os.read(mine, 1)
took = {"wall_s": [], "cpu_s": [], "cpus": sorted(os.sched_getaffinity(0))}
for n in range(-1, slices):  # the first slice warms up
    turn()
    began, cpu = time.monotonic(), time.process_time()
    for i in range(steps):
        at = time.monotonic()
        step()
        print(f"step {(n + 1) * steps + i}: loss 2.5, {1 / (time.monotonic() - at):.2f} samples/s", flush=True)
    wall_s, cpu_s = time.monotonic() - began, time.process_time() - cpu
    os.write(other, b"x")
    if n >= 0:
        took["wall_s"].append(wall_s)
        took["cpu_s"].append(cpu_s)
with open(out, "w", encoding="ascii") as f:
    json.dump(took, f)
""" % TURN_LIMIT_S


def parse(argv):
    parser = argparse.ArgumentParser(prog="script/bench measured", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value, text in (("rounds", 15, "each a new pair of processes"), ("slices", 50, "of each of the two"),
                              ("steps", 5, "of a slice"), ("step-us", STEP_US, "of a step, in CPU time")):
        parser.add_argument(f"--{name}", type=int, default=value, metavar="N", help=f"{text} (default {value})")
    args = parser.parse_args(argv)
    if min(args.rounds, args.slices, args.steps, args.step_us) < 1:
        parser.error("expected positive numbers")
    return args


def work_of(step_us):
    """Iterations that take so long here: by the fastest of a few tries."""
    tries = []
    for _ in range(9):
        began = time.process_time()
        hashlib.pbkdf2_hmac("sha256", b"x", b"y", 2000)
        tries.append(time.process_time() - began)
    return max(1, round(2000 * step_us / 1e6 / min(tries)))


class Bench:
    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        self.benchctl = os.environ.get("BENCHCTL", str(ROOT / "build" / "ctl" / "benchctl"))
        self.work = work_of(args.step_us)
        self.program = folder / "program.py"
        self.program.write_text(PROGRAM, encoding="ascii")
        for name in ("alone", "measured"):
            os.mkfifo(folder / f"{name}.turn")
        self.definition = folder / "measured.json"
        self.definition.write_text(json.dumps({
            "apiVersion": "benchd.io/v1alpha1", "kind": "Benchmark", "metadata": {"name": "measured"}, "spec": {
                "systems": [{"name": "program", "profile": "none", "command": self.command("measured", "alone"),
                             "log": {"lines": [{"kind": "Step", "pattern": "step (?<step>): loss (?<loss>), (?<rate>) samples/s"}]}}],
                "workload": {"model": "sha256", "batchSize": 1, "exchange": {"kind": "AllReduce"}},
                "sweep": {"grid": {"workers": [1]}}, "roles": {"worker": {"replicas": {"from": "workers"}}},
                "runPolicy": {"backoffLimit": 0}, "repeats": {"min": 1}}}), encoding="ascii")

    def command(self, name, other):
        args = self.args
        return [sys.executable, str(self.program), str(self.folder / f"{name}.took"), str(self.folder / f"{name}.turn"),
                str(self.folder / f"{other}.turn"), str(args.slices), str(args.steps), str(self.work)]

    def took(self, name):
        path = self.folder / f"{name}.took"
        found = json.loads(path.read_text(encoding="ascii"))
        path.unlink()
        return found

    def start_alone(self, cpus):
        with open(self.folder / "log", "wb") as log:
            return subprocess.Popen(self.command("alone", "measured"), stdout=log,
                                    preexec_fn=lambda: os.sched_setaffinity(0, cpus))

    def start_measured(self):
        words = [self.benchctl, "run", str(self.definition), "--local", "--store", f"sqlite:{self.folder}/results.db",
                 "-o", "json", "--progress", "none"]
        return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def round(self, cpus, first):
        """What both took; `first` begins."""
        turns = {name: os.open(self.folder / f"{name}.turn", os.O_RDWR) for name in ("alone", "measured")}
        try:
            with self.start_alone(cpus) as alone, self.start_measured() as measured:
                os.write(turns[first], b"x")
                _, said = measured.communicate()
                if measured.returncode != 0:
                    alone.kill()
                    sys.exit(f"benchctl run: exit code {measured.returncode}\n{said}")
                if alone.wait() != 0:
                    sys.exit(f"the program alone: exit code {alone.returncode}")
        finally:
            for turn in turns.values():
                os.close(turn)
        return self.took("alone"), self.took("measured")


def costs(rounds, clock):
    """Percent, a round each: the median of its slices."""
    return [statistics.median(100 * (b / a - 1) for a, b in zip(alone[clock], measured[clock])) for alone, measured in rounds]


def median_interval(values):
    """The 95% interval of the median by ranks, whatever the distribution; None: there are fewer than six values."""
    values, n = sorted(values), len(values)
    outside, rank = 0.0, 0  # P(at most rank - 1 values are below the median)
    while outside + math.comb(n, rank) / 2**n <= 0.025:
        outside += math.comb(n, rank) / 2**n
        rank += 1
    return None if rank == 0 else (values[rank - 1], values[n - rank])


def measure(bench):
    """The first pair only tells the CPUs that benchctl gives to the program."""
    cpus = bench.round(os.sched_getaffinity(0), "alone")[1]["cpus"]
    rounds = []
    for i in range(bench.args.rounds):
        rounds.append(bench.round(cpus, ("alone", "measured")[i % 2]))
        print(f"round {i + 1} of {bench.args.rounds}", file=sys.stderr, flush=True)
    return rounds


def report(args, rounds):
    share = statistics.median(sum(alone["cpu_s"]) / sum(alone["wall_s"]) for alone, _ in rounds)
    clock = "wall_s" if share >= QUIET_SHARE else "cpu_s"
    lines = [[what, *(Spread.of([1e3 * statistics.median(r[i][key]) for r in rounds]).text(2) for key in ("wall_s", "cpu_s"))]
             for i, what in enumerate(("alone", "measured by benchd"))]
    print(table([f"{args.slices} SLICES OF {args.steps} STEPS", "WALL MS", "CPU MS"], lines))
    print(f"cost by the wall: {Spread.of(costs(rounds, 'wall_s')).text()}%, by CPU time: {Spread.of(costs(rounds, 'cpu_s')).text()}%")
    print(f"the program alone had {100 * share:.1f}% of a CPU: {'the wall' if clock == 'wall_s' else 'CPU time'} counts")
    found = costs(rounds, clock)
    interval = median_interval(found)
    if interval is not None:
        print(f"95% interval of the median cost: {interval[0]:.2f} to {interval[1]:.2f}%")
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
    entry.run(main)
