#!/usr/bin/env python3
"""script/seeds [--check | --measure [NAME...]]   Makes docs/seeds.md: the figures of the five documents next to ours.

The page is bench/seeds/page.txt, in which {{EXPRESSION}} becomes a figure: of a set of published figures (the functions printed and cells),
of `benchctl simulate` (bound), or of a run (ours and others). The runs are bench/seeds/NAME.benchd.db.zst, archives of `benchctl
export`, without logs; bench/seeds/runs.txt has the command of each. --measure runs it here and keeps the archive, one without
--local in pods of a node that it makes (root); measure alone on the machine.

The variable BENCHCTL has the path of the program, BENCHCTL_PATH that of the definitions (default: of this tree)."""
import argparse
import csv
import datetime
import difflib
import functools
import json
import os
import pathlib
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile

import entry

ROOT = pathlib.Path(__file__).resolve().parent.parent
PLACE = ROOT / "bench" / "seeds"
PAGE = ROOT / "docs" / "seeds.md"
BENCHCTL = os.environ.get("BENCHCTL", str(ROOT / "build-release" / "ctl" / "benchctl"))
ENV = {"BENCHCTL_PATH": str(ROOT / "benchmarks"), **os.environ}
WIDE = 0.15   # a wider interval is marked
PODS = ("fluid", "open-mpi")   # images of runs without --local, and ours


def ctl(*words):
    return subprocess.run([BENCHCTL, *map(str, words)], env=ENV, stdout=subprocess.PIPE, text=True, check=True).stdout


def commands():
    """{name: words of its command after `benchctl`}"""
    lines = (line.split(None, 1) for line in (PLACE / "runs.txt").read_text(encoding="utf-8").splitlines() if line and line[0] != "#")
    return {name: command.strip() for name, command in lines}


def four(value):
    """Four digits, as benchctl's tables have them."""
    return f"{float(f'{value:.4g}'):,.10f}".rstrip("0").rstrip(".")


def medians(*cells):
    """Of each column of cells as Page.over() has them."""
    return ", ".join(f"{statistics.median(map(float, column)):.2f}" for column in zip(*re.findall(r" ([\d.]+), ([\d.]+)", " ".join(cells))))


# What others published.
@functools.lru_cache
def published(name):
    return json.loads(ctl("results", "--reference", name, "-o", "json"))


def fixed(value, n):
    return "-" if value is None else f"{value:.{n}f}" if n is not None else f"{value:g}"


def printed(name, table, row, figure="value", only=None):
    """The figures of a row as its source prints them, of `only` these columns; a star marks one that is wrong: typed or computed wrongly, as the set
    recomputes it. The set has an erratum for each."""
    table = next(item for item in published(name)["tables"] if item["name"] == table)
    found = next(item for item in table["rows"] if item["name"] == row)
    source = found.get("published", {}).get(figure) if figure != "value" or "values" not in found else None
    n = found["published"]["digits"] if source is not None else table.get("digits")
    values, cells = source if source is not None else found["values"], []
    for i, (column, value) in enumerate(zip(table["columns"], values)):
        errata = [item for item in table.get("errata", ()) if item["row"] == row and item.get("figure", "value") == figure and item.get("column", column) == column]
        typed = next((item["printed"] for item in errata if "printed" in item), value)
        right = found.get("recomputed", {}).get(figure)
        wrong = typed != value or right is not None and fixed(right[i], n) != fixed(typed, n)
        if wrong and not errata:
            raise ValueError(f"{name}: {row}, {figure} {column}: {typed} is wrong and has no erratum")
        if only is None or column in only:
            cells.append(fixed(typed, n) + ("\\*" if wrong else ""))
    return ("~ " if table["quality"] == "Reading" else "") + ", ".join(cells) + ("%" if figure == "efficiency" else "")


def at(name, table, column):
    """The cells of all rows at a column, each with the percentage that the source prints next to it."""
    rows = next(item for item in published(name)["tables"] if item["name"] == table)["rows"]
    return "; ".join(printed(name, table, row["name"], only=[column]) + (
        " " + printed(name, table, row["name"], "efficiency", [column]) if "efficiency" in row.get("published", {}) else "") for row in rows)


def rows(name, table, ours, figures=("value",), keep=lambda row: True, label=lambda row: row):
    """Lines of the page, one for each row that is kept; `ours` by the name of the row."""
    found = [row["name"] for row in next(item for item in published(name)["tables"] if item["name"] == table)["rows"]]
    return "\n".join(f"| {label(row)} | {'; '.join(printed(name, table, row, figure) for figure in figures)} | {ours.get(row, '')} |".replace("|  |", "| |")
                     for row in found if keep(row))


