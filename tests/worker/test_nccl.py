#!/usr/bin/env python3
"""Workers that exchange through NCCL, with stand-ins for NCCL's library and the driver's (stand_in_nccl.c, stand_in_cuda.c):
they end with the parameters of a ring, every failure is one line and exit 13, a killed peer is named although
the other one waits in the library, and a call that does not end is ended.

test_nccl.py FOLDER: the one with the stand-ins."""
import os
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from worker_gang import LOST_S, PATIENCE_S, SHORT, Ring, seconds_since, signal
from tap import Tap

FOLDER = sys.argv[1]
STEPS = ["--warmup-steps", 1, "--steps", 2, "--print-digest"]
ONE_STEP = ["--warmup-steps", 0, "--steps", 1]
LIMIT_S = 50  # on a busy machine; less than the rendezvous, which would end it otherwise


class Env:
    """Variables of all workers that are started within."""

    def __init__(self, **variables):
        self.variables = variables

    def __enter__(self):
        self.before = {k: os.environ.get(k) for k in self.variables}
        os.environ.update(self.variables)

    def __exit__(self, *_):
        for k, v in self.before.items():
            os.environ.pop(k, None)
            if v is not None:
                os.environ[k] = v


STARTING = threading.Lock()  # the variables of one ring at a time


def started(n, args, **variables):
    with STARTING, Env(LD_LIBRARY_PATH=FOLDER, **variables):
        return Ring(n, args)


def ends(n, transport, steps, **variables):
    with Env(**{"LD_LIBRARY_PATH": FOLDER, **variables}), Ring(n, [*steps, "--transport", transport]) as ring:
        end = ring.end()
        return end, {name: {r["type"]: r for r in ring[name].records} for name in end}


def check_sums(tap):
    """Two gradients have one sum, in whatever order they are added; three have not, but all ranks the same."""
    ring, _ = ends(2, "TCP", STEPS)
    want = ring["worker/0"][2]
    for n in (2, 3):
        end, records = ends(n, "NCCL", STEPS, **({"NCCL_MULTI_RANK_GPU_ENABLE": "1"} if n == 3 else {}))
        want = want if n == 2 else end["worker/0"][2]
        for name, (code, error, stderr) in end.items():
            tap.equal((0, None, want), (code, error, stderr), f"{n} workers: {name} has the parameters of all")
            start, summary = (records[name].get(type_, {}) for type_ in ("start", "summary"))
            tap.equal("NCCL", summary.get("transport"), f"{n} workers: {name} says so")
            tap.equal("2.21.5" + (", ranks may share a GPU" if n == 3 else ""), start.get("environment", {}).get("nccl"),
                      f"{n} workers: {name} says which")
            sent = 2 * 2 * (n - 1) / n * 4 * 15254602  # in two measured steps: gradients, then parameters
            tap.ok(sent * 0.98 < summary.get("bytes_tx", 0) < sent * 1.02, f"{n} workers: bytes of {name}",
                   f"expected about {sent:.0f}, got {summary.get('bytes_tx')}")


FAILURES = [
    ({"STAND_IN_GPUS": "0"}, "transport NCCL: there is no GPU"),
    ({"LD_LIBRARY_PATH": "/nowhere"}, "transport NCCL: libcuda.so.1: cannot open shared object file"),
    ({"LD_LIBRARY_PATH": "only the driver"}, "transport NCCL: libnccl.so.2: cannot open shared object file"),
    ({"STAND_IN_NCCL_FAILS": "ncclGetUniqueId"}, "ncclGetUniqueId: stand-in failure (NCCL 2)"),
    ({"STAND_IN_NCCL_FAILS": "ncclReduceScatter"}, "ncclReduceScatter: stand-in failure (NCCL 2)"),
]


def check_failures(tap):
    with tempfile.TemporaryDirectory() as only_cuda:
        os.symlink(os.path.join(FOLDER, "libcuda.so.1"), os.path.join(only_cuda, "libcuda.so.1"))
        for variables, says in FAILURES:
            if variables.get("LD_LIBRARY_PATH") == "only the driver":
                variables = {"LD_LIBRARY_PATH": only_cuda}
            end, _ = ends(2, "NCCL", ONE_STEP, **variables)
            check_ends(tap, says, end, says)


def check_local_rank(tap):
    """The rank among those of a machine chooses the GPU: here all ranks, as on machines of their own, are the same."""
    for variables, gpu in (({"LOCAL_RANK": "3"}, "1"),
                           *(({name: "1"}, "1") for name in ("OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"))):
        end, _ = ends(2, "NCCL", ONE_STEP, STAND_IN_GPUS="2", STAND_IN_GPU=gpu, **variables)
        tap.equal([0, 0], [code for code, _, _ in end.values()], f"{variables}: GPU {gpu} of 2")
    for variables in ({}, {"LOCAL_RANK": "x"}):
        with started(2, [*ONE_STEP, "--transport", "NCCL", "--rendezvous-s", 3], STAND_IN_GPUS="2", STAND_IN_GPU="0", **variables) as ring:
            end = ring.end()
        tap.match("cuDeviceGet", end["worker/1"][2], f"{variables or 'no launcher'}: worker/1 takes GPU 1")
        tap.match("worker/1", end["worker/0"][2], f"{variables or 'no launcher'}: worker/0 takes GPU 0, and misses worker/1")


def check_kill(tap):
    with Env(LD_LIBRARY_PATH=FOLDER), Ring(2, ["--steps", 100000, "--transport", "NCCL"]) as ring:
        ring["worker/0"].wait_for("step", 3)
        begin = time.monotonic()
        ring["worker/1"].signal(signal.SIGKILL)
        code, error, stderr = ring["worker/0"].end()
        tap.equal((11, "worker/1"), (code, error and error["peer"]), "a killed peer is named")
        tap.equal(1, stderr.count("\n"), "in one line")
        tap.ok(seconds_since(begin) < LIMIT_S, "at once", f"after {seconds_since(begin):.1f} s")


