#!/usr/bin/env python3
"""script/bench aa: its counts by hand, and the program with a worker that trains nothing, ended in the middle."""
import contextlib
import io
import json
import math
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

import bench_case
import real_aa

BENCHCTL = pathlib.Path(os.environ["BENCHD_BUILD_DIR"]) / "ctl" / "benchctl"
WORKER = bench_case.ROOT / "tests" / "ctl" / "fake_worker.py"
EVEN = "1=0.909090909"  # the fake worker's second point takes 11 ms a step, the first 10


class Counts(unittest.TestCase):
    def test_intervals_of_clopper_and_pearson(self):
        for count, n, low, high in ((0, 25, 0, 0.1372), (0, 200, 0, 0.01827), (2, 200, 0.00121, 0.03565), (5, 10, 0.1871, 0.8129),
                                    (10, 10, 0.6915, 1), (0, 0, 0, 1)):
            found = real_aa.share_interval(count, n)
            self.assertAlmostEqual(low, found[0], delta=1e-4, msg=(count, n))
            self.assertAlmostEqual(high, found[1], delta=1e-4, msg=(count, n))

    def test_the_bar(self):
        for alarms, n, code, text in ((0, 200, 0, "reached 1 of 1"), (4, 200, 0, "reached 1 of 1"), (5, 200, 1, "reached 0 of 1"),
                                      (0, 199, 1, "not decided: 199 comparisons")):
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                found = real_aa.conclude(real_aa.Series("", [("Slower", 1.0)] * alarms + [("NoneShown", None)] * (n - alarms)))
            self.assertEqual((code, True), (found, text in out.getvalue()), out.getvalue())

    def test_a_series(self):
        seen = [("NoneShown", 1.0), ("Inconclusive", None), ("Faster", 9.0), ("Slower", 3.0)]
        self.assertEqual(["x", "2 of 4", "6.8 to 93.2%", "1", "3.0 (1.0 to 9.0)", "6.0 (3.0 to 9.0)"], real_aa.Series("x", seen).cells())
        self.assertEqual(["x", "0 of 0", "0.0 to 100.0%", "0", "-", "-"], real_aa.Series("x", []).cells())

    def test_a_machine_that_was_busy(self):
        def compared(verdict, n_busy, others, whole="NoneShown"):
            return {"verdict": verdict, "counts": {"machineBusy": n_busy}, "history": {"verdict": whole},
                    "points": [{"others": o and {"base": o[0], "candidate": o[1]}} for o in others]}

        between = [compared("NoneShown", 0, [None, None]), compared("Inconclusive", 1, [(0.02, 0.5), (0.01, 0.9)]),
                   compared("Inconclusive", 0, [(0.02, 0.1)]), compared("Slower", 1, [(0.3, 0)]),
                   compared("Inconclusive", 0, [None], "MachineBusy")]
        self.assertEqual(["two runs: 2 of 5 Inconclusive because other programs had the CPUs",
                          "others took up to 90% of a side's speed, 30.0% in the median of 3 comparisons that say it"],
                         real_aa.busy_lines(between))
        self.assertEqual(["two runs: 0 of 1 Inconclusive because other programs had the CPUs"], real_aa.busy_lines(between[:1]))

    def test_students_t(self):
        for t, df, p in ((12.7062, 1, 0.05), (4.30265, 2, 0.05), (3.18245, 3, 0.05), (4.60409, 4, 0.01), (4.03214, 5, 0.01), (3.24984, 9, 0.01),
                         (2.22814, 10, 0.05), (0, 4, 1), (0, 3, 1)):
            self.assertAlmostEqual(p, real_aa.student_p(t, df), delta=1e-6, msg=(t, df))
            self.assertEqual(real_aa.student_p(t, df), real_aa.student_p(-t, df))

    def test_what_a_loss_would_look_like(self):
        def compared(ratio, error, pairs=5):
            paired = {"pairs": pairs, "t": math.log(ratio) / error if error else None, "df": pairs - 1.0}
            return {"threshold": 0.02, "points": [{"ratio": {"value": ratio}, "paired": paired}]}

        # ln 0.95 = -0.0513, and p is 0.01 at 4.604 standard errors: 0.01114 is just small enough, or of a ratio of 1.01 (0.0413) 0.00898.
        for ratio, error, named in ((1.000001, 0.0111, True), (1.000001, 0.0112, False), (1.01, 0.0089, True), (1.01, 0.0091, False),
                                    (1.04, 0.0001, False), (1.03, 0.0001, True)):  # 1.04 x 0.95 = 0.988: less than 2% slower
            self.assertEqual(named, real_aa.would_name(compared(ratio, error), 0.05), (ratio, error))
        self.assertEqual("one run: with 5, 20, 50% less throughput b would be named in 1, 2, 3 of 3; pairs deviate by 10.5% in the median",
                         real_aa.power_line([compared(1.01, 0.001), compared(0.99, 0.1 / math.sqrt(5)), compared(1.02, 0.06), compared(1, 0)]))
        self.assertIn("nothing says", real_aa.power_line([compared(1, 0)]))


