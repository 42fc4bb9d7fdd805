#!/usr/bin/env python3
"""script/bench gpu from end to end with stand-ins for NCCL, the driver and its management library, where our packages' libraries are hidden: a
rehearsal, which runs every step but PyTorch's. On a GPU machine it has not run."""
import contextlib
import io
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import types
import unittest
import unittest.mock

import bench_case
import gpu

BUILD = pathlib.Path(os.environ["BENCHD_BUILD_DIR"])
GPU = bench_case.ROOT / "bench" / "gpu.py"
sys.path.insert(0, str(bench_case.ROOT / "packaging"))
import linked  # noqa: E402
# As on a machine without our packages, but for the libraries of this Python.
HIDE = ["unshare", "-rm", "sh", "-c", 'mount --all --fstab "$0" && exec "$@"']

# PyTorch, as gpu_products.py uses it: ten products take 10 ms, in bf16 5.
TORCH = """
import types
float32, bfloat16, last = 10, 5, []
backends = types.SimpleNamespace(cuda=types.SimpleNamespace(matmul=types.SimpleNamespace(allow_tf32=None)))
class Event:
    def __init__(self, enable_timing):
        self.record = self.synchronize = lambda: None
    def elapsed_time(self, end):
        return last[-1]
cuda = types.SimpleNamespace(Event=Event)
def randn(*shape, dtype, device):
    last.append(dtype)
def matmul(a, b):
    pass
"""
TRAIN = """
import os, pathlib, sys, time
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
import benchd_replica
replica = benchd_replica.Replica({key: value for key, value in os.environ.items() if key != "BENCHD_MODEL"})
replica.start("PyTorch", "2.0", accelerator="NVIDIA H200")
replica.train(lambda: time.sleep(0.001) or 1, [()])
"""


def elf(sections):
    """A file of these sections, {name: bytes}, of which the first has the names."""
    names, at = b"\0" + b"\0".join(sections) + b"\0", 64
    bodies, rows = [names, *sections.values()], []
    for name, body in zip([b"", *sections], bodies):
        rows.append(struct.pack("<IIQQQQ", names.index(name), 1, 0, 0, at, len(body)) + bytes(24))
        at += len(body)
    head = bytearray(64)
    struct.pack_into("<Q", head, 0x28, at)
    struct.pack_into("<HHH", head, 0x3A, 64, len(rows), 0)
    return bytes(head) + b"".join(bodies) + b"".join(rows)


def fatbin(*parts):
    """Of (architecture, code)."""
    packed = b"".join(struct.pack("<HHIQ", 2, 0, 64, len(code)) + bytes(12) + struct.pack("<I", arch) + bytes(32) + code for arch, code in parts)
    return struct.pack("<IHHQ", gpu.FATBIN, 1, 16, len(packed)) + packed


