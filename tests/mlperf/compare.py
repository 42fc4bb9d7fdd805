#!/usr/bin/env python3
"""Compares what benchd reads from a round of MLPerf with what mlperf_truth.py finds that the logs bear out.

A figure is right within 2% of what the log states, of its blocks, of the blocks without the first and of their median,
or between these where they are close. It is disputed where the log's statement and its blocks differ by more than 15%.
A log is refused where benchd gives no figure, and unjudged where mlperf_truth.py gives none.

usage: compare.py BENCHCTL ROUND TRUTH.jsonl [--wrong]     counts; with --wrong a line for each log that is not right
"""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

NEAR = 0.02


def benchctl(program, store, *arguments):
    command = [program, *arguments, "-o", "json", "--store", "sqlite:" + store]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit("%s: %s" % (" ".join(command), done.stderr.strip()))
    return json.loads(done.stdout)


def figures_of(program, round_directory):
    """Imports the round into a store of its own and returns ({file: (rate, unit) or None}, what import said)."""
    figures = {}
    with tempfile.TemporaryDirectory() as directory:
        store = os.path.join(directory, "results.db")
        said = benchctl(program, store, "import", "--mlperf", round_directory)
        for run in said["runs"]:
            document = benchctl(program, store, "describe", run["run"], "--local")
            files = {}
            for event in document["events"]:
                found = re.match(r"worker/0 of point (\d+), trial (\d+): (.*), \d+ bytes", event["note"])
                if found:
                    files[int(found[1]), int(found[2])] = os.path.realpath(found[3])
            for point in benchctl(program, store, "results", run["run"], "--local")["points"]:
                for trial in point["trials"]:
                    rate = (trial.get("throughput") or {}).get("value")
                    unit = (trial.get("throughput") or {}).get("unit")
                    figures[files[point["point"], trial["trial"]]] = (rate, unit) if rate else None
    return figures, said


def judge(figure, truth):
    """Returns the verdict on one log and how far the figure is from the nearest witness."""
    if figure is None:
        return "refused", None
    blocks, stated = truth.get("blocks", {}), truth.get("stated")
    witnesses = [blocks[name] for name in ("rate", "steady", "rest", "between") if blocks.get(name)]
    if stated and (stated["agrees"] or not witnesses):
        witnesses.append(stated["rate"])
    if not witnesses:
        return "unjudged", None
    off = min((figure / w - 1 for w in witnesses), key=abs)
    between = min(witnesses) <= figure <= max(witnesses) <= 1.25 * min(witnesses)
    if stated and blocks and not stated["agrees"] or "doubt" in truth:
        return "disputed", off
    return ("right" if between or abs(off) <= NEAR else "wrong"), off


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    program, round_directory, truth_file = sys.argv[1:4]
    figures, said = figures_of(program, round_directory)
    counts = collections.defaultdict(collections.Counter)
    for line in open(truth_file):
        truth = json.loads(line)
        path = os.path.realpath(truth["file"])
        figure, unit = figures.get(path) or (None, None)
        verdict, off = judge(figure, truth)
        counts[truth["benchmark"]][verdict] += 1
        if "--wrong" in sys.argv and verdict != "right":
            print(json.dumps({"verdict": verdict, "off": off, "benchd": figure, "unit": unit, **truth}))
    total = sum(counts.values(), collections.Counter())
    for name, count in [*sorted(counts.items(), key=str), ("all", total)]:
        print("%-20s" % name, "  ".join("%s %d" % pair for pair in sorted(count.items())))
    print("benchd's reasons:", json.dumps(said.get("logsRefused", {})))


if __name__ == "__main__":
    main()
