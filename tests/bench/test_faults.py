#!/usr/bin/env python3
"""script/bench faults with a crowd that only says numbers, and once with a small real one."""
import contextlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import bench_case
import faults

CROWD = pathlib.Path(os.environ["BENCHD_BUILD_DIR"]) / "bench" / "crowd"
FAKE = """#!/bin/sh
echo run >> "$0.runs"
%s
"""
WELL = ('echo \'{"trainers": 4, "servers": 500, "steps": 3, "compute_s": 0.0, "failed": 0, "step_s": 1.5, "cpu_s": 2.0, '
        '"early_peak_bytes": 0, "rss_peak_bytes": 0}\'')


class Faults(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)

    # 500 servers may have more of the kernel's memory than other programs of this machine take.
    def run_with(self, script, *args, crowd=None):
        path = pathlib.Path(self.dir.name, "crowd")
        path.write_text(FAKE % script, encoding="utf-8")
        path.chmod(0o700)
        return subprocess.run([sys.executable, bench_case.ROOT / "bench" / "faults.py", "--trials", "2", "--trainers", "4",
                               "--servers", "500", "--compute-ms", "0", *args], capture_output=True, text=True, check=False,
                              env={**os.environ, "CROWD": str(crowd or path)})

    def runs(self):
        path = pathlib.Path(self.dir.name, "crowd.runs")
        return len(path.read_text(encoding="utf-8").splitlines()) if path.exists() else 0

    def test_all_is_well(self):
        done = self.run_with(WELL)
        self.assertIn("reached  trials in which a process failed: 0.00 (0.00-0.00) <= 0", done.stdout)
        self.assertEqual(("reached 2 of 2", 0, 2), (done.stdout.splitlines()[-1], done.returncode, self.runs()))

    def test_a_failed_process_misses_the_bar(self):
        done = self.run_with("echo 'crowd: pserver/1: trainer/3: silent for 6.0 s' >&2; echo '{\"failed\": 1}'; exit 1")
        self.assertIn("trial 2: crowd: pserver/1: trainer/3: silent for 6.0 s", done.stdout)
        self.assertEqual(("reached 1 of 2", 1), (done.stdout.splitlines()[-1], done.returncode))

    def test_too_much_memory_misses_the_bar(self):
        trials = [{"failed": 0, "why": "", "tcp_peak_bytes": n} for n in (67_000_000, 68_000_000)]
        with contextlib.redirect_stdout(io.StringIO()) as out:
            code = faults.report(faults.parse(["--servers", "2"]), trials)
        self.assertIn("MISSED   most of the kernel's memory for TCP, MB: 68.00 (68.00-68.00) <= 67", out.getvalue())
        self.assertEqual(("reached 1 of 2", 1), (out.getvalue().splitlines()[-1], code))

    def test_a_crowd_that_hangs_or_says_nothing_has_failed(self):
        done = self.run_with("sleep 100", "--limit-s", "1", "--trials", "1")
        self.assertIn("trial 1: it hangs: not over after 1 s", done.stdout)
        self.assertEqual(1, done.returncode)
        done = self.run_with("exit 3", "--trials", "1")
        self.assertIn("trial 1: exit code 3", done.stdout)
        self.assertEqual(1, done.returncode)

    def test_trials_that_are_kept_are_not_run_again(self):
        file = pathlib.Path(self.dir.name, "trials")
        self.assertEqual(0, self.run_with(WELL, "--json", str(file)).returncode)
        self.assertEqual(2, self.runs())
        self.assertEqual(0, self.run_with(WELL, "--json", str(file), "--trials", "3").returncode)
        self.assertEqual((3, 3), (self.runs(), len(file.read_text(encoding="utf-8").splitlines())))

    def test_a_real_crowd(self):
        file = pathlib.Path(self.dir.name, "trials")
        done = self.run_with("", "--trials", "1", "--trainers", "3", "--servers", "2", "--steps", "1", "--json", str(file), crowd=CROWD)
        self.assertIn("reached  trials in which a process failed", done.stdout, done.stderr)  # the memory is everybody's
        kept = json.loads(file.read_text(encoding="utf-8"))
        self.assertEqual((3, 2, 1, 0), tuple(kept[key] for key in ("trainers", "servers", "steps", "failed")))
        self.assertGreater(kept["step_s"], 0)
        self.assertGreaterEqual(kept["tcp_peak_bytes"], 0)


if __name__ == "__main__":
    bench_case.main()
