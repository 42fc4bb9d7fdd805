#!/usr/bin/env python3
"""Names what the tests of suites run, one target of ninja a line: script/test builds no more of a tree that is for them alone.

Usage: suite_targets.py BUILD_DIR SUITE..."""
import json
import os
import pathlib
import sys


def main(build, *suites):
    info = pathlib.Path(build, "meson-info")
    tests = json.loads((info / "intro-tests.json").read_text(encoding="utf-8"))
    files = {target["id"]: target["filename"] for target in json.loads((info / "intro-targets.json").read_text(encoding="utf-8"))}
    needed = {target for test in tests if any(name.split(":")[-1] in suites for name in test["suite"]) for target in test["depends"]}
    for path in sorted({os.path.relpath(path, os.path.realpath(build)) for target in needed for path in files[target]}):
        print(path)
    if not needed:
        print(f"suite_targets.py: no test of {build} is of suite {' '.join(suites)}", file=sys.stderr)
    return 0 if needed else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
