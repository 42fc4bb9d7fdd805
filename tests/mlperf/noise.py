#!/usr/bin/env python3
"""How benchctl compare judges the spread of real clusters: trials of one entry of MLPerf Training, replayed.

  noise.py BENCHCTL RATES [--points K] [--seed S]

RATES is what reread.py printed, of any rounds. For each number of trials n, benchctl imports their throughputs as two runs with K
points each, and compares them. A point has n trials of an entry on one side and n others of it on the other side; they are drawn
without replacement if the entry has 2 n trials. In K more points the other side is 1% slower, in K more 5%. Printed is how many
points their own test names (Welch's p is at most 0.01; there is no threshold).

Then it draws n trials with replacement and prints how many of their intervals hold the middle of the entry. It does the same with
entries that have normal logarithms: that shows what drawing from ten trials costs by itself."""

import argparse
import json
import math
import pathlib
import random
import statistics
import subprocess
import tempfile

ALPHA = 0.01
POINTS_MAX = 256   # of a run
SHIFTS = (1, 0.99, 0.95)
# t(0.995, df)
CRITICAL = dict(enumerate((63.657, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250, 3.169, 3.106, 3.055, 3.012, 2.977, 2.947,
                           2.921, 2.898, 2.878), 1))


def entries_of(path):
    entries = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            log = json.loads(line)
            if log["throughput"] is not None and log["target"] != "aborted":
                entries.setdefault(log["path"].rpartition("/")[0], []).append(log["throughput"])
    return list(entries.values())


def draw(rates, n, rng):
    """n trials and n others."""
    return rng.sample(rates, 2 * n) if len(rates) >= 2 * n else rng.choices(rates, k=2 * n)


def run(benchctl, folder, sides, n):
    """Two runs of as many points as a run may have, until all are compared: p by point, and (point, figure) of both results."""
    def ctl(*words):
        return subprocess.run([benchctl, *words, "--local", "--store", f"sqlite:{folder}/noise.db"], capture_output=True, text=True,
                              check=False, cwd=folder)
    p_of, figures = {}, []
    for first in range(0, len(sides), POINTS_MAX):
        runs = []
        for half in (0, n):
            words = []
            for i in range(first, min(first + POINTS_MAX, len(sides))):
                for k, rate in enumerate(sides[i][half:half + n]):
                    (folder / f"{i}-{k}").write_text(f"total images/sec: {rate!r}\n", encoding="utf-8")
                    words.append(f"entry={i}:{i}-{k}")
            runs.append(ctl("import", "--rules", "tf-cnn-benchmarks", "--batch", "1", "--name", "noise", *words).stdout.split()[0])
        compared = json.loads(ctl("compare", *runs, "-o", "json").stdout)
        p_of |= {p["parameters"]["entry"]: p["welch"]["p"] for p in compared["points"]}
        for run_of in runs:
            figures += [(p["parameters"]["entry"], p["throughput"]) for p in json.loads(ctl("results", run_of, "-o", "json").stdout)["points"]]
    return p_of, figures


def study(benchctl, entries, n, k, rng):
    usable = [e for e in entries if len(e) >= 9]
    compared = k * len(SHIFTS)   # of the points; 2 k more are for the intervals
    drawn = [rng.choice(usable) for _ in range(compared + k)]
    drawn += [normal_like(e, rng) for e in drawn[-k:]]
    sides = [draw(e, n, rng) if i < compared else rng.choices(e, k=2 * n) for i, e in enumerate(drawn)]
    for i, side in enumerate(sides[:compared]):
        side[n:] = [x * SHIFTS[i // k] for x in side[n:]]
    with tempfile.TemporaryDirectory() as folder:
        p_of, figures = run(benchctl, pathlib.Path(folder), sides, n)
    whole = sum(len(e) >= 2 * n for e in drawn[:k]) / k
    print(f"n {n}: {len(usable)} entries, {100 * whole:.0f}% of points without replacement")
    for i, shift in enumerate(SHIFTS):
        seen = [(p_of[j] <= ALPHA, math.sqrt(variance(list(map(math.log, drawn[j]))))) for j in range(i * k, (i + 1) * k)]
        enough = needed(n, -math.log(shift)) if shift < 1 else 0
        quiet = [s for s, spread in seen if spread <= enough]
        text = f", {sum(quiet)} of {len(quiet)} where the entry's spread of {100 * enough:.2f}% or less allows 95%" if shift < 1 else ""
        print(f"  second side {100 * (1 - shift):.0f}% slower: named {sum(s for s, _ in seen)} of {k}{text}")
    real, normal = (sum(f["low"] <= middle(drawn[i], n) <= f["high"] for i, f in figures if first <= i < first + k)
                    for first in (compared, compared + k))
    print(f"  intervals: {real} of {2 * k} hold the middle of their entry, {normal} those of normal entries", flush=True)


def middle(rates, n):
    """What the interval of n trials is for."""
    return statistics.median(rates) if n >= 6 else math.exp(math.fsum(map(math.log, rates)) / len(rates))


def normal_like(rates, rng):
    logs = list(map(math.log, rates))
    return [math.exp(rng.gauss(math.fsum(logs) / len(logs), math.sqrt(variance(logs)))) for _ in logs]


def variance(x):
    """As statistics.variance, which is exact, and slow."""
    mean = math.fsum(x) / len(x)
    return math.fsum((v - mean) ** 2 for v in x) / (len(x) - 1)


def needed(n, difference):
    """The largest spread of ln X for which Welch's test of n trials with n others names the difference with 95%, by simulation."""
    rng = random.Random(n)

    def is_named(spread):
        a, b = ([rng.gauss(m, spread) for _ in range(n)] for m in (0, difference))
        v, w = (variance(x) / n for x in (a, b))
        df = (v + w) ** 2 / ((v * v + w * w) / (n - 1))
        return abs(statistics.fmean(a) - statistics.fmean(b)) > CRITICAL[min(round(df), 18)] * math.sqrt(v + w)
    low, high = 0, difference
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(is_named(middle) for _ in range(4000)) >= 3800 else (low, middle)
    return low


def main(words=None):
    p = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    p.add_argument("benchctl")
    p.add_argument("rates")
    p.add_argument("--points", type=int, default=300)
    p.add_argument("--seed", type=int, default=1)
    args = p.parse_args(words)
    entries = entries_of(args.rates)
    spreads = statistics.quantiles([statistics.stdev(map(math.log, e)) for e in entries if len(e) >= 5], n=4)
    print(f"{len(entries)} entries; spread of ln X of those with 5 trials or more, quartiles: {', '.join(f'{100 * s:.2f}%' for s in spreads)}")
    for n in (3, 5, 10):
        study(args.benchctl, entries, n, args.points, random.Random(args.seed * 100 + n))


if __name__ == "__main__":
    main()
