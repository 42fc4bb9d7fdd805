"""What benchctl writes for another program, read by that program: Prometheus."""
import math
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cli

SAMPLE = re.compile(r"^\{(.*)\} (\S+) (\d+)$")


def is_close(a, b):
    return math.isclose(a, b, rel_tol=1e-12)


class Formats(cli.CliCase):
    made = None  # the one run: its store, its document, its name

    def setUp(self):
        super().setUp()
        if Formats.made is None:
            result = self.run_tiny(pservers=(1, 2), trainers=(1, 2), repeats=3)
            Formats.made = (self.folder / "results.db").read_bytes(), result, self.run_name()
        (self.folder / "results.db").write_bytes(self.made[0])
        self.result, self.name = self.made[1:]

    def results(self, *args, code=0):
        return self.ctl("results", self.name, "--store", self.store, *args, code=code)

    def points(self):
        return self.result["points"] + self.result.get("baselines", [])

    def test_prometheus(self):
        file, blocks = self.folder / "run.om", self.folder / "blocks"
        file.write_text(self.results("-o", "openmetrics").stdout, encoding="utf-8")
        (blocks / "wal").mkdir(parents=True)
        subprocess.run(["promtool", "tsdb", "create-blocks-from", "openmetrics", str(file), str(blocks)], capture_output=True,
                       text=True, check=True)
        dump = subprocess.run(["promtool", "tsdb", "dump", str(blocks)], capture_output=True, text=True, check=True).stdout
        samples = [SAMPLE.match(line) for line in dump.splitlines()]
        seen = {}
        for labels, value, _ in (match.groups() for match in samples):
            labels = dict(re.findall(r'(\w+)="([^"]*)"', labels))
            seen.setdefault(labels["__name__"], {})[labels.get("point"), labels.get("trial")] = float(value)
        throughput = seen["benchd_point_throughput_samples_per_second"]
        for point in self.result["points"]:
            self.assertTrue(is_close(throughput[str(point["point"]), None], point["throughput"]["value"]), (throughput, point))
        self.assertEqual(len(throughput), 4)
        trials = seen["benchd_trial_throughput_samples_per_second"]
        self.assertEqual(len(trials), 15)
        for point in self.points():
            for trial in point["trials"]:
                key = str(point["point"]), str(trial["trial"])
                self.assertTrue(is_close(trials[key], trial["throughput"]["value"]), (key, trials))

    def test_families_are_documented(self):
        """Those of /metrics have its name and help; the others are on the page of exports."""
        row = re.compile(r"^\| (benchd_\w+) \| gauge \| (.*) \|$", re.M)
        shared = dict(row.findall((cli.ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")))
        own = dict(row.findall((cli.ROOT / "docs" / "export.md").read_text(encoding="utf-8")))
        self.assertFalse(set(shared) & set(own))
        text = self.results("-o", "openmetrics").stdout
        found = dict(re.findall(r"^# HELP (\S+) (.*)$", text, re.M))
        self.assertEqual({name: {**shared, **own}.get(name) for name in found}, found)
        self.assertTrue(set(found) & set(own))
        self.assertEqual(text.count("# EOF"), 1)
        self.assertTrue(text.endswith("\n# EOF\n"))

    def test_what_has_no_such_form(self):
        for args, expected in ((("--by", "node"), "-o openmetrics has trials and points, no --by node"),
                               (("--cells", "speedup"), "-o openmetrics has no table over axes"),
                               (("--reference", "tf-sheet-2017"), "--reference has text and markdown (got -o openmetrics)")):
            self.assertIn(expected, self.results("-o", "openmetrics", *args, code=2).stderr)
        self.results("-o", "openmetrics", "--by", "point")


if __name__ == "__main__":
    cli.main()
