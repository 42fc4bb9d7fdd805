#!/usr/bin/env python3
"""script/bench gpu pack [--out FILE] [--programs BUILD] [--nccl FILE]
script/bench gpu run [--pack FILE] [--out DIR] [--quick]

pack makes, on a machine without a GPU, one archive with all that `run` needs: benchctl and benchworker with their libraries, NCCL cut to
one architecture (sm_90: H100 and H200; its wheel comes from PyPI), definitions, and this file. It prints the size, and fails if archive and
tree together have more than 60 MiB.

run needs the archive, an x86-64 machine with NVIDIA's driver, and Python 3.10; nothing is compiled or installed. Where PyTorch is there, it is
measured too. Each step has a limit, smallest first; what a step has measured by then is in the table. All take 500 s at most. Writes
DIR/gpu.md, and exits with 1 if a step has failed. Ranks that share a GPU take turns on it: their times show that calls are right and what
the programs add, and nothing of a link between GPUs."""
import argparse
import ctypes
import importlib.util
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile

import entry
import telemetry
from figures import Spread

ROOT = pathlib.Path(__file__).resolve().parent.parent   # of the tree, or of the archive
ARCHIVE = ROOT / "build-gpu" / "gpu-pack.tar.xz"
WHEEL, ARCHITECTURE = "nvidia-nccl-cu12==2.32.3", 90
FATBIN = 0xBA55ED50
MODEL_BYTES, MODEL_FLOPS = 61018408, 1878816768
SHARES = {"NCCL_MULTI_RANK_GPU_ENABLE": "1", "NCCL_NVLS_ENABLE": "0", "NCCL_MAX_CTAS": "2"}


# ---- pack ----

def cut(library):
    """Zeros where code for other architectures, and code that only linkers read, was: NCCL loads as before, and the rest is compressed."""
    data = bytearray(library)
    table, = struct.unpack_from("<Q", data, 0x28)
    size, n, names = struct.unpack_from("<HHH", data, 0x3A)
    rows = [struct.unpack_from("<IIQQQQ", data, table + i * size) for i in range(n)]
    for row in rows:
        name = bytes(data[rows[names][4] + row[0]:][:16]).partition(b"\0")[0]
        if name not in (b".nv_fatbin", b"__nv_relfatbin"):
            continue
        at, end = row[4], row[4] + row[5]
        while at + 16 <= end:
            magic, _, head, length = struct.unpack_from("<IHHQ", data, at)
            part, after = at + head, at + head + length
            while magic == FATBIN and part + 32 <= after:
                head, length = struct.unpack_from("<IQ", data, part + 4)
                if name == b"__nv_relfatbin" or struct.unpack_from("<I", data, part + 28)[0] != ARCHITECTURE:
                    data[part + head:part + head + length] = bytes(length)
                part += head + length
            at = after if magic == FATBIN else at + 8
    return data


def nccl_of_wheel(folder):
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "-d", folder, WHEEL], check=True)
    with zipfile.ZipFile(next(pathlib.Path(folder).glob("*.whl"))) as wheel:
        return cut(wheel.read("nvidia/nccl/lib/libnccl.so.2"))


def pack(args):
    sys.path.insert(0, str(ROOT / "packaging"))
    import archive   # pylint: disable=import-outside-toplevel # which the archive does not have
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name, "gpu-pack")
        (folder / "bench").mkdir(parents=True)
        subprocess.run(["meson", "install", "-C", args.programs, "--no-rebuild", "--strip", "--quiet", "--destdir", f"{name}/root"], check=True)
        installed = next(pathlib.Path(name, "root").rglob("bin/benchctl")).parent
        archive.add_programs(folder, {program: installed / program for program in ("benchctl", "benchworker")})
        (folder / "lib/libnccl.so.2").write_bytes(args.nccl.read_bytes() if args.nccl else nccl_of_wheel(name))
        shutil.copytree(installed.parent / "share/benchd/benchmarks", folder / "share/benchd/benchmarks")
        for file in ("gpu.py", "telemetry.py", "entry.py", "figures.py"):
            shutil.copy(ROOT / "bench" / file, folder / "bench")
        args.out.parent.mkdir(parents=True, exist_ok=True)
        with tarfile.open(args.out, "w:xz", preset=1) as tar:
            tar.add(folder, "gpu-pack")
    print(f"{args.out}: {args.out.stat().st_size / 2**20:.1f} MiB")
    return 0


