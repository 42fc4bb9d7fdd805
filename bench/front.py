#!/usr/bin/env python3
"""script/bench front [--runs N] [--rounds N] [--paints N] [--points N]

How soon benchctl is there: `version`, which opens nothing, and `get runs --local` of a store of 1,000 runs. What the page of a
run of 44 points and 5 trials costs to make, how large it is, and when Chromium paints it.
How much memory verbs need that read a run of --points points and 5 trials.

The store is made here: one run of a tiny definition, with tests/ctl/fake_replica.c in place of a worker; its row is then
copied. The time of a command is its CPU time, the least of --rounds, because a machine that is busy otherwise delays an answer
but does not make it cost more; wall time, the least and the median, is printed next to it. A paint is the least of --paints, from
navigation to the first content.
Also prints how large the program is, and how many shared libraries it loads when it starts.
"""
import argparse
import dataclasses
import json
import os
import pathlib
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

import entry
import figures

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "browser")]
import chromium  # noqa: E402  (its folder is known only now)

MIB = 2**20
VERSION_S, LIST_S, LARGE_MIB = 0.010, 0.025, 64
REPORT_S, REPORT_MIB, REPORT_BYTES, PAINT_S = 1.0, 64, 250000, 0.3


@dataclasses.dataclass
class Cost:
    cpu_s: float
    wall_s: float
    max_rss_bytes: int


def cost_of(argv):
    """What one process cost. It must end well."""
    begin = time.monotonic()
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(map(str, argv))}: exit code {process.returncode}")
    return Cost(usage.ru_utime + usage.ru_stime, time.monotonic() - begin, usage.ru_maxrss * 1024)


def least(costs):
    """Of several calls of the same: the least time, the most memory."""
    return Cost(min(c.cpu_s for c in costs), min(c.wall_s for c in costs), max(c.max_rss_bytes for c in costs))


class Bars:
    def __init__(self):
        self.reached = self.all = 0

    def add(self, value, bar):
        self.reached += value <= bar
        self.all += 1
        return "reached" if value <= bar else "MISSED"


def definition():
    sys.path.insert(0, str(ROOT / "tests" / "ctl"))
    os.environ.setdefault("BENCHD_SOURCE_DIR", str(ROOT))
    os.environ.setdefault("BENCHCTL", "")
    os.environ.setdefault("BENCHD_BUILD_DIR", str(ROOT / "build-test"))
    import cli   # pylint: disable=import-outside-toplevel
    return cli.definition(repeats=1), cli.FAKE_REPLICA


def make_store(benchctl, folder, runs):
    """The path of a store with so many runs."""
    document, worker = definition()
    path, file = folder / "results.db", folder / "tiny.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    subprocess.run([benchctl, "run", file, "--store", f"sqlite:{path}", "-q"], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "BENCHWORKER": worker})
    with sqlite3.connect(path) as db:
        columns = [row[1] for row in db.execute("PRAGMA table_info(run)")]
        for i in range(1, runs):
            values = {"uid": f"{i:08x}-0000-4000-8000-000000000000", "name": f"tiny-{i:05}"}
            db.execute(f"INSERT INTO run ({','.join(columns)}) SELECT "
                       + ",".join(f":{c}" if c in values else c for c in columns) + " FROM run LIMIT 1", values)
    db.close()
    listed = json.loads(subprocess.run([benchctl, "get", "runs", "--store", f"sqlite:{path}", "-o", "json"], check=True,
                                       stdout=subprocess.PIPE).stdout)["items"]
    if len(listed) != runs:
        sys.exit(f"the store has {len(listed)} runs, not {runs}")
    return path


def libraries(program):
    done = subprocess.run(["ldd", program], stdout=subprocess.PIPE, text=True, check=False)
    return sum("=>" in line for line in done.stdout.splitlines())


def commands(benchctl, folder, args, bars):
    """version and the list: rows of a table."""
    path, lines = make_store(benchctl, folder, args.runs), []
    for words, bar_s in ((["version"], VERSION_S), (["get", "runs", "--store", f"sqlite:{path}"], LIST_S)):
        costs = [cost_of([benchctl, *words]) for _ in range(args.rounds)]
        cpu_s = min(c.cpu_s for c in costs)
        walls_s = [c.wall_s for c in costs]
        lines.append([" ".join(words[:2]), f"{1000 * cpu_s:.1f} ms", f"{1000 * bar_s:.0f} ms", bars.add(cpu_s, bar_s),
                      f"{1000 * min(walls_s):.1f}", f"{1000 * statistics.median(walls_s):.1f}"])
    return lines


