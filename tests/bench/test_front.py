#!/usr/bin/env python3
"""script/bench front on small stores: all commands are measured and held against their bars."""
import os
import pathlib
import re
import subprocess
import sys
import unittest

import bench_case

BENCH = pathlib.Path(os.environ["BENCHD_SOURCE_DIR"]) / "bench" / "front.py"
LARGE = ("results", "results -o json", "results -o csv", "results --by replica", "describe", "report -o html", "export", "compare", "history")


class Front(unittest.TestCase):
    def test_every_figure_has_its_bar(self):
        done = subprocess.run([sys.executable, BENCH, "--runs", "7", "--rounds", "2", "--paints", "1",
                               "--points", "200"], capture_output=True, text=True, check=False)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        rows = re.findall(r"^ *(\w.*?)  +[\d.]+ (?:ms|MiB|kB) +([\d]+ (?:ms|MiB|kB)) +(reached|MISSED)", done.stdout, re.M)
        self.assertEqual([row[:2] for row in rows],
                         [("version", "10 ms"), ("get runs", "25 ms"), ("completion from a cluster", "300 ms"), ("report of 44 points x 5", "1000 ms"), ("its memory", "64 MiB"),
                          ("its size", "250 kB"), ("its first paint in Chromium", "300 ms"),
                          *((f"{verb} of 200 points x 5: memory", "64 MiB") for verb in LARGE)],
                         done.stdout + done.stderr)
        self.assertIn("\n7 runs; benchctl has ", done.stdout)
        reached = sum(row[2] == "reached" for row in rows)
        self.assertIn(f"\nreached {reached} of {len(rows)}\n", done.stdout)
        self.assertEqual(done.returncode, 0 if reached == len(rows) else 1)


if __name__ == "__main__":
    bench_case.main()
