#!/usr/bin/env python3
"""script/bench measured: its verdict by hand, and the program with a benchctl that only starts the command."""
import contextlib
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import bench_case
import measured

FAKE = f"""#!{sys.executable}
import json, subprocess, sys
spec = json.load(open(sys.argv[2]))["spec"]
sys.exit(subprocess.run(spec["systems"][0]["command"], stdout=subprocess.DEVNULL).returncode)
"""


def took(wall_s, cpu_s):
    """Three slices, one of them disturbed."""
    return {"wall_s": [wall_s, wall_s, 9 * wall_s], "cpu_s": [cpu_s, cpu_s, 9 * cpu_s]}


class Measured(unittest.TestCase):
    def report(self, *rounds):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = measured.report(measured.parse([]), list(rounds))
        return code, out.getvalue()

    def test_verdicts(self):
        rows = [  # alone, measured, exit code, text
            (took(10, 10), took(10.04, 10.2), 0, "the wall counts"),           # 0.4% by the wall, 2% by CPU time
            (took(10, 10), took(10.06, 10), 1, "the wall counts"),
            (took(10, 9), took(12, 9.04), 0, "CPU time counts"),               # somebody else took the CPU
            (took(10, 9), took(10, 9.06), 1, "CPU time counts"),
            (took(10, 4), took(10, 4), 1, "the machine is too busy to decide"),
        ]
        for alone, other, code, text in rows:
            with self.subTest(text + str(other)):
                found, out = self.report(*[(alone, other)] * 6)
                self.assertEqual((code, True), (found, text in out), out)
                self.assertIn(f"reached {1 - code} of 1", out)
        # A round that somebody disturbed is not the median.
        self.assertEqual(0, self.report(*[(took(10, 10), took(10.01, 10))] * 9, (took(10, 10), took(20, 10)))[0])

    def test_what_is_not_known_is_not_reached(self):
        """The median is far below the bar, and says nothing: half of the rounds are beyond it, or there are too few."""
        wide = [(took(10, 10), took(10 + cost, 10)) for cost in (-4, -3, -1, -.5, 0, .5, 1, 2)]
        code, out = self.report(*wide)
        self.assertEqual(1, code)
        self.assertIn("not decided: the 95% interval of the median, -40.00-20.00%, holds the bar", out)
        code, out = self.report(*[(took(10, 10), took(10, 10))] * 5)
        self.assertEqual((1, True), (code, "not decided: fewer than 6 rounds" in out))

    def test_a_slice_is_compared_with_the_one_before_it(self):
        """What slows the machine for a while slows both; a slice that was disturbed alone is not the median."""
        alone = {"wall_s": [1, 2, 4, 1, 1], "cpu_s": [1] * 5}
        measured_too = {"wall_s": [1.01, 2.02, 4.04, 7, 1.01], "cpu_s": [1] * 5}
        self.assertAlmostEqual(1, measured.costs([(alone, measured_too)], "wall_s")[0])

    def test_the_interval_of_a_median(self):
        """Ranks of the sign test: 1 and 6 of 6, 2 and 8 of 9, 4 and 12 of 15."""
        for n, ranks in ((6, (1, 6)), (9, (2, 8)), (15, (4, 12))):
            self.assertEqual(ranks, measured.median_interval(list(range(n, 0, -1))))

    def test_the_program(self):
        with tempfile.TemporaryDirectory() as folder:
            fake = pathlib.Path(folder) / "benchctl"
            fake.write_text(FAKE, encoding="ascii")
            fake.chmod(0o755)
            done = subprocess.run([sys.executable, measured.__file__, "--rounds", "2", "--slices", "4", "--steps", "3",
                                   "--step-us", "20"],
                                  env={**os.environ, "BENCHCTL": str(fake), "TMPDIR": folder}, capture_output=True, text=True,
                                  timeout=120, check=False)
            self.assertRegex(done.stdout, r"reached [01] of 1\n$", done.stderr)
            self.assertEqual([fake], list(pathlib.Path(folder).iterdir()))
            fake.write_text("#!/bin/sh\necho broken >&2\nexit 9\n", encoding="ascii")
            done = subprocess.run([sys.executable, measured.__file__], env={**os.environ, "BENCHCTL": str(fake)},
                                  capture_output=True, text=True, timeout=120, check=False)
            self.assertIn("benchctl run: exit code 9\nbroken", done.stderr)


if __name__ == "__main__":
    bench_case.main()
