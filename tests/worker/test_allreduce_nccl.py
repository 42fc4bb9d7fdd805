#!/usr/bin/env python3
"""benchworker allreduce --backend nccl from outside, with stand-ins for NCCL's library and the driver's (stand_in_nccl.c,
stand_in_cuda.c): its table, sums that are wrong, every failure as one line and exit 13, and who is named while NCCL waits.

test_allreduce_nccl.py FOLDER: the one with the stand-ins."""
import json
import os
import sys
import tempfile

from worker_gang import PATIENCE_S, seconds_since, signal, time
from tap import Tap
from test_allreduce import ROW, Ranks, check_faults, rows_of
from test_nccl import Env, report_error

FOLDER = sys.argv[1]
NCCL = ["--backend", "nccl"]
LIMIT_S = 50  # on a busy machine; less than the rendezvous, which would end it otherwise

# ranks, options, and the sizes; the last ones are longer than what is copied, and what the stand-in adds up, at a time
TABLES = [
    (1, ["-b", "4", "-e", "4"], [4]),
    (2, ["-b", "4", "-e", "1M", "-f", "64"], [4 * 64**i for i in range(4)]),
    (3, ["-b", "4K", "-e", "2M", "-i", "1M"], [4096, 4096 + 2**20]),
    (2, ["-b", "20M", "-e", "20M"], [20 * 2**20]),
]


def check_tables(tap):
    for n, args, sizes in TABLES:
        what = f"{n} ranks {' '.join(args)}"
        with Ranks(n, [*args, *NCCL, "-n", 3, "-w", 1, "-c", 2], {0: ["-J", "/dev/fd/2"]}) as ranks:
            ends = ranks.end()
        tap.equal([0] * n, [code for code, _, _ in ends], f"{what}: exit codes")
        table = ends[0][1]
        rows = rows_of(table)
        tap.equal(sizes, [int(ROW.match(row).group(1)) if ROW.match(row) else row for row in rows], f"{what}: the sizes")
        tap.match("# Out of bounds values : 0 OK\n", table, f"{what}: the foot")
        tap.match(f" allreduce: {n} ranks?, backend nccl, ", table, f"{what}: the head")
        found = json.loads(ends[0][2]) if ends[0][0] == 0 else {"rows": []}
        tap.equal(("nccl", {"NCCL 2.21.5"}), (found.get("backend"), {row["way"] for row in found["rows"]}), f"{what}: JSON")


def check_wrong(tap):
    with Env(STAND_IN_NCCL_WRONG="1"), Ranks(2, ["-b", "400", "-e", "400", "-c", 3, *NCCL]) as ranks:
        ends = ranks.end()
    tap.equal([12, 12], [code for code, _, _ in ends], "wrong sums: exit codes")
    # One number of each of 3 calls, on 2 ranks; out of place and in place.
    tap.match(r" 6 .* 6\n# Out of bounds values : 12 FAILED", ends[0][1], "wrong sums are counted")


def check_failures(tap, only_cuda):
    rows = [
        ({"STAND_IN_GPUS": "0"}, "backend nccl: there is no GPU"),
        ({"LD_LIBRARY_PATH": "/nowhere"}, "backend nccl: libcuda.so.1: cannot open shared object file"),
        ({"LD_LIBRARY_PATH": only_cuda}, "backend nccl: libnccl.so.2: cannot open shared object file"),
        ({"STAND_IN_NCCL_FAILS": "ncclGetUniqueId"}, "ncclGetUniqueId: stand-in failure (NCCL 2)"),
        ({"STAND_IN_NCCL_FAILS": "ncclCommInitRank"}, "ncclCommInitRank: stand-in failure (NCCL 2)"),
        ({"STAND_IN_NCCL_FAILS": "ncclAllReduce"}, "ncclAllReduce: stand-in failure (NCCL 2)"),
    ]
    for variables, says in rows:
        for n in (1, 2):
            with Env(**variables), Ranks(n, ["-b", "4K", "-e", "4K", *NCCL]) as ranks:
                ends = ranks.end()
            codes = sorted(code for code, _, _ in ends)
            tap.ok(codes[-1] == 13 and codes[0] in (11, 13), f"{says}, {n} ranks: exit codes", f"got {codes}")
            for _, _, err in ends:
                tap.ok(says in err, f"{says}, {n} ranks: says so", f"got {err!r}")
                tap.equal(1, err.count("\n"), f"{says}, {n} ranks: in one line")


