#!/usr/bin/env python3
"""script/bench front on a small store: both commands are measured and held against their bars."""
import os
import pathlib
import re
import subprocess
import sys
import unittest

import bench_case

BENCH = pathlib.Path(os.environ["BENCHD_SOURCE_DIR"]) / "bench" / "front.py"


class Front(unittest.TestCase):
    def test_every_figure_has_its_bar(self):
        done = subprocess.run([sys.executable, BENCH, "--runs", "7", "--rounds", "2"], capture_output=True, text=True, check=False)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        words = re.findall(r"^(version|get runs) +[\d.]+ +(5|15) +(reached|MISSED) ", done.stdout, re.M)
        self.assertEqual([row[:2] for row in words], [("version", "5"), ("get runs", "15")], done.stdout)
        self.assertIn("\n7 runs; benchctl has ", done.stdout)
        reached = sum(row[2] == "reached" for row in words)
        self.assertIn(f"\nreached {reached} of 2\n", done.stdout)
        self.assertEqual(done.returncode, 0 if reached == 2 else 1)


if __name__ == "__main__":
    bench_case.main()
