#!/usr/bin/env python3
"""script/bench gpu pack [--out FILE] [--programs BUILD] [--nccl FILE]
script/bench gpu run [--pack FILE] [--out DIR] [--quick]

pack makes, on a machine without a GPU, one archive with all that `run` needs: benchctl and benchworker with their libraries, NCCL cut to
one architecture (sm_90: H100 and H200; its wheel comes from PyPI), definitions, and this file. It prints the size, and exits with 1 if archive
and tree together have more than 60 MiB.

run needs the archive, an x86-64 machine with NVIDIA's driver, and Python 3.10; nothing is compiled or installed. Where PyTorch is there, it is
measured too; a step that lacks something is "not run", with the reason. Each step has a limit, smallest first; what a step has measured by
then is in its tables. All take 550 s at most. Writes DIR/gpu.md, and exits with 1 if a step has failed. Ranks that share a GPU take turns on
it: their times show that calls are right and what the programs add, and nothing of a link between GPUs."""
import argparse
import contextlib
import ctypes
import json
import os
import pathlib
import random
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
import exchange
import telemetry
from figures import Spread

ROOT = pathlib.Path(__file__).resolve().parent.parent   # of the tree, or of the archive
ARCHIVE = ROOT / "build-gpu" / "gpu-pack.tar.xz"
WHEEL, ARCHITECTURE = "nvidia-nccl-cu12==2.32.3", 90
FATBIN = 0xBA55ED50
LIMIT_BYTES = 60 << 20
MODEL_BYTES = 61018408
PRECISIONS = ("fp32", "tf32", "bf16")
# Name, batch, steps, and floating-point operations of training with a sample: six for each multiplication of its layers.
NETWORKS = (("vgg16-fluid-fc512", 512, 200, 1878816768), ("imagenet", 256, 30, 24535105536))
# Definitions of GPU clusters, and what each sweeps on the GPUs of this machine.
SHIPPED = {"imagenet-gpu": {"net": "resnet50"}, "llm-fsdp": {"net": "1b"}, "nccl-allreduce": {"bytes": MODEL_BYTES}}
LOST = "worker/1"
OF_RANKS = ("Two workers", "All-reduce", "A worker is lost")
SHARED = "**Ranks share the GPU: this shows that calls are right, how ranks begin and end, and what the programs add; nothing of a link.**\n\n"
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
        for file in ("gpu.py", "gpu_products.py", "telemetry.py", "entry.py", "exchange.py", "figures.py", "shaped.py"):
            shutil.copy(ROOT / "bench" / file, folder / "bench")
        args.out.parent.mkdir(parents=True, exist_ok=True)
        with tarfile.open(args.out, "w:xz", preset=1) as tar:
            tar.add(folder, "gpu-pack")
    tops = [path for path in ROOT.iterdir() if not path.name.startswith((".", "build"))]
    tree = sum(file.lstat().st_size for top in tops for file in [top, *top.rglob("*")] if file.is_file() and "__pycache__" not in file.parts)
    packed = args.out.stat().st_size
    print(f"{args.out}: {packed / 2**20:.1f} MiB, {(packed + tree) / 2**20:.1f} MiB with the tree")
    return int(packed + tree > LIMIT_BYTES)


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


class NotRun(Exception):
    """Why a step cannot be."""


def pytorch_here():
    """Its version and that of CUDA; and why it cannot be measured, or ""."""
    code = "import torch; assert torch.cuda.is_available(), 'PyTorch sees no GPU'; print(torch.__version__, 'CUDA', torch.version.cuda)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip(), "" if done.returncode == 0 else (done.stderr.strip() or "it ended").splitlines()[-1]


