#!/usr/bin/env python3
"""benchctl validate takes every shipped definition and rejects every file of tests/wrong, at its place.

BENCHCTL names the program under test.
"""
import os
import subprocess
import sys

import tap

LAYERS = {"yaml", "schema", "cel", "benchd"}


def validate(benchctl, path):
    return subprocess.run([benchctl, "validate", path], capture_output=True, text=True, timeout=60)


def check_shipped(t, benchctl):
    for path in tap.SHIPPED:
        done = validate(benchctl, path)
        t.ok(done.returncode == 0, f"{path.name} is valid, also with its local block", done.stderr)


def check_wrong(t, benchctl):
    for path in tap.WRONG:
        tags = tap.wrong_tags(path)
        done = validate(benchctl, path)
        t.equal(2, done.returncode, f"{path.name}: exit code")
        t.match(tags["benchd"], done.stderr, f"{path.name}: message")
        place = rf"{path.name}:{tags['here']}:\d+: " if "here" in tags else rf"{path.name}:\d+:\d+: "
        t.match(place, done.stderr, f"{path.name}: place")


def check_tags(t):
    for path in tap.WRONG:
        tags = tap.wrong_tags(path)
        wanted = {"layer", "benchd"} | (set() if tags.get("layer") == "benchd" else {"expect"})
        t.equal(wanted, set(tags) - {"here"}, f"{path.name}: tags")
        t.ok(tags.get("layer") in LAYERS, f"{path.name}: layer", tags.get("layer"))


def main():
    t = tap.Tap()
    t.ok(len(tap.WRONG) >= 18, "there are wrong files", tap.WRONG)
    check_tags(t)
    benchctl = os.environ.get("BENCHCTL")
    if benchctl:
        check_shipped(t, benchctl)
        check_wrong(t, benchctl)
    else:
        print("ok # SKIP BENCHCTL is not set: benchctl validate was not run")
        t.count += 1
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
