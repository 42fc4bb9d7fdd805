#!/usr/bin/env python3
"""script/bench predict: its definitions, its fit, and its bars, with a benchctl that knows the answers."""
import contextlib
import io
import os
import pathlib
import tempfile
import types
import unittest
import unittest.mock

import bench_case
import predict


class Fake(predict.Bench):
    """Simulates a rule: a step takes as long as its layers, and slices at `cost` ns a byte."""

    def __init__(self, measured=1.0):
        super().__init__(None)
        self.measured = measured

    @staticmethod
    def rate(what, p, cost_ns):
        trace = what["spec"]["workload"].get("trace", {"stepMilliseconds": 500})
        n = p["trainers"] + p["workers"]
        return n * p["batchSize"] / (trace["stepMilliseconds"] / 1000 + 122e6 * cost_ns * 1e-9 * n / max(p["pservers"], 1))

    @staticmethod
    def points(what):
        batch = what["spec"]["workload"]["batchSize"]
        return [{"trainers": p.get("trainers", 0), "pservers": p.get("pservers", 0), "workers": p.get("workers", 0),
                 "batchSize": p.get("batch_size", batch), "baseline": False} for p in what["spec"]["sweep"]["points"]]

    def simulate(self, what, *args):
        cost_ns = float(args[args.index("--server-cost") + 1]) if "--server-cost" in args else 1.0
        return [{**p, "throughput": {"value": self.rate(what, p, cost_ns)}, "limit": "ServerCpu"} for p in self.points(what)]

    def run(self, what):
        return {predict.name_of(p["trainers"] + p["workers"], p["pservers"], p["batchSize"], p["workers"] > 0): self.measured * self.rate(what, p, 1.0)
                for p in self.points(what)}, "predict-abcde"


def options(**keys):
    return types.SimpleNamespace(**{"steps": 3, "repeats": 1, "rounds": 2, "quiet": 1.0, "kind": None, "json": None, **keys})


BENCHCTL = """#!/bin/sh
store=$0.runs
case "$1" in
simulate) echo '{"points": [{"throughput": {"value": 7}}]}' ;;
get) [ -f "$store" ] || { echo "no store" >&2; exit 3; }; cat "$store" ;;
run)
    echo "benchmarkrun.benchd.io/predict-$$" >> "$store"
    touch "$(dirname "$0")/results.db"
    echo '{"points": [{"batchSize": 16, "replicas": {"trainer": 2, "pserver": 1, "worker": 0}, "throughput": {"value": 9}}]}' ;;
esac
"""


class Predict(unittest.TestCase):
    def test_runs_are_told_apart_whatever_was_simulated_before(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        program = folder / "benchctl"
        program.write_text(BENCHCTL, encoding="utf-8")
        program.chmod(0o700)
        bench = predict.Bench(folder)
        with unittest.mock.patch.dict(os.environ, BENCHCTL=str(program)):
            self.assertEqual([{"throughput": {"value": 7}}], bench.simulate({}))
            names = []
            for _ in range(2):
                measured, name = bench.run({})
                self.assertEqual({"2x1": 9}, measured)
                names.append(f"benchmarkrun.benchd.io/{name}")
        self.assertEqual(pathlib.Path(f"{program}.runs").read_text(encoding="utf-8").split(), names)

    def test_the_layers_are_those_of_the_rehearsal(self):
        self.assertEqual(len(predict.layers()), 16)
        self.assertEqual(predict.definition([(2, 1)], step_ms=1000)["spec"]["workload"]["compute"], "Emulated")
        self.assertNotIn("trace", predict.definition([(2, 1)])["spec"]["workload"])

    def test_a_ring_has_workers_alone(self):
        spec = predict.ring([(1, 16), (2, 32)], batch=16)["spec"]
        self.assertEqual(spec["sweep"]["points"], [{"workers": 1, "batch_size": 16}, {"workers": 2, "batch_size": 32}])
        self.assertEqual(list(spec["roles"]), ["worker"])
        self.assertEqual((spec["workload"]["exchange"]["kind"], spec["workload"]["exchange"]["transport"]), ("AllReduce", "Tcp"))

    def test_a_ring_is_fitted_to_other_points_than_predicted(self):
        runs = []

        class Noting(Fake):
            def run(self, what):
                runs.append([(p["workers"], p["batchSize"]) for p in self.points(what)])
                return super().run(what)

        fake = Noting()
        fake.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        with contextlib.redirect_stdout(io.StringIO()):
            predict.validate(fake, options(kind=["emulated ring", "real ring"]))
        self.assertEqual(runs, [predict.RING_FIT, predict.RING_EMULATED] + [predict.RING_REAL_FIT, predict.RING_REAL] * 2)
        self.assertFalse(set(predict.RING_FIT) & set(predict.RING_EMULATED))
        self.assertFalse(set(predict.RING_REAL_FIT) & set(predict.RING_REAL))

    def test_a_difference_is_that_of_a_round(self):
        """A machine that is twice as fast in the second round is no difference: prediction and measurement go with it."""
        class Wandering(Fake):
            def rate(self, what, p, cost_ns):
                return Fake.rate(what, p, cost_ns) * (1 + (self.n_runs > 2))

            def run(self, what):
                self.n_runs = getattr(self, "n_runs", 0) + 1
                return super().run(what)

        row, = predict.compare(Wandering(), lambda points: predict.definition(points, step_ms=100), [(1, 1)], [(2, 1)], 3)
        self.assertEqual(row[0], "2x1")
        self.assertEqual(row[3], [0, 0, 0])

    def test_bars(self):
        for measured, load, expected in ((1 / 1.02, 0, [True, True]), (1 / 1.06, 0, [False, True]), (1 / 1.2, 0, [False, False]), (1, 99, [False, False])):
            with self.subTest(measured=measured, load=load), unittest.mock.patch.object(os, "getloadavg", lambda: (load, 0, 0)):
                fake = Fake(measured)
                fake.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
                with contextlib.redirect_stdout(io.StringIO()):
                    bars = predict.validate(fake, options())
                self.assertEqual([bar.is_reached for bar in bars], expected)

    def test_a_large_gang_is_no_load_of_others(self):
        for kind, expected in (("scale", [True, True]), ("emulated", [False, False])):
            loads = iter([0, 99])
            fake = Fake()
            fake.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
            with self.subTest(kind), unittest.mock.patch.object(os, "getloadavg", lambda loads=loads: (next(loads), 0, 0)), \
                    contextlib.redirect_stdout(io.StringIO()):
                self.assertEqual([bar.is_reached for bar in predict.validate(fake, options(kind=[kind]))], expected)

    def test_what_is_kept_is_not_measured_again(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

        def bars(measured, steps=3):
            fake = Fake(measured)
            fake.folder = folder
            with contextlib.redirect_stdout(io.StringIO()), unittest.mock.patch.object(os, "getloadavg", lambda: (0, 0, 0)):
                return [bar.is_reached for bar in predict.validate(fake, options(steps=steps, json=folder / "kept"))]

        self.assertEqual([True, True], bars(1))
        self.assertEqual([True, True], bars(2))  # it would be far off
        self.assertEqual([False, False], bars(2, steps=4))


if __name__ == "__main__":
    bench_case.main()
