#!/usr/bin/env python3
"""Emulated trainers and workers: real processes that sleep where they would compute and share one arena. What they send is
summed by real servers, or by the workers themselves; a sum that is wrong is found, and who sent it named."""
import math
import mmap
import os
import struct
import subprocess
import sys

from worker_gang import WORKER, Gang, Replica, Ring
from tap import Tap

LAYERS = [f"conv{stack}_{i + 1}" for stack, n in enumerate((2, 2, 3, 3, 3), 1) for i in range(n)] + ["fc1", "fc2", "fc3"]
FORWARD_NS, BACKWARD_NS = 2_000_000, 4_000_000
TRACE = ",".join(f"{name}={FORWARD_NS}:{BACKWARD_NS}" for name in LAYERS)
STEP_NS = len(LAYERS) * (FORWARD_NS + BACKWARD_NS)
EMULATED = ["--compute", "Emulated", "--trace", TRACE]
N_PARAMS, BYTES = 15254602, 4 * 15254602
PAGE = 4096


class Shares:
    """Of a gang whose trainers or workers share one file."""

    def __init__(self, fd, *args):
        self.fd = fd
        super().__init__(*args)

    def add(self, role, index, args):
        more = ["--arena-fd", self.fd] if role != "pserver" else []
        name = f"{role}/{index}"
        self.replicas[name] = Replica(name, [role, "--index", index, *args, *more], pass_fds=(self.fd,))


class Sharing(Shares, Gang):
    pass


class SharingRing(Shares, Ring):
    pass


def run(fd, n_servers, n_trainers, *more):
    """{name: (exit code, error record, stderr)}, {name: records}"""
    with Sharing(fd, n_servers, n_trainers, [*EMULATED, "--steps", 3, "--warmup-steps", 1, *more]) as gang:
        ends = gang.end()
        return ends, {name: replica.records for name, replica in gang.replicas.items()}


def check_honest(tap, fd):
    ends, records = run(fd, 2, 3)
    for name, end in ends.items():
        tap.equal((0, None, ""), end, f"a gang of emulated trainers: {name} ends well")
    for name in ("trainer/0", "trainer/2"):
        steps = [r for r in records[name] if r["type"] == "step" and not r.get("warmup")]
        tap.equal("Emulated", records[name][0]["environment"].get("compute"), f"{name}: its first record says what it is")
        tap.equal([0, 1, 2], [r["step"] for r in steps], f"{name}: a record of each step")
        tap.ok(all(r["step_ns"] >= STEP_NS for r in steps), f"{name}: no step is shorter than its layers", steps)
        tap.ok(all(r["phase_ns"]["backward"] >= len(LAYERS) * BACKWARD_NS for r in steps), f"{name}: nor its backward pass", steps)
        tap.equal([None] * 3, [r["loss"] for r in steps], f"{name}: there is no loss")
        summary = records[name][-1]
        tap.ok(summary["bytes_tx"] >= 3 * BYTES and summary["bytes_rx"] >= 3 * BYTES, f"{name}: the bytes are real", summary)
    tap.ok("compute" not in records["pserver/0"][0]["environment"], "a server is as any other", records["pserver/0"][0])
    size = os.fstat(fd).st_size
    tap.ok(2 * BYTES < size < 2 * BYTES + 100 * PAGE, "the arena holds gradients and parameters once", size)


def flip(fd, offset):
    with mmap.mmap(fd, 0) as arena:
        arena[offset] ^= 1


