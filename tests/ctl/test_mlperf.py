#!/usr/bin/env python3
"""benchctl import --mlperf: a round of MLPerf Training becomes a run for each series, and what does not count is said."""
import json
import math
import re

import cli


def log(batch=64, step_s=2.0, status="success", evaluates=True, has_steps=True, n=12, name="bench", qualities=(), states=None):
    """The events of a run of `n` blocks of one step each. `states`: the throughput that it states."""
    lines, ms = [], 1700000000000

    def put(key, value, metadata):
        lines.append(":::MLLOG " + json.dumps({"time_ms": ms, "event_type": "POINT_IN_TIME", "key": key, "value": value,
                                               "metadata": metadata}) + "\n")
    put("submission_benchmark", name, {})
    put("global_batch_size", batch, {})
    put("run_start", None, {})
    for i in range(n):
        put("block_start", None, {"samples_count": i * batch})
        ms += int(1000 * step_s)
        if has_steps:
            put("tracked_stats", {"train_step_time": step_s}, {"samples_count": (i + 1) * batch})
        put("block_stop", None, {"samples_count": (i + 1) * batch})
    if states:
        put("throughput", states, {})
    if evaluates:
        put("eval_start", None, {"samples_count": n * batch})
        put("eval_stop", None, {"samples_count": n * batch})
    for quality in qualities:
        ms += 1000
        put("eval_accuracy", quality, {})
    put("run_stop", None, {"status": status})
    return "".join(lines)


