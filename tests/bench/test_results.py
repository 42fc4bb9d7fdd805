#!/usr/bin/env python3
"""script/bench results on a small store: every figure is held against its bar, and a run that is read point by point has the
figures of one that is read at once."""
import csv
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import bench_case

BUILD = pathlib.Path(os.environ["BENCHD_BUILD_DIR"])
SOURCE = pathlib.Path(os.environ["BENCHD_SOURCE_DIR"])
BENCH = SOURCE / "bench" / "results.py"


class Results(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.store = pathlib.Path(cls.folder.name) / "results.db"
        # 220 trials of 10 trainers with 1 or 3 servers: more replicas than are read at once
        subprocess.run([BUILD / "bench" / "results_store", cls.store, "4", "2", "10"], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def ctl(self, *words, codes=(0,)):
        done = subprocess.run([BUILD / "ctl" / "benchctl", *words, "--store", f"sqlite:{self.store}"], capture_output=True,
                              text=True, check=False)
        self.assertIn(done.returncode, codes, done.stderr)
        return done.stdout

    def test_the_runs_are_whole(self):
        runs = json.loads(self.ctl("get", "runs", "-o", "json"))["items"]
        self.assertEqual([r["name"] for r in runs], ["large-sweep-00003", "small-sweep-00002", "large-sweep-00001", "small-sweep-00000"])
        self.assertEqual({r["phase"] for r in runs}, {"Succeeded"})

    def test_figures_that_are_read_point_by_point(self):
        for name, n in (("large-sweep-00003", 220 * 12), ("small-sweep-00002", 220 * 3)):
            whole = json.loads(self.ctl("results", name, "-o", "json"))
            self.assertEqual(44, len(whole["points"]))
            self.assertEqual(n, sum(len(t["replicas"]["items"]) for p in whole["points"] for t in p["trials"]))
            rows = list(csv.DictReader(io.StringIO(self.ctl("results", name, "-o", "csv"))))
            for point, row in zip(whole["points"], rows, strict=True):
                self.assertEqual(point["throughput"]["value"], float(row["throughput"]))
                self.assertEqual(point["trialsSucceeded"], 5)
                self.assertEqual(point["efficiency"]["value"], float(row["efficiency"]))
            replicas = list(csv.DictReader(io.StringIO(self.ctl("results", name, "--by", "replica", "-o", "csv"))))
            self.assertEqual(n // 5, len(replicas))
            self.assertEqual({"5"}, {r["trials"] for r in replicas})
            nodes = list(csv.DictReader(io.StringIO(self.ctl("results", name, "--by", "node", "-o", "csv"))))
            self.assertEqual(n, sum(int(r["replicas"]) for r in nodes))

    def test_comparisons_and_histories(self):
        for name in ("large", "small"):
            runs = {"large": ("large-sweep-00001", "large-sweep-00003"), "small": ("small-sweep-00000", "small-sweep-00002")}[name]
            document = json.loads(self.ctl("compare", *runs, "-o", "json", codes=(0, 6, 15)))
            self.assertEqual((44, []), (document["geomean"]["points"], document["differs"]))
            history = json.loads(self.ctl("history", f"{name}-sweep", "-o", "json"))
            self.assertEqual([r["run"] for r in history["runs"]], list(runs))

    def test_every_figure_is_held_against_its_bar(self):
        done = subprocess.run([sys.executable, BENCH, "--store", self.store, "--runs", "4", "--large", "2", "--trainers", "10",
                               "--rounds", "1", "--replicas", "240"], capture_output=True, text=True, check=False)
        words = [word for line in done.stdout.splitlines() for word in line.split()]
        reached, missed = words.count("reached") - 1, words.count("MISSED")
        # 1 list, 2 x 8 tables, 2 comparisons, 3 histories with time and memory; 2 of records
        self.assertEqual(2 * (1 + 16 + 2 + 3) + 2, reached + missed, done.stdout + done.stderr)
        self.assertEqual(f"reached {reached} of {reached + missed}", done.stdout.splitlines()[-1])
        self.assertEqual(1 if missed else 0, done.returncode)
        self.assertIn("24,000 step records of 240 replicas", done.stdout)
        self.assertTrue(self.store.exists())

    def test_usage(self):
        done = subprocess.run([sys.executable, BENCH, "--runs", "x"], capture_output=True, text=True, check=False)
        self.assertEqual(2, done.returncode)
        for program in ("results_store", "step_records"):
            done = subprocess.run([BUILD / "bench" / program, "x"], capture_output=True, text=True, check=False)
            self.assertEqual(2, done.returncode)
            self.assertIn("usage: ", done.stderr)


if __name__ == "__main__":
    bench_case.main()
