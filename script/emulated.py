#!/usr/bin/env python3
"""Names the tests of a build for another architecture that an emulator can run, one a line: script/test --arch runs them. The log
gets those that it cannot run, as skipped, with the reason.

Usage: emulated.py BUILD_DIR LOG

The tests in C run, and tests/worker/test_emulated.py. All others in Python start the programs of the build themselves, as this machine's."""
import json
import os
import pathlib
import sys

STARTS = "it starts programs of the build, and the kernel here knows no programs of another architecture"
SPEED = "it limits the CPU time of an input, and an emulator takes 10 to 40 times as much"
REASONS = {
    "daemon/memory": "it measures memory of the process, most of which is the emulator's",
    "fuzz/logparse": SPEED,
    "fuzz/request": SPEED,
    "fuzz/tree": SPEED,
    "fuzz/writers": SPEED,
    "host/cpu_wait": "it compares the CPU time of threads, of which the emulator takes a part",
    "host/probe": "it limits the CPU time of a multiply-add, which the emulator computes in software",
    "run/driver": STARTS,
    "run/foreign_cpu": STARTS,
    "run/parent_death": STARTS,
    "run/processes": STARTS,
    "worker/bench": STARTS,
    "sim/more": "it simulates 300 worlds, of which sim/seeds has the first",
    "worker/learn": "it trains for minutes of this machine's CPU time",
    "worker/conn": "four of its cases need TCP_INFO, SIOCOUTQNSD or SO_MAX_PACING_RATE, and the emulator hands on 4 bytes of the first, and not the others",
}


def main(build, log):
    tests = json.loads((pathlib.Path(build) / "meson-info" / "intro-tests.json").read_text(encoding="utf-8"))
    names = sorted(test["name"] for test in tests
                   if test["cmd"][0].startswith(os.path.realpath(build) + "/") or test["name"] == "worker/emulated")
    for name in names:
        if name not in REASONS:
            print(name)
    skipped = [json.dumps({"name": name, "result": "SKIP", "stdout": reason}) + "\n" for name, reason in REASONS.items()]
    pathlib.Path(log).write_text("".join(skipped), encoding="utf-8")
    unknown = sorted(REASONS.keys() - set(names))
    if unknown:
        print(f"emulated.py: no such test: {' '.join(unknown)}", file=sys.stderr)
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