class Mlperf(cli.CliCase):
    def entry(self, submitter, system, nodes, logs, benchmark="bench", per_node="8", **about):
        """A folder of logs, and the system that it ran on."""
        root = self.folder / "round" / submitter
        (root / "systems").mkdir(parents=True, exist_ok=True)
        about = {"accelerators_per_node": per_node, "number_of_nodes": nodes, "accelerator_model_name": "ACME X-1 (80GB)",
                 "framework": "F 1.0", "host_processor_model_name": "Xeon"} | about
        (root / "systems" / f"{system}.json").write_text(json.dumps(about), encoding="utf-8")
        folder = root / "results" / system / benchmark
        folder.mkdir(parents=True)
        for i, text in enumerate(logs):
            (folder / f"result_{i}.txt").write_text(text, encoding="utf-8")

    def load(self, *words, code=0, **keys):
        return self.ctl("import", "--mlperf", "round", "--store", self.store, *words, code=code, **keys)

    def runs(self, *words):
        """{(submitter, sizes): the row}, and all of the document."""
        document = json.loads(self.load(*words, "-o", "json").stdout)
        self.assertEqual(len(document["runs"]), len({r["run"] for r in document["runs"]}))
        return sorted((r["submitter"], r["sizes"]) for r in document["runs"]), document

    def result(self, run):
        return json.loads(self.ctl("results", run["run"], "--store", self.store, "-o", "json").stdout)

    def test_the_time_to_the_target(self):
        """Training takes 24 s, each evaluation one more. 0.72 is what bert is to reach."""
        for nodes, qualities in ((1, (.5, .7199, .72, .8)), (2, (.72, .7))):
            self.entry("Acme", f"{nodes}xA", nodes, [log(name="bert", qualities=qualities)] * 3)
        self.entry("Acme", "never", 4, [log(name="bert", qualities=(.5,))] * 3)
        self.load()
        points = {p["parameters"]["workers"]: p for p in
                  json.loads(self.ctl("results", "latest", "--store", self.store, "-o", "json").stdout)["points"]}
        self.assertEqual([points[n]["timeToAccuracy"]["value"] for n in (8, 16, 32)], [27, 25, None])
        self.assertEqual(points[32]["trials"][0]["timeToAccuracy"]["state"], "NotReached")
        self.entry("Other", "1xA", 1, [log(name="bert", n=n, qualities=(.72,)) for n in (30, 12, 13, 14, 16)])
        run = self.runs("Other")[1]["runs"][0]["run"]
        self.assertRegex(self.ctl("results", run, "--store", self.store).stdout, r"TRIMMED MEAN[^\n]*\n +0 +29\.00 .* 29\.67 ")

    def predict(self, *words, run="latest", code=0):
        return self.ctl("predict", run, "--store", self.store, *words, code=code)

    def test_more_accelerators_are_predicted(self):
        """Steps of exactly .1 B / N + .05 log2 N seconds; trials 0.2% apart."""
        for nodes, batch in ((1, 64), (2, 64), (4, 64), (8, 128)):
            n = 8 * nodes
            step_s = .1 * batch / n + .05 * math.log2(n)
            self.entry("Acme", f"{nodes}xA", nodes, [log(batch=batch, step_s=step_s * x, name="bert") for x in (.998, 1, 1.002)])
        self.load()
        document = json.loads(self.predict("--at", "128,64,256,257,4", "-o", "json").stdout)
        check, *rows = document["predictions"]
        for row, n, batch in ((check, 64, 128), (rows[0], 128, 256), (rows[1], 64, 128), (rows[2], 256, 512)):
            with self.subTest(n=n):
                x = batch / (.1 * batch / n + .05 * math.log2(n))
                f = row["throughput"]
                self.assertEqual((row["workers"], row["batch"], f["unit"]), (n, batch, "sequences/s"))
                self.assertAlmostEqual(f["value"] / x, 1, delta=1e-3 if n == 64 else .04)  # a term of N is not excluded
                self.assertLess(f["low"], x)
                self.assertGreater(f["high"], x)
                self.assertAlmostEqual(row["straightLine"], n / 8 * 64 / (.8 + .15), delta=1)
        self.assertEqual(check["measured"]["method"], "StudentTLog")
        self.assertIsNone(rows[0]["measured"])
        for row in rows[3:]:
            self.assertIsNone(row["throughput"]["value"])
            self.assertEqual(row["reason"], "it must be from 8, the smallest size, to 256, 4 times the largest that counts")
        for batch in (101, 102, 645, 646):  # 2 / 1.26 = 1.587 to 8 x 1.26 = 10.08 samples on each of 64
            row, = json.loads(self.predict("--at", "64", "--batch", str(batch), "-o", "json").stdout)["predictions"][1:]
            reason = f"a batch of {batch} is {batch / 64:.3g} a worker, and 2 to 8 were measured"
            self.assertEqual(row["reason"], None if batch in (102, 645) else reason)
        law = document["laws"][0]
        self.assertEqual((law["state"], law["size"]), ("Fitted", 64))
        self.assertEqual([t["of"] for t in law["terms"]], ["B / N", "1", "log2 N", "N"])
        self.assertAlmostEqual(sum(t["share"] for t in law["terms"]), 1)
        self.assertAlmostEqual(sum(t["seconds"]["value"] for t in law["terms"]), .1 * 2 + .05 * 6, delta=2e-3)
        self.assertEqual([r["size"] for r in law["residuals"]], [8, 16, 32, 64])
        self.assertLess(max(abs(r["ratio"]) for r in law["residuals"]), 3e-3)
        self.assertIn("network, software and parallelism stay", document["assumptions"]["text"])
        text = self.predict("--at", "128,257").stdout
        by_curve = self.ctl("results", "latest", "--by", "curve", "--store", self.store).stdout
        formula = re.search(r"a step of N devices takes .*? N\b(?= *[;.])", " ".join(text.split()))[0]
        self.assertIn(formula, " ".join(by_curve.split()))
        self.assertIn("Assumed: the law goes on as these sizes show it", text)
        self.assertRegex(text, r"(?m)^ +64 +128 +2[\d.]+ .* [+-]0\.\d%$")
        self.assertIn("257 workers: not predicted, since it must be", text)
        for words, wanted in ((("--at", "x"), "--at 'x': expected a whole number from 1 to 1000000"),
                              (("--at", "64", "--batch", "0"), "--batch '0': expected a whole number from 1"),
                              (("--batch", "64"), "--batch is that of the N of --at")):
            self.assertIn(wanted, self.predict(*words, code=2).stderr)

    def test_what_cannot_be_predicted(self):
        for nodes in (1, 2):
            self.entry("Acme", f"{nodes}xA", nodes, [log()] * 3)
        self.load()
        row = json.loads(self.predict("-o", "json").stdout)["predictions"][0]
        self.assertEqual(row["reason"], "it takes 3 sizes with three trials and a known batch that samples/s counts, and the run has 1 without this one")
        words = []
        for trainers in (1, 2, 4, 8):
            for trial in range(3):
                name = f"{trainers}-{trial}.log"
                (self.folder / name).write_text(f"total images/sec: {90 + trial}\n", encoding="utf-8")
                words.append(f"pservers=2,trainers={trainers}:{name}")
        self.ctl("import", "--rules", "tf-cnn-benchmarks", "--batch", "64", "--store", self.store, *words)
        self.assertIn("benchctl simulate prints what parameter servers cannot exceed", self.predict("--at", "16").stdout.replace("\n  ", " "))
        one = self.ctl("import", "--rules", "tf-cnn-benchmarks", "--batch", "64", "--store", self.store, "1-0.log").stdout.split()[0]
        self.assertIn("has no two numbers of workers with a throughput", self.predict(run=one, code=2).stderr)

    def import_job(self, unit, batch, *rates):
        """A run of workers 1, 2, 4, ... by lines of the whole job; trials 1% apart."""
        (self.folder / "rule.yaml").write_text(
            f"name: job\nlines: [{{kind: Summary, scope: Job, unit: {unit}, pattern: '^(?<rate>) a second'}}]\n", encoding="utf-8")
        words = []
        for i, rate in enumerate(rates):
            for trial in range(3):
                name = f"{unit}-{i}-{trial}.log"
                (self.folder / name).write_text(f"{rate * (1 + (trial - 1) / 100)!r} a second\n", encoding="utf-8")
                words.append(f"workers={2 ** i}:{name}")
        done = self.ctl("import", "--rules", "rule.yaml", "--batch", str(batch), "--store", self.store, *words)
        return json.loads(self.predict("--at", str(2 ** len(rates)), "-o", "json", run=done.stdout.split()[0]).stdout)["predictions"][-1]

    def test_a_batch_that_is_shared(self):
        """64 samples on 1, 2, 4, 8 devices: a step of 6.4 / N + .2 s, and with 16 as with fewer."""
        for n in (1, 2, 4, 8):
            self.entry("Acme", f"{n}xA", n, [log(batch=64, step_s=(6.4 / n + .2) * x, n=20) for x in (.998, 1, 1.002)], per_node="1")
        self.load()
        row = json.loads(self.predict("--at", "16", "-o", "json").stdout)["predictions"][-1]
        f, x = row["throughput"], 64 / (6.4 / 16 + .2)
        self.assertEqual((row["workers"], row["batch"]), (16, 64))
        self.assertLess(f["low"], x)
        self.assertGreater(f["high"], x)
        self.assertAlmostEqual(f["value"] / x, 1, delta=.1)

    def test_figures_that_a_model_of_samples_does_not_have(self):
        for unit, rates, wanted in (
                ("samples", (64, 142, 312, 702, 1552), "these sizes leave it open between "),  # each does more the more there are
                ("samples", (100, 20, 300, 1), "a step grows faster than the number of workers"),
                ("steps", (10, 8.3, 7.1, 6.2), "it takes 3 sizes with three trials and a known batch that steps/s counts, and the run has 0"),
                ("samples", (640, 1100, 1900, 3400), None)):
            with self.subTest(rates=rates):
                row = self.import_job(unit, 64, *rates)
                self.assertEqual(row["throughput"]["value"] is None, wanted is not None)
                self.assertTrue((row["reason"] or "").startswith(wanted or ""), row["reason"])

    def test_sizes_of_one_system_are_a_run(self):
        self.entry("Acme", "1xA", 1, [log()] * 3)
        self.entry("Acme", "2xA", "2.0", [log(batch=96)] * 2 + [log(batch=96, step_s=2.5)])
        self.entry("Acme", "10xA", 10, [log()] * 3, framework="F 2.0")
        self.entry("Other", "1xA", 1, [log()] * 3, framework="F 3.0")
        done = self.load()
        self.assertIn("4 of 4 entries are stored in 3 runs; 12 logs count, 0 do not", done.stdout)
        self.assertRegex(done.stdout, r"bench-acme-\w{5} +bench +Acme +8 16 +6/6 +0\n")
        found, document = self.runs()
        self.assertEqual([("Acme", "8 16"), ("Acme", "80"), ("Other", "8")], found)
        run = next(r for r in document["runs"] if r["sizes"] == "8 16")
        result = self.result(run)
        self.assertEqual([32, 48], [round(p["throughput"]["value"], 6) for p in result["points"]])
        self.assertEqual(["acme-x-1-80gb"] * 2, [p["system"] for p in result["points"]])
        self.assertIn("the batch of the job differs: 64 from workers=8, 96 from workers=16; an efficiency compares different work",
                      [w["message"] for w in result["warnings"] if w["code"] == "MixedBatches"])
        told = self.ctl("describe", run["run"], "--store", self.store).stdout
        for line in ("accelerator: ACME X-1 (80GB)", "cpu_model:   Xeon", "framework:   F 1.0", "global_batch_size: 64 | 96"):
            self.assertIn(line, told)
        other = next(r for r in document["runs"] if r["submitter"] == "Other")
        compared = json.loads(self.ctl("compare", run["run"], other["run"], "--store", self.store, "-o", "json", code=15).stdout)
        self.assertIn({"what": "framework", "base": "F 1.0", "candidate": "F 3.0"}, compared["differs"])

    def test_a_size_that_occurs_twice(self):
        """Those entries are runs of their own."""
        for system, nodes in (("1xA8", 1), ("2xA8", 2), ("unknown", None), ("unknown2", None)):
            self.entry("Acme", system, nodes, [log()])
        for system, nodes in (("1xA8", 1), ("2xA8", 2), ("2xB8", 2), ("4xA8", 4)):
            self.entry("Other", system, nodes, [log()])
        found, _ = self.runs()
        self.assertEqual([("Acme", "8 16"), ("Other", "16"), ("Other", "16"), ("Other", "8 32")], found)

    def test_figures_that_are_not_compared(self):
        """Those that follow from other events than the first logs of the series."""
        doubtful = log(has_steps=False, evaluates=False)
        self.entry("Acme", "1xA", 1, [log(status="aborted"), log(), log()])
        self.entry("Acme", "2xA", 2, [log(has_steps=False)] * 3)
        self.entry("Acme", "4xA", 4, [log(evaluates=False)] * 3)
        self.entry("Acme", "8xA", 8, [log()] * 2 + [log(has_steps=False)])
        self.entry("Other", "1xA", 1, [doubtful] * 3)
        found, document = self.runs()
        self.assertEqual([("Acme", "8 64"), ("Other", "8")], found)
        self.assertEqual([1, 7], sorted(document["logsRefused"].values()))
        self.assertTrue(any("other events" in why for why in document["logsRefused"]))
        for run in document["runs"]:
            self.assertEqual([32] * len(run["sizes"].split()), [round(p["throughput"]["value"], 6) for p in self.result(run)["points"]])
        other = next(r["run"] for r in document["runs"] if r["submitter"] == "Other")
        self.assertIn("the last of 12 positions, maybe with evaluations", self.ctl("results", other, "--store", self.store, "-o", "json").stdout)

    def test_what_does_not_count(self):
        self.entry("Acme", "1xA", 1, [log(), log(), log(step_s=1, status="aborted")])
        self.entry("Acme", "2xA", 2, [log(), log()])
        self.entry("Acme", "4xA", 4, ["nothing\n"] * 3)
        self.entry("Acme", "cpus", "2.0", [log()] * 3, per_node="0")
        found, document = self.runs()
        self.assertEqual([("Acme", "8 16")], found)
        self.assertEqual({"the log has no events in the form of MLPerf since v0.7": 3, "the system has no accelerators": 3,
                          "aborted: the run did not reach its target": 1,
                          "this copy of the round lacks the log, which other sizes have": 1}, document["logsRefused"])
        self.assertEqual((4, 2, 4), tuple(document[k] for k in ("entries", "entriesStored", "logsRead")))
        run, = document["runs"]
        self.assertEqual((6, 2), (run["trials"], run["refused"]))
        small, large = self.result(run)["points"]
        self.assertEqual((32, 32), (small["throughput"]["value"], large["throughput"]["value"]))
        self.assertEqual(["aborted: the run did not reach its target"], [t["error"] for t in small["trials"] if t["error"]])
        self.assertEqual(["this copy of the round lacks the log, which other sizes have"],
                         [t["error"] for t in large["trials"] if t["error"]])
        self.assertIn("2/3", self.ctl("results", run["run"], "--store", self.store).stdout)
        self.assertIn("aborted", self.ctl("logs", run["run"], "--point", "0", "--trial", "2", "--store", self.store).stdout)

    def test_a_log_that_states_another_throughput(self):
        self.entry("Acme", "1xA", 1, [log(states=32), log(states=4), log(states=20), log()])
        done = self.load()
        self.assertIn("3 logs count, 1 do not:\n1 log: what it states is another figure\n", done.stdout)
        self.assertIn("result_2.txt: what it states is another figure: 32 samples/s by its events, and it states 20\n", done.stderr)
        run = self.runs()[1]["runs"][0]["run"]
        result = self.ctl("results", run, "--store", self.store, "-o", "json").stdout
        for verdict, n in (("Agrees", 2), ("Withheld", 1), ("OneWitness", 1)):
            self.assertEqual(n, result.count(f'"verdict": "{verdict}"'), verdict)
        self.assertIn("one witness: the log states no throughput", result)
        name = self.ctl("export", run, "--store", self.store).stdout.split()[1]
        self.ctl("import", name, "--dry-run", "--store", self.store)

    def test_events_are_of_the_whole_job(self):
        """An efficiency above 1 is no matter of a rule's scope."""
        for nodes, step_s in ((1, 2.0), (2, .5)):
            self.entry("Acme", f"{nodes}xA", nodes, [log(step_s=step_s)] * 3)
        message, = [w["message"] for w in self.result(self.runs()[1]["runs"][0])["warnings"] if w["code"] == "EfficiencyAboveOne"]
        self.assertNotIn("scope", message)

    def test_a_round_of_hpc(self):
        for scaling in ("strong", "weak"):
            self.entry("Acme", "1xA", 1, [log(name="cosmoflow")] * 2, benchmark=f"{scaling}/cosmoflow")
        found, document = self.runs()
        self.assertEqual([("Acme", "8")], found)
        self.assertEqual("cosmoflow", document["runs"][0]["benchmark"])
        self.assertEqual({"weak: each log is of one of several trainings that share the system": 2}, document["logsRefused"])

    def test_names(self):
        self.entry("Acme", "1xA", 1, [log()])
        self.entry("Acme", "1xA", 1, [log()], benchmark="other")
        self.entry("Zeta", "1xZ", 1, [log()], benchmark="other")
        for words, n in (((), 3), (("other",), 2), (("Acme",), 2), (("1xZ",), 1), (("1xZ", "bench"), 2)):
            with self.subTest(words=words):
                self.assertEqual(n, len(self.runs(*words)[0]))
        self.assertIn("round: no submitter, system or benchmark is 'Acma'", self.load("Acma", code=2).stderr)

    def test_what_is_wrong(self):
        self.entry("Acme", "1xA", 1, ["nothing\n"])
        (self.folder / "round/Acme/results/1xA/bench/result_1.txt").mkdir()
        done = self.load(code=2)
        self.assertIn("result_1.txt: Is a directory", done.stderr)
        self.assertIn("1 log: the file cannot be read\n", done.stdout)
        self.assertIn("no log counts, so nothing is stored", self.load(code=2).stderr)
        self.assertIn("--batch is not for --mlperf", self.load("--batch", "4", code=2).stderr)
        self.assertRegex(self.ctl("import", "--mlperf", "round/Acme", "--store", self.store, code=3).stderr,
                         "round/Acme: no log in .*\nfix: name the folder of a round: it has a folder for each submitter")


if __name__ == "__main__":
    cli.main()
