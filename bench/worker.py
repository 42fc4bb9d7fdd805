#!/usr/bin/env python3
"""script/bench worker: training VGG16 (vgg16-fluid-fc512) on one core, benchworker against its peers.

Installs the peers (bench/peers.py), then runs every row in turn on the same core, round after round, so that what
disturbs the machine disturbs all alike; then benchworker with two threads next to one. Prints a table a batch, every figure
next to its bar, and what else ran on the machine. Ends with "reached N of M"; exit 1 where a bar is missed.

A rate is samples a second of wall time where the core was ours, else samples a second of CPU time: decided for each
batch by the load of others (--quiet), never by a result."""
import argparse
import dataclasses
import json
import math
import os
import pathlib
import sys
import time

import entry
import figures
import cores
import peers
from figures import Bar, Row, Sample, Spread

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODEL = "vgg16-fluid-fc512"
OURS = Row("benchworker")
PEERS = (Row("pytorch"), Row("tensorflow"), Row("paddle"), Row("pytorch", "bf16"), Row("tensorflow", "bf16"))
# About the rate on one core: how many steps fill the time of one measurement. Only the length depends on it.
ABOUT = {"benchworker": 200, "pytorch": 60, "tensorflow": 60, "paddle": 10}
SLOW = 20  # a peer below this rate is measured in the first round only: five would take most of the time
BATCH = 128  # of the figures that are asked for at one batch only

# What must be reached, by batch.
RATIO_BARS = {32: 2.7, 64: 2.9, 128: 3.0, 256: 2.9}
BF16_BAR, AVX2_BAR, RSS_BAR, THREADS_BAR = 2.1, 1.8, 1.0, 1.85
THREAD_PAIRS = 3  # a round
# Limits that make a machine with AVX-512 compute as one without: ours and our OpenBLAS, then oneDNN, ATen, MKL.
LIMITS = {"": {}, "avx2": {"BENCH_CPU_MASK": "avx2", "OPENBLAS_CORETYPE": "Haswell", "ONEDNN_MAX_CPU_ISA": "AVX2",
                           "DNNL_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"}}


def numbers(text):
    """N,N,..., for argparse, which shows this function's name where it fails."""
    return [int(word) for word in text.split(",")]


def why_wrong(args):
    """What argparse cannot see; None: nothing."""
    known = sorted({row.system for row in PEERS})
    unknown = set(args.peers.split(",")) - set(known)
    precisions = {row.precision for row in PEERS}
    if unknown:
        return f"no such peer: {', '.join(sorted(unknown))}; there are: {', '.join(known)}"
    if set(args.precisions.split(",")) - precisions:
        return f"--precisions {args.precisions}: there are: {', '.join(sorted(precisions))}"
    if args.core not in os.sched_getaffinity(0):
        return f"--core {args.core}: this process may use {', '.join(map(str, sorted(os.sched_getaffinity(0))))}"
    if args.rounds < 1 or min(args.batches) < 1 or args.seconds <= 0 or args.quiet < 0:
        return "expected positive numbers"
    return None


def parse(argv):
    parser = argparse.ArgumentParser(prog="script/bench worker", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="default 5")
    parser.add_argument("--batches", type=numbers, default=sorted(RATIO_BARS), metavar="N,..", help="default 32,64,128,256")
    parser.add_argument("--peers", default="pytorch,tensorflow,paddle", metavar="NAME,..", help="default all")
    parser.add_argument("--precisions", default="fp32,bf16", metavar="NAME,..", help="of the peers; default fp32,bf16")
    parser.add_argument("--seconds", type=float, default=2.5, metavar="S", help="of one measurement, about; default 2.5")
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)), metavar="CPU", help="default the last")
    parser.add_argument("--quiet", type=float, default=.05, metavar="SHARE",
                        help="of the core that others may use for wall time to count; default 0.05")
    parser.add_argument("--no-avx2", action="store_true", help="without the rows limited to AVX2")
    parser.add_argument("--no-threads", action="store_true", help="without two threads next to one")
    parser.add_argument("--json", metavar="FILE", help="every measurement and bar as JSON")
    args = parser.parse_args(argv)
    wrong = why_wrong(args)
    if wrong:
        parser.error(wrong)
    return args


def chosen_peers(args):
    return [row for row in PEERS
            if row.system in args.peers.split(",") and row.precision in args.precisions.split(",")]


def in_turn(rows, number):
    """Each round begins with another row, so that none has always the same one before it."""
    first = (number - 1) % len(rows)
    return rows[first:] + rows[:first]


def last_summary(text):
    records = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    summaries = [r for r in records if r.get("type") == "summary"]
    if not summaries:
        raise cores.Failed(f"no summary record in: {text[-500:]}")
    return summaries[-1]


