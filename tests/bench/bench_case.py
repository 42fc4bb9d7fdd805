"""TAP on stdout for unittest."""
import os
import pathlib
import sys
import unittest

ROOT = pathlib.Path(os.environ["BENCHD_SOURCE_DIR"])


class TapResult(unittest.TestResult):
    count = 0

    def line(self, status, test, detail=""):
        self.count += 1
        print(f"{status} {self.count} - {test.id().split('.', 1)[1]}", flush=True)
        for text in detail.splitlines():
            print(f"#   {text}", flush=True)

    def addSuccess(self, test):
        self.line("ok", test)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.line("not ok", test, self._exc_info_to_string(err, test))

    addError = addFailure

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.line("not ok", subtest, self._exc_info_to_string(err, test))


def main():
    result = TapResult()
    unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])(result)
    print(f"1..{result.count}", flush=True)
    sys.exit(0 if result.wasSuccessful() else 1)
