#!/usr/bin/env python3
"""benchctl import: old logs become a stored run, all of them or none, marked wherever it is shown."""
import csv
import gzip
import io
import json
import os
import re
import sqlite3

import cli

FLUID = "Pass = 0, Iters = {}, Loss = 2.301442, Accuracy = 0.118056, Speed = {} img/s\n"
# https://github.com/PaddlePaddle/Paddle/issues/8638
FLUID_REAL = "".join(f"Pass = 0, Iters = {240 + i}, Loss = 4.612001, Accuracy = 0.015625, spent {s}\n"
                     for i, s in enumerate(("1.383521", "1.571773", "2.008580", "1.616996")))
# mlbench-results, task 1a with all-reduce by MPI: seconds to the goal
MLBENCH = {1: 171.151, 2: 105.973, 4: 57.936, 8: 42.345, 16: 30.935}


class Import(cli.CliCase):
    def put(self, name, text, when=None):
        path = self.folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        if when is not None:
            os.utime(path, (when, when))
        return name

    def fluid(self, name, rate, **keys):
        return self.put(name, "".join(FLUID.format(i, rate) for i in range(20)), **keys)

    def load(self, *words, rules="paddle-fluid", batch="128", code=0, **keys):
        return self.ctl("import", "--rules", rules, "--batch", batch, "--store", self.store, *words, code=code, **keys)

    def result(self, *words, **keys):
        return json.loads(self.load(*words, "-o", "json", **keys).stdout)

    def refuse(self, wanted, *words, code=2, **keys):
        done = self.load(*words, code=code, **keys)
        self.assertIn(wanted, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertFalse((self.folder / "results.db").exists(), "nothing is stored")
        return done.stderr

    def test_a_rule_is_written_and_taken(self):
        self.put("a.log", "\n" + "".join(f"round {i}: 1{i}.0 walks/s speed 80.{i} img/s fine\n" for i in range(9)))
        rule = self.folder / "mine.yaml"
        args = "import", "--store", self.store
        done = self.ctl(*args, "--write-rule", rule, "workers=2:a.log")
        self.assertEqual(done.stdout, "")
        self.assertIn("next: --rules", done.stderr)
        self.assertIn("mine.yaml exists", self.ctl(*args, "--write-rule", rule, "workers=2:a.log", code=2).stderr)
        self.assertIn("from line 2 on", self.ctl(*args, "--rules", rule, "workers=2:a.log", code=2).stderr)
        named = rule.read_text(encoding="utf-8")
        self.assertIn("take the '#' from 'scope: Job,'", self.ctl(*args, "--rules", rule, "workers=2:a.log", code=2).stderr)
        for text, rate in ((named.replace("# scope: Job,", "scope: Job,"), "80.4"),
                           (named.replace("name: suggested\n", "").replace("# scope: Each,", "scope: Each,"), "160.8")):
            rule.write_text(text, encoding="utf-8")
            self.assertIn(rate, self.ctl(*args, "--rules", rule, "workers=2:a.log").stdout)
        self.put("b.log", "".join(f"Epoch[0] Batch [{20 * i}]\tSpeed: 80 samples/sec\n" for i in range(3)))
        self.assertIn("the log rule mxnet ships and reads it", self.ctl(*args, "--write-rule", "b.yaml", "b.log", code=2).stderr)
        # Of several the shipped rule has the figure of one process only, so a rule is written that can have a scope.
        self.assertIn("writes", self.ctl(*args, "workers=2:b.log", code=2).stderr)
        self.assertIn("80 samples/s; next: --rules", self.ctl(*args, "--write-rule", "b.yaml", "workers=2:b.log").stderr)
        done = self.ctl(*args, "--write-rule", "c.yaml", f"workers=4:{cli.ROOT}/tests/corpus/horovod_synthetic.n4.log", code=2)
        self.assertIn("the log rule torch-ddp reads it, but no line", done.stderr)
        # Where no rule can be made of the likeliest line, the error says why, whatever was asked for.
        unclear = "line 2 seems to have a figure, but it does not say of what: samples, tokens, words or steps; write a rule"
        log = self.put("d.log", "hello\n" + "".join(f"perf /s: {10 + i}.5\n" for i in range(9)))
        for words in ((), ("--write-rule", "d.yaml"), ("--rules", "keras")):
            self.assertIn(unclear, self.ctl(*args, *words, log, code=2).stderr)
        self.assertIn("line 3: a Python exception", self.ctl(
            *args, self.put("c.log", "step 1\n\nTraceback (most recent call last):\n"), code=2).stderr)

    def test_labels_of_srun_are_ranks(self):
        """Each process prints its own rate into one log: the job has their sum, by a shipped rule, a new one, and the user's."""
        def log(order, steps=range(4)):
            return "".join(f"{rank}: round {i} speed {100 + rank} img/s\n" for i in steps for rank in order)
        rule = self.folder / "mine.yaml"
        args = "import", "--store", self.store, "--warmup", "0"
        self.put("four.log", "starts\n" + log((2, 0, 1, 3)))
        self.assertIn("406 samples/s; next", self.ctl(*args, "--write-rule", rule, "workers=4:four.log").stderr)
        self.assertNotIn("WarmupCounted", self.ctl(*args, "--rules", rule, "workers=4:four.log", "-o", "json").stdout)
        for text in (None, "name: a\nlines: [{kind: Step, pattern: '(?<rank>): round (?<step>) speed (?<rate>) img/s'}]\n"):
            if text is not None:
                rule.write_text(text, encoding="utf-8")
            self.assertIn("  406.0 ", self.ctl(*args, "--rules", rule, "workers=4:four.log").stdout)
            self.assertIn("the figures of 4 ranks, but 8 trained", self.ctl(*args, "--rules", rule, "workers=8:four.log", code=2).stderr)
        rule.write_text("name: a\nlines: [{kind: Step, pattern: 'speed (?<rate>) img/s'}]\n", encoding="utf-8")
        done = self.ctl(*args, "--rules", rule, "workers=2:" + self.put("two.log", log((0, 1))))
        self.assertIn("  201.0 ", done.stdout)
        # Epochs and steps are no processes: the figure is that of one.
        for name, text in (("epochs.log", log((0,), range(20)) + log((1,), range(20))),
                           ("steps.log", "".join(f"{i % 10}: speed 100 img/s\n" for i in range(40)))):
            self.assertIn("the figure of one process", self.ctl(*args, "--rules", rule, "workers=2:" + self.put(name, text), code=2).stderr)
        big = "".join(f"{rank}: speed {100 + rank} img/s {'.' * 900}\n" for _ in range(900) for rank in (0, 1))
        self.assertIn("  201.0 ", self.ctl(*args, "--rules", rule, "workers=2:" + self.put("big.log", big)).stdout)

    def test_a_summary_has_no_warmup(self):
        rule = self.folder / "mine.yaml"
        args = "import", "--store", self.store
        for name, text, counted in (("one.log", "loads\nTraining perf is: 161.5 img/s\n", False),
                                    ("many.log", "Training perf is: 161.5 img/s\n" * 20, True)):
            rule.write_text("name: a\nlines: [{kind: Step, pattern: 'perf is: (?<rate>) img/s'}]\n", encoding="utf-8")
            done = self.ctl(*args, "--rules", rule, self.put(name, text), "-o", "json")
            found = [w["message"] for w in json.loads(done.stdout)["warnings"] if w["code"] == "WarmupCounted"]
            self.assertEqual(["--write-rule FILE --warmup N" in m and "benchctl try" not in m for m in found], [True] * counted)

    def of_run(self, verb, *words, code=0):
        return self.ctl(verb, *words, "--store", self.store, code=code).stdout

    def points(self, result):
        return {p["parameters"]["trainers"]: p for p in result["points"]}

    # ---- figures ----

    def test_the_example_of_the_page(self):
        page = (cli.ROOT / "docs" / "import.md").read_text(encoding="utf-8")
        for name, text in re.findall(r"`(\w+\.log)`:\n```\n(.*?)```", page, re.S):
            self.put(name, text)
        command = re.search(r"^benchctl (import .*)$", page, re.M).group(1)
        done = self.ctl(*command.split(), "--store", self.store)
        table = re.search(r"^WORKERS .*?(?=```)", page, re.M | re.S).group(0)
        self.assertIn(table, done.stdout)
        how = re.search(r"`(by the rule .*?)`\.", page).group(1)
        self.assertIn(how, re.sub(r"\s+", " ", self.ctl("results", "latest", "--store", self.store, "--explain").stdout))
        short = "Speed = 1 images\nSpeed = 12 images\nthree\nfour\nfive\n12 frames/s\n"
        done = self.load(self.put("short.log", short), rules="torch-ddp", code=2)
        self.assertIn("no line of 6 matched the log rule torch-ddp\nthe last 5 lines:\n  2: Speed = 12 images\n", done.stderr)

    def test_versions_that_programs_print(self):
        for what, versions in (
                ("tf_cnn_benchmarks", {"TensorFlow": "1.15"}), ("osu_bw", {"OSU": "7.4"}), ("osu_allreduce", {"OSU": "5.3"}), ("imb_allreduce", {"IMB": "2021.11"}),
                ("sysbench_cpu", {"sysbench": "1.0.20"}), ("# Open MPI v4.1.4 allreduce: 2 ranks\n# Avg bus bandwidth    : 3.1\n", {"library": "Open MPI v4.1.4"}),
                ('{"benchd": 1, "type": "start", "environment": {"build": "PyTorch 2.3.1"}}\nepoch: 0 finished, speed: 9 words/s\n', {"framework": "PyTorch 2.3.1"}),
                ("PyTorch 2.3.1+cu121\nepoch 1: loss 2.3, 15 samples/s, accuracy 0 after 4 s\n", {"PyTorch": "2.3.1+cu121"}), ("loss: 1 12 samples/s\n", None)):
            run = self.guess(self.put("v.log", what) if "\n" in what else f"{cli.ROOT}/tests/corpus/{what}.log").stdout.split()[0]
            said = re.findall(r"(?m)^ +versions: +(.*)$", self.ctl("describe", run, "--store", self.store).stdout)
            self.assertEqual([] if versions is None else [versions], [json.loads(text) for text in said], what)

    def test_what_the_lines_were_taken_for(self):
        log = str(cli.ROOT / "tests/corpus/megatron_2024.log")
        name = self.guess(log).stdout.split()[0]
        done = self.ctl("results", name, "--store", self.store, "--by", "line")
        rows = re.findall(r"^ +0 +0 +trainer/0 +(\S+) +(\w+) +(\d+) ", done.stdout, re.M)
        self.assertEqual(rows[0], ("1-8", "Step", "8") if rows[0][1] == "Step" else rows[0])
        self.assertRegex(" ".join(done.stdout.split()), r"Point 0, trial 0, trainer/0: 17 lines, \d+ of them read; 7\.\d+ samples/s, by the pace of its lines 7\.\d+: Doubtful "
                         r"\(line 17: its steps stop at 70 of 500\)\.")
        table = list(csv.DictReader(io.StringIO(self.ctl("results", name, "--store", self.store, "--by", "line", "-o", "csv").stdout)))
        self.assertEqual([(f"{row['first']}-{row['last']}" if row["first"] != row["last"] else row["first"], row["taken_for"], row["lines"]) for row in table], rows)
        document = json.loads(self.ctl("results", name, "--store", self.store, "-o", "json").stdout)
        reading = document["points"][0]["trials"][0]["replicas"]["items"][0]["reading"]
        self.assertEqual((reading["verdict"], [span["use"] for span in reading["spans"]]), ("Doubtful", [row[1] for row in rows]))
        path = self.folder / "a.tar.zst"  # an archive has it too
        self.ctl("export", name, "--store", self.store, "--file", str(path))
        other = f"sqlite:{self.folder}/other.db"
        self.ctl("import", str(path), "--store", other)
        self.assertEqual(self.ctl("results", name, "--store", other, "--by", "line").stdout, done.stdout)

    def test_a_large_job(self):
        """The largest that MLPerf Training has is of 11,616 accelerators; nothing is started, so nothing is too large."""
        line = "iteration 20/ 50 | elapsed time per iteration (ms): 4000.0 | global batch size: 11616 | lm loss: 2.5E+00 |\n"
        log = self.put("megatron.log", line.replace("20/", "10/") + line)
        for workers, batch in ((11616, 100000), (1000000, 2**31)):
            with self.subTest(workers=workers):
                result = self.result(f"workers={workers}:{log}", rules="megatron", batch=str(batch))
                point = result["points"][0]
                self.assertEqual(point["replicas"]["worker"], workers)
                self.assertAlmostEqual(point["throughput"]["value"], 2904, places=6)
        self.assertIn("from 1 to 1000000", self.load(f"workers=1000001:{log}", rules="megatron", code=2).stderr)
        self.assertIn("from 1 to 2147483648", self.load(log, rules="megatron", batch=str(2**31 + 1), code=2).stderr)

    def test_more_steps_than_a_definition_has(self):
        self.put("long.log", "".join(f"step {i} 80 img/s\n" for i in range(1000020)))
        trial = self.result("long.log", rules="torch-ddp")["points"][0]["trials"][0]
        self.assertAlmostEqual(trial["throughput"]["value"], 80, places=6)
        self.assertEqual(trial["replicas"]["items"][0]["summary"]["steps"], 1000010)

    def test_files_are_trainers(self):
        for i, rate in enumerate((16, 15, 14)):
            self.fluid(f"{i}.log", rate)
        points = self.points(self.result("0.log", "1.log,2.log"))
        self.assertEqual({1: 16, 2: 29}, {n: round(p["throughput"]["value"], 6) for n, p in points.items()})
        self.assertAlmostEqual(29 / 16, points[2]["speedup"]["value"])

    def test_repeats_and_an_axis_of_ones_own(self):
        words = []
        for gpu, rate in (("k80", 10), ("p100", 40)):
            for n in (1, 2):
                for trial in range(3):
                    files = [self.fluid(f"{gpu}-{n}-{trial}-{i}.log", rate + trial) for i in range(n)]
                    words.append(f"gpu={gpu},trainers={n}:{','.join(files)}")
        result = self.result(*words)
        self.assertEqual(4, len(result["points"]))
        self.assertEqual(0, len(result["baselines"]))
        medians = {(p["parameters"]["gpu"], p["parameters"]["trainers"]): p["throughput"]["value"] for p in result["points"]}
        self.assertEqual({("k80", 1): 11, ("k80", 2): 22, ("p100", 1): 41, ("p100", 2): 82}, {k: round(v, 6) for k, v in medians.items()})
        for p in result["points"]:  # each divides by its own kind of machine
            self.assertAlmostEqual(p["parameters"]["trainers"], p["speedup"]["value"])

    def test_one_without_servers_is_the_baseline(self):
        """The published table: 10 servers, 20 trainers, and one thread alone."""
        self.fluid("alone.log", 16.74)
        for i in range(20):
            self.fluid(f"{i}.log", 12.37)
        files = ",".join(f"{i}.log" for i in range(20))
        result = self.result("pservers=0,trainers=1:alone.log", f"pservers=10,trainers=20:{files}")
        self.assertEqual((1, 1), (len(result["points"]), len(result["baselines"])))
        self.assertAlmostEqual(0.739, result["points"][0]["efficiency"]["value"], places=3)
        self.refuse_again("pservers=0 is the single-trainer baseline", "pservers=0,trainers=2:0.log,1.log")

    def refuse_again(self, wanted, *words, **keys):
        self.store = f"sqlite:{self.folder}/none.db"
        self.assertIn(wanted, self.load(*words, code=2, **keys).stderr)
        self.assertFalse((self.folder / "none.db").exists())

    def test_lines_of_the_seeds(self):
        self.put("8638.log", FLUID_REAL)
        result = self.result("8638.log", "--warmup", "0")
        self.assertAlmostEqual(4 * 128 / (1.383521 + 1.571773 + 2.008580 + 1.616996), result["points"][0]["throughput"]["value"], places=5)
        words = []
        for n, seconds in MLBENCH.items():
            self.put(f"{n}.log", f"80% Top 1 Validation Accuracy reached in {seconds:.3f} seconds, Compute: 1 seconds, "
                                 "Communication: 1 seconds\n")
            words.append(f"workers={n}:{n}.log")
        result = self.result(*words, rules="mlbench", batch="128")
        for p in result["points"]:
            n = p["parameters"]["workers"]
            self.assertAlmostEqual(MLBENCH[1] / MLBENCH[n], p["speedup"]["value"], places=3)

    def test_one_log_of_all(self):
        self.put("ranks.log", "".join(f"[1,{rank}]<stdout>:{10 + rank} samples/s\n" for rank in range(4)))
        result = self.result("workers=4:ranks.log", rules="mpi")
        self.assertAlmostEqual(46, result["points"][0]["throughput"]["value"])
        self.refuse_again("it has the figures of 4 ranks, but 8 trained", "workers=8:ranks.log", rules="mpi")
        self.fluid("alone.log", 3)
        self.refuse_again("it has the figure of one process, from line 1 on, but 4 trained", "trainers=4:alone.log")

    def test_a_rule_of_ones_own(self):
        self.put("rule.yaml", "name: mine\nlines:\n- {kind: Step, pattern: 'at (?<rate>) pictures/s'}\n")
        self.put("a.log", "at 12 pictures/s\n")
        result = self.result("a.log", rules="rule.yaml")
        self.assertAlmostEqual(12, result["points"][0]["throughput"]["value"])
        log = result["points"][0]["trials"][0]["replicas"]["items"][0]["summary"]["log"]
        self.assertEqual("mine", log["rule"])
        self.put("wrong.yaml", "name: mine\nlines:\n- {kind: Stepp, pattern: 'x'}\n")
        self.refuse_again("wrong.yaml:3:", "a.log", rules="wrong.yaml")

    def test_standard_input(self):
        self.put("plain.log", "".join(FLUID.format(i, 5) for i in range(5000)))
        with open(self.folder / "plain.log", "rb") as stdin:
            self.assertAlmostEqual(5, self.result("-", stdin=stdin)["points"][0]["throughput"]["value"])
        with open(self.folder / "plain.log", "rb") as stdin:
            self.assertIn("-: this file was given twice", self.load("-", "-", stdin=stdin, code=2).stderr)

    def test_what_is_compressed(self):
        for name, data in (("gzip", gzip.compress(b"text")), ("xz", b"\xfd7zXZ\0"), ("zstd", b"\x28\xb5\x2f\xfd ")):
            with self.subTest(name):
                self.put(f"{name}.log", data)
                self.refuse_again(f"{name}.log: it is compressed; unpack it first", f"{name}.log")

    # ---- marks ----

    def test_every_view_says_so(self):
        done = self.load(self.fluid("a.log", 10, when=1500000000), self.fluid("b.log", 9) + "," + self.fluid("c.log", 9))
        self.assertRegex(done.stdout, r"^paddle-fluid-\w{5}   Succeeded   IMPORTED\n")
        name = done.stdout.split()[0]
        self.assertIn("imported: the figures were read from old logs", done.stdout)
        listed = json.loads(self.of_run("get", "runs", "-o", "json"))["items"][0]
        self.assertEqual(("Imported", True, "2017-07-14T02:40:00Z", 0), (listed["reason"], listed["imported"], listed["created"], listed["cpus"]))
        self.assertRegex(self.of_run("get", "runs"), r"Succeeded \(imported\) +2/2 +\S+ +-\n")
        described = self.of_run("describe", name)
        for text in ("Reason:        Imported: read from 3 logs by the rule paddle-fluid, not measured by benchd; dated by the files'",
                     "Environment of 0 replicas:", "trainer/1 of point 1, trial 0: c.log, ", "Rehearsal:     unknown"):
            self.assertIn(text, described)
        result = json.loads(self.of_run("results", name, "-o", "json"))
        self.assertTrue(result["imported"])
        self.assertIn("Imported", [w["code"] for w in result["warnings"]])
        self.assertEqual([], result["hardware"])
        rows = list(csv.DictReader(io.StringIO(self.of_run("results", name, "-o", "csv"))))
        self.assertEqual(["true", "true"], [row["imported"] for row in rows])
        for by in ("node", "replica", "phase", "curve"):
            self.assertIn("IMPORTED", self.of_run("results", name, "--by", by))
            self.assertIn("**imported**", self.of_run("results", name, "--by", by, "-o", "markdown"))
        self.assertIn("**imported**", self.of_run("results", name, "-o", "markdown"))
        self.assertIn("          -  -\n", self.of_run("results", name, "--by", "replica"))  # nobody looked for throttling
        self.assertIn("IMPORTED\n", self.of_run("history", "paddle-fluid"))
        history = json.loads(self.of_run("history", "paddle-fluid", "-o", "json"))
        self.assertEqual([True], [r["imported"] for r in history["runs"]])
        self.of_run("report", name, "--file", "page.html")
        self.assertIn("imported: the figures were read from old logs", (self.folder / "page.html").read_text(encoding="utf-8"))
        self.assertEqual((self.folder / "c.log").read_text(encoding="utf-8"),
                         self.of_run("logs", name, "--point", "1", "--role", "trainer", "--index", "1"))

    def test_compare_warns_and_strict_refuses(self):
        words = [self.fluid(f"{i}.log", 10 + i) for i in range(4)]
        one, two = (self.load(*words).stdout.split()[0] for _ in range(2))
        done = self.of_run("compare", one, two)
        self.assertIn("figures read from old logs", re.sub(r"\s+", " ", done))
        self.assertIn(f"run/{two} was read from old logs: its machine and its build are unknown", re.sub(r"\s+", " ", done))
        refused = self.ctl("compare", one, two, "--strict", "--store", self.store, code=2).stderr
        self.assertIn("figures", refused)

    def test_beside_a_run_that_was_measured(self):
        """The same system and point: compare shows both and says so; history does not mix them."""
        self.put("x.json", json.dumps({"apiVersion": "benchd.io/v1alpha1", "kind": "Benchmark", "metadata": {"name": "both"}, "spec": {
            "systems": [{"name": "sh", "profile": "none", "command": ["echo", "5 images/sec"], "log": "torch-ddp"}],
            "workload": {"model": "x", "batchSize": 32, "exchange": {"kind": "AllReduce"}}, "sweep": {"grid": {"workers": [1]}},
            "roles": {"worker": {"replicas": {"from": "workers"}}}}}))
        words = ["workers=1:" + self.put(f"{i}.log", f"{i + 4} images/sec\n", when=1500000000) for i in range(3)]
        names = ["--name", "both", "--system", "sh", "--exchange", "AllReduce"]
        old = self.load(*names, *words, rules="torch-ddp", batch="32").stdout.split()[0]
        new = json.loads(self.ctl("run", "x.json", "--local", "--store", self.store, "-o", "json").stdout)["run"]
        said = re.sub(r"\s+", " ", self.of_run("compare", old, new))
        self.assertIn("figures read from old logs -> measured", said)
        self.assertIn(f"run/{old} was read from old logs", said)
        self.assertNotIn(f"run/{new} was read", said)
        history = json.loads(self.of_run("history", "both", "-o", "json"))
        self.assertEqual(([new], [old]), ([r["run"] for r in history["runs"]], history["skipped"]))

    def test_it_cannot_be_started(self):
        self.load(self.fluid("a.log", 10))
        name = self.run_name()
        self.assertIn("IMPORTED", self.ctl("run", "--resume", name, "--local", "--store", self.store).stdout)
        text = json.dumps({"apiVersion": "benchd.io/v1alpha1", "kind": "Benchmark", "metadata": {"name": "x"}, "spec": {
            "systems": [{"name": "x", "profile": "imported"}], "workload": {"model": "x", "batchSize": 1,
                                                                            "exchange": {"kind": "AllReduce"}},
            "sweep": {"grid": {"workers": [1]}}, "roles": {"worker": {"replicas": {"from": "workers"}}}}})
        self.put("x.json", text)
        self.assertIn("imported", self.ctl("validate", "x.json", code=2).stderr)

    # ---- refusals ----

    def test_what_is_refused(self):
        self.fluid("a.log", 10)
        self.fluid("b.log", 11)
        self.fluid("c.log", 12)
        self.put("empty.log", "")
        self.put("short.log", "".join(FLUID.format(i, 10) for i in range(5)))
        self.put("flowers.log", "batch_size: 32\n" + "".join(FLUID.format(i, 10) for i in range(20)))
        rows = [  # words, text
            (["a.log", "a.log"], "a.log: this file was given twice"),
            (["a.log", "./a.log"], "./a.log: this file was given twice"),
            (["trainers=3:a.log,b.log"], "'a.log': 2 files, but trainers=3"),
            (["trainers=0:a.log"], "trainers must be a whole number from 1"),
            (["trainers=x:a.log"], "trainers must be a whole number from 1"),
            (["trainers=1,trainers=1:a.log"], "trainers has a value already"),
            (["link=x,trainers=1:a.log"], "'link=x' is not a link"),
            (["Bad=1:a.log"], "Bad=1:a.log: No such file"),
            (["a=1,b:a.log"], "'b' is not NAME=VALUE"),
            (["gpu=:a.log"], "'gpu=' is not NAME=VALUE"),
            (["gpu=a:"], "a file has no name"),
            (["a.log,"], "a file has no name"),
            (["gpu=k80:a.log", "b.log"], "'b.log' has no value of gpu"),
            (["trainers=1:a.log", "workers=1:b.log"], "these logs have trainers and workers"),
            (["trainers=2:c.log"], "c.log: by the rule paddle-fluid it has the figure of one process"),
            (["gpu=k80:a.log", "gpu=k80:b.log", "gpu=p100:c.log"], "gpu=p100,trainers=1 has 1 trial, but another point has 2"),
            (["batch_size=1:a.log"], "batch_size and --batch both say"),
            (["empty.log"], "empty.log: the program printed nothing for the log rule paddle-fluid"),
            (["short.log"], "add --warmup 0, and the start of the program is in the figure: all lines are in the first 10 steps"),
            (["flowers.log"], "it says that a step has 32 samples, but batch_size is 128"),
            (["a.log", "--name", "Not a name"], "--name 'Not a name' is not a valid name"),
            (["a.log", "--warmup", "-1"], "--warmup '-1': expected a whole number"),
            (["pservers=1,trainers=1:a.log", "pservers=0,trainers=1:b.log", "pservers=1,trainers=1:c.log"], "has 1 trial, but"),
        ]
        for words, text in rows:
            with self.subTest(" ".join(words)):
                self.refuse(text, *words, code=3 if "No such file" in text else 2)
        self.refuse("no log rule 'torch-dpp' ships\nfix: did you mean 'torch-ddp'?", "a.log", rules="torch-dpp")
        self.refuse("gone.log: No such file", "gone.log", code=3)
        self.refuse("Is a directory", str(self.folder), code=9)

    def guess(self, *words, code=0):
        return self.ctl("import", *words, "--store", self.store, code=code)

    def test_neither_a_rule_nor_a_batch_is_said(self):
        """Lines of Megatron name the batch of the job; those of nanotron have tokens a second and no batch."""
        line = " iteration {:8d}/ 1000 | elapsed time per iteration (ms): {} | learning rate: 1E-4 | global batch size: {:5d} | lm loss: 2.5E+00 |\n"
        for name, ms, batch in (("small.log", 500.0, 64), ("large.log", 1000.0, 512)):
            self.put(name, "".join(line.format(i + 1, ms, batch) for i in range(20)))
        done = self.guess("workers=8:small.log", "workers=64:large.log", "-o", "json")
        self.assertIn("small.log: read by the log rule megatron; --rules names another\n", done.stderr)
        points = json.loads(done.stdout)["points"]
        self.assertEqual([(p["batchSize"], round(p["throughput"]["value"])) for p in points], [(None, 128), (None, 512)])
        text = self.ctl("results", json.loads(done.stdout)["run"], "--store", self.store).stdout
        self.assertNotIn("batch_size", text)
        self.assertIn("4.000 times the baseline, an efficiency of 50.0%", " ".join(text.split()))

    def test_sizes_of_other_work_are_no_curve(self):
        """A batch of the job may grow with the workers; what varies within a log is no setting."""
        def log(name, head, batch=64, lengths=(7, 9)):
            line = " iteration {:8d}/ 1000 | elapsed time per iteration (ms): 500.0 | learning rate: 1E-4 | global batch size: {:5d} | seq_len: {} |\n"
            steps = "".join(line.format(i + 1, batch, lengths[i % 2]) for i in range(20))
            return self.put(name, f"{head}{steps}peak memory: {len(name)}\n")  # after the head

        small = log("small.log", "  hidden_size ..... 512\nmodel_name=a/b-7b\n10:20:30 node 17 seed: 1\nparameters = 6,163,712\naccumulation: 8\n")
        rows = (
            (log("same.log", "{'hidden_size': 512}\n", batch=512, lengths=(8, 9)), None),
            (log("wide.log", "--hidden_size=1024\n"), "small.log says hidden_size 512 in line 1, wide.log says 1024 in line 1"),
            (log("named.log", "model_name: a/b-13b\n"), "model_name a/b-7b in line 2, named.log says a/b-13b in line 1"),
            (log("less.log", "", batch=8), "global_batch_size 64 in line 6, less.log says 8 in line 1"),
            (log("batch.log", "", batch=256), "global_batch_size 64 in line 6, batch.log says 256 in line 1"),
        )
        for name, said in rows:
            with self.subTest(name):
                done = self.guess(f"workers=8:{small}", f"workers=64:{name}", "-o", "json")
                result = json.loads(done.stdout)
                self.assertEqual([p["speedup"]["value"] is None for p in result["points"]], [False, said is not None])
                self.assertEqual("MixedWork" in [w["code"] for w in result["warnings"]], said is not None)
                self.assertIn(said or "", done.stderr)
                self.assertNotIn("import cannot know", done.stderr)
        other = log("other.log", "12:20:30 node 18 seed: 2\nparameters = 6,999,999\naccumulation: 1\n")
        said = re.sub(r"\s+", " ", self.guess(f"workers=8:{small}", f"workers=64:{other}").stderr)
        self.assertIn("different values of seed (1, 2), parameters (6163712, 6999999); import cannot know whether", said)
        done = self.guess(f"hidden_size=512,workers=8:{small}", "hidden_size=1024,workers=64:wide.log", "-o", "json")
        self.assertEqual([p["speedup"]["value"] is None for p in json.loads(done.stdout)["points"]], [False, False])
        self.assertNotIn("says", done.stderr)

    def test_what_logs_say_besides(self):
        """A point has a figure if all of its trials have it."""
        saved = "Finished saving the checkpoint (or staging if async is enabled)in 5.50 seconds.\n"
        for name, tps, mfu in (("a", 100, 41.1), ("b", 101, 41.2), ("c", 99, 41.4), ("d", 90, 38.0), ("e", 91, None), ("f", 91, None)):
            text = "".join(f"step: {i:2d}  loss:  7.6  tps: {tps}  tflops: {tps / 2 if i > 10 else 1}" + (f"  mfu: {mfu}%" if mfu else "") + "\n" for i in range(1, 31))
            self.put(f"{name}.log", text + saved)
        done = self.guess("workers=8:a.log", "workers=8:b.log", "workers=8:c.log", "workers=16:d.log", "workers=16:e.log",
                          "workers=16:f.log", "-o", "json")
        first, second = json.loads(done.stdout)["points"]
        self.assertEqual({k: (round(v["value"], 9), v["unit"]) for k, v in first["metrics"].items()},
                         {"logged_tflops": (50, "TFLOP/s"), "logged_mfu": (0.412, "ratio"), "checkpoint_s": (5.5, "s")})
        self.assertLess(first["metrics"]["logged_mfu"]["low"], 0.411)
        self.assertEqual(second["metrics"]["logged_mfu"]["value"], None)
        self.assertEqual([t["metrics"].get("logged_mfu", 0) for t in second["trials"]], [0.38, 0, 0])
        run = json.loads(done.stdout)["run"]
        text = self.ctl("results", run, "--store", self.store).stdout
        table = text[text.index("Other figures, as medians over the trials"):].splitlines()[1:4]
        self.assertEqual(table[0].split()[:6], ["WORKERS", "CHECKPOINT_S", "95%", "INTERVAL", "LOGGED_MFU", "95%"])
        self.assertEqual(table[1].split()[:4], ["8", "5.500", "5.500..5.500", "41.2%"])
        self.assertEqual(table[2].split()[:5], ["16", "5.500", "5.500..5.500", "-", "-"])
        rows = list(csv.DictReader(io.StringIO(self.ctl("results", run, "--store", self.store, "-o", "csv").stdout)))
        self.assertEqual([r["metric_logged_mfu"][:5] for r in rows], ["0.412", ""])
        self.assertTrue(rows[0]["metric_logged_mfu_low"])
        self.assertIn("LOGGED_TFLOPS", self.ctl("report", run, "--store", self.store, "-o", "html").stdout)

    def test_a_batch_that_the_logs_say(self):
        for name, size in (("a.log", 32), ("b.log", 32), ("c.log", 64)):
            self.put(name, f"batch_size: {size}\n" + "".join(FLUID.format(i, 10) for i in range(20)))
        points = json.loads(self.guess("trainers=1:a.log", "trainers=1:b.log", "-o", "json").stdout)["points"]
        self.assertEqual([p["batchSize"] for p in points], [32])
        self.put("none.log", "".join(FLUID.format(i, 10) for i in range(20)))
        points = json.loads(self.guess("trainers=1:a.log", "trainers=1:none.log", "-o", "json").stdout)["points"]
        self.assertEqual([p["batchSize"] for p in points], [32])
        done = self.guess("trainers=1:a.log", "trainers=1:c.log", code=2)
        self.assertIn("c.log: it says that a step has 64 samples, but batch_size is 32\nfix: write --batch 64, or batch_size=64 before the file", done.stderr)

    def test_no_rule_for_it(self):
        self.put("keras.log", "".join(f"{i}/20 [====>] - 9s 250ms/step - loss: 2.0\n" for i in range(1, 21)))
        self.put("mine.log", "step 1 took 0.25 seconds\n" * 20)
        self.put("none.log", "hello\n")
        self.put("loss.log", "epoch 1 loss 0.5\nepoch 2 loss 0.4\n")
        self.put("epochs.log", "".join(f"epoch: {i} train_loss: 2.{i} train_time: 50{i}.1 (s)\n" for i in range(9)))
        self.put("speed.log", "step 1 throughput 812.5\nstep 2 throughput 812.7\n")
        rows = (
            ("none.log", "none.log: no log rule that ships finds a figure; no line of it has a number\nfix: name one of docs/log-rules.md"),
            ("loss.log", "no rate and no time of a step was found in it; most of its lines are like line 1: epoch 1 loss 0.5"),
            ("epochs.log", "seems to have a figure, but it is the time of an epoch; a rule must say how many samples that has (kind: Epoch, "),
            ("speed.log", "line 1 seems to have a figure, but it does not say of what: samples, tokens, words or steps"),
            ("-", "write --rules NAME: standard input is read once"),
        )
        for word, text in rows:
            self.assertIn(text, self.guess(word, code=2).stderr)
        done = self.guess("keras.log")  # no batch is known
        self.assertRegex(done.stdout, r"POINT +STEPS/S.*\n +0 +4.000")
        self.assertIn("for example {lines: ", self.guess("mine.log", "--batch", "32", code=2).stderr)

    def test_another_rule_reads_it(self):
        self.put("a.log", "step 1 loss 2.5 123.0 images/sec\n" * 20)
        self.refuse("--rules torch-ddp reads 20 lines of it", "a.log", rules="keras")

    def test_a_later_log_that_is_wrong_stores_nothing(self):
        self.fluid("a.log", 10)
        self.put("b.log", "nothing\n")
        said = self.refuse("b.log: no line of 1 matched the log rule paddle-fluid\nthe only line:\n  1: nothing\n",
                           "trainers=1:a.log", "trainers=1:b.log")
        self.assertNotIn("a.log", said)

    def test_a_store_that_fails_in_the_middle_keeps_nothing(self):
        self.load(self.fluid("a.log", 10))
        db = sqlite3.connect(self.folder / "results.db")
        db.execute("CREATE TRIGGER full BEFORE INSERT ON event BEGIN SELECT RAISE(ABORT, 'no room'); END")
        db.commit()
        db.close()
        self.assertIn("no room", self.load(self.fluid("b.log", 10), code=9).stderr)
        self.assertEqual(1, len(self.of_run("get", "runs", "-o", "name").split()))


if __name__ == "__main__":
    cli.main()
