#!/usr/bin/env python3
"""Two trainers and a parameter server of another architecture under an emulator end with the same bits each time: those of one
process that averages two micro-batches (micro_batches.c). Their parameters are as near to the ones of this machine's
instruction sets as those are to each other. Arguments: the emulator's command and micro_batches of that architecture;
BENCHD_NATIVE_BUILD is a build tree of this machine."""
import array
import math
import os
import pathlib
import subprocess
import sys
import tempfile

BATCH, STEPS = 2, 2   # of the steps one is warm-up
SHARE = 7             # every seventh parameter is compared
PATIENCE_S = 3000
CASE = ["2", str(BATCH), str(STEPS), "FP32", "Sync"]


def parameters(path):
    values = array.array("f")
    values.frombytes(path.read_bytes())
    return values[::SHARE]


def distance(a, b):
    """Relative root mean square."""
    return math.sqrt(sum((x - y) ** 2 for x, y in zip(a, b)) / sum(x * x for x in a))


CORES = {"avx2": "Haswell", "avx512": "SkylakeX"}   # OpenBLAS's, on a machine that has no better set


def main():
    *emulator, micro_batches = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="benchd-emulated-") as name:
        folder = pathlib.Path(name)
        wrapper = folder / "benchworker"
        wrapper.write_text("#!/bin/sh\nexec " + " ".join([*emulator, os.environ["BENCHWORKER"]]) + ' "$@"\n', encoding="utf-8")
        wrapper.chmod(0o755)
        os.environ["BENCHWORKER"] = str(wrapper)
        from worker_gang import Gang  # reads the variable
        from tap import Tap
        tap = Tap()
        files = {isa: folder / isa for isa in ("arm64", *CORES)}
        native = pathlib.Path(os.environ["BENCHD_NATIVE_BUILD"]) / "tests/worker/micro_batches"
        for isa, core in CORES.items():
            subprocess.run([native, *CASE, files[isa]], env={**os.environ, "BENCH_CPU_MASK": isa, "OPENBLAS_CORETYPE": core},
                           capture_output=True, check=True)
        want = subprocess.run([*emulator, micro_batches, *CASE, files["arm64"]], capture_output=True, text=True, check=True).stdout
        for turn in ("first", "second"):
            with Gang(1, 2, ["--batch-size", BATCH, "--warmup-steps", 1, "--steps", STEPS - 1, "--print-digest"]) as gang:
                ends = gang.end(timeout_s=PATIENCE_S)
            for replica, (code, error, stderr) in ends.items():
                tap.equal((0, None), (code, error), f"{turn} time: {replica} ends well")
                if not replica.startswith("pserver"):
                    tap.equal(want, stderr, f"{turn} time: parameters of {replica}")
        found = {isa: parameters(path) for isa, path in files.items()}
        usual = distance(found["avx2"], found["avx512"])
        print(f"# relative rms distance of parameters: AVX2 to AVX-512 {usual:.2g}", flush=True)
        tap.ok(usual > 0, "two instruction sets of this machine differ")
        for isa in CORES:
            off = distance(found[isa], found["arm64"])
            print(f"# relative rms distance of parameters: {isa} to arm64 {off:.2g}", flush=True)
            tap.ok(0 < off < 2 * usual, f"the parameters of arm64 are as near to those of {isa}", f"{off} is not below 2 x {usual}")
    return tap.done()


if __name__ == "__main__":
    sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parents[1] / "e2e")]
    sys.exit(main())