def report(build, folder, args, bars):
    """The page of 44 points of 5 trials, made and opened: rows of a table."""
    store, page = folder / "report.db", folder / "page.html"
    subprocess.run([build / "bench" / "results_store", store], check=True, stdout=subprocess.DEVNULL)
    cost = least([cost_of([build / "ctl" / "benchctl", "report", "small-sweep-00000", "--store", f"sqlite:{store}", "--file", page])
                  for _ in range(args.rounds)])
    size = page.stat().st_size
    lines = [["report of 44 points x 5", f"{1000 * cost.cpu_s:.0f} ms", f"{1000 * REPORT_S:.0f} ms", bars.add(cost.cpu_s, REPORT_S),
              f"{1000 * cost.wall_s:.0f}", ""],
             ["  its memory", f"{cost.max_rss_bytes / MIB:.0f} MiB", f"{REPORT_MIB} MiB", bars.add(cost.max_rss_bytes / MIB, REPORT_MIB), "", ""],
             ["  its size", f"{size / 1000:.0f} kB", f"{REPORT_BYTES / 1000:.0f} kB", bars.add(size, REPORT_BYTES), "", ""]]
    paints_s = []
    with chromium.Chromium() as browser:
        for _ in range(args.paints):
            browser.show(f"file://{page}")
            paints_s.append(browser.first_paint_s())
    lines.append(["  its first paint in Chromium", f"{1000 * min(paints_s):.0f} ms", f"{1000 * PAINT_S:.0f} ms",
                  bars.add(min(paints_s), PAINT_S), "", f"{1000 * statistics.median(paints_s):.0f}"])
    return lines


def large(build, folder, args, bars):
    """The memory of verbs that read a run of --points points of 5 trials: rows of a table."""
    store, run, lines = folder / "large.db", "small-sweep-00000", []
    subprocess.run([build / "bench" / "results_store", store, str(args.points)], check=True, stdout=subprocess.DEVNULL)
    for words in (["results", run], ["results", run, "-o", "json"], ["results", run, "-o", "csv"], ["results", run, "--by", "replica"],
                  ["describe", run], ["report", run, "-o", "html"], ["export", run, "-f", folder / "large.benchd.db"],
                  ["compare", run, run], ["history", "small-sweep"]):
        cost = cost_of([build / "ctl" / "benchctl", *words, "--store", f"sqlite:{store}"])
        mib = cost.max_rss_bytes / MIB
        name = " ".join(str(w) for w in words if w not in (run, "small-sweep", "-f", folder / "large.benchd.db"))
        lines.append([f"{name} of {args.points:,} points x 5: memory", f"{mib:.0f} MiB", f"{LARGE_MIB} MiB", bars.add(mib, LARGE_MIB),
                      f"{1000 * cost.wall_s:.0f}", ""])
    return lines


def main(argv):
    parser = argparse.ArgumentParser(prog="script/bench front", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--paints", type=int, default=10)
    parser.add_argument("--points", type=int, default=10000, help="a multiple of 200")
    args = parser.parse_args(argv)
    build = pathlib.Path(os.environ.get("BENCHD_BUILD_DIR", ROOT / "build-test"))
    benchctl, bars = build / "ctl" / "benchctl", Bars()
    with tempfile.TemporaryDirectory(prefix="bench-front-") as name:
        folder = pathlib.Path(name)
        lines = commands(benchctl, folder, args, bars)
        lines += report(build, folder, args, bars) + large(build, folder, args, bars)
    print(figures.table(["WHAT", "MEASURED", "BAR", "", "WALL MS", "MEDIAN MS"], lines))
    print(f"{args.runs} runs; benchctl has {benchctl.stat().st_size / MIB:.1f} MiB with its symbols and loads {libraries(benchctl)} libraries")
    print(f"reached {bars.reached} of {bars.all}")
    return 0 if bars.reached == bars.all else 1


if __name__ == "__main__":
    entry.run(main)
