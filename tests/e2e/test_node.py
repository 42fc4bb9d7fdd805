#!/usr/bin/env python3
"""The real node leaves nothing behind, nor does one that is joined to it. It ends by kill -9 of all that belongs to it; with --long in
three more ways."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import node_keeper
import tap
from cluster import becomes, wait_until
from machine import why_not
from node import Node
from second_node import Peer

END_S = 120


def machine():
    """What a node may change on the machine and must not: mounts, network, sysctls, and what bears its name."""
    def lines(*command):
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    # Other tests mount below the temporary folder meanwhile, where a node's own mounts would bear its name, and debootstrap
    # below the cache.
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "benchd"
    others = re.compile(rf"\S+ (?:{re.escape(tempfile.gettempdir())}/(?!{node_keeper.PREFIX})|{re.escape(str(cache))}/)")
    mounts = [line for line in pathlib.Path("/proc/mounts").read_text().splitlines() if not others.match(line)]
    links = [line.split(":")[1] for line in lines("ip", "-oneline", "link")]
    sysctls = {name: pathlib.Path("/proc/sys", name).read_text() for name in node_keeper.SYSCTLS if pathlib.Path("/proc/sys", name).exists()}
    return {"mounts": mounts, "links": links, "sysctls": sysctls, "routes": lines("ip", "route"), "network namespaces": lines("ip", "netns")}


def traces(folders):
    """Processes, cgroups and files of nodes that are still there."""
    return [trace for folder in folders for trace in traces_of(folder)]


def traces_of(folder):
    found = [str(folder)] if folder.exists() else []
    found += [str(path) for hierarchy in node_keeper.hierarchies() for path in hierarchy.glob(folder.name)]
    for process in pathlib.Path("/proc").glob("[0-9]*"):   # a longer pattern fails where one ends
        try:
            if str(folder).encode() in (process / "cmdline").read_bytes():
                found.append(str(process))
        except OSError:
            pass   # it ended meanwhile
    return found


def pod_left_running(node):
    """A pod that would run for ever if nobody ended it, with a volume (a mount) and a process of its own."""
    spec = {"containers": [{"name": "main", "image": "benchd.local/busybox:1", "command": ["sleep", "86400"]}], "restartPolicy": "Never"}
    node.cluster.kubectl("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "sleeper"}, "spec": spec}))
    node.cluster.kubectl("wait", "--for=condition=Ready", "pod/sleeper", f"--timeout={END_S}s")


def hold_node():
    """Child process for check_end: a node with a running pod, and another, until stdin closes."""
    with Node() as node, Peer(node) as peer:
        pod_left_running(node)
        print(node.dir, peer.dir, flush=True)
        sys.stdin.read()


def check_end(t, name, end):
    before = machine()
    child = subprocess.Popen([sys.executable, __file__, "--hold"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    folders = [pathlib.Path(word) for word in child.stdout.readline().split()]
    if not t.ok(len(folders) == 2 and all(folder.exists() for folder in folders), f"{name}: two nodes run, one with a pod"):
        return
    for folder in folders:
        t.ok(len(traces_of(folder)) > 5, f"{name}: its traces can be seen", traces_of(folder))
    t.equal(before, machine(), f"{name}: the machine does not notice")
    end(child)
    child.wait()
    becomes(lambda: not traces(folders), END_S)
    t.equal([], traces(folders), f"{name}: no process, cgroup or file is left")
    t.equal(before, machine(), f"{name}: the machine is as it was")


def kill_with_keeper(child):
    """The worst case: the keeper, which clears up, is killed with the test. The next start does its work."""
    keeper = next(pid for pid in pathlib.Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()
                  if b"node_keeper" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes())
    os.kill(int(keeper), 9)
    child.kill()
    child.wait()
    wait_until(lambda: node_keeper.start_time(keeper) is None, END_S, "the keeper is dead")
    node_keeper.clear_abandoned()


def main():
    if sys.argv[1:] == ["--hold"]:
        return hold_node()
    tap.skip_if(why_not())
    t = tap.Tap()
    if "--long" in sys.argv[1:]:
        check_end(t, "normal end", lambda child: child.stdin.close())
        check_end(t, "kill -9", lambda child: child.kill())
        check_end(t, "SIGTERM", lambda child: child.terminate())
    check_end(t, "kill -9, keeper too", kill_with_keeper)
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
