#!/usr/bin/env python3
"""script/bench modes: does each mode of the exchange train as well as Sync after each step?

For each mode a gang of real processes trains VGG16 on Fashion-MNIST (Debian's dataset-fashion-mnist) with the same number of samples;
then trainer/0 tests its parameters on the 10,000 images of the test set. All processes share one core, so one that is ahead is as likely
as the others. Bar: at most 2 points below Sync. A seed is one training: accuracies of different seeds spread.

With --json FILE each training is a line of FILE, and those that are in FILE already are not run again.
Ends with "reached N of M"; exit 1 where a bar is missed."""
import argparse
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile

from figures import Bar, Spread, table

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORKER = os.environ.get("BENCHWORKER", str(ROOT / "build" / "worker" / "benchworker"))
DATA = "/usr/share/datasets/fashion-mnist"
MODES = ["Sync", "Sync accumulate=2", "Sync localSteps=4", "Async", "BoundedStaleness staleness=2"]
POINTS_BELOW = 2
PERIOD = 4  # a multiple of all periods


def parse(argv):
    parser = argparse.ArgumentParser(prog="script/bench modes", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value, text in (("trainers", 2, "processes that train"), ("batch", 16, "samples of a trainer in a step"),
                              ("steps", 640, "of each trainer"), ("seed", 1, "of parameters, order and dropout")):
        parser.add_argument(f"--{name}", type=int, default=value, metavar="N", help=f"{text} (default {value})")
    parser.add_argument("--mode", action="append", metavar="TEXT", help="as BENCHD_MODE, several are possible (default: all)")
    parser.add_argument("--data", default=DATA, metavar="DIR", help=f"IDX files (default {DATA})")
    parser.add_argument("--core", type=int, default=min(os.sched_getaffinity(0)), metavar="N", help="that all processes share")
    parser.add_argument("--json", metavar="FILE", help="keeps every training, and goes on after those that it has")
    args = parser.parse_args(argv)
    if min(args.trainers, args.batch, args.steps) < 1 or args.steps % PERIOD:
        parser.error(f"expected positive numbers, and steps a multiple of {PERIOD}")
    args.mode = args.mode or MODES
    return args


def setting(args, mode):
    return {"mode": mode, "trainers": args.trainers, "batch": args.batch, "steps": args.steps, "seed": args.seed}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def train(args, mode):
    """One training: its setting with the accuracy and the staleness that the server saw."""
    os.sched_setaffinity(0, {args.core})
    with tempfile.TemporaryDirectory(prefix="benchd-modes-") as folder:
        key = os.path.join(folder, "key")
        with open(os.open(key, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as f:
            f.write(os.urandom(32))
        address = f"127.0.0.1:{free_port()}"
        common = ["--run", "modes", "--trainers", str(args.trainers), "--secret-file", key, "--seed", str(args.seed), "--mode", mode]
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
    staleness = records[-1].get("staleness", {})
    return {**setting(args, mode), "accuracy": float(re.search(r"test_accuracy ([0-9.]+)", said[0]).group(1)),
            "staleness_mean": staleness.get("mean", 0), "staleness_max": staleness.get("max", 0)}


def kept(args):
    if not args.json or not os.path.exists(args.json):
        return []
    return [json.loads(line) for line in pathlib.Path(args.json).read_text(encoding="utf-8").splitlines()]


def main(argv):
    args = parse(argv)
    old, done = kept(args), []
    for mode in args.mode:
        result = next((t for t in old if setting(args, mode).items() <= t.items()), None)
        if result is None:
            result = train(args, mode)
            if args.json:
                with open(args.json, "a", encoding="utf-8") as f:
                    f.write(json.dumps(result) + "\n")
        done.append(result)
        print(f"{mode}: {100 * result['accuracy']:.2f}%", file=sys.stderr)
    print(f"VGG16, Fashion-MNIST, {args.trainers} trainers, batch {args.batch}, {args.steps} steps, "
          f"{args.trainers * args.batch * args.steps} samples, seed {args.seed}\n")
    print(table(["MODE", "TEST ACCURACY", "STALENESS, MEAN", "MAX"],
                [[t["mode"], f"{100 * t['accuracy']:.2f}%", f"{t['staleness_mean']:.2f}", str(t["staleness_max"])] for t in done]))
    sync = next((t for t in done if t["mode"] == "Sync"), None)
    bars = [Bar(f"{t['mode']}: points below Sync", Spread.of([100 * (sync["accuracy"] - t["accuracy"])]), POINTS_BELOW, "<=")
            for t in done if sync is not None and t is not sync]
    print()
    for bar in bars:
        print(bar.text())
    reached = sum(bar.is_reached for bar in bars)
    print(f"reached {reached} of {len(bars)}")
    return 0 if reached == len(bars) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
