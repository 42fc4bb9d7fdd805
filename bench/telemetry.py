#!/usr/bin/env python3
"""script/bench telemetry [--rounds N] [--steps N] [--call-us N]

What readings of devices cost a run on CPUs: training by two workers, which keep two CPUs busy, with a stand-in for NVML of two GPUs
(tests/host/stand_in_nvml.c) and without it, in turns; each round begins with the other one. The bar is for the CPU time that benchctl itself
uses more, of all CPUs that it may use. The throughput that is lost is printed with a 95% interval: where pairs of runs differ by much more
than the readings can take, it decides nothing. --call-us: how long each call of the stand-in keeps a CPU.
"""
import argparse
import json
import math
import os
import pathlib
import subprocess
import tempfile

import entry
from figures import Bar, Spread, conclude

STAND_IN = pathlib.Path(__file__).resolve().parent.parent / "tests" / "host" / "stand_in_nvml.c"
MOST_PERCENT = 0.5


def median_interval(values):
    """Of at least 95% without any distribution (order statistics); None: six values are needed."""
    n, least, sure = len(values), 0, 0.5 ** len(values)
    while sure <= 0.025:
        least += 1
        sure += math.comb(n, least) * 0.5 ** n
    return (sorted(values)[least - 1], sorted(values)[n - least]) if least > 0 else None


def run(folder, steps, env):
    """CPU time of benchctl alone in a second of measured steps, samples a second by two workers, and whether power is known."""
    command = [os.environ["BENCHCTL"], "run", "vgg16-allreduce-sweep", "--local", "--set", "workers=2", "--repeats", "1",
               "--steps", str(steps), "--progress", "none", "-o", "json"]
    with subprocess.Popen(command, env={**os.environ, **env, "XDG_DATA_HOME": folder}, stdout=subprocess.PIPE, text=True) as process:
        points = json.loads(process.stdout.read())["points"]
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        stat = pathlib.Path(f"/proc/{process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    measured_s = sum(p["trials"][0]["replicas"]["items"][0]["summary"]["durationNs"] for p in points) / 1e9
    cpu_s = (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")
    return cpu_s / measured_s, points[0]["throughput"]["value"], "power_w" in points[0]["trials"][0].get("metrics", {})


def added_percent(folder, steps, on, off, number):
    """By both in turns: CPU time that readings add, in percent of the CPUs, and the ratio of the throughputs. `on`, `off`: variables."""
    forms = {True: on, False: off}
    got = {is_on: run(folder, steps, forms[is_on]) for is_on in sorted(forms, reverse=number % 2 == 1)}
    if [got[is_on][2] for is_on in (True, False)] != [True, False]:
        raise OSError("power is not known with readings, or without them")
    return 100 * (got[True][0] - got[False][0]) / len(os.sched_getaffinity(0)), got[True][1] / got[False][1]


def main(argv):
    parser = argparse.ArgumentParser(prog="script/bench telemetry", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("--rounds", 24), ("--steps", 60), ("--call-us", 0)):
        parser.add_argument(name, type=int, default=value)
    args = parser.parse_args(argv)
    added, lost = [], []
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", f"{folder}/libnvidia-ml.so.1", STAND_IN], check=True)
        on = {"LD_LIBRARY_PATH": folder, "STAND_IN_NVML_CALL_US": str(args.call_us)}
        for i in range(args.rounds):
            percent, ratio = added_percent(folder, args.steps, on, {}, i)
            added.append(percent)
            lost.append(100 * (1 - ratio))
            print(f"round {i}: {percent:.3f}% of the CPUs, {lost[-1]:.2f}% of the throughput", flush=True)
    interval = median_interval(lost)
    text = f", 95% interval {interval[0]:.2f} to {interval[1]:.2f}" if interval else ", an interval needs six rounds"
    print(f"throughput that readings take, %: {Spread.of(lost).text()}{text}")
    return conclude([Bar("percent of the CPUs that readings take", Spread.of(added), MOST_PERCENT, "<=")])


if __name__ == "__main__":
    entry.run(main)
