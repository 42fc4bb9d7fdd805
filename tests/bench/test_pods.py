#!/usr/bin/env python3
"""script/bench systems --pods: the definition that it runs, and what goes into an image. It needs a node and gigabytes to run;
docs/bench.md has what it printed."""
import contextlib
import io
import os
import pathlib
import tempfile
import unittest
from unittest import mock

import bench_case

import peers
import pods

TEXT = (bench_case.ROOT / "benchmarks" / f"{pods.DEFINITION}.yaml").read_text(encoding="utf-8")


class Pods(unittest.TestCase):
    def test_the_definition(self):
        text = pods.definition(TEXT, "300m", "2Gi", 16, 3, 4)
        self.assertNotIn("registry/", text)
        for profile in set(pods.SYSTEMS.values()):
            self.assertIn(f"image: benchd.local/{profile}:1, command: [python3, /profiles/{profile}/train.py]", text)
        self.assertEqual(2, text.count('{cpu: "300m", memory: 2Gi}'))
        self.assertIn("  sweep:\n    grid: {pservers: [3], trainers: [4], batch_size: [16]}\n  # Efficiency", text)

    def test_every_foreign_row_of_the_definition_has_an_image(self):
        for system, profile in pods.SYSTEMS.items():
            self.assertIn(f"- {{name: {system}, profile: {profile},", TEXT)
            self.assertIn(profile, pods.IMPORTS)
        self.assertEqual(len(pods.SYSTEMS), TEXT.count("image: registry/"))

    def test_another_form_of_the_definition_is_an_error(self):
        with self.assertRaisesRegex(ValueError, "has 2 places with CPUs and 0 lists of points"):
            pods.definition(TEXT.replace("    points:", "    others:"), "1", "1Gi", 1, 1, 1)

    def test_what_a_cpu_never_opens_stays_outside(self):
        with tempfile.TemporaryDirectory() as folder:
            site = pathlib.Path(folder) / "site"
            for name in ("torch/a.py", "torch/lib/libtorch.so", "torch/__pycache__/a.pyc", "nvidia/lib/libopened.so.1", "nvidia/lib/libother.so.1",
                         "nvidia/__init__.py", "triton/compiler.bin"):
                (site / name).parent.mkdir(parents=True, exist_ok=True)
                (site / name).write_text(name, encoding="ascii")
            root = pathlib.Path(folder) / "root"
            with mock.patch.object(pods, "site_packages", return_value=site), \
                    mock.patch.object(pods, "opened", return_value={site / "nvidia/lib/libopened.so.1"}):
                pods.copy_packages("pytorch", root)
            found = {str(path.relative_to(root / pods.SITE)) for path in (root / pods.SITE).rglob("*") if path.is_file()}
            self.assertEqual({"torch/a.py", "torch/lib/libtorch.so", "nvidia/lib/libopened.so.1", "nvidia/__init__.py"}, found)

    def test_scripts_are_where_the_dockerfiles_have_them(self):
        for profile in set(pods.SYSTEMS.values()):
            with tempfile.TemporaryDirectory() as folder:
                pods.copy_scripts(profile, pathlib.Path(folder))
                self.assertTrue((pathlib.Path(folder) / "profiles" / profile / "train.py").is_file())
                self.assertTrue((pathlib.Path(folder) / "profiles" / "benchd_replica.py").is_file())

    def test_what_is_mapped(self):
        """Of the folder alone."""
        with tempfile.TemporaryDirectory() as folder:
            library = pathlib.Path(folder) / "libx.so"
            library.write_bytes(b"\0" * 4096)
            program = ("import mmap\nfile = open('" + str(library) + "', 'rb')\n"
                       "kept = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)")
            with mock.patch.dict(pods.IMPORTS, pytorch=program), \
                    mock.patch.object(peers, "interpreter", return_value=os.sys.executable):
                self.assertEqual({library}, pods.opened("pytorch", pathlib.Path(folder)))

    def test_unknown_systems(self):
        with contextlib.redirect_stderr(io.StringIO()) as err, self.assertRaises(SystemExit):
            pods.parse(["--systems", "jax,caffe"])
        self.assertIn("no such system: caffe; there are: pytorch-ddp", err.getvalue())
        self.assertEqual(["pytorch-ddp", "tensorflow-ps"], pods.parse(["--pods"]).systems)


if __name__ == "__main__":
    bench_case.main()