class Gpu:
    def __init__(self, args, n_gpus):
        self.args, self.n_gpus, self.out = args, n_gpus, args.out
        self.repeats, self.steps = (1, 2) if args.quick else (3, 20)
        self.pytorch_version, self.lacks_pytorch = pytorch_here()
        self.products = {}   # TFLOP/s by precision, once measured
        self.is_shared = n_gpus == 1
        self.env = [{"name": key, "value": value} for key, value in {"NCCL_DEBUG": "WARN", **(SHARES if self.is_shared else {})}.items()]
        os.environ.update(BENCHCTL=str(ROOT / "bin/benchctl"), BENCHWORKER=str(ROOT / "bin/benchworker"))

    @staticmethod
    def torch(*options, **keys):
        """A system."""
        command = [sys.executable, str(ROOT / "share/benchd/benchmarks/profiles/pytorch/train.py"), *options]
        return {"name": "-".join(["pytorch", *options]).replace("--precision=", ""), "profile": "none", "command": command, **keys}

    def ranks(self, **keys):
        """The same as ranks, with the NCCL of the archive in place of PyTorch's own."""
        env = [*self.env, {"name": "LD_PRELOAD", "value": str(ROOT / "lib/libnccl.so.2")}]
        return self.torch(profile="torchrun", env=env, **keys)

    def ctl(self, *words):
        store = f"sqlite:{self.out}/results.db"
        return [os.environ["BENCHCTL"], *map(str, words), "--store", store]

    def need_pytorch(self):
        if self.lacks_pytorch:
            raise NotRun(self.lacks_pytorch)

    def measure(self, what, limit_s):
        """The tables of a run, also of one that its limit ended."""
        late = ""
        file = self.out / f"{what['metadata']['name']}.json"
        file.write_text(json.dumps(what), encoding="utf-8")
        with subprocess.Popen(self.ctl("run", file, "--quiet"), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            try:
                _, said = process.communicate(timeout=limit_s)
            except subprocess.TimeoutExpired:
                late = f"\nIts limit of {limit_s:.0f} s ended it.\n"
                process.send_signal(signal.SIGINT)
                _, said = process.communicate()
        done = subprocess.run(self.ctl("results", "latest", "-o", "markdown"), capture_output=True, text=True, check=False)
        if (process.returncode != 0 and not late) or done.returncode != 0:
            raise OSError(f"exit code {process.returncode}\n\n{said.strip()[-2000:]}\n\n{done.stdout}{done.stderr}")
        return done.stdout + late

    @contextlib.contextmanager
    def started(self):
        """Two workers of benchworker that train over NCCL, by hand."""
        addrs = exchange.own_addresses(2)
        env = {**{key: value for key, value in os.environ.items() if not key.startswith("BENCHD_")}, **{it["name"]: it["value"] for it in self.env}}
        with exchange.secret() as (_, key):
            common = ["--run", "gpu", "--workers", 2, "--secret-file", key, "--worker-addrs", ",".join(addrs), "--transport", "NCCL",
                      "--batch-size", 4, "--steps", 1000000]
            argvs = [[os.environ["BENCHWORKER"], "worker", "--index", i, "--listen", addr, *common] for i, addr in enumerate(addrs)]
            with exchange.started(argvs, env=env) as processes:
                yield processes

    @staticmethod
    def snapshot(limit_s):
        fields = "clocks.sm,clocks.max.sm,power.draw,power.limit,temperature.gpu,memory.used,memory.total,ecc.mode.current,mig.mode.current," \
                 "compute_mode,clocks_throttle_reasons.active"
        try:
            done = subprocess.run(["nvidia-smi", "--query-gpu=" + fields, "--format=csv,noheader"], capture_output=True, text=True, check=True,
                                  timeout=limit_s)
        except FileNotFoundError as problem:
            raise NotRun("there is no nvidia-smi") from problem
        return "".join(f"GPU {i}: " + "; ".join(f"{name} {value.strip()}" for name, value in zip(fields.split(","), line.split(","))) + "\n"
                       for i, line in enumerate(done.stdout.splitlines()))

    def multiply(self, limit_s):
        """What MFU is divided by, next to the data sheet."""
        self.need_pytorch()
        program = pathlib.Path(__file__).with_name("gpu_products.py")
        done = subprocess.run([sys.executable, program, *PRECISIONS], capture_output=True, text=True, check=False, timeout=limit_s)
        if done.returncode != 0:
            raise OSError(done.stderr.strip()[-2000:])
        self.products = json.loads(done.stdout)
        return "8192 x 8192 by PyTorch: " + ", ".join(f"{name} {tflops:.0f} TFLOP/s" for name, tflops in self.products.items()) + "\n"

    def lose(self, number):
        """Seconds from the signal to rank 1 until rank 0 has ended, its exit code, and its last words."""
        with self.started() as (ours, lost):
            if not any('"type":"step"' in line for line in ours.stdout):
                raise OSError(ours.stderr.read().strip())
            time.sleep(0.1 if self.args.quick else random.uniform(0.1, 1))   # somewhere in a step
            begin = time.monotonic()
            lost.send_signal(number)
            _, said = ours.communicate(timeout=60)
            return time.monotonic() - begin, ours.returncode, (said.strip() or "nothing").splitlines()[-1]

    def faults(self, limit_s):
        ends, end = {"SIGKILL": [], "SIGSTOP": []}, time.monotonic() + limit_s
        for _ in range(1 if self.args.quick else 10):
            for name, found in ends.items():
                if not found or time.monotonic() < end - 12:
                    found.append(self.lose(getattr(signal, name)))
        text = "Of two workers that train, one is lost.\n\n| signal | times | the other ended after, s | exit code 11, and named it |" \
               "\n|---|---|---|---|\n"
        for name, found in ends.items():
            n_named = sum(code == 11 and LOST in words for _, code, words in found)
            text += f"| {name} | {len(found)} | {Spread.of([took for took, _, _ in found]).text()} | {n_named} |\n"
        text += "\n" + "\n".join(f"After {name}: `{words}`" for name, found in ends.items() for words in sorted({w for _, _, w in found})) + "\n"
        if any(code != 11 or LOST not in words for found in ends.values() for _, code, words in found):
            raise OSError(f"a worker did not name the one that was lost\n\n{text}")
        return text

    def allreduce(self, limit_s):
        self.need_pytorch()
        systems = [self.ranks(log="nccl-tests")]
        ranks = [n for n in (2, 4, 8) if n <= (8 if self.is_shared else self.n_gpus)]
        grid = {"bytes": [4096] if self.args.quick else [4096, 1 << 20, MODEL_BYTES], "workers": ranks[:1] if self.args.quick else ranks, "batch_size": [1]}
        return self.measure(definition("gpu-allreduce", systems, grid, "worker", self.steps, self.repeats, model="fp32-sum",
                                       exchange={"kind": "AllReduce"}), limit_s)

    def transports(self, limit_s):
        systems = [{"name": name.lower(), "profile": "benchworker", "exchange": {"kind": "AllReduce", "transport": name}, "env": self.env}
                   for name in ("NCCL", "TCP")]
        systems += [] if self.lacks_pytorch else [self.ranks()]
        tables = self.measure(definition("gpu-transports", systems, {"workers": [2], "batch_size": [4 if self.args.quick else 64]}, "worker", self.steps,
                                         self.repeats, model="vgg16-fluid-fc512", threads=1, exchange={"kind": "AllReduce"}), limit_s)
        return tables + (f"\nNot run: PyTorch's ranks: {self.lacks_pytorch}\n" if self.lacks_pytorch else "")

    def pytorch(self, limit_s):
        self.need_pytorch()
        rows, tables = [], []
        for model, batch, steps, flops in NETWORKS:
            for precision in PRECISIONS:
                systems, grid = [self.torch(f"--precision={precision}")], {"batch_size": [batch], "trainers": [1]}
                what = definition(f"gpu-{model}-{precision}", systems, grid, "trainer", min(steps, self.steps * 10), min(self.repeats, 2),
                                  model=model, exchange={"kind": "None"}, flops={"perSample": flops}, precision=precision.upper())
                tables.append(self.measure(what, limit_s / len(NETWORKS) / len(PRECISIONS)))
                rows.append(f"| {model} | {precision} | {batch} | " + " | ".join(self.shares(precision)) + " |\n")
        return "| model | precision | batch | samples/s | J/sample | MFU, % | of the measured product, % |\n|---|---|---|---|---|---|---|\n" + \
            "".join(rows) + "\n" + "\n".join(tables)

    def shipped(self, limit_s):
        """The definitions of GPU clusters as they are, with one worker that has all GPUs of this machine; torchrun starts a process for each."""
        self.need_pytorch()
        names = [name for name in SHIPPED if self.n_gpus > 1 or name != "nccl-allreduce"]   # one rank alone has no bus bandwidth
        tables = []
        for name in names:
            done = subprocess.run(self.ctl("get", "benchmarks", name, "--local", "-o", "json"), capture_output=True, text=True, check=True)
            what = json.loads(done.stdout)["items"][0]
            spec = what["spec"]
            spec["systems"] = [{**system, "command": self.torch()["command"]} for system in spec["systems"]]
            spec["sweep"] = {"points": [{**SHIPPED[name], "workers": 1, "gpus": self.n_gpus, "batch_size": 64 * self.n_gpus if name == "imagenet-gpu" else self.n_gpus}]}
            spec["baseline"] = {"kind": "Point", "where": {"workers": 1}}
            spec["measure"] |= {"warmupSteps": 2, "steps": self.steps}
            spec["repeats"] = {"min": self.repeats, "order": "Interleaved"}
            spec.pop("local", None)
            tables.append(self.measure(what, limit_s / len(names)))
        return "\n".join(tables)

    def shares(self, precision):
        """Of the only point of the last run; what is not known is unknown."""
        done = subprocess.run(self.ctl("results", "latest", "-o", "json"), capture_output=True, text=True, check=True)
        point, = json.loads(done.stdout)["points"]
        metric = {name: found["value"] for name, found in point.get("metrics", {}).items()}
        share = metric["tflops"] / self.products[precision] if "tflops" in metric and precision in self.products else None
        values = ((point["throughput"]["value"], 1, 1), (metric.get("energy_sample_j"), 1, 4), (metric.get("mfu"), 100, 1), (share, 100, 1))
        return ["unknown" if value is None else f"{value * factor:.{digits}f}" for value, factor, digits in values]

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
    rehearsal = "**A rehearsal with stand-ins: no figure means anything.**\n\n" if "stand-in" in name.lower() else ""
    text = f"# {name}\n{rehearsal}{n_gpus} GPU{'s' if n_gpus > 1 else ''}, driver {driver}, {os.cpu_count()} CPUs, " \
           f"{'PyTorch ' + gpu.pytorch_version if gpu.pytorch_version else 'no PyTorch'}, {time.strftime('%d %B %Y')}.\n"
    table = "\n## Steps\n| step | limit, s | it took, s | |\n|---|---|---|---|\n"
    for title, step, limit_s in (("Snapshot", gpu.snapshot, 10), ("Products of matrices", gpu.multiply, 20),
                                 ("Readings of the GPU", gpu.readings, 40), ("Two workers", gpu.transports, 55), ("All-reduce", gpu.allreduce, 90),
                                 ("A worker is lost", gpu.faults, 140), ("PyTorch on one GPU", gpu.pytorch, 100), ("Definitions of GPU clusters", gpu.shipped, 90)):
        begin, end = time.monotonic(), "done"
        try:
            said = step(limit_s)
        except NotRun as problem:
            end = f"not run: {problem}"
            said = f"Not run: {problem}\n"
        except (OSError, ValueError, subprocess.SubprocessError, SystemExit) as problem:
            said, end, n_failed = f"Failed: {problem}\n", "failed", n_failed + 1
        text += f"\n## {title}\n{SHARED if gpu.is_shared and title in OF_RANKS else ''}{said}"
        table += f"| {title} | {limit_s} | {time.monotonic() - begin:.0f} | {end} |\n"
        file.write_text(text + table, encoding="utf-8")
    print(text + table)
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
