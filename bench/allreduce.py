#!/usr/bin/env python3
"""script/bench allreduce: all-reduce over loopback TCP next to Gloo, as PyTorch calls it, and Open MPI; through shared memory next to Open MPI
and MPICH; and what it leaves of training.

Parts (--part NAME, several are possible; default: calls, shm, training and equal):
  calls     over TCP: fp32 sums in place, 4 KB to 100 MB, 2 and 4 ranks: time of a call, CPU time a byte of the message of all ranks together
  shm       the same through shared memory, and with 2 ranks what the additions and one copy alone take
  training  two workers that train at full speed, each on a core, over TCP and through shared memory, next to two copies that exchange
            nothing, at batch 32 and 128
  equal     two emulated workers that sleep 450 and 1,600 ms a step in place of computing, and exchange over TCP, next to the same sleep
            alone
  link      over links of 1 Gbit/s: 61 MB of two ranks as a call, next to iperf3 over the same; and how much of that two workers of
            batch 128 overlap with their computing. Needs root and iperf3

Each round measures all programs of a number of ranks one after another, and a ratio is taken within a round. Every program checks its
sums. Open MPI runs with --mca btl tcp,self or vader,self; Gloo's environment comes from script/bench peers install pytorch. A peer that is
missing is named, and its bars count as missed.

With --json FILE each measurement is a line of FILE, and those that are in FILE already are not repeated.
Ends with "reached N of M"; exit 1 where a bar is missed."""
import argparse
import contextlib
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

import entry
import cores
import peers
import shaped
from exchange import Failed, own_addresses, secret, summaries_of, trace
from figures import Bar, Spread, check_files, conclude, keep, read_kept, table

ROOT = pathlib.Path(__file__).resolve().parent.parent
OURS, GLOO, MPI = "benchworker", "Gloo", "Open MPI"
OURS_SHM, MPI_SHM, MPICH, ADD = "benchworker shm", "Open MPI shm", "MPICH shm", "the additions alone"
PROGRAMS = {"calls": (OURS, GLOO, MPI), "shm": (OURS_SHM, MPI_SHM, MPICH, ADD)}
MODEL_BYTES = 61018408                            # the gradients of vgg16-fluid-fc512
ITERS = {4096: 1000, 65536: 400, 1 << 20: 100, 16 << 20: 15, MODEL_BYTES: 8, 100 << 20: 6}
RANKS = (2, 4)
FASTER_FROM = {2: 4096, 4: 65536}                 # ranks: the least size at which ours must be faster
SHM_MODEL_MS = 12                                 # between 2 ranks
ADD_BYTES, ADD_BAR = 1 << 20, 3                   # between 2 ranks through shared memory: time over that of the additions alone
BATCHES = {32: 16, 128: 6}                        # batch: measured steps
SHARES = {"Tcp": {32: 0.85, 128: 0.96}, "SharedMemory": {32: 0.90, 128: 0.97}}  # the least share of two copies
EQUAL = {450: (16, 0.94), 1600: (8, 0.98)}         # ms of sleep: measured steps, the least share of the same without exchange
LINK_MBIT, LINK_CALLS, LINK_BATCH, LINK_STEPS = 1000, 10, 128, 6
LINK_BAR, HIDDEN_BAR = 0.99, 2 / 3                # of what iperf3 carries; of the time that a step's bytes take
LIMIT_S = 600


def parse(argv):
    parser = argparse.ArgumentParser(prog="script/bench allreduce", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", action="append", choices=["calls", "shm", "training", "equal", "link"], metavar="NAME",
                        help="calls, shm, training, equal or link")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="default 5")
    parser.add_argument("--ranks", action="append", type=int, choices=RANKS, metavar="N", help="only 2, or only 4")
    parser.add_argument("--sizes", type=lambda text: [int(size) for size in text.split(",")], default=list(ITERS), metavar="BYTES,..",
                        help="only these of " + ", ".join(map(str, ITERS)))
    parser.add_argument("--algorithm", default="auto", help="of ours: ring, halving-doubling or auto (default auto)")
    parser.add_argument("--json", metavar="FILE", help="keeps every measurement, and goes on after those that it has")
    args = parser.parse_args(argv)
    if args.rounds < 1 or not set(args.sizes) <= set(ITERS):
        parser.error("expected rounds of 1 or more, and sizes of the list")
    args.part = args.part or ["calls", "shm", "training", "equal"]
    args.ranks = args.ranks or list(RANKS)
    return args