def check_connecting(tap):
    """NCCL connects all ranks, or none: it waits for a rank that has died."""
    with tempfile.TemporaryDirectory() as folder, started(3, [*STEPS, "--transport", "NCCL"], STAND_IN_NCCL_HANGS=folder) as ring:
        begin = time.monotonic()
        while len(os.listdir(folder)) < 3 and seconds_since(begin) < PATIENCE_S:
            time.sleep(0.05)
        begin = time.monotonic()
        ring["worker/1"].signal(signal.SIGKILL)
        end = ring.end(["worker/0", "worker/2"])
        tap.ok(seconds_since(begin) < LIMIT_S, "killed while NCCL connects: at once", f"after {seconds_since(begin):.1f} s")
    for name, (code, error, stderr) in end.items():
        tap.equal((11, "worker/1", 1), (code, error and error["peer"], stderr.count("\n")), f"killed while NCCL connects: {name} names the cause")


# What NCCL does, in which the communicator's abort may hang too, and what all ranks say within the limit.
STUCK = [
    ({"STAND_IN_NCCL_STUCK": "ncclReduceScatter"}, "ncclReduceScatter has not ended within 8 s"),
    ({"STAND_IN_NCCL_STUCK": "ncclAllGather", "STAND_IN_NCCL_DEAF": "1"}, "ncclAllGather has not ended within 8 s"),
    ({"STAND_IN_NCCL_HANGS": "."}, "ncclCommInitRank has not ended within 8 s"),
]
RENDEZVOUS_S = 8  # so long may all need to meet, too
BACK_S = 2  # NCCL_WATCH_BACK_NS
PEER_S = LOST_S + 1  # by then a silent peer has been noticed


def check_ends(tap, what, end, says):
    """All ranks end by one line, none of them with the name of a peer that is well."""
    codes = sorted(str(code) for code, _, _ in end.values())
    tap.ok(codes[-1] == "13" and codes[0] in ("11", "13"), f"{what}: exit codes", f"got {codes}")
    for name, (_, _, stderr) in end.items():
        tap.ok(says in stderr, f"{what}: {name} says so", f"got {stderr!r}")
        tap.equal(1, stderr.count("\n"), f"{what}: {name} says it in one line")


def stuck(row):
    """(the ends, seconds)"""
    variables, _ = row
    with tempfile.TemporaryDirectory() as folder:
        own = {k: folder if v == "." else v for k, v in variables.items()}
        begin = time.monotonic()
        with started(2, ["--steps", 5, "--transport", "NCCL", "--rendezvous-s", RENDEZVOUS_S], **own) as ring:
            return ring.end(), seconds_since(begin)


def check_stuck(tap):
    with ThreadPoolExecutor(len(STUCK)) as pool:  # they mostly wait
        results = list(pool.map(stuck, STUCK))
    for (variables, says), (end, took_s) in zip(STUCK, results):
        check_ends(tap, f"{variables}", end, says)
        tap.ok(took_s < RENDEZVOUS_S + BACK_S + LIMIT_S, f"{variables}: in time", f"after {took_s:.1f} s")


def report_error(path, digit):
    """Whole or not at all."""
    with open(path + ".new", "w", encoding="ascii") as f:
        f.write(digit)
    os.rename(path + ".new", path)


REFUSED = {"STAND_IN_NCCL_REFUSES": "1"}
REPORTED = [("3", None, {}), ("6", "worker/1", {}), ("6", None, {}), ("6", "worker/1", REFUSED), ("6", None, REFUSED)]


def reported(row):
    """(the ends, seconds)"""
    digit, victim, more = row
    with tempfile.TemporaryDirectory() as folder:
        with started(2, ["--steps", 100000, "--transport", "NCCL", *SHORT], STAND_IN_NCCL_ASYNC=f"{folder}/error", **more) as ring:
            ring["worker/0"].wait_for("step", 2)
            begin = time.monotonic()
            report_error(f"{folder}/error", digit)
            if victim is not None:
                time.sleep(0.5)  # the error comes first
                ring[victim].signal(signal.SIGKILL)
            return ring.end([name for name in ring.replicas if name != victim]), seconds_since(begin)


def check_reported(tap):
    """NCCL reports an error of its work, or refuses a call with it. One of its own ends the rank; behind one of the network may be a peer."""
    with ThreadPoolExecutor(len(REPORTED)) as pool:  # they mostly wait
        results = list(pool.map(reported, REPORTED))
    for (digit, victim, more), (end, took_s) in zip(REPORTED, results):
        what = f"NCCL {'refuses calls with' if more else 'reports'} {digit}, {victim} dies"
        if victim is None and digit == "6":
            tap.ok(took_s >= PEER_S, f"{what}: a peer has its time", f"after {took_s:.1f} s")
        if victim is None:
            check_ends(tap, what, end, f"(NCCL {digit})")
        for name, (code, error, stderr) in end.items() if victim is not None else ():
            tap.equal((11, victim, 1), (code, error and error["peer"], stderr.count("\n")), f"{what}: {name} names the cause")
        limit_s = (PEER_S if digit == "6" and victim is None else 0) + BACK_S + LIMIT_S
        tap.ok(took_s < limit_s, f"{what}: in time", f"after {took_s:.1f} s")


def main():
    tap = Tap()
    check_sums(tap)
    check_failures(tap)
    check_local_rank(tap)
    check_kill(tap)
    check_connecting(tap)
    check_stuck(tap)
    check_reported(tap)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
