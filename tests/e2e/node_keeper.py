#!/usr/bin/env python3
"""Holds the namespaces of node.py's node, and clears up after it however the test ends.

node.py starts this and reads one line: the pid of the node's first process, the node's name and its folder; or "failed:
why". From then on the node lives until the end of file on stdin, that is until the test closes it or is killed.

The node is a PID, a mount and a network namespace. With its first process the kernel ends all others in it (containerd,
the kubelet, shims, containers), and with the last of them go mounts, network interfaces and addresses. Two things are
no part of any namespace and are removed here: the cgroups and the folder. If this process is killed too, the first
process dies with it, and the next start removes both.
"""
import collections
import ctypes
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PREFIX = "benchd-node-"
CGROUPS = pathlib.Path("/sys/fs/cgroup")
CLEAR_S = 30
Network = collections.namedtuple("Network", "node node_bits api dns bits services pods any")
# api and dns, the Services of the API server and of DNS, are served on loopback, so no kube-proxy is needed.
IPV4 = Network("10.99.0.1", 24, "10.96.0.1", "10.96.0.10", 32, "10.96.0.0/16", "10.98.0.0/24", "0.0.0.0")
IPV6 = Network("fd00:99::1", 64, "fd00:96::1", "fd00:96::a", 128, "fd00:96::/112", "fd00:98::/64", "::")
ONLY_IPV6 = "--ipv6"   # for a node whose pods have no other addresses
# The kubelet writes these if they differ, and they are the machine's own: it is shown files that hold what it wants.
SYSCTLS = {"vm/overcommit_memory": "1", "vm/panic_on_oom": "0", "kernel/panic": "10", "kernel/panic_on_oops": "1",
           "kernel/keys/root_maxkeys": "1000000", "kernel/keys/root_maxbytes": "25000000"}

_libc = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1
_CLONE_NEWNS, _CLONE_NEWPID, _CLONE_NEWNET = 0x20000, 0x20000000, 0x40000000


def unshare(flags):
    if _libc.unshare(flags) != 0:
        raise OSError(ctypes.get_errno(), "unshare: " + os.strerror(ctypes.get_errno()))


def start_time(pid):
    """In ticks since the start of the machine: with the pid it names one process for ever. None if there is none."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return None


def hierarchies():
    """One folder with cgroup v2, one for each controller with v1."""
    if (CGROUPS / "cgroup.controllers").exists():
        return [CGROUPS]
    return [path.parent for path in CGROUPS.glob("*/cgroup.procs")]


def make_cgroups(name):
    for hierarchy in hierarchies():
        group = hierarchy / name
        group.mkdir()
        for file in ("cpuset.cpus", "cpuset.mems"):   # empty in a new group of v1, and then nothing can enter it
            if (hierarchy / file).exists() and not (CGROUPS / "cgroup.controllers").exists():
                (group / file).write_text((hierarchy / file).read_text())


def remove_cgroups(name):
    """True when none is left. A group goes only after its last process has, which takes the kernel a moment."""
    groups = [folder for hierarchy in hierarchies() for folder, *_ in os.walk(hierarchy / name, topdown=False)]
    for group in groups:
        try:
            os.rmdir(group)
        except OSError:
            pass
    return not any((hierarchy / name).exists() for hierarchy in hierarchies())


def clear(name):
    deadline = time.monotonic() + CLEAR_S
    while not remove_cgroups(name) and time.monotonic() < deadline:
        time.sleep(0.05)
    shutil.rmtree(pathlib.Path(tempfile.gettempdir()) / name, ignore_errors=True)


def pid_namespace(pid="self"):
    """The number of a process's PID namespace; None when the process has ended."""
    try:
        return os.stat(f"/proc/{pid}/ns/pid").st_ino
    except OSError:
        return None


def names(namespace):
    """Of nodes whose keepers run, or ran, in a PID namespace. A name holds it, the keeper's pid and its start time."""
    places = [*hierarchies(), pathlib.Path(tempfile.gettempdir())]
    return {path.name for place in places for path in place.glob(f"{PREFIX}{namespace}-*")}