def warmup(size):
    return max(2, ITERS[size] // 5)


def environment():
    return {key: value for key, value in os.environ.items() if not key.startswith("BENCHD_")}


def start(argvs, pass_fds=(), cpus=None):
    """One process for each command line, on its CPU if `cpus` names one; each in a session of its own, so that the scheduler groups
    none of them."""
    def pin(cpu):
        return None if cpu is None else lambda: os.sched_setaffinity(0, {cpu})

    return [subprocess.Popen([str(word) for word in argv], env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, start_new_session=True, pass_fds=pass_fds, preexec_fn=pin(cpu))
            for argv, cpu in zip(argvs, cpus or [None] * len(argvs))]


def outputs(processes):
    """What each has printed; Failed with the last words of the first that failed."""
    said = []
    with contextlib.ExitStack() as stack:
        for process in processes:
            stack.callback(lambda p=process: p.poll() is None and p.kill())
        for process in processes:
            try:
                said.append(process.communicate(timeout=LIMIT_S))
            except subprocess.TimeoutExpired as late:
                raise Failed(f"{' '.join(process.args)[:300]}: not over after {LIMIT_S} s") from late
    for process, (_, err) in zip(processes, said):
        if process.returncode != 0:
            raise Failed(f"{' '.join(process.args)[:300]}: exit code {process.returncode}\n  {err.strip()[-300:]}")
    return [out for out, _ in said]


def worker():
    return os.environ.get("BENCHWORKER", str(ROOT / "build" / "worker" / "benchworker"))


def run_ours(sizes, ranks, algorithm, backend="tcp"):
    """{size: figures}"""
    found = {}
    with secret() as (folder, key):
        for size in sizes:
            addrs, file = own_addresses(ranks), os.path.join(folder, "figures")
            common = ["--run", "bench", "--workers", ranks, "--secret-file", key, "--worker-addrs", ",".join(addrs), "-b", size,
                      "-e", size, "-w", warmup(size), "-n", ITERS[size], "--algorithm", algorithm, "--backend", backend]
            outputs(start([[worker(), "allreduce", "--index", i, "--listen", addr, *common, *(["-J", file] if i == 0 else [])]
                           for i, addr in enumerate(addrs)]))
            row = json.loads(pathlib.Path(file).read_text(encoding="utf-8"))["rows"][0]
            found[size] = {**row["in_place"], "way": row["way"], "out_of_place_us": row["out_of_place"]["time_us"]}
    return found


def run_gloo(sizes, ranks):
    python = peers.interpreter("pytorch")
    if not python.exists():
        return {}
    with tempfile.TemporaryDirectory() as folder:
        words = [f"{size}:{warmup(size)}:{ITERS[size]}" for size in sizes]
        out = outputs(start([[python, ROOT / "bench" / "allreduce_gloo.py", i, ranks, os.path.join(folder, "meeting"), *words]
                             for i in range(ranks)]))[0]
    return {line["bytes"]: line for line in map(json.loads, out.splitlines())}


OPEN_MPI = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "--mca", "pml", "ob1", "--mca", "btl"]


def run_mpi(sizes, ranks, compiler, launcher, *what):
    if not shutil.which(compiler) or not shutil.which(launcher[0]):
        return {}
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "allreduce_mpi")
        subprocess.run([compiler, "-O3", "-march=native", "-D_GNU_SOURCE", "-I", ROOT / "lib", "-o", program, ROOT / "bench" / "allreduce_mpi.c",
                        ROOT / "lib" / "base" / "parse.c", "-lm"], check=True)
        for size in sizes:
            found[size] = json.loads(outputs(start([[*launcher, "-np", ranks, program, size, warmup(size), ITERS[size], *what]]))[0])
    return found


