#!/usr/bin/env python3
"""script/bench controller: benchd on a real API server, with simulated nodes (KWOK) and every figure next to its bar.

  gang   160 pods of one point: benchd, a bare loop of libcurl and JobSet in turn; the next trial
  scale  10,000 pods, a run of 10,000 points, 10,000 pods of others: memory, etcd's bytes
  soak   1,000 runs in a row: memory, descriptors, objects

With --json FILE each round is a line of FILE, and rounds that are in FILE already are not measured again.
Ends with "reached N of M"; exit 1 where a bar is missed."""
import argparse
import json
import sys

import figures
import cores
from control import gang, plane, scale, soak

PARTS = {part.NAME: part for part in (gang, scale, soak)}


def parse(argv):
    parser = argparse.ArgumentParser(prog="script/bench controller", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", action="append", choices=PARTS, help="measure this one; may be repeated (default: all)")
    for name, value, text in (("rounds", 5, "of each part but soak, which has one"), ("pods", 10000, "of scale"),
                              ("points", 10000, "of the run of scale"), ("runs", 1000, "of soak")):
        parser.add_argument(f"--{name}", type=int, default=value, metavar="N", help=f"{text} (default {value})")
    parser.add_argument("--look", action="append", choices=scale.LOOKS, help="of scale: only this one; may be repeated (default: all)")
    parser.add_argument("--no-peers", dest="peers", action="store_false", help="gang without JobSet")
    parser.add_argument("--json", metavar="FILE", help="keeps every round, and goes on after those that it has")
    options = parser.parse_args(argv)
    if min(options.rounds, options.pods, options.points, options.runs) < 1:
        parser.error("expected positive numbers")
    return options


def key(part, options, i):
    return {"part": part.NAME, "round": i, "settings": part.settings(options)}


def kept(part, options):
    """{round: row} of FILE with these settings; the last row of a round counts."""
    return {row["round"]: row for row in figures.read_kept(options.json)
            if row["part"] == part.NAME and row["settings"] == part.settings(options)}


def measure(part, options, found):
    """Adds the rounds that are missing to {round: row}."""
    wanted = [i for i in range(1, (1 if part is soak else options.rounds) + 1) if i not in found]
    for i, row in zip(wanted, part.rounds(options, wanted) if wanted else ()):
        found[i] = {**key(part, options, i), **row}
        print(f"{part.NAME}, round {i}: {json.dumps(found[i])}", file=sys.stderr, flush=True)
        figures.keep(options.json, found[i])


def report(measured):
    """Tables and bars of [(part, rows, why it failed)]; the exit code."""
    rows = []
    for part, found, why in measured:
        loads = sorted(load for row in found for load in row["load"])
        print(f"\n{part.NAME}: {len(found)} rounds, load average {loads[0]:.1f} to {loads[-1]:.1f}" if loads else f"\n{part.NAME}:")
        if why:
            print(f"not finished: {why}")
        if found:
            print(figures.table(*part.table(found)))
        rows += part.bars(found)
        for row in part.bars(found):
            print(row.text())
    n_reached = sum(row.is_reached for row in rows)
    print(f"reached {n_reached} of {len(rows)}")
    return n_reached < len(rows) or any(why for _, _, why in measured)


def main(argv):
    options = parse(argv)
    print(json.dumps(cores.describe()))
    measured = []
    for name in dict.fromkeys(options.part or PARTS):
        part, why = PARTS[name], None
        found = kept(part, options)
        try:
            measure(part, options, found)
        except plane.FAILURES as error:
            why = f"{type(error).__name__}: {error}"
            print(f"{name}: {why}", file=sys.stderr, flush=True)
        measured.append((part, [found[i] for i in sorted(found) if i <= options.rounds], why))
    return report(measured)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