def check_local_rank(tap):
    """The rank among those of a machine chooses the GPU."""
    rows = [({}, "0"), ({"LOCAL_RANK": "x"}, "0"), ({"LOCAL_RANK": "3"}, "1"),
            *(({name: "1"}, "1") for name in ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"))]
    for variables, gpu in rows:
        with Env(STAND_IN_GPUS="2", STAND_IN_GPU=gpu, **variables), Ranks(1, ["-b", "4K", "-e", "4K", *NCCL]) as ranks:
            tap.equal(0, ranks.end()[0][0], f"{variables or 'rank 0'}: GPU {gpu} of 2")


def wait_for_files(folder, n):
    begin = time.monotonic()
    while len(os.listdir(folder)) < n and seconds_since(begin) < PATIENCE_S:
        time.sleep(0.05)


def check_connecting(tap):
    """NCCL connects all ranks, or none: it waits for who has died."""
    with tempfile.TemporaryDirectory() as folder, Env(STAND_IN_NCCL_HANGS=folder):
        with Ranks(3, ["-b", "4K", "-e", "4K", *NCCL]) as ranks:
            wait_for_files(folder, 3)
            begin = time.monotonic()
            ranks.processes[1].send_signal(signal.SIGKILL)
            ends = ranks.end(but=1)
            tap.ok(seconds_since(begin) < LIMIT_S, "killed while NCCL connects: at once", f"after {seconds_since(begin):.1f} s")
        for code, _, err in ends:
            tap.equal((11, 1), (code, err.count("\n")), "killed while NCCL connects: exit code, and one line")
            tap.match("worker/1", err, "killed while NCCL connects: names the cause")
        with Ranks(2, ["-b", "4K", "-e", "4K", "--rendezvous-s", 8, *NCCL]) as ranks:
            ends = ranks.end()
    tap.ok(13 in [code for code, _, _ in ends], "NCCL does not connect: exit code", ends)
    for _, _, err in ends:
        tap.match("ncclCommInitRank has not ended within 8 s", err, "NCCL does not connect: says so")


def check_reported(tap):
    """NCCL reports an error while a call is under way, or refuses one with it; of its network, a rank that dies meanwhile is the cause."""
    refused = {"STAND_IN_NCCL_REFUSES": "1"}
    for digit, victim, more in (("3", None, {}), ("6", 1, {}), ("3", None, refused), ("6", 1, refused)):
        with tempfile.TemporaryDirectory() as folder, Env(STAND_IN_NCCL_ASYNC=f"{folder}/error", **more):
            with Ranks(3, ["-b", "1M", "-e", "1M", "-n", 1000000, *NCCL]) as ranks:
                ranks.processes[0].stdout.readline()  # all are connected
                report_error(f"{folder}/error", digit)
                if victim is not None:
                    time.sleep(0.5)  # the error comes first
                    tap.equal([None] * 3, [p.poll() for p in ranks.processes], f"{more}: no rank has ended by itself")
                    ranks.processes[victim].send_signal(signal.SIGKILL)
                begin = time.monotonic()
                ends = ranks.end(but=victim)
        what = f"NCCL {'refuses calls with' if more else 'reports'} {digit}, {victim} dies"
        tap.ok(seconds_since(begin) < LIMIT_S, f"{what}: at once", f"after {seconds_since(begin):.1f} s")
        tap.ok((13 if victim is None else 11) in [code for code, _, _ in ends], f"{what}: exit codes", f"got {ends}")
        for _, _, err in ends:
            tap.match("NCCL 3" if victim is None else "worker/1", err, f"{what}: says so")
            tap.equal(1, err.count("\n"), f"{what}: in one line")


def main():
    tap = Tap()
    with Env(LD_LIBRARY_PATH=FOLDER), tempfile.TemporaryDirectory() as only_cuda:
        os.symlink(os.path.join(FOLDER, "libcuda.so.1"), os.path.join(only_cuda, "libcuda.so.1"))
        check_tables(tap)
        check_wrong(tap)
        check_failures(tap, only_cuda)
        check_local_rank(tap)
        check_connecting(tap)
        check_reported(tap)
        check_faults(tap, "nccl")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
