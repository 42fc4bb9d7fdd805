#!/usr/bin/env python3
"""script/bench predict: how fast benchctl simulate is, how near its predictions are, and what it cannot explain.

Parts (--part NAME, several are possible; default: all):
  speed     100 trainers, 20 servers, 100 steps: CPU time of one simulation
  validate  a small run gives times and costs; other runs on this machine are predicted from it, then run
  backcast  the published tables of paddle-vgg16-cpu-2018 (PaddlePaddle Fluid), from one of their points

validate runs benchworker --local with 2 cores: emulated trainers (sleeping 1 s a step; fit: 1 trainer, 1 server) and real ones
(batch 16; fit the same, so two points). Runs and predictions share no trial. Other work on the machine makes both worse: the
load is printed, and with more than --quiet of it the bars of validate are not decided.

backcast knows no network: it tries 1 and 10 Gbit/s. What a byte costs a server, and by how much computing is slower than on one
node, are fitted to 20 trainers with 10 servers at the batches 32 and 256; all other cells are predicted from these two. A cell that
differs by more than 10% is not explained. FREE: servers that cost nothing, and computing as fast as on one node.

Ends with "reached N of M"; exit 1 where a bar is missed."""
import argparse
import json
import os
import pathlib
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

import entry
from figures import Bar, Spread, table

ROOT = pathlib.Path(__file__).resolve().parent.parent
REHEARSAL = ROOT / "benchmarks" / "vgg16-rehearsal-2018.yaml"
LAYER = re.compile(r"- \{name: (\w+), forwardMicroseconds: (\d+), backwardMicroseconds: (\d+)\}")
CORES = 2
SPEED_BAR_S, MEDIAN_BAR, WORST_BAR, EXPLAINED = 2.0, 5.0, 10.0, 0.10
EMULATED = [(2, 1), (4, 1), (4, 2), (8, 2)]   # trainers, servers
REAL = [(2, 1), (2, 2)]
# PaddlePaddle Fluid, samples/s: benchmarks/reference/paddle-vgg16-cpu-2018.yaml. (trainers, servers, batch)
SINGLE = {32: 15.44, 64: 16.32, 128: 16.74, 256: 16.79}
CELLS = {(20, 10, 32): 190.20, (20, 10, 64): 222.15, (20, 10, 128): 247.40, (20, 10, 256): 258.18,
         (20, 20, 128): 263.29, (40, 20, 128): 518.80, (80, 20, 128): 836.26, (100, 20, 128): 1019.29,
         (60, 3, 128): 589.1, (60, 6, 128): 592.6, (60, 10, 128): 656.4, (60, 20, 128): 655.8}
FIT = (20, 10, 32), (20, 10, 256)


def layers():
    return [{"name": n, "forwardMicroseconds": int(f), "backwardMicroseconds": int(b)}
            for n, f, b in LAYER.findall(REHEARSAL.read_text(encoding="utf-8"))]


def definition(points, batch=128, step_ms=None, warmup=1, steps=4, repeats=1, jitter=0.02):
    """A definition of native trainers; step_ms: emulated ones with such a step."""
    template = {"spec": {"containers": [{"name": "main"}]}}
    workload = {"model": "vgg16-fluid-fc512", "dataset": {"kind": "Synthetic"}, "batchSize": batch, "threads": 1, "seed": 1,
                "exchange": {"kind": "PServer", "mode": "Sync", "wire": "Fp32", "transport": "Tcp"},
                "compute": "Emulated" if step_ms else "Real"}
    if step_ms:
        workload["trace"] = {"stepMilliseconds": round(step_ms), "jitter": jitter, "layers": layers()}
    return {"apiVersion": "benchd.io/v1alpha1", "kind": "Benchmark", "metadata": {"name": "predict"},
            "spec": {"description": "script/bench predict", "systems": [{"name": "benchworker", "profile": "benchworker"}],
                     "workload": workload, "sweep": {"points": [{"trainers": t, "pservers": s} for t, s in points]},
                     "baseline": {"kind": "SingleNode"},
                     "roles": {"pserver": {"replicas": {"from": "pservers"}, "template": template},
                               "trainer": {"replicas": {"from": "trainers"}, "template": template}},
                     "measure": {"warmupSteps": warmup, "steps": steps}, "repeats": {"min": repeats, "order": "Interleaved"},
                     "failurePolicy": {"onTrialFailure": "Retry", "maxFailedTrials": 3},
                     "runPolicy": {"activeDeadlineSeconds": 3600, "backoffLimit": 2}}}


