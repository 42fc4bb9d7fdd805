"""What a process costs, read from /proc."""
import os
import pathlib
import re

TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
MIB = 2**20


def memory(text):
    """{"Rss": bytes, "Private_Dirty": bytes} of a smaps_rollup."""
    return {key: int(re.search(rf"^{key}:\s+(\d+) kB$", text, re.MULTILINE)[1]) * 1024 for key in ("Rss", "Private_Dirty")}


def memory_of(pid):
    return memory(pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii"))


def cpu_s(pid):
    """Of the whole process since its start, in ticks of 10 ms."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_A_SECOND


def exact_cpu_s(pid):
    """Of the threads that live, without the rounding: for what is nearly idle."""
    tasks = pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text(encoding="ascii").split()[0]) for task in tasks) / 1e9


def sockets(pid):
    """{inode: what it is} of the sockets that the process sees."""
    found = {}
    for kind in ("tcp", "tcp6"):
        for line in pathlib.Path(f"/proc/{pid}/net/{kind}").read_text(encoding="ascii").splitlines()[1:]:
            fields = line.split()
            port = int(fields[2].rpartition(":")[2], 16)
            found[fields[9]] = f"TCP to port {port}" if port else "TCP, listening"
    for line in pathlib.Path(f"/proc/{pid}/net/unix").read_text(encoding="utf-8", errors="replace").splitlines()[1:]:
        found[line.split()[6]] = "Unix socket"
    return found


def descriptors(pid):
    """What is open, one text each, in order. One that is closed while this reads is left out."""
    names = []
    for entry in os.listdir(f"/proc/{pid}/fd"):
        try:
            names.append(os.readlink(f"/proc/{pid}/fd/{entry}"))
        except FileNotFoundError:
            pass
    found = sockets(pid)
    return sorted(found.get(name[8:-1], "socket") if name.startswith("socket:[") else "pipe" if name.startswith("pipe:") else name
                  for name in names)


def load():
    """The load average of the last minute: of everything on this machine."""
    return round(os.getloadavg()[0], 1)
