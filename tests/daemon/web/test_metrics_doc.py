"""docs/metrics.md and docs/figures.md name every family of /metrics with its type and help, and no other; promtool finds nothing."""
import os
import pathlib
import re
import subprocess

import serve

DOC = pathlib.Path(os.environ["BENCHD_SOURCE_DIR"]) / "docs" / "metrics.md"


def families(page):
    return {name: (kind, text) for name, text, kind in re.findall(r"# HELP (\S+) (.*)\n# TYPE \S+ (\S+)", page)}


def documented(text):
    limits = {"low": "Lower limit of its 95% interval.", "high": "Upper limit of its 95% interval."}
    return {name: ("gauge", limits.get(part, figure["meaning"]))
            for figure in serve.cli.figures() for name, part in serve.cli.metric_limits(figure).items()} | {name: (kind, meaning) for name, kind, meaning in re.findall(r"^\| ((?:bench|process|rest_client)\w+) \| (\w+) \| (.*) \|$", text, re.M)}


def promtool(page):
    return subprocess.run(["promtool", "check", "metrics"], input=page, capture_output=True, text=True, check=False)


class MetricsDoc(serve.ServedCase):
    def test_the_page_is_documented(self):
        page = self.server.get("/metrics")[2]
        self.assertEqual(documented(DOC.read_text(encoding="utf-8")), families(page))

    def test_the_process_is_measured(self):
        page = self.server.get("/metrics")[2]
        names = [name for name in families(page) if name.startswith("process_")]
        self.assertEqual(5, len(names))
        for name in names:
            self.assertRegex(page, rf"(?m)^{name} [0-9.e+]*[1-9]")

    def test_promtool(self):
        for active in (None, self.name):
            page = self.serve(active).get("/metrics")[2]
            done = promtool(page)
            self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def test_promtool_can_fail(self):
        for bad in ("# HELP x_total X.\n# TYPE x_total gauge\nx_total 1\n", "# TYPE camelCase gauge\ncamelCase 1\n", "x{ 1\n"):
            self.assertNotEqual(promtool(bad).returncode, 0, bad)


if __name__ == "__main__":
    serve.cli.main()
