#!/usr/bin/env python3
"""benchctl gate: a build that is half as fast is refused in every shape."""
import json
import pathlib
import shutil
import sqlite3
import tempfile
import xml.etree.ElementTree as ET

import cli
import stored

SLOW = {"FAKE_FACTOR": "*=2"}


class Gate(cli.CliCase):
    shared = None  # a folder with a store of three runs of one build, measured once

    @classmethod
    def tearDownClass(cls):
        if cls.shared is not None:
            shutil.rmtree(cls.shared)

    def bases(self):
        """Their names, the oldest first; they are the only runs of this test's store then."""
        if Gate.shared is None:
            Gate.shared = pathlib.Path(tempfile.mkdtemp(prefix="benchctl-gate-"))
            self.pids = Gate.shared / "pids"  # in the definition, which all share
            Gate.names = [self.measure() for _ in range(3)]
            db = sqlite3.connect(self.folder / "results.db")
            db.execute("VACUUM INTO ?", (str(Gate.shared / "results.db"),))
            db.close()
        self.pids = Gate.shared / "pids"
        shutil.copy(Gate.shared / "results.db", self.folder / "results.db")
        return Gate.names

    def measure(self, pservers=(1, 2), repeats=4, code=0, **keys):
        return self.run_tiny(pservers=pservers, repeats=repeats, code=code, **keys)["run"]

    def gate(self, *args, code=0):
        return self.ctl("gate", *args, "--store", self.store, code=code)

    def words(self, *args, **keys):
        return " ".join(self.gate(*args, **keys).stdout.split())

    def document(self, *args, **keys):
        return json.loads(self.gate(*args, "-o", "json", **keys).stdout)

    def outcomes(self, *args, **keys):
        return {(c["kind"], c["outcome"]) for c in self.document(*args, **keys)["checks"]}

    def junit(self, *args, code=0):
        """The parsed document, checked against what JUnit's readers take."""
        text = self.gate(*args, "-o", "junit", code=code).stdout
        suites = ET.fromstring(text)
        self.assertEqual(suites.tag, "testsuites")
        suite, = suites
        self.assertEqual(suite.tag, "testsuite")
        self.assertEqual([child.tag for child in suite][0], "properties")
        self.assertEqual([child.tag for child in suite][-1], "system-out")
        cases = suite.findall("testcase")
        for case in cases:
            self.assertEqual(set(case.attrib), {"classname", "name"})
            self.assertLessEqual(len(case), 1)
            for child in case:
                self.assertIn(child.tag, ("failure", "error", "skipped"))
                self.assertEqual(set(child.attrib), {"message"} if child.tag == "skipped" else {"type", "message"})
        for element in (suites, suite):
            self.assertEqual([int(element.get(k)) for k in ("tests", "failures", "errors", "skipped")],
                             [len(cases), *(len(suite.findall(f"testcase/{k}")) for k in ("failure", "error", "skipped"))])
        return suite

    def test_the_same_build_passes(self):
        runs = [*self.bases(), self.measure()]
        document = self.document(runs[3])
        self.assertEqual((document["apiVersion"], document["kind"], document["verdict"], document["base"]),
                         ("benchd.io/v1alpha1", "Gate", "Passed", runs[2]))
        self.assertEqual([c["kind"] for c in document["checks"]], ["Run", "Point", "Point", "Point", "Comparison"])
        self.assertTrue(self.words(runs[3]).endswith(f"PASSED {runs[3]} passes: every check passed"))
        self.assertIn(f"## Passed: {runs[3]} passes", self.gate(runs[3], "-o", "markdown").stdout)
        suite = self.junit(runs[3])
        self.assertEqual((suite.get("failures"), suite.get("errors")), ("0", "0"))
        self.assertEqual({p.get("name"): p.get("value") for p in suite.find("properties")},
                         {"run": runs[3], "base": runs[2], "verdict": "Passed"})
        self.assertEqual(self.document(runs[3], "--base", runs[0])["base"], runs[0])

    def test_half_as_fast_is_refused(self):
        runs = self.bases()
        slow = self.measure(env=SLOW)
        self.assertIn(f"REFUSED {slow} is refused: it is slower than its base", self.words(slow, code=6))
        self.assertIn(("Comparison", "Failed"), self.outcomes(slow, code=6))
        suite = self.junit(slow, code=6)
        self.assertEqual((suite.get("failures"), suite.get("errors")), ("4", "0"))
        failure = suite.find("testcase/failure")
        self.assertEqual(failure.get("type"), "Failed")
        self.assertIn("ratio 0.5", failure.text)
        self.assertIn("| Failed | all points together |", self.gate(slow, "-o", "markdown", code=6).stdout)
        self.gate(slow, "--base", runs[0], code=6)

    def test_what_was_refused_is_no_base(self):
        """However often it is pushed."""
        runs = self.bases()
        for _ in range(3):
            slow = self.measure(env=SLOW)
            self.assertEqual(self.document(slow, code=6)["base"], runs[2])
        other = self.measure(env={"FAKE_FACTOR": "*=1.99"})
        self.gate(other, code=6)
        self.assertEqual(self.document(other, "--base", slow)["base"], slow)  # who names one, means it

    def test_without_a_base_nothing_passes(self):
        a = self.measure()
        text = self.words(a, code=15)
        self.assertIn("no base found: a base is 3 or more earlier runs of one definition, machine and build", text)
        self.assertEqual(self.junit(a, code=15).find("testcase/error").get("type"), "Unknown")
        b = self.measure(env=SLOW)
        self.gate(b, code=15)
        self.gate(b, "--base", a, code=15)  # the usual spread is not known

    def test_a_point_that_is_missing(self):
        alone = {"baseline": {"kind": "Point", "where": {"pservers": 1}}}
        for _ in range(3):
            self.measure(extra=alone)
        one = self.measure(pservers=(1,), extra=alone)
        with sqlite3.connect(self.folder / "results.db") as db:  # so few processes are no rehearsal
            db.execute("UPDATE run SET cpus = 64, rehearsal = 0")
        db.close()
        document = self.document(one, code=15)
        self.assertEqual([c["outcome"] for c in document["checks"] if c["kind"] == "MissingPoint"], ["Unknown"])

    def test_a_point_whose_trials_all_failed(self):
        self.bases()
        failed = self.measure(code=1, env={"FAKE_FAIL": "1.*.*=12"}, extra={
            "failurePolicy": {"onTrialFailure": "Skip", "maxFailedTrials": 9}})
        self.assertIn(("Run", "Failed"), self.outcomes(failed, code=1))
        self.assertIn("trainer/0", self.junit(failed, code=1).find("testcase/failure").text)

    def test_a_summary_without_samples(self):
        self.bases()
        empty = self.measure(code=1, env={"FAKE_SUMMARY": '{"samples": 0}'})
        self.gate(empty, code=1)
        good = self.measure()
        stored.change(self.folder / "results.db", good, "samples = 0")  # of an older program, which called it Succeeded
        self.gate(good, code=1)

    def test_thresholds(self):
        bound = {"thresholds": [{"metric": "efficiency", "where": {"trainers": 1}, "min": 5}]}
        low = self.measure(repeats=1, extra=bound, code=7)
        document = self.document(low, "--base", "none", code=7)
        self.assertEqual((document["verdict"], document["comparison"]), ("Threshold", None))
        self.assertIn("efficiency >= 5", self.junit(low, "--base", "none", code=7).find("testcase/failure").get("message"))
        unknown = {"thresholds": [{"metric": "efficiency", "where": {"trainers": 1}, "min": "0.1", "evaluate": "Interval"}]}
        self.gate(self.measure(repeats=2, extra=unknown, code=7), "--base", "none", code=7)
        well = {"thresholds": [{"metric": "efficiency", "where": {"trainers": 1}, "min": "0.1"}]}
        self.gate(self.measure(repeats=2, extra=well), "--base", "none")
        error = self.gate(self.measure(repeats=2), "--base", "none", code=2).stderr
        self.assertIn("--base none checks thresholds only, and 'tiny' has none", error)

    def test_two_builds_in_one_run(self):
        both = {"repeats": {"min": 5, "order": "Interleaved"}}
        slow = self.measure(repeats=5, extra=both, env={"FAKE_FACTOR": "1=2"})
        self.gate(slow, "--axis", "pservers", code=6)
        document = self.document(slow, "--axis", "pservers", "--margin", "2%", code=6)
        self.assertEqual(document["comparison"]["whole"]["margin"]["verdict"], "Slower")
        well = self.measure(repeats=5, extra=both, env={"FAKE_FACTOR": "1=0.9"})
        self.gate(well, "--axis", "pservers", "--margin", "2%")
        few = self.measure(repeats=2, extra={"repeats": {"min": 2, "order": "Interleaved"}}, env={"FAKE_FACTOR": "1=2"})
        self.gate(few, "--axis", "pservers", "--margin", "2%", code=15)

    def test_two_commands_in_one_run(self):
        """What a user types from the first night on: neither a definition nor a log rule."""
        for side in ("base", "head"):
            (self.folder / side).mkdir()
            (self.folder / side / "train.py").write_text(
                "import sys, time\nfor step in range(24):\n    time.sleep(0.001)\n"
                "    print(f'step {step}: {1000 / float(sys.argv[1]) + step % 3} samples/s', flush=True)\n", encoding="utf-8")
        for factor, code, outcome in (("1", 0, "Passed"), ("1.1", 6, "Failed")):
            suite = self.junit("--ab", "python3 base/train.py 1", f"python3 head/train.py {factor}", "--repeats", "4", code=code)
            self.assertEqual(suite.get("name"), "ab")
            self.assertEqual(len(suite.findall("testcase/failure")), 0 if code == 0 else 2)
        text = self.words("latest", "--axis", "system", code=6)  # the run is stored
        self.assertIn("SLOWER system=candidate compared with system=base: slower; allowed is 5%; of 1 point 1 Slower by 9.", text)
        for args in (("--ab", "true"), ("a", "b"), ("--ab", "a", "b", "--axis", "system")):
            self.gate(*args, code=2)

    def test_two_commands_of_which_one_has_no_figure(self):
        """The run stops at once; its verdict and the program's last line are in every form."""
        good = "for i in $(seq 24); do echo step $i: 100$((i % 3)) samples/s; sleep 0.001; done"
        for base, head, side, text in ((good, "echo boom >&2; exit 3", "candidate", "exit code 3: boom"),
                                       ("echo boom >&2; exit 3", good, "base", "exit code 3: boom"),
                                       (good, "nosuch-program x", "candidate", "nosuch-program"),
                                       ("echo hello", good, "base", "1: hello")):
            suite = self.junit("--ab", base, head, "--repeats", "2", code=1)
            self.assertEqual(suite.find("properties/property[@name='verdict']").get("value"), "RunFailed")
            failure, = suite.findall("testcase[@classname='ab.Run']/failure")
            self.assertIn(f"({side}), trial 0, attempt 0: ", failure.text)
            self.assertIn(text, failure.text)
        done = self.gate("--ab", base, head, "--repeats", "2", code=1)
        self.assertIn("is refused: a trial has no result", done.stdout)
        for misleading in ("wrote /", "nothing was written", "next:"):
            self.assertNotIn(misleading, done.stderr)
        self.assertEqual(self.document("latest", "--axis", "system", code=1)["verdict"], "RunFailed")
        silent = self.gate("--ab", "sleep 60", good, "--timeout", "1s", code=8)
        self.assertEqual(silent.stdout, "")

    def test_how_often_two_commands_run(self):
        """As often as a minute has room for. Each candidate fails at its second start, which ends the run."""
        for seconds, least, most in (("0", 6, 100), ("3", 5, 10)):
            good = f"sleep {seconds}; for i in $(seq 24); do echo step $i: 10$((i % 3)) samples/s; done"
            self.gate("--ab", good, f"mkdir {self.folder}/{seconds} && {{ {good}; }}", code=1)
            done = json.loads(self.ctl("results", "latest", "-o", "json", "--store", self.store).stdout)
            self.assertIn(done["measure"]["repeats"], range(least, most + 1))

    def test_wrong_options(self):
        a = self.measure(repeats=1)
        for args, text in (((a, "--axis", "pservers", "--base", a), "--base cannot be used with --axis"),
                           ((a, "--axis", "pservers", "--margin", "0"), "must be above 0"),
                           ((a, "--axis", "pservers", "--margin", "200%"), "must be a ratio"),
                           ((a, "--axis", "pservers"), "one point after the other")):
            self.assertIn(text, self.gate(*args, code=2).stderr)
        self.gate("nosuch", code=3)
        self.gate(a, "--base", "nosuch", code=3)


if __name__ == "__main__":
    cli.main()
