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


class Models(unittest.TestCase):
    PROGRAM = PROGRAM.parent / "model_coverage"

    def check(self, experiments):
        done = subprocess.run([self.PROGRAM, experiments], capture_output=True, text=True, check=False)
        lines = done.stdout.splitlines()
        rows = [line.split() for line in lines if re.match(r".* (normal|exponential|unequal) +[15]% ", line)]
        rows = [row for row in rows if row[0] != "MISSED"]
        self.assertEqual(5 * 8, len(rows))
        for row in rows:
            for word in row[-6:-1]:
                self.assertGreater(float(word), 70, row)
        missed = sum(line.startswith("MISSED  ") for line in lines)
        self.assertEqual(f"reached {200 - missed} of 200", lines[-1])
        self.assertEqual(1 if missed else 0, done.returncode)
        return missed

    def test_many_experiments_are_within_the_bars(self):
        self.assertLess(self.check("1000"), 30)  # of 200; the deviation of a figure is 0.7

    def test_few_experiments_miss_bars(self):
        self.assertGreater(self.check("50"), 40)  # steps of 2 cannot be held to 94 to 97

    def test_usage(self):
        for args in (["0"], ["x"], ["1", "2"]):
            done = subprocess.run([self.PROGRAM, *args], capture_output=True, text=True, check=False)
            self.assertEqual(2, done.returncode, args)
            self.assertIn("usage: ", done.stderr)


class FalseAlarms(unittest.TestCase):
    PROGRAM = PROGRAM.parent / "false_alarms"

    def test_every_figure_is_held_against_its_bar(self):
        done = subprocess.run([self.PROGRAM, "20"], capture_output=True, text=True, check=False)
        lines = done.stdout.splitlines()
        named = [float(m.group(1)) for m in (re.search(r"% +([\d.]+)% +[\d.]+% +\S+   (?:at |$)", line) for line in lines) if m]
        self.assertEqual(26, len(named), done.stdout)
        self.assertGreaterEqual(min(named[10:13]), 90)  # 5% in one run is seen
        self.assertLess(sum(named[:10]), 40)  # what is not there is not: 20 experiments a figure
        missed = sum(line.startswith("MISSED  ") for line in lines)
        self.assertEqual(f"reached {21 - missed} of 21", lines[-1])
        self.assertEqual(1 if missed else 0, done.returncode)

    def test_usage(self):
        self.assertEqual(2, subprocess.run([self.PROGRAM, "0"], capture_output=True, check=False).returncode)


class Stops(unittest.TestCase):
    PROGRAM = PROGRAM.parent / "stop_coverage"
    ROW = re.compile(r"(normal|skewed|stragglers) +[15]% +[35] +(10|30|100) +[125]% +([\d.]+) +\d+% +([\d.]+) +([\d.]+) +([\d.]+) +[\d.]+"
                     r" +([\d.]+) +([\d.]+)$")

    def check(self, experiments):
        done = subprocess.run([self.PROGRAM, experiments], capture_output=True, text=True, check=False)
        lines = done.stdout.splitlines()
        rows = [m for m in map(self.ROW.match, lines) if m]
        self.assertEqual(3 * 2 * 4 * 3, len(rows))
        missed = sum(line.startswith("MISSED  ") for line in lines)
        self.assertEqual(f"reached {288 - missed} of 288", lines[-1])
        self.assertEqual(1 if missed else 0, done.returncode)
        return rows, missed

    def test_the_rule_holds_the_truth_and_peeking_does_not(self):
        rows, missed = self.check("1000")
        self.assertLess(missed, 40)  # of 288; the deviation of a figure is 0.7
        points = [float(m[4]) for m in rows if m[1] == "normal"]
        peeks = [float(m[8]) for m in rows if m[1] == "normal"]
        self.assertGreater(min(points), 92.5)
        self.assertLess(min(peeks), 92.5)
        self.assertLess(sum(peeks), sum(points))
        self.assertGreater(min(float(m[i]) for m in rows for i in (4, 5, 6)), 91.5)  # ratios, skewed noise and stragglers, too
        ratios = [float(m[5]) for m in rows if m[1] != "stragglers"]
        self.assertLess(sum(ratios) / len(ratios), 96.8)  # not too wide

    def test_few_experiments_miss_bars(self):
        self.assertGreater(self.check("20")[1], 30)  # steps of 5 cannot be held to 94 to 97

    def test_usage(self):
        for args in (["0"], ["x"], ["1", "2"]):
            done = subprocess.run([self.PROGRAM, *args], capture_output=True, text=True, check=False)
            self.assertEqual(2, done.returncode, args)


if __name__ == "__main__":
    bench_case.main()
