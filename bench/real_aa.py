#!/usr/bin/env python3
"""script/bench aa [--runs N] [--store FILE] [--json FILE]   Compares a program with itself, with real training on this machine.

Each run trains one point as two: a parameter that changes nothing has the values a and b. Compared inside one run, each is an A/A
comparison; and so is each run with the one before it, beside the others. The table says how many name a change, with the 95%
interval of that share (Clopper and Pearson), and the load of the machine meanwhile.

It also says what such trials would show: how many of the same comparisons inside one run would name b if its throughput were 5, 20 and 50%
less. The noise of the machine decides that, so there is no bar.

Of two runs it also says how many comparisons were left open because other programs had the CPUs of one of them (MachineBusy), and what others
took of the trials of both.

It may be ended at any time. Trials stay in the store, and the loads in the file of --json; a second call goes on with the run that was cut
short, and asks for more runs with a larger N. That file also keeps each verdict.

Ends with "reached N of M". The bar, of 200 comparisons or more inside one run: at most 1% name a change, plus two standard deviations of
a share that is counted in so few, as in script/bench coverage. Fewer comparisons decide nothing: exit 1.
"""
import argparse
import dataclasses
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import time

from figures import table

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAME = "real-aa"
ENOUGH = 200      # comparisons that the bar is held against
ALARM_SHARE = 0.01
ALARMS = ("Slower", "Faster")
ENDED = ("Succeeded", "PartiallyFailed", "Failed")
MOST_FAILED = 3   # runs in a row
BUSY = "MachineBusy"
LOSSES = (0.05, 0.2, 0.5)
ALPHA_NAMED = 0.01   # of a change inside one run


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


# ---- what the counts say ----

def at_most(count, n, share):
    """P(X <= count) of n comparisons, each of which names a change with this probability."""
    return sum(math.comb(n, k) * share**k * (1 - share)**(n - k) for k in range(count + 1))


def root(falls, target):
    """Where a function that falls from 1 at 0 to 0 at 1 is `target`."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if falls(middle) > target else (low, middle)
    return low


def share_interval(count, n):
    """95%, by Clopper and Pearson (Biometrika 26, 1934, 404-413); (0, 1) of none."""
    if n == 0:
        return 0.0, 1.0
    low = 0.0 if count == 0 else root(lambda share: at_most(count - 1, n, share), 0.975)
    high = 1.0 if count == n else root(lambda share: at_most(count, n, share), 0.025)
    return low, high


def bar_of(n):
    """The largest share of n comparisons that reaches the bar."""
    return ALARM_SHARE + 2 * math.sqrt(ALARM_SHARE * (1 - ALARM_SHARE) / n)


def student_p(t, df):
    """P(|T| >= |t|) for a whole number of degrees of freedom: Abramowitz and Stegun 26.7.3 and 26.7.4."""
    angle = math.atan2(abs(t), math.sqrt(df))
    sine, square = math.sin(angle), math.cos(angle)**2
    if df % 2 == 0:
        terms = [1.0]
        for k in range(1, df // 2):
            terms.append(terms[-1] * square * (2 * k - 1) / (2 * k))
        return 1 - sine * sum(terms)
    terms = [math.cos(angle)] if df > 1 else []
    for k in range(1, (df - 1) // 2):
        terms.append(terms[-1] * square * 2 * k / (2 * k + 1))
    return 1 - 2 / math.pi * (angle + sine * sum(terms))


def standard_error(comparison):
    """Of the mean log of the pairs' ratios, of a comparison inside one run; None: too few pairs, or they do not vary."""
    point, = comparison["points"]
    paired = point["paired"]
    return math.log(point["ratio"]["value"]) / paired["t"] if paired and paired["t"] else None


def would_name(comparison, loss):
    """Whether a comparison inside one run would be Slower if all trials of b had that much less throughput."""
    point, = comparison["points"]
    ratio = point["ratio"]["value"] * (1 - loss)
    p = student_p(math.log(ratio) / standard_error(comparison), int(point["paired"]["df"]))
    return p <= ALPHA_NAMED and ratio * (1 + comparison["threshold"]) <= 1


