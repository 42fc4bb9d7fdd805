#!/usr/bin/env python3
"""script/bench predict: how fast benchctl simulate is, and how near its predictions are.

Parts (--part NAME, several are possible; default: all):
  speed     CPU time of one simulation of 100 trainers with 20 servers (100 steps), 1,000 with 200 (30 steps), and of
            10,000 workers of a ring (100 steps)
  validate  a small run gives times and costs; other runs on this machine are predicted from it, then run

validate runs benchworker --local with 2 cores: emulated trainers (sleeping 1 s a step; fit: 1 trainer, 1 server) and real ones
(batch 16; fit: 2 and 1, which fill the cores as the others do); emulated workers of a ring (fit: 1 and 2) and real ones (fit: 1
and 2 at batch 16, 1 at batch 32); both emulated over shaped links (needs root), fitted without links; 100 emulated trainers and 20
servers (fit: 32 and 7). Runs and predictions share no trial. How fast a machine computes changes from minute to minute, so real
gangs are fitted, predicted and measured in --rounds, one trial a point, and the gang of 100 in three: a difference is the median
of those of the rounds.
Other work on the machine makes all worse: the load is printed, and with more than --quiet of it the bars of validate are not
decided.

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
from figures import Bar, Spread, keep, read_kept, table

ROOT = pathlib.Path(__file__).resolve().parent.parent
REHEARSAL = ROOT / "benchmarks" / "vgg16-rehearsal-2018.yaml"
LAYER = re.compile(r"- \{name: (\w+), forwardMicroseconds: (\d+), backwardMicroseconds: (\d+)\}")
CORES = 2
MEDIAN_BAR, WORST_BAR = 3.0, 8.0
# name, (trainers, servers) or workers, ms a step, steps, bar in seconds of CPU time
SPEED = [("100 trainers, 20 servers", (100, 20), 7650, 100, 3.0), ("1,000 trainers, 200 servers", (1000, 200), 343, 30, 10.0),
         ("a ring of 10,000 workers", 10000, 343, 100, 5.0)]
EMULATED = [(2, 1), (4, 1), (4, 2), (8, 2)]   # trainers, servers
REAL_FIT = [(2, 1)]                           # fills the cores, as those that are predicted do
REAL = [(2, 2), (3, 1), (4, 2)]
RING_FIT = [(1, 128), (2, 128)]               # workers, batch
RING_EMULATED = [(3, 128), (4, 128), (8, 128)]
RING_REAL_FIT = [(1, 16), (2, 16), (1, 32)]
RING_REAL = [(2, 32), (3, 16)]
LINK = "500mbit"                              # of each replica: the exchange takes longer than the step without it
LINKED, RING_LINKED = [(1, 1), (2, 1), (2, 2), (8, 4)], [(2, 128), (3, 128)]
SCALE, SCALE_STEP_MS, SCALE_STEPS = [(100, 20)], 7650, 4   # as the published one
SCALE_FIT, SCALE_FIT_MS, SCALE_ROUNDS = [(32, 7)], 2450, 3 # slices as short, and as much work for each core
KINDS = ("emulated", "real", "emulated ring", "real ring", "behind links", "ring behind links", "scale")


def layers():
    return [{"name": n, "forwardMicroseconds": int(f), "backwardMicroseconds": int(b)}
            for n, f, b in LAYER.findall(REHEARSAL.read_text(encoding="utf-8"))]


def definition(points, batch=128, step_ms=None, warmup=1, steps=4, repeats=1):
    """A definition of native trainers; step_ms: emulated ones with such a step."""
    template = {"spec": {"containers": [{"name": "main"}]}}
    workload = {"model": "vgg16-fluid-fc512", "dataset": {"kind": "Synthetic"}, "batchSize": batch, "threads": 1, "seed": 1,
                "exchange": {"kind": "PServer", "mode": "Sync", "wire": "Fp32", "transport": "Tcp"},
                "compute": "Emulated" if step_ms else "Real"}
    if step_ms:
        workload["trace"] = {"stepMilliseconds": round(step_ms), "jitter": 0.02, "layers": layers()}
    return {"apiVersion": "benchd.io/v1alpha1", "kind": "Benchmark", "metadata": {"name": "predict"},
            "spec": {"description": "script/bench predict", "systems": [{"name": "benchworker", "profile": "benchworker"}],
                     "workload": workload, "sweep": {"points": [{"trainers": t, "pservers": s} for t, s in points]},
                     "baseline": {"kind": "SingleNode"},
                     "roles": {"pserver": {"replicas": {"from": "pservers"}, "template": template},
                               "trainer": {"replicas": {"from": "trainers"}, "template": template}},
                     "measure": {"warmupSteps": warmup, "steps": steps}, "repeats": {"min": repeats, "order": "Interleaved"},
                     "failurePolicy": {"onTrialFailure": "Retry", "maxFailedTrials": 3},
                     "runPolicy": {"activeDeadlineSeconds": 3600, "backoffLimit": 2}}}


def ring(points, **keys):
    """The same of native workers, each point with its batch."""
    what = definition([(1, 1)], **keys)
    spec = what["spec"]
    spec["workload"]["exchange"]["kind"] = "AllReduce"
    spec["sweep"] = {"points": [{"workers": n, "batch_size": batch} for n, batch in points]}
    spec["roles"] = {"worker": {"replicas": {"from": "workers"}, "template": spec["roles"]["trainer"]["template"]}}
    return what


def linked(what):
    """The same over links."""
    what["spec"]["workload"]["link"] = {"rate": LINK}
    return what


def name_of(workers, servers, batch, is_ring):
    return f"{workers} at batch {batch}" if is_ring else f"{workers}x{servers}"


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
        """The predicted points."""
        return json.loads(self.ctl("simulate", "-f", self.write(what), "-o", "json", *args))["points"]

    def runs(self):
        """Those of the store, which the first one creates."""
        there = (self.folder / "results.db").exists()
        return set(self.ctl("get", "runs", "--store", self.store, "-o", "name").split()) if there else set()

    def run(self, what):
        """({name of a point: samples/s}, name of the run)"""
        before = self.runs()
        result = json.loads(self.ctl("run", "-f", self.write(what), "--store", self.store, "-o", "json"))
        name, = self.runs() - before
        measured = {name_of(r["trainer"] + r["worker"], r["pserver"], p["batchSize"], r["worker"] > 0): p["throughput"]["value"]
                    for p in result["points"] for r in [p["replicas"]]}
        return measured, name.split("/")[-1]


def cpu_of(bench, what, *args):
    """CPU seconds of a simulation, and what it predicts for the first point."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    point = bench.simulate(what, "--link", "10gbit", *args)[0]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, point["throughput"]["value"]