RUN = {
    OURS: lambda args, ranks: run_ours(args.sizes, ranks, args.algorithm),
    GLOO: lambda args, ranks: run_gloo(args.sizes, ranks),
    MPI: lambda args, ranks: run_mpi(args.sizes, ranks, "mpicc.openmpi", [*OPEN_MPI, "tcp,self"]),
    OURS_SHM: lambda args, ranks: run_ours(args.sizes, ranks, args.algorithm, "shm"),
    MPI_SHM: lambda args, ranks: run_mpi(args.sizes, ranks, "mpicc.openmpi", [*OPEN_MPI, "vader,self"]),
    MPICH: lambda args, ranks: run_mpi(args.sizes, ranks, "mpicc.mpich", ["mpirun.mpich"]),
    ADD: lambda args, ranks: run_mpi(args.sizes, ranks, "mpicc.openmpi", [*OPEN_MPI, "vader,self"], "add") if ranks == 2 else {},
}


def run_training(batch, steps, transport):
    """Samples a second of both, and the CPU seconds of a step of both, each on a core of its own, as benchctl runs them. Transport "":
    they exchange nothing."""
    addrs = own_addresses(2)
    with secret() as (_, key):
        common = ["--batch-size", batch, "--steps", steps, "--warmup-steps", 2, "--threads", 1]
        gang = ["--run", "gang", "--workers", 2, "--secret-file", key, "--worker-addrs", ",".join(addrs), "--transport", transport]
        argvs = [[worker(), "worker", "--index", i, "--listen", addr, *gang, *common] if transport else
                 [worker(), "trainer", "--run", f"alone{i}", "--trainers", 1, "--exchange", "None", *common]
                 for i, addr in enumerate(addrs)]
        summaries = summaries_of(start(argvs, cpus=cores.one_cpu_each(2)))
    return {"rate": sum(s["samples"] / (s["duration_ns"] / 1e9) for s in summaries),
            "cpu_s": sum(s["cpu_ns"] for s in summaries) / 1e9 / steps,
            "bytes": sum(s["bytes_tx"] + s["bytes_rx"] for s in summaries) / steps}


def run_equal(step_ms, steps, exchanges):
    """Seconds of a step of two that sleep a trace, as the slower one has them. Workers check every parameter that comes."""
    addrs = own_addresses(2)
    with secret() as (_, key), os.fdopen(os.memfd_create("arena"), "rb") as arena:
        fd = arena.fileno()
        common = ["--compute", "Emulated", "--trace", trace(step_ms), "--batch-size", 128, "--steps", steps, "--warmup-steps", 2]
        gang = ["--run", "gang", "--workers", 2, "--secret-file", key, "--worker-addrs", ",".join(addrs), "--arena-fd", fd]
        argvs = [[worker(), "worker", "--index", i, "--listen", addr, *gang, *common] if exchanges else
                 [worker(), "trainer", "--run", f"alone{i}", "--trainers", 1, "--exchange", "None", *common]
                 for i, addr in enumerate(addrs)]
        summaries = summaries_of(start(argvs, (fd,)))
    return {"step_s": max(s["duration_ns"] for s in summaries) / 1e9 / steps,
            "cpu_s": sum(s["cpu_ns"] for s in summaries) / 1e9 / steps}


def cases(args):
    """(name, what measures it) of a round; its value is a dictionary."""
    def by_text(values):
        return {str(size): figures for size, figures in values.items()}

    for part in ("calls", "shm"):
        for ranks in args.ranks if part in args.part else ():
            for program in PROGRAMS[part]:
                yield f"{program}, {ranks} ranks", lambda p=program, n=ranks: by_text(RUN[p](args, n))
    if "training" in args.part:
        for batch, steps in BATCHES.items():
            for transport in ("", *SHARES):
                yield f"batch {batch}, {transport or 'two copies'}", \
                    lambda b=batch, s=steps, t=transport: run_training(b, s, t)
    if "equal" in args.part:
        for ms, (steps, _) in EQUAL.items():
            for name, exchanges in (("alone", False), ("workers", True)):
                yield f"equal {ms} ms, {name}", lambda m=ms, s=steps, e=exchanges: run_equal(m, s, e)
    if "link" in args.part:
        yield "link, iperf3", lambda: shaped.run_iperf(LINK_MBIT)
        yield "link, call", lambda: shaped.run_call(LINK_MBIT, MODEL_BYTES, LINK_CALLS)
        yield "link, copies", lambda: run_training(LINK_BATCH, LINK_STEPS, "")
        yield "link, workers", lambda: shaped.run_ring(LINK_MBIT, LINK_BATCH, LINK_STEPS)


