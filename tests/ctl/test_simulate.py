#!/usr/bin/env python3
"""benchctl simulate: predicted tables, where times and costs come from, and what is refused."""
import base64
import json
import math
import os
import struct
import subprocess

import cli

LAYERS = [f"conv{stack}_{i + 1}" for stack, n in enumerate((2, 2, 3, 3, 3), 1) for i in range(n)] + ["fc1", "fc2", "fc3"]
STEP_S = .3 * len(LAYERS) / 16
# Those points of vgg16-systems that are one table of 2018.
ACCELERATION = ("vgg16-systems", "--systems", "benchworker", "--set", "pservers=20", "--set", "trainers=20,40,80,100")
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


def ring(workers, exchange):
    """What a definition of workers has in place of trainers and servers."""
    template = {"spec": {"containers": [{"name": "main"}]}}
    return {"workload": {"model": "vgg16-fluid-fc512", "dataset": {"kind": "Synthetic"}, "batchSize": 2, "threads": 1, "seed": 1,
                         "compute": "Real", "exchange": exchange},
            "sweep": {"grid": {"workers": list(workers)}},
            "baseline": {"kind": "Point", "where": {"workers": workers[0]}},
            "roles": {"worker": {"replicas": {"from": "workers"}, "template": template}}}


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
        # 20 trainers send 1.2 GB, and a server gives credit for 8 MiB: each of these windows waits for the latency.
        for latency, limit in ((1000, "ServerLink"), (10000, "Latency")):
            far = self.points("--link", "10gbit", "--latency", latency, "--steps", "2", pservers=(1,), trainers=(20,))[0]
            self.assertEqual(far["limit"], limit)
        late = self.points("--link", "1tbit", "--jitter", "0.3", "--steps", "50", pservers=(1,), trainers=(8,))[0]
        self.assertEqual(late["limit"], "Straggler")
        cores = self.points("--cores", "2", pservers=(1,), trainers=(4,))[0]
        self.assertEqual(cores["limit"], "Cores")
        self.assertAlmostEqual(cores["efficiency"]["value"], .5, places=3)

    def test_a_link_carries_the_payload_of_its_frames(self):
        """A trainer that hides nothing: the model, while it comes back, and the last of 59 slices, at 1448 bytes of each 1538 of a frame."""
        point, = [p for p in self.points("--link", "1mbit", pservers=(1,)) if p["pservers"] == 1]
        law = 60 / 59 * MODEL_BYTES / (1e6 / 8 * 1448 / 1538)
        self.assertAlmostEqual(point["seconds"]["step"], law, delta=1)

    def linked(self, link, *args, code=0, sweep=(), **keys):
        spec = {"workload": {"model": "vgg16-fluid-fc512", "dataset": {"kind": "Synthetic"}, "batchSize": 2, "threads": 1, "seed": 1,
                             "compute": "Real", "exchange": {"kind": "PServer", "mode": "Sync", "wire": "Fp32"}, **link}}
        if sweep:
            spec["sweep"] = {"grid": {"pservers": [1], "trainers": [1], "link": list(sweep)}}
        return self.simulate("--layers", self.layers, *args, "-o", "json", extra=spec, code=code, pservers=(1,), **keys)

    def test_the_links_of_a_definition(self):
        """They are shaped by Ethernet frames of 1514 bytes, on the way of the same bytes; each point has its own."""
        def step(done, index=0):
            return json.loads(done.stdout)["points"][index]["seconds"]["step"]

        by_option = step(self.linked({}, "--link", f"{1538 / 1514}mbit", "--latency", "3000"))
        self.assertAlmostEqual(step(self.linked({"link": {"rate": "1mbit", "delay": "3ms"}})), by_option, places=6)
        swept = self.linked({}, "--link", "1mbit", sweep=("2mbit", "none"))
        self.assertEqual(["2mbit", None], [p.get("link") for p in json.loads(swept.stdout)["points"][:2]])
        self.assertAlmostEqual(step(swept), step(self.linked({"link": {"rate": "2mbit"}})), places=6)
        self.assertAlmostEqual(step(swept, 1), step(self.linked({}, "--link", "1mbit")), places=6)
        self.assertIn("--link is missing", self.linked({}, sweep=("2mbit", "none"), code=2).stderr)
        for option, value in (("link", "1mbit"), ("server-link", "1mbit"), ("first-link", "1mbit"), ("latency", "25")):
            text = self.linked({"link": {"rate": "1mbit"}}, f"--{option}", value, code=2).stderr
            self.assertIn(f"--{option}: the definition shapes the links of all points\nfix: leave --{option} out", text)

    def test_a_link_that_drops_packets(self):
        """One slice of each trainer, of 1 MiB at most and 8 MiB together, is more than waits for a link of 100 Mbit/s, not of 1 Gbit/s."""
        def note(link, trainers):
            done = self.simulate("--layers", self.layers, extra={"workload": {
                "model": "vgg16-fluid-fc512", "dataset": {"kind": "Synthetic"}, "batchSize": 2, "threads": 1, "seed": 1, "compute": "Real",
                "exchange": {"kind": "PServer", "mode": "Sync", "wire": "Fp32"}, "link": {"rate": link}}}, pservers=(2,), trainers=trainers)
            return [line for line in done.stdout.splitlines() if "drop packets" in line]

        self.assertEqual([], note("1gbit", (1, 4)))
        self.assertRegex(note("100mbit", (1, 4))[0], r"^At 2 points a server's link may drop packets")

    def test_a_link_where_nothing_exchanges(self):
        """It is neither needed nor a contradiction."""
        path = str(cli.ROOT / "benchmarks" / "vgg16-single-node.yaml")
        for link in ([], ["--link", "10gbit"]):
            done = self.ctl("simulate", "-f", path, "--systems", "benchworker", "--layers", str(self.layers), "--layers-batch", "64",
                            "--steps", "2", *link)
            self.assertIn("Predicted, not measured", done.stdout)

    def test_servers_are_compared_behind_the_same_links(self):
        spec = {"sweep": {"grid": {"pservers": [1, 2], "trainers": [4], "link": ["1gbit", "10gbit"]}}}
        text = self.simulate("--layers", self.layers, extra=spec).stdout
        words = " ".join(text.split())
        for link in ("1gbit", "10gbit"):
            self.assertRegex(words, f"Servers for 4 trainers, batch 2, link {link}: of 2 numbers")
        self.assertRegex(text, r"(?m)^POINT +TRAINERS +PSERVERS +LINK +BATCH ")
        self.assertRegex(text, r"(?m)^\d +4 +1 +10gbit +2 ")

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

    def test_a_batch_that_only_the_sweep_says(self):
        """The times are those of the only batch; of one of several an option says it."""
        workload = {"model": "vgg16-fluid-fc512", "dataset": {"kind": "Synthetic"}, "threads": 1, "seed": 1, "compute": "Real",
                    "exchange": {"kind": "PServer", "mode": "Sync", "wire": "Fp32"}}
        one, two = ({"workload": workload, "sweep": {"grid": {"pservers": [1], "trainers": [1], "batch_size": batches}}} for batches in ([4], [2, 4]))
        point = self.points("--link", "1tbit", extra=one)[-1]
        self.assertEqual((point["batchSize"], point["timesScaledToBatch"]), (4, False))
        self.assertAlmostEqual(point["seconds"]["step"], STEP_S)
        done = self.simulate("--link", "1tbit", "--layers", self.layers, extra=two, code=2)
        self.assertIn("the batch size of the layer times is missing: neither the file nor workload.batchSize gives it", done.stderr)
        self.assertIn("fix: add --layers-batch N", done.stderr)
        steps = {p["batchSize"]: p["seconds"]["step"] for p in self.points("--link", "1tbit", "--layers-batch", "2", extra=two) if p["baseline"]}
        self.assertAlmostEqual(steps[4], 2 * STEP_S)
        layers = [{"name": n, "forwardMicroseconds": 6250, "backwardMicroseconds": 12500} for n in LAYERS]
        one["workload"] = workload | {"compute": "Emulated", "trace": {"layers": layers}}
        path = self.define("sim.json", extra=one)
        point = json.loads(self.ctl("simulate", "-f", path, "--link", "1tbit", "-o", "json").stdout)["points"][-1]
        self.assertAlmostEqual(point["seconds"]["step"], STEP_S)

    def test_an_emulated_batch(self):
        """Emulated trainers sleep as the trace says, whatever the batch and the threads are that the sweep has."""
        workload = {"model": "vgg16-fluid-fc512", "dataset": {"kind": "Synthetic"}, "batchSize": 2, "threads": 1, "seed": 1, "compute": "Emulated",
                    "trace": {"layers": [{"name": n, "forwardMicroseconds": 6250, "backwardMicroseconds": 12500} for n in LAYERS]},
                    "exchange": {"kind": "PServer", "mode": "Sync", "wire": "Fp32"}}
        grid = {"pservers": [1], "trainers": [1], "batch_size": [8], "threads": [2]}
        path = self.define("sim.json", extra={"workload": workload, "sweep": {"grid": grid}})
        point = json.loads(self.ctl("simulate", "-f", path, "--link", "1tbit", "-o", "json").stdout)["points"][-1]
        self.assertEqual((point["batchSize"], point["timesScaledToBatch"]), (8, False))
        self.assertAlmostEqual(point["seconds"]["step"], STEP_S)

    def test_layers_of_another_definition(self):
        """A definition names the one whose trace is taken; --layers takes a name, too; the machine is printed."""
        wanted = ("times: the layers of vgg16-rehearsal-2018, batch 128, 7650 ms a step, measured on a core of 2.8 GHz with AVX-512, scaled to "
                  "a step of the Xeon E5-2620 v4 of 2018")
        few = ("--link", "1gbit", "--steps", "2", "--repeats", "1")
        named = self.ctl("simulate", *ACCELERATION, *few).stdout
        self.assertIn(wanted, " ".join(named.split()))
        asked = self.ctl("simulate", "vgg16-pserver-sweep", *few, "--layers", "vgg16-rehearsal-2018", "--nodes", "2").stdout
        self.assertIn(wanted, " ".join(asked.split()))
        self.assertIn("* The times of the layers are those of batch 128", asked)  # its own batch is 64
        points = json.loads(self.ctl("simulate", *ACCELERATION, *few, "-o", "json").stdout)["points"]
        emulated = json.loads(self.ctl("simulate", "vgg16-rehearsal-2018", *few, "-o", "json").stdout)["points"]
        for mine, theirs in zip(points[:4], emulated[:4]):
            self.assertAlmostEqual(mine["seconds"]["step"], theirs["seconds"]["step"], places=5)
        self.ctl("simulate", "vgg16-pserver-sweep", *few, "--layers", "nosuch", code=3)
        done = self.ctl("simulate", "vgg16-pserver-sweep", *few, "--layers", "vgg16-single-node", code=2)
        self.assertIn("layer times are missing", done.stderr)

    def test_beside_published_figures(self):
        few = ("--link", "1gbit", "--steps", "2", "--repeats", "1", "--reference", "paddle-vgg16-cpu-2018")
        done = self.ctl("simulate", *ACCELERATION, *few).stdout
        alone = self.ctl("simulate", *ACCELERATION, *few[:-2]).stdout
        self.assertTrue(done.startswith(alone))
        text = " ".join(done[len(alone):].split())
        self.assertTrue(text.startswith("Predicted, beside paddle-vgg16-cpu-2018 2018"))
        self.assertRegex(text, r"POINT PREDICTED PUBLISHED OF trainers 20 [0-9.]+ \([0-9.]+%\) 263\.29 \(78\.64%\) PaddlePaddle Fluid trainers 40")
        self.assertNotIn("THIS RUN", text)
        for line in ("the figures here are predicted, not measured", "benchworker is next to 'PaddlePaddle Fluid' because it reimplements that program",
                     "Erratum: PaddlePaddle Fluid, trainers 40, efficiency (printed 77.47%)",
                     "No point of this prediction has the conditions and the columns of this table (pservers 3 to 20, trainers 60, batch_size 128)."):
            self.assertIn(line, text)
        self.assertIn("## Predicted, beside VGG16 on CPUs", self.ctl("simulate", *ACCELERATION, *few, "-o", "markdown").stdout)
        done = self.ctl("simulate", *ACCELERATION, *few, "-o", "json", code=2)
        self.assertIn("--reference has text and markdown (got -o json)\nfix: leave --reference out", done.stderr)
        self.ctl("simulate", *ACCELERATION, *few[:-1], "nosuch", code=3)

    def test_unit_of_the_definition(self):
        few = ("--systems", "benchworker", "--set", "pservers=20", "--set", "trainers=10", "--link", "1gbit", "--steps", "2", "--repeats", "1")
        text = self.ctl("simulate", "vgg16-systems-plan", *few).stdout
        samples = json.loads(self.ctl("simulate", "vgg16-systems-plan", *few, "-o", "json").stdout)["points"][0]["throughput"]["value"]
        self.assertIn("PREDICTED BATCHES/S", text)
        self.assertRegex(text, rf"(?m)^0 +10 +20 +64\* +{samples / 64:.4g} ")

    def test_lines_fit_and_name_the_servers(self):
        self.env["COLUMNS"] = "80"
        text = self.simulate("--layers", self.layers, "--link", "1gbit", "--jitter", "0.05", "--layers-batch", "1", pservers=(1, 2), repeats=3).stdout
        self.assertEqual([line for line in text.splitlines() if len(line) > 80], [])
        self.assertRegex(text, r"(?m)^0 .* [0-9.]+% ")

    def test_what_is_wrong(self):
        rows = [  # options, code, text
            (["--layers", self.layers], 2, "--link is missing"),
            (["--link", "10gbit"], 2, "layer times are missing"),
            (["--link", "10", "--layers", self.layers], 2, "--link '10': expected a number with kbit"),
            (["--link", "0gbit", "--layers", self.layers], 2, "--link '0gbit'"),
            (["--link", "-1gbit", "--layers", self.layers], 2, "--link '-1gbit'"),
            (["--link", "1e-320kbit", "--layers", self.layers], 2, "--link '1e-320kbit': expected a rate from 0.001kbit (1 bit/s) to 1000tbit"),
            (["--link", "0.0009kbit", "--layers", self.layers], 2, "--link '0.0009kbit': expected a rate from 0.001kbit"),
            (["--link", "1001tbit", "--layers", self.layers], 2, "to 1000tbit\nfix: for example --link 10gbit"),
            (["--link", "1gbit", "--server-link", "1e-320gbit", "--layers", self.layers], 2, "fix: for example --server-link 10gbit"),
            (["--link", "1gbit", "--first-link", "1e-320tbit", "--layers", self.layers], 2, "--first-link '1e-320tbit': expected a rate from 0.001kbit"),
            (["--link", "1gbit", "--layers", self.layers, "--jitter", "0.4"], 2, "--jitter '0.4': expected a number from 0 to 0.3"),
            (["--link", "1gbit", "--layers", self.layers, "--server-cost", "x"], 2, "--server-cost 'x'"),
            (["--link", "1gbit", "--layers", self.layers, "--cores", "0"], 2, "--cores '0'"),
            (["--link", "1gbit", "--layers", self.layers, "--nodes", "0"], 2, "--nodes '0'"),
            (["--link", "1gbit", "--first-link", "1", "--layers", self.layers], 2, "--first-link '1': expected a number with kbit"),
            (["--link", "1gbit", "--latency", "25us", "--layers", self.layers], 2, "--latency '25us': expected a number of microseconds from 0 to 1000000\n"),
            (["--link", "1gbit", "--worker-cost", "x", "--layers", self.layers], 2, "--worker-cost 'x': expected a number of nanoseconds a byte from 0 to 1000000\n"),
            (["--link", "1gbit", "--trace", "x7k2p", "--layers", self.layers], 5, "if run x7k2p is one of this machine, add --store sqlite:"),
            (["--link", "1gbit", "--layers-batch", "3"], 2, "--layers-batch needs --layers"),
            (["--link", "1gbit", "--layers", self.folder / "none"], 3, "none"),
            (["--link", "1gbit", "--layers", self.layers, "--set", "pservers=10000", "--set", "trainers=10000"], 2, "more than 5000000 slices"),
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

    def test_the_slowest_link(self):
        for name in ("--link", "--server-link", "--first-link"):
            point = self.points("--link", "1gbit", name, "0.001kbit", pservers=(1,), trainers=(1,))[0]
            self.assertGreaterEqual(point["seconds"]["step"], 8 * MODEL_BYTES)

    def test_on_a_terminal_it_says_that_it_simulates(self):
        path = self.define("sim.json", pservers=(1,), trainers=(1, 2))
        words = [cli.BENCHCTL, "simulate", "-f", path, "--link", "1gbit", "--layers", str(self.layers)]
        for more, says in (([], True), (["--quiet"], False)):
            master, slave = os.openpty()
            process = subprocess.Popen([*words, *more], env=self.env, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=slave)
            os.close(slave)
            seen = " ".join(cli.read_terminal(master).decode().split())
            self.assertEqual(process.wait(), 0)
            self.assertEqual(says, "simulating 3 points, for each 1 run of 4 steps; fewer --steps and --repeats take less time" in seen, seen)
        self.assertNotIn("simulating", self.ctl(*words[1:]).stderr)

    def test_what_is_not_simulated(self):
        systems = [{"name": "benchworker", "profile": "none", "command": ["benchworker", "allreduce"], "exchange": {"kind": "PServer"}}]
        done = self.simulate("--layers", self.layers, "--link", "1gbit", code=2, extra={"systems": systems})
        self.assertIn("system 'benchworker' has profile 'none': only systems with profile 'benchworker' are simulated; "
                      "take a definition that trains with it, such as vgg16-allreduce-sweep\n", done.stderr)
        systems.append({"name": "ours", "profile": "benchworker"})
        done = self.simulate("--layers", self.layers, "--link", "1gbit", code=2, extra={"systems": systems})
        self.assertIn("are simulated; choose them with --systems\n", done.stderr)
        workload = {"model": "vgg16-fluid-fc512", "dataset": {"kind": "Synthetic"}, "batchSize": 2, "threads": 1, "seed": 1, "compute": "Real",
                    "exchange": {"kind": "PServer", "mode": "Sync", "wire": "Bf16"}}
        done = self.simulate("--layers", self.layers, "--link", "1gbit", code=2, extra={"workload": workload})
        self.assertIn("has wire Bf16: only Fp32 is simulated", done.stderr)
        workload["exchange"] = {"kind": "PServer", "mode": "Async"}
        done = self.simulate("--layers", self.layers, "--link", "1gbit", code=2, extra={"workload": workload})
        self.assertIn("exchanges by 'Async': only Sync after each step is simulated", done.stderr)

    def ring(self, *args, workers=(1, 4), transport=None, code=0, o="json"):
        """The points of workers, or what was printed."""
        exchange = {"kind": "AllReduce", "mode": "Sync", "wire": "Fp32", **({"transport": transport} if transport else {})}
        path = self.define("ring.json", repeats=1, extra=ring(workers, exchange))
        done = self.ctl("simulate", "-f", path, "--layers", str(self.layers), "-o", o, *map(str, args), code=code)
        return json.loads(done.stdout)["points"] if o == "json" and code == 0 else done

    def test_a_ring(self):
        slow = self.ring("--link", "100mbit")
        self.assertEqual([p["workers"] for p in slow], [1, 4])
        self.assertEqual([(p["trainers"], p["pservers"]) for p in slow], [(0, 0)] * 2)
        self.assertAlmostEqual(slow[0]["seconds"]["step"], STEP_S)
        self.assertEqual([p["limit"] for p in slow], ["Compute", "WorkerLink"])
        law = 2 * 3 / 4 * MODEL_BYTES / (12.5e6 * 1448 / 1538)
        self.assertTrue(law <= slow[1]["seconds"]["step"] <= law + STEP_S, slow[1])
        self.assertEqual(slow[1]["throughput"]["predicted"], True)
        self.assertEqual(slow[1]["shares"]["trainerLink"], 0)
        self.assertGreater(slow[1]["shares"]["workerLink"], .8)
        first = self.ring("--link", "10gbit", "--first-link", "100mbit")[1]
        self.assertGreaterEqual(first["seconds"]["step"], law)
        cpu = self.ring("--link", "10gbit", "--worker-cost", "10", "--update-cost", "20")
        self.assertEqual([p["limit"] for p in cpu], ["WorkerCpu"] * 2)
        self.assertGreater(cpu[1]["shares"]["workerCpu"], .8)
        far = self.ring("--link", "10gbit", "--latency", "50000")[1]
        self.assertEqual(far["limit"], "Latency")
        self.assertGreaterEqual(far["seconds"]["step"], 6 * .05)
        cpu = self.ring("--link", "10gbit", "--worker-cost", "5", "--latency", "10000")[1]
        self.assertEqual(cpu["limit"], "WorkerCpu")  # what the threads do hides most of the latency
        cores = self.ring("--cores", "2", workers=(4,))[0]
        self.assertEqual(cores["limit"], "Cores")

    def test_a_ring_in_words(self):
        text = self.ring("--link", "10gbit", "--nodes", "6", o="text").stdout
        self.assertRegex(text, r"(?m)^POINT +WORKERS +BATCH +PREDICTED SAMPLES/S ")
        self.assertRegex(text, r"(?m)^0 +6 +2 ")
        self.assertNotIn("PSERVERS", text)
        self.assertNotIn("Servers for", text)
        for transport in ("SharedMemory", "Nccl"):
            done = self.ring("--link", "1gbit", transport=transport, code=2)
            self.assertIn(f"has transport {transport}: a ring is simulated over Tcp alone", done.stderr)
        self.ring("--link", "1gbit", transport="Tcp")

    def test_many_workers_and_steps(self):
        few, many = (self.ring("--link", "1gbit", "--nodes", "2000", "--steps", steps, "--jitter", "0")[0] for steps in (100, 1000000))
        self.assertAlmostEqual(many["throughput"]["value"] / few["throughput"]["value"], 1, 2)  # most of them are skipped
        self.assertEqual(few["simulatedSteps"], 100)
        self.assertTrue(5 <= many["simulatedSteps"] < 10000, many["simulatedSteps"])
        text = self.ring("--link", "1gbit", "--nodes", "2000", "--steps", "1000000", "--jitter", "0", o="text").stdout
        self.assertIn(f"2 points are too large for all 1000000 steps: at least {many['simulatedSteps']} were simulated, the others count as their "
                      "mean.", " ".join(text.split()))
        self.assertNotIn("too large", self.ring("--link", "1gbit", "--nodes", "4", o="text").stdout)

    def test_the_shipped_ring(self):
        done = self.ctl("simulate", "vgg16-allreduce-sweep", "--nodes", "20", "--link", "10gbit", "--steps", "1", "--layers", str(self.layers))
        self.assertRegex(done.stdout, r"(?m)^0 +20 +64 ")
        self.assertRegex(done.stdout, r"(?m)^1 \(baseline\) +1 +64 ")

    def test_both_families_in_one_file(self):
        exchange = {"kind": "AllReduce", "mode": "Sync", "wire": "Fp32"}
        worker = ring((2,), exchange)["roles"]["worker"]
        pair = {name: {**worker, "replicas": {"from": name + "s"}} for name in ("pserver", "trainer", "worker")}
        path = self.define("both.json", repeats=1, extra={
            "systems": [{"name": "servers", "profile": "benchworker"}, {"name": "ring", "profile": "benchworker", "exchange": exchange}],
            "sweep": {"grid": {"pservers": [1, 2], "trainers": [2], "workers": [2]}}, "roles": pair})
        text = self.ctl("simulate", "-f", path, "--link", "1gbit", "--layers", str(self.layers)).stdout
        self.assertRegex(text, r"(?m)^POINT +TRAINERS +PSERVERS +WORKERS +BATCH ")
        points = json.loads(self.ctl("simulate", "-f", path, "--link", "1gbit", "--nodes", "3", "--layers", str(self.layers), "-o", "json").stdout)["points"]
        kinds = {(p["system"], p["trainers"] + p["workers"], p["pservers"]) for p in points}
        self.assertTrue({("servers", 3, 1), ("servers", 3, 2), ("ring", 3, 0)} <= kinds, kinds)

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

    def test_costs_of_another_exchange(self):
        """A byte of Bf16 costs a server something else, and is of two bytes of parameters: Fp32 alone is simulated."""
        workload = {"model": "vgg16-fluid-fc512", "dataset": {"kind": "Synthetic"}, "batchSize": 2, "threads": 1, "seed": 1,
                    "exchange": {"kind": "PServer", "mode": "Sync", "wire": "Bf16"}, "compute": "Emulated",
                    "trace": {"layers": [{"name": n, "forwardMicroseconds": 2000, "backwardMicroseconds": 4000} for n in LAYERS]}}
        path = self.define("bf16.json", extra={"workload": workload}, pservers=(1,), steps=2, repeats=1)
        self.env["BENCHWORKER"] = os.environ["BENCHWORKER_PROGRAM"]
        self.ctl("run", path, "--store", self.store)
        words = ("--link", "10gbit", "--layers", self.layers, "--store", self.store, "--trace", self.run_name())
        text = self.simulate(*words, pservers=(1,)).stdout
        self.assertIn("has no Sync/Fp32 exchange, so costs come from options only", " ".join(text.split()))
        costs = json.loads(self.simulate(*words, "-o", "json", pservers=(1,)).stdout)["inputs"]
        self.assertEqual({costs[f"{key}NanosecondsPerByte"] for key in ("receive", "send", "update", "trainer")}, {0})

    def store_trainers(self, batches):
        """A run of trainers that say {batch: (forward s, backward s)}, each alone, and step times of 9 and 11 ms; its name."""
        codes = [round(2048 * math.log2(us)) for us in (9000, 11000, 9000, 11000)]
        series = {"k": 1, "n": 4, "min": min(codes), "data": base64.b64encode(struct.pack("<4H", *(c - min(codes) for c in codes))).decode()}
        idle = {phase: 0 for phase in ("data", "send", "wait", "update", "receive")}
        phases = {b: {"phase_ns": {**idle, "forward": round(4e9 * f), "backward": round(4e9 * w)}} for b, (f, w) in batches.items()}
        path = self.define("trainers.json", env={"FAKE_SUMMARY": json.dumps({"series": series, "cpu_ns": 10**9}), "FAKE_BATCHES": json.dumps(phases)},
                           extra={"sweep": {"grid": {"pservers": [1], "trainers": [1], "batch_size": list(batches)}}}, steps=4, repeats=2)
        self.ctl("run", path, "--store", self.store)
        return self.run_name()

    def test_times_of_real_trainers(self):
        """The jitter is that of the steps: 10% about their mean, n - 1 of each trial. Every batch has its own times."""
        name = self.store_trainers({2: (.1, .2), 4: (.15, .25)})
        words = ("--link", "1tbit", "--store", self.store, "--trace", name, "--layers", self.layers)
        grid = {"sweep": {"grid": {"pservers": [1], "trainers": [1], "batch_size": [2, 4, 8]}}}
        done = self.simulate(*words, extra=grid)
        self.assertIn("forward 100.0 ms, backward 200.0 ms, jitter 11.5%", " ".join(done.stdout.split()))
        self.assertIn("times of batch 4: forward 150.0 ms, backward 250.0 ms", " ".join(done.stdout.split()))
        got = json.loads(self.simulate(*words, "-o", "json", extra=grid).stdout)
        self.assertAlmostEqual(got["inputs"]["jitter"], .1 * math.sqrt(4 / 3), places=4)
        self.assertEqual(got["inputs"]["passes"], [{"batchSize": 2, "forwardSeconds": .1, "backwardSeconds": .2},
                                                   {"batchSize": 4, "forwardSeconds": .15, "backwardSeconds": .25}])
        still = self.simulate(*words, "--jitter", "0", "-o", "json", extra=grid)
        steps = {p["batchSize"]: (p["seconds"]["forward"], p["seconds"]["backward"], p["timesScaledToBatch"])
                 for p in json.loads(still.stdout)["points"] if not p["baseline"]}
        for batch, (forward, backward, scaled) in {2: (.1, .2, False), 4: (.15, .25, False), 8: (.4, .8, True)}.items():
            self.assertAlmostEqual(steps[batch][0], forward, places=6)
            self.assertAlmostEqual(steps[batch][1], backward, places=6)
            self.assertEqual(steps[batch][2], scaled)

    def test_times_of_benchworker_among_others(self):
        """A run of several systems, the first of which is another program that says its phases."""
        def says(forward, backward):
            idle = {phase: 0 for phase in ("data", "send", "wait", "update", "receive")}
            summary = {"cpu_ns": 10**9, "phase_ns": {**idle, "forward": round(4e9 * forward), "backward": round(4e9 * backward)}}
            return {"env": [{"name": "FAKE_SUMMARY", "value": json.dumps(summary)}]}
        systems = [{"name": "theirs", "profile": "none", "command": [cli.FAKE_REPLICA], **says(7, 9)},
                   {"name": "ours", "profile": "benchworker", **says(.1, .2)}]
        path = self.define("systems.json", extra={"systems": systems}, pservers=(1,), steps=4, repeats=1)
        self.ctl("run", path, "--store", self.store)
        done = self.simulate("--link", "1tbit", "--store", self.store, "--trace", self.run_name(), "--layers", self.layers, pservers=(1,))
        self.assertIn("point 3: forward 100.0 ms, backward 200.0 ms", " ".join(done.stdout.split()))

    def test_costs_of_stored_workers(self):
        """Two numbers of them: what a byte costs, and what updating one does."""
        extra = ring((1, 2), {"kind": "AllReduce", "mode": "Sync", "wire": "Fp32"})
        extra["workload"] |= {"compute": "Emulated", "trace": {"layers": [{"name": n, "forwardMicroseconds": 2000, "backwardMicroseconds": 4000}
                                                                          for n in LAYERS]}}
        path = self.define("emulated.json", extra=extra, steps=4, repeats=1)
        self.env["BENCHWORKER"] = os.environ["BENCHWORKER_PROGRAM"]
        self.ctl("run", path, "--store", self.store)
        words = ("--link", "10gbit", "--store", self.store, "--trace", self.run_name())
        text = " ".join(self.ctl("simulate", "-f", path, *words).stdout.split())
        self.assertRegex(text, r"costs: run \S+, [\d.]+ GB: a worker sends or receives a byte in [\d.]+ ns, updates one in [\d.]+")
        self.assertNotIn("a server receives", text)
        costs = json.loads(self.ctl("simulate", "-f", path, *words, "-o", "json").stdout)["inputs"]
        self.assertTrue(0 < costs["workerNanosecondsPerByte"] < 100, costs)
        self.assertTrue(0 <= costs["workerUpdateNanosecondsPerByte"] < 100, costs)
        self.assertEqual(costs["receiveNanosecondsPerByte"], 0)
        own = json.loads(self.ctl("simulate", "-f", path, *words, "--worker-cost", "3", "-o", "json").stdout)["inputs"]
        self.assertAlmostEqual(own["workerNanosecondsPerByte"], 3)


if __name__ == "__main__":
    cli.main()
