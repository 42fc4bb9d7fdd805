#!/usr/bin/env python3
"""script/bench faults: what counts as right, and 20 real trials."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import bench_case
import random_faults as rf

BUILD = pathlib.Path(os.environ["BENCHD_BUILD_DIR"])
# Under a sanitizer, three processes on two busy CPUs may be too slow to meet.
IS_SANITIZED = os.environ.get("BENCHD_SANITIZED") == "1"


def ended(name, code, peer="", ms=500, steps=3):
    return {"name": name, "code": code, "peer": peer, "message": "", "ended_ms": ms, "steps": steps}


KILLED, NAMES_IT = ended("worker/1", -9), ended("worker/0", 11, "worker/1")
BOTH_ENDS = [NAMES_IT, ended("worker/1", 11, "worker/0")]
# What happened: the fault, the processes, the other end of a cut, the step of the fault; what is wrong.
ROWS = {
    "all name the killed one": ("kill", [NAMES_IT, KILLED], "", 3, []),
    "all were through before it was killed": ("kill", [ended("worker/0", 0), ended("worker/1", 0)], "", 3, []),
    "a process does not end": ("kill", [ended("worker/0", None), KILLED], "", 3, ["hangs"]),
    "a process ends with wrong sums": ("kill", [ended("worker/0", 99), KILLED], "", 3, ["wrong sums"]),
    "a healthy peer is named": ("kill", [ended("worker/0", 11, "worker/2"), KILLED], "", 3, ["healthy peers named"]),
    "a process ends for another reason": ("kill", [ended("worker/0", 13), KILLED], "", 3, ["other ends"]),
    "the stopped one names a healthy peer": ("stop", BOTH_ENDS, "", 3, ["healthy peers named"]),
    "a pause ends no process": ("pause", BOTH_ENDS, "", 3, ["healthy peers named"] * 2),
    "a cut connection has two ends": ("cut", BOTH_ENDS, "worker/0", 3, []),
    "no connection was cut": ("cut", BOTH_ENDS, "", 3, ["healthy peers named"] * 2),
    "a killed one must be noticed within 2 s": ("kill", [ended("worker/0", 11, "worker/1", 2101), KILLED], "", 3, ["late"]),
    "a stopped one must be noticed within 10 s": ("stop", [ended("worker/0", 11, "worker/1", 10100), ended("worker/1", 0)], "", 3, []),
    "the first step may take longer": ("kill", [ended("worker/0", 11, "worker/1", 10100), KILLED], "", 0, []),
}


class Faults(unittest.TestCase):
    def test_verdicts(self):
        for name, (fault, processes, other, step, wanted) in ROWS.items():
            outcome = {"victim": "worker/1", "other": other, "struck_ms": 100, "struck_at_step": step, "processes": processes}
            with self.subTest(name):
                self.assertEqual(wanted, [kind for kind, _ in rf.judge({"fault": fault}, outcome)])

    @unittest.skipIf(IS_SANITIZED, "too slow")
    def test_20_real_ones(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "trials")
            done = subprocess.run([sys.executable, bench_case.ROOT / "bench" / "random_faults.py", "--trials", "20", "--seed", "18", "--silence-s", "15",
                                   "--late-s", "20", "--json", file], capture_output=True, text=True, check=False,
                                  env={**os.environ, "FAULT_TRIAL": str(BUILD / "bench" / "fault_trial")})
            self.assertEqual(0, done.returncode, done.stdout + done.stderr)
            trials = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        self.assertEqual(20, len(trials))
        self.assertGreater(sum(t["took_s"] is not None for t in trials), 5)  # gangs that ended by a fault


if __name__ == "__main__":
    bench_case.main()
