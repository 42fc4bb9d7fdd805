#!/usr/bin/env python3
"""Adds up the logs of `meson test` (testlog.json): prints the stages and the slowest tests with their seconds, names what
failed or was skipped and why, and ends with the line 'N passed, N failed' (', N skipped' if any).

Usage: count_tests.py [--stages FILE] LABEL.json...

FILE has a line 'SECONDS NAME' for each stage of script/test.

A program that speaks TAP counts by its cases, any other as one. A program that crashed or ran out of
time is a failure whatever its cases said, and so is a log without a single test."""
import argparse
import itertools
import json
import pathlib
import re
import sys

SLOWEST = 20
SAID_LINES = 16   # the last of what a case says of its failure: the message comes after where it was
TAP = re.compile(r"^(not )?ok\b *\d* *-? *(.*?)(?: *# *(skip|todo)\b *(.*))?$", re.I)


def cases_of(test):
    """Yields (outcome, name, reason) for each case of one program, with what it said of its failure below the name."""
    lines = (test.get("stdout") or "").splitlines()
    tap = [m for m in map(TAP.match, lines) if m]
    for i, m in ((i, TAP.match(line)) for i, line in enumerate(lines)):
        bad, name, directive, reason = m.groups() if m else (None, None, None, None)
        if m and (directive or "").lower() == "skip":
            yield "skipped", name, reason
        elif bad:
            said = list(itertools.takewhile(lambda line: line.startswith("#"), lines[i + 1:]))[-SAID_LINES:]
            yield "failed", "\n".join([name, *said]), ""
        elif m:
            yield "passed", name, ""
    if not tap and test["result"] in ("OK", "EXPECTEDFAIL"):
        yield "passed", "", ""
    elif not tap and test["result"] == "SKIP":
        text = ((test.get("stdout") or "") + (test.get("stderr") or "")).strip()
        yield "skipped", "", text.splitlines()[-1] if text else "gives no reason"
    elif test["result"] not in ("OK", "EXPECTEDFAIL", "SKIP") and not any(m[1] for m in tap):
        yield "failed", "", test["result"]


def print_seconds(title, rows):
    print(title)
    for seconds, name in rows:
        print(f"{seconds:7.0f} s  {name}")
    print()


def stages_of(path):
    rows = (line.split(" ", 1) for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines())
    return [(float(seconds), name) for seconds, name in rows]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--stages")
    parser.add_argument("logs", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    lists = {"passed": [], "failed": [], "skipped": []}
    durations = []
    for path in options.logs:
        tests = [json.loads(line) for line in path.read_text().splitlines()]
        if not tests:
            lists["failed"].append(f"{path.stem}: no test ran")
        for test in tests:
            durations.append((test.get("duration", 0), f"{path.stem}: {test['name']}"))
            for outcome, name, reason in cases_of(test):
                words = [f"{path.stem}:", test["name"], name, f"({reason})" if reason else ""]
                lists[outcome].append(" ".join(filter(None, words)))
    if options.stages is not None:
        print_seconds("stages", stages_of(options.stages))
        print_seconds("slowest tests", sorted(durations, reverse=True)[:SLOWEST])
    for outcome in ("skipped", "failed"):
        for line in lists[outcome]:
            print(f"{outcome.upper():8}{line}")
    tail = f", {len(lists['skipped'])} skipped" if lists["skipped"] else ""
    print(f"{len(lists['passed'])} passed, {len(lists['failed'])} failed{tail}")
    return 1 if lists["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