class Bench:
    def __init__(self, folder):
        self.folder = folder
        self.store = f"sqlite:{folder}/results.db"
        self.n = 0

    def ctl(self, *args):
        done = subprocess.run([os.environ["BENCHCTL"], *map(str, args)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"benchctl {' '.join(map(str, args))}: exit code {done.returncode}\n{done.stderr}")
        return done.stdout

    def write(self, what):
        self.n += 1
        path = self.folder / f"{self.n}.json"
        path.write_text(json.dumps(what), encoding="utf-8")
        return path

    def simulate(self, what, *args):
        """{(trainers, servers): point}"""
        points = json.loads(self.ctl("simulate", "-f", self.write(what), "-o", "json", *args))["points"]
        return {(p["trainers"], p["pservers"]): p for p in points}

    def run(self, what):
        """({(trainers, servers): samples/s}, name of the run)"""
        before = set(self.ctl("get", "runs", "--store", self.store, "-o", "name").split()) if self.n else set()
        result = json.loads(self.ctl("run", "-f", self.write(what), "--store", self.store, "-o", "json"))
        name, = set(self.ctl("get", "runs", "--store", self.store, "-o", "name").split()) - before
        measured = {(p["replicas"].get("trainer", 0), p["replicas"].get("pserver", 0)): p["throughput"]["value"] for p in result["points"]}
        return measured, name.split("/")[-1]


def speed(bench):
    what = definition([(100, 20)], step_ms=7650, warmup=0, steps=100)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    point = bench.simulate(what, "--link", "10gbit", "--server-cost", "0.5", "--update-cost", "1")[(100, 20)]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"100 trainers, 20 servers, 100 steps: {cpu_s:.2f} s of CPU time; predicted {point['throughput']['value']:.0f} samples/s")
    return [Bar("CPU time of a simulation, s", Spread.of([cpu_s]), SPEED_BAR_S, "<")]


def compare(bench, make, points, *more):
    """[[trainers, servers, predicted, measured, limit]]"""
    _, fitted = bench.run(make([(1, 1)]))
    predicted = bench.simulate(make(points), "--cores", CORES, "--store", bench.store, "--trace", fitted, *more)
    measured, _ = bench.run(make(points))
    return [[*key, predicted[key]["throughput"]["value"], measured[key], predicted[key]["limit"]] for key in points]


def kept(args):
    """{kind: line} of FILE, with as many steps and repeats."""
    if not args.json or not os.path.exists(args.json):
        return {}
    lines = [json.loads(line) for line in pathlib.Path(args.json).read_text(encoding="utf-8").splitlines()]
    return {line["kind"]: line for line in lines if (line["steps"], line["repeats"]) == (args.steps, args.repeats)}


def validate_all(bench, args):
    """[{kind, rows of compare, load}]; what FILE has is not measured again."""
    keys = {"steps": args.steps, "repeats": args.repeats}
    done = kept(args)
    kinds = {"emulated": lambda: compare(bench, lambda points: definition(points, step_ms=1000, **keys), EMULATED),
             "real": lambda: compare(bench, lambda points: definition(points, batch=16, warmup=2, **keys), REAL, "--layers", write_layers(bench))}
    for kind, measure in kinds.items():
        if kind in done:
            continue
        load = os.getloadavg()[0]
        done[kind] = {"kind": kind, **keys, "rows": measure(), "load": max(load, os.getloadavg()[0])}
        if args.json:
            with open(args.json, "a", encoding="utf-8") as f:
                f.write(json.dumps(done[kind]) + "\n")
    return [done[kind] for kind in kinds]


def write_layers(bench):
    """Those of the rehearsal: of real trainers they are the shares, and the length is measured."""
    path = bench.folder / "layers.yaml"
    path.write_text(json.dumps({"trace": {"layers": layers()}}), encoding="utf-8")
    return path


