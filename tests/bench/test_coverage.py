#!/usr/bin/env python3
"""The report on intervals: every figure is compared with its bar, and the last line and the exit code say so."""
import os
import pathlib
import re
import subprocess
import unittest

import bench_case

PROGRAM = pathlib.Path(os.environ["BENCHD_BUILD_DIR"]) / "bench" / "interval_coverage"
ROW = re.compile(r"(normal|skewed|exponential|stragglers) +([15])%  (point|ratio|efficiency|geomean|paired|paired all|margin|half width) +([\d.+ -]+?)"
                 r"  +([\d.]+ to [\d.]+|falls)$")


def run(*args):
    return subprocess.run([PROGRAM, *args], capture_output=True, text=True, check=False)


class Coverage(unittest.TestCase):
    def check(self, experiments):
        done = run(experiments)
        rows = [m for m in map(ROW.match, done.stdout.splitlines()) if m]
        self.assertEqual(4 * 2 * 7 + 2, len(rows))
        everything = 0
        for shape, noise, kind, text, bar in (m.groups() for m in rows):
            values = [float(word.rstrip("+-")) for word in text.split()]
            self.assertEqual(8, len(values), text)
            if bar == "falls":
                everything += 7
                continue
            everything += 8
            for value, word in zip(values, text.split()):
                self.assertEqual("-" if value < 94 else "+" if value > 97 else "", word.lstrip("0123456789."))
                self.assertGreater(value, 80, (shape, noise, kind, experiments))
        missed = sum(line.startswith("MISSED  ") for line in done.stdout.splitlines())
        last = done.stdout.splitlines()[-1]
        self.assertEqual(f"reached {everything - missed} of {everything}", last)
        self.assertEqual(1 if missed else 0, done.returncode)
        return missed

    def test_many_experiments_are_within_the_bars(self):
        self.assertLess(self.check("1000"), 46)  # of 462; the deviation of a figure is 0.7

    def test_few_experiments_miss_bars(self):
        self.assertGreater(self.check("50"), 60)  # steps of 2 cannot be held to 94 to 97

    def test_usage(self):
        for args in (["0"], ["x"], ["1", "2"]):
            done = run(*args)
            self.assertEqual(2, done.returncode, args)
            self.assertIn("usage: ", done.stderr)


if __name__ == "__main__":
    bench_case.main()
