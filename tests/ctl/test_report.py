#!/usr/bin/env python3
"""benchctl report: the page and charts of a stored run, made by fake replicas."""
import csv
import html
import io
import json
import os
import re
import subprocess
import xml.etree.ElementTree

import cli

SVG = "{http://www.w3.org/2000/svg}"


class Report(cli.CliCase):
    kept = None  # (name, store, folder) of one run for all tests

    def setUp(self):
        super().setUp()
        store, keys = self.folder / "results.db", {"trainers": (1, 2), "repeats": 3}
        if Report.kept is None:
            Report.kept = self.run_tiny(**keys)["run"], store.read_bytes(), str(self.folder)
        self.name, data, self.then = Report.kept
        store.write_bytes(data)
        self.define(**keys)

    def report(self, *args, **keys):
        return self.ctl("report", *args, "--store", self.store, **keys)

    def test_page_is_written_and_named(self):
        done = self.report(self.name, "--file", f"{self.name}.html")
        self.assertEqual((done.stdout, done.stderr), (f"{self.name}.html\n", ""))
        page = (self.folder / f"{self.name}.html").read_text(encoding="utf-8")
        self.assertTrue(page.startswith("<!doctype html>") and page.endswith("</html>\n"))
        self.assertEqual(page, self.report(self.name, "-o", "html").stdout)
        self.assertEqual(page, self.report(self.name).stdout)   # report RUN > page.html
        result = json.loads(self.ctl("results", self.name, "--store", self.store, "-o", "json").stdout)
        fastest = max(result["points"], key=lambda point: point["throughput"]["value"])
        self.assertIn(f": {fastest['throughput']['value']:#.4g} samples/s", page)

    def test_definition_in_the_page_runs_again(self):
        page = self.report(self.name, "-o", "html").stdout
        definition = html.unescape(re.search(r"<details class=\"source\"><summary>Definition</summary>\n<pre>(.*?)</pre>", page, re.S)[1])
        (self.folder / "again.json").write_text(definition.replace(self.then, str(self.folder)), encoding="utf-8")
        self.assertIn("benchctl run -f tiny.json --local", page)
        done = self.ctl("run", "-f", "again.json", "--store", self.store, "-o", "json")
        self.assertEqual(len(json.loads(done.stdout)["points"]), 4)

    def results(self, *args, **keys):
        return self.ctl("results", self.name, *args, "--store", self.store, **keys)

    def test_tables_over_axes(self):
        points = {(p["parameters"]["pservers"], p["parameters"]["trainers"]): p["throughput"]["value"]
                  for p in json.loads(self.results("-o", "json").stdout)["points"]}
        cells = list(csv.DictReader(io.StringIO(self.results("--ratio", "trainers=2/1", "-o", "csv").stdout)))
        self.assertEqual(len(cells), 2)
        for cell in cells:
            pservers = int(cell["axis_pservers"])
            self.assertEqual((cell["ratio"], cell["figure"]), ("trainers=2/1", "throughput"))
            self.assertAlmostEqual(points[pservers, 2] / points[pservers, 1], float(cell["value"]))
            self.assertLess(float(cell["low"]), float(cell["high"]))
        self.assertIn("a table over axes has no -o json", self.results("--cells", "efficiency", "-o", "json", code=2).stderr)
        self.assertIn("Price index N / S^2, by pservers (rows)", self.results("--cells", "price-index", "--columns", "trainers").stdout)
        self.assertIn("Cost of a million samples, at 0.2000 a pod hour", self.results("--price", "0.2/pod-hour").stdout)
        self.assertIn("has no axis 'gpus'; it has system, pservers, trainers", self.results("--rows", "gpus", code=2).stderr)
        self.assertIn("..", self.results("--cells", "efficiency", "-o", "wide").stdout)  # intervals
        self.assertIn("EFF/POD", self.results("-o", "wide").stdout)

    def test_charts_are_documents(self):
        for chart in ("throughput", "efficiency"):
            root = xml.etree.ElementTree.fromstring(self.report(self.name, "-o", "svg", "--chart", chart).stdout)
            self.assertEqual(root.tag, SVG + "svg")
            self.assertTrue(root.find(SVG + "title").text)
        root = xml.etree.ElementTree.fromstring(self.report(self.name, "-o", "svg").stdout)
        marks = [mark.text for mark in root.iter(SVG + "title")][1:]
        self.assertEqual(len(marks), 4)
        self.assertRegex(marks[0], r"^pservers 1, trainers 1: [\d.]+ samples/s \(95%: ")

    def test_a_chart_that_is_not_there_names_all(self):
        for chart, said in (("points", "the run has nothing to show as the chart 'points'"), ("x", "there is no chart 'x'")):
            stderr = self.report(self.name, "-o", "svg", "--chart", chart, code=2).stderr
            self.assertIn(f"error: {said}\nfix: one of: throughput", stderr)

    def test_published_figures_stand_beside_the_run(self):
        page = self.report(self.name, "-o", "html", "--reference", "paddle-vgg16-cpu-2018").stdout
        self.assertIn("<h2>Beside ", page)
        self.assertIn("benchctl results --reference paddle-vgg16-cpu-2018</p>", page)
        self.assertNotIn("<h2>Beside ", self.report(self.name, "-o", "html").stdout)
        self.assertIn("there is no reference 'x'", self.report(self.name, "--reference", "x", code=3).stderr)
        self.assertIn("a chart cannot show --reference", self.report(self.name, "-o", "svg", "--reference", "paddle-vgg16-cpu-2018", code=2).stderr)

    def test_two_runs_are_compared(self):
        other = json.loads(self.ctl("run", str(self.folder / "tiny.json"), "--store", self.store, "-o", "json").stdout)["run"]
        self.assertEqual(self.report(self.name, other, "--file", "both.html").stdout, "both.html\n")
        page = (self.folder / "both.html").read_text(encoding="utf-8")
        self.assertIn(f"Base: {self.name}. Candidate: {other}.", page)
        self.assertIn(f"<strong>{other} compared with {self.name}", page)

    def test_a_file_is_replaced_as_a_whole_or_not(self):
        target = self.folder / "page.html"
        target.write_text("old", encoding="utf-8")
        self.report(self.name, "--file", "page.html")
        self.assertIn("<!doctype html>", target.read_text(encoding="utf-8"))
        self.assertRegex(self.report(self.name, "--file", "no/such/page.html", code=9).stderr, r"error: cannot write no/such/page.html: No such file or directory\nfix: ")
        (self.folder / "taken").mkdir()
        self.assertIn("cannot write taken: Is a directory", self.report(self.name, "--file", "taken", code=9).stderr)
        self.assertEqual([p.name for p in self.folder.glob("*.html*")], ["page.html"])
        self.assertEqual([p.name for p in self.folder.glob("taken*")], ["taken"])

    def test_links_and_devices_stay(self):
        target, link, pipe = self.folder / "target.html", self.folder / "link.html", self.folder / "pipe"
        target.write_text("old", encoding="utf-8")
        link.symlink_to(target)
        self.report(self.name, "--file", "link.html")
        self.assertTrue(link.is_symlink())
        self.assertIn("<!doctype html>", target.read_text(encoding="utf-8"))
        os.mkfifo(pipe)
        reader = subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True)
        self.addCleanup(reader.kill)
        self.report(self.name, "--file", "pipe")
        self.assertTrue(reader.communicate(timeout=cli.WAIT_S)[0].endswith("</html>\n"))
        self.assertTrue(pipe.is_fifo())

    def test_open_starts_the_desktops_program(self):
        tool = self.folder / "bin" / "xdg-open"
        tool.parent.mkdir()
        tool.write_text(f'#!/bin/sh\necho "$1" >{self.folder}/opened\n', encoding="utf-8")
        tool.chmod(0o755)
        self.env["PATH"] = f"{tool.parent}:{self.env['PATH']}"
        self.report(self.name, "--open")
        opened = self.folder / "opened"
        cli.wait_for("xdg-open ran", lambda: opened.exists() and opened.read_text(encoding="utf-8").strip())
        self.assertEqual(opened.read_text(encoding="utf-8").strip(), f"{self.name}.html")
        self.env["PATH"] = str(self.folder)
        done = self.report(self.name, "--open", code=9)
        self.assertIn("xdg-open cannot be started", done.stderr)
        self.assertEqual(done.stdout, f"{self.name}.html\n")

    def test_options_that_would_do_nothing_are_refused(self):
        for args, said in (((self.name, "--chart", "throughput"), "--chart needs -o svg"),
                           ((self.name, "-o", "html", "--open"), "-o prints"),
                           ((self.name, self.name, "-o", "svg"), "a chart shows one run"),
                           ((self.name, "-o", "svg", "--chart", "pie"), "there is no chart 'pie'\nfix: one of: throughput")):
            self.assertIn(said, self.report(*args, code=2).stderr)
        self.assertEqual(self.report("nobody", code=3).stdout, "")


if __name__ == "__main__":
    cli.main()
