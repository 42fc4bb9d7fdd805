#!/usr/bin/env python3
"""script/bench systems [option...]   The seeds' VGG16 by several processes, in all systems side by side.

Installs the frameworks (bench/peers.py), then runs benchmarks/vgg16-systems.yaml with --local, and one row more: PyTorch
whose gradients Open MPI exchanges. Two trainers or workers of one thread and one alone, interleaved rounds. Prints
throughput, speedup and efficiency of each system with intervals. Some systems also run by hand, without benchd
(bench/by_hand.py), half of the rounds before and half after: their efficiency must be the same.

A system that cannot run here is named with the reason. A bench that was ended goes on where it was, with the same --json
FILE and --store."""
import argparse
import contextlib
import dataclasses
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading

import by_hand
import entry
import figures
import peers

ROOT = pathlib.Path(__file__).resolve().parent.parent
PLACE = pathlib.Path(os.environ.get("BENCHCTL_PATH") or ROOT / "benchmarks")
NAME = "vgg16-systems"
MPI = "pytorch-open-mpi"
# Whose environment each system needs; None: nothing but benchworker.
NEEDS = {"benchworker": None, "paddle-fluid": "fluid", "paddle-fluid-async": "fluid", "pytorch-ddp": "pytorch", "tensorflow-ps": "tensorflow", "tensorflow-mwms": "tensorflow",
         "jax": "jax-cpu", "paddle-collective": "paddle", MPI: "pytorch"}
LOAD_EVERY_S = 10


@dataclasses.dataclass
class Row:
    """A point of the table. Figures are {value, low, high} of a result; `problem`: why there is no value."""
    system: str
    batch: int
    throughput: dict
    speedup: dict
    efficiency: dict
    problem: str | None = None

    def meets(self, rounds):
        """Does the interval meet the rounds by hand, from the least to the most? Without an interval: does the value?"""
        value, low, high = (self.efficiency[key] for key in ("value", "low", "high"))
        if value is None or not rounds:
            return False
        low, high = (low, high) if low is not None else (value, value)
        return low <= max(rounds) and high >= min(rounds)


def problem_of(*points):
    """Of a point, or of the one alone that it is compared with."""
    for point in points:
        if point is not None and point["throughput"]["value"] is None:
            errors = [trial["error"] for trial in point["trials"] if trial["error"]]
            return errors[0] if errors else "no trial finished"
    return "no efficiency"


def read_rows(document):
    """Of a result (JSON)."""
    alone = {point["point"]: point for point in document["baselines"]}
    rows = []
    for point in document["points"]:
        baseline = alone.get((point["baseline"] or {}).get("point"))
        row = Row(point["system"], point["batchSize"], point["throughput"], point["speedup"], point["efficiency"])
        row.problem = None if row.efficiency["value"] is not None else problem_of(point, baseline)
        rows.append(row)
    return rows


def text_of(figure, form, factor=1.0):
    """"80.1 (78.0-82.2)": a value with its interval, if it has one."""
    if figure["value"] is None:
        return "-"
    value, low, high = (None if figure[key] is None else form.format(factor * figure[key]) for key in ("value", "low", "high"))
    return value if low is None else f"{value} ({low}-{high})"


def hand_text(rounds):
    return figures.Spread.of([100 * share for share in rounds]).text(1) if rounds else ""


def table(rows, hand):
    """hand: the efficiencies of the rounds by hand, by key_of()."""
    lines = []
    for row in rows:
        rate = row.throughput["value"]
        lines.append([row.system, str(row.batch), text_of(row.throughput, "{:.4g}"),
                      "-" if rate is None else f"{rate / row.batch:.3g}", text_of(row.speedup, "{:.2f}"),
                      text_of(row.efficiency, "{:.1f}", 100), hand_text(hand.get(key_of(row.system, row.batch)))])
    return figures.table(["SYSTEM", "BATCH", "SAMPLES/S", "MINI-BATCHES/S", "SPEEDUP", "EFFICIENCY %", "BY HAND %"], lines)


def key_of(system, batch):
    return f"{system}, batch {batch}"


def mpi_row():
    """Only this machine knows where these are, so the definition does not have it."""
    command = ["mpirun", str(peers.interpreter("pytorch")), str(PLACE / "profiles" / "pytorch" / "train_mpi.py")]
    return {"name": MPI, "profile": "open-mpi", "exchange": {"kind": "AllReduce"}, "command": command,
            "log": {"lines": [{"kind": "Step", "scope": "Job", "pattern": r"step (?<step>\d+): (?<rate>) samples/s, loss (?<loss>)"}]}}


def definition(systems):
    """The shipped one, with Open MPI's row after its own where that is asked for."""
    text = (PLACE / f"{NAME}.yaml").read_text(encoding="utf-8")
    if MPI not in systems:
        return text
    begin = text.index("\n  workload:")
    return f"{text[:begin]}\n  - {json.dumps(mpi_row())}{text[begin:]}"


def missing(system):
    """Why it cannot run here; None: it can."""
    if system == MPI and shutil.which("mpirun") is None:
        return "there is no mpirun: apt-get install openmpi-bin"
    profile = NEEDS[system]
    if profile is not None and peers.maker(profile) is None:
        return peers.how_to_get(profile)
    try:
        if profile is not None:
            peers.install(profile)
    except (OSError, subprocess.CalledProcessError) as problem:
        return f"{profile} was not installed: {problem}"
    return None


