#!/usr/bin/env python3
"""script/bench results [--store FILE] [--runs N] [--large N] [--trainers N] [--rounds N]

How fast benchctl answers from a large store, and how fast records become summaries and logs.

Makes a store of 1,000 runs of 44 points and 5 trials; 20 of them have 120 replicas a trial, with a summary each, the others
2 to 4. Then asks for tables, comparisons and histories. The time of a command is its CPU time, the least of --rounds: a
machine that is busy otherwise delays an answer, but does not make it cost more. Wall time stands beside it. A store that
--store names is made where it is missing, and kept. Needs 1 GB in the folder of temporary files.
"""
import argparse
import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import entry
import figures

ROOT = pathlib.Path(__file__).resolve().parent.parent
MIB = 2**20
TABLE_S, COMPARE_S, HISTORY_S, MEMORY_MIB = 0.2, 0.5, 1.0, 64


@dataclasses.dataclass
class Cost:
    cpu_s: float
    wall_s: float
    max_rss_bytes: int


def cost_of(argv):
    """What one process cost. It must end well: with 0, or as compare does (6: slower, 15: inconclusive)."""
    begin = time.monotonic()
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in (0, 6, 15):
            errors.seek(0)
            sys.exit(f"{' '.join(map(str, argv))}: exit code {process.returncode}\n{errors.read().decode(errors='replace')}")
    return Cost(usage.ru_utime + usage.ru_stime, time.monotonic() - begin, usage.ru_maxrss * 1024)


def least(costs):
    """Of several calls of the same: the least time, the most memory."""
    return Cost(min(c.cpu_s for c in costs), min(c.wall_s for c in costs), max(c.max_rss_bytes for c in costs))


def commands(runs, large):
    """(words, seconds or None); names are those of results_store. The newest run is a large one, where there are any."""
    is_large = [(i + 1) * large // runs > i * large // runs for i in range(runs)]
    small = [f"small-sweep-{i:05}" for i in range(runs) if not is_large[i]]
    big = [f"large-sweep-{i:05}" for i in range(runs) if is_large[i]]
    rows = [(["get", "runs"], TABLE_S)]
    for name in [names[-1] for names in (small, big) if names]:
        rows.append((["results", name], TABLE_S))
        for by in ("node", "replica", "curve", "phase"):
            rows.append((["results", name, "--by", by], TABLE_S))
        rows.append((["results", name, "--rows", "batch_size", "--columns", "pservers"], TABLE_S))
        for form in ("markdown", "csv"):
            rows.append((["results", name, "-o", form], TABLE_S))
        rows.append((["results", name, "-o", "json"], None))  # each replica with its summary: no table
        rows.append((["describe", name], None))
    for names in (small, big):
        if len(names) > 1:
            rows.append((["compare", names[-2], names[-1]], COMPARE_S))
    for names, benchmark in ((small, "small-sweep"), (big, "large-sweep")):
        if names:
            rows.append((["history", benchmark], HISTORY_S))
    rows.append((["history", "small-sweep", "--last", "1000"], HISTORY_S))
    return rows


class Bars:
    def __init__(self):
        self.reached = self.all = 0

    def add(self, value, bar, sign="<="):
        """The word of one figure; None: no bar."""
        if bar is None:
            return "-"
        reached = figures.SIGNS[sign](value, bar)
        self.reached += reached
        self.all += 1
        return "reached" if reached else "MISSED"


def make_store(program, path, args):
    if path.exists():
        return
    begin = time.monotonic()
    part = path.with_name(path.name + ".part")
    for left in path.parent.glob(part.name + "*"):
        left.unlink()
    subprocess.run([program, part, str(args.runs), str(args.large), str(args.trainers)], check=True)
    part.rename(path)
    print(f"made {args.runs} runs in {time.monotonic() - begin:.0f} s: {path.stat().st_size / MIB:.0f} MiB", file=sys.stderr)


def tables(benchctl, path, args, bars):
    lines = []
    for words, bar_s in commands(args.runs, args.large):
        cost = least([cost_of([benchctl, *words, "--store", f"sqlite:{path}"]) for _ in range(args.rounds)])
        memory_bar = None if bar_s is None else MEMORY_MIB
        lines.append([" ".join(words), f"{1000 * cost.cpu_s:.0f}", "-" if bar_s is None else f"{1000 * bar_s:.0f}",
                      bars.add(cost.cpu_s, bar_s), f"{1000 * cost.wall_s:.0f}", f"{cost.max_rss_bytes / MIB:.0f}",
                      "-" if memory_bar is None else str(memory_bar), bars.add(cost.max_rss_bytes / MIB, memory_bar)])
        print(f"{lines[-1][1]:>8} ms  {lines[-1][0]}", file=sys.stderr, flush=True)
    print(figures.table(["COMMAND", "CPU MS", "BAR", "", "WALL MS", "MIB", "BAR", ""], lines))


def records(program, folder, args, bars):
    done = subprocess.run([program, folder / "records.db", str(args.replicas)], check=True, stdout=subprocess.PIPE, text=True)
    figure = json.loads(done.stdout)
    print(f"\n{figure['records']:,} step records of {figure['replicas']:,} replicas, {figure['json_bytes'] / MIB:.0f} MiB of "
          f"JSON, into summaries and compressed logs of {figure['stored_bytes'] / MIB:.0f} MiB")
    rows = [("records a CPU second", figure["records_per_cpu_s"], 200000, ">=", "{:,.0f}"),
            ("JSON over what is stored", figure["json_bytes"] / figure["stored_bytes"], 10, ">=", "{:.1f}")]
    print(figures.table(["FIGURE", "VALUE", "BAR", ""],
                        [[what, text.format(value), text.format(bar), bars.add(value, bar, sign)]
                         for what, value, bar, sign, text in rows]))


def main(argv):
    parser = argparse.ArgumentParser(prog="script/bench results", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--large", type=int, default=20)
    parser.add_argument("--trainers", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--replicas", type=int, default=26400, help="of the step records: a hundred each")
    args = parser.parse_args(argv)
    build = pathlib.Path(os.environ.get("BENCHD_BUILD_DIR", ROOT / "build"))
    folder = pathlib.Path(tempfile.mkdtemp(prefix="bench-results-"))
    bars = Bars()
    try:
        path = (args.store or folder / "results.db").resolve()
        make_store(build / "bench" / "results_store", path, args)
        tables(build / "ctl" / "benchctl", path, args, bars)
        records(build / "bench" / "step_records", folder, args, bars)
    finally:
        shutil.rmtree(folder)
    print(f"reached {bars.reached} of {bars.all}")
    return 0 if bars.reached == bars.all else 1


if __name__ == "__main__":
    entry.run(main)
