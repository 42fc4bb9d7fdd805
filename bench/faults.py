#!/usr/bin/env python3
"""script/bench faults: does a crowd of trainers and parameter servers on two cores lose a peer that lives?

Each trial is a gang of real processes (bench/crowd.c) under `nice`, with real bytes: 61 MB of gradients from each trainer in each
step, as much of parameters back. Where a trainer would compute, it sleeps. What it receives is checked against one process that
computes it alone. Bars: no process fails, and the kernel's memory for TCP stays within what the servers' limits allow. That memory
is the machine's: what other programs use is in it.

With --json FILE each trial is a line of FILE, and trials that are in FILE already are not run again.
Ends with "reached N of M"; exit 1 where a bar is missed."""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import threading

import entry
from figures import Bar, Spread, conclude, keep, read_kept, table

ROOT = pathlib.Path(__file__).resolve().parent.parent
CORES = 2
LOOK_S = 0.05
# 8 MiB in each direction (lib/exchange/flow.h), and as much again for the kernel's own lists.
SERVER_TCP_BYTES = 2 * 2 * 8 << 20


def parse(argv):
    parser = argparse.ArgumentParser(prog="script/bench faults", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value, text in (("trials", 10, "gangs, one after another"), ("trainers", 100, "processes that sleep and send"),
                              ("servers", 20, "processes that add"), ("steps", 3, "of each, after one that is not timed"),
                              ("compute-ms", 500, "how long a trainer sleeps in a step"),
                              ("limit-s", 900, "after so long a trial hangs")):
        parser.add_argument(f"--{name}", type=int, default=value, metavar="N", help=f"{text} (default {value})")
    parser.add_argument("--json", metavar="FILE", help="keeps every trial, and goes on after those that it has")
    args = parser.parse_args(argv)
    if min(args.trials, args.trainers, args.servers, args.steps, args.limit_s) < 1 or args.compute_ms < 0:
        parser.error("expected positive numbers")
    return args


def setting(args):
    return {"trainers": args.trainers, "servers": args.servers, "steps": args.steps, "compute_s": args.compute_ms / 1000}


def kept(args):
    """The trials of FILE with these settings."""
    return [t for t in read_kept(args.json) if setting(args).items() <= t.items()][:args.trials]


def two_cores():
    os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:CORES]))
    os.nice(10)


class Kernel(threading.Thread):
    """Looks at the kernel's TCP while a gang runs: of the whole machine."""

    def __init__(self):
        super().__init__(daemon=True)
        self.is_over = threading.Event()
        self.peak_bytes, self.before = 0, self.retransmits()

    @staticmethod
    def memory_bytes():
        words = re.search(r"^TCP: .*\bmem (\d+)", pathlib.Path("/proc/net/sockstat").read_text(encoding="ascii"), re.M)
        return int(words.group(1)) * os.sysconf("SC_PAGE_SIZE")

    @staticmethod
    def retransmits():
        names, values = (line.split() for line in pathlib.Path("/proc/net/snmp").read_text(encoding="ascii").splitlines()
                         if line.startswith("Tcp:"))
        return int(values[names.index("RetransSegs")])

    def run(self):
        while not self.is_over.wait(LOOK_S):
            self.peak_bytes = max(self.peak_bytes, self.memory_bytes())

    def end(self):
        self.is_over.set()
        self.join()
        return {"tcp_peak_bytes": max(self.peak_bytes, self.memory_bytes()), "retransmits": self.retransmits() - self.before}


def trial(args):
    kernel = Kernel()
    kernel.start()
    return {**gang(args), **kernel.end()}


def gang(args):
    crowd = os.environ.get("CROWD", str(ROOT / "build" / "bench" / "crowd"))
    argv = [crowd, args.trainers, args.servers, args.steps, args.compute_ms]
    with subprocess.Popen([str(word) for word in argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, preexec_fn=two_cores, start_new_session=True) as process:
        try:
            out, err = process.communicate(timeout=args.limit_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)  # its own session: the gang alone
            process.communicate()
            return {**setting(args), "failed": args.trainers + args.servers, "why": f"it hangs: not over after {args.limit_s} s"}
    try:
        return {**json.loads(out), "why": err.strip().partition("\n")[0]}
    except json.JSONDecodeError:
        return {**setting(args), "failed": args.trainers + args.servers, "why": err.strip()[-300:] or f"exit code {process.returncode}"}


def cells(number, t):
    mb = [f"{t[key] / 1e6:.0f}" if key in t else "-" for key in ("tcp_peak_bytes", "early_peak_bytes", "rss_peak_bytes")]
    return [str(number), str(t["failed"]), *(f"{t[key]:.1f}" if key in t else "-" for key in ("step_s", "cpu_s")), *mb,
            str(t.get("retransmits", "-"))]


def report(args, trials):
    print(table(["trial", "failed", "step s", "CPU s", "TCP MB", "early MB", "largest process MB", "sent again"],
                [cells(i + 1, t) for i, t in enumerate(trials)]))
    for number, t in enumerate(trials):
        if t["failed"]:
            print(f"trial {number + 1}: {t['why']}")
    memory = [t["tcp_peak_bytes"] / 1e6 for t in trials if "tcp_peak_bytes" in t]
    bars = [Bar("trials in which a process failed", Spread(*[sum(t["failed"] > 0 for t in trials)] * 3), 0, "<="),
            Bar("most of the kernel's memory for TCP, MB", Spread(*[max(memory)] * 3) if memory else None,
                round(args.servers * SERVER_TCP_BYTES / 1e6), "<=")]
    return conclude(bars)


def main(argv):
    args = parse(argv)
    trials = kept(args)
    while len(trials) < args.trials:
        trials.append(trial(args))
        keep(args.json, trials[-1])
        print(f"trial {len(trials)}: {trials[-1]['failed']} failed {trials[-1]['why']}".rstrip(), file=sys.stderr, flush=True)
    return report(args, trials)


if __name__ == "__main__":
    entry.run(main)
