#!/usr/bin/env python3
"""script/bench allreduce: all-reduce over loopback TCP beside Gloo, as PyTorch calls it, and Open MPI; and what it leaves of training.

Parts (--part NAME, several are possible; default: both):
  calls     fp32 sums in place, 4 KB to 100 MB, 2 and 4 ranks: time of a call, CPU time a byte of the message of all ranks together
  training  two workers that train at full speed, beside two copies that exchange nothing, at batch 32 and 128

Each round measures all programs of a number of ranks one after another, and a ratio is taken within a round. Every program checks its
sums. Open MPI runs with --mca btl tcp,self; Gloo's environment comes from script/bench peers install pytorch. A peer that is
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

import peers
from exchange import Failed, own_addresses, summaries_of
from figures import Bar, Spread, check_files, conclude, table

ROOT = pathlib.Path(__file__).resolve().parent.parent
OURS, GLOO, MPI = "benchworker", "Gloo", "Open MPI"
PROGRAMS = (OURS, GLOO, MPI)
MODEL_BYTES = 61018408                            # the gradients of vgg16-fluid-fc512
ITERS = {4096: 1000, 65536: 400, 1 << 20: 100, 16 << 20: 15, MODEL_BYTES: 8, 100 << 20: 6}
RANKS = (2, 4)
FASTER_FROM = {2: 4096, 4: 65536}                 # ranks: the least size at which ours must be faster
BATCHES = {32: (16, 0.85), 128: (6, 0.96)}        # batch: measured steps, the least share of two copies
LIMIT_S = 600


def parse(argv):
    parser = argparse.ArgumentParser(prog="script/bench allreduce", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", action="append", choices=["calls", "training"], metavar="NAME", help="calls or training")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="default 5")
    parser.add_argument("--ranks", action="append", type=int, choices=RANKS, metavar="N", help="only 2, or only 4")
    parser.add_argument("--sizes", type=lambda text: [int(size) for size in text.split(",")], default=list(ITERS), metavar="BYTES,..",
                        help="only these of " + ", ".join(map(str, ITERS)))
    parser.add_argument("--algorithm", default="auto", help="of ours: ring, halving-doubling or auto (default auto)")
    parser.add_argument("--json", metavar="FILE", help="keeps every measurement, and goes on after those that it has")
    args = parser.parse_args(argv)
    if args.rounds < 1 or not set(args.sizes) <= set(ITERS):
        parser.error("expected rounds of 1 or more, and sizes of the list")
    args.part = args.part or ["calls", "training"]
    args.ranks = args.ranks or list(RANKS)
    return args


def warmup(size):
    return max(2, ITERS[size] // 5)


def environment():
    return {key: value for key, value in os.environ.items() if not key.startswith("BENCHD_")}


def start(argvs, pass_fds=()):
    """One process for each command line; each in a session of its own, so that the scheduler groups none of them."""
    return [subprocess.Popen([str(word) for word in argv], env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, start_new_session=True, pass_fds=pass_fds) for argv in argvs]


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


@contextlib.contextmanager
def secret():
    with tempfile.TemporaryDirectory() as folder:
        key = os.path.join(folder, "key")
        with open(os.open(key, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as f:
            f.write(os.urandom(32))
        yield folder, key


def worker():
    return os.environ.get("BENCHWORKER", str(ROOT / "build" / "worker" / "benchworker"))


def run_ours(args, ranks):
    """{size: figures}"""
    found = {}
    with secret() as (folder, key):
        for size in args.sizes:
            addrs, file = own_addresses(ranks), os.path.join(folder, "figures")
            common = ["--run", "bench", "--workers", ranks, "--secret-file", key, "--worker-addrs", ",".join(addrs), "-b", size,
                      "-e", size, "-w", warmup(size), "-n", ITERS[size], "--algorithm", args.algorithm]
            outputs(start([[worker(), "allreduce", "--index", i, "--listen", addr, *common, *(["-J", file] if i == 0 else [])]
                           for i, addr in enumerate(addrs)]))
            row = json.loads(pathlib.Path(file).read_text(encoding="utf-8"))["rows"][0]
            found[size] = {**row["in_place"], "way": row["way"], "out_of_place_us": row["out_of_place"]["time_us"]}
    return found


def run_gloo(args, ranks):
    python = peers.interpreter("pytorch")
    if not python.exists():
        return {}
    with tempfile.TemporaryDirectory() as folder:
        words = [f"{size}:{warmup(size)}:{ITERS[size]}" for size in args.sizes]
        out = outputs(start([[python, ROOT / "bench" / "allreduce_gloo.py", i, ranks, os.path.join(folder, "meeting"), *words]
                             for i in range(ranks)]))[0]
    return {line["bytes"]: line for line in map(json.loads, out.splitlines())}


def run_mpi(args, ranks):
    if not shutil.which("mpicc") or not shutil.which("mpirun"):
        return {}
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "allreduce_mpi")
        subprocess.run(["mpicc", "-O2", "-D_GNU_SOURCE", "-I", ROOT / "lib", "-o", program, ROOT / "bench" / "allreduce_mpi.c",
                        ROOT / "lib" / "base" / "parse.c", "-lm"], check=True)
        for size in args.sizes:
            argv = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "--mca", "pml", "ob1", "--mca", "btl",
                    "tcp,self", "-np", ranks, program, size, warmup(size), ITERS[size]]
            found[size] = json.loads(outputs(start([argv]))[0])
    return found


RUN = {OURS: run_ours, GLOO: run_gloo, MPI: run_mpi}


def run_training(batch, steps, exchanges):
    """Samples a second of both, and the CPU seconds of a step of both."""
    addrs = own_addresses(2)
    with secret() as (_, key):
        common = ["--batch-size", batch, "--steps", steps, "--warmup-steps", 2, "--threads", 1]
        gang = ["--run", "gang", "--workers", 2, "--secret-file", key, "--worker-addrs", ",".join(addrs)]
        argvs = [[worker(), "worker", "--index", i, "--listen", addr, *gang, *common] if exchanges else
                 [worker(), "trainer", "--run", f"alone{i}", "--trainers", 1, "--exchange", "None", *common]
                 for i, addr in enumerate(addrs)]
        summaries = summaries_of(start(argvs))
    return {"rate": sum(s["samples"] / (s["duration_ns"] / 1e9) for s in summaries),
            "cpu_s": sum(s["cpu_ns"] for s in summaries) / 1e9 / steps,
            "bytes": sum(s["bytes_tx"] + s["bytes_rx"] for s in summaries) / steps}


def cases(args):
    """(name, what measures it) of a round; its value is a dictionary."""
    if "calls" in args.part:
        for ranks in args.ranks:
            for program in PROGRAMS:
                yield f"{program}, {ranks} ranks", lambda p=program, n=ranks: {str(k): v for k, v in RUN[p](args, n).items()}
    if "training" in args.part:
        for batch, (steps, _) in BATCHES.items():
            for exchanges in (False, True):
                yield f"batch {batch}, {'all-reduce' if exchanges else 'two copies'}", \
                    lambda b=batch, s=steps, x=exchanges: run_training(b, s, x)


def kept(args):
    """{(case, round): line} of FILE, with this algorithm."""
    if not args.json or not os.path.exists(args.json):
        return {}
    lines = [json.loads(line) for line in pathlib.Path(args.json).read_text(encoding="utf-8").splitlines()]
    return {(line["case"], line["round"]): line for line in lines if line["algorithm"] == args.algorithm}


def measure_all(args):
    done = kept(args)
    for number in range(args.rounds):
        order = list(cases(args))
        for name, run in order[number % len(order):] + order[:number % len(order)]:
            if (name, number) in done:
                continue
            line = {"case": name, "round": number, "algorithm": args.algorithm, "values": run(), "load": os.getloadavg()[0]}
            done[name, number] = line
            if args.json:
                with open(args.json, "a", encoding="utf-8") as f:
                    f.write(json.dumps(line) + "\n")
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


def report_calls(args, done):
    lines, bars = [], []
    for ranks in args.ranks:
        for size in args.sizes:
            ours, gloo, mpi = (figures(args, done, program, ranks, size) for program in PROGRAMS)
            if any(value and value["wrong"] for value in ours + gloo + mpi):
                raise Failed(f"{ranks} ranks, {size} bytes: a program's sums are wrong")
            faster, cheaper = ratio(ours, [gloo, mpi], "time_us"), ratio(ours, [gloo], "cpu_ns_per_byte")
            lines.append([str(ranks), str(size), ours[0]["way"], cell(ours), cell(gloo), cell(mpi), faster.text() if faster else ""])
            for peer, values in ((GLOO, gloo), (MPI, mpi)):
                if size >= FASTER_FROM[ranks]:
                    bars.append(Bar(f"{ranks} ranks, {size} bytes: time over {peer}'s", ratio(ours, [values], "time_us"), 1, "<"))
            if size == MODEL_BYTES:
                bars.append(Bar(f"{ranks} ranks, {size} bytes: CPU time a byte over Gloo's", cheaper, 1, "<"))
    print(table(["ranks", "BYTES", "WAY", "benchworker ms; CPU-ns/B", "Gloo", "Open MPI", "OURS OVER THE FASTER"], lines))
    return bars


def report_training(args, done):
    lines, bars = [], []
    for batch, (_, least) in BATCHES.items():
        alone, both = ([done[f"batch {batch}, {what}", n]["values"] for n in range(args.rounds)] for what in ("two copies", "all-reduce"))
        shares = Spread.of([b["rate"] / a["rate"] for a, b in zip(alone, both)])
        extra = [b["cpu_s"] - a["cpu_s"] for a, b in zip(alone, both)]
        lines.append([f"batch {batch}", Spread.of([a["rate"] for a in alone]).text(1), Spread.of([b["rate"] for b in both]).text(1),
                      shares.text(), Spread.of(extra).text(3), Spread.of([a["cpu_s"] / b["cpu_s"] for a, b in zip(alone, both)]).text()])
        bars.append(Bar(f"two workers, batch {batch}: share of two copies", shares, least))
    print(table(["two workers", "COPIES samples/s", "WORKERS samples/s", "SHARE", "EXTRA CPU-s A STEP", "SHARE BY CPU ALONE"], lines))
    return bars


def report(args, done):
    bars = []
    for part in args.part:
        bars += {"calls": report_calls, "training": report_training}[part](args, done)
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
    sys.exit(main(sys.argv[1:]))