class Bench:
    def __init__(self, args):
        self.args = args
        self.worker = os.environ.get("BENCHWORKER", str(ROOT / "build" / "worker" / "benchworker"))
        self.samples, self.threads = [], []
        self.pair = {args.core, *sorted(os.sched_getaffinity(0) - {args.core})[-1:]}
        self.worker_facts = {}

    def steps(self, row, batch):
        """(warm-up, measured): a slow peer is not given more seconds than its steps need."""
        return (1 if ABOUT[row.system] < SLOW else 2,
                max(2 if ABOUT[row.system] < SLOW else 3, math.ceil(self.args.seconds * ABOUT[row.system] / batch)))

    def ours_argv(self, batch, threads, steps):
        return [self.worker, "bench", "--model", MODEL, "--batch", str(batch), "--threads", str(threads), "--steps",
                str(steps), "-o", "json"]

    def run(self, row, batch, number, isa=""):
        warmup, steps = self.steps(row, batch)
        if row.system == OURS.system:
            argv = self.ours_argv(batch, 1, steps)
        else:
            argv = [str(peers.interpreter(row.system)), str(peers.PROFILES / row.system / "train.py")]
            argv += ["--precision", row.precision] if row.precision != "fp32" else []
        env = {"BENCHD_BATCH_SIZE": str(batch), "BENCHD_THREADS": "1", "BENCHD_STEPS": str(steps),
               "BENCHD_WARMUP_STEPS": str(warmup), "BENCHD_SEED": str(number), **LIMITS[isa]}
        ran = cores.measure({self.args.core}, argv, env)
        if row.system == OURS.system:
            document = json.loads(ran.stdout)
            said, rss = {"samples": batch * steps, **document}, document["peak_rss_bytes"]
            self.worker_facts[isa] = {key: document.get(key) for key in ("build", "kernels", "cpu_features", "blas", "blas_core")}
        else:
            said = last_summary(ran.stdout)
            rss = said["max_rss_bytes"]
        # All samples over all the time, ours and theirs alike: never a median of steps against a mean.
        wall, cpu = (said["samples"] / said[key] * 1e9 for key in ("duration_ns", "cpu_ns"))
        self.samples.append(Sample(row, batch, number, isa, wall, cpu, rss, ran.others_core, ran.others_machine))
        say(f"  round {number}  {isa or 'all':5} batch {batch:3}  {str(row):16} {wall:7.1f} samples/s  "
            f"{cpu:7.1f} samples/CPU-s  others: {ran.others_core:.2f} of the core, {ran.others_machine:.2f} cores in all")

    def run_threads(self, number):
        """One thread and two on the same two cores, a few times: each waits for what holds up one of the cores, so
        pairs differ more than rows. The one that begins changes. Only wall time can show it."""
        _, steps = self.steps(OURS, BATCH)
        for pair in range(THREAD_PAIRS):
            took = {"round": number}
            for threads in (1, 2) if (number + pair) % 2 else (2, 1):
                ran = cores.measure(self.pair, self.ours_argv(BATCH, threads, threads * steps), {})
                took[threads] = BATCH * threads * steps / json.loads(ran.stdout)["duration_ns"] * 1e9
                took["others"] = max(took.get("others", 0), ran.others_core)
            self.threads.append(took)
            say(f"  round {number}  threads batch {BATCH}: {took[1]:.1f} samples/s with one, {took[2]:.1f} with two  "
                f"others: {took['others']:.2f} of the two cores")

    def run_round(self, number):
        rows = [row for row in in_turn([OURS, *chosen_peers(self.args)], number)
                if number == 1 or ABOUT[row.system] >= SLOW]
        for batch in self.args.batches:
            for row in rows:
                self.run(row, batch, number)
        if not self.args.no_avx2:
            for row in rows:
                if row.precision == "fp32" and row.system != "paddle":
                    self.run(row, BATCH, number, "avx2")
        if not self.args.no_threads and BATCH in self.args.batches and len(self.pair) == 2:
            self.run_threads(number)

    def of(self, batch, isa=""):
        return [s for s in self.samples if s.batch == batch and s.isa == isa]


def say(text):
    print(text, file=sys.stderr, flush=True)