def sheet(net, data):
    return rows("tf-sheet-2017", "throughput", {}, ("value", "speedup", "efficiency"), lambda row: row.startswith(net) and f" {data}," in row,
                lambda row: row.replace(f"{net}, ", "").replace(f"{data}, ", ""))


# What no run can exceed.
@functools.lru_cache
def simulated(definition, system):
    return json.loads(ctl("simulate", definition, "--systems", system, "--link", "1gbit", "-o", "json"))


def bound(definition, per=1, system="benchworker", **point):
    """Samples a second at most, or batches of `per`, with the efficiency where there is one."""
    found = next(item for item in simulated(definition, system)["points"] if not item["baseline"] and all(item[key] == value for key, value in point.items()))
    at_most = found["atMost"]
    share = "" if at_most["efficiency"] is None else f" {100 * at_most['efficiency']:.1f}%"
    return four(at_most["samplesPerSecond"] / (found["batchSize"] if per == "batch" else per)) + share


# Ours.
class Run:
    def __init__(self, name, folder):
        path, self.store = PLACE / f"{name}.benchd.db.zst", folder / f"{name}.db"
        ctl("import", path, "--store", f"sqlite:{self.store}", "--quiet")
        self.sql = sqlite3.connect(self.store)
        self.uid, self.run, created_ms = self.sql.execute("SELECT uid, name, created_unix_ms FROM run").fetchone()
        self.date = datetime.datetime.fromtimestamp(created_ms / 1000, datetime.timezone.utc).strftime("%Y-%m-%d")
        self.digest = ctl("export", self.run, "--local", "--store", f"sqlite:{self.store}", "-f", folder / f"{name}.benchd.db", "--no-logs").split()[0]
        self.result = json.loads(ctl("results", self.run, "--local", "--store", f"sqlite:{self.store}", "-o", "json"))
        self.points = [*self.result["points"], *(point for point in self.result["baselines"] if point["point"] not in
                                                 {item["point"] for item in self.result["points"]})]

    def point(self, system, **values):
        return next(point for point in self.points if point["system"] == system and all(
            (point["replicas"] | point["parameters"] | {"batch_size": point["batchSize"]})[key] == value for key, value in values.items()))

    def table(self, *words):
        """Rows of the table over axes that `benchctl results` prints with these words."""
        return list(csv.DictReader(ctl("results", self.run, "--local", "--store", f"sqlite:{self.store}", *words, "-o", "csv").splitlines()))

    def facts(self, system):
        """Of the start records of a system's trainers."""
        points = {point["point"] for point in self.points if point["system"] == system}
        rows = self.sql.execute("SELECT point, facts FROM replica JOIN environment ON replica.environment = environment.id")
        return next(json.loads(facts) for point, facts in rows if point in points)

    def per_cpu_s(self, point):
        """Samples a CPU-second of its trainers in each trial."""
        rows = self.sql.execute("SELECT sum(samples) * 1e9 / sum(cpu_ns) FROM replica WHERE point = ? AND role != 'pserver' GROUP BY trial ORDER BY 1",
                                (point["point"],))
        return [rate for rate, in rows]