class Gpu(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def bench(self, *args, before=(), **more):
        env = {key: value for key, value in os.environ.items() if not key.startswith("BENCH")}
        return subprocess.run([*map(str, before), sys.executable, GPU, *args], env={**env, **more}, capture_output=True, text=True, check=False)

    def test_only_the_code_of_one_architecture_stays(self):
        codes = [(80, b"eighty__"), (90, b"ninety__"), (100, b"hundred_")]
        whole = elf({b".text": b"code", b".nv_fatbin": fatbin(*codes) + bytes(8) + fatbin(*codes), b"__nv_relfatbin": fatbin(*codes)})
        found = bytes(gpu.cut(whole))
        self.assertEqual([(0, 2, 0), (3, 3, 3)], [tuple(data.count(code) for _, code in codes) for data in (found, whole)])
        self.assertEqual((len(whole), 4), (len(found), found.count(b"code") + 3 * found.count(b".text")))

    def test_definitions_of_pytorch_are_valid(self):
        """Which no stand-in trains."""
        steps = gpu.Gpu(types.SimpleNamespace(quick=False, out=self.folder), 1)
        steps.lacks_pytorch, found = "", []
        with unittest.mock.patch.object(gpu.Gpu, "measure", lambda _, what, limit_s: found.append(what) or ""), \
                unittest.mock.patch.object(gpu.Gpu, "shares", lambda *_: ["1"] * 4):
            for step in (steps.transports, steps.allreduce, steps.pytorch):
                step(60)
        self.assertEqual(["gpu-transports", "gpu-allreduce", *(f"gpu-{model}-{precision}" for model, *_ in gpu.NETWORKS for precision in gpu.PRECISIONS)], [what["metadata"]["name"] for what in found])
        for what in found:
            file = self.folder / "definition.json"
            file.write_text(json.dumps(what), encoding="utf-8")
            done = subprocess.run([BUILD / "ctl/benchctl", "validate", file, "--local"], capture_output=True, text=True, check=False)
            self.assertEqual(0, done.returncode, done.stderr)

    def test_pack_and_run(self):
        installed = json.loads(subprocess.run(["meson", "introspect", BUILD, "--installed"], stdout=subprocess.PIPE, check=True).stdout)
        missing = [path for path in map(pathlib.Path, installed) if path.is_absolute() and not path.exists()]   # links are relative
        if missing:   # as in a bare Debian, where script/bare builds what the tests need
            self.skipTest(f"{missing[0]} is not built, and it packs what is installed")
        nccl, file = BUILD / "tests/worker/libnccl.so.2", self.folder / "pack.tar.xz"
        done = self.bench("pack", "--programs", BUILD, "--nccl", nccl, "--out", file)
        self.assertRegex(done.stdout, r"pack\.tar\.xz: [\d.]+ MiB, [\d.]+ MiB with the tree\n$", done.stderr)
        self.assertEqual(0, done.returncode)
        with tarfile.open(file) as tar:
            tar.extractall(self.folder)
        inside = self.folder / "gpu-pack"
        drivers = self.folder / "drivers"
        drivers.mkdir()
        shutil.copy(BUILD / "tests/worker/libcuda.so.1", drivers)
        shutil.copy(BUILD / "tests/host/libstand_in_nvml.so", drivers / "libnvidia-ml.so.1")
        run = ("run", "--quick", "--pack", file, "--out")
        loaded = pathlib.Path("/proc/self/maps").read_text(encoding="utf-8")
        hidden = [path for path in linked.bundled([BUILD / "ctl/benchctl", BUILD / "worker/benchworker"]) if os.path.realpath(path) not in loaded]
        self.assertIn("libjansson", " ".join(hidden))
        (self.folder / "fstab").write_text("".join(f"/dev/null {path} none bind 0 0\n" for path in hidden), encoding="utf-8")
        done = self.bench(*run, self.folder / "out", before=[*HIDE, self.folder / "fstab"], LD_LIBRARY_PATH=str(drivers))
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        text = (self.folder / "out" / "gpu.md").read_text(encoding="utf-8")
        self.assertEqual(f"{text}\n", done.stdout)
        self.assertTrue(text.startswith("# Stand-in GPU 0\n**A rehearsal with stand-ins: no figure means anything.**\n"), text)
        no_torch = "not run: ModuleNotFoundError: No module named 'torch'"
        ends = ["not run: there is no nvidia-smi", no_torch, "done", "done", no_torch, "done", no_torch]
        self.assertEqual(ends, re.findall(r"^\| [^|]+ \| \d+ \| \d+ \| (.*) \|$", text.partition("\n## Steps\n")[2], re.M), text)
        for what in (r"CPU time that benchctl needs more for them: [\d.-]+", r"\| nccl .*\|", r"\| tcp .*\|",
                     r"\| SIGKILL \| 1 \| [\d.() -]+ \| 1 \|\n\| SIGSTOP \| 1 \| [5-9]\.[\d.() -]+ \| 1 \|\n", "\nAfter SIGSTOP: `.*worker/1.*`\n"):
            self.assertRegex(text, what)
        self.assertEqual(1, text.count("\nNot run: PyTorch's ranks: ModuleNotFoundError"))
        (inside / "bench/torch.py").write_text(TORCH, encoding="utf-8")
        (inside / "share/benchd/benchmarks/profiles/pytorch/train.py").write_text(TRAIN, encoding="utf-8")
        with unittest.mock.patch.multiple(gpu, ROOT=inside, __file__=str(inside / "bench/gpu.py"), card=lambda: ("Stand-in GPU 0", "0.0", 1),
                                          pytorch_here=lambda: ("2.0 CUDA 1", "")), \
                unittest.mock.patch.object(gpu.Gpu, "readings", lambda *_: ""), unittest.mock.patch.dict(os.environ), \
                contextlib.redirect_stdout(io.StringIO()) as out:
            self.assertEqual(1, gpu.run(types.SimpleNamespace(quick=True, out=self.folder / "failed")))
        text = out.getvalue()
        self.assertEqual((2, 3, 3), (text.count("\nFailed: exit code "), text.count("| failed |"), text.count(gpu.SHARED)), text)
        self.assertIn("8192 x 8192 by PyTorch: fp32 1100 TFLOP/s, tf32 1100 TFLOP/s, bf16 2199 TFLOP/s\n", text)
        rows = re.findall(r"^\| (.*) \| (.*) \| (\d+) \| ([\d.]+) \| unknown \| ([\d.]+) \| ([\d.]+) \|$", text, re.M)
        self.assertEqual([(model, precision, str(batch)) for model, batch, *_ in gpu.NETWORKS for precision in gpu.PRECISIONS],
                         [row[:3] for row in rows], text)
        peaks = {"fp32": 67, "tf32": 494.5, "bf16": 989.5}   # the data sheet's
        for (_, precision, _, rate, mfu, share), flops in zip(rows, [it[3] for it in gpu.NETWORKS for _ in gpu.PRECISIONS]):
            tflops = float(rate) * flops / 1e12
            self.assertAlmostEqual(100 * tflops / peaks[precision], float(mfu), delta=0.1)
            self.assertAlmostEqual(100 * tflops / (2199.0 if precision == "bf16" else 1099.5), float(share), delta=0.1)
        self.assertIn("libcuda.so.1: cannot open shared object file", text)
        done = self.bench(*run, self.folder / "none")
        self.assertEqual((9, "error: libnvidia-ml.so.1: cannot open shared object file: No such file or directory\n"), (done.returncode, done.stderr))


if __name__ == "__main__":
    bench_case.main()