# ---- run ----

def card():
    """The first GPU: its name, the driver, and how many there are."""
    nvml = ctypes.CDLL("libnvidia-ml.so.1")
    count, device = ctypes.c_uint(), ctypes.c_void_p()
    name, driver = ctypes.create_string_buffer(96), ctypes.create_string_buffer(96)
    if (nvml.nvmlInit_v2() or nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)) or nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device))
            or nvml.nvmlDeviceGetName(device, name, 96) or nvml.nvmlSystemGetDriverVersion(driver, 96)):
        raise OSError("NVIDIA's driver does not say which GPUs there are")
    return name.value.decode(), driver.value.decode(), count.value


def definition(name, systems, grid, role, steps, repeats, **workload):
    spec = {"systems": systems, "workload": workload, "sweep": {"grid": grid},
            "baseline": {"kind": "Point", "where": {"batch_size": grid["batch_size"][0]}}, "roles": {role: {"replicas": {"from": role + "s"}}},
            "measure": {"warmupSteps": 2, "steps": steps}, "repeats": {"min": repeats, "order": "Interleaved"}}
    if "bytes" in grid:
        spec["parameters"] = [{"name": "bytes", "targets": [{"roles": [role], "args": ["--minbytes=", "--maxbytes="]}]}]
    if "precision" in workload:
        spec["roles"][role]["devices"] = {"value": 1}
    return {"apiVersion": "benchd.io/v1alpha1", "kind": "Benchmark", "metadata": {"name": name}, "spec": spec}


class Gpu:
    def __init__(self, args, n_gpus):
        self.args, self.n_gpus, self.out = args, n_gpus, args.out
        self.repeats, self.steps = (1, 2) if args.quick else (3, 20)
        self.has_torch = importlib.util.find_spec("torch") is not None
        self.is_shared = n_gpus == 1
        self.env = [{"name": key, "value": value} for key, value in {"NCCL_DEBUG": "WARN", **(SHARES if self.is_shared else {})}.items()]
        os.environ.update(BENCHCTL=str(ROOT / "bin/benchctl"), BENCHWORKER=str(ROOT / "bin/benchworker"))

    @staticmethod
    def torch(*options, **keys):
        """A system."""
        command = [sys.executable, str(ROOT / "share/benchd/benchmarks/profiles/pytorch/train.py"), *options]
        return {"name": "-".join(["pytorch", *options]).replace("--precision=", ""), "profile": "none", "command": command, **keys}

    def ranks(self, **keys):
        """The same as ranks, with the NCCL of the archive in place of PyTorch's own, if PyTorch is there."""
        env = [*self.env, {"name": "LD_PRELOAD", "value": str(ROOT / "lib/libnccl.so.2")}]
        return [self.torch(profile="torchrun", env=env, **keys)] if self.has_torch else []

    def ctl(self, *words):
        store = f"sqlite:{self.out}/results.db"
        return [os.environ["BENCHCTL"], *map(str, words), "--store", store]

    def measure(self, what, limit_s):
        """The tables of a run, also of one that its limit ended."""
        file = self.out / f"{what['metadata']['name']}.json"
        file.write_text(json.dumps(what), encoding="utf-8")
        with subprocess.Popen(self.ctl("run", file, "--quiet"), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            try:
                _, said = process.communicate(timeout=limit_s)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGINT)
                _, said = process.communicate()
        done = subprocess.run(self.ctl("results", "latest", "-o", "markdown"), capture_output=True, text=True, check=False)
        if process.returncode != 0 or done.returncode != 0:
            raise OSError(f"exit code {process.returncode}\n\n{said.strip()[-2000:]}\n\n{done.stdout}{done.stderr}")
        return done.stdout

    def allreduce(self, limit_s):
        systems = [{"name": "benchworker", "profile": "none", "command": ["benchworker", "allreduce", "--backend", "nccl"], "log": "nccl-tests",
                    "env": self.env}]
        systems += self.ranks(log="nccl-tests")
        ranks = [n for n in (2, 4, 8) if n <= (4 if self.is_shared else self.n_gpus)]
        grid = {"bytes": [4096] if self.args.quick else [4096, 1 << 20, MODEL_BYTES], "workers": ranks[:1] if self.args.quick else ranks, "batch_size": [1]}
        return self.measure(definition("gpu-allreduce", systems, grid, "worker", self.steps, self.repeats, model="fp32-sum",
                                       exchange={"kind": "AllReduce"}), limit_s)

    def transports(self, limit_s):
        systems = [{"name": name.lower(), "profile": "benchworker", "exchange": {"kind": "AllReduce", "transport": name}, "env": self.env}
                   for name in ("Nccl", "Tcp")]
        systems += self.ranks()
        return self.measure(definition("gpu-transports", systems, {"workers": [2], "batch_size": [4 if self.args.quick else 64]}, "worker", self.steps,
                                       self.repeats, model="vgg16-fluid-fc512", threads=1, exchange={"kind": "AllReduce"}), limit_s)

    def pytorch(self, limit_s):
        if not self.has_torch:
            return "Python has no PyTorch here.\n"
        return "\n".join(self.measure(definition(f"gpu-{name}", [self.torch(f"--precision={name}")], {"batch_size": [128, 512], "trainers": [1]},
                                                 "trainer", 100, self.repeats, model="vgg16-fluid-fc512", exchange={"kind": "None"},
                                                 flops={"perSample": MODEL_FLOPS}, precision=name), limit_s / 3)
                         for name in ("fp32", "tf32", "bf16"))

    def readings(self, limit_s):
        """Without them: a file that is no library is found in place of the driver's."""
        with tempfile.TemporaryDirectory() as none, tempfile.TemporaryDirectory() as store:
            pathlib.Path(none, "libnvidia-ml.so.1").write_bytes(b"none")
            off = {"LD_LIBRARY_PATH": none + ":" + os.environ.get("LD_LIBRARY_PATH", "")}
            end, added = time.monotonic() + limit_s, []
            while not added or (len(added) < self.repeats and time.monotonic() < end - limit_s / self.repeats):
                added.append(telemetry.added_percent(store, 12 if self.args.quick else 60, {}, off, len(added))[0])
        return f"CPU time that benchctl needs more for them: {Spread.of(added).text(3)}% of the CPUs, {len(added)} rounds.\n"


