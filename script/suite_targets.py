#!/usr/bin/env python3
"""Names what tests run, one target of ninja a line: script/test builds no more of a tree that is for them alone.

Usage: suite_targets.py BUILD_DIR SUITE_OR_TEST..."""
import json
import os
import pathlib
import sys


def main(build, *names):
    info = pathlib.Path(build, "meson-info")
    tests = json.loads((info / "intro-tests.json").read_text(encoding="utf-8"))
    files = {target["id"]: target["filename"] for target in json.loads((info / "intro-targets.json").read_text(encoding="utf-8"))}
    needed = {target for test in tests if {test["name"], *(name.split(":")[-1] for name in test["suite"])} & set(names) for target in test["depends"]}
    for path in sorted({os.path.relpath(path, os.path.realpath(build)) for target in needed for path in files[target]}):
        print(path)
    if not needed:
        print(f"suite_targets.py: no test of {build} is {' '.join(names)}", file=sys.stderr)
    return 0 if needed else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
