#!/usr/bin/env python3
"""What benchctl prints of stored runs, byte for byte, so that the code behind it can be changed. All formats.

frozen/store.sql is a store of schema 18 as text: the local run of vgg16-pserver-sweep, measured on two CPUs, and runs of
fake_replica.c (tiny-a to tiny-d are of one definition, tiny-d is half as fast; tiny-nodes names nodes). frozen/*.txt has the text for
a terminal, and a digest of each other format. BENCHD_GOLDEN_UPDATE=1 writes these files again."""
import hashlib
import os
import re
import sqlite3

import cli

FROZEN = cli.ROOT / "tests" / "ctl" / "frozen"
RESULTS = ("text", "markdown", "csv", "json")
PIVOT = ("text", "markdown", "csv")
# name of the file: (arguments, formats, exit code)
CASES = {
    **{f"results-{run}": (("results", run), (*RESULTS, "wide"), 0) for run in ("accuracy", "tiny-broken", "vgg16")},
    **{f"results-{by}": (("results", "tiny-nodes", "--by", by), RESULTS, 0) for by in ("node", "curve")},
    "results-replica": (("results", "tiny-nodes", "--by", "replica"), RESULTS[1:], 0),
    "results-phase": (("results", "vgg16", "--by", "phase"), RESULTS[1:], 0),
    "results-pivot": (("results", "vgg16", "--rows", "trainers", "--cells", "efficiency"), PIVOT, 0),
    "results-ratio": (("results", "vgg16", "--ratio", "trainers=2/1"), PIVOT, 0),
    "results-price": (("results", "tiny-d", "--cells", "cost", "--price", "0.05/cpu-hour"), PIVOT, 0),
    "results-reference": (("results", "--reference", "paddle-vgg16-cpu-2018"), ("markdown", "json"), 0),
    "compare-slower": (("compare", "tiny-a", "tiny-d"), RESULTS, 6),
    "compare-axis": (("compare", "tiny-axis", "--axis", "pservers"), RESULTS, 6),
    "gate-passed": (("gate", "tiny-c", "--base", "tiny-a"), ("text", "json"), 0),
    "gate-refused": (("gate", "tiny-d"), ("text", "markdown", "junit", "json"), 6),
    "history": (("history", "tiny"), RESULTS, 0),
    **{f"describe-{run}": (("describe", run), ("text",), 0) for run in ("tiny-broken", "vgg16")},
    **{f"report-{run}": (("report", run), ("html", "svg"), 0) for run in ("accuracy", "vgg16")},
    "report-tiny-broken": (("report", "tiny-broken"), ("html",), 0),
}


def steady(text):
    """Without ages; and figures of documents have 17 digits, of which the last differ between math libraries."""
    return re.sub(r"\d+\.\d{9,}(e[-+]?\d+)?", lambda m: f"{float(m[0]):.12g}", cli.without_ages(text))


# A figure that is none of these is left out, so that a new one changes nothing here; and so is the table of more figures.
FIGURES = {"throughput", "speedup", "efficiency", "efficiency-per-pod", "efficiency-per-cpu", "exchange-share", "straggler-share",
           *(row["name"] for row in cli.figures() if "accuracy" in row["name"])}


def without_news(text, form):
    news = [row for row in cli.figures() if row["name"] not in FIGURES]
    if form == "csv":
        rows = [line.split(",") for line in text.splitlines()]
        columns = [row["column"] + limit for row in news for limit in ("", "_low", "_high")]
        left_out = {i for i, name in enumerate(rows[0]) if name in columns}
        return "".join(",".join(cell for i, cell in enumerate(row) if i not in left_out) + "\n" for row in rows) if left_out else text
    for row in news:
        text = re.sub(rf'\s*"{row["json"]}": ?{{[^{{}}]*}},', "", text)
    return re.sub(r"(?s)<h\d>More figures</h\d>.*?</table>\n</div>\n|More figures(:\n\n\|.*?\n\n|\n(\w+) .*?\n\n(?:\2 .*?\n\n)*)", "", text)


class Frozen(cli.CliCase):
    def test_every_format(self):
        db = sqlite3.connect(self.folder / "results.db")
        db.executescript((FROZEN / "store.sql").read_text(encoding="utf-8"))
        db.close()
        self.env["TZ"] = "UTC"
        for name, (args, formats, code) in CASES.items():
            with self.subTest(name):
                path = FROZEN / f"{name}.txt"
                found = "".join(self.show(args, one, code) for one in formats)
                if os.environ.get("BENCHD_GOLDEN_UPDATE"):
                    path.write_text(found, encoding="utf-8")
                self.assertEqual(path.read_text(encoding="utf-8"), found, "BENCHD_GOLDEN_UPDATE=1 writes it again")

    def show(self, args, form, code):
        out = without_news(steady(self.ctl(*args, "-o", form, "--store", "sqlite:results.db", code=code).stdout), form)
        if form != "text":
            out = hashlib.sha256(out.encode()).hexdigest() + "\n"
        return f"$ benchctl {' '.join(args)} -o {form}\n{out}"


if __name__ == "__main__":
    cli.main()
