#!/usr/bin/env python3
"""benchctl results --reference, with a run and without: what is printed, and all that follows from published figures, which
reference_check.py computes again."""
import json
import math
import re
import statistics

import cli
import reference_check

FOLDER = cli.ROOT / "benchmarks" / "reference"
SHIPPED = sorted(path.stem for path in FOLDER.glob("*.yaml"))
BAD = "name: mine\ntitle: T\nyear: 2020\nsources: [{id: s, title: S}]\ntables: []\n"
MINE = """name: mine
title: T
year: 2020
model: ResNet-20
sources: [{id: s, title: S}]
tables:
- {name: rate, title: T, source: s, quality: Table, unit: samples/s, axis: trainers, columns: [1, 2], at: {pservers: 3},
   baseline: 1 trainer, rows: [{name: a, values: [100, 105], recomputed: {efficiency: [100, 52.5]}}]}
- {name: hours, title: T, source: s, quality: Table, unit: s, axis: trainers, columns: [1, 2], measure: Time, quantity: TimeToAccuracy,
   goal: 0.8, rows: [{name: a, values: [5895, 3530]}]}
"""


HEAD = """name: mine
title: T
year: 2020
model: M
sources: [{id: s, title: S}]
tables:
- name: t
  title: T
  source: s
  quality: Table
  unit: samples/s
  axis: trainers
"""
BASE = "  derivation: {baseline: {column: 1}, efficiency: Columns}\n"
RIGHT = ", recomputed: {speedup: [1, 1.9, 3.6], efficiency: [100, 95, 90]}"
WRONG = ", published: {digits: 0, efficiency: [100, 95, 104]}"


def close(a, b):
    return math.isclose(a, b, rel_tol=1e-7)  # files have eight digits


