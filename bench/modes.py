#!/usr/bin/env python3
"""script/bench modes: does each mode of the exchange train as well as Sync after each step?

For each mode a gang of real processes trains VGG16 on Fashion-MNIST (Debian's dataset-fashion-mnist) with the same number of samples;
then trainer/0 tests its parameters on the 10,000 images of the test set. All processes share one core, so one that is ahead is as likely
as the others. Bar: at most 2 points below Sync, in the median over the seeds, each beside Sync of the same seed. Accuracies of different
seeds spread; all modes of a seed run before the next seed.

With --json FILE each training is a line of FILE, and those that are in FILE already are not run again.
Ends with "reached N of M"; exit 1 where a bar is missed."""
import argparse
import json
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


def setting(args, mode, seed):
    return {"mode": mode, "trainers": args.trainers, "batch": args.batch, "steps": args.steps, "seed": seed}


def train(args, mode, seed):
    """One training: its setting with the accuracy, and what the server saw."""
    os.sched_setaffinity(0, {args.core})
    with tempfile.TemporaryDirectory(prefix="benchd-modes-") as folder:
        key = os.path.join(folder, "key")
        with open(os.open(key, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as f:
            f.write(os.urandom(32))
        address = f"127.0.0.1:{free_ports(1)[0]}"
        common = ["--run", "modes", "--trainers", str(args.trainers), "--secret-file", key, "--seed", str(seed), "--mode", mode]
        server = subprocess.Popen([WORKER, "pserver", "--listen", address, *common], stdout=subprocess.PIPE, text=True)
        gang = []
        for i in range(args.trainers):
            argv = [WORKER, "trainer", "--index", str(i), "--pserver-addrs", address, "--batch-size", str(args.batch), "--warmup-steps", "0",
                    "--steps", str(args.steps), "--data", f"idx:{args.data}", *(["--print-accuracy"] if i == 0 else []), *common]
            gang.append(subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))
        said = [p.communicate()[1] for p in gang]
        records = [json.loads(line) for line in server.communicate()[0].splitlines()]
    failed = [said[i] for i, p in enumerate(gang) if p.returncode] + (["the server failed"] if server.returncode else [])
    if failed:
        raise SystemExit(f"error: {mode}: {failed[0]}")
    staleness, late = records[-1].get("staleness", {}), records[-1].get("late", {"dropped": 0, "slices": 1})
    return {**setting(args, mode, seed), "accuracy": float(re.search(r"test_accuracy ([0-9.]+)", said[0]).group(1)),
            "staleness_mean": staleness.get("mean", 0), "staleness_max": staleness.get("max", 0),
            "late": late["dropped"] / late["slices"]}


def kept(args):
    if not args.json or not os.path.exists(args.json):
        return []
    return [json.loads(line) for line in pathlib.Path(args.json).read_text(encoding="utf-8").splitlines()]


def train_all(args):
    """{mode: [its training of each seed]}"""
    old, done = kept(args), {mode: [] for mode in args.mode}
    for seed in range(args.seed, args.seed + args.seeds):
        for mode in args.mode:
            result = next((t for t in old if setting(args, mode, seed).items() <= t.items()), None)
            if result is None:
                result = train(args, mode, seed)
                if args.json:
                    with open(args.json, "a", encoding="utf-8") as f:
                        f.write(json.dumps(result) + "\n")
            done[mode].append(result)
            print(f"seed {seed}, {mode}: {100 * result['accuracy']:.2f}%", file=sys.stderr)
    return done


def below_sync(done, mode):
    """Points, seed by seed."""
    return Spread.of([100 * (sync["accuracy"] - t["accuracy"]) for sync, t in zip(done["Sync"], done[mode])])


def main(argv):
    args = parse(argv)
    done = train_all(args)
    print(f"VGG16, Fashion-MNIST, {args.trainers} trainers, batch {args.batch}, {args.steps} steps, "
          f"{args.trainers * args.batch * args.steps} samples, {args.seeds} seeds; load average {os.getloadavg()[2]:.1f}\n")
    print(table(["MODE", "TEST ACCURACY, %", "STALENESS, MEAN", "MAX", "LATE"],
                [[mode, Spread.of([100 * t["accuracy"] for t in ts]).text(), f"{Spread.of([t['staleness_mean'] for t in ts]).median:.2f}",
                  str(max(t["staleness_max"] for t in ts)), f"{100 * Spread.of([t['late'] for t in ts]).median:.1f}%"]
                 for mode, ts in done.items()]))
    print()
    return conclude([Bar(f"{mode}: points below Sync", below_sync(done, mode), POINTS_BELOW, "<=")
                     for mode in done if mode != "Sync" and "Sync" in done])


if __name__ == "__main__":
    entry.run(main)
