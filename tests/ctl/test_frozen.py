#!/usr/bin/env python3
"""What benchctl prints of stored runs, byte for byte, so that the code behind it can be changed. All formats.

frozen/store.sql is a store of schema 15 as text: the local run of vgg16-pserver-sweep, measured on two CPUs, and runs of
fake_replica.c (tiny-a to tiny-d are of one definition, tiny-d is half as fast; tiny-nodes names nodes). frozen/*.txt has the text for
a terminal, and a digest of each other format. BENCHD_GOLDEN_UPDATE=1 writes these files again."""
import hashlib
import os
import re
import sqlite3

import cli

FROZEN = cli.ROOT / "tests" / "ctl" / "frozen"
RESULTS = ("text", "markdown", "csv", "json")
# name of the file: (arguments, formats, exit code)
CASES = {
    **{f"results-{run}": (("results", run), (*RESULTS, "wide", "openmetrics"), 0) for run in ("accuracy", "tiny-broken", "vgg16")},
    **{f"results-{by}": (("results", "tiny-nodes", "--by", by), RESULTS, 0) for by in ("node", "replica", "curve")},
    "results-phase": (("results", "vgg16", "--by", "phase"), RESULTS, 0),
    "results-pivot": (("results", "vgg16", "--rows", "trainers", "--cells", "efficiency"), RESULTS, 0),
    "results-ratio": (("results", "vgg16", "--ratio", "trainers=2/1"), RESULTS, 0),
    "results-price": (("results", "tiny-d", "--cells", "cost", "--price", "0.05/cpu-hour"), RESULTS, 0),
    "results-reference": (("results", "--reference", "fleetx-ps-2020"), ("markdown", "json"), 0),
    "compare-slower": (("compare", "tiny-a", "tiny-d"), RESULTS, 6),
    "compare-axis": (("compare", "tiny-axis", "--axis", "pservers"), RESULTS, 6),
    "gate-passed": (("gate", "tiny-c", "--base", "tiny-a"), ("text", "json"), 0),
    "gate-refused": (("gate", "tiny-d"), ("text", "markdown", "junit", "json"), 6),
    "history": (("history", "tiny"), RESULTS, 0),
    **{f"describe-{run}": (("describe", run), ("text", "json"), 0) for run in ("accuracy", "tiny-broken", "vgg16")},
    **{f"report-{run}": (("report", run), ("html", "svg"), 0) for run in ("accuracy", "tiny-broken", "vgg16")},
}


def steady(text):
    """Without ages; and figures of documents have 17 digits, of which the last differ between math libraries."""
    text = re.sub(r"\(\S+ ago\)", "(some time ago)", text)
    text = re.sub(r"(?m)^  (?:AGE|\d+[smhd]\S*) +(TYPE|Normal|Warning) ", r"  \1 ", text)
    return re.sub(r"\d+\.\d{9,}(e[-+]?\d+)?", lambda m: f"{float(m[0]):.12g}", text)


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
                self.assertEqual(path.read_text(encoding="utf-8"), found)

    def show(self, args, form, code):
        out = steady(self.ctl(*args, "-o", form, "--store", "sqlite:results.db", code=code).stdout)
        if form != "text":
            out = hashlib.sha256(out.encode()).hexdigest() + "\n"
        return f"$ benchctl {' '.join(args)} -o {form}\n{out}"


if __name__ == "__main__":
    cli.main()
