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

    def rate(self, what, key, cost_ns):
        trace = what["spec"]["workload"].get("trace", {"stepMilliseconds": 500})
        step_s = trace["stepMilliseconds"] / 1000 + 122e6 * cost_ns * 1e-9 * key[0] / max(key[1], 1)
        return key[0] * what["spec"]["workload"]["batchSize"] / step_s

    def keys(self, what):
        return [(p["trainers"], p["pservers"]) for p in what["spec"]["sweep"]["points"]]

    def simulate(self, what, *args):
        cost_ns = float(args[args.index("--server-cost") + 1]) if "--server-cost" in args else 1.0
        return {key: {"throughput": {"value": self.rate(what, key, cost_ns)}, "limit": "ServerCpu"} for key in self.keys(what)}

    def run(self, what):
        return {key: self.measured * self.rate(what, key, 1.0) for key in self.keys(what)}, "predict-abcde"


class Predict(unittest.TestCase):
    def test_the_layers_are_those_of_the_rehearsal(self):
        self.assertEqual(len(predict.layers()), 16)
        self.assertEqual(predict.definition([(2, 1)], step_ms=1000)["spec"]["workload"]["compute"], "Emulated")
        self.assertNotIn("trace", predict.definition([(2, 1)])["spec"]["workload"])

    def test_the_fit_finds_what_made_the_figures(self):
        fake = Fake()
        cells = {cell: predict.cast(fake, [cell], "1gbit", 12.0, 1.25)[cell] for cell in predict.FIT}
        with unittest.mock.patch.dict(predict.CELLS, cells):
            cost_ns, slower = predict.fit(fake, "1gbit")
        self.assertAlmostEqual(cost_ns, 12.0, delta=.5)
        self.assertAlmostEqual(slower, 1.25, delta=.01)

    def test_bars(self):
        for measured, load, expected in ((1 / 1.04, 0, [True, True]), (1 / 1.08, 0, [False, True]), (1 / 1.2, 0, [False, False]), (1, 99, [False, False])):
            with self.subTest(measured=measured, load=load), unittest.mock.patch.object(os, "getloadavg", lambda: (load, 0, 0)):
                fake = Fake(measured)
                fake.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
                with contextlib.redirect_stdout(io.StringIO()):
                    bars = predict.validate(fake, types.SimpleNamespace(steps=3, repeats=1, quiet=1.0, json=None))
                self.assertEqual([bar.is_reached for bar in bars], expected)

    def test_what_is_kept_is_not_measured_again(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

        def bars(measured, steps=3):
            fake = Fake(measured)
            fake.folder = folder
            with contextlib.redirect_stdout(io.StringIO()), unittest.mock.patch.object(os, "getloadavg", lambda: (0, 0, 0)):
                return [bar.is_reached for bar in predict.validate(fake, types.SimpleNamespace(steps=steps, repeats=1, quiet=1.0, json=folder / "kept"))]

        self.assertEqual([True, True], bars(1))
        self.assertEqual([True, True], bars(2))  # it would be far off
        self.assertEqual([False, False], bars(2, steps=4))


if __name__ == "__main__":
    bench_case.main()