class Page:
    def __init__(self, folder):
        self.folder = folder

    @functools.lru_cache
    def run(self, name):
        return Run(name, self.folder)

    def ours(self, name, system, figure="throughput", share=False, per=1, **values):
        """"315.8 [300.6, 340.8]", and its efficiency; wider than WIDE: marked. per: samples of a batch."""
        point = self.run(name).point(system, **values)
        value, low, high = (point[figure][key] and point[figure][key] / per for key in ("value", "low", "high"))
        text = four(value) if low is None else f"{four(value)} [{four(low)}, {four(high)}]"
        wide = "†" if low is not None and high - low > WIDE * value else ""
        return text + wide + (f" {100 * point['efficiency']['value']:.1f}%" if share else "")

    def cpu(self, name, system, **values):
        """Samples a CPU-second: the median of the trials, the least and the most."""
        run = self.run(name)
        rates = run.per_cpu_s(run.point(system, **values))
        return f"{four(statistics.median(rates))} ({four(rates[0])} to {four(rates[-1])})"

    def sizes(self, name, system):
        """Of its points with one and two trainers or workers."""
        role = "trainer" if self.run(name).point(system)["replicas"]["trainer"] else "worker"
        return {role: 1}, {role: 2}

    def pair(self, name, system, figure="throughput", **values):
        """One and two trainers or workers, and the efficiency of a throughput."""
        one, two = self.sizes(name, system)
        return ", ".join((self.ours(name, system, figure, **values, **one),
                          self.ours(name, system, figure, figure == "throughput", **values, **two)))

    def percent(self, name, system, figure, **values):
        return f"{100 * self.run(name).point(system, **values)[figure]['value']:.1f}%"

    def percents(self, name, system, figure):
        return ", ".join(self.percent(name, system, figure, **size) for size in self.sizes(name, system))

    def over(self, above, below, figure="throughput", systems=("pytorch-ddp", "tensorflow-ps"), **values):
        """"pytorch-ddp 0.99, 1.01; tensorflow-ps 1.08, 0.99": a figure at `above` divided by that at `below`, of one and two processes."""
        def of(where, system, size):
            where = {"name": "imagenet", **where, **values, **size}
            return self.run(where.pop("name")).point(system, **where)[figure]["value"]
        return "; ".join(f"{system} " + ", ".join(f"{of(above, system, size) / of(below, system, size):.2f}" for size in self.sizes("imagenet", system))
                         for system in systems)

    def cells(self, name, words, show, **axes):
        """Cells of a table over axes: those whose axes have these values."""
        rows = self.run(name).table(*words.split())
        return ", ".join(show % float(row["value"]) for row in rows if all(row[f"axis_{key}"] == value for key, value in axes.items()))

    def build(self, name, system):
        return self.run(name).facts(system)["build"]

    def machine(self, name):
        run = self.run(name)
        facts = run.facts(run.points[0]["system"])
        if "cpu_model" not in facts:
            return "not recorded: the program writes no start record"
        cpus = run.result["cpus"] or 1 + int(facts["cpuset"].partition("-")[2] or 0)   # a cluster has no such number
        return f"{facts['cpu_model']}, {cpus} cores, Linux {facts['kernel'].split('-')[0]}"

    def archives(self):
        """A row for each run: its command, date and digest; before the first run of a machine a row with the machine."""
        rows, last = [], None
        for name, command in commands().items():
            if self.machine(name) != last:
                last = self.machine(name)
                rows.append(f"| **{last}** | | | |")
            rows.append(f"| {name} | `{command.removeprefix('run ')}` | {self.run(name).date} | `{self.run(name).digest[:19]}` |")
        return "\n".join(rows)

    def text(self):
        names = {"printed": printed, "at": at, "rows": rows, "sheet": sheet, "bound": bound, "ours": self.ours, "cpu": self.cpu, "pair": self.pair,
                 "percent": self.percent, "percents": self.percents, "cells": self.cells, "over": self.over, "medians": medians, "build": self.build, "archives": self.archives}
        template = (PLACE / "page.txt").read_text(encoding="utf-8")
        return re.sub(r"\{\{(.+?)\}\}", lambda found: str(eval(found[1], dict(names))), template)  # pylint: disable=eval-used # a file of ours


def measure_local(words, folder, out):
    store = f"sqlite:{folder}/results.db"
    subprocess.run([BENCHCTL, *words, "--store", store], env=ENV, check=True)
    ctl("export", "latest", "--local", "--store", store, "--no-logs", "-f", out)


def measure_pods(runs):
    """On the real node of tests/e2e, with the images of the recipes: {archive: words of its command}."""
    sys.path.insert(0, str(ROOT / "tests" / "e2e"))
    import dockerfile
    from node import Node
    os.environ["BENCHD_BUILD_DIR"] = str(pathlib.Path(BENCHCTL).parents[1])
    definitions = "".join((ROOT / "benchmarks" / f"{words[1]}.yaml").read_text(encoding="utf-8") for words in runs.values())
    images = [dockerfile.archive(name) for name in PODS if f"image: benchd.local/{name}:" in definitions]
    with Node(namespace=None) as node:
        node.install()
        for image in images:
            node.load_archive(image)
        for out, words in runs.items():
            for command in (words, ["export", "latest", "--no-logs", "-f", str(out)]):
                subprocess.run(node.cluster.command(BENCHCTL, *command), env={**ENV, **node.cluster.env()}, check=True)


def measure(names):
    runs = {PLACE / f"{name}.benchd.db.zst": command.split() for name, command in commands().items() if not names or name in names}
    pods = {out: words for out, words in runs.items() if "--local" not in words}
    with tempfile.TemporaryDirectory() as folder:
        for out in (out for out in runs if out not in pods):
            measure_local(runs[out], folder, out)
    if pods:
        measure_pods(pods)


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--measure", nargs="*", metavar="NAME")
    args = parser.parse_args(argv)
    if args.measure is not None:
        measure(args.measure)
    with tempfile.TemporaryDirectory() as folder:
        text = Page(pathlib.Path(folder)).text()
    if args.check:
        old = PAGE.read_text(encoding="utf-8")
        sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), text.splitlines(True), "docs/seeds.md", "what its archives and commands give", n=0))
        return int(old != text)
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    entry.run(main)