class Program(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.store, self.json = self.folder / "aa.db", self.folder / "loads.json"

    def start(self, runs, **fake):
        """The worker gets its variables by a script: a run gives a process only those of its definition."""
        worker = self.folder / "worker"
        words = "".join(f"export {key}={value}\n" for key, value in {"FAKE_FACTOR": EVEN, **fake}.items())
        worker.write_text(f"#!/bin/sh\n{words}exec {WORKER} \"$@\"\n", encoding="ascii")
        worker.chmod(0o755)
        words = [sys.executable, real_aa.__file__, "--runs", str(runs), "--repeats", "3", "--store", str(self.store), "--json", str(self.json)]
        return subprocess.Popen(words, env={**os.environ, "BENCHCTL": str(BENCHCTL), "BENCHWORKER": str(worker)}, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)

    def measure(self, runs, **fake):
        process = self.start(runs, **fake)
        out, err = process.communicate(timeout=240)
        return process.returncode, out, err

    def rows(self):
        return json.loads(self.json.read_text(encoding="utf-8"))["runs"]

    def attempts(self):
        if not self.store.exists():
            return 0
        with contextlib.closing(sqlite3.connect(f"file:{self.store}?mode=ro", uri=True)) as db:
            try:
                return db.execute("SELECT count(*) FROM attempt").fetchone()[0]
            except sqlite3.OperationalError:  # not made yet, or busy
                return 0

    def test_a_run_that_was_cut_short_goes_on(self):
        process = self.start(2, FAKE_HANG="1.2")  # the last block of the first run
        end = time.monotonic() + 120
        while self.attempts() < 4 and time.monotonic() < end:
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        self.assertGreaterEqual(self.attempts(), 4)
        with contextlib.closing(sqlite3.connect(self.store)) as db:
            cut, = db.execute("SELECT name FROM run").fetchall()
            kept = db.execute("SELECT point, trial, started_unix_ms FROM attempt").fetchall()

        code, out, err = self.measure(2)
        self.assertEqual(1, code, err)  # two decide nothing
        self.assertIn(f"run {cut[0]} goes on\nrun 2 of 2\n", err)
        with contextlib.closing(sqlite3.connect(self.store)) as db:
            self.assertEqual(2, db.execute("SELECT count(*) FROM run").fetchone()[0])
            after = db.execute("SELECT point, trial, started_unix_ms FROM attempt").fetchall()
        self.assertLessEqual(set(kept), set(after))
        self.assertEqual(12, len(after))
        self.assertRegex(out, r"(?m)^one run, a beside b +0 of 2   0\.0 to 84\.2% +0   [\d.]+ \([\d.]+ to [\d.]+\) +-$")
        self.assertRegex(out, r"(?m)^a run beside the one before it +0 of 1 ")
        self.assertRegex(out, r"(?m)^one run: with 5, 20, 50% less throughput b would be named in \d, \d, 2 of 2; pairs deviate by [\d.]+% in the median$")
        self.assertEqual("reached 0 of 1", out.splitlines()[-1])

        rows = self.rows()
        self.assertEqual(2, len(rows))
        for row in rows.values():
            self.assertEqual(("Succeeded", "NoneShown"), (row["phase"], row["inside"]))
            self.assertGreaterEqual(row["load"], 0)
        code, out, err = self.measure(3)  # goes on; what is there stays as it is
        self.assertEqual("run 3 of 3\n", err)
        self.assertIn("0 of 3", out)
        self.assertEqual(rows, {name: row for name, row in self.rows().items() if name in rows})

    def test_alarms_are_counted(self):
        code, out, _ = self.measure(2, FAKE_FACTOR="1=2")  # nobody is slow but the second side
        self.assertEqual(1, code)
        self.assertRegex(out, r"(?m)^one run, a beside b +2 of 2   15\.8 to 100\.0% +0 .*\)$")

    def test_a_machine_where_nothing_runs(self):
        code, _, err = self.measure(9, FAKE_FAIL="0.*.*=12")
        self.assertEqual(1, code)
        self.assertIn("3 runs in a row have failed", err)
        self.assertEqual(3, len(self.rows()))


if __name__ == "__main__":
    bench_case.main()
