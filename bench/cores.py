"""Some cores of this machine: which they are, running a program on them alone, and what else used them in that time."""
import dataclasses
import os
import pathlib
import resource
import subprocess
import time

TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


def busy_s():
    """Seconds that each CPU has worked since boot: {0: 12.3, ...}."""
    busy = {}
    for line in pathlib.Path("/proc/stat").read_text(encoding="ascii").splitlines():
        if line.startswith("cpu") and line[3].isdigit():
            name, *ticks = line.split()
            user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, ticks[:8])
            busy[int(name[3:])] = (user + nice + system + irq + softirq + steal) / TICKS_A_SECOND
    return busy


def cpu_info():
    info = {}
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
        key, colon, value = line.partition(":")
        if colon and key.strip() not in info:
            info[key.strip()] = value.strip()
    return info


def describe():
    info, uname = cpu_info(), os.uname()
    flags = info.get("flags", "").split()
    return {"cpu_model": info.get("model name", "unknown"), "cpu_family": info.get("cpu family"),
            "cpu_number": info.get("model"), "cpus": os.cpu_count(), "kernel": uname.release, "host": uname.nodename,
            "isa": [f for f in ("avx2", "fma", "avx512f", "avx512_bf16") if f in flags]}


@dataclasses.dataclass
class Ran:
    """A program that has ended well."""
    stdout: str
    wall_s: float
    cpu_s: float
    others_core: float      # share of these cores that other processes used in that time
    others_machine: float   # cores that other processes used, on the whole machine


class Failed(Exception):
    pass


def run_on_cores(cores, argv, env):
    """Runs argv on these cores, a set. Failed carries its last words."""
    before, begin = busy_s(), time.monotonic()
    with subprocess.Popen(argv, env={**os.environ, **env}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True,
                          preexec_fn=lambda: os.sched_setaffinity(0, cores)) as process:
        try:
            out, err = process.communicate()
        except BaseException:
            process.kill()
            raise
    wall = time.monotonic() - begin
    after = busy_s()
    if process.returncode != 0:
        words = "\n  ".join((err.strip() or out.strip()).splitlines()[-8:])
        raise Failed(f"{' '.join(argv)}: exit code {process.returncode}\n  {words}")
    return out, wall, {cpu: after[cpu] - before.get(cpu, 0) for cpu in after}


def measure(cores, argv, env):
    """run_on_cores, with what it cost and what else went on. One at a time: rusage is of all children."""
    was = resource.getrusage(resource.RUSAGE_CHILDREN)
    out, wall, busy = run_on_cores(cores, argv, env)
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = now.ru_utime + now.ru_stime - was.ru_utime - was.ru_stime
    return Ran(out, wall, cpu, max(0.0, (sum(busy[core] for core in cores) - cpu) / wall / len(cores)),
               max(0.0, (sum(busy.values()) - cpu) / wall))
