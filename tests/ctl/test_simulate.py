#!/usr/bin/env python3
"""benchctl simulate: predicted tables, where times and costs come from, and what is refused."""
import json
import math
import os

import cli

LAYERS = [f"conv{stack}_{i + 1}" for stack, n in enumerate((2, 2, 3, 3, 3), 1) for i in range(n)] + ["fc1", "fc2", "fc3"]
STEP_S = .3 * len(LAYERS) / 16
MODEL_BYTES = 4 * 15254602
GOLDEN = cli.ROOT / "docs" / "contracts" / "golden" / "prediction.json"


def trace(layers=tuple(LAYERS), forward=6250, backward=12500):
    rows = [f"  - {{name: {name}, forwardMicroseconds: {forward}, backwardMicroseconds: {backward}}}" for name in layers]
    return "\n".join(["trace:", "  layers:", *rows, ""])


def same(a, b, path=""):
    """None, or where two documents differ; numbers by more than rounding."""
    if isinstance(a, dict) and isinstance(b, dict):
        keys = [k for k in a.keys() | b.keys() if a.keys() ^ b.keys() >= {k}]
        return f"{path}: keys {keys}" if keys else next(filter(None, (same(a[k], b[k], f"{path}.{k}") for k in a)), None)
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return next(filter(None, (same(x, y, f"{path}[{i}]") for i, (x, y) in enumerate(zip(a, b)))), None)
    if isinstance(a, float) and isinstance(b, float):
        return None if math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-15) else f"{path}: {a} != {b}"
    return None if a == b else f"{path}: {a!r} != {b!r}"


