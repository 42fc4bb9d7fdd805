#!/usr/bin/env python3
"""Runs of a script that is edited in between: its identity in describe, and in compare, which does not take the runs of one for those of
the other. Digests are Python's."""
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

import cli

DEFINITION = """apiVersion: benchd.io/v1alpha1
kind: Benchmark
metadata: {name: own}
spec:
  systems: [{name: own, profile: none, command: ["%s", %s, --data, %s], log: torch-ddp}]
  workload: {model: own, exchange: {kind: AllReduce}}
  sweep: {grid: {workers: [1]}}
  roles: {worker: {replicas: {from: workers}}}
  measure: {warmupSteps: 1, steps: 4}
  baseline: {kind: Point, where: {workers: 1}}
  repeats: {min: 3}
"""
SCRIPT = """import time
last = time.monotonic()
for step in range(12):
    time.sleep(0.02)
    now = time.monotonic()
    print(f"step {step} loss 1.0 {1 / (now - last):.2f} samples/s", flush=True)
    last = now
"""


class Identity(cli.CliCase):
    def setUp(self):
        super().setUp()
        self.place = self.folder / "src"
        self.place.mkdir()
        self.script, self.data = self.place / "train.py", self.place / "data.txt"
        self.script.write_text(SCRIPT, encoding="utf-8")
        self.data.write_text("1\n", encoding="utf-8")
        (self.folder / "own.yaml").write_text(DEFINITION % (sys.executable, self.script, self.data), encoding="utf-8")

    def run_it(self):
        return json.loads(self.ctl("run", str(self.folder / "own.yaml"), "--store", self.store, "-o", "json").stdout)["run"]

    def facts(self, run):
        text = self.ctl("describe", run, "--store", self.store).stdout
        return dict(re.findall(r"(?m)^  (program\w*): +(.*)$", text))

    def compare(self, *args):
        """Whatever the verdict is: the machine may be busy."""
        done = subprocess.run([cli.BENCHCTL, "compare", *args, "--store", self.store], env=self.env, cwd=self.folder, capture_output=True,
                              text=True, check=False)
        self.assertIn(done.returncode, (0, 6, 15), done.stderr)
        return json.loads(done.stdout) if "json" in args else done.stdout

    def test_reproduce_names_what_is_missing(self):
        """The digest of an archive is of the files, too: another one differs, and without one nothing runs."""
        self.ctl("export", self.run_it(), "--store", self.store, "-f", "own.benchd.db")
        again = ("reproduce", "own.benchd.db", "--store", "sqlite:there.db", "--dry-run")
        self.assertIn(f"same     file {self.script}: ", self.ctl(*again).stdout)
        self.script.write_text(SCRIPT + "# edited", encoding="utf-8")
        self.assertIn(f"differs  file {self.script}: ", self.ctl(*again).stdout)
        self.script.unlink()
        for command in (again, again[:-1]):
            done = self.ctl(*command, code=3)
            self.assertIn(f"missing  file: {self.script}\n", done.stdout)
            self.assertIn("missing here", done.stderr)
        self.assertFalse((self.folder / "there.db").exists())

    def expected(self):
        digests = [hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest() for path in (sys.executable, self.script, self.data)]
        return hashlib.sha256("".join(digests).encode()).hexdigest()[:16]

    def test_an_edited_script_is_another_program(self):
        bases = [self.run_it() for _ in range(3)]
        facts = self.facts(bases[0])
        self.assertEqual(self.expected(), facts["program"])
        self.assertEqual(hashlib.sha256(SCRIPT.encode()).hexdigest()[:16], json.loads(facts["program_files"])[str(self.script)])
        self.assertNotIn("program_folder", facts)
        same = self.compare(bases[0], bases[1], "-o", "json")
        self.assertEqual(([], 2), (same["differs"], same["history"]["baseRuns"]))  # the candidate is not of them
        self.script.write_text(SCRIPT + "# edited\n", encoding="utf-8")
        edited = self.run_it()
        self.assertEqual(self.expected(), self.facts(edited)["program"])
        other = self.compare(bases[0], edited, "-o", "json")
        self.assertEqual([("program", facts["program"], self.expected())], [tuple(d.values()) for d in other["differs"]])
        self.assertEqual(3, other["history"]["baseRuns"])
        self.assertEqual(1, self.compare(edited, bases[0], "-o", "json")["history"]["baseRuns"])  # the others are not its spread
        self.assertIn(self.expected(), self.compare(bases[0], edited))

    def test_a_file_that_is_too_large_is_said(self):
        os.truncate(self.data, 257 << 20)
        runs = [self.run_it() for _ in range(2)]
        unknown = f"unknown ({self.data}: File too large)"
        self.assertEqual(unknown, self.facts(runs[0])["program"])
        document = self.compare(*runs, "-o", "json")
        self.assertEqual([("program", unknown, unknown)], [tuple(d.values()) for d in document["differs"]])


if __name__ == "__main__":
    cli.main()