def speed(bench):
    bars = []
    for name, gang, step_ms, steps, bar_s in SPEED:
        keys = {"step_ms": step_ms, "warmup": 0, "steps": steps}
        is_ring = isinstance(gang, int)
        taken_s, predicted = cpu_of(bench, ring([(gang, 128)], **keys) if is_ring else definition([gang], **keys),
                                    "--worker-cost" if is_ring else "--server-cost", "0.5", "--update-cost", "1")
        print(f"{name}, {steps} steps: {taken_s:.2f} s of CPU time; predicted {predicted:.0f} samples/s")
        bars.append(Bar(f"CPU time of {name}, s", Spread.of([taken_s]), bar_s, "<"))
    return bars


def compare(bench, make, fit, points, rounds, *more, predict=None):
    """[[name, predicted, measured, differences of the rounds in percent, limit]]; what is fitted is run first in each round. `predict`
    makes the definition that is predicted and run, if it is another one."""
    found = {}
    for _ in range(rounds):
        _, fitted = bench.run(make(fit))
        what = (predict or make)(points)
        predicted = bench.simulate(what, "--cores", CORES, "--store", bench.store, "--trace", fitted, *more)
        measured, _ = bench.run(what)
        for p in predicted:
            if not p["baseline"]:
                name = name_of(p["trainers"] + p["workers"], p["pservers"], p["batchSize"], p["workers"] > 0)
                found.setdefault(name, []).append((p["throughput"]["value"], measured[name], p["limit"]))
    return [[name, *(statistics.median(column) for column in list(zip(*rows))[:2]), [100 * (p / m - 1) for p, m, _ in rows], rows[0][2]]
            for name, rows in found.items()]


def keys_of(args):
    return {"steps": args.steps, "repeats": args.repeats, "rounds": args.rounds}


def kept(args):
    """{kind: line} of FILE, with as many steps, repeats and rounds."""
    return {line["kind"]: line for line in read_kept(args.json) if line["keys"] == keys_of(args)}