class Reference(cli.CliCase):
    def document(self, name):
        return reference_check.whole(json.loads(self.ctl("results", "--reference", name, "-o", "json").stdout))

    def test_a_wrong_name_lists_them(self):
        self.assertGreaterEqual(len(SHIPPED), 10)
        self.assertIn(f"fix: a file, or one of {', '.join(SHIPPED)}\n", self.ctl("results", "--reference", "x", code=3).stderr)

    def test_every_set_has_every_form(self):
        for name in SHIPPED:
            with self.subTest(name):
                document = self.document(name)
                self.assertEqual((document["apiVersion"], document["kind"], document["name"]),
                                 ("benchd.io/v1alpha1", "Reference", name))
                sources = {source["id"] for source in document["sources"]}
                for table in document["tables"]:
                    self.assertIn(table["source"], sources)
                    self.assertEqual(table["readingError"] is not None, table["quality"] == "Reading")
                self.assertTrue(self.ctl("results", "--reference", name).stdout.startswith(f"{name}   {document['year']}\n"))
                self.assertIn(f"({document['year']})", self.ctl("results", "--reference", name, "-o", "markdown").stdout.splitlines()[0])

    def test_what_follows_from_figures_is_computed_again(self):
        n_printed = 0
        for name in SHIPPED:
            with self.subTest(name):
                document = self.document(name)
                self.assertEqual([], reference_check.problems(document))
                n_printed += sum(len(f.get("printed", {})) for t in document["tables"] for r in t["rows"] for f in r["figures"])
        self.assertGreater(n_printed, 300)

    def test_the_check_finds_what_is_wrong(self):
        """Each row is a set, and what the check says of it; the first is right."""
        for fields, row, errata, said in (
                ("", "", "", ()),
                ("", ", published: {efficiency: [100, 95, 90]}", "", ("a at 1: the efficiency is printed, and follows from nothing", "a at 2: ", "a at 4: ")),
                (BASE, "", "", ("speedup: write [1, 1.9, 3.6]", "efficiency: write [100, 95, 90]")),
                (BASE, RIGHT.replace("1.9,", "1.8,"), "", ("speedup: write [1, 1.9, 3.6]",)),
                (BASE, RIGHT + ", published: {digits: 0, efficiency: [100, 95, 90]}", "", ()),
                (BASE, RIGHT + ", published: {digits: 2, speedup: [1, 1.91, 3.9]}", "", ("a at 4: the speedup is 3.6, and 3.9 is printed",)),
                (BASE, RIGHT + WRONG, "", ("a at 4: the efficiency is 90, and 104 is printed",)),
                (BASE, RIGHT + WRONG, "{row: a, column: 4, figure: efficiency, printed: 104, what: w}", ()),
                (BASE, RIGHT + WRONG, "{row: a, column: 2, figure: efficiency, printed: 90, what: w}",
                 ("a at 4: the efficiency is 90, and 104 is printed",)),
                ("", "", "{row: a, column: 2, printed: 19, what: w}", ("the erratum 'w' names nothing that is printed wrongly",))):
            with self.subTest(row + errata):
                path = self.folder / "mine.yaml"
                path.write_text(f"{HEAD}  columns: [1, 2, 4]\n{fields}  rows: [{{name: a, values: [10.0, 19.0, 36.0]{row}}}]\n" +
                                (f"  errata: [{errata}]\n" if errata else ""), encoding="utf-8")
                found = reference_check.problems(self.document(str(path)))
                self.assertEqual(len(said), len(found), found)
                for want, problem in zip(said, found):
                    self.assertIn(want, problem)

    def test_the_eight_percentages(self):
        table, = [t for t in self.document("paddle-vgg16-cpu-2018")["tables"] if t["name"] == "acceleration"]
        one = {"PaddlePaddle Fluid": 16.74, "PaddlePaddle v2": 17.60}
        printed = [78.64, 77.47, 62.44, 60.89, 92.85, 75.93, 60.60, 59.20]
        cells = [(row["name"], figure) for row in table["rows"] for figure in row["figures"]]
        self.assertEqual(len(cells), 8)
        for (name, figure), percent in zip(cells, printed):
            self.assertLess(abs(100 * figure["efficiency"] - percent), 0.01)
            self.assertTrue(close(figure["efficiency"], figure["value"] / (figure["column"] * one[name])))
        text = self.ctl("results", "--reference", "paddle-vgg16-cpu-2018").stdout
        self.assertIn("PaddlePaddle Fluid    78.64%   77.48%*   62.44%   60.89%\n", text)

    def test_what_the_page_prints_besides(self):
        text = self.ctl("results", "--reference", "paddle-vgg16-cpu-2018").stdout
        self.assertGreaterEqual(len(re.findall(r"^TensorFlow +- +- +- +-$", text, re.M)), 3)  # a row in each of three tables
        for part in ("network interference", "cpu MHz 2101.000, cache size 20480 KB"):
            self.assertIn(part, " ".join(text.split()))

    def test_the_medians_of_the_sheet(self):
        table = self.document("tf-sheet-2017")["tables"][0]
        *rows, median = table["rows"]
        medians = {f["column"]: f for f in median["figures"]}
        self.assertEqual([f"{100 * medians[n]['efficiency']:.2f}" for n in (2, 4, 8)], ["96.36", "96.04", "93.03"])
        self.assertFalse([figure for figure in medians.values() if "value" in figure])  # of images/s the sheet has none
        for n, figure in medians.items():
            cells = [f["efficiency"] for row in rows for f in row["figures"] if f["column"] == n]
            self.assertEqual(len(cells), 16)
            self.assertTrue(close(statistics.median(cells), figure["efficiency"]))
        swapped, = [e for e in table["errata"] if e["printed"] == 596]
        self.assertEqual((swapped["column"], swapped["figure"]), (4, "value"))
        tables = {t["name"]: t for t in self.document("tf-sheet-2017")["tables"]}
        for name, right in (("p100-over-k80", 4.40), ("resnet-50-over-inception-v3", 1.61)):  # as their notes say
            cells = [f["value"] for row in tables[name]["rows"] for f in row["figures"]]
            self.assertAlmostEqual(statistics.median(cells), right, delta=0.005)

    def test_names_and_files(self):
        self.assertIn("did you mean 'paddle-vgg16-cpu-2018'?", self.ctl("results", "--reference", "paddle-vgg16", code=3).stderr)
        self.assertIn("did you mean 'tf-sheet-2017'?", self.ctl("results", "--reference", "tf-shet-2017", code=3).stderr)
        path = self.folder / "mine.yaml"
        path.write_text((FOLDER / "fleetx-ps-2020.yaml").read_text(encoding="utf-8"), encoding="utf-8")
        self.assertEqual(self.ctl("results", "--reference", str(path)).stdout, self.ctl("results", "--reference", "fleetx-ps-2020").stdout)
        run = self.run_tiny(trainers=(1,), repeats=1)["run"]
        text = self.ctl("results", run, "--store", self.store, "--reference", str(path)).stdout
        self.assertIn(f"benchctl results --reference {path}", " ".join(text.split()))
        path.write_text(BAD, encoding="utf-8")
        self.assertIn("mine.yaml:5:9: error: tables: the list is empty", self.ctl("results", "--reference", str(path), code=2).stderr)
        self.ctl("results", "--reference", "./none.yaml", code=3)
        for words in (("--by", "node"), ("--cells", "cost"), ("-o", "csv")):
            self.assertIn("without RUN, --reference prints the set", self.ctl("results", "--reference", "fleetx-ps-2020", *words, code=2).stderr)

    def test_beside_a_run(self):
        run = self.run_tiny(pservers=(3,), trainers=(1, 2), repeats=1)["run"]
        path = self.folder / "mine.yaml"
        path.write_text(MINE, encoding="utf-8")
        done = self.ctl("results", run, "--store", self.store, "--reference", str(path))
        self.assertTrue(done.stdout.startswith(self.ctl("results", run, "--store", self.store).stdout))
        text = " ".join(done.stdout.split())
        self.assertRegex(text, r"trainers 2 [0-9.]+ \([0-9.]+%\) 105 \(52\.50%\) a ")
        for reason in ("other hardware (here ", "another model (here vgg16-fluid-fc512, there ResNet-20)", "another year (here 2",
                       "this run is a rehearsal"):
            self.assertIn(reason, text)
        self.assertNotIn("hours: T", text)  # samples/s next to seconds
        self.assertIn("1 of 2 tables have no figure for a point of this run. All of these figures, with sources and errata: benchctl "
                      f"results --reference {path}", text)
        markdown = self.ctl("results", run, "--store", self.store, "--reference", "fleetx-ps-2020", "-o", "markdown").stdout
        self.assertIn("## Beside Parameter servers on 4 to 32 CPU nodes, Paddle and TensorFlow (2020)", markdown)
        self.ctl("results", run, "--store", self.store, "--reference", "nosuch", code=3)
        for form in ("csv", "json"):
            done = self.ctl("results", run, "--store", self.store, "--reference", "fleetx-ps-2020", "-o", form, code=2)
            self.assertIn("--reference has text and markdown", done.stderr)


if __name__ == "__main__":
    cli.main()
