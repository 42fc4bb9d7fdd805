#!/usr/bin/env python3
"""Runs of a script that is edited in between: its identity in describe, and in compare, which does not take the runs of one for those of
the other. Digests are Python's."""
import hashlib
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys

import cli
import run_file

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


OWN = DEFINITION.replace('["%s", %s, --data, %s]', "[./go.sh, train.py, --data, conf/data.txt, ../up.txt, .env, key, %s]").replace("min: 3", "min: 1")


class Carried(cli.CliCase):
    """Runs whose files travel in the archive: in another folder there is nothing else."""

    def make(self, more="", name="run.db"):
        """The archive of a run, and a folder without its files."""
        place = self.folder / "src"
        for path, text, mode in (("go.sh", f'#!/bin/sh\nexec {sys.executable} "$@"\n', 0o755), ("train.py", SCRIPT, 0o644),
                                 ("conf/data.txt", "1\n", 0o644), (".env", "TOKEN=1\n", 0o644), ("key", "secret", 0o600), ("../up.txt", "", 0o644)):
            (place / path).parent.mkdir(exist_ok=True, parents=True)
            (place / path).write_text(text, encoding="utf-8")
            (place / path).chmod(mode)
        (place / "link").unlink(missing_ok=True)
        (place / "link").symlink_to("../up.txt")
        (place / "own.yaml").write_text(OWN % "link" + more, encoding="utf-8")
        self.ctl("run", "own.yaml", "--store", self.store, cwd=place)
        self.ctl("export", "latest", "--store", self.store, "-f", name)
        for secret in (".env", "key", "link", "up.txt"):  # they must exist there, and the archive has none
            (self.folder / "b" / secret).parent.mkdir(exist_ok=True)
            (self.folder / "b" / secret).write_text("", encoding="utf-8")

    def again(self, *args, code, name="../run.db"):
        done = self.ctl("reproduce", name, "--store", "sqlite:t.db", *args, code=code, cwd=self.folder / "b")
        return done.stdout + done.stderr

    def rows(self, name="run.db"):
        return sqlite3.connect(self.folder / name).execute("SELECT name, executable FROM program_file ORDER BY 1").fetchall()

    def test_in_another_folder(self):
        self.make()
        self.assertEqual([("./go.sh", 1), ("conf/data.txt", 0), ("train.py", 0)], self.rows())
        self.assertIn("missing  file: train.py, which the archive has (--files DIR)\n", self.again(code=3))
        self.assertFalse((self.folder / "b/t.db").exists())
        into = self.folder / "b/new"
        out = self.again("--files", "new", "--dry-run", code=3)  # the archive has not all
        self.assertIn("missing  file: key\n", out)
        self.assertIn("writes   file ./go.sh: ", out)
        self.assertIn('runs     own: {"name":"own","profile":"none","command":["./go.sh","train.py",', out)
        self.assertFalse(into.exists())
        into.mkdir()
        for name in (".env", "key", "link"):
            (self.folder / "b" / name).rename(into / name)
        self.env.update(BENCHWORKER=os.path.relpath(self.env["BENCHWORKER"], self.folder / "b"), TMPDIR="..")  # from here, not from new
        out = self.again("--files", "new", code=15)
        self.assertRegex(out, r"(?s)differs  file key: .*same     file link: .*Succeeded")
        self.assertEqual((SCRIPT, 0o755), ((into / "train.py").read_text(encoding="utf-8"), (into / "go.sh").stat().st_mode & 0o755))
        self.assertTrue((self.folder / "b/t.db").exists())  # not in the folder of the files
        for variable, place in (("own", "own"), ("", "benchmarks")):  # of here, too
            profile = self.folder / "b" / place / "profiles/none"
            profile.mkdir(parents=True)
            (profile / "profile.yaml").write_text("nonsense: 1\n", encoding="utf-8")
            for name in ("go.sh", "conf/data.txt", "train.py"):
                (into / name).unlink()
            self.env["BENCHCTL_PATH"] = variable
            self.assertIn(f"/b/{place}/profiles/none/profile.yaml:1:1: ", self.again("--files", "new", code=2))
            shutil.rmtree(profile)
        del self.env["BENCHCTL_PATH"]
        (into / "conf/data.txt").write_text("2\n", encoding="utf-8")
        (into / "go.sh").unlink()
        self.assertIn("conf/data.txt exists, and none is replaced", self.again("--files", "new", code=2))
        self.assertFalse((into / "go.sh").exists())  # it is before data.txt, and all or none is written
        self.assertEqual("2\n", (into / "conf/data.txt").read_text(encoding="utf-8"))

    def test_the_definition_says_which(self):
        self.make("  files: []\n", "none.db")
        self.assertEqual([], self.rows("none.db"))
        (self.folder / "src/model.py").write_text("1", encoding="utf-8")
        self.make("  files: [model.py, train.py, key, no.such]\n", "two.db")
        self.assertEqual([("model.py", 0), ("train.py", 0)], self.rows("two.db"))
        self.assertIn("writes   file model.py: 1 bytes\n", self.again("--files", "x", "--dry-run", code=3, name="../two.db"))
        self.ctl("import", "two.db", "--dry-run")
        for change, what in (("content = x'79'", "program_file.digest"), ("name = '../x'", "a file has a name that no file of a run has"),
                             ("name = '/x'", "no file of a run has"), ("name = 'a/.ssh'", "no file of a run has"),
                             ("name = 'x.py'", "a file is not the one that ran: x.py"), ("content = zeroblob(1 << 21)", "more than 1048576 bytes of files"),
                             ("executable = 2", "damaged")):
            with self.subTest(change):
                (self.folder / "bad.db").write_bytes((self.folder / "two.db").read_bytes())
                run_file.edit(self.folder / "bad.db", f"UPDATE program_file SET {change} WHERE name = 'model.py'")
                self.assertIn(what, self.ctl("import", "bad.db", "--dry-run", code=16).stderr)
        digest = hashlib.sha256(b"x").hexdigest()  # a file that replicas saw is the one that they saw
        run_file.edit(self.folder / "two.db", f"UPDATE program_file SET content = x'78', digest = '{digest}' WHERE name = 'train.py'")
        self.assertIn("a file is not the one that ran: train.py", self.ctl("import", "two.db", "--dry-run", code=16).stderr)