def run(args):
    name, driver, n_gpus = card()
    args.out.mkdir(parents=True, exist_ok=True)
    gpu, file, n_failed = Gpu(args, n_gpus), args.out / "gpu.md", 0
    shares = " Ranks share it, so their times say nothing about a link between GPUs." if gpu.is_shared else ""
    rehearsal = "**A rehearsal with stand-ins: no figure means anything.**\n\n" if "stand-in" in name.lower() else ""
    text = f"# {name}\n{rehearsal}{n_gpus} GPU{'s' if n_gpus > 1 else ''}, driver {driver}, {os.cpu_count()} CPUs, {time.strftime('%d %B %Y')}.{shares}\n"
    for title, step, limit_s in (("Readings of the GPU", gpu.readings, 60), ("Two workers", gpu.transports, 120), ("All-reduce", gpu.allreduce, 150),
                                 ("PyTorch on one GPU", gpu.pytorch, 150)):
        begin = time.monotonic()
        try:
            said = step(limit_s)
        except (OSError, subprocess.SubprocessError, SystemExit) as problem:
            said, n_failed = f"Failed: {problem}\n", n_failed + 1
        text += f"\n## {title}\n{said}\n{time.monotonic() - begin:.0f} s.\n"
        file.write_text(text, encoding="utf-8")
    print(text)
    return int(n_failed > 0)


def unpack_and_run(args):
    with tempfile.TemporaryDirectory() as name:
        with tarfile.open(args.pack) as tar:
            tar.extractall(name)
        words = ["run", "--out", args.out.resolve(), *(["--quick"] if args.quick else [])]
        return subprocess.run([sys.executable, f"{name}/gpu-pack/bench/gpu.py", *words], check=False).returncode


def main(argv):
    parser = argparse.ArgumentParser(prog="script/bench gpu", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=("pack", "run"))
    for option in ("--out", "--pack", "--programs", "--nccl"):
        parser.add_argument(option, type=pathlib.Path)
    parser.add_argument("--quick", action="store_true", help="one short trial of each, to see that all steps run")
    args = parser.parse_args(argv)
    is_packed = (ROOT / "bin/benchctl").exists()
    args.programs, args.pack = args.programs or ROOT / "build", args.pack or ARCHIVE
    args.out = args.out or (ARCHIVE if args.verb == "pack" else ARCHIVE.parent / "out")
    return pack(args) if args.verb == "pack" else run(args) if is_packed else unpack_and_run(args)


if __name__ == "__main__":
    entry.run(main)
