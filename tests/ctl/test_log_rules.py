#!/usr/bin/env python3
"""Systems that print lines of their own instead of records: a log rule reads them, and benchctl makes the tables."""
import json
import pathlib
import stat

import cli


class LogRules(cli.CliCase):
    def define_script(self, script, log, trainers=(1, 2), **spec):
        """Trainers that run this shell script, read by this rule."""
        path = self.folder / "train.sh"
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        document = cli.definition(repeats=1, extra={
            "systems": [{"name": "mine", "profile": "benchworker", "log": log}],
            "sweep": {"grid": {"trainers": list(trainers)}},
            "baseline": {"kind": "Point", "where": {"trainers": 1}},
            "roles": {"trainer": {"replicas": {"from": "trainers"}, "template": {
                "spec": {"containers": [{"name": "main", "command": [str(path)]}]}}}}, **spec})
        document["spec"]["workload"]["exchange"] = {"kind": "None"}
        file = self.folder / "mine.json"
        file.write_text(json.dumps(document), encoding="utf-8")
        return str(file)

    def run_script(self, script, log, code=0, **keys):
        file = self.define_script(script, log, **keys)
        return json.loads(self.ctl("run", file, "--local", "--store", self.store, "-o", "json", code=code).stdout)

    def values(self, result):
        return [p["throughput"]["value"] for p in result["points"]]

    def test_a_script_that_prints_images_a_second(self):
        file = self.define_script('echo "123.4 images/sec"', "torch-ddp")
        done = self.ctl("run", file, "--local", "--store", self.store, "-q", "--explain")
        self.assertRegex(done.stdout, r"1 +123\.4 .*\n +2 +246\.8 ")
        self.assertIn("System mine: samples/s of its log, by the rule torch-ddp: mean of 1 step line, of each trainer.",
                      " ".join(done.stdout.split()))
        self.assertIn("1 trial each\n", done.stdout)  # how many steps, the program decides
        name = self.run_name()
        result = json.loads(self.ctl("results", name, "--store", self.store, "-o", "json").stdout)
        log = result["points"][1]["trials"][0]["replicas"]["items"][1]["summary"]["log"]
        self.assertEqual(log, {"rule": "torch-ddp", "method": "mean of 1 step line", "unit": "samples",
                               "scope": "replica", "accuracyLast": None})
        self.assertIn("123.4 images/sec", self.ctl("logs", name, "--store", self.store, "--point", "1").stdout)

    def test_the_notes_call_workers_workers(self):
        file = self.define_script('echo "123.4 images/sec"', "torch-ddp")
        document = json.loads(pathlib.Path(file).read_text(encoding="utf-8"))
        spec = document["spec"]
        spec["systems"][0]["profile"] = "none"
        spec["workload"]["exchange"] = {"kind": "AllReduce"}
        spec["sweep"], spec["baseline"] = {"grid": {"workers": [1, 2]}}, {"kind": "SingleNode"}
        spec["roles"] = {"worker": {"replicas": {"from": "workers"}, "template": spec["roles"]["trainer"]["template"]}}
        pathlib.Path(file).write_text(json.dumps(document), encoding="utf-8")
        table = " ".join(self.ctl("run", file, "--local", "--store", self.store, "-q", "--explain").stdout.split())
        self.assertIn("mean of 1 step line, of each worker.", table)
        self.assertNotIn("trainer", table.replace("the number of trainers", ""))  # the catalogue's words for a figure

    def test_a_rule_in_the_definition(self):
        rule = {"lines": [{"kind": "Step", "pattern": "step (?<step>) took (?<step_ms>) ms, loss (?<loss>)"}]}
        script = "for i in 0 1 2 3; do echo \"step $i took 500 ms, loss $i.5\"; done >&2"
        result = self.run_script(script, rule)
        self.assertEqual(self.values(result), [4.0, 8.0])  # batches of 2; the first step is the warm-up
        summary = result["points"][0]["trials"][0]["replicas"]["items"][0]["summary"]
        self.assertEqual((summary["steps"], summary["samples"]), (3, 6))
        self.assertEqual((summary["lossFirst"], summary["lossLast"]), (1.5, 3.5))
        self.assertEqual(summary["log"]["rule"], "inline")
        self.assertNotIn("WarmupCounted", [warning["code"] for warning in result["warnings"]])
        # A number that the rule does not read counts all the same.
        rule["lines"][0]["pattern"] = "took (?<step_ms>) ms"
        result = self.run_script(script, rule)
        self.assertEqual(result["points"][0]["trials"][0]["replicas"]["items"][0]["summary"]["steps"], 3)
        self.assertNotIn("WarmupCounted", [warning["code"] for warning in result["warnings"]])
        for skip, counted in ((None, True), ({"lines": 1}, False)):
            rule["lines"][0].update({} if skip is None else {"skip": skip})
            result = self.run_script(script.replace("step $i ", ""), rule)
            self.assertEqual(counted, "WarmupCounted" in [warning["code"] for warning in result["warnings"]])

    def test_steps_that_stop_before_their_total(self):
        """The figure counts, and a warning has the line; an import of the log says the same."""
        rule = {"lines": [{"kind": "Step", "pattern": "step (?<step>)/\\d+ (?<rate>) images/sec"}]}
        for last, warned in ((6, True), (8, True), (9, False), (10, False)):  # 9 may count from 0
            script = f"for i in $(seq {last}); do echo \"step $i/10 100 images/sec\"; done"
            result = self.run_script(script, rule, trainers=(1,))
            said = [w["message"] for w in result["warnings"] if w["code"] == "DoubtfulLog"]
            why = f"line {last}: its steps stop at {last} of 10"
            self.assertEqual([f"the figure of point 0: trial 0, trainer/0, {why}; results --by line shows the lines"] if warned else [], said)
            log = self.folder / "part.log"
            log.write_text("".join(f"step {i}/10 100 images/sec\n" for i in range(1, last + 1)), encoding="utf-8")
            done = self.ctl("import", "--rules", "torch-ddp", "--warmup", "0", "--store", self.store, f"trainers=1:{log}")
            self.assertEqual(warned, f"part.log: {why}\n" in done.stderr)

    def test_a_program_without_an_end(self):
        """Each trainer has printed its steps, or the one that speaks for all; the others are ended with them."""
        loop = "i=0; while sleep 0.01; do i=$((i+1)); %s; done"
        line = 'echo "step $i/100000"'  # a time that it only stated would be contradicted where the machine is busy
        for scope, script in (("Replica", line), ("Job", f'[ "$BENCHD_INDEX" = 1 ] || {line}')):
            rule = {"lines": [{"kind": "Step", "scope": scope, "pattern": "step (?<step>)/\\d+"}]}
            file = self.define_script("trap '' TERM\n" + loop % script if scope == "Job" else loop % script, rule, trainers=(2,),
                                      measure={"warmupSteps": 2, "steps": 20, "until": "Steps"})
            document = json.loads(self.ctl("run", file, "--local", "--store", self.store, "-o", "json").stdout)
            for point in document["points"]:
                for item in point["trials"][0]["replicas"]["items"]:
                    if "summary" in item and item["summary"]:
                        self.assertGreaterEqual(item["summary"]["steps"], 20)
                        self.assertLess(item["summary"]["steps"], 1000)
            self.assertNotIn("DoubtfulLog", [w["code"] for w in document["warnings"]])
            table = self.ctl("results", document["run"], "--store", self.store).stdout
            self.assertIn("which end the programs after 20 measured steps", " ".join(table.split()))

    def test_what_its_gpus_did(self):
        """Two devices of a stand-in for NVML, which replay a recording and become too hot at the ninth reading."""
        (self.folder / "libnvidia-ml.so.1").symlink_to(cli.os.environ["STAND_IN_NEW"])
        log = self.folder / "readings"
        self.env.update(LD_LIBRARY_PATH=str(self.folder), STAND_IN_NVML="throttle", STAND_IN_NVML_LOG=str(log))
        reach = f'reach() {{ while [ "$(wc -l <{log} || echo 0)" -lt $1 ]; do sleep 0.05; done; }}; '
        steps = reach + 'for i in 0 1 2 3 4; do reach $(((i + 1) * 5)); echo "step $i"; done'
        result = self.run_script(steps, {"lines": [{"kind": "Step", "pattern": "step (?<step>)"}]}, trainers=(1,))
        trial = result["points"][0]["trials"][0]
        metrics, summary = trial["metrics"], trial["replicas"]["items"][0]["summary"]
        self.assertEqual((metrics["memory_bytes"], metrics["ecc_errors"]), (6805127168, 0))
        self.assertGreater(metrics["energy_j"], 0)
        self.assertAlmostEqual(metrics["power_w"] * 2 * summary["durationNs"] / 1e9, metrics["energy_j"], places=3)
        self.assertAlmostEqual(metrics["energy_sample_j"] * summary["samples"], metrics["energy_j"], places=3)
        self.assertGreater(metrics["thermal_ratio"], 0.5)
        self.assertIn("GpuThrottled", [warning["code"] for warning in result["warnings"]])
        table = self.ctl("results", self.run_name(), "--store", self.store).stdout
        self.assertRegex(table, r"CLOCK_MHZ +ECC_ERRORS +ENERGY_J")
        # Records say when the steps were, however late the summary is.
        log.unlink()
        head = '{\\"benchd\\":1,\\"role\\":\\"trainer\\",\\"index\\":0,\\"attempt\\":0,'
        records = reach + ('b=$(date +%s%N); reach 13; t=$(($(date +%s%N) - b)); '
                           f'echo "{head}\\"type\\":\\"step\\",\\"step\\":0,\\"t_ns\\":$t,\\"step_ns\\":$t,\\"samples\\":2}}"; reach 40; '
                           f'echo "{head}\\"type\\":\\"summary\\",\\"samples\\":2,\\"duration_ns\\":$t,\\"steps\\":1}}"')
        result = self.run_script(records, None, trainers=(1,), systems=[{"name": "mine", "profile": "benchworker"}])
        self.assertLess(result["points"][0]["trials"][0]["metrics"]["thermal_ratio"], 0.6)

    def test_one_trainer_speaks_for_the_job(self):
        script = 'test "$BENCHD_INDEX" != 0 || echo "total images/sec: 1,088.76"'
        result = self.run_script(script, "tf-cnn-benchmarks")
        self.assertEqual(result["phase"], "Succeeded")
        for value in self.values(result):
            self.assertAlmostEqual(value, 1088.76, places=3)

    def test_time_to_accuracy(self):
        """A trainer of two never gets there; the other two trials' times are not given for it."""
        script = ('echo "epoch 1: loss 0.7, 100 samples/s, accuracy 0.70 after 5 s"; '
                  'test "$BENCHD_TRAINERS" != 2 || test "$BENCHD_TRIAL" != 1 || exec sleep 0; '
                  'echo "epoch 2: loss 0.5, 100 samples/s, accuracy 0.$((BENCHD_TRIAL + 80)) after $((BENCHD_TRIAL + 7)) s"')
        measure = {"timeToAccuracy": {"accuracy": "0.8"}, "accuracyAfterTime": {"seconds": 6}}
        spec = {"measure": measure, "repeats": {"min": 3}, "thresholds": [
            {"metric": "timeToAccuracy", "max": 20, "where": {"trainers": n}} for n in (1, 2)]}
        file = self.define_script(script, "epochs", **spec)
        done = self.ctl("run", file, "--local", "--store", self.store, "-o", "json", code=7)
        result = json.loads(done.stdout)
        one, two = result["points"]
        self.assertEqual((one["timeToAccuracy"]["value"], one["timeToAccuracy"]["unit"]), (8, "s"))
        self.assertLess(one["timeToAccuracy"]["low"], 8)
        self.assertEqual([t["timeToAccuracy"]["seconds"] for t in one["trials"]], [7, 8, 9])
        self.assertEqual(one["accuracyAfterTime"]["value"], 0.7)
        self.assertEqual((two["timeToAccuracy"]["value"], two["trialsReached"]), (None, 2))
        self.assertEqual(two["trials"][1]["timeToAccuracy"],
                         {"state": "NotReached", "seconds": None, "bestAccuracy": 0.7, "evaluationsEvery": 1})
        self.assertEqual(two["trials"][1]["accuracyAfterTime"], {"accuracy": None, "reason": "training ended before"})
        self.assertEqual([t["verdict"] for t in result["thresholds"]], ["Passed", "Unknown"])
        name = result["run"]
        text = self.ctl("results", name, "--store", self.store).stdout
        self.assertRegex(text, r"S TO 80%.*SPEEDUP.*\n +1 +8\.000 .* 3/3 .* 1\.000 .*\n +2 +not reached +- +2/3 +70\.00% +- ")
        csv = self.ctl("results", name, "--store", self.store, "-o", "csv").stdout.splitlines()
        reached = csv[0].split(",").index("trials_reached")
        self.assertEqual([line.split(",")[reached] for line in csv[1:]], ["3", "2"])

    def test_time_to_a_loss(self):
        """With two trainers it is reached before, and an epoch without an accuracy has a loss, too."""
        rule = {"lines": [{"kind": "Epoch", "scope": "Job", "pattern":
                           "epoch (?<epoch>): loss (?<loss>), (?<rate>) samples/s after (?<elapsed_s>) s"}]}
        script = ('for e in 1 2 3 4; do echo "epoch $e: loss 0.$((50 - 10 * e * BENCHD_TRAINERS / 2)), 100 samples/s after $((9 * e)) s"; '
                  'done')
        result = self.run_script(script, rule, measure={"timeToAccuracy": {"loss": "0.3"}})
        self.assertEqual(result["measure"]["targetLoss"], 0.3)
        self.assertEqual([p["timeToAccuracy"]["value"] for p in result["points"]], [36, 18])
        self.assertEqual([p["timeToAccuracySpeedup"]["value"] for p in result["points"]], [1, 2])
        trial = result["points"][0]["trials"][0]["timeToAccuracy"]
        self.assertEqual(trial, {"state": "Reached", "seconds": 36, "bestLoss": .3, "evaluationsEvery": 1})
        text = self.ctl("results", result["run"], "--store", self.store, "--explain").stdout
        self.assertIn("Time to a loss of 0.3, in seconds", text)
        self.assertRegex(text, r"S TO LOSS 0\.3 +REACHED +BEST +SPEEDUP.*\n +1 +36\.00 +1/1 +0\.3000 +1\.000 .*\n +2 +18\.00 +1/1 +0\.1000 +2\.000 ")

    def test_published_times(self):
        """What mlbench printed for 1, 4 and 16 workers (benchmarks/reference/mlbench-raw-2021.yaml): 5.53 times as fast."""
        times = {1: 171.151, 4: 57.936, 16: 30.935}
        cases = " ".join(f"{n}) t={t};;" for n, t in times.items())
        script = f'case $BENCHD_TRAINERS in {cases} esac; ' \
                 'echo "80% Top 1 Validation Accuracy reached in $t seconds, Compute: 9 seconds, Communication: 9 seconds"'
        spec = {"measure": {"timeToAccuracy": {"accuracy": "0.8"}}, "repeats": {"min": 1}}
        file = self.define_script(script, "mlbench", trainers=tuple(times), **spec)
        result = json.loads(self.ctl("run", file, "--local", "--store", self.store, "-o", "json").stdout)
        self.assertEqual([p["timeToAccuracy"]["value"] for p in result["points"]], list(times.values()))
        for point, (n, t) in zip(result["points"], times.items()):
            self.assertAlmostEqual(point["timeToAccuracySpeedup"]["value"], times[1] / t, places=9)
            self.assertAlmostEqual(point["timeToAccuracyEfficiency"]["value"], times[1] / t / n, places=9)
        text = self.ctl("results", result["run"], "--store", self.store).stdout
        self.assertRegex(text, r"S TO 80% +REACHED +BEST +SPEEDUP +EFFICIENCY\n +1 +171\.2 .* 1\.000 .*\n +4 .*\n +16 +30\.9\d +1/1 +80\.00% +5\.533 +34\.6%")
        words = ("results", result["run"], "--store", self.store, "-o", "csv", "--cells")
        speedups = self.ctl(*words, "time-to-accuracy-speedup").stdout
        self.assertRegex(speedups, r"(?m),ratio,5\.5326\d+,")
        cost = self.ctl(*words, "time-to-accuracy-cost", "--price", "0.2092/pod-hour").stdout
        self.assertRegex(cost, r",a trial,0\.0287626\d+,")  # 16 pods x 0.2092 / 3600 x 30.935 s

        published = self.folder / "published.yaml"
        published.write_text("""name: published
title: T
year: 2021
sources: [{id: s, title: S}]
tables:
- {name: t, title: T, source: s, quality: Table, measure: Time, quantity: TimeToAccuracy, goal: 0.8, unit: s, axis: workers,
   columns: [1, 16], rows: [{name: theirs, values: [5895, 1880], recomputed: {cost: [0.0655, 0.33422222]}}]}
""", encoding="utf-8")
        beside = ("results", result["run"], "--store", self.store, "--reference", str(published))
        self.assertRegex(self.ctl(*beside, "--price", "0.2092/pod-hour").stdout, r"(?m)^trainers 16 +30\.9\d +1880 +theirs$")
        self.assertIn("--price needs an amount", self.ctl(*beside, "--price", "5", code=2).stderr)
        self.assertIn("without --by and --reference", self.ctl(*beside, "--price", "5/pod-hour", "--cells", "cost", code=2).stderr)
        self.assertIn("add RUN", self.ctl("results", *beside[4:], "--price", "5/pod-hour", code=2).stderr)
        page = self.ctl("report", result["run"], "--store", self.store, "--price", "0.2092/pod-hour", "-o", "html").stdout
        self.assertIn("and its cost at 0.2092/pod-hour", page)
        for chart in ("time-to-accuracy-speedup", "time-to-accuracy-cost", "accuracy-over-time"):
            self.assertIn(f'aria-labelledby="{chart}-title"', page)
        self.assertNotIn("loss-over-time", page)
        words = ("report", result["run"], "--store", self.store, "-o", "svg", "--chart", "time-to-accuracy-cost")
        self.assertIn("Cost of a trial up to its accuracy by trainers", self.ctl(*words, "--price", "0.2092/pod-hour").stdout)
        self.assertIn("time-to-accuracy-speedup", self.ctl(*words, code=2).stderr)  # it has no price: those that it has
        self.assertIn("--price needs an amount", self.ctl(*words, "--price", "5", code=2).stderr)

    def test_a_unit_of_its_own(self):
        result = self.run_script('echo "# Avg bus bandwidth    : 41.2341"', "nccl-tests", trainers=(1,))
        self.assertEqual(result["points"][0]["throughput"]["unit"], "GB/s")

    def test_each_place_has_the_unit(self):
        """The first point has no figure, so nothing can take the unit from there."""
        file = self.define_script('[ "$BENCHD_POINT" = 0 ] || echo "# Avg bus bandwidth    : 41.2341"', "nccl-tests")
        done = self.ctl("run", file, "--local", "--store", self.store, "--progress", "plain", "--explain", code=1)
        self.assertRegex(done.stderr, r"point=1 trial=0 attempt=0 outcome=Succeeded GB_per_s=\d")
        self.assertIn("Throughput: GB/s of the whole job", done.stdout)
        shown = self.ctl("describe", self.run_name(), "--store", self.store).stdout
        self.assertRegex(shown, r"(?m)^  POINT   TRIAL   ATTEMPTS   PHASE  +GB/S$")
        for text in (done.stderr, done.stdout, shown):
            self.assertNotRegex(text.lower(), r"samples(/|_per_)s")

    def test_no_line_matched(self):
        script = "for i in 1 2 3 4 5 6; do echo \"line $i, 12 frames/sec\"; done"
        result = self.run_script(script, "torch-ddp", code=1)
        trial = result["points"][0]["trials"][0]
        self.assertEqual(trial["phase"], "MetricsUnavailable")
        self.assertEqual(trial["error"], "trainer/0: no line of 6 matched the log rule torch-ddp")
        self.assertEqual(trial["details"][:2], ["the last 5 lines:", "  2: line 2, 12 frames/sec"])
        self.assertEqual(len(trial["details"]), 8)
        self.assertEqual(trial["details"][-1], "  log: {lines: [{kind: Step, pattern: '(?<![\\w.,])(?<rate>) +frames/sec\\b'}]}")
        shown = self.ctl("describe", result["run"], "--store", self.store).stdout
        self.assertIn("\n    trainer/0: no line of 6 matched the log rule torch-ddp\n      the last 5 lines:\n"
                      "        2: line 2, 12 frames/sec\n", shown)
        self.assertRegex(shown, r"\n        6: line 6, 12 frames/sec\n      a rule for such lines could be .*\n        log: .*\n    benchctl logs ")

    def test_the_rule_that_was_suggested_reads_it(self):
        script = "for i in 1 2 3 4 5 6; do echo \"line $i, 12 frames/sec\"; done"
        result = self.run_script(script, "torch-ddp", code=1)
        rule = result["points"][0]["trials"][0]["details"][-1].removeprefix("  log: ")
        file = pathlib.Path(self.define_script(script, "torch-ddp"))
        file.write_text(file.read_text(encoding="utf-8").replace('"torch-ddp"', rule), encoding="utf-8")
        done = self.ctl("run", str(file), "--local", "--store", self.store, "-o", "json")
        self.assertEqual(self.values(json.loads(done.stdout)), [12.0, 24.0])

    def test_a_system_without_a_rule(self):
        """It should have written records; what it wrote instead decides what is said."""
        rows = [
            ('echo 12.5 images/sec; echo "1 images/sec"',
             "the shipped log rule torch-ddp reads 2 lines, 1.85185 samples/s: "
             "write 'log: torch-ddp' in the system", "  2: 1 images/sec"),
            ("echo hello", "no line of its output is a figure that is known", "  1: hello"),
            ("true", "it printed nothing; a program that writes to a pipe may keep its output in a buffer: ", None),
        ]
        for script, error, last in rows:
            with self.subTest(script):
                file = pathlib.Path(self.define_script(script, "torch-ddp", trainers=(1,)))
                document = json.loads(file.read_text(encoding="utf-8"))
                del document["spec"]["systems"][0]["log"]
                file.write_text(json.dumps(document), encoding="utf-8")
                done = self.ctl("run", str(file), "--local", "--store", self.store, "-o", "json", code=1)
                trial = json.loads(done.stdout)["points"][0]["trials"][0]
                self.assertIn(f"trainer/0: succeeded but wrote no summary; {error}", trial["error"])
                self.assertTrue(last is None or last in trial["details"], trial["details"])

    def test_the_table_shows_the_first_miss_of_a_system(self):
        file = self.define_script("echo hello", "torch-ddp")
        table = self.ctl("run", file, "--local", "--store", self.store, "-q", code=1).stdout
        self.assertEqual(table.count("\n      the only line:\n        1: hello\n"), 1)
        self.assertEqual(" ".join(table.split()).count("no line of 1 matched the log rule torch-ddp"), 1)   # and 1 more

    def test_hostile_output(self):
        rows = [
            ("head -c 3000000 /dev/zero", "NULs"),
            ("head -c 3000000 /dev/urandom", "random bytes"),
            ("head -c 3000000 /dev/zero | tr '\\0' x", "one long line"),
            ("printf '\\r%s' $(seq 1 20000)", "a progress bar"),
        ]
        for script, name in rows:
            with self.subTest(name):
                result = self.run_script(f"{script}; echo; printf '\\033[1m5 img/s\\033[0m'", "torch-ddp", trainers=(1,))
                self.assertEqual(self.values(result), [5.0])

    def test_a_failed_program_is_no_result(self):
        result = self.run_script('echo "5 img/s"; exit 3', "torch-ddp", trainers=(1,), code=1)
        self.assertIn("exit code 3", result["points"][0]["trials"][0]["error"])


if __name__ == "__main__":
    cli.main()
