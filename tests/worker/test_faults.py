#!/usr/bin/env python3
"""Mid-trial, a process of a gang of two servers and two trainers is killed or stopped: the three
others are out and all name it; a stopped one that wakes finds itself out."""
import os
import pathlib
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from worker_gang import HOST, NOTICED, PATIENCE_S, SHORT, WORKER, Gang, own_ports, signal
from tap import Tap

ROWS = [  # victim, signal, threads of a server
    ("trainer/1", signal.SIGKILL, 2),
    ("pserver/1", signal.SIGKILL, 1),
    ("trainer/0", signal.SIGSTOP, 1),
    ("pserver/0", signal.SIGSTOP, 2),
]


def fault(row):
    victim, number, threads = row
    common = ["--server-threads", threads, *(SHORT if number == signal.SIGSTOP else [])]
    with Gang(2, 2, ["--steps", 100000, *common], common) as gang:
        return gang.strike(victim, number)


def check_end(tap):
    """Two trainers end with the same parameters, and say that they reached the servers over TCP."""
    first = None
    with Gang(2, 2, ["--warmup-steps", 1, "--steps", 2, "--print-digest"], []) as gang:
        ends = gang.end()
        summaries = {name: [r for r in gang[name].records if r["type"] == "summary"] for name in ends}
    for name, (code, error, stderr) in ends.items():
        tap.equal((0, None), (code, error), f"{name} ends well")
        if name.startswith("trainer"):
            first = first or stderr
            tap.equal(first, stderr, f"{name} ends with the parameters of all")
            summary = summaries[name][-1] if summaries[name] else {}
            tap.equal("Tcp", summary.get("transport"), f"{name} says how it reached the servers")
            want = 2 * 4 * 15254602
            tap.ok(want <= summary.get("bytes_tx", 0) < want * 1.02, f"{name}: bytes",
                   f"expected about {want}, got {summary.get('bytes_tx')}")


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
    check_end(tap)
    with ThreadPoolExecutor(len(ROWS)) as pool:
        results = list(pool.map(fault, ROWS))
    for (victim, number, _), (took_s, others, woken) in zip(ROWS, results):
        what = f"{number.name} of {victim}"
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
            tap.match("itself was stopped|reports", error and error["message"],
                      f"{what}: and says why")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
