"""suite_targets.py names the programs of a suite's tests, and fails where it would name none."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(os.environ["BENCHD_SOURCE_DIR"]) / "script" / "suite_targets.py"


class SuiteTargets(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = pathlib.Path(folder.name).resolve()
        info = self.build / "meson-info"
        info.mkdir()
        tests = [{"suite": ["benchd:unit", "benchd:threads"], "depends": ["a@exe", "server@exe"]},
                 {"suite": ["benchd:fake", "benchd:threads"], "depends": ["server@exe", "lib@sha"]},
                 {"suite": ["benchd:unit"], "depends": ["b@exe"]}]
        targets = [{"id": name, "filename": [str(self.build / path)]} for name, path in
                   (("a@exe", "tests/a"), ("b@exe", "tests/b"), ("server@exe", "tests/web/server"), ("lib@sha", "lib/libx.so"))]
        (info / "intro-tests.json").write_text(json.dumps(tests), encoding="utf-8")
        (info / "intro-targets.json").write_text(json.dumps(targets), encoding="utf-8")

    def ask(self, *suites):
        done = subprocess.run([sys.executable, SCRIPT, self.build, *suites], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.splitlines(), done.stderr

    def test_each_program_is_named_once(self):
        self.assertEqual((0, ["lib/libx.so", "tests/a", "tests/web/server"], ""), self.ask("threads"))
        self.assertEqual((0, ["lib/libx.so", "tests/a", "tests/b", "tests/web/server"], ""), self.ask("unit", "fake"))

    def test_a_suite_without_tests_is_an_error(self):
        code, lines, error = self.ask("thread")
        self.assertEqual((1, []), (code, lines))
        self.assertIn("no test", error)


if __name__ == "__main__":
    unittest.main()
