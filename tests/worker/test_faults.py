#!/usr/bin/env python3
"""Mid-trial, a process of a gang of two servers and two trainers, or of a ring, is killed or stopped: the others are out and
all name it, also those that are no neighbours of it in a ring; a stopped one that wakes finds itself out. And a worker that
is killed before its ring is closed or at the barrier."""
import os
import pathlib
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from worker_gang import HOST, NOTICED, PATIENCE_S, SHORT, WORKER, Gang, Ring, own_ports, signal
from tap import Tap

# A gang: how many workers a ring has, or the threads of each of two servers that two trainers use; the victim; the signal.
RING, SERVED = "ring", "gang"
ROWS = [
    (SERVED, 2, "trainer/1", signal.SIGKILL),
    (SERVED, 1, "pserver/1", signal.SIGKILL),
    (SERVED, 1, "trainer/0", signal.SIGSTOP),
    (SERVED, 2, "pserver/0", signal.SIGSTOP),
    (RING, 4, "worker/1", signal.SIGKILL),
    (RING, 2, "worker/0", signal.SIGKILL),
    (RING, 4, "worker/2", signal.SIGSTOP),
]
# Before the ring is closed, and at the barrier: the victim, and its record that is waited for (None: none).
EARLY = [("worker/1", None), ("worker/1", "step"), ("worker/0", "step")]


def fault(row):
    kind, n, victim, number = row
    common = ["--steps", 100000, *(SHORT if number == signal.SIGSTOP else [])]
    threads = ["--server-threads", n]
    with Ring(n, common) if kind == RING else Gang(2, 2, common + threads, common[2:] + threads) as gang:
        return gang.strike(victim, number)


def early_fault(row):
    victim, record = row
    with Ring(3, ["--warmup-steps", 1, "--steps", 100000, "--rendezvous-s", 20]) as ring:
        if record is not None:
            ring[victim].wait_for(record)
        ring[victim].signal(signal.SIGKILL)
        return ring.end([name for name in ring.replicas if name != victim])


def check_early(tap):
    with ThreadPoolExecutor(len(EARLY)) as pool:  # they mostly wait
        results = list(pool.map(early_fault, EARLY))
    for (victim, record), others in zip(EARLY, results):
        what = f"SIGKILL of {victim} {'at its start' if record is None else 'at the barrier'}"
        for name, (code, error, stderr) in others.items():
            tap.equal((11, victim), (code, error and error["peer"]), f"{what}: {name} names the cause")
            tap.match(victim, stderr, f"{what}: {name} says so on stderr")


PROCESS_ONE = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child"]


def check_process_one(tap):
    """In a container the worker is process 1, for which the kernel drops a SIGTERM that nobody handles."""
    what = "SIGTERM as process 1 of a container"
    if subprocess.run([*PROCESS_ONE, "true"], capture_output=True, check=False).returncode != 0:
        tap.ok(True, f"{what} # SKIP no namespaces here")
        return
    with tempfile.NamedTemporaryFile() as key:
        key.write(os.urandom(32))
        key.flush()
        words = [WORKER, "pserver", "--run", "alone", "--pservers", "1", "--trainers", "1", "--index", "0",
                 "--listen", f"{HOST}:{own_ports(1)[0]}", "--secret-file", key.name]
        with subprocess.Popen([*PROCESS_ONE, *words], stdout=subprocess.PIPE, text=True) as process:
            tap.match('"type":"start"', process.stdout.readline(), f"{what}: a server has started")
            children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            os.kill(int(children[0]), signal.SIGTERM)
            try:
                code = process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                code = "still running"
                process.kill()
    tap.equal(128 + signal.SIGTERM, code, f"{what}: ends at once, as a shell would call it")


def main():
    tap = Tap()
    check_process_one(tap)
    if "--no-rings" not in sys.argv:
        check_early(tap)
    rows = [row for row in ROWS if row[0] != RING or "--no-rings" not in sys.argv]
    with ThreadPoolExecutor(4) as pool:  # they wait more than they compute, and take memory
        results = list(pool.map(fault, rows))
    for (kind, _, victim, number), (took_s, others, woken) in zip(rows, results):
        what = f"{number.name} of {victim} of a {kind}"
        print(f"# {what}: the last one left after {took_s:.1f} s")
        for name, (code, error, stderr) in others.items():
            tap.equal(11, code, f"{what}: exit code of {name}")
            tap.equal(victim, error and error["peer"], f"{what}: {name} names the cause")
            tap.match(f"{victim}.*{NOTICED[number]}", stderr, f"{what}: {name} says so on stderr, and how it was noticed")
            # Trainers dial again where servers take half a minute for their parameters, and that is a line of the log.
            said = [line for line in stderr.splitlines() if not line.startswith("level=warn msg=\"connection rejected\"")]
            tap.equal(1, len(said), f"{what}: {name} says it in one line")
        if woken is not None:
            code, error, _ = woken
            tap.equal((11, victim), (code, error and error["peer"]), f"{what}: it finds itself out")
            tap.match("itself was stopped|reports", error and error["message"], f"{what}: and says why")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