def validate_all(bench, args):
    """[{kind, rows of compare, load}]; what FILE has is not measured again."""
    done = kept(args)
    if os.geteuid() != 0 and any("links" in kind for kind in args.kind or KINDS):
        sys.exit("script/bench predict: links are shaped as root; --kind chooses what needs none")
    layers_of = ("--layers", write_layers(bench))

    def emulated(make):
        return lambda points: make(points, step_ms=1000, steps=args.steps, repeats=args.repeats)

    def scaled(step_ms):
        return lambda points: definition(points, step_ms=step_ms, steps=SCALE_STEPS)

    def real(make):
        return lambda points: make(points, batch=16, warmup=2, steps=args.steps)

    kinds = {"emulated": lambda: compare(bench, emulated(definition), [(1, 1)], EMULATED, 1),
             "real": lambda: compare(bench, real(definition), REAL_FIT, REAL, args.rounds, *layers_of),
             "emulated ring": lambda: compare(bench, emulated(ring), RING_FIT, RING_EMULATED, 1),
             "real ring": lambda: compare(bench, real(ring), RING_REAL_FIT, RING_REAL, args.rounds, *layers_of),
             "behind links": lambda: compare(bench, emulated(definition), [(1, 1)], LINKED, 1,
                                             predict=lambda points: linked(emulated(definition)(points))),
             "ring behind links": lambda: compare(bench, emulated(ring), RING_FIT, RING_LINKED, 1,
                                                  predict=lambda points: linked(emulated(ring)(points))),
             "scale": lambda: compare(bench, scaled(SCALE_FIT_MS), SCALE_FIT, SCALE, SCALE_ROUNDS, predict=scaled(SCALE_STEP_MS))}
    for kind, measure in kinds.items():
        if kind in done or (args.kind and kind not in args.kind):
            continue
        load = os.getloadavg()[0]
        rows = measure()
        if kind != "scale":  # 120 processes of its own are a load, too
            load = max(load, os.getloadavg()[0])
        done[kind] = {"kind": kind, "keys": keys_of(args), "rows": rows, "load": load}
        keep(args.json, done[kind])
    return [done[kind] for kind in kinds if kind in done]


def write_layers(bench):
    """Those of the rehearsal: of real trainers they are the shares, and the length is measured."""
    path = bench.folder / "layers.yaml"
    path.write_text(json.dumps({"trace": {"layers": layers()}}), encoding="utf-8")
    return path


def validate(bench, args):
    done = validate_all(bench, args)
    load = max(line["load"] for line in done)
    rows = [(line["kind"], *row) for line in done for row in line["rows"]]
    errors = [abs(statistics.median(differences)) for *_, differences, _ in rows]
    lines = [[f"{kind} {name}", f"{p:.2f}", f"{m:.2f}", f"{statistics.median(d):+.1f}%", f"{min(d):+.1f} to {max(d):+.1f}" if len(d) > 1 else "", limit]
             for kind, name, p, m, d, limit in rows]
    print(table(["VALIDATION (trainers x servers; workers)", "PREDICTED", "MEASURED", "DIFFERENCE", "LEAST TO MOST", "LIMIT"], lines))
    print(f"samples/s; emulated: median of {args.repeats} trials of {args.steps} steps; real: {args.rounds} rounds of one trial; "
          f"scale: {SCALE_ROUNDS}; load of the machine {load:.1f}, cores {os.cpu_count()}")
    decided = load <= args.quiet + CORES
    if not decided:
        print("the machine is too busy to decide")
    return [Bar("median difference, %", Spread.of(errors) if decided else None, MEDIAN_BAR, "<="),
            Bar("worst difference, %", Spread.of([max(errors)]) if decided else None, WORST_BAR, "<=")]


def main(argv):
    parser = argparse.ArgumentParser(prog="script/bench predict", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", action="append", choices=("speed", "validate"))
    parser.add_argument("--kind", action="append", choices=KINDS, help="of validate: " + ", ".join(KINDS) + "; default: all")
    parser.add_argument("--steps", type=int, default=10, help="measured steps of a trial of validate (10)")
    parser.add_argument("--repeats", type=int, default=3, help="trials a point of validate's emulated gangs (3)")
    parser.add_argument("--rounds", type=int, default=12, help="of its real ones (12)")
    parser.add_argument("--quiet", type=float, default=1.0, help="load of others that validate bears (1.0)")
    parser.add_argument("--json", metavar="FILE", help="validate keeps what it has measured, emulated and real, and goes on after that")
    args = parser.parse_args(argv)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="bench-predict-"))
    bars = []
    try:
        bench = Bench(folder)
        for part in args.part or ("speed", "validate"):
            bars += speed(bench) if part == "speed" else validate(bench, args)
    finally:
        shutil.rmtree(folder)
    for bar in bars:
        print(bar.text())
    print(f"reached {sum(bar.is_reached for bar in bars)} of {len(bars)}")
    return 0 if all(bar.is_reached for bar in bars) else 1


if __name__ == "__main__":
    entry.run(main)
