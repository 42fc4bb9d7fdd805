#!/usr/bin/env python3
"""The cluster of the end-to-end tests leaves no process behind, even when the test itself is killed; with --long also at a
normal end and by SIGTERM."""
import pathlib
import shutil
import subprocess
import sys
import time

import tap

HOLD = """
import sys
from cluster import Cluster
with Cluster() as cluster:
    print(cluster.dir, *(server.pid for server in cluster.servers.values()), flush=True)
    sys.stdin.read()
"""
END_S = 60


def is_running(pid):
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"   # a zombie has ended; somebody else reaps it


def hold():
    child = subprocess.Popen([sys.executable, "-c", HOLD], cwd=pathlib.Path(__file__).parent, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
    folder, *pids = child.stdout.readline().split()
    return child, pathlib.Path(folder), [int(pid) for pid in pids]


def check_end(t, name, end):
    child, folder, pids = hold()
    t.equal([True, True], [is_running(pid) for pid in pids], f"{name}: etcd and kube-apiserver run")
    end(child)
    child.wait()
    deadline = time.monotonic() + END_S
    while any(map(is_running, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    t.equal([False, False], [is_running(pid) for pid in pids], f"{name}: both are gone")
    return folder


def main():
    t = tap.Tap()
    if "--long" in sys.argv[1:]:
        for name, end in (("normal end", lambda child: child.stdin.close()), ("SIGTERM", lambda child: child.terminate())):
            folder = check_end(t, name, end)
            t.ok(not folder.exists(), f"{name}: the folder is gone", folder)
    folder = check_end(t, "kill -9", lambda child: child.kill())
    shutil.rmtree(folder)
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
