#!/usr/bin/env python3
"""benchctl run with the real worker: one trainer and one parameter server train VGG16 for a step, with as
little work as there can be. Everything else about runs is tested with fake_replica.c."""
import json
import os

import cli


def emulated(kind):
    """A workload of trainers or workers that sleep 300 ms a step."""
    names = [f"conv{stack}_{i + 1}" for stack, n in enumerate((2, 2, 3, 3, 3), 1) for i in range(n)] + ["fc1", "fc2", "fc3"]
    layers = [{"name": name, "forwardMicroseconds": 100, "backwardMicroseconds": 200} for name in names]
    return {"model": "vgg16-fluid-fc512", "batchSize": 128, "exchange": {"kind": kind}, "compute": "Emulated",
            "trace": {"stepMilliseconds": 300, "jitter": "0.01", "layers": layers}}


FASTEST = 128 / 0.285   # samples/s of one of them, its steps five standard deviations short; a busy machine only makes it slower


class Real(cli.CliCase):
    def test_one_trainer_and_one_pserver(self):
        self.env["BENCHWORKER"] = os.environ["BENCHWORKER_PROGRAM"]
        one = {"baseline": {"kind": "Point", "where": {"trainers": 1}}}
        result = self.run_tiny("--set", "batch_size=1", pservers=(1,), steps=1, repeats=1, extra=one)
        self.assertEqual(result["phase"], "Succeeded")
        (point,) = result["points"]
        self.assertEqual(point["phase"], "Succeeded")
        self.assertGreater(point["throughput"]["value"], 0)
        self.assertEqual(point["efficiency"]["value"], 1)
        log = self.ctl("logs", result["run"], "--store", self.store, "--point", "0").stdout
        records = [json.loads(line) for line in log.splitlines() if line.startswith('{"benchd"')]
        self.assertEqual([r["type"] for r in records], ["start", "step", "step", "summary"])
        server = self.ctl("logs", result["run"], "--store", self.store, "--point", "0", "--role", "pserver").stdout
        self.assertIn('"type":"summary"', server)
        text = self.ctl("describe", result["run"], "--store", self.store).stdout
        self.assertRegex(text, r"blas_core: +\w+")
        self.assertIn(f"kernel:      {os.uname().release}", text)

    def test_vgg16_allreduce_sweep(self):
        """As it ships, with as little work as there can be: a ring beside one worker alone."""
        self.env["BENCHWORKER"] = os.environ["BENCHWORKER_PROGRAM"]
        done = self.ctl("run", "vgg16-allreduce-sweep", "--local", "--store", self.store, "-o", "json", "--set", "batch_size=2", "--steps", "2",
                        "--repeats", "1")
        result = json.loads(done.stdout)
        self.assertEqual("Succeeded", result["phase"])
        self.assertEqual([1, 2], [point["parameters"]["workers"] for point in result["points"]])
        for point in result["points"]:
            self.assertEqual("samples/s", point["throughput"]["unit"])
            self.assertGreater(point["efficiency"]["value"], 0)
        table = self.ctl("results", result["run"], "--store", self.store, "--explain").stdout
        self.assertRegex(table, r"WORKERS\s+THROUGHPUT.*SPEEDUP\s+EFFICIENCY")

    def test_emulated_trainers(self):
        """Three trainers that sleep where they would compute: the bytes, the sums and the marks are real."""
        self.env["BENCHWORKER"] = os.environ["BENCHWORKER_PROGRAM"]
        result = self.run_tiny(pservers=(2,), trainers=(3,), steps=2, repeats=1, extra={"workload": emulated("PServer")})
        self.assertEqual((result["phase"], result["rehearsal"]), ("Succeeded", True))
        self.assertEqual([w["code"] for w in result["warnings"] if w["code"] == "Rehearsal"], ["Rehearsal"])
        (baseline,) = result["baselines"]
        self.assertLess(baseline["throughput"]["value"], FASTEST)
        self.assertLess(result["points"][0]["throughput"]["value"], 3 * FASTEST)
        log = self.ctl("logs", result["run"], "--store", self.store, "--point", "0").stdout
        (summary,) = [r for r in map(json.loads, filter(lambda x: x.startswith('{"benchd"'), log.splitlines()))
                      if r["type"] == "summary"]
        self.assertGreater(summary["bytes_tx"], 2 * 61_000_000)
        text = " ".join(self.ctl("results", result["run"], "--store", self.store).stdout.split())
        self.assertIn("REHEARSAL", text)
        self.assertIn("emulated trainers, 300 ms a step;", text)
        self.assertIn("rehearsal: the trainers are emulated, they sleep instead of computing", text)
        text = self.ctl("describe", result["run"], "--store", self.store).stdout
        self.assertRegex(text, r"Rehearsal: +yes")
        self.assertRegex(text, r"Compute: +Emulated, 300 ms a step, jitter 0.01")

    def test_emulated_workers(self):
        """The same of a ring, whose workers share an arena, and one that is alone."""
        self.env["BENCHWORKER"] = os.environ["BENCHWORKER_PROGRAM"]
        spec = {"workload": emulated("AllReduce"), "baseline": {"kind": "Point", "where": {"workers": 1}},
                "sweep": {"grid": {"workers": [1, 2]}}, "roles": {"worker": {"replicas": {"from": "workers"}}}}
        result = self.run_tiny(steps=2, repeats=1, extra=spec)
        self.assertEqual((result["phase"], result["rehearsal"]), ("Succeeded", True))
        self.assertLess(result["points"][1]["throughput"]["value"], 2 * FASTEST)
        log = self.ctl("logs", result["run"], "--store", self.store, "--point", "1", "--role", "worker").stdout
        summary = [r for r in map(json.loads, filter(lambda x: x.startswith('{"benchd"'), log.splitlines())) if r["type"] == "summary"][0]
        self.assertGreater(summary["bytes_tx"], 2 * 61_000_000)
        self.assertEqual("TCP", summary["transport"])
        text = " ".join(self.ctl("results", result["run"], "--store", self.store).stdout.split())
        self.assertIn("emulated workers, 300 ms a step;", text)


if __name__ == "__main__":
    cli.main()