def batch_bars(bench, batch, by):
    samples, rows = bench.of(batch), chosen_peers(bench.args)
    fp32 = [row for row in rows if row.precision == "fp32"]
    over = figures.ratios(samples, OURS, fp32, by)
    if over and batch in RATIO_BARS:
        yield Bar(f"batch {batch}: ratio to the best fp32 peer, by {by}", Spread.of(over), RATIO_BARS[batch])
    if batch == BATCH:
        over = figures.ratios(samples, OURS, [row for row in rows if row.precision == "bf16"], by)
        if over:
            yield Bar(f"batch {batch}: ratio of our fp32 to the best bf16 peer, by {by}", Spread.of(over), BF16_BAR)
        over = figures.rss_ratios(samples, OURS, Row("pytorch"))
        if over:
            yield Bar(f"batch {batch}: peak memory over PyTorch's", Spread.of(over), RSS_BAR, "<=")


def avx2_bars(bench):
    samples = bench.of(BATCH, "avx2")
    if samples:
        by = figures.choose_clock(samples, bench.args.quiet)
        print(f"\nAVX2 only, batch {BATCH}\n{figures.rows_text(samples, OURS, by)}")
        over = figures.ratios(samples, OURS, [row for row in chosen_peers(bench.args) if row.precision == "fp32"], by)
        if over:
            yield Bar(f"batch {BATCH}, AVX2 only: ratio to the best fp32 peer, by {by}", Spread.of(over), AVX2_BAR)


def thread_bars(bench):
    if bench.threads:
        one, two, others = (Spread.of([took[key] for took in bench.threads]) for key in (1, 2, "others"))
        print(f"\nThreads, batch {BATCH}, samples/s by the wall: one {one.text(1)}, two {two.text(1)}; others used "
              f"{others.text()} of the two cores")
        over = [took[2] / took[1] for took in bench.threads]
        yield Bar(f"batch {BATCH}: two threads over one, by wall", Spread.of(over), THREADS_BAR)


def report(bench):
    facts = cores.describe()
    print(f"{facts['cpu_model']} (family {facts['cpu_family']}, model {facts['cpu_number']}), {facts['cpus']} CPUs, "
          f"{' '.join(facts['isa'])}; CPU {bench.args.core} only; {bench.args.rounds} rounds, in turn")
    print(f"benchworker: {json.dumps(bench.worker_facts.get('', {}))}")
    print("median (least-most) of the rounds")
    bars = []
    for batch in bench.args.batches:
        samples = bench.of(batch)
        by = figures.choose_clock(samples, bench.args.quiet)
        others = Spread.of([s.others_core for s in samples])
        print(f"\nBatch {batch}; others used {others.text()} of the core, "
              f"{Spread.of([s.others_machine for s in samples]).text()} cores of the machine"
              f"\n{figures.rows_text(samples, OURS, by)}")
        bars += batch_bars(bench, batch, by)
    bars += avx2_bars(bench)
    bars += thread_bars(bench)
    print("\nBars")
    for bar in bars:
        print("  " + bar.text())
    n = sum(bar.is_reached for bar in bars)
    print(f"\nreached {n} of {len(bars)}")
    return bars, facts


def write_json(bench, bars, facts, begin):
    document = {
        "kind": "BenchWorker", "version": 1, "created_unix_s": int(begin), "machine": facts, "core": bench.args.core,
        "rounds": bench.args.rounds, "quiet": bench.args.quiet, "benchworker": bench.worker_facts,
        "peers": {name: peers.folder(name).name for name in bench.args.peers.split(",")},
        "samples": [{**dataclasses.asdict(s), "row": str(s.row), "system": s.row.system, "precision": s.row.precision}
                    for s in bench.samples],
        "threads": [{str(key): value for key, value in took.items()} for took in bench.threads],
        "bars": [{"what": b.what, **(dataclasses.asdict(b.value) if b.value else {}), "sign": b.sign, "bar": b.bar,
                  "reached": b.is_reached} for b in bars]}
    pathlib.Path(bench.args.json).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def measure_all(bench):
    """0, or why it ended early, as an exit code."""
    try:
        for number in range(1, bench.args.rounds + 1):
            bench.run_round(number)
    except cores.Failed as error:
        say(f"error: {error}")
        return 9
    except KeyboardInterrupt:
        say("interrupted")
        return 130
    return 0


def main(argv):
    args = parse(argv)
    begin = time.time()
    figures.check_files(args.json)
    for name in sorted(set(args.peers.split(","))):
        peers.install(name)
    bench = Bench(args)
    code = measure_all(bench)
    if code != 0:
        if args.json:  # what was measured is not lost; no bar is judged by a part
            write_json(bench, [], cores.describe(), begin)
            say(f"{len(bench.samples)} measurements are in {args.json}")
        return code
    bars, facts = report(bench)
    if args.json:
        write_json(bench, bars, facts, begin)
    return 0 if bars and all(bar.is_reached for bar in bars) else 1


if __name__ == "__main__":
    entry.run(main)
