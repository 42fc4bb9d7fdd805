#!/usr/bin/env python3
"""script/bench systems: which efficiencies meet what is known, who is named as absent, and what a bench that was ended
keeps. cli/frameworks runs it with real frameworks."""
import contextlib
import io
import json
import pathlib
import subprocess
import tempfile
import unittest
from unittest import mock

import bench_case

import systems
from systems import Row


def figure(value, low=None, high=None):
    return {"value": value, "low": low, "high": high}


def point(index, value, baseline=None, error=None, **keys):
    return {"point": index, "system": "a", "batchSize": 32, "throughput": figure(value), "speedup": figure(keys.get("speedup")),
            "efficiency": figure(keys.get("efficiency")), "trials": [{"error": error}],
            "baseline": None if baseline is None else {"point": baseline}}


class Table(unittest.TestCase):
    def test_an_interval_meets_what_is_known_where_they_overlap(self):
        rows = [((.50, .40, .54), False), ((.50, .40, .55), True), ((.59, .58, .60), True), ((.70, .63, .80), True),
                ((.70, .64, .80), False), ((.55, None, None), True), ((.54, None, None), False), ((.64, None, None), False),
                ((None, None, None), False)]
        for efficiency, met in rows:
            with self.subTest(efficiency):
                row = Row("x", 32, figure(1.0), figure(1.0), figure(*efficiency))
                self.assertEqual(met, row.meets((.55, .63)))

    def test_a_row_has_all_that_the_seed_asks(self):
        row = Row("a", 32, figure(64.0, 60.0, 70.0), figure(1.6, 1.4, 1.8), figure(.8, .7, .9))
        self.assertRegex(systems.table([row]), r"a +32 +64 \(60-70\) +2 +1\.60 \(1\.40-1\.80\) +80\.0 \(70\.0-90\.0\)")

    def test_a_point_without_a_figure_is_a_row_with_its_error(self):
        document = {"points": [point(0, None, 2, error="worker/0: exit code 3"), point(1, 5.0, 2, efficiency=.5),
                               point(3, 5.0, 4)],
                    "baselines": [point(2, 5.0), point(4, None, error="no memory")]}
        rows = systems.read_rows(document)
        self.assertEqual(["worker/0: exit code 3", None, "no memory"], [row.problem for row in rows])
        with contextlib.redirect_stdout(io.StringIO()) as out:
            systems.report(rows, {}, [])
        self.assertIn("no figure: a, batch 32: no memory", out.getvalue())

    def test_a_known_system_without_a_figure_misses_its_bar(self):
        row = Row("pytorch-ddp", 32, figure(None), figure(None), figure(None), "gone")
        with contextlib.redirect_stdout(io.StringIO()) as out:
            self.assertEqual(1, systems.report([row], {}, []))
        self.assertIn("MISSED   pytorch-ddp, batch 32", out.getvalue())

    def test_nothing_measured_reaches_nothing(self):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            self.assertEqual(1, systems.report([], {"jax": "jax-cpu was not installed"}, [2.0, 3.0]))
        self.assertIn("reached 0 of 0", out.getvalue())
        self.assertIn("not here: jax: jax-cpu was not installed", out.getvalue())


class Systems(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def bench(self, *words):
        path = f"{self.folder}/kept.json"
        return systems.Bench(systems.parse(["--json", path, "--store", f"{self.folder}/s.db", *words]))

    def test_the_definition_gets_the_row_of_this_machine(self):
        shipped = systems.definition(["jax"])
        self.assertNotIn("mpirun", shipped)
        own = systems.definition(["jax", systems.MPI])
        (line,) = set(own.splitlines()) - set(shipped.splitlines())
        row = json.loads(line.removeprefix("  - "))
        self.assertEqual(("mpirun", True), (row["command"][0], pathlib.Path(row["command"][2]).is_file()))

    def test_every_row_of_the_definition_is_known(self):
        for name in systems.NEEDS.keys() - {systems.MPI}:
            self.assertIn(f"{{name: {name}, ", systems.definition([]))

    def test_who_cannot_be_installed_is_named_and_the_others_run(self):
        failure = subprocess.CalledProcessError(1, ["pip"])
        bench = self.bench("--systems", f"benchworker,jax,{systems.MPI}")
        with mock.patch.object(systems.peers, "install", side_effect=failure), \
                mock.patch.object(systems.shutil, "which", return_value=None), \
                mock.patch.object(bench, "ctl", return_value=(0, '["?"]')) as ctl, \
                mock.patch.object(bench, "runs", side_effect=[["old"], ["new", "old"]]):
            bench.begin()
        self.assertEqual({"jax", systems.MPI}, bench.state["missing"].keys())
        self.assertIn("jax-cpu was not installed", bench.state["missing"]["jax"])
        self.assertIn("no mpirun", bench.state["missing"][systems.MPI])
        words = ctl.call_args.args
        self.assertEqual("benchworker", words[words.index("--systems") + 1])

    def test_a_table_that_was_ended_goes_on(self):
        bench = self.bench("--systems", "benchworker")
        with mock.patch.object(bench, "ctl", side_effect=KeyboardInterrupt), \
                mock.patch.object(bench, "runs", return_value=["old"]), self.assertRaises(KeyboardInterrupt):
            bench.rows()
        again = self.bench("--systems", "benchworker")
        with mock.patch.object(again, "ctl", return_value=(0, '{"points": [], "baselines": []}')) as ctl, \
                mock.patch.object(again, "runs", return_value=["new", "old"]):
            self.assertEqual([], again.rows())
        self.assertEqual(mock.call("run", "--local", "--resume", "new"), ctl.call_args_list[0])

    def test_wrong_words(self):
        for words in (["--systems", "jaxx"], ["--rounds", "0"], ["--batches", "32,-1"]):
            with self.subTest(words), contextlib.redirect_stderr(io.StringIO()) as err, self.assertRaises(SystemExit):
                self.bench(*words)
            self.assertIn("error: argument", err.getvalue())


if __name__ == "__main__":
    bench_case.main()
