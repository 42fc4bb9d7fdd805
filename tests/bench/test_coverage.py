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


class Methods(unittest.TestCase):
    """What else intervals could be made with: what follows without chance, and that the last line follows from the rows."""

    PROGRAM = PROGRAM.parent / "interval_methods"
    PAIRS = ["Welch, Student (printed)", "without OutlierTrial", "without Rosner's outliers", "within 3.5 of the median", "trimmed by a fifth", "ranks"]
    TWO = [PAIRS[0], "Welch's df of 1947", "Student, one deviation", *PAIRS[1:]]
    RANKS = PAIRS[-1]

    def tables(self, done):
        """Of both designs: {method: [(least, most) of each noise]}, {method: [figures], letters}."""
        parts = re.split(r"(?m)^OF (?:TWO POINTS|PAIRS) .*\n", done.stdout)[1:]
        self.assertEqual(2, len(parts), done.stdout)
        for part, names in zip(parts, (self.TWO, self.PAIRS)):
            lines = part.splitlines()
            held = {line[:26].strip(): [float(word) for word in line[26:].split()] for line in lines[:len(names)]}
            costs = {line[:26].strip(): line[26:].split() for line in lines[len(names) + 3:2 * len(names) + 3]}
            self.assertEqual([names, names], [list(held), list(costs)])
            self.assertEqual({12}, set(map(len, held.values())))
            yield {name: list(zip(row[::2], row[1::2])) for name, row in held.items()}, \
                {name: ([float(word.rstrip("%").replace("-", "nan")) for word in row[:8]], row[8]) for name, row in costs.items()}

    def test_the_tables(self):
        done = subprocess.run([self.PROGRAM, "1000"], capture_output=True, text=True, check=False)
        reached = 2
        for design, (held, costs) in enumerate(self.tables(done)):
            least, most = held[self.RANKS][0]
            self.assertGreater(least, 92.5)  # free of the noise's shape: 95%, and the deviation of a figure is 0.7
            self.assertLess(most, 97.5)
            self.assertGreater(held[self.PAIRS[0]][0][0], 92.5)
            for name, ranges in held.items():
                figures, letters = costs[name]
                self.assertEqual(any(low < 94 for low, _ in ranges), "b" in letters, name)
                self.assertEqual(any(ranges[i][1] > 97 for i in (0, 1, 2, 4)), "c" in letters, name)
                self.assertEqual([figures[6] < 95, figures[7] < 95, name == self.RANKS], ["e" in letters, "f" in letters, "a" in letters], name)
            self.assertEqual(0, costs[self.RANKS][0][7])  # of 4 trials ranks reach 2 / 70, of 4 pairs 2 / 16
            if design == 1:
                self.assertEqual([0] * 5, costs[self.RANKS][0][2:7])  # of 5 pairs 2 / 32
            reached -= any(len(letters) < len(costs[self.PAIRS[0]][1]) for _, letters in costs.values() if letters != "none") \
                or (costs[self.PAIRS[0]][1] != "none" and any(letters == "none" for _, letters in costs.values()))
        self.assertEqual(f"reached {reached} of 2", done.stdout.splitlines()[-1])
        self.assertEqual(reached < 2, done.returncode == 1)
        self.assertEqual(2 - reached, done.stdout.count("MISSED  "))

    def test_usage(self):
        for args in (["0"], ["x"], ["1", "2"]):
            done = subprocess.run([self.PROGRAM, *args], capture_output=True, text=True, check=False)
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
