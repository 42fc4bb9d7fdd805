#!/usr/bin/env python3
"""benchctl history: a benchmark over time, a change and what else changed there."""
import csv
import io
import json
import sqlite3

import cli
import stored

FACTORS = [1, 1.01, 0.99, 1, 1.005, 0.995, 1.002, 0.998, 2, 2.02, 1.98, 2.01, 1.99, 2, 2.005, 1.995]


class History(cli.CliCase):
    def history(self, *args, code=0):
        return self.ctl("history", *args, "--store", self.store, code=code)

    def measure(self):
        return self.run_tiny(pservers=(1,), repeats=1)["run"]

    def scale(self, name, factor, kernel):
        stored.change(self.folder / "results.db", name, f"duration_ns = CAST(duration_ns * {factor} AS INTEGER)",
                      json.dumps({"kernel": kernel}))

    def test_a_change_and_its_cause(self):
        names = [self.measure() for _ in FACTORS]
        for i, (name, factor) in enumerate(zip(names, FACTORS)):
            self.scale(name, factor, "6.1" if i < 8 else "6.2")
        document = json.loads(self.history("tiny", "-o", "json").stdout)
        self.assertEqual((document["apiVersion"], document["kind"], document["benchmark"], document["point"]),
                         ("benchd.io/v1alpha1", "History", "tiny", None))
        self.assertEqual([r["run"] for r in document["runs"]], names)
        self.assertEqual([r["level"] for r in document["runs"]], [0] * 8 + [1] * 8)
        change, = document["changes"]
        self.assertEqual((change["run"], change["before"]), (names[8], names[7]))
        self.assertEqual(change["differs"], [{"what": "kernel", "base": "6.1", "candidate": "6.2"}])
        self.assertAlmostEqual(change["ratio"], 0.5, delta=0.01)
        self.assertLessEqual(change["p"], 0.01)
        text = " ".join(self.history("tiny").stdout.split())
        self.assertIn(f"{names[8]}: slower by 50.", text)
        self.assertIn("differences from the previous run: kernel 6.1 -> 6.2", text)
        rows = list(csv.DictReader(io.StringIO(self.history("tiny", "--point", "0", "-o", "csv").stdout)))
        self.assertEqual([row["level"] for row in rows], ["0"] * 8 + ["1"] * 8)
        self.assertEqual([i for i, row in enumerate(rows) if row["change_ratio"]], [8])
        self.assertEqual({row["point"] for row in rows}, {"0"})
        self.assertIn(f"| {names[0]} |", self.history("tiny", "-o", "markdown").stdout)
        self.assertEqual(len(json.loads(self.history("tiny", "--last", "5", "-o", "json").stdout)["runs"]), 5)

    def test_few_runs_and_what_is_left_out(self):
        a = self.measure()
        other = self.run_tiny(pservers=(2,), repeats=1)["run"]
        document = json.loads(self.history("tiny", "-o", "json").stdout)
        self.assertEqual(([r["run"] for r in document["runs"]], document["skipped"], document["changes"]), ([other], [a], []))
        text = " ".join(self.history("tiny").stdout.split())
        self.assertIn("No change is shown in 1 run; few runs show large changes only", text)
        self.assertIn("1 run is left out", text)

    def test_a_rehearsal_is_named_in_every_form(self):
        self.measure(), self.measure()
        for is_rehearsal in (True, False):
            with self.subTest(is_rehearsal):
                with sqlite3.connect(self.folder / "results.db") as db:
                    db.execute("UPDATE run SET cpus = ?, rehearsal = ?", (1 if is_rehearsal else 64, is_rehearsal))
                db.close()
                for form, word in (("text", "   REHEARSAL\n"), ("markdown", "**rehearsal**")):
                    self.assertEqual(is_rehearsal, word in self.history("tiny", "-o", form).stdout)
                document = json.loads(self.history("tiny", "-o", "json").stdout)
                self.assertEqual([is_rehearsal] * 2, [r["rehearsal"] for r in document["runs"]])
                rows = csv.DictReader(io.StringIO(self.history("tiny", "-o", "csv").stdout))
                self.assertEqual([str(is_rehearsal).lower()] * 2, [row["rehearsal"] for row in rows])

    def test_wrong_words(self):
        run = self.measure()
        rows = (
            (["nosuch"], 3, "no run of benchmark 'nosuch' succeeded", f"list the runs with: benchctl get runs --store {self.store}"),
            (["tiny", "--point", "9"], 2, "the newest run has the points 0 to 1",
             f"list the points with: benchctl describe {run} --store {self.store}"),
            (["tiny", "--last", "0"], 2, "expected a whole number from 1 to 1000", "for example --last 1"),
        )
        for words, code, message, fix in rows:
            with self.subTest(words):
                error = self.history(*words, code=code).stderr
                self.assertIn(message, error)
                self.assertIn(f"fix: {fix}\n", error)


if __name__ == "__main__":
    cli.main()