def check_wrong_sum(tap, fd):
    """One bit of one exponent: the sum is not the one that the first trainer computed. (The last bits of a mantissa
    would be lost where Adam rounds.)"""
    grads = PAGE + math.ceil(4 * 62 * 4 / PAGE) * PAGE  # after the head and the checksums of 4 steps and 62 slices
    flip(fd, grads + 5_000_003)
    ends, _ = run(fd, 2, 3)
    # One trainer finds it first and names the server; the others hear of it.
    blamed = {name: (code, error["peer"]) for name, (code, error, _) in ends.items() if error is not None and code == 12}
    tap.ok(blamed and all(name.startswith("trainer/") and peer.startswith("pserver/") for name, (_, peer) in blamed.items()),
           "a wrong sum: a trainer blames the server", ends)
    said = " ".join(stderr for _, _, stderr in ends.values())
    tap.match(r"wrong parameters of step \d, slice \d+: checksum [0-9a-f]{8}, expected [0-9a-f]{8}; the sum of the gradients is wrong",
              said, "a wrong sum: says where")
    tap.ok(all(code in (11, 12) for code, _, _ in ends.values()), "a wrong sum: nobody succeeds", ends)
    flip(fd, grads + 5_000_003)
    ends, _ = run(fd, 2, 3)
    tap.equal([0] * 5, [code for code, _, _ in ends.values()], "mended, the same arena does for the next attempt")


def check_unfinished(tap, fd):
    """A trainer that died while it filled the arena."""
    with mmap.mmap(fd, 0) as arena:
        arena[32:40] = struct.pack("<Q", 0)
        arena[2 * PAGE:3 * PAGE] = bytes(PAGE)
    ends, _ = run(fd, 2, 3)
    tap.equal([0] * 5, [code for code, _, _ in ends.values()], "an arena that is not finished is filled again")


def check_bf16(tap):
    """Half the bytes, and the first trainer's sums are those of what was rounded."""
    wire = ["--wire", "BF16"]
    args = [*EMULATED, "--steps", 3, "--warmup-steps", 1, *wire]
    fd = os.memfd_create("arena")
    with Sharing(fd, 2, 3, args, wire) as gang:
        ends = gang.end()
        tap.equal([(0, None, "")] * 5, list(ends.values()), "a gang with bf16 on the wire ends well")
        summary = gang["trainer/0"].records[-1]
        sent = summary["bytes_tx"]
        tap.ok(3 * BYTES / 2 <= sent < 3 * BYTES / 2 * 1.01, "bf16: half the bytes", summary)
    flip(fd, PAGE + math.ceil(4 * 62 * 4 / PAGE) * PAGE + 5_000_003)
    with Sharing(fd, 2, 3, args, wire) as gang:
        ends = gang.end()
        tap.ok(any(code == 12 and error["peer"].startswith("pserver/") for code, error, _ in ends.values() if error is not None),
               "bf16: a wrong sum is found", ends)


def run_ring(fd, n_workers):
    with SharingRing(fd, n_workers, [*EMULATED, "--steps", 3, "--warmup-steps", 1]) as ring:
        ends = ring.end()
        return ends, {name: replica.records for name, replica in ring.replicas.items()}


def check_ring(tap):
    """Workers apply the optimiser themselves, so each sum is checked by the rank after its owner."""
    fd = os.memfd_create("arena")
    ends, records = run_ring(fd, 3)
    tap.equal([(0, None, "")] * 3, list(ends.values()), "a ring of emulated workers ends well")
    for name in ("worker/0", "worker/2"):
        summary = records[name][-1]
        steps = [r for r in records[name] if r["type"] == "step" and not r.get("warmup")]
        tap.equal("Emulated", records[name][0]["environment"].get("compute"), f"{name}: its first record says what it is")
        tap.ok(len(steps) == 3 and all(r["step_ns"] >= STEP_NS for r in steps), f"{name}: no step is shorter than its layers", steps)
        sent = 3 * BYTES * 4 / 3  # 2 (N - 1)/N of the parameters, in 3 steps
        early = 8 << 20  # a neighbour that left the barrier first may send these before this worker counts anew
        tap.ok(all(0.99 * sent - early <= summary[key] <= 1.01 * sent for key in ("bytes_tx", "bytes_rx")), f"{name}: the bytes are real", summary)
        tap.equal("TCP", summary["transport"], f"{name}: over TCP, as between machines")
    grads = 2 * PAGE  # after the head and the checksums of 4 steps and 234 slices
    flip(fd, grads + 5_000_003)
    ends, _ = run_ring(fd, 3)
    blamed = {name: error["peer"] for name, (code, error, _) in ends.items() if error is not None and code == 12}
    tap.ok(blamed and all(peer.startswith("worker/") and peer != name for name, peer in blamed.items()),
           "a wrong sum in a ring: a worker blames the one that sent it", ends)
    tap.ok("; the sum of the gradients is wrong" in " ".join(stderr for _, _, stderr in ends.values()), "a wrong sum in a ring: is said", ends)
    tap.ok(all(code in (11, 12) for code, _, _ in ends.values()), "a wrong sum in a ring: nobody succeeds", ends)


