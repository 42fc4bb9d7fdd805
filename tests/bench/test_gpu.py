#!/usr/bin/env python3
"""script/bench gpu from end to end with stand-ins for NCCL, the driver and its management library: a rehearsal, which runs every step but
PyTorch's. On a GPU machine it has not run."""
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
C_LIBRARY = re.compile(r"/(ld-linux[^/]*|lib(c|m|dl|rt|pthread|resolv))\.so[.\d]*$")


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

    def bench(self, *args, **more):
        env = {key: value for key, value in os.environ.items() if not key.startswith("BENCH")}
        return subprocess.run([sys.executable, GPU, *args], env={**env, **more}, capture_output=True, text=True, check=False)

    def test_only_the_code_of_one_architecture_stays(self):
        codes = [(80, b"eighty__"), (90, b"ninety__"), (100, b"hundred_")]
        whole = elf({b".text": b"code", b".nv_fatbin": fatbin(*codes) + bytes(8) + fatbin(*codes), b"__nv_relfatbin": fatbin(*codes)})
        found = bytes(gpu.cut(whole))
        self.assertEqual([(0, 2, 0), (3, 3, 3)], [tuple(data.count(code) for _, code in codes) for data in (found, whole)])
        self.assertEqual((len(whole), 4), (len(found), found.count(b"code") + 3 * found.count(b".text")))

    def test_definitions_of_pytorch_are_valid(self):
        """Which no stand-in trains."""
        steps = gpu.Gpu(types.SimpleNamespace(quick=False, out=self.folder), 1)
        steps.has_torch, found = True, []
        with unittest.mock.patch.object(gpu.Gpu, "measure", lambda _, what, limit_s: found.append(what) or ""):
            for step in (steps.transports, steps.allreduce, steps.pytorch):
                step(60)
        self.assertEqual(["gpu-transports", "gpu-allreduce", "gpu-fp32", "gpu-tf32", "gpu-bf16"], [what["metadata"]["name"] for what in found])
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
        self.assertRegex(done.stdout, r"pack\.tar\.xz: [\d.]+ MiB\n$", done.stderr)
        self.assertEqual(0, done.returncode)
        with tarfile.open(file) as tar:
            tar.extractall(self.folder)
        inside = self.folder / "gpu-pack"
        for program in ("benchctl", "benchworker"):
            linked = re.findall(r"=> (\S+)", subprocess.run(["ldd", inside / "bin" / program], stdout=subprocess.PIPE, text=True, check=True).stdout)
            self.assertEqual([], [path for path in linked if not path.startswith(str(inside)) and not C_LIBRARY.search(path)])
        drivers = self.folder / "drivers"
        drivers.mkdir()
        shutil.copy(BUILD / "tests/worker/libcuda.so.1", drivers)
        shutil.copy(BUILD / "tests/host/libstand_in_nvml.so", drivers / "libnvidia-ml.so.1")
        run = ("run", "--quick", "--pack", file, "--out")
        done = self.bench(*run, self.folder / "out", LD_LIBRARY_PATH=str(drivers))
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        text = (self.folder / "out" / "gpu.md").read_text(encoding="utf-8")
        self.assertEqual(f"{text}\n", done.stdout)
        self.assertTrue(text.startswith("# Stand-in GPU 0\n**A rehearsal with stand-ins: no figure means anything.**\n"), text)
        self.assertEqual(["Readings of the GPU", "Two workers", "All-reduce", "PyTorch on one GPU"], re.findall("^## ((?!gpu-).*)", text, re.M))
        for what in (r"CPU time that benchctl needs more for them: [\d.-]+", r"\| nccl .*\|", r"\| tcp .*\|", r"; bytes 4096; workers 2; 1 point;"):
            self.assertRegex(text, what)
        with unittest.mock.patch.multiple(gpu, ROOT=inside, card=lambda: ("Stand-in GPU 0", "0.0", 1)), \
                unittest.mock.patch.object(gpu.Gpu, "readings", lambda *_: ""), unittest.mock.patch.dict(os.environ), \
                contextlib.redirect_stdout(io.StringIO()) as out:
            self.assertEqual(1, gpu.run(types.SimpleNamespace(quick=True, out=self.folder / "failed")))
        self.assertEqual(2, out.getvalue().count("\nFailed: exit code "), out.getvalue())
        self.assertIn("libcuda.so.1: cannot open shared object file", out.getvalue())
        done = self.bench(*run, self.folder / "none")
        self.assertEqual((9, "error: libnvidia-ml.so.1: cannot open shared object file: No such file or directory\n"), (done.returncode, done.stderr))


if __name__ == "__main__":
    bench_case.main()
