#!/usr/bin/env python3
"""script/bench modes: does each mode of the exchange train as well as Sync after each step?

For each mode a gang of real processes trains VGG16 on Fashion-MNIST (Debian's dataset-fashion-mnist) with the same number of samples;
then trainer/0 tests its parameters on the 10,000 images of the test set. All processes share one core, so one that is ahead is as likely
as the others. Bar: at most 2 points below Sync, in the median over the seeds, each beside Sync of the same seed. Accuracies of different
seeds spread; all modes of a seed run before the next seed.

A mode may make other updates of the same samples than Sync: with accumulate=N an N-th as many, of N times the samples; with backups it
drops some. Such a mode trains twice: with Sync's batch and steps, and with those that put as many samples into updates, with accumulate
also as many into each. The table says how many updates each training made, and of how many samples each.

With --json FILE each training is a line of FILE, and those that are in FILE already are not run again.
Ends with "reached N of M"; exit 1 where a bar is missed."""
import argparse
import dataclasses
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import entry
from figures import Bar, Spread, conclude, table
from ports import free_ports

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORKER = os.environ.get("BENCHWORKER", str(ROOT / "build" / "worker" / "benchworker"))
DATA = "/usr/share/datasets/fashion-mnist"
MODES = ["Sync", "Sync backups=1", "Sync accumulate=2", "Sync localSteps=4", "Async", "BoundedStaleness staleness=2"]
POINTS_BELOW = 2
PERIOD = 4  # a multiple of all periods