def alone(*args, fds=()):  # its records are not wanted
    done = subprocess.run([WORKER, "trainer", *args], capture_output=True, text=True, pass_fds=fds, check=False)
    return done.returncode, done.stderr


def check_refusals(tap, fd):
    with Sharing(fd, 2, 3, [*EMULATED, "--steps", 3, "--warmup-steps", 1]) as gang:
        code, stderr = alone(*map(str, EMULATED), "--trainers", "3", "--pservers", "2", "--pserver-addrs", gang.addrs,
                             "--steps", "3", "--warmup-steps", "1", "--seed", "2", "--secret-file", gang.key,
                             "--arena-fd", str(fd), fds=(fd,))
        tap.equal((2, "benchworker trainer/0: shared arena: it is another trial's\n"), (code, stderr), "another seed's arena")
        code, stderr = alone(*map(str, EMULATED), "--trainers", "3", "--pservers", "2", "--pserver-addrs", gang.addrs,
                             "--steps", "300", "--secret-file", gang.key, "--arena-fd", str(fd), fds=(fd,))
        tap.equal(2, code, "an arena of other steps")
        tap.match(r"shared arena: \d+ bytes, expected \d+: it is another trial's", stderr, "an arena of other steps: says so")
    rows = [
        (["--compute", "Emulated"], "compute Emulated needs the times of the layers; set --trace or BENCHD_TRACE"),
        (["--compute", "Faked"], "compute 'Faked': expected Real or Emulated"),
        (["--compute", "Emulated", "--trace", "conv1_1=1:2"], "trace: layer 'conv1_2' has parameters and no times"),
        ([*EMULATED, "--jitter", "0.31"], "jitter '0.31': expected a number from 0 to 0.3"),
        ([*EMULATED, "--steps", "999"], "compute Emulated takes at most 1000 steps, warm-up included"),
        (["--wire", "Fp16"], "--wire 'Fp16': expected FP32 or BF16"),
        (["--wire", "BF16"], "--wire 'BF16' needs parameter servers, but the exchange is None"),
        ([*EMULATED, "--print-digest"], "an emulated trainer has no parameters"),
    ]
    for args, says in rows:
        code, stderr = alone("--exchange", "None", *map(str, args))
        tap.equal(2, code, f"{says}: exit code")
        tap.ok(says in stderr, f"{says}: is said", stderr)


def check_alone(tap):
    """The baseline: the same sleep without peers."""
    code, error, _ = (r := Replica("trainer/0", ["trainer", "--exchange", "None", *EMULATED, "--steps", 2])).end()
    tap.equal((0, None), (code, error), "without peers")
    steps = [x["step_ns"] for x in r.records if x["type"] == "step"]
    tap.ok(all(ns >= STEP_NS for ns in steps), "without peers: the sleep is the step", steps)


def main():
    tap = Tap()
    fd = os.memfd_create("arena")
    check_honest(tap, fd)
    check_wrong_sum(tap, fd)
    check_unfinished(tap, fd)
    check_bf16(tap)
    check_ring(tap)
    check_refusals(tap, fd)
    check_alone(tap)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
