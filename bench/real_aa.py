#!/usr/bin/env python3
"""script/bench aa [--runs N] [--store FILE]   Compares a program with itself, with real training on this machine.

Each run trains one point as two: a parameter that changes nothing has the values a and b. Compared inside one run, each
is an A/A comparison; and so is each run with the one before it, beside the others. Prints how many name a change.
Runs stay in the store: a second call goes on where the first was ended, and asks for more runs with a larger N.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAME = "real-aa"


def definition(repeats):
    """One trainer without a server, measured as two values of an axis. The axis sets a pod label, which no local process reads."""
    return {
        "apiVersion": "benchd.io/v1alpha1", "kind": "Benchmark", "metadata": {"name": NAME},
        "spec": {
            "systems": [{"name": "benchworker", "profile": "benchworker"}],
            "workload": {"model": "vgg16-fluid-fc512", "dataset": {"kind": "Synthetic"}, "batchSize": 1, "threads": 1, "seed": 1,
                         "exchange": {"kind": "None"}, "compute": "Real"},
            "sweep": {"grid": {"trainers": [1], "side": ["a", "b"]}},
            "parameters": [{"name": "side", "targets": [{"roles": ["trainer"], "paths": ["/metadata/labels/side"]}]}],
            "baseline": {"kind": "Point", "where": {"trainers": 1}},
            "roles": {"trainer": {"replicas": {"from": "trainers"},
                                  "template": {"metadata": {"labels": {"side": "a"}}, "spec": {"containers": [{"name": "main"}]}}}},
            "measure": {"warmupSteps": 1, "steps": 4},
            "repeats": {"min": repeats, "order": "Interleaved"},
        },
    }


class Bench:
    def __init__(self, args):
        self.benchctl = os.environ.get("BENCHCTL", str(ROOT / "build" / "ctl" / "benchctl"))
        self.store = args.store.resolve()
        self.args = args

    def ctl(self, *words, codes=(0,)):
        done = subprocess.run([self.benchctl, *words, "--store", f"sqlite:{self.store}"], capture_output=True, text=True,
                              check=False)
        if done.returncode not in codes:
            sys.exit(f"benchctl {' '.join(words)}: exit code {done.returncode}\n{done.stderr}")
        return done.stdout

    def runs(self):
        """Names of the finished ones, oldest first."""
        if not self.store.exists():
            return []
        rows = json.loads(self.ctl("get", "runs", "-o", "json"))
        rows = rows.get("items", rows) if isinstance(rows, dict) else rows
        return [row["name"] for row in reversed(rows) if row["benchmark"] == NAME and row["phase"] == "Succeeded"]

    def measure(self):
        path = self.store.with_suffix(".aa.json")
        path.write_text(json.dumps(definition(self.args.repeats)), encoding="ascii")
        done = len(self.runs())
        for i in range(done, self.args.runs):
            self.ctl("run", str(path), "-o", "json")
            print(f"run {i + 1} of {self.args.runs}", file=sys.stderr, flush=True)

    def verdict(self, *words):
        return json.loads(self.ctl("compare", *words, "-o", "json", codes=(0, 6, 15)))

    def report(self):
        names = self.runs()[:self.args.runs]
        inside = [self.verdict(name, "--axis", "side", "--margin", "2%") for name in names]
        between = [self.verdict(a, b) for a, b in zip(names, names[1:])]
        print(f"{len(names)} runs of {self.args.repeats} trials a side")
        for what, documents in (("one run, a beside b", inside), ("a run beside the one before it", between)):
            verdicts = [d["verdict"] for d in documents]
            alarms = sum(v in ("Slower", "Faster") for v in verdicts)
            print(f"{what}: {alarms} alarms of {len(verdicts)}, {verdicts.count('Inconclusive')} inconclusive")
        shown = sum(d["whole"]["margin"]["verdict"] == "NotSlower" for d in inside)
        print(f"one run: b shown not to be slower than 2% in {shown} of {len(inside)}")
        known = [d["history"]["together"]["spread"] for d in between if d["history"]["together"]]
        if known:
            print(f"runs of the same thing deviate by {100 * known[-1]:.2f}%")


def main():
    parser = argparse.ArgumentParser(prog="script/bench aa", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--store", type=pathlib.Path, default=pathlib.Path("real-aa.db"))
    bench = Bench(parser.parse_args())
    bench.measure()
    bench.report()


if __name__ == "__main__":
    main()
