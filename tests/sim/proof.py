#!/usr/bin/env python3
"""Puts mistakes into benchd, one at a time; the simulation must find each. script/sim --proof runs this.

  script/sim --proof              every row of tests/mutations/*.toml with the key `proof`
  script/sim --proof --short      the rows with proof = "short", as script/test runs them
  script/sim --proof --row NAME   one row, while you write it; may be repeated

Prints for each mistake the first seed that finds it, the steps to there, and the promise that is broken. Ends with
"found N of M"; exits 1 when one is not found, 2 when a row does not fit the code any more."""

import argparse
import concurrent.futures
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
SEEDS_LONG, SEEDS_SHORT = 1000, 40
TEST = "sim/seeds"  # its program is the simulation
FOUND = re.compile(r"^seed (\d+), (\d+) steps: (.*)$", re.MULTILINE)


def load_mutate():
    loader = importlib.machinery.SourceFileLoader("mutate", os.path.join(ROOT, "script/mutate"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutate", loader))
    loader.exec_module(module)
    return module


def search(program, number, first, last):
    """(seed, steps, what was broken) of the first seed that finds the mistake; None: none does."""
    done = subprocess.run([program, "--seeds", f"{first}..{last}", "--first", "--quick"], capture_output=True, text=True,
                          env={**os.environ, "BENCHD_MUTANT": str(number)}, stdin=subprocess.DEVNULL, check=False,
                          errors="replace")
    match = FOUND.search(done.stdout)
    if match is None and done.returncode != 0:
        raise OSError(f"the simulation ended with {done.returncode}: {done.stdout[-500:]}{done.stderr[-500:]}")
    return None if match is None else (int(match[1]), int(match[2]), match[3])


def prove(program, row, n_seeds):
    """As search; a world that is broken without the mistake shows nothing."""
    found = search(program, row.number, 1, n_seeds)
    if found is not None and search(program, 0, found[0], found[0]) is not None:
        return None
    return found


def write_log(path, rows, results):
    """For script/count_tests.py: one case a row."""
    tap = "".join(f"{'not ok' if found is None else 'ok'} {i} - {row.name}\n" for i, (row, found) in enumerate(zip(rows, results), 1))
    result = "OK" if all(found is not None for found in results) else "FAIL"
    pathlib.Path(path).write_text(json.dumps({"name": "proof", "result": result, "stdout": tap}) + "\n", encoding="utf-8")


def run(mutate, options):
    rows = mutate.read_rows(ROOT)
    mine = [row for row in rows if row.proof and (not options.short or row.proof == "short") and (not options.row or row.name in options.row)]
    if not mine:
        raise mutate.Misfit("no row is chosen")
    copy = mutate.copy_with_rows(ROOT, mutate.of_script_test(rows) if options.short else rows)
    tests = copy.tests()
    copy.build([tests[TEST]])
    program = tests[TEST]["cmd"][0]
    n_seeds = options.seeds or (SEEDS_SHORT if options.short else SEEDS_LONG)
    mutate.say(f"{len(mine)} mistakes, seeds 1..{n_seeds} each until it is found")
    begin = time.monotonic()
    results = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for row, found in zip(mine, pool.map(lambda row: prove(program, row, n_seeds), mine)):
            where = "NOT FOUND" if found is None else f"seed {found[0]}, {found[1]} steps: {found[2]}"
            print(f"{row.file}: {row.name}: {where}", flush=True)
            results.append(found)
    if options.log is not None:
        write_log(options.log, mine, results)
    n_found = sum(found is not None for found in results)
    print(f"found {n_found} of {len(mine)} in {time.monotonic() - begin:.0f} s")
    return 0 if n_found == len(mine) else 1


def main():
    parser = argparse.ArgumentParser(prog="script/sim --proof", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="the rows that are marked so, and the first seeds alone")
    parser.add_argument("--row", action="append", metavar="NAME", help="only the row of this name; may be repeated")
    parser.add_argument("--seeds", type=int, metavar="N", help=f"seeds 1..N (default: {SEEDS_LONG}; short: {SEEDS_SHORT})")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="mistakes at a time")
    parser.add_argument("--log", help="write a log for script/count_tests.py")
    options = parser.parse_args()
    mutate = load_mutate()
    try:
        return run(mutate, options)
    except (mutate.Misfit, OSError) as e:
        print(f"script/sim --proof: {e}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