@dataclasses.dataclass(frozen=True)
class Training:
    """What a gang does, but for its seed."""
    mode: str  # as BENCHD_MODE
    trainers: int
    batch: int
    steps: int  # of each trainer

    def number(self, field):
        """The mode's, 0: none."""
        found = re.search(rf"\b{field}=(\d+)", self.mode)
        return int(found[1]) if found else 0

    def fair(self):
        """The same mode with as many samples in updates as Sync has with this batch and these steps, and with accumulate as many in each.
        None: it has that already, or cannot."""
        accumulate, gradients = self.number("accumulate") or 1, max(1, self.trainers - self.number("backups"))
        steps = math.ceil(self.steps * self.trainers / gradients) * accumulate
        fair = dataclasses.replace(self, batch=self.batch // accumulate, steps=steps)
        return fair if fair != self and self.batch % accumulate == 0 else None

    def updates(self, late):
        """(updates of a parameter, samples of one), when this share of the gradients came too late. Of local steps those that each
        trainer makes by itself."""
        if self.number("localSteps"):
            return self.steps, self.batch
        gradients = self.trainers - self.number("backups") if self.mode.startswith("Sync") else 1
        gradients *= self.number("accumulate") or 1
        return round(self.trainers * self.steps * (1 - late) / gradients), gradients * self.batch

    def name(self, sync):
        return self.mode + ("" if (self.batch, self.steps) == (sync.batch, sync.steps) else f", batch {self.batch}, {self.steps} steps")


def rows(args):
    """All trainings of a seed, the given modes in their order."""
    given = [Training(mode, args.trainers, args.batch, args.steps) for mode in args.mode]
    return [row for training in given for row in (training, training.fair()) if row is not None]


def parse(argv):
    parser = argparse.ArgumentParser(prog="script/bench modes", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value, text in (("trainers", 3, "processes that train"), ("batch", 16, "samples of a trainer in a step"),
                              ("steps", 428, "of each trainer"), ("seed", 1, "of parameters, order and dropout: the first one"),
                              ("seeds", 3, "trainings of each mode")):
        parser.add_argument(f"--{name}", type=int, default=value, metavar="N", help=f"{text} (default {value})")
    parser.add_argument("--mode", action="append", metavar="TEXT", help="as BENCHD_MODE, several are possible (default: all)")
    parser.add_argument("--data", default=DATA, metavar="DIR", help=f"IDX files (default {DATA})")
    parser.add_argument("--core", type=int, default=min(os.sched_getaffinity(0)), metavar="N", help="that all processes share")
    parser.add_argument("--json", metavar="FILE", help="keeps every training, and goes on after those that it has")
    args = parser.parse_args(argv)
    if min(args.trainers, args.batch, args.steps, args.seeds) < 1 or args.steps % PERIOD:
        parser.error(f"expected positive numbers, and steps a multiple of {PERIOD}")
    args.mode = args.mode or MODES
    return args


def train(args, row, seed):
    """One training: its setting with the accuracy, and what the server saw."""
    os.sched_setaffinity(0, {args.core})
    with tempfile.TemporaryDirectory(prefix="benchd-modes-") as folder:
        key = os.path.join(folder, "key")
        with open(os.open(key, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as f:
            f.write(os.urandom(32))
        address = f"127.0.0.1:{free_ports(1)[0]}"
        common = ["--run", "modes", "--trainers", str(row.trainers), "--secret-file", key, "--seed", str(seed), "--mode", row.mode]
        server = subprocess.Popen([WORKER, "pserver", "--listen", address, *common], stdout=subprocess.PIPE, text=True)
        gang = []
        for i in range(row.trainers):
            argv = [WORKER, "trainer", "--index", str(i), "--pserver-addrs", address, "--batch-size", str(row.batch), "--warmup-steps", "0",
                    "--steps", str(row.steps), "--data", f"idx:{args.data}", *(["--print-accuracy"] if i == 0 else []), *common]
            gang.append(subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))
        said = [p.communicate()[1] for p in gang]
        records = [json.loads(line) for line in server.communicate()[0].splitlines()]
    failed = [said[i] for i, p in enumerate(gang) if p.returncode] + (["the server failed"] if server.returncode else [])
    if failed:
        raise SystemExit(f"error: {row.mode}: {failed[0]}")
    staleness, late = records[-1].get("staleness", {}), records[-1].get("late", {"dropped": 0, "slices": 1})
    return {**dataclasses.asdict(row), "seed": seed, "accuracy": float(re.search(r"test_accuracy ([0-9.]+)", said[0]).group(1)),
            "staleness_mean": staleness.get("mean", 0), "staleness_max": staleness.get("max", 0),
            "late": late["dropped"] / late["slices"]}


def kept(args):
    if not args.json or not os.path.exists(args.json):
        return []
    return [json.loads(line) for line in pathlib.Path(args.json).read_text(encoding="utf-8").splitlines()]


def train_all(args):
    """{row: [its training of each seed]}"""
    old, done = kept(args), {row: [] for row in rows(args)}
    for seed in range(args.seed, args.seed + args.seeds):
        for row, trainings in done.items():
            setting = {**dataclasses.asdict(row), "seed": seed}
            result = next((t for t in old if setting.items() <= t.items()), None)
            if result is None:
                result = train(args, row, seed)
                if args.json:
                    with open(args.json, "a", encoding="utf-8") as f:
                        f.write(json.dumps(result) + "\n")
            trainings.append(result)
            print(f"seed {seed}, {row.mode}, batch {row.batch}, {row.steps} steps: {100 * result['accuracy']:.2f}%", file=sys.stderr)
    return done


def below(syncs, trainings):
    """Points, seed by seed."""
    return Spread.of([100 * (sync["accuracy"] - t["accuracy"]) for sync, t in zip(syncs, trainings)])


def line(row, sync, trainings):
    late = Spread.of([t["late"] for t in trainings]).median
    updates, samples = row.updates(late)
    return [row.name(sync), Spread.of([100 * t["accuracy"] for t in trainings]).text(), str(updates), str(samples),
            f"{Spread.of([t['staleness_mean'] for t in trainings]).median:.2f}", str(max(t["staleness_max"] for t in trainings)),
            f"{100 * late:.1f}%"]


def main(argv):
    args = parse(argv)
    done = train_all(args)
    sync = Training("Sync", args.trainers, args.batch, args.steps)
    print(f"VGG16, Fashion-MNIST, {args.trainers} trainers; Sync: batch {args.batch}, {args.steps} steps, "
          f"{args.trainers * args.batch * args.steps} samples; {args.seeds} seeds; load average {os.getloadavg()[2]:.1f}\n")
    print(table(["MODE", "TEST ACCURACY, %", "UPDATES", "SAMPLES EACH", "STALENESS, MEAN", "MAX", "LATE"],
                [line(row, sync, trainings) for row, trainings in done.items()]))
    print()
    return conclude([Bar(f"{row.name(sync)}: points below Sync", below(done[sync], trainings), POINTS_BELOW, "<=")
                     for row, trainings in done.items() if row != sync and sync in done])


if __name__ == "__main__":
    entry.run(main)
