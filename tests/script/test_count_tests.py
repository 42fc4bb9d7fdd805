"""count_tests.py must not call a broken run green."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(os.environ["BENCHD_SOURCE_DIR"]) / "script" / "count_tests.py"


def count(*tests):
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder, "plain.json")
        log.write_text("".join(json.dumps(t) + "\n" for t in tests))
        done = subprocess.run([sys.executable, SCRIPT, log], capture_output=True, text=True)
        return done.returncode, done.stdout.splitlines()


class CountTests(unittest.TestCase):
    def test_cases_are_added_up(self):
        code, lines = count(
            {"name": "a", "stdout": "1..2\nok 1 - x\nok 2 - y\n", "result": "OK"},
            {"name": "b", "stdout": "", "result": "OK"})
        self.assertEqual((code, lines), (0, ["3 passed, 0 failed"]))

    def test_a_failed_case_is_named(self):
        code, lines = count({"name": "a", "stdout": "ok 1 - x\nnot ok 2 - y\n", "result": "FAIL"})
        self.assertEqual((code, lines), (1, ["FAILED  plain: a y", "1 passed, 1 failed"]))

    def test_a_failed_case_says_why(self):
        said = "".join(f"# line {i}\n" for i in range(20))
        code, lines = count({"name": "a", "stdout": f"not ok 1 - x\n{said}ok 2 - y\n# more\n", "result": "FAIL"})
        self.assertEqual((code, lines), (1, ["FAILED  plain: a x", *(f"# line {i}" for i in range(4, 20)), "1 passed, 1 failed"]))

    def test_a_crash_behind_good_cases_is_a_failure(self):
        code, lines = count({"name": "a", "stdout": "1..2\nok 1 - x\n", "result": "FAIL"})
        self.assertEqual((code, lines[-1]), (1, "1 passed, 1 failed"))

    def test_a_timeout_is_a_failure(self):
        code, lines = count({"name": "a", "stdout": "", "result": "TIMEOUT"})
        self.assertEqual((code, lines), (1, ["FAILED  plain: a (TIMEOUT)", "0 passed, 1 failed"]))

    def test_a_skip_says_why(self):
        code, lines = count({"name": "a", "stdout": "ok 1 - x # SKIP needs root\nok 2 - y\n", "result": "OK"})
        self.assertEqual((code, lines), (0, ["SKIPPED plain: a x (needs root)", "1 passed, 0 failed, 1 skipped"]))

    def test_a_program_that_was_skipped_says_why(self):
        code, lines = count({"name": "a", "stdout": "", "stderr": "x\nno cluster here\n", "result": "SKIP"})
        self.assertEqual((code, lines), (0, ["SKIPPED plain: a (no cluster here)", "0 passed, 0 failed, 1 skipped"]))

    def test_stages_and_the_slowest_tests_come_first(self):
        with tempfile.TemporaryDirectory() as folder:
            log, stages = pathlib.Path(folder, "plain.json"), pathlib.Path(folder, "stages")
            tests = [{"name": f"t{i}", "stdout": "", "result": "OK", "duration": i} for i in range(30)]
            log.write_text("".join(json.dumps(t) + "\n" for t in tests))
            stages.write_text("61 build\n70 together\n")
            done = subprocess.run([sys.executable, SCRIPT, "--stages", stages, log], capture_output=True, text=True)
        lines = done.stdout.splitlines()
        self.assertEqual(lines[:4], ["stages", "     61 s  build", "     70 s  together", ""])
        self.assertEqual(lines[4:7], ["slowest tests", "     29 s  plain: t29", "     28 s  plain: t28"])
        self.assertEqual(lines[24:], ["     10 s  plain: t10", "", "30 passed, 0 failed"])

    def test_no_test_at_all_is_a_failure(self):
        code, lines = count()
        self.assertEqual((code, lines), (1, ["FAILED  plain: no test ran", "0 passed, 1 failed"]))


if __name__ == "__main__":
    unittest.main()
