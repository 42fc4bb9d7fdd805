"""TAP on stdout for unittest."""
import sys
import unittest


class TapResult(unittest.TestResult):
    """A line a test, as the other suites print them."""

    def startTestRun(self):
        self.count = 0

    def line(self, test, status, suffix="", detail=""):
        self.count += 1
        print(f"{status} {self.count} - {test.id().split('.', 1)[1]}{suffix}", flush=True)
        for text in detail.splitlines():
            print(f"#   {text}", flush=True)

    def addSuccess(self, test):
        self.line(test, "ok")

    def addSkip(self, test, reason):
        self.line(test, "ok", f" # SKIP {reason}")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.line(test, "not ok", detail=self._exc_info_to_string(err, test))

    addError = addFailure

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.line(subtest, "not ok", detail=self._exc_info_to_string(err, test))

    def stopTestRun(self):
        print(f"1..{self.count}", flush=True)


def main():
    result = TapResult()
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    result.startTestRun()
    suite(result)
    result.stopTestRun()
    sys.exit(0 if result.wasSuccessful() else 1)