def power_line(inside):
    """What comparisons inside one run would show."""
    known = [d for d in inside if standard_error(d) is not None]
    if not known:
        return "one run: nothing says what a loss would look like"
    spread = statistics.median(standard_error(d) * math.sqrt(d["points"][0]["paired"]["pairs"]) for d in known)
    percents = ", ".join(f"{100 * loss:.0f}" for loss in LOSSES)
    counts = ", ".join(str(sum(would_name(d, loss) for d in known)) for loss in LOSSES)
    return (f"one run: with {percents}% less throughput b would be named in {counts} of {len(known)}; "
            f"pairs deviate by {100 * math.expm1(spread):.1f}% in the median")


@dataclasses.dataclass
class Series:
    """Comparisons of one kind, as (verdict, load or None)."""
    what: str
    seen: list

    @property
    def alarms(self):
        return sum(verdict in ALARMS for verdict, _ in self.seen)

    def cells(self):
        n, loads = len(self.seen), [load for _, load in self.seen if load is not None]
        low, high = share_interval(self.alarms, n)
        said = [load for verdict, load in self.seen if verdict in ALARMS and load is not None]
        return [self.what, f"{self.alarms} of {n}", f"{100 * low:.1f} to {100 * high:.1f}%",
                str(sum(verdict == "Inconclusive" for verdict, _ in self.seen)), loads_text(loads), loads_text(said)]


def loads_text(loads):
    return f"{statistics.median(loads):.1f} ({min(loads):.1f} to {max(loads):.1f})" if loads else "-"


# ---- what is measured ----

def others_of(comparison):
    """The largest share of a side that other programs took, over the points; None where nobody knows."""
    known = [point["others"] for point in comparison["points"] if point["others"]]
    return max((max(o["base"], o["candidate"]) for o in known), default=None)


def busy_lines(between):
    """What other programs had to do with the comparisons of two runs."""
    busy = [d for d in between if d["counts"]["machineBusy"] or d["history"]["verdict"] == BUSY]
    left_open = sum(d["verdict"] == "Inconclusive" for d in busy)
    took = [share for share in map(others_of, between) if share is not None]
    lines = [f"two runs: {left_open} of {len(between)} Inconclusive because other programs had the CPUs"]
    if took:
        lines.append(f"others took up to {100 * max(took):.0f}% of a side's speed, {100 * statistics.median(took):.1f}% in the median "
                     f"of {len(took)} comparisons that say it")
    return lines


class Log:
    """The rows of the runs by their names, in a file that is replaced whole after each."""

    def __init__(self, path):
        self.path = path
        self.rows = json.loads(path.read_text(encoding="utf-8"))["runs"] if path.exists() and path.stat().st_size > 0 else {}

    def add(self, name, **fields):
        self.rows.setdefault(name, {}).update(fields)

    def save(self):
        part = self.path.with_name(self.path.name + ".part")
        part.write_text(json.dumps({"benchmark": NAME, "runs": self.rows}, indent=1) + "\n", encoding="utf-8")
        os.replace(part, self.path)


