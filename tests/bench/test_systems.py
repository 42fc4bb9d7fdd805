#!/usr/bin/env python3
"""script/bench systems: which efficiencies meet those by hand, who is named as absent, and what a bench that was ended
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


def state(**keys):
    return {"before": None, "missing": {}, "load": [], "hand": {}, **keys}


class Table(unittest.TestCase):
    def test_an_interval_meets_the_rounds_by_hand_where_they_overlap(self):
        rows = [((.50, .40, .54), False), ((.50, .40, .55), True), ((.59, .58, .60), True), ((.70, .63, .80), True),
                ((.70, .64, .80), False), ((.55, None, None), True), ((.54, None, None), False), ((.64, None, None), False),
                ((None, None, None), False)]
        for efficiency, met in rows:
            with self.subTest(efficiency):
                row = Row("x", 32, figure(1.0), figure(1.0), figure(*efficiency))
                self.assertEqual(met, row.meets([.60, .55, .63]))
        for rounds in (None, []):
            self.assertFalse(Row("x", 32, figure(1.0), figure(1.0), figure(.59, .58, .60)).meets(rounds))

    def test_a_row_has_all_that_the_seed_asks(self):
        row = Row("a", 32, figure(64.0, 60.0, 70.0), figure(1.6, 1.4, 1.8), figure(.8, .7, .9))
        said = systems.table([row], {"a, batch 32": [.75, .71, .8]})
        self.assertRegex(said, r"a +32 +64 \(60-70\) +2 +1\.60 \(1\.40-1\.80\) +80\.0 \(70\.0-90\.0\) +75\.0 \(71\.0-80\.0\)")

    def test_a_point_without_a_figure_is_a_row_with_its_error(self):
        document = {"points": [point(0, None, 2, error="worker/0: exit code 3"), point(1, 5.0, 2, efficiency=.5),
                               point(3, 5.0, 4)],
                    "baselines": [point(2, 5.0), point(4, None, error="no memory")]}
        rows = systems.read_rows(document)
        self.assertEqual(["worker/0: exit code 3", None, "no memory"], [row.problem for row in rows])
        with contextlib.redirect_stdout(io.StringIO()) as out:
            systems.report(rows, state())
        self.assertIn("no figure: a, batch 32: no memory", out.getvalue())

    def test_without_a_figure_or_a_round_by_hand_a_bar_is_missed(self):
        without = Row("pytorch-ddp", 32, figure(None), figure(None), figure(None), "gone")
        whole = Row("pytorch-ddp", 32, figure(60.0), figure(1.6), figure(.8, .7, .9))
        for row, hand, code, says in ((without, [.8], 1, "MISSED   pytorch-ddp, batch 32: -% beside 80.0 (80.0-80.0) by hand"),
                                      (whole, [], 1, "MISSED   pytorch-ddp, batch 32: 80.0 (70.0-90.0)% beside nothing by hand"),
                                      (whole, [.85], 0, "reached  pytorch-ddp, batch 32")):
            with self.subTest(says), contextlib.redirect_stdout(io.StringIO()) as out:
                self.assertEqual(code, systems.report([row], state(hand={"pytorch-ddp, batch 32": hand})))
            self.assertIn(says, out.getvalue())

    def test_nothing_measured_reaches_nothing(self):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            self.assertEqual(1, systems.report([], state(missing={"jax": "jax-cpu was not installed"}, load=[2.0, 3.0])))
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
                mock.patch.object(bench, "ctl", return_value=(0, '{"points": [], "baselines": []}')) as ctl, \
                mock.patch.object(bench, "runs", side_effect=[["old"], *[["new", "old"]] * 2]):
            bench.rows()
        self.assertEqual({"jax", systems.MPI}, bench.state["missing"].keys())
        self.assertIn("jax-cpu was not installed", bench.state["missing"]["jax"])
        self.assertIn("no mpirun", bench.state["missing"][systems.MPI])
        words = ctl.call_args_list[0].args
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

    def test_rounds_by_hand_are_kept_and_half_of_them_come_before_the_run(self):
        said = []
        bench = self.bench("--systems", "benchworker,pytorch-ddp,tensorflow-ps", "--batches", "32", "--rounds", "3")
        with mock.patch.object(systems, "missing", side_effect=lambda system: "no" if system == "tensorflow-ps" else None), \
                mock.patch.object(systems.by_hand, "efficiency", side_effect=lambda *words: said.append(words[0]) or .8), \
                mock.patch.object(bench, "runs", side_effect=[["old"], *[["new", "old"]] * 2]), \
                mock.patch.object(bench, "ctl", side_effect=lambda *words: said.append(words[0]) or (0, '{"points": [], "baselines": []}')), \
                contextlib.redirect_stderr(io.StringIO()):
            bench.rows()
        self.assertEqual(["pytorch-ddp", "pytorch-ddp", "run", "pytorch-ddp", "results"], said)
        self.assertEqual({"pytorch-ddp, batch 32": [.8, .8, .8]}, bench.state["hand"])
        again = self.bench("--systems", "pytorch-ddp", "--batches", "32", "--rounds", "3")
        with mock.patch.object(systems.by_hand, "efficiency", side_effect=AssertionError):
            again.by_hand(3)

    def test_wrong_words(self):
        for words in (["--systems", "jaxx"], ["--rounds", "0"], ["--batches", "32,-1"]):
            with self.subTest(words), contextlib.redirect_stderr(io.StringIO()) as err, self.assertRaises(SystemExit):
                self.bench(*words)
            self.assertIn("error: argument", err.getvalue())


if __name__ == "__main__":
    bench_case.main()
