"""script/bench builds what a bench runs, unless the environment names it, and starts the right one. What it calls is stubs here."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(os.environ["BENCHD_SOURCE_DIR"])
LIB = """
need_packages() { echo "packages $*"; }
build_in() { echo "build $*"; }
build_kind() { echo "build $*"; build_dir=$root/build-test; }
"""
PROGRAM = '#!/bin/sh\necho "${0##*/} $*"\n'
PYTHON = '#!/bin/sh\nenv | grep -E "^(BENCH[A-Z_]*|FAULT_TRIAL|POST_PODS)=" | sort\necho "start $*"\n'


class Bench(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "script").mkdir()
        shutil.copy(ROOT / "script" / "bench", self.root / "script")
        (self.root / "script" / "lib.sh").write_text(LIB, encoding="utf-8")
        self.put("bin/python3", PYTHON)
        self.put("bin/ninja", PROGRAM)

    def put(self, path, text):
        program = self.root / path
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(text, encoding="utf-8")
        program.chmod(0o755)

    def bench(self, *args, code=0, **named):
        env = {"PATH": f"{self.root}/bin:{os.environ['PATH']}", **named}
        done = subprocess.run(["sh", self.root / "script" / "bench", *args], env=env, capture_output=True, text=True, check=False)
        self.assertEqual(code, done.returncode, done.stderr)
        self.said = done.stderr.replace(f"{self.root}/", "")
        return [line.replace(f"{self.root}/", "") for line in done.stdout.splitlines()]

    def test_what_is_not_named_is_built(self):
        self.assertEqual(["packages build test", "build build -Dtests=disabled", "BENCHD=build/daemon/benchd",
                          "POST_PODS=build/bench/post_pods", "start bench/controller.py --pods 10"],
                         self.bench("controller", "--pods", "10", BENCHD="other"))
        self.assertEqual("ninja -C build --quiet bench\n", self.said)

    def test_what_is_named_is_used(self):
        self.assertEqual(["FAULT_TRIAL=b", "start bench/random_faults.py"], self.bench("faults", FAULT_TRIAL="b"))

    def test_help_builds_nothing(self):
        for name in ("worker", "systems", "front"):
            with self.subTest(name):
                self.assertEqual([f"start bench/{name}.py link --help"], self.bench(name, "link", "--help"))

    def test_a_gpu_machine_builds_nothing(self):
        self.assertEqual(["packages build package", "build build -Dtests=disabled", "start bench/gpu.py pack"], self.bench("gpu", "pack"))
        self.assertEqual(["start bench/gpu.py run --quick"], self.bench("gpu", "run", "--quick"))

    def test_each_name_of_the_help_starts_something(self):
        self.put("build/bench/interval_coverage", PROGRAM)
        names = {line.split()[1] for line in self.bench("--help") if line.startswith("  script/bench ")}
        self.assertGreaterEqual(len(names), 10)
        for name in sorted(names - {"coverage"}):
            with self.subTest(name):
                word, program = self.bench(name)[-1].split()
                self.assertEqual("start", word)
                self.assertTrue((ROOT / program).is_file(), program)
        self.assertEqual("interval_coverage 40", self.bench("coverage", "40")[-1])

    def test_a_name_that_is_none(self):
        self.assertEqual([], self.bench("odd", code=2))
        self.assertEqual([], self.bench(code=2))


if __name__ == "__main__":
    unittest.main()