class Bench:
    def __init__(self, args):
        self.benchctl = os.environ.get("BENCHCTL", str(ROOT / "build" / "ctl" / "benchctl"))
        self.store = args.store.resolve()
        self.args = args
        self.log = Log(args.json or self.store.with_suffix(".json"))

    def ctl(self, *words, codes=(0,)):
        done = subprocess.run([self.benchctl, *words, "--store", f"sqlite:{self.store}"], capture_output=True, text=True,
                              check=False)
        if done.returncode not in codes:
            sys.exit(f"benchctl {' '.join(words)}: exit code {done.returncode}\n{done.stderr}")
        return done.stdout

    def stored(self):
        """All of them, oldest first."""
        if not self.store.exists():
            return []
        rows = json.loads(self.ctl("get", "runs", "-o", "json"))["items"]
        return [row for row in reversed(rows) if row["benchmark"] == NAME]

    def runs(self):
        """Names of those that count."""
        return [row["name"] for row in self.stored() if row["phase"] == "Succeeded"]

    def run(self, *words):
        """One run to its end, and the load meanwhile: the mean of those before and after. Whether it counts."""
        before, begin = os.getloadavg()[0], time.time()
        result = json.loads(self.ctl("run", *words, "-o", "json", codes=(0, 1)))
        self.log.add(result["run"], phase=result["phase"], startedUnix=int(begin), seconds=round(time.time() - begin, 1),
                     load=round((before + os.getloadavg()[0]) / 2, 2))
        self.log.save()
        return result["phase"] == "Succeeded"

    def measure(self):
        path = self.store.with_suffix(".aa.json")
        path.write_text(json.dumps(definition(self.args.repeats)), encoding="ascii")
        for row in self.stored():
            if row["phase"] not in ENDED:
                print(f"run {row['name']} goes on", file=sys.stderr, flush=True)
                self.run("--resume", row["name"])
        failed = 0
        while (done := len(self.runs())) < self.args.runs:
            failed = 0 if self.run(str(path)) else failed + 1
            print(f"run {done + 1} of {self.args.runs}{' failed' if failed else ''}", file=sys.stderr, flush=True)
            if failed == MOST_FAILED:
                sys.exit(f"{failed} runs in a row have failed; benchctl describe latest --store sqlite:{self.store} says why")

    def verdict(self, *words):
        return json.loads(self.ctl("compare", *words, "-o", "json", codes=(0, 6, 15)))

    def report(self):
        names = self.runs()[:self.args.runs]
        load = {name: self.log.rows.get(name, {}).get("load") for name in names}
        inside = {name: self.verdict(name, "--axis", "side", "--margin", "2%") for name in names}
        between = {b: self.verdict(a, b) for a, b in zip(names, names[1:])}
        for name in names:
            self.log.add(name, inside=inside[name]["verdict"], margin=inside[name]["whole"]["margin"]["verdict"],
                         **({"besideTheOneBefore": between[name]["verdict"], "others": others_of(between[name])} if name in between else {}))
        self.log.save()
        rows = [Series("one run, a beside b", [(inside[name]["verdict"], load[name]) for name in names]),
                Series("a run beside the one before it", [(between[name]["verdict"], load[name]) for name in between])]
        print(f"{len(names)} runs of {self.args.repeats} trials a side; load: of the last minute on {os.cpu_count()} CPUs, "
              "median (least to most)\n")
        print(table(["COMPARED", "ALARMS", "95%", "INCONCLUSIVE", "LOAD", "LOAD AT ALARMS"], [row.cells() for row in rows]))
        shown = sum(d["whole"]["margin"]["verdict"] == "NotSlower" for d in inside.values())
        print(f"\none run: b shown not to be slower than 2% in {shown} of {len(inside)}")
        print(power_line(list(inside.values())))
        print("\n".join(busy_lines(list(between.values()))))
        known = [d["history"]["together"]["spread"] for d in between.values() if d["history"]["together"]]
        if known:
            print(f"runs of the same thing deviate by {100 * known[-1]:.2f}%")
        return conclude(rows[0])


def conclude(inside):
    """The bar of comparisons inside one run; the exit code."""
    n = len(inside.seen)
    if n < ENOUGH:
        print(f"not decided: {n} comparisons, {ENOUGH} needed\nreached 0 of 1")
        return 1
    share = inside.alarms / n
    reached = share <= bar_of(n)
    print(f"{'reached' if reached else 'MISSED '}  one run: {100 * share:.1f}% alarms, at most 1% (with chance {100 * bar_of(n):.1f}%)\n"
          f"reached {int(reached)} of 1")
    return 0 if reached else 1


def main():
    parser = argparse.ArgumentParser(prog="script/bench aa", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--store", type=pathlib.Path, default=pathlib.Path("real-aa.db"))
    parser.add_argument("--json", type=pathlib.Path, help="loads and verdicts (default: beside the store)")
    bench = Bench(parser.parse_args())
    bench.measure()
    sys.exit(bench.report())


if __name__ == "__main__":
    main()
