#!/usr/bin/env python3
"""script/bench front [--runs N] [--rounds N]

How soon benchctl is there: `version`, which opens nothing, and `get runs --local` of a store of 1,000 runs.

The store is made here: one run of a tiny definition, with tests/ctl/fake_worker.py in place of a worker, whose row is then
copied. The time of a command is its CPU time, the least of --rounds, because a machine that is busy otherwise delays an answer
but does not make it cost more; wall time, the least and the median, stands beside it. Also prints how large the program is,
and how many shared libraries it loads.
"""
import argparse
import json
import os
import pathlib
import sqlite3
import statistics
import subprocess
import sys
import tempfile

import figures
from results import Bars, MIB, cost_of

ROOT = pathlib.Path(__file__).resolve().parent.parent
VERSION_S, LIST_S = 0.005, 0.015


def definition():
    sys.path.insert(0, str(ROOT / "tests" / "ctl"))
    os.environ.setdefault("BENCHD_SOURCE_DIR", str(ROOT))
    os.environ.setdefault("BENCHCTL", "")
    import cli   # pylint: disable=import-outside-toplevel
    return cli.definition(repeats=1), cli.FAKE_WORKER


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


def main():
    parser = argparse.ArgumentParser(prog="script/bench front", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=20)
    args = parser.parse_args()
    benchctl = pathlib.Path(os.environ.get("BENCHD_BUILD_DIR", ROOT / "build")) / "ctl" / "benchctl"
    bars, lines = Bars(), []
    with tempfile.TemporaryDirectory(prefix="bench-front-") as folder:
        path = make_store(benchctl, pathlib.Path(folder), args.runs)
        for words, bar_s in ((["version"], VERSION_S), (["get", "runs", "--store", f"sqlite:{path}"], LIST_S)):
            costs = [cost_of([benchctl, *words]) for _ in range(args.rounds)]
            cpu_s = min(c.cpu_s for c in costs)
            walls_s = [c.wall_s for c in costs]
            lines.append([" ".join(words[:2]), f"{1000 * cpu_s:.1f}", f"{1000 * bar_s:.0f}", bars.add(cpu_s, bar_s),
                          f"{1000 * min(walls_s):.1f}", f"{1000 * statistics.median(walls_s):.1f}"])
    print(figures.table(["COMMAND", "CPU MS", "BAR", "", "WALL MS", "MEDIAN"], lines))
    print(f"{args.runs} runs; benchctl has {benchctl.stat().st_size / MIB:.1f} MiB with its symbols and loads {libraries(benchctl)} libraries")
    print(f"reached {bars.reached} of {bars.all}")
    sys.exit(0 if bars.reached == bars.all else 1)


if __name__ == "__main__":
    main()