def clear_abandoned():
    """Removes what keepers left that were killed themselves."""
    for name in names(pid_namespace()):
        *_, pid, started = name.split("-")
        if start_time(pid) != started:
            clear(name)


def clear_namespace(namespace):
    """Removes what all keepers of a PID namespace left, which has ended (script/bare)."""
    for name in names(namespace):
        clear(name)


def command(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise OSError(f"{' '.join(words)}: {done.stderr.strip()}")


def make_mounts():
    command("mount", "--make-rprivate", "/")
    command("mount", "-t", "proc", "proc", "/proc")
    # Where containerd, the kubelet and the CNI plugins write beside their own folders.
    for folder in ("/run", "/var/lib", "/var/log"):
        command("mount", "-t", "tmpfs", "node", folder)
    command("mount", "--make-rshared", "/")   # the kubelet's volumes reach containers that are started later
    for name, value in SYSCTLS.items():
        path = pathlib.Path("/proc/sys") / name
        if path.exists():
            shown = pathlib.Path("/run/sysctl-" + name.replace("/", "-"))
            shown.write_text(value + "\n")
            command("mount", "--bind", str(shown), str(path))


def make_network(is_joined, network):
    """Nothing but loopback and one interface that leads nowhere: no pod reaches the machine's network, nor back.
    A node that is joined to another has loopback only, until it is (two_nodes.py)."""
    forwarding = "ipv4/ip_forward" if network == IPV4 else "ipv6/conf/all/forwarding"
    (pathlib.Path("/proc/sys/net") / forwarding).write_text("1")
    command("ip", "link", "set", "lo", "up")
    if is_joined:
        return
    for address in (network.api, network.dns):
        command("ip", "address", "add", f"{address}/{network.bits}", "dev", "lo")
    command("ip", "link", "add", "node0", "type", "veth", "peer", "name", "node0p")
    usable_at_once = ["nodad"] if network == IPV6 else []
    command("ip", "address", "add", f"{network.node}/{network.node_bits}", "dev", "node0", *usable_at_once)
    for link in ("node0", "node0p"):
        command("ip", "link", "set", link, "up")
    family = "-6" if network == IPV6 else "-4"
    command("ip", family, "route", "add", "default", "dev", "node0")   # the detection of addresses wants one


def be_first_process(keeper, ready):
    """In the child, process 1 of its namespace: makes mounts and network, says so, then reaps until it is killed."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if start_time(keeper) is None:   # it ended before that
        os._exit(1)
    try:
        unshare(_CLONE_NEWNS | _CLONE_NEWNET)
        make_mounts()
        make_network("--joined" in sys.argv[1:], IPV6 if ONLY_IPV6 in sys.argv[1:] else IPV4)
        os.write(ready, b"ready")
    except OSError as e:
        os.write(ready, str(e).encode())
        os._exit(1)
    os.close(ready)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    while True:
        signal.sigwait({signal.SIGCHLD})
        try:
            while os.waitpid(-1, os.WNOHANG)[0] != 0:
                pass
        except ChildProcessError:
            pass


def start_first_process():
    """Returns its pid here and what it said: "ready", or why not."""
    keeper = os.getpid()
    read_end, write_end = os.pipe()
    unshare(_CLONE_NEWPID)   # for the children from here on, not for this process
    pid = os.fork()
    if pid == 0:
        os.close(read_end)
        os.close(0)
        be_first_process(keeper, write_end)
    os.close(write_end)
    with os.fdopen(read_end) as said:
        return pid, said.read()


def main():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)   # the test is told; it closes stdin
    clear_abandoned()
    name = f"{PREFIX}{pid_namespace()}-{os.getpid()}-{start_time(os.getpid())}"
    folder = pathlib.Path(tempfile.gettempdir()) / name
    pid = None
    try:
        folder.mkdir(mode=0o711)
        make_cgroups(name)
        pid, said = start_first_process()
        print(f"{pid} {name} {folder}" if said == "ready" else f"failed: {said}", flush=True)
        sys.stdin.read()
    except OSError as e:
        print(f"failed: {e}", flush=True)
    if pid:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)   # returns after the last process of the namespace
    clear(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