def validate(bench, args):
    done = validate_all(bench, args)
    load = max(line["load"] for line in done)
    rows = [(line["kind"], *row) for line in done for row in line["rows"]]
    errors = [100 * abs(p / m - 1) for _, _, _, p, m, _ in rows]
    lines = [[f"{kind} {trainers}x{servers}", f"{p:.2f}", f"{m:.2f}", f"{100 * (p / m - 1):+.1f}%", limit]
             for kind, trainers, servers, p, m, limit in rows]
    print(table(["VALIDATION (trainers x servers)", "PREDICTED", "MEASURED", "DIFFERENCE", "LIMIT"], lines))
    print(f"samples/s, median of {args.repeats} trials of {args.steps} steps; load of the machine {load:.1f}, cores {os.cpu_count()}")
    decided = load <= args.quiet + CORES
    if not decided:
        print("the machine is too busy to decide")
    return [Bar("median difference, %", Spread.of(errors) if decided else None, MEDIAN_BAR, "<="),
            Bar("worst difference, %", Spread.of([max(errors)]) if decided else None, WORST_BAR, "<=")]


def cast(bench, cells, link, cost_ns, slower=1.0):
    """{cell: samples/s}"""
    found = {}
    for batch in sorted({c[2] for c in cells}):
        points = [c[:2] for c in cells if c[2] == batch]
        what = definition(points, batch=batch, step_ms=1000 * batch / SINGLE[batch] * slower, jitter=0)
        for key, point in bench.simulate(what, "--link", link, "--server-cost", cost_ns).items():
            if (*key, batch) in cells:
                found[(*key, batch)] = point["throughput"]["value"]
    return found


def halve(low, high, is_above):
    """Where is_above begins."""
    for _ in range(10):
        middle = (low + high) / 2
        low, high = (low, middle) if is_above(middle) else (middle, high)
    return (low + high) / 2


def fit(bench, link):
    """(ns, factor) for which the two cells of FIT come out as published: the small batch says what the exchange costs, the large one
    how slow computing is."""
    small, large = FIT

    def cost(slower):
        return halve(0, 200, lambda ns: cast(bench, [small], link, ns, slower)[small] < CELLS[small])

    slower = halve(1, 2, lambda s: cast(bench, [large], link, cost(s), s)[large] < CELLS[large])
    return cost(slower), slower


def backcast(bench):
    for link in ("1gbit", "10gbit"):
        free = cast(bench, list(CELLS), link, 0)
        cost_ns, slower = fit(bench, link)
        found = cast(bench, list(CELLS), link, cost_ns, slower)
        lines, n_explained = [], 0
        for cell, published in CELLS.items():
            off = found[cell] / published - 1
            n_explained += cell not in FIT and abs(off) <= EXPLAINED
            verdict = "fitted" if cell in FIT else "explained" if abs(off) <= EXPLAINED else "NOT explained"
            lines.append(["{} trainers, {} servers, batch {}".format(*cell), f"{published:.1f}", f"{free[cell]:.1f}", f"{found[cell]:.1f}",
                          f"{100 * off:+.0f}%", verdict])
        print(table([f"BACK-CAST, {link}", "PUBLISHED", "FREE", "FITTED", "DIFFERENCE", "VERDICT"], lines))
        print(f"a server needs {cost_ns:.1f} ns for a byte, computing {slower:.2f} times as long; "
              f"{n_explained} of {len(CELLS) - len(FIT)} cells explained\n")
    return []


def main(argv):
    parser = argparse.ArgumentParser(prog="script/bench predict", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", action="append", choices=("speed", "validate", "backcast"))
    parser.add_argument("--steps", type=int, default=10, help="measured steps of a trial of validate (10)")
    parser.add_argument("--repeats", type=int, default=3, help="trials a point of validate (3)")
    parser.add_argument("--quiet", type=float, default=1.0, help="load of others that validate bears (1.0)")
    parser.add_argument("--json", metavar="FILE", help="validate keeps what it has measured, emulated and real, and goes on after that")
    args = parser.parse_args(argv)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="bench-predict-"))
    bars = []
    try:
        bench = Bench(folder)
        for part in args.part or ("speed", "validate", "backcast"):
            bars += speed(bench) if part == "speed" else validate(bench, args) if part == "validate" else backcast(bench)
    finally:
        shutil.rmtree(folder)
    for bar in bars:
        print(bar.text())
    print(f"reached {sum(bar.is_reached for bar in bars)} of {len(bars)}")
    return 0 if all(bar.is_reached for bar in bars) else 1


if __name__ == "__main__":
    entry.run(main)
