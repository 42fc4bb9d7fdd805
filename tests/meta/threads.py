"""Tests of the suites unit and fake are of the suite `threads`, which tsan runs, if their program begins threads or handles
signals, and only then: in a program that does neither tsan has nothing to find.

threads.py ROOT BUILD_DIR: what a program does is what it takes from shared libraries. A test in C is its own program; of
another one those count that it depends on."""

import json
import os
import subprocess
import sys

import csource

SUITES = {"unit", "fake"}
# signal() sets but SIG_IGN and SIG_DFL here; handlers are set by sigaction().
SIGNS = {"pthread_create", "thrd_create", "uv_thread_create", "uv_thread_create_ex", "uv_queue_work", "uv_getaddrinfo",
         "uv_getnameinfo", "sigaction"}


def undefined(program):
    """What the program takes from shared libraries."""
    done = subprocess.run(["nm", "--dynamic", "--undefined-only", "--just-symbols", program], capture_output=True, text=True,
                          check=True)
    return {line.partition("@")[0] for line in done.stdout.splitlines()}


def programs(build, test, targets):
    own = os.path.realpath(test["cmd"][0])
    if own.startswith(os.path.realpath(build) + os.sep):
        return [own]
    return [path for target in test["depends"] if targets[target]["type"] == "executable"
            for path in targets[target]["filename"]]


def check(build, symbols=undefined):
    def read(name):
        with open(os.path.join(build, "meson-info", name), encoding="utf-8") as f:
            return json.load(f)
    targets = {target["id"]: target for target in read("intro-targets.json")}
    findings = []
    for test in read("intro-tests.json"):
        suites = {name.split(":")[-1] for name in test["suite"]}
        if not suites & SUITES:
            continue
        found = sorted(set().union(*map(symbols, programs(build, test, targets))) & SIGNS)
        if found and "threads" not in suites:
            findings.append(f"{test['name']}: not of the suite threads, and its program has {', '.join(found)}")
        if not found and "threads" in suites:
            findings.append(f"{test['name']}: of the suite threads, and its program has none, nor a handler of signals")
    return findings


if __name__ == "__main__":
    csource.main(lambda root: check(sys.argv[2]))