class Identity(cli.CliCase):
    SCRIPT = 'import package\nprint("Using torch", package.VERSION, flush=True)\n' + SCRIPT  # a module that its command does not name
    RULE = "log: {versions: {torch: 'Using torch (?<version>)'}, lines: [{kind: Step, pattern: '(?<rate>) samples/s'}]}"

    def setUp(self):
        super().setUp()
        self.place = self.folder / "src"
        self.place.mkdir()
        self.script, self.data = self.place / "train.py", self.place / "data.txt"
        self.script.write_text(self.SCRIPT, encoding="utf-8")
        self.install("2.3.1+cu121")
        self.data.write_text("1\n", encoding="utf-8")
        (self.folder / "own.yaml").write_text(DEFINITION.replace("log: torch-ddp", self.RULE) % (sys.executable, self.script, self.data), encoding="utf-8")

    def install(self, version):
        (self.place / "package.py").write_text(f"VERSION = '{version}'\n", encoding="utf-8")

    def run_it(self):
        return json.loads(self.ctl("run", str(self.folder / "own.yaml"), "--store", self.store, "-o", "json").stdout)["run"]

    def facts(self, run):
        text = self.ctl("describe", run, "--store", self.store).stdout
        return dict(re.findall(r"(?m)^  (program\w*|versions): +(.*)$", text))

    def compare(self, *args):
        """Whatever the verdict is: the machine may be busy."""
        done = subprocess.run([cli.BENCHCTL, "compare", *args, "--store", self.store], env=self.env, cwd=self.folder, capture_output=True,
                              text=True, check=False)
        self.assertIn(done.returncode, (0, 6, 15), done.stderr)
        return json.loads(done.stdout) if "json" in args else done.stdout

    def expected(self):
        digests = [hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest() for path in (sys.executable, self.script, self.data)]
        return hashlib.sha256("".join(digests).encode()).hexdigest()[:16]

    def test_an_edited_script_is_another_program(self):
        bases = [self.run_it() for _ in range(3)]
        facts = self.facts(bases[0])
        self.assertEqual(self.expected(), facts["program"])
        self.assertEqual(hashlib.sha256(self.SCRIPT.encode()).hexdigest()[:16], json.loads(facts["program_files"])[str(self.script)])
        self.assertNotIn("program_folder", facts)
        same = self.compare(bases[0], bases[1], "-o", "json")
        self.assertEqual(([], 2), (same["differs"], same["history"]["baseRuns"]))  # the candidate is not of them
        self.script.write_text(self.SCRIPT + "# edited\n", encoding="utf-8")
        edited = self.run_it()
        self.assertEqual(self.expected(), self.facts(edited)["program"])
        other = self.compare(bases[0], edited, "-o", "json")
        self.assertEqual([("program", facts["program"], self.expected())], [tuple(d.values()) for d in other["differs"]])
        self.assertEqual(3, other["history"]["baseRuns"])
        self.install("2.4.0")
        newer = self.compare(edited, self.run_it(), "-o", "json")
        self.assertEqual([("versions", '{"torch":"2.3.1+cu121"}', '{"torch":"2.4.0"}')], [tuple(d.values()) for d in newer["differs"]])
        self.assertEqual('{"torch":"2.3.1+cu121"}', self.facts(edited)["versions"])
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