def kept(args):
    """{(case, round): line} of FILE, with this algorithm."""
    return {(line["case"], line["round"]): line for line in read_kept(args.json) if line["algorithm"] == args.algorithm}


def measure_all(args):
    done = kept(args)
    for number in range(args.rounds):
        order = list(cases(args))
        for name, run in order[number % len(order):] + order[:number % len(order)]:
            if (name, number) in done:
                continue
            line = {"case": name, "round": number, "algorithm": args.algorithm, "values": run(), "load": os.getloadavg()[0]}
            done[name, number] = line
            keep(args.json, line)
            print(f"round {number + 1}: {name}", file=sys.stderr, flush=True)
    return done


def figures(args, done, program, ranks, size):
    """Of each round; None where the program did not run."""
    return [done[f"{program}, {ranks} ranks", number]["values"].get(str(size)) for number in range(args.rounds)]


def is_there(values):
    return all(value is not None for value in values)


def cell(values):
    if not is_there(values):
        return "not measured"
    times = Spread.of([v["time_us"] / 1e3 for v in values])
    digits = 3 if times.median < 1 else 1
    return f"{times.text(digits)}; {statistics.median(v['cpu_ns_per_byte'] for v in values):.3g}"


def ratio(ours, others, key):
    """Ours over the least of the others that are there, round by round."""
    theirs = [values for values in others if is_there(values)]
    if not theirs:
        return None
    return Spread.of([own[key] / min(values[i][key] for values in theirs) for i, own in enumerate(ours)])


def report_part(args, done, part):
    """(ranks, size, figures of each program) of a part, and its table."""
    names, found, lines = PROGRAMS[part], [], []
    for ranks in args.ranks:
        for size in args.sizes:
            ours, *others = values = [figures(args, done, program, ranks, size) for program in names]
            if any(value and value["wrong"] for rounds in values for value in rounds):
                raise Failed(f"{ranks} ranks, {size} bytes: a program's sums are wrong")
            faster = ratio(ours, others[:2], "time_us")  # without the additions alone
            lines.append([str(ranks), str(size), ours[0]["way"], *map(cell, values), faster.text() if faster else ""])
            found.append((ranks, size, values))
    print(table(["ranks", "BYTES", "WAY", f"{names[0]} ms; CPU-ns/B", *names[1:], "OURS OVER THE FASTER"], lines))
    return found


def report_calls(args, done):
    bars = []
    for ranks, size, (ours, *others) in report_part(args, done, "calls"):
        for peer, values in zip((GLOO, MPI), others):
            if size >= FASTER_FROM[ranks]:
                bars.append(Bar(f"{ranks} ranks, {size} bytes: time over {peer}'s", ratio(ours, [values], "time_us"), 1, "<"))
        if size == MODEL_BYTES:
            bars.append(Bar(f"{ranks} ranks, {size} bytes: CPU time a byte over Gloo's",
                            ratio(ours, others[:1], "cpu_ns_per_byte"), 1, "<"))
    return bars


def report_shm(args, done):
    bars = []
    for ranks, size, (ours, *others) in report_part(args, done, "shm"):
        if size == MODEL_BYTES:
            for peer, values in zip((MPI_SHM, MPICH), others):
                bars.append(Bar(f"{ranks} ranks, {size} bytes: time over {peer}'s", ratio(ours, [values], "time_us"), 1, "<"))
            if ranks == 2:
                bars.append(Bar(f"{ranks} ranks, {size} bytes through shared memory, ms",
                                Spread.of([value["time_us"] / 1e3 for value in ours]), SHM_MODEL_MS, "<="))
        if size == ADD_BYTES and ranks == 2:
            bars.append(Bar(f"{ranks} ranks, {size} bytes: time over that of {ADD}", ratio(ours, others[2:], "time_us"), ADD_BAR, "<="))
    return bars


