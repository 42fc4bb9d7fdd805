#!/usr/bin/env python3
"""A trainer whose main thread is stuck: nobody reads its stdout any more. Its communication thread lives, so
for its peers it looks alive."""
import fcntl
import os
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor

from worker_gang import PATIENCE_S, WORKER, Gang, Replica, signal, time
from tap import Tap

F_SETPIPE_SZ = 1031
PIPE_BYTES = 4096
STUCK = "trainer/1"


class Unread(Replica):
    """Nobody reads its stdout before it has ended."""

    def read(self):
        self.may_read.wait()
        super().read()

    def fill(self):
        """From now on its pipe takes no record. What is written here looks like lines of a table."""
        w = os.open(f"/proc/self/fd/{self.process.stdout.fileno()}", os.O_WRONLY | os.O_NONBLOCK)
        try:
            while os.write(w, b"#" * (PIPE_BYTES - 1) + b"\n"):
                pass
        except BlockingIOError:
            os.close(w)

    def __init__(self, *args):
        self.may_read = threading.Event()
        super().__init__(*args)

    def end(self, timeout_s=PATIENCE_S):
        try:
            self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.may_read.set()
        return super().end()


class StuckGang(Gang):
    def add(self, role, index, args):
        name = f"{role}/{index}"
        kind = Unread if name == STUCK else Replica
        self.replicas[name] = kind(name, [role, "--index", index, *args])


def get_stuck(gang):
    """Its first records pass, as of a reader that stops; the next one does not, however slow the steps are."""
    gang["trainer/0"].wait_for("step", 2)
    gang[STUCK].fill()


def wait_until_stuck(gang):
    """No step for a while. If the machine was only slow, the test shows less and passes all the same."""
    get_stuck(gang)
    n, since = 0, time.monotonic()
    while time.monotonic() - since < 2:
        if len(gang["trainer/0"].records) != n:
            n, since = len(gang["trainer/0"].records), time.monotonic()
        time.sleep(0.05)  # the processes are alive and say nothing: there is nothing to wait for


def server_dies():
    with StuckGang(1, 2, ["--steps", 100000]) as gang:
        wait_until_stuck(gang)
        gang["pserver/0"].signal(signal.SIGKILL)
        return gang.end(["trainer/0", STUCK])


def check_full_stdout(tap):
    """An error of a process whose stdout takes nothing from the start."""
    r, w = os.pipe()
    fcntl.fcntl(w, F_SETPIPE_SZ, PIPE_BYTES)
    os.write(w, bytes(PIPE_BYTES))
    with subprocess.Popen([WORKER, "pserver", "--listen", "7164"], stdout=w, stderr=subprocess.PIPE, text=True) as process:
        try:
            code = process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            code = "still running"
            process.kill()
        tap.equal(2, code, "a full stdout: an error ends the process")
        tap.match("expected host:port", process.stderr.read(), "a full stdout: stderr says why")
    os.close(r)
    os.close(w)


def nobody_reads():
    with StuckGang(1, 2, ["--steps", 100000]) as gang:
        get_stuck(gang)
        return gang.end()


def data_are_a_fifo():
    with tempfile.TemporaryDirectory() as d:
        for name in ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"):
            os.mkfifo(os.path.join(d, name))
        with Gang(1, 1, ["--data", f"idx:{d}"]) as gang:
            return gang.end()


def check_stuck(tap, what, culprit, ends):
    for name, (code, error, stderr) in ends.items():
        tap.equal(13 if name == culprit else 11, code, f"{what}: exit code of {name}")
        # On a busy machine a trainer may be stuck for 8 s before the server has begun to listen.
        was_early = name == "pserver/0" and f"{culprit} did not connect" in stderr
        tap.match("the main thread has done nothing for 8 s" if not was_early else culprit, stderr,
                  f"{what}: {name} says why")
        tap.equal(1, 1 if was_early else stderr.count("\n"), f"{what}: {name} says it in one line")
        if name != culprit:
            tap.equal(culprit, error and error["peer"], f"{what}: {name} names the culprit")


def main():
    tap = Tap()
    check_full_stdout(tap)
    with ThreadPoolExecutor(2) as pool:
        dead = pool.submit(server_dies)
        fifo = pool.submit(data_are_a_fifo)
        unread = pool.submit(nobody_reads)
    check_stuck(tap, "a full stdout", STUCK, unread.result())
    check_stuck(tap, "a FIFO as data", "trainer/0", fifo.result())
    what, ends = "a full stdout, then the server dies", dead.result()
    if ends[STUCK][0] == 13:  # the test itself was stalled, and killed the server too late
        check_stuck(tap, what, STUCK, ends)
        return tap.done()
    for name, (code, _, stderr) in ends.items():
        tap.equal(11, code, f"{what}: exit code of {name}")
        tap.match("pserver/0", stderr, f"{what}: {name} names the server")
        tap.equal(1, stderr.count("\n"), f"{what}: {name} says it in one line")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