@contextlib.contextmanager
def watched_load(loads):
    """Appends the machine's load to `loads` now and every LOAD_EVERY_S seconds."""
    ended = threading.Event()

    def watch():
        loads.append(os.getloadavg()[0])
        while not ended.wait(LOAD_EVERY_S):
            loads.append(os.getloadavg()[0])

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


class Bench:
    def __init__(self, args):
        self.args = args
        self.benchctl = os.environ.get("BENCHCTL", str(ROOT / "build" / "ctl" / "benchctl"))
        self.state = {"before": None, "missing": {}, "load": [], "hand": {}}
        if args.json and args.json.exists() and args.json.stat().st_size > 0:
            self.state |= json.loads(args.json.read_text(encoding="utf-8"))
        self.env = {**os.environ, "BENCHCTL_PATH": str(PLACE)}

    def save(self):
        if self.args.json:
            self.args.json.write_text(json.dumps(self.state, indent=1) + "\n", encoding="utf-8")

    def ctl(self, *words, quiet=False):
        """Exit code and output; what a run says of its progress goes on to the terminal."""
        done = subprocess.run([self.benchctl, *map(str, words), "--store", f"sqlite:{self.args.store}"], env=self.env,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL if quiet else None, text=True, check=False)
        return done.returncode, done.stdout

    def runs(self):
        """Of this definition, newest first."""
        code, said = self.ctl("get", "runs", "--local", "-o", "json", quiet=True)
        rows = json.loads(said) if code == 0 else []
        rows = rows.get("items", rows) if isinstance(rows, dict) else rows
        return [row["name"] for row in rows if row["benchmark"] == NAME]

    def result(self, run):
        return json.loads(self.ctl("results", run, "-o", "json")[1])

    def begin(self):
        """Starts the run and remembers its name. Its end may be that of a few points only: the rows say so."""
        args, systems = self.args, self.here()
        if not systems:
            return
        self.state["before"] = self.runs()
        self.save()  # whoever ends us now finds the run that we begin
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / f"{NAME}.yaml"
            path.write_text(definition(systems), encoding="utf-8")
            code, _ = self.ctl("run", path, "--local", "--systems", ",".join(systems), "--set",
                               f"batch_size={','.join(map(str, args.batches))}", "--steps", args.steps, "--repeats", args.rounds)
        if self.run() is None:
            raise OSError(f"benchctl run ended with {code} and left no run")

    def run(self):
        """The name of ours; None: it has not begun."""
        if self.state["before"] is None:
            return None
        return next((name for name in self.runs() if name not in self.state["before"]), None)

    def here(self):
        return [system for system in self.args.systems if system not in self.state["missing"]]

    def by_hand(self, rounds):
        """Until there are so many rounds of each."""
        for batch in self.args.batches:
            for system in [system for system in self.here() if system in by_hand.PAIRS]:
                done = self.state["hand"].setdefault(key_of(system, batch), [])
                while len(done) < rounds:
                    done.append(by_hand.efficiency(system, batch, self.args.steps))
                    print(f"by hand: {key_of(system, batch)}, round {len(done)}: {100 * done[-1]:.1f}%", file=sys.stderr, flush=True)
                    self.save()

    def rows(self):
        """Of the run, or of what was left of it."""
        run = self.run()
        with watched_load(self.state["load"]):
            if run is None:
                self.state["missing"] = {system: reason for system in self.args.systems if (reason := missing(system)) is not None}
                self.by_hand((self.args.rounds + 1) // 2)
                self.begin()
            else:
                self.ctl("run", "--local", "--resume", run)
            self.by_hand(self.args.rounds)
        self.save()
        run = self.run()
        return [] if run is None else read_rows(self.result(run))


def report(rows, state):
    """0 where all bars are reached, 1 where not."""
    met, hand = [], state["hand"]
    if rows:
        print(table(rows, hand))
        print("In brackets: 95% intervals; of BY HAND, without benchd, the least and the most round.\n")
    for system, reason in state["missing"].items():
        print(f"not here: {system}: {reason}")
    for row in rows:
        key = key_of(row.system, row.batch)
        if row.problem is not None:
            print(f"no figure: {key}: {row.problem}")
        if row.system in by_hand.PAIRS:
            met.append(row.meets(hand.get(key)))
            print(f"{'reached' if met[-1] else 'MISSED ':7}  {key}: {text_of(row.efficiency, '{:.1f}', 100)}% beside "
                  f"{hand_text(hand.get(key)) or 'nothing'} by hand")
    if state["load"]:
        print(f"load of the machine, its {os.cpu_count()} CPUs ours or not: {statistics.median(state['load']):.1f} (median), "
              f"{max(state['load']):.1f} at most")
    print(f"reached {sum(met)} of {len(met)}")
    return 0 if met and all(met) else 1


def positive(text):
    value = int(text)
    if value <= 0:
        raise argparse.ArgumentTypeError(f"expected a positive number, not {text}")
    return value


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=positive, default=5)
    parser.add_argument("--steps", type=positive, default=20)
    parser.add_argument("--batches", type=lambda text: [positive(word) for word in text.split(",")], default=[32, 128])
    parser.add_argument("--systems", type=figures.names_of(NEEDS), default=list(NEEDS), metavar="NAME,..", help="default all")
    parser.add_argument("--store", type=pathlib.Path, default=peers.cache_folder().parent / "systems.db")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="keeps what was measured; read again, it goes on")
    return parser.parse_args(argv)


def main(argv):
    args = parse(argv)
    figures.check_files(args.json)
    args.store.parent.mkdir(parents=True, exist_ok=True)
    bench = Bench(args)
    rows = bench.rows()
    return report(rows, bench.state)


if __name__ == "__main__":
    entry.run(main)
