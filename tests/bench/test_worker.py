#!/usr/bin/env python3
"""bench/worker.py from outside: the worker and the peers' interpreters are scripts that only say numbers, so what is
tested is that it runs them in turn on one core, limits them alike, and judges."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import bench_case

import peers

# Logs every start; a rate of its name, divided where it must compute with AVX2.
WORKER = """#!/bin/sh
echo "worker $* mask=$BENCH_CPU_MASK blas=$OPENBLAS_CORETYPE cpus=$(taskset -p $$ | sed 's/.*: //')" >>"$FAKE_LOG"
while [ $# -gt 0 ]; do case $1 in --batch) batch=$2 ;; --steps) steps=$2 ;; --threads) threads=$2 ;; esac; shift; done
ns=$((batch * steps * 1000000000 / FAKE_RATE))
[ $threads = 1 ] || ns=$((ns * 10 / 19))
echo '{"samples_per_s": 1, "samples_per_cpu_s": 1, "duration_ns": '$ns', "cpu_ns": '$((ns / 2))', "peak_rss_bytes": 1000,
 "cpu_features": "fake", "kernels": "avx512",
 "blas": "none"}'
"""
PEER = """#!/bin/sh
echo "NAME $2 $3 batch=$BENCHD_BATCH_SIZE isa=$ONEDNN_MAX_CPU_ISA cpus=$(taskset -p $$ | sed 's/.*: //')" >>"$FAKE_LOG"
[ -z "${FAKE_BREAK:-}" ] || { echo "no such instruction" >&2; exit 3; }
echo 'a line for people'
echo '{"benchd":1,"type":"summary","samples":100,"duration_ns":1000000000,"cpu_ns":1000000000,"max_rss_bytes":2000}'
"""


class Worker(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="bench-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.env = {**os.environ, "XDG_CACHE_HOME": str(self.folder), "FAKE_LOG": str(self.folder / "log"),
                    "FAKE_RATE": "310", "BENCHWORKER": self.script("worker", WORKER)}
        for name in peers.names():
            path = pathlib.Path("benchd", "peers", peers.folder(name).name, "bin", "python")
            self.script(str(path), PEER.replace("NAME", name))

    def script(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="ascii")
        path.chmod(0o755)
        return str(path)

    def bench(self, *args, code):
        done = subprocess.run([sys.executable, str(bench_case.ROOT / "bench" / "worker.py"), *args], env=self.env,
                              capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def log(self):
        return (self.folder / "log").read_text(encoding="ascii").splitlines()

    def test_rows_run_in_turn_on_one_core(self):
        self.bench("--rounds", "2", "--batches", "32", "--no-avx2", "--quiet", "9", code=0)
        rows = ["benchworker", "pytorch", "tensorflow", "paddle", "pytorch", "tensorflow"]
        # The second round begins with another one and leaves out what is slow.
        order = rows + [row for row in rows[1:] + rows[:1] if row != "paddle"]
        self.assertEqual([line.split()[0] for line in self.log()],
                         [row.replace("benchworker", "worker") for row in order])
        self.assertEqual([line.split()[1:3] for line in self.log()[4:6]], [["--precision", "bf16"]] * 2)
        masks = {int(line.rsplit("cpus=", 1)[1], 16) for line in self.log() if "cpus=" in line}
        self.assertEqual(masks, {1 << max(os.sched_getaffinity(0))})

    def test_every_figure_stands_beside_its_bar(self):
        file = self.folder / "out.json"
        done = self.bench("--rounds", "1", "--batches", "128", "--quiet", "9", "--json", str(file), code=0)
        for text in ("ratio to the best fp32 peer, by wall: 3.10 (3.10-3.10) >= 3",
                     "our fp32 to the best bf16 peer, by wall: 3.10 (3.10-3.10) >= 2.1",
                     "peak memory over PyTorch's: 0.50 (0.50-0.50) <= 1",
                     "AVX2 only: ratio to the best fp32 peer, by wall: 3.10 (3.10-3.10) >= 1.8",
                     "two threads over one, by wall: 1.90 (1.90-1.90) >= 1.85"):
            self.assertRegex(done.stdout, rf"(?m)^  reached  .*{re.escape(text)}$")
        self.assertTrue(done.stdout.endswith("\nreached 5 of 5\n"), done.stdout)
        limited = [line for line in self.log() if "AVX2" in line or "mask=avx2" in line]
        self.assertEqual([line.split()[0] for line in limited], ["worker", "pytorch", "tensorflow"])
        self.assertIn("mask=avx2 blas=Haswell", limited[0])  # the dense layers too
        masks = {line.split("--threads ")[1][0]: int(line.rsplit("cpus=", 1)[1], 16) for line in self.log()
                 if "--threads" in line}
        self.assertEqual(min(2, len(os.sched_getaffinity(0))), masks["2"].bit_count())
        document = json.loads(file.read_text(encoding="utf-8"))
        self.assertEqual(len(document["samples"]), 9)
        ours = document["samples"][0]
        self.assertEqual((310, 620), (round(ours["samples_per_s"]), round(ours["samples_per_cpu_s"])))
        self.assertEqual(3 * [(1, 310, 589)], [(t["round"], round(t["1"]), round(t["2"])) for t in document["threads"]])
        self.assertEqual([True] * 5, [b["reached"] for b in document["bars"]])

    def test_a_missed_bar_is_exit_1(self):
        self.env["FAKE_RATE"] = "269"
        done = self.bench("--rounds", "1", "--batches", "32", "--peers", "pytorch", "--precisions", "fp32", "--no-avx2",
                          "--quiet", "9", code=1)
        self.assertIn("MISSED   batch 32: ratio to the best fp32 peer, by wall: 2.69 (2.69-2.69) >= 2.7", done.stdout)
        self.assertTrue(done.stdout.endswith("\nreached 0 of 1\n"))

    def test_no_bar_is_no_success(self):
        done = self.bench("--rounds", "1", "--batches", "64", "--peers", "pytorch", "--precisions", "bf16", "--no-avx2",
                          "--quiet", "9", code=1)
        self.assertTrue(done.stdout.endswith("\nreached 0 of 0\n"), done.stdout)

    def test_a_peer_that_fails_ends_it_with_its_words(self):
        self.env["FAKE_BREAK"] = "1"
        done = self.bench("--rounds", "1", "--batches", "32", code=9)
        self.assertIn("exit code 3\n  no such instruction", done.stderr)

    def test_what_was_measured_before_a_failure_is_kept(self):
        self.env["FAKE_BREAK"] = "1"
        file = self.folder / "out.json"
        done = self.bench("--rounds", "1", "--batches", "32", "--json", str(file), code=9)
        self.assertIn(f"1 measurements are in {file}", done.stderr)
        document = json.loads(file.read_text(encoding="utf-8"))
        self.assertEqual(([32], []), ([s["batch"] for s in document["samples"]], document["bars"]))

    def test_wrong_words(self):
        for words, says in ((["--peers", "torhc"], "no such peer: torhc; there are: paddle, pytorch, tensorflow"),
                            (["--peers", "jax-cpu"], "no such peer: jax-cpu; there are: paddle, pytorch, tensorflow"),
                            (["--precisions", "fp64"], "--precisions fp64: there are: bf16, fp32"),
                            (["--batches", "x"], "invalid numbers value: 'x'"), (["--batches", "0"], "expected positive numbers"),
                            (["--seconds", "-1"], "expected positive numbers"),
                            (["--core", "9999"], "--core 9999: this process may use ")):
            with self.subTest(" ".join(words)):
                self.assertIn(says, self.bench(*words, code=2).stderr)
                self.assertFalse((self.folder / "log").exists())

    def test_a_file_that_cannot_be_written_is_told_first(self):
        self.assertIn("No such file or directory: '/no/x.json'", self.bench("--json", "/no/x.json", code=9).stderr)
        self.assertFalse((self.folder / "log").exists())


if __name__ == "__main__":
    bench_case.main()
