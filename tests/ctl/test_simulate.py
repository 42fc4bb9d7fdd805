#!/usr/bin/env python3
"""benchctl simulate: bounds by hand and of the measured record, where their inputs come from, and what is said of those that are unknown."""
import json
import re

import cli

LAYERS = [f"conv{stack}_{i + 1}" for stack, n in enumerate((2, 2, 3, 3, 3), 1) for i in range(n)] + ["fc1", "fc2", "fc3"]
STEP_S = .3 * len(LAYERS) / 16
MODEL_BYTES = 4 * 15254602
PREDICTION = cli.ROOT / "docs" / "prediction.md"
GOLDEN = cli.ROOT / "docs" / "contracts" / "golden" / "bound.json"
# Those points of vgg16-systems that are one table of 2018.
ACCELERATION = ("vgg16-systems", "--systems", "benchworker", "--set", "pservers=20", "--set", "trainers=20,40,80,100")
# "8x4, links of 500 Mbit/s", "ring of 3", "100x20, 7,650 ms a step": what docs/prediction.md has of a gang of batch 128
GANG = re.compile(r"^\| (?:(\d+)x(\d+)|ring of (\d+))(?:, links of (\d+) Mbit/s)?(?:, ([\d,]+) ms a step)? \| ([\d,.]+) \| ([\d,.]+) \|", re.M)


def trace(batch=2, layers=tuple(LAYERS), forward=6250, backward=12500):
    rows = [f"  - {{name: {name}, forwardMicroseconds: {forward}, backwardMicroseconds: {backward}}}" for name in layers]
    return "\n".join([f"batchSize: {batch}" if batch else "", "trace:", "  layers:", *rows, ""])


def exchange(**keys):
    return {"kind": "PServer", "mode": "Sync", "wire": "FP32", **keys}


def workload(own=None, **keys):
    return {"model": "vgg16-fluid-fc512", "dataset": {"kind": "Synthetic"}, "batchSize": 2, "threads": 1, "seed": 1, "compute": "Real",
            "exchange": own or exchange(), **keys}


def ring(workers, **keys):
    """What a definition of workers has in place of trainers and servers."""
    template = {"spec": {"containers": [{"name": "main"}]}}
    return {"workload": workload(exchange(kind="AllReduce"), **keys), "sweep": {"grid": {"workers": list(workers)}},
            "baseline": {"kind": "Point", "where": {"workers": workers[0]}},
            "roles": {"worker": {"replicas": {"from": "workers"}, "template": template}}}


