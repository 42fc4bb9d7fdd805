#!/usr/bin/env python3
"""script/bench exchange: what the exchange of gradients costs, and how much of it is hidden.

Parts (--part NAME, several are possible; default: core, native, equal):
  core    CPU time of one server for each byte of gradients: it receives, adds, updates and sends; 2 and 8 emulated trainers
  native  two trainers and one or two servers that train at full speed, next to two copies that exchange nothing
  equal   two emulated trainers of benchworker, which sleep instead of computing (450 and 1,600 ms a step), and one server, next to the sleep
  scale   20 to 100 emulated trainers, 7.65 s a step, and 3 to 20 servers, on two cores: no living peer may be lost. It takes half an hour
          a round (--gang 100x20: only these)
  link    a server and one or two trainers that compute nothing, over shaped links of 1 Gbit/s, next to iperf3 over the same; needs
          root and iperf3

Each round measures all cases of its parts, one after another, so that what disturbs the machine disturbs all alike; a share is taken
within a round. All but iperf3 are real processes of benchworker, and sums are checked.
System calls and checksums are part of all CPU time. scale runs on two cores, so it prints next to each share what these two
cores' CPU time alone would allow, and the peak memory: private and shared memory of all processes and the kernel's TCP.

With --json FILE each measurement is a line of FILE, and those that are in FILE already are not repeated.
Ends with "reached N of M"; exit 1 where a bar is missed."""
import argparse
import contextlib
import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time

import entry
from figures import Bar, Spread, check_files, conclude, keep, read_kept, table
from shaped import PARAMETER_BYTES, run_exchange, run_iperf

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIMIT_S = 1800
LOOK_S = 0.25
CORES = 2
MEMORY_BAR_GIB = 12
NATIVE = {32: (16, 0.78), 128: (6, 0.95)}    # batch: measured steps, the least share of two copies
EQUAL = {450: 0.92, 1600: 0.98}              # ms of sleep: the least share
SCALE_MS = 7650
SCALE = {(20, 20): 0.97, (40, 20): 0.96, (80, 20): 0.92, (100, 20): 0.90,
         (60, 3): 0.90, (60, 6): 0.90, (60, 10): 0.90, (60, 20): 0.90}   # trainers, servers: the least share
REHEARSAL = ROOT / "benchmarks" / "vgg16-rehearsal-2018.yaml"   # has the times of the layers
RENDEZVOUS_S = 600
LINK_MBIT = 1000
LINK_BAR = 0.97                              # of what iperf3 carries
CORE_BAR = 2.4                               # gradient GB for each CPU-second of a server, with 8 trainers
THREADS_BAR = 1.8                            # two threads of a server over one, by their CPU time
CORE_MS = 1


@dataclasses.dataclass(frozen=True)
class Case:
    """One measurement of a round: two numbers say which."""
    part: str
    a: int  # trainers, batch or milliseconds
    b: int  # servers; 0: no exchange (native). Of link: trainers; 0: iperf3. Of core: threads of the server

    @property
    def name(self):
        return f"{self.part} {self.a} {self.b}"


CASES = {
    "core": [Case("core", 2, 1), Case("core", 8, 1), Case("core", 8, 2)],
    "native": [Case("native", batch, servers) for batch in NATIVE for servers in (0, 1, 2)],
    "equal": [Case("equal", ms, 1) for ms in EQUAL],
    "scale": [Case("scale", *pair) for pair in SCALE],
    "link": [Case("link", LINK_MBIT, trainers) for trainers in (0, 1, 2)],
}


def parse(argv):
    parser = argparse.ArgumentParser(prog="script/bench exchange", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", action="append", choices=sorted(CASES), metavar="NAME", help="core, native, equal, scale or link")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="default 5")
    parser.add_argument("--steps", type=int, default=0, metavar="N", help="of each trainer (default: 8, of native 16 and 6, of scale 4)")
    parser.add_argument("--json", metavar="FILE", help="keeps every measurement, and goes on after those that it has")
    parser.add_argument("--gang", action="append", choices=[f"{a}x{b}" for a, b in SCALE], metavar="TxS",
                        help="of scale, only T trainers and S servers")
    args = parser.parse_args(argv)
    if args.rounds < 1 or args.steps < 0:
        parser.error("expected positive numbers")
    args.part = args.part or ["core", "native", "equal"]
    return args


def cases_of(args, part):
    return [case for case in CASES[part] if part != "scale" or not args.gang or f"{case.a}x{case.b}" in args.gang]


class Failed(Exception):
    """A measurement that did not end well, with the last words of its processes."""


def two_cores():
    os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:CORES]))
    os.nice(10)


def tcp_bytes():
    """The kernel's memory for TCP, of the whole machine."""
    words = re.search(r"^TCP: .*\bmem (\d+)", pathlib.Path("/proc/net/sockstat").read_text(encoding="ascii"), re.M)
    return int(words.group(1)) * os.sysconf("SC_PAGE_SIZE")