def report_training(args, done):
    lines, bars = [], []
    for batch in BATCHES:
        alone = [done[f"batch {batch}, two copies", n]["values"] for n in range(args.rounds)]
        for transport, least in SHARES.items():
            both = [done[f"batch {batch}, {transport}", n]["values"] for n in range(args.rounds)]
            shares = Spread.of([b["rate"] / a["rate"] for a, b in zip(alone, both)])
            extra = [b["cpu_s"] - a["cpu_s"] for a, b in zip(alone, both)]
            lines.append([f"batch {batch}, {transport}", Spread.of([a["rate"] for a in alone]).text(1),
                          Spread.of([b["rate"] for b in both]).text(1), shares.text(), Spread.of(extra).text(3),
                          Spread.of([a["cpu_s"] / b["cpu_s"] for a, b in zip(alone, both)]).text()])
            bars.append(Bar(f"two workers, batch {batch}, {transport}: share of two copies", shares, least[batch]))
    print(table(["two workers", "COPIES samples/s", "WORKERS samples/s", "SHARE", "EXTRA CPU-s A STEP", "SHARE BY CPU ALONE"], lines))
    return bars


def report_equal(args, done):
    lines, bars = [], []
    for ms, (_, least) in EQUAL.items():
        alone, workers = ([done[f"equal {ms} ms, {name}", n]["values"] for n in range(args.rounds)] for name in ("alone", "workers"))
        shares = Spread.of([a["step_s"] / w["step_s"] for a, w in zip(alone, workers)])
        lines.append([f"{ms} ms", *(Spread.of([v["step_s"] for v in values]).text(3) for values in (alone, workers)), shares.text(3),
                      Spread.of([w["cpu_s"] for w in workers]).text(3)])
        bars.append(Bar(f"two workers that sleep {ms} ms: share of the same without exchange", shares, least))
    print(table(["two emulated workers", "STEP ALONE s", "STEP s", "SHARE", "CPU-s A STEP"], lines))
    return bars


def report_link(args, done):
    """What is hidden: of the time that 61 MB take at iperf3's rate, what a step with the exchange is not longer than one without. A longer
    step waits, or computes longer, because the exchange needs CPU time of the same cores."""
    iperf, call, copies, workers = ([done[f"link, {name}", n]["values"] for n in range(args.rounds)]
                                    for name in ("iperf3", "call", "copies", "workers"))
    bytes_s = [MODEL_BYTES * 8 / 1e9 / i["gbit_per_s"] for i in iperf]
    alone_s = [2 * LINK_BATCH / c["rate"] for c in copies]
    shares = Spread.of([c["gbit_per_s"] / i["gbit_per_s"] for c, i in zip(call, iperf)])
    hidden = Spread.of([1 - (w["step_s"] - a) / b for w, a, b in zip(workers, alone_s, bytes_s)])
    print(table([f"link of {LINK_MBIT} Mbit/s", ""], [
        ["iperf3, Gbit/s", Spread.of([i["gbit_per_s"] for i in iperf]).text(3)],
        ["call of 61 MB, 2 ranks, Gbit/s", Spread.of([c["gbit_per_s"] for c in call]).text(3)],
        [f"step of batch {LINK_BATCH} without exchange, s", Spread.of(alone_s).text(3)],
        ["step of two workers, s", Spread.of([w["step_s"] for w in workers]).text(3)],
        ["of which a worker waits for the exchange, s", Spread.of([w["wait_s"] for w in workers]).text(3)],
        ["CPU time of both in a step, beyond that of two copies, s",
         Spread.of([w["cpu_s"] - c["cpu_s"] for w, c in zip(workers, copies)]).text(3)],
        ["time of its bytes at iperf3's rate, s", Spread.of(bytes_s).text(3)]]))
    return [Bar(f"2 ranks, 61 MB, {LINK_MBIT} Mbit/s: share of iperf3's rate", shares, LINK_BAR),
            Bar(f"two workers, batch {LINK_BATCH}, {LINK_MBIT} Mbit/s: hidden share of the exchange", hidden, HIDDEN_BAR)]


REPORTS = {"calls": report_calls, "shm": report_shm, "training": report_training, "equal": report_equal, "link": report_link}


def report(args, done):
    bars = []
    for part in args.part:
        bars += REPORTS[part](args, done)
        print()
    print(f"load average {Spread.of([line['load'] for line in done.values()]).text(1)}, {os.cpu_count()} CPUs")
    return conclude(bars)


def main(argv):
    args = parse(argv)
    try:
        check_files(args.json)
        return report(args, measure_all(args))
    except (Failed, OSError, subprocess.CalledProcessError) as problem:
        print(f"script/bench allreduce: {problem}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    entry.run(main)
