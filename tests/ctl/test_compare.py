#!/usr/bin/env python3
"""benchctl compare: runs of a fake replica that is as slow as it is told, and stores changed by hand where no
run on one machine could make them so."""
import csv
import io
import json
import sqlite3

import cli
import stored


class Compare(cli.CliCase):
    def measure(self, pservers=(1, 2), repeats=4, **keys):
        """The name of a run of two swept points and their baseline."""
        return self.run_tiny(pservers=pservers, repeats=repeats, **keys)["run"]

    def compare(self, *args, code=0):
        return self.ctl("compare", *args, "--store", self.store, code=code)

    def words(self, *args, **keys):
        """Its text without the places where the terminal broke lines."""
        return " ".join(self.compare(*args, **keys).stdout.split())

    def change(self, sql, *values):
        """Crafts the store."""
        db = sqlite3.connect(self.folder / "results.db")
        with db:
            db.execute(sql, values)
        db.close()

    def test_two_runs_of_one_file(self):
        a, b = self.measure(), self.measure()
        document = json.loads(self.compare(a, b, "-o", "json").stdout)
        self.assertEqual((document["apiVersion"], document["kind"]), ("benchd.io/v1alpha1", "BenchmarkComparison"))
        self.assertEqual((document["base"]["run"], document["candidate"]["run"]), (a, b))
        self.assertEqual(document["verdict"], "NoneShown")
        self.assertEqual([p["ratio"]["value"] for p in document["points"]], [1, 1, 1])
        self.assertEqual([p["base"]["trialsSucceeded"] for p in document["points"]], [4, 4, 4])
        self.assertEqual((document["differs"], document["onlyInBase"], document["onlyInCandidate"]), ([], [], []))
        figures = json.loads(self.ctl("results", a, "--store", self.store, "-o", "json").stdout)
        self.assertEqual([p["base"]["throughput"] for p in document["points"]],
                         [p["throughput"] for p in figures["points"] + figures["baselines"]])
        rows = list(csv.DictReader(io.StringIO(self.compare(a, b, "-o", "csv").stdout)))
        self.assertEqual([(row["kind"], row["verdict"]) for row in rows],
                         [("point", "NoneShown"), ("point", "NoneShown"), ("baseline", "NoneShown")])
        text = self.compare(a[-5:], f"run/{b}").stdout  # names as everywhere
        self.assertIn(f"{b} compared with {a}: as fast in these two", text)
        self.assertIn("of 3 points 3 NoneShown.", text)
        self.assertIn("| geomean |", self.compare(a, b, "-o", "markdown").stdout)
        self.compare(a, b, "--strict", "--threshold", "0")
        self.assertIn("both sides are the same run", self.compare(a, a).stdout)

    def test_without_other_runs_the_usual_spread_is_unknown(self):
        a, b = self.measure(), self.measure(env={"FAKE_FACTOR": "*=2"})
        text = self.words(a, b, code=15)
        self.assertRegex(text, f"INCONCLUSIVE {b} compared with {a}: 50% slower in these two runs "
                               r"\(95% within the runs: 4[0-9.]+% to 5[0-9.]+% slower\); how much whole runs differ "
                               r"is unknown from one run a side; of 3 points 3 SpreadUnknown\.")
        self.assertIn("3 runs of the base's definition, machine and build say how much two equal runs differ here, "
                      "and there is 1; run the base again", text)
        c = self.measure()  # one more of the base: two may be alike by accident
        document = json.loads(self.compare(a, b, "-o", "json", code=15).stdout)
        self.assertEqual((document["history"]["baseRuns"], document["counts"]["spreadUnknown"]), (2, 3))
        self.measure()
        document = json.loads(self.compare(c, b, "-o", "json", code=6).stdout)
        self.assertEqual((document["history"]["baseRuns"], document["counts"]["slower"]), (3, 3))
        self.change("UPDATE run SET simulated = 1 WHERE name = ?", c)
        self.compare(a, b, code=15)

    def test_a_slower_candidate_is_exit_6(self):
        (a, b), *_ = [(self.measure(), self.measure(env={"FAKE_FACTOR": "1=1.2"})) for _ in range(3)]
        self.assertRegex(self.compare(a, b, code=6).stdout, r"(?m)^ +2 .* Slower$")
        text = self.words(a, b, code=6)
        self.assertIn(f"SLOWER {b} compared with {a}: of 3 points 1 Slower by 16.7%, 2 NoneShown", text)
        document = json.loads(self.compare(a, b, "-o", "json", code=6).stdout)
        self.assertEqual([p["verdict"] for p in document["points"]], ["NoneShown", "Slower", "NoneShown"])
        self.assertAlmostEqual(document["points"][1]["ratio"]["value"], 1 / 1.2, places=6)
        faster = json.loads(self.compare(b, a, "-o", "json").stdout)  # the other way round it is no regression
        self.assertEqual([p["verdict"] for p in faster["points"]], ["NoneShown", "Faster", "NoneShown"])
        for threshold in ("25%", "0.25"):
            self.assertIn("of 3 points 3 NoneShown", self.words(a, b, "--threshold", threshold))

    def measure_axis(self, factor="1=1", repeats=4, **keys):
        """A run with two values of pservers: points 0 and 1, and their baseline."""
        return self.measure(repeats=repeats, extra={"repeats": {"min": repeats, "order": "Interleaved"}},
                            env={"FAKE_FACTOR": factor}, **keys)

    def test_two_values_in_one_run(self):
        a = self.measure_axis("1=1.2")
        document = json.loads(self.compare(a, "--axis", "pservers", "-o", "json", code=6).stdout)
        self.assertEqual(document["axis"], {"name": "pservers", "base": "1", "candidate": "2", "blocks": 4})
        self.assertEqual((document["verdict"], document["alpha"]), ("Slower", 0.02))
        point, = document["points"]
        self.assertEqual((point["base"]["point"], point["candidate"]["point"]), (0, 1))
        self.assertEqual((point["ratio"]["method"], point["paired"]["pairs"], point["welch"]), ("PairedTLog", 4, None))
        self.assertAlmostEqual(point["ratio"]["value"], 10.15 / 11.15 / 1.2, places=3)
        text = self.words(a, "--axis", "pservers", code=6)
        self.assertIn(f"{a}: pservers=1 (base) and pservers=2", text)
        self.assertIn("SLOWER pservers=2 compared with pservers=1: of 1 point 1 Slower by 24.1%", text)
        self.assertIn("pservers=1 (base) and pservers=2", self.compare(a, "--axis", "pservers", "-o", "markdown", code=6).stdout)
        row, = csv.DictReader(io.StringIO(self.compare(a, "--axis", "pservers", "-o", "csv", code=6).stdout))
        self.assertEqual((row["base_point"], row["candidate_point"], row["verdict"]), ("0", "1", "Slower"))
        self.assertEqual(float(row["p"]), point["paired"]["p"])

    def test_images_builds_variables_and_systems_are_axes(self):
        """Whatever a definition can sweep: what a parameter writes into templates, options and environments, and systems."""
        both = {"roles": ["pserver", "trainer"]}
        container = {"name": "main", "image": "registry/x:1", "env": [{"name": "FAKE_FACTOR", "value": "1=1.2"}]}
        role = {"template": {"spec": {"containers": [container]}}}
        for axis, values, more in (
                ("image", ("registry/x:1", "registry/x:2"), {"targets": [{**both, "paths": ["/spec/containers/0/image"]}]}),
                ("build", ("base", "head"), {"targets": [{**both, "args": ["--build"]}]}),
                ("env", ("0", "1"), {"targets": [{**both, "env": ["OMP_PROC_BIND"]}]}),
                ("system", ("old", "new"), None)):
            with self.subTest(axis):
                extra = {"baseline": {"kind": "Point", "where": {"pservers": 1}}, "repeats": {"min": 4, "order": "Interleaved"},
                         "roles": {name: {**role, "replicas": {"from": f"{name}s"}} for name in both["roles"]},
                         "sweep": {"grid": {"pservers": [1], "trainers": [1]}}}
                if more is None:
                    extra["systems"] = [{"name": value, "profile": "benchworker"} for value in values]
                    extra["systems"][1]["exchange"] = {"kind": "PServer", "mode": "Async"}
                else:
                    extra["parameters"] = [{"name": axis, **more}]
                    extra["sweep"]["grid"][axis] = list(values)
                a = self.run_tiny(extra=extra)["run"]
                document = json.loads(self.compare(a, "--axis", axis, "-o", "json", code=6).stdout)
                self.assertEqual(document["axis"], {"name": axis, "base": values[0], "candidate": values[1], "blocks": 4})
                point, = document["points"]
                self.assertEqual((document["verdict"], point["base"]["point"], point["candidate"]["point"]), ("Slower", 0, 1))
                self.assertAlmostEqual(point["ratio"]["value"], 10.15 / 11.15 / 1.2, places=3)
                self.compare(a, "--axis", axis, "--margin", "30%")
                self.assertEqual("mixed modes: new exchanges by Async" in self.words(a, "--axis", axis, code=6), more is None)

    def test_a_margin_has_its_exit_codes(self):
        a = self.measure_axis("1=1.2")
        for margin, code, verdict in (("30%", 0, "NotSlower"), ("0.3", 0, "NotSlower"), ("2%", 6, "Slower"),
                                      ("24.1%", 15, "Inconclusive")):
            document = json.loads(self.compare(a, "--axis", "pservers", "--margin", margin, "-o", "json", code=code).stdout)
            self.assertEqual(document["whole"]["margin"]["verdict"], verdict)
        self.assertIn("not slower than 30% (95%)", self.words(a, "--axis", "pservers", "--margin", "30%"))
        self.assertIn("INCONCLUSIVE pservers=2 compared with pservers=1: not shown to be no slower than 24.1%;",
                      self.words(a, "--axis", "pservers", "--margin", "24.1%", code=15))

    def test_an_axis_is_refused_with_a_fix(self):
        a = self.measure_axis(repeats=2)
        for args, message in (((a, "--axis", "image"), "has no axis 'image'; it has system, pservers, trainers"),
                              ((a, "--axis", "trainers"), "'trainers' must have two values"),
                              ((a, a, "--axis", "pservers"), "--axis compares two values inside one run"),
                              ((a,), "compare needs two runs, or one run and --axis"),
                              ((a, "--axis", "pservers", "--margin", "0"), "--margin '0' must be above 0"),
                              ((a, "--axis", "pservers", "--margin", "x"), "--margin 'x' must be a ratio"),
                              ((a, "--axis", "pservers", "--strict"), "--strict cannot be used with --axis")):
            error = self.compare(*args, code=2).stderr
            self.assertIn(message, error)
            self.assertIn("fix: ", error)
        self.compare(a, "--axis", "pservers", code=15)  # two blocks
        b = self.measure(repeats=3)  # in the order Sequential
        self.assertIn("one point after the other", self.compare(b, "--axis", "pservers", code=2).stderr)

    def test_a_missing_run_is_exit_3(self):
        a = self.measure(repeats=1)
        self.assertIn("'nosuch'", self.compare("nosuch", a, code=3).stderr)
        self.assertIn("'nosuch'", self.compare(a, "nosuch", code=3).stderr)

    def test_runs_without_a_point_in_common(self):
        a = self.measure(repeats=1)
        b = self.measure(repeats=1, extra={"systems": [{"name": "another", "profile": "benchworker"}]})
        self.assertRegex(self.compare(a, b, code=2).stderr, r"error: run/.* and run/.* have no point in common: .*\nfix: compare runs of one")

    def test_an_unfinished_run_says_so(self):
        a = self.measure(repeats=1)
        self.change("UPDATE run SET phase = 'Running', trials_done = 2")
        self.assertEqual(self.compare(a, a, code=15).stderr.count(f"run/{a} has not finished: 2 of 3 trials"), 2)

    def test_runs_of_other_lanes_are_refused(self):
        a, b = self.measure(repeats=1), self.measure(repeats=1)
        lanes = "UPDATE run SET definition = json_set(definition, '$.run', json('{\"parallelism\": {\"trials\": 4}}')) WHERE name = ?"
        self.change(lanes, b)
        for words in ((a, b), (b, a)):
            done = self.compare(*words, code=2)
            self.assertRegex(done.stderr, r"the number of trials at a time \(benchctl run --parallel\) is . in the one and . in the other")
            self.assertIn("fix: compare runs that were measured in the same way", done.stderr)
        self.change(lanes, a)
        self.compare(a, b, code=15)   # as many in both

    def test_other_machines_are_listed_and_strict_refuses(self):
        a, b = self.measure(repeats=1), self.measure(repeats=1)
        stored.change(self.folder / "results.db", b, "node = NULL", '{"cpu_model":"other","kernel":"6.1"}')
        text = self.compare(a, b, code=15).stdout
        self.assertIn("Differs: CPU none -> other\nDiffers: kernel unknown -> 6.1\n", text)
        done = self.compare(a, b, "--strict", code=2)
        self.assertEqual(done.stdout, "")
        self.assertIn("differ in more than their points: CPU none -> other, kernel unknown -> 6.1\n"
                      "fix: measure both in the same way, or omit --strict", done.stderr)


if __name__ == "__main__":
    cli.main()