class Memory(threading.Thread):
    """The most that processes held at a time: private, shared counted once, and the kernel's for TCP."""

    def __init__(self, pids):
        super().__init__(daemon=True)
        self.pids, self.peak_bytes, self.is_over = pids, 0, threading.Event()

    def look(self):
        private, shared = 0, 0
        for pid in self.pids:
            try:
                status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
            except OSError:
                continue  # it has ended
            words = dict(line.split(":", 1) for line in status.splitlines())
            kib = {key: int(words.get(key, "0 kB").split()[0]) for key in ("RssAnon", "RssShmem")}
            private += kib["RssAnon"]
            shared = max(shared, kib["RssShmem"])
        self.peak_bytes = max(self.peak_bytes, (private + shared) * 1024 + tcp_bytes())

    def run(self):
        while not self.is_over.wait(LOOK_S):
            self.look()


@contextlib.contextmanager
def secret():
    with tempfile.TemporaryDirectory() as folder:
        key = os.path.join(folder, "key")
        with open(os.open(key, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as f:
            f.write(os.urandom(32))
        yield folder, key


def own_addresses(n):
    """On a loopback address of this process alone: a port that is only known to be free may be another's by then."""
    pid = os.getpid()
    return [f"127.{128 + (pid >> 16) % 64}.{pid >> 8 & 255}.{pid & 255}:{20000 + i}" for i in range(n)]


def native_argvs(batch, servers, steps, key):
    """The command lines of a gang, or of two copies without an exchange."""
    worker = os.environ.get("BENCHWORKER", str(ROOT / "build" / "worker" / "benchworker"))
    common = ["--batch-size", batch, "--steps", steps, "--warmup-steps", 2, "--threads", 1]
    if servers == 0:
        return [[worker, "trainer", "--run", f"alone{i}", "--index", 0, "--trainers", 1, "--exchange", "None", *common]
                for i in range(2)]
    addrs = own_addresses(servers)
    gang = ["--run", "gang", "--pservers", servers, "--trainers", 2, "--secret-file", key]
    return [[worker, "pserver", "--index", i, "--listen", addr, *gang] for i, addr in enumerate(addrs)] + \
        [[worker, "trainer", "--index", i, "--pserver-addrs", ",".join(addrs), *gang, *common] for i in range(2)]


def run_native(batch, servers, steps):
    """Samples a second of both trainers, and the CPU seconds of a step of all processes."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("BENCHD_")}
    with secret() as (_, key), started(native_argvs(batch, servers, steps, key), env=clean) as processes:
        summaries = summaries_of(processes)
    trainers = [s for s in summaries if s["role"] == "trainer"]
    return {"rate": sum(s["samples"] / (s["duration_ns"] / 1e9) for s in trainers),
            "cpu_s": sum(s["cpu_ns"] for s in summaries) / 1e9 / steps,
            "bytes": sum(s["bytes_tx"] + s["bytes_rx"] for s in trainers) / steps}


def trace(step_ms):
    """The layers of the shipped rehearsal, at this length of a step, as benchworker takes them."""
    layers = re.findall(r"- \{name: (\w+), forwardMicroseconds: (\d+), backwardMicroseconds: (\d+)\}", REHEARSAL.read_text(encoding="utf-8"))
    sum_us = sum(int(forward) + int(backward) for _, forward, backward in layers)
    scaled = [(name, *(round(int(us) * step_ms * 1e6 / sum_us) for us in times)) for name, *times in layers]
    return ",".join(f"{name}={forward}:{backward}" for name, forward, backward in scaled)


def emulated_argvs(trainers, servers, steps, step_ms, key, arena, threads):
    worker = os.environ.get("BENCHWORKER", str(ROOT / "build" / "worker" / "benchworker"))
    addrs = own_addresses(servers)
    gang = ["--run", "scale", "--pservers", servers, "--trainers", trainers, "--secret-file", key, "--rendezvous-s", RENDEZVOUS_S,
            "--server-threads", threads]
    common = ["--pserver-addrs", ",".join(addrs), "--compute", "Emulated", "--trace", trace(step_ms), "--arena-fd", arena,
              "--batch-size", 128, "--steps", steps, "--warmup-steps", 1]
    return [[worker, "pserver", "--index", i, "--listen", addr, *gang] for i, addr in enumerate(addrs)] + \
        [[worker, "trainer", "--index", i, *gang, *common] for i in range(trainers)]


@contextlib.contextmanager
def started(argvs, **options):
    """Processes of this session, as benchctl starts them. None outlives the block."""
    with contextlib.ExitStack() as stack:
        processes = []
        for argv in argvs:
            process = subprocess.Popen([str(word) for word in argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True, **options)
            processes.append(stack.enter_context(process))
            stack.callback(process.kill)  # nothing, where it has ended
        yield processes


def summaries_of(processes):
    """Reads all to their end, or until one fails: others might wait for it for long. What they said last."""
    readers = [threading.Thread(target=lambda p=p: setattr(p, "said", p.communicate())) for p in processes]
    for reader in readers:
        reader.start()
    end = time.monotonic() + LIMIT_S
    while any(r.is_alive() for r in readers) and not any(p.poll() for p in processes) and time.monotonic() < end:
        time.sleep(LOOK_S)
    late = [p for p in processes if p.poll() is None]
    for process in late:
        process.kill()
    for reader in readers:
        reader.join()
    for process in sorted(processes, key=late.count):  # those that failed themselves first
        if process.returncode != 0:
            what = f"not over after {LIMIT_S} s" if process in late else f"exit code {process.returncode}"
            raise Failed(f"{' '.join(process.args)[:300]}: {what}\n  {process.said[1].strip()[-300:]}")
    return [json.loads(process.said[0].strip().splitlines()[-1]) for process in processes]


def run_emulated(trainers, servers, steps, step_ms, limits=lambda: None, threads=1):
    """Trainers of benchworker that sleep, share one arena and check each slice that they get."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("BENCHD_")}
    arena = os.memfd_create("arena")
    with secret() as (_, key):
        argvs = emulated_argvs(trainers, servers, steps, step_ms, key, arena, threads)
        try:
            with started(argvs, env=clean, preexec_fn=limits, pass_fds=(arena,)) as processes:
                memory = Memory([process.pid for process in processes])
                memory.start()
                try:
                    summaries = summaries_of(processes)
                finally:
                    memory.is_over.set()
        finally:
            os.close(arena)
    cpu_s = {role: sum(s["cpu_ns"] for s in summaries if s["role"] == role) / 1e9 for role in ("pserver", "trainer")}
    longest = max(s["duration_ns"] for s in summaries if s["role"] == "trainer")
    return {"steps": steps, "compute_s": step_ms / 1000, "mean_step_s": longest / 1e9 / steps, "servers_cpu_s": cpu_s["pserver"],
            "trainers_cpu_s": cpu_s["trainer"], "memory_peak_bytes": memory.peak_bytes}


def measure(case, steps):
    if case.part == "core":
        return run_emulated(case.a, 1, steps or 8, CORE_MS, threads=case.b)
    if case.part == "native":
        return run_native(case.a, case.b, steps or NATIVE[case.a][0])
    if case.part == "equal":
        return run_emulated(2, 1, steps or 8, case.a)
    if case.part == "link":
        return run_exchange(case.a, case.b, steps or 8) if case.b else run_iperf(case.a)
    return run_emulated(case.a, case.b, steps or 4, SCALE_MS, two_cores)


def kept(args):
    """{(case name, round): values} of FILE, with these steps."""
    return {(line["case"], line["round"]): line for line in read_kept(args.json)
            if line["asked_steps"] == args.steps}


def measure_all(args):
    done = kept(args)
    for number in range(args.rounds):
        for case in (case for part in args.part for case in cases_of(args, part)):
            if (case.name, number) in done:
                continue
            begin = time.monotonic()
            line = {"case": case.name, "round": number, "asked_steps": args.steps,
                    **measure(case, args.steps),
                    "load": os.getloadavg()[0]}
            done[case.name, number] = line
            keep(args.json, line)
            print(f"round {number + 1}: {case.name}: {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
    return done


def rounds_of(args, done, case):
    return [done[case.name, number] for number in range(args.rounds)]


def spread(values, digits=2):
    return Spread.of(values).text(digits)


def report_core(args, done):
    lines, speeds = [], {}
    for case in CASES["core"]:
        rounds = rounds_of(args, done, case)
        sizes = [line["steps"] * case.a * PARAMETER_BYTES / 1e9 for line in rounds]
        speeds[case.b] = [size / line["servers_cpu_s"] for size, line in zip(sizes, rounds)]
        trainers = [line["trainers_cpu_s"] / size for size, line in zip(sizes, rounds)]
        rates = [size / line["steps"] / line["mean_step_s"] for size, line in zip(sizes, rounds)]
        lines.append([f"{case.a} trainers, {case.b} threads", spread(speeds[case.b]), spread(trainers, 3), spread(rates)])
    print(table(["one server", "GB/CPU-s", "TRAINERS ns/B", "GB/s"], lines))
    # Threads have equally many bytes, so with a core for each they are as fast as their CPU time allows.
    gains = [2 * two / one for one, two in zip(speeds[1], speeds[2])]
    return [Bar("receive, add, Adam and send, gradient GB a CPU-second", Spread.of(speeds[1]), CORE_BAR),
            Bar("two threads of a server over one, by CPU time", Spread.of(gains), THREADS_BAR)]


def report_native(args, done):
    lines, bars = [], []
    for batch, (_, least) in NATIVE.items():
        alone = rounds_of(args, done, Case("native", batch, 0))
        lines.append([f"batch {batch}, two copies", spread([line["rate"] for line in alone], 1), "",
                      spread([line["cpu_s"] for line in alone], 3), "", ""])
        for servers in (1, 2):
            rounds = rounds_of(args, done, Case("native", batch, servers))
            shares = [a["rate"] / b["rate"] for a, b in zip(rounds, alone)]
            extra = [a["cpu_s"] - b["cpu_s"] for a, b in zip(rounds, alone)]
            # On two cores that are always busy, the CPU time that the exchange adds is all that it can cost.
            bound = [b["cpu_s"] / a["cpu_s"] for a, b in zip(rounds, alone)]
            lines.append([f"batch {batch}, {servers} servers", spread([line["rate"] for line in rounds], 1), spread(shares),
                          spread([line["cpu_s"] for line in rounds], 3),
                          spread([1e9 * more / line["bytes"] for more, line in zip(extra, rounds)]), spread(bound)])
            bars.append(Bar(f"two trainers, {servers} servers, batch {batch}: share of two copies", Spread.of(shares), least))
    print(table(["full training", "SAMPLES/S", "SHARE", "CPU-s A STEP", "EXTRA CPU-ns A BYTE", "SHARE BY CPU ALONE"], lines))
    return bars


def report_equal(args, done):
    lines, bars = [], []
    for ms, least in EQUAL.items():
        rounds = rounds_of(args, done, Case("equal", ms, 1))
        shares = [line["compute_s"] / line["mean_step_s"] for line in rounds]
        lines.append([f"{ms} ms", spread([line["mean_step_s"] for line in rounds], 3), spread(shares)])
        bars.append(Bar(f"equal compute of {ms} ms: share of the same without exchange", Spread.of(shares), least))
    print(table(["two trainers, one server", "STEP s", "SHARE"], lines))
    return bars


def report_scale(args, done):
    lines, bars = [], []
    for case in cases_of(args, "scale"):
        rounds = rounds_of(args, done, case)
        shares = [line["compute_s"] / line["mean_step_s"] for line in rounds]
        cpu = [(line["servers_cpu_s"] + line["trainers_cpu_s"]) / line["steps"] for line in rounds]
        bound = [min(1.0, line["compute_s"] * CORES / seconds) for line, seconds in zip(rounds, cpu)]
        memory = [line["memory_peak_bytes"] / 2**30 for line in rounds]
        what = f"{case.a} trainers, {case.b} servers"
        lines.append([what, spread([line["mean_step_s"] for line in rounds]), spread(shares), spread(cpu), spread(bound), spread(memory)])
        bars += [Bar(f"{what}: share of the compute time", Spread.of(shares), SCALE[case.a, case.b]),
                 Bar(f"{what}: peak memory, GiB", Spread.of(memory), MEMORY_BAR_GIB, "<=")]
    print(table([f"emulated compute of {SCALE_MS / 1000:g} s", "STEP s", "SHARE", "CPU-s A STEP", "SHARE BY CPU ALONE", "PEAK GiB"], lines))
    return bars


def report_link(args, done):
    lines, bars = [], []
    iperf = rounds_of(args, done, Case("link", LINK_MBIT, 0))
    lines.append(["iperf3, one way", "", spread([line["gbit_per_s"] for line in iperf], 3), ""])
    for case in CASES["link"][1:]:
        rounds = rounds_of(args, done, case)
        shares = [a["gbit_per_s"] / b["gbit_per_s"] for a, b in zip(rounds, iperf)]
        what = f"{case.b} trainers, one server"
        lines.append([what, spread([line["step_s"] for line in rounds], 3), spread([line["gbit_per_s"] for line in rounds], 3),
                      spread(shares, 3)])
        bars.append(Bar(f"{what}, {LINK_MBIT} Mbit/s: share of iperf3's rate", Spread.of(shares), LINK_BAR))
    print(table(["61 MB in each direction", "STEP s", "Gbit/s", "SHARE OF iperf3"], lines))
    return bars


REPORTS = {"core": report_core, "native": report_native, "equal": report_equal, "scale": report_scale, "link": report_link}


def report(args, done):
    bars = []
    for part in args.part:
        bars += REPORTS[part](args, done)
        print()
    print(f"load average {spread([line['load'] for line in done.values()], 1)}, {os.cpu_count()} CPUs")
    return conclude(bars)


def main(argv):
    args = parse(argv)
    try:
        check_files(args.json)
        return report(args, measure_all(args))
    except (Failed, OSError) as problem:
        print(f"script/bench exchange: {problem}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    entry.run(main)
