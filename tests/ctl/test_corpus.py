#!/usr/bin/env python3
"""benchctl import on the corpus of tests/corpus, which was written without a look at benchd: no figure is wrong, no log is
passed over in silence, a refusal names its line, and a suggested rule works as it is written."""
import collections
import concurrent.futures
import json
import re
import subprocess

import cli

CORPUS = cli.ROOT / "tests" / "corpus"
CASES = json.loads((CORPUS / "cases.json").read_text(encoding="utf-8"))
TOLERANCE = 0.005
LEAST_READ = 0.75  # of all logs, read or rightly refused
# What the words of logs are in benchd: a program's events are its runs.
SAMPLES = {"images", "sequences", "sentences", "examples", "rows", "items", "frames", "instances"}
WORDS = {**{word: "samples" for word in SAMPLES}, "events": "runs", "iterations": "steps"}

Outcome = collections.namedtuple("Outcome", "name kind said")


def unit_of(text):
    word = text.split("/")[0]
    return WORDS.get(word, word)


def is_right(value, unit, truth):
    return any(abs(value / f["value"] - 1) <= TOLERANCE and unit_of(f["unit"]) == unit_of(unit)
               for f in truth.get("figures", ()))


def load(test, case, file, *more):
    """The import of one log as its user would type it; a batch that only the user knows is said."""
    args = [cli.BENCHCTL, "import", "-o", "json", "--store", f"sqlite:{test.folder}/{file['file']}{len(more)}.db",
            "--warmup", str(case.get("warmup", 0)), *more]
    batch = case.get("batch", {})
    if batch.get("size") and batch["from"] in ("command", "user"):
        size = batch["size"] if batch["scope"] == "worker" else batch["size"] / file["workers"]
        args += ["--batch", str(int(size))] if size == int(size) else []
    log = CORPUS / file["file"]
    return subprocess.run([*args, f"workers={file['workers']}:{log}"], capture_output=True, text=True, timeout=300,
                          env=test.env)


def judge(done, truth):
    """right, marked, refused (with the line that the truth has), unread (with a reason), wrong or silent."""
    if done.returncode == 0:
        figure = json.loads(done.stdout)["points"][0]["throughput"]
        said = f"{figure['value']} {figure['unit']}, not {truth.get('figures') or truth['refuse']}; {done.stderr.strip()}"
        if not is_right(figure["value"], figure["unit"], truth):
            return "wrong", said
        is_marked = re.search(rf"\bline {truth.get('line')}\b", done.stderr)
        return ("right" if "refuse" not in truth else "marked" if is_marked else "wrong"), said
    said = " ".join(done.stderr.split())
    if done.returncode != 2 or not re.match(r"(\S+: read by .* )?error: ", said) or " fix: " not in said:
        return "silent", said
    if "refuse" not in truth:
        return "unread", said
    return ("refused" if re.search(rf"\bline {truth['line']}\b", said) else "elsewhere"), said


class Corpus(cli.CliCase):
    outcomes = None

    def each(self, work):
        logs = [(case, file, truth) for case in CASES for file, truth in zip(case["files"], case["truth"])]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            return list(pool.map(lambda log: work(*log), logs))

    def read_all(self):
        if Corpus.outcomes is None:
            Corpus.outcomes = self.each(
                lambda case, file, truth: Outcome(file["file"], *judge(load(self, case, file), truth)))
        return Corpus.outcomes

    def of_kind(self, *kinds):
        return [f"{o.name}: {o.said}" for o in self.read_all() if o.kind in kinds]

    def test_no_figure_is_wrong(self):
        self.assertEqual(self.of_kind("wrong"), [])

    def test_nothing_is_passed_over_in_silence(self):
        self.assertEqual(self.of_kind("silent"), [])

    def test_a_refusal_names_its_line(self):
        self.assertEqual(self.of_kind("elsewhere"), [])

    def test_most_are_read_or_rightly_refused(self):
        counts = collections.Counter(o.kind for o in self.read_all())
        print("#", dict(counts))
        for line in self.of_kind("unread"):
            print("# unread:", line[:240])
        n = counts["right"] + counts["marked"] + counts["refused"]
        self.assertGreaterEqual(n / counts.total(), LEAST_READ)

    def test_sizes_of_different_work_have_no_speedup(self):
        for case in (c for c in CASES if len(c["files"]) > 1 and c.get("one_curve") is False):
            files = [f"workers={f['workers']}:{CORPUS / f['file']}" for f in case["files"]]
            done = self.ctl("import", "--store", self.store, "-o", "json", "--warmup", str(case.get("warmup", 0)), *files)
            result = json.loads(done.stdout)
            self.assertIn("MixedWork", [w["code"] for w in result["warnings"]])
            self.assertRegex(done.stderr, r"hidden_size 6144 in line 3, .* 8192 in line 3: they are not one curve")
            self.assertEqual([p["speedup"]["value"] for p in result["points"][1:]], [None])

    def test_a_written_rule_works_or_is_refused(self):
        def work(case, file, truth):
            rule = self.folder / (file["file"] + ".yaml")
            written = load(self, case, file, "--write-rule", rule)
            if written.returncode != 0:
                return Outcome(file["file"], "none", "")
            return Outcome(file["file"], *judge(load(self, case, file, "--rules", rule), truth))

        outcomes = self.each(work)
        print("# written rules:", dict(collections.Counter(o.kind for o in outcomes)))
        self.assertEqual([f"{o.name}: {o.said}" for o in outcomes if o.kind in ("wrong", "silent")], [])


if __name__ == "__main__":
    cli.main()
