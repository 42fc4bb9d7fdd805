#!/usr/bin/env python3
"""bench/entry.py: whatever ends a bench, nothing that it started is left."""
import pathlib
import signal
import subprocess
import sys
import unittest

import bench_case

# Starts a process, which ends by SIGTERM or only by SIGKILL, prints its number, and goes on as its word says.
BENCH = f"""
import signal, subprocess, sys, threading, time
sys.path.insert(0, {str(bench_case.ROOT / "bench")!r})
import entry
entry.GRACE_S = .3
CHILD = "import signal, sys, time; signal.signal(signal.SIGTERM, signal." + sys.argv[1] + "); print(flush=True); time.sleep(600)"
def waits(argv):
    with subprocess.Popen([sys.executable, "-c", CHILD], stdout=subprocess.PIPE) as child:
        child.stdout.readline()
        print(child.pid, flush=True)
        child.wait()
def waits_deaf(argv):
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
    with subprocess.Popen([sys.executable, "-c", CHILD], stdout=subprocess.PIPE) as child:
        child.stdout.readline()
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
        print(child.pid, flush=True)
        child.wait()
def ends(argv):
    child = subprocess.Popen([sys.executable, "-c", CHILD], stdout=subprocess.PIPE)
    child.stdout.readline()
    print(child.pid, flush=True)
    return 3
def fails(argv):
    ends(argv)
    raise OSError("no such file")
entry.run(globals()[sys.argv[2]])
"""


def runs(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


class Ends(unittest.TestCase):
    def bench(self, child, does):
        process = subprocess.Popen([sys.executable, "-c", BENCH, child, does], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        started = int(process.stdout.readline())
        if does.startswith("waits"):
            process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)
        self.assertFalse(runs(started), "what it started still runs")
        return process.returncode, said

    def test_by_sigterm_while_it_waits(self):
        self.assertEqual((143, ""), self.bench("SIG_DFL", "waits"))

    def test_by_sigterm_that_comes_just_before_it_waits(self):
        """Then nothing interrupts its wait. Here another thread takes the signal, which has the same effect."""
        self.assertEqual((143, ""), self.bench("SIG_DFL", "waits_deaf"))

    def test_by_sigterm_with_a_child_that_ignores_it(self):
        self.assertEqual((143, ""), self.bench("SIG_IGN", "waits"))

    def test_by_a_failure(self):
        self.assertEqual((9, "error: no such file\n"), self.bench("SIG_DFL", "fails"))

    def test_by_its_own_end(self):
        self.assertEqual((3, ""), self.bench("SIG_DFL", "ends"))


if __name__ == "__main__":
    bench_case.main()