class Simulate(cli.CliCase):
    def setUp(self):
        super().setUp()
        self.layers = self.folder / "layers.yaml"
        self.layers.write_text(trace())

    def simulate(self, *args, code=0, **keys):
        return self.ctl("simulate", "-f", self.define("sim.json", **keys), *map(str, args), code=code)

    def document(self, *args, **keys):
        return json.loads(self.simulate(*args, "-o", "json", **keys).stdout)

    def points(self, *args, **keys):
        return self.document("--layers", self.layers, *args, **keys)["points"]

    def words(self, *args, **keys):
        return " ".join(self.simulate(*args, **keys).stdout.split())

    def test_the_contract(self):
        got = self.document("--layers", self.layers, "--link", "1gbit", "--server-cost", "0.5", "--latency", "25", pservers=(1, 2), trainers=(2,))
        got["assumptions"]["stepFrom"] = got["assumptions"]["stepFrom"].replace(str(self.layers), "layers.yaml")
        got["assumptions"]["text"] = got["assumptions"]["text"].replace(str(self.layers), "layers.yaml")
        self.assertEqual(json.loads(GOLDEN.read_text()), got, json.dumps(got, indent=2))

    def test_by_hand(self):
        """Four trainers: a server's link carries the model of each, each way, and its CPU both."""
        rows = [  # options, servers, seconds, limit
            (["--link", "1000gbit"], 1, STEP_S, "Compute"),
            (["--link", "100mbit"], 1, 4 * MODEL_BYTES / 12.5e6, "ServerLink"),
            (["--link", "100mbit"], 2, 2 * MODEL_BYTES / 12.5e6, "ServerLink"),
            (["--link", "100mbit", "--server-link", "10gbit"], 1, MODEL_BYTES / 12.5e6, "TrainerLink"),
            (["--link", "1000gbit", "--server-cost", "5"], 1, 8 * MODEL_BYTES * 5e-9, "ServerCpu"),
            (["--link", "1000gbit", "--latency", "25000"], 1, STEP_S + .05, "Compute"),
            (["--link", "1000gbit", "--latency", "250000"], 1, STEP_S + .5, "Latency"),
        ]
        for options, servers, seconds, limit in rows:
            with self.subTest(options):
                point, alone = self.points(*options, pservers=(servers,), trainers=(4,))
                self.assertAlmostEqual(point["secondsAtLeast"]["step"], seconds)
                self.assertEqual(point["limit"], limit)
                self.assertAlmostEqual(point["atMost"]["samplesPerSecond"], 4 * 2 / seconds)
                self.assertAlmostEqual(point["atMost"]["speedup"], 4 * STEP_S / seconds)
                self.assertAlmostEqual(point["atMost"]["efficiency"], STEP_S / seconds)
                self.assertAlmostEqual(alone["secondsAtLeast"]["step"], STEP_S)

    def test_a_ring_by_hand(self):
        """Each worker sends 2 (N - 1) / N of the model, and its gradient goes round once before the next step."""
        for options, seconds, limit in ((["--link", "100mbit"], 2 * 3 / 4 * MODEL_BYTES / 12.5e6, "WorkerLink"), (["--link", "1000gbit"], STEP_S, "Compute"),
                                        (["--link", "1000gbit", "--latency", "250000"], STEP_S + 4 * .25, "Latency")):
            one, four = self.points(*options, extra=ring((1, 4)))
            self.assertAlmostEqual(four["secondsAtLeast"]["step"], seconds)
            self.assertEqual((one["limit"], four["limit"]), ("Compute", limit))
            self.assertEqual(one["secondsAtLeast"]["replicaLink"], 0)
            self.assertAlmostEqual(four["atMost"]["efficiency"], STEP_S / seconds)

    def test_other_exchanges(self):
        """Half the bytes with bf16, a fourth with four local steps; an asynchronous trainer waits for no sum."""
        link = MODEL_BYTES / 12.5e6
        rows = [(exchange(wire="BF16"), link / 2, STEP_S + .02), (exchange(localSteps=4), link / 4, STEP_S + .02 / 4),
                (exchange(mode="Async"), link, STEP_S), (exchange(serverThreads=2), link, STEP_S + .02)]
        for own, seconds, compute in rows:
            with self.subTest(own):
                point = self.points("--link", "100mbit", "--latency", "10000", "--server-cost", "1", pservers=(1,), steps=4,
                                    extra={"workload": workload(own), "measure": {"warmupSteps": 4, "steps": 4}})[0]
                self.assertAlmostEqual(point["secondsAtLeast"]["serverLink"], seconds)
                self.assertAlmostEqual(point["secondsAtLeast"]["compute"], compute)
                threads = own.get("serverThreads", 1)
                self.assertAlmostEqual(point["secondsAtLeast"]["serverCpu"], 2 * seconds * 12.5e6 * 1e-9 / threads)

    def test_the_measured_record(self):
        """The bounds of docs/prediction.md are what simulate prints, and no gang was faster."""
        found = GANG.findall(PREDICTION.read_text())
        self.assertGreater(len(found), 10)
        for trainers, servers, workers, link, step_ms, bound, measured in found:
            number = {k: float(v.replace(",", "")) for k, v in (("bound", bound), ("measured", measured), ("step", step_ms or "1000"))}
            options = ("--step-time", number["step"], *(["--link", f"{link}mbit"] if link else []))
            keys = {"extra": ring((int(workers),), batchSize=128)} if workers else {
                "pservers": (int(servers),), "trainers": (int(trainers),), "extra": {"workload": workload(batchSize=128)}}
            with self.subTest(trainers=trainers, servers=servers, workers=workers, link=link):
                got = self.document(*options, **keys)["points"][0]["atMost"]["samplesPerSecond"]
                self.assertAlmostEqual(got, number["bound"], delta=.1)
                self.assertLessEqual(number["measured"], got)

    def test_the_links_of_a_definition(self):
        """Each point has its own; an option is for those that are not shaped."""
        sweep = {"sweep": {"grid": {"pservers": [1], "trainers": [1], "link": ["2mbit 3ms", "none"]}}}
        for options, seconds in (([], None), (["--link", "1mbit"], MODEL_BYTES / .125e6)):
            shaped, free = self.points(*options, extra=sweep)[:2]
            self.assertAlmostEqual(shaped["secondsAtLeast"]["serverLink"], MODEL_BYTES / .25e6)
            self.assertAlmostEqual(shaped["secondsAtLeast"]["compute"], STEP_S + .006)
            self.assertEqual((shaped["link"], free["link"]), ("2mbit 3ms", "none"))
            self.assertEqual(free["secondsAtLeast"]["serverLink"], seconds and free["secondsAtLeast"]["replicaLink"])
            self.assertAlmostEqual(free["secondsAtLeast"]["compute"], STEP_S)
        text = self.simulate("--layers", self.layers, "--link", "1mbit", extra=sweep).stdout
        self.assertIn("links and their latency as the definition shapes them; links of 1mbit each way (--link)", " ".join(text.split()))
        self.assertRegex(text, r"(?m)^POINT +TRAINERS +PSERVERS +LINK +BATCH ")

    def test_what_is_unknown(self):
        """It limits nothing, and a line says how to give it."""
        text = self.words(pservers=(1,))
        self.assertIn("Assumed: links unknown (--link RATE); latency 0 us (default); a server's CPU time unknown (--server-cost NS); step time unknown "
                      "(--layers FILE or --step-time MS); batch, threads and model of the definition; updates, headers, stragglers and shared "
                      "cores cost nothing.", text)
        point = self.document(pservers=(1,))["points"][0]
        self.assertEqual(point["limit"], "-")
        self.assertEqual(set(point["atMost"].values()) | set(point["secondsAtLeast"].values()), {None})
        text = self.words("--layers", self.layers, "--link", "1gbit", "--server-cost", "0.5", pservers=(1,))
        self.assertNotIn("unknown (", text)
        self.assertIn(f"latency 0 us (default); a server's CPU needs 0.5 ns for a byte (--server-cost); layers of {self.layers}, batch 2, "
                      "300 ms a step, measured on an unknown machine; batch, threads", text)
        text = self.words("--layers", self.layers, "--link", "1gbit", extra=ring((1, 2)))
        self.assertNotIn("server", text)
        text = self.words("--layers", self.layers, "--link", "1gbit", "--set", "threads=2", pservers=(1,))
        self.assertIn("step time of other systems and numbers of threads unknown", text)

    def test_any_system(self):
        """Of a program of which only the step time and the bytes are known."""
        systems = {"systems": [{"name": "ours", "profile": "none", "command": ["train"], "exchange": {"kind": "PServer"}}]}
        text = self.words("--layers", self.layers, "--link", "1gbit", extra=systems, pservers=(1,), trainers=(2,))
        self.assertIn("step time of other systems and numbers of threads unknown (--layers FILE or --step-time MS); bytes of other systems than "
                      "benchworker unknown (--bytes N, if they exchange by PServer or AllReduce); batch", text)
        known = self.document("--step-time", 400, "--bytes", "1e9", "--link", "10gbit", extra=systems, pservers=(1,), trainers=(2,))["points"][0]
        self.assertEqual(known["secondsAtLeast"], {"step": 1.6, "compute": .4, "replicaLink": .8, "serverLink": 1.6, "serverCpu": None})
        reduce = ring((4,))
        reduce["systems"] = [{"name": "ddp", "profile": "none", "command": ["train"], "exchange": {"kind": "AllReduce"}}]
        four = self.document("--step-time", 400, "--bytes", "1e9", "--link", "10gbit", "--latency", 10000, extra=reduce)["points"][0]
        self.assertAlmostEqual(four["secondsAtLeast"]["replicaLink"], 1.2)
        self.assertAlmostEqual(four["secondsAtLeast"]["compute"], .41)  # how often others wait is not known, but once at least
        reduce["systems"][0]["exchange"] = {"kind": "Gossip"}
        other = self.document("--step-time", 400, "--bytes", "1e9", "--link", "10gbit", extra=reduce)["points"][0]
        self.assertEqual((other["secondsAtLeast"]["replicaLink"], other["limit"]), (None, "Compute"))

    def test_several_systems(self):
        systems = [{"name": "ours", "profile": "benchworker"}, {"name": "theirs", "profile": "none", "command": ["train"]}]
        self.env["COLUMNS"] = "200"
        text = self.simulate("--layers", self.layers, "--link", "1gbit", extra={"systems": systems}, pservers=(1,)).stdout
        self.assertRegex(text, r"(?m)^POINT +SYSTEM +TRAINERS +PSERVERS +BATCH +AT MOST SAMPLES/S +EFFICIENCY +STEP ms +COMPUTE +TRAINER LINK "
                               r"+SERVER LINK +LIMIT$")
        self.assertRegex(text, r"(?m)^0 +ours +1 +1 +2 +4\.097 +61\.5% +488\.1 +300 +488\.1 +488\.1 +TrainerLink$")
        self.assertRegex(text, r"(?m)^1 +theirs +1 +1 +2( +-)+$")

    def test_where_nothing_is_exchanged(self):
        done = self.ctl("simulate", "vgg16-single-node", "--systems", "benchworker", "--layers", str(self.layers))
        self.assertNotIn("links", done.stdout)
        self.assertRegex(done.stdout, r" Compute$")

    def test_another_batch(self):
        self.layers.write_text(trace(batch=1))
        self.assertAlmostEqual(self.points("--link", "1000gbit", pservers=(1,))[0]["secondsAtLeast"]["step"], 2 * STEP_S)
        self.assertIn("a sample takes as long with any batch", self.words("--layers", self.layers, pservers=(1,)))

    def test_emulated_trainers(self):
        """They sleep as the trace says, whatever the batch and the threads are that the sweep has."""
        layers = [{"name": n, "forwardMicroseconds": 6250, "backwardMicroseconds": 12500} for n in LAYERS]
        extra = {"workload": workload(compute="Emulated", trace={"layers": layers}),
                 "sweep": {"grid": {"pservers": [1], "trainers": [1], "batch_size": [8], "threads": [2]}}}
        point = self.document("--link", "1000gbit", extra=extra)["points"][-1]
        self.assertEqual(point["batchSize"], 8)
        self.assertAlmostEqual(point["secondsAtLeast"]["step"], STEP_S)

    def test_layers_of_another_definition(self):
        """A definition names the one whose trace is taken; --layers takes a name, too; the machine is printed."""
        wanted = ("layers of vgg16-rehearsal-2018, batch 128, 7650 ms a step, measured on a core of 2.8 GHz with AVX-512, scaled to a step of the "
                  "Xeon E5-2620 v4 of 2018")
        self.assertIn(wanted, " ".join(self.ctl("simulate", *ACCELERATION, "--link", "1gbit").stdout.split()))
        asked = self.ctl("simulate", "vgg16-pserver-sweep", "--link", "1gbit", "--layers", "vgg16-rehearsal-2018", "--set", "trainers=2").stdout
        self.assertIn(wanted + "; a sample takes as long with any batch", " ".join(asked.split()))  # its own batch is 64
        self.ctl("simulate", "vgg16-pserver-sweep", "--layers", "nosuch", code=3)
        self.assertIn("layers: vgg16-single-node has no workload.trace",
                      self.ctl("simulate", "vgg16-pserver-sweep", "--layers", "vgg16-single-node", code=2).stderr)

    def test_published_figures(self):
        words = (*ACCELERATION, "--link", "1gbit")
        done = self.ctl("simulate", *words, "--reference", "paddle-vgg16-cpu-2018").stdout
        alone = self.ctl("simulate", *words).stdout
        self.assertTrue(done.startswith(alone))
        text = " ".join(done[len(alone):].split())
        self.assertTrue(text.startswith("Bounds, beside paddle-vgg16-cpu-2018 2018"))
        self.assertRegex(text, r"POINT AT MOST PUBLISHED OF trainers 20 334\.6 \(100\.00%\) 263\.29 \(78\.64%\) PaddlePaddle Fluid trainers 40")
        self.assertNotIn("THIS RUN", text)
        for line in ("the figures here are bounds, not measured", "benchworker reimplements 'PaddlePaddle Fluid'",
                     "Erratum: PaddlePaddle Fluid, trainers 40, efficiency (printed 77.47%)",
                     "4 of 5 tables have no figure for a point of these bounds."):
            self.assertIn(line, text)
        self.assertIn("## Bounds, beside VGG16 on CPUs", self.ctl("simulate", *words, "--reference", "paddle-vgg16-cpu-2018", "-o", "markdown").stdout)
        done = self.ctl("simulate", *words, "--reference", "paddle-vgg16-cpu-2018", "-o", "json", code=2)
        self.assertIn("--reference has text and markdown (got -o json)\nfix: leave --reference out", done.stderr)
        self.ctl("simulate", *words, "--reference", "nosuch", code=3)

    def test_unit_of_the_definition(self):
        words = ("vgg16-systems-plan", "--systems", "benchworker", "--set", "pservers=20", "--set", "trainers=10", "--link", "1gbit")
        text = self.ctl("simulate", *words).stdout
        self.assertIn("AT MOST BATCHES/S", text)
        self.assertRegex(text, r"(?m)^0 +10 +20 +64 +2\.614 ")
        samples = json.loads(self.ctl("simulate", *words, "-o", "json").stdout)["points"][0]["atMost"]["samplesPerSecond"]
        self.assertAlmostEqual(samples / 64, 2.614, places=3)

    def test_lines_fit(self):
        self.env["COLUMNS"] = "80"
        text = self.simulate("--layers", self.layers, "--link", "1gbit", "--server-cost", "1", pservers=(1, 2)).stdout
        self.assertEqual([line for line in text.splitlines() if len(line) > 80], [])

    def test_what_is_wrong(self):
        rows = [  # options, code, text
            (["--link", "10"], 2, "--link '10': expected a rate such as 10gbit\n"),
            (["--link", "0gbit"], 2, "--link '0gbit'"),
            (["--link", "-1gbit"], 2, "--link '-1gbit'"),
            (["--server-link", "1001000gbit"], 2, "--server-link '1001000gbit'"),
            (["--server-cost", "x"], 2, "--server-cost 'x': expected a number of nanoseconds\n"),
            (["--latency", "25us"], 2, "--latency '25us': expected a number of microseconds\n"),
            (["--step-time", "0"], 2, "--step-time '0': expected a number of milliseconds\n"),
            (["--bytes", "1gb"], 2, "--bytes '1gb': expected a number of bytes\n"),
            (["--layers", self.folder / "none"], 3, "none"),
        ]
        for args, code, text in rows:
            with self.subTest(args):
                done = self.simulate(*args, code=code)
                self.assertIn(text, done.stderr)
                self.assertEqual(done.stdout, "")
        files = [
            (trace(layers=[*LAYERS, "fc3"]), "wrong.yaml:20:12: error: trace.layers[16].name: duplicate 'fc3'"),
            (trace(forward="fast"), "wrong.yaml:4:42: error: trace.layers[0].forwardMicroseconds"),
            (trace(forward=0, backward=0), "all layers together take no time"),
            (trace(batch=None), "wrong.yaml does not say of which batch size its times are"),
            ("layers: []\n", "wrong.yaml:1:1"),
            ("", "wrong.yaml"),
            ("batchSize: 0\n" + trace(batch=None), "wrong.yaml:1:12: error: batchSize: 0 is out of range"),
        ]
        for text, message in files:
            with self.subTest(message):
                wrong = self.folder / "wrong.yaml"
                wrong.write_text(text)
                self.assertIn(message, self.simulate("--link", "1gbit", "--layers", wrong, code=2).stderr)

    def test_bounds_are_no_run(self):
        file = self.folder / "bound.json"
        file.write_text(self.simulate("--layers", self.layers, "--link", "1gbit", "-o", "json").stdout)
        for words in (("compare", file, file), ("gate", file)):
            with self.subTest(words):
                self.assertEqual(self.ctl(*map(str, words), "--store", self.store, code=3).stdout, "")


if __name__ == "__main__":
    cli.main()