class Simulate(cli.CliCase):
    def setUp(self):
        super().setUp()
        self.layers = self.folder / "layers.yaml"
        self.layers.write_text(trace())

    def simulate(self, *args, code=0, extra=None, **keys):
        path = self.define("sim.json", extra=extra, **keys)
        return self.ctl("simulate", "-f", path, *map(str, args), code=code)

    def points(self, *args, **keys):
        return json.loads(self.simulate("--layers", self.layers, *args, "-o", "json", **keys).stdout)["points"]

    def test_the_contract(self):
        done = self.simulate("--layers", self.layers, "--link", "1gbit", "--jitter", "0.05", "--server-cost", "0.5", "--update-cost", "1",
                             "--trainer-cost", "0.25", "-o", "json", pservers=(1, 2), trainers=(2,), repeats=3)
        got = json.loads(done.stdout)
        self.assertIsNone(same(json.loads(GOLDEN.read_text()), got), done.stdout)
        for point in got["points"]:
            self.assertEqual([True] * 3, [point[k]["predicted"] for k in ("throughput", "speedup", "efficiency")])

    def test_laws(self):
        alone, = [p for p in self.points("--link", "1tbit", trainers=(4,)) if p["pservers"] == 0]
        self.assertAlmostEqual(alone["throughput"]["value"], 2 / STEP_S, places=9)
        self.assertEqual(alone["limit"], "Compute")
        # Slow links carry the model there and back, and hide what can be hidden of a step.
        slow = self.points("--link", "100mbit", pservers=(1,), trainers=(4,))[0]
        self.assertEqual(slow["limit"], "ServerLink")
        self.assertGreaterEqual(slow["seconds"]["step"], 4 * MODEL_BYTES / 12.5e6)
        wide = self.points("--link", "100mbit", "--server-link", "10gbit", pservers=(1,), trainers=(4,))[0]
        self.assertEqual(wide["limit"], "TrainerLink")
        cpu = self.points("--link", "10gbit", "--server-cost", "10", pservers=(1,), trainers=(4,))[0]
        self.assertEqual(cpu["limit"], "ServerCpu")
        self.assertGreater(cpu["shares"]["serverCpu"], .9)
        late = self.points("--link", "1tbit", "--jitter", "0.3", "--steps", "50", pservers=(1,), trainers=(8,))[0]
        self.assertEqual(late["limit"], "Straggler")
        cores = self.points("--cores", "2", pservers=(1,), trainers=(4,))[0]
        self.assertEqual(cores["limit"], "Cores")
        self.assertAlmostEqual(cores["efficiency"]["value"], .5, places=3)

    def test_nodes_servers_and_batch(self):
        path = self.define("sweep.json", pservers=(1, 2, 4, 8), trainers=(1,), repeats=1)
        text = self.ctl("simulate", "-f", path, "--nodes", "8", "--link", "10gbit", "--layers", str(self.layers)).stdout
        self.assertIn("Predicted, not measured: tiny", text)
        self.assertIn("PREDICTED SAMPLES/S", text)
        self.assertIn("Servers for 8 trainers, batch 2: of 4 numbers 4 is the smallest within 2% of the fastest (8).", " ".join(text.split()))
        self.assertIn("without jitter every simulation is the same", text)
        self.assertRegex(self.ctl("simulate", "-f", path, "--link", "10gbit", "--layers", str(self.layers), "-o", "markdown").stdout, r"\| POINT +\|")
        # Times of batch 1 are half of those of batch 2.
        point = self.points("--link", "1tbit", "--layers-batch", "1", pservers=(1,))[-1]
        self.assertAlmostEqual(point["seconds"]["step"], 2 * STEP_S)
        self.assertTrue(point["timesScaledToBatch"])

    def test_the_batch_that_the_file_names(self):
        """A file of batch 1 is no file of batch 2, whatever the definition's batch is; the option decides."""
        self.layers.write_text("batchSize: 1\n" + trace())
        point = self.points("--link", "1tbit", pservers=(1,))[-1]
        self.assertAlmostEqual(point["seconds"]["step"], 2 * STEP_S)
        self.assertTrue(point["timesScaledToBatch"])
        point = self.points("--link", "1tbit", "--layers-batch", "2", pservers=(1,))[-1]
        self.assertAlmostEqual(point["seconds"]["step"], STEP_S)

    def test_lines_fit_and_name_the_servers(self):
        self.env["COLUMNS"] = "80"
        text = self.simulate("--layers", self.layers, "--link", "1gbit", "--jitter", "0.05", "--layers-batch", "1", pservers=(1, 2), repeats=3).stdout
        self.assertEqual([line for line in text.splitlines() if len(line) > 80], [])
        self.assertRegex(text, r"(?m)^0 .* [0-9.]+% ")

    def test_what_is_wrong(self):
        rows = [  # options, code, text
            (["--layers", self.layers], 2, "--link is missing"),
            (["--link", "10gbit"], 2, "how long do the layers take?"),
            (["--link", "10", "--layers", self.layers], 2, "--link '10': expected a number with kbit"),
            (["--link", "0gbit", "--layers", self.layers], 2, "--link '0gbit'"),
            (["--link", "-1gbit", "--layers", self.layers], 2, "--link '-1gbit'"),
            (["--link", "1gbit", "--layers", self.layers, "--jitter", "0.4"], 2, "--jitter '0.4': expected a number from 0 to 0.3"),
            (["--link", "1gbit", "--layers", self.layers, "--server-cost", "x"], 2, "--server-cost 'x'"),
            (["--link", "1gbit", "--layers", self.layers, "--cores", "0"], 2, "--cores '0'"),
            (["--link", "1gbit", "--layers", self.layers, "--nodes", "0"], 2, "--nodes '0'"),
            (["--link", "1gbit", "--layers-batch", "3"], 2, "--layers-batch goes with --layers"),
            (["--link", "1gbit", "--layers", self.folder / "none"], 3, "none"),
            (["--link", "1gbit", "--layers", self.layers, "--steps", "1000000"], 2, "fewer replicas, or fewer --steps"),
            (["--link", "1gbit", "--layers", self.layers, "--set", "pservers=10000", "--set", "trainers=10000"], 2, "more than 2000000 connections"),
            (["--link", "1gbit", "--layers", self.layers, "--set", "threads=2"], 2, "has 2 threads, but the times"),
        ]
        for args, code, text in rows:
            with self.subTest(args):
                done = self.simulate(*args, code=code)
                self.assertIn(text, done.stderr)
                self.assertEqual(done.stdout, "")
        files = [
            (trace(LAYERS[1:]), "layer 'conv1_1' has parameters and no times"),
            (trace([*LAYERS, "fc9"]), "has no layer 'fc9'"),
            (trace([*LAYERS, "fc3"]), "wrong.yaml:19:12: error: trace.layers[16].name: duplicate layer 'fc3'"),
            (trace(forward="fast"), "wrong.yaml:3:42: error: trace.layers[0].forwardMicroseconds"),
            (trace(forward=0, backward=0), "all layers together take no time"),
            ("layers: []\n", "wrong.yaml:1:1"),
            ("", "wrong.yaml"),
            ("batchSize: 0\n" + trace(), "wrong.yaml:1:12: error: batchSize: 0 is out of range"),
        ]
        for text, message in files:
            with self.subTest(message):
                wrong = self.folder / "wrong.yaml"
                wrong.write_text(text)
                self.assertIn(message, self.simulate("--link", "1gbit", "--layers", wrong, code=2).stderr)

    def test_what_is_not_simulated(self):
        workload = {"model": "vgg16-fluid-fc512", "dataset": {"kind": "Synthetic"}, "batchSize": 2, "threads": 1, "seed": 1, "compute": "Real",
                    "exchange": {"kind": "PServer", "mode": "Sync", "wire": "Bf16"}}
        done = self.simulate("--layers", self.layers, "--link", "1gbit", code=2, extra={"workload": workload})
        self.assertIn("has wire Bf16: only Fp32 is simulated", done.stderr)
        workload["exchange"] = {"kind": "PServer", "mode": "Async"}
        done = self.simulate("--layers", self.layers, "--link", "1gbit", code=2, extra={"workload": workload})
        self.assertIn("exchanges by 'Async': only Sync after each step is simulated", done.stderr)

    def test_a_prediction_is_no_run(self):
        done = self.simulate("--layers", self.layers, "--link", "1gbit", "-o", "json")
        file = self.folder / "prediction.json"
        file.write_text(done.stdout)
        for words in (("compare", file, file), ("gate", file)):
            with self.subTest(words):
                refused = self.ctl(*map(str, words), "--store", self.store, code=3)
                self.assertEqual(refused.stdout, "")

    def test_times_of_a_stored_run(self):
        """An emulated run: its trace, and what its servers needed for a byte."""
        emulated = {"workload": {"model": "vgg16-fluid-fc512", "dataset": {"kind": "Synthetic"}, "batchSize": 2, "threads": 1, "seed": 1,
                                 "exchange": {"kind": "PServer", "mode": "Sync", "wire": "Fp32"}, "compute": "Emulated",
                                 "trace": {"jitter": 0.02, "layers": [{"name": n, "forwardMicroseconds": 2000, "backwardMicroseconds": 4000}
                                                                      for n in LAYERS]}}}
        path = self.define("emulated.json", extra=emulated, pservers=(1,), trainers=(1,), steps=4, repeats=1)
        self.env["BENCHWORKER"] = os.environ["BENCHWORKER_PROGRAM"]
        self.ctl("run", path, "--store", self.store)
        name = self.run_name()
        done = self.simulate("--link", "10gbit", "--store", self.store, "--trace", name, pservers=(1,))
        self.assertRegex(done.stdout, rf"times: run {name}, point \d: forward \d")
        costs = json.loads(self.simulate("--link", "10gbit", "--store", self.store, "--trace", name, "-o", "json", pservers=(1,)).stdout)["inputs"]
        for key in ("receive", "send", "update", "trainer"):
            self.assertTrue(0 < costs[f"{key}NanosecondsPerByte"] < 100, costs)
        self.assertAlmostEqual(costs["jitter"], .02)
        self.assertAlmostEqual(costs["stepSeconds"], .006 * len(LAYERS))
        self.simulate("--link", "10gbit", "--store", self.store, "--trace", "nobody", code=3)


if __name__ == "__main__":
    cli.main()
