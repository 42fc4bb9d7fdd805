#!/usr/bin/env python3
"""script/bench exchange with programs that only say numbers, and once with small real gangs."""
import contextlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import bench_case
import exchange

BUILD = pathlib.Path(os.environ["BENCHD_BUILD_DIR"])
WORKER = """#!/bin/sh
echo "$*" >> "$0.runs"
case "$* " in
pserver*) echo '{"role": "pserver", "cpu_ns": 1000000000, "bytes_tx": 9, "bytes_rx": 9}' ;;
*"--exchange None"*) echo '{"role": "trainer", "samples": 100, "duration_ns": 1000000000, "cpu_ns": 4000000000, "bytes_tx": 0, "bytes_rx": 0}' ;;
*) echo '{"role": "trainer", "samples": 90, "duration_ns": 1000000000, "cpu_ns": 4500000000, "bytes_tx": 600000000, "bytes_rx": 400000000}' ;;
esac
"""


class Exchange(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        self.file = pathlib.Path(self.dir.name, "file")

    def program(self, name, script):
        path = pathlib.Path(self.dir.name, name)
        path.write_text(script, encoding="utf-8")
        path.chmod(0o700)
        return str(path)

    def run_with(self, *args, worker=WORKER, **env):
        return subprocess.run([sys.executable, bench_case.ROOT / "bench" / "exchange.py", *args], capture_output=True, text=True,
                              check=False, env={**os.environ, "BENCHWORKER": self.program("worker", worker), **env})

    def servers(self):
        """Numbers of trainers of the servers that ran."""
        return re.findall("^pserver .* --trainers ([0-9]+) ", pathlib.Path(self.dir.name, "worker.runs").read_text(encoding="utf-8"), re.M)

    def test_core(self):
        done = self.run_with("--part", "core", "--rounds", "2", "--steps", "5")
        self.assertEqual(["2", "8", "8"] * 2, self.servers())
        # 8 x 5 x 61 MB in a second of the server; 8 x 4.5 s of its trainers.
        self.assertIn("reached  receive, add, Adam and send, gradient GB a CPU-second: 2.44 (2.44-2.44) >= 2.4", done.stdout, done.stderr)
        self.assertRegex(done.stdout, r"8 trainers, 2 threads +2\.44 \(2\.44-2\.44\) +14\.750 ")
        self.assertIn("reached  two threads of a server over one, by CPU time: 2.00 (2.00-2.00) >= 1.8", done.stdout)
        self.assertEqual(("reached 2 of 2", 0), (done.stdout.splitlines()[-1], done.returncode))

    def test_native(self):
        done = self.run_with("--part", "native", "--rounds", "1", "--steps", "2")
        for text in ("reached  two trainers, 1 servers, batch 32: share of two copies: 0.90 (0.90-0.90) >= 0.78",
                     "MISSED   two trainers, 2 servers, batch 128: share of two copies: 0.90 (0.90-0.90) >= 0.95"):
            self.assertIn(text, done.stdout, done.stderr)
        # One server: 2 x 4.5 + 1 - 2 x 4 = 2 s more in two steps, which move 2 GB.
        row = next(line.split("   ") for line in done.stdout.splitlines() if line.startswith("batch 32, 1 servers"))
        self.assertEqual(["5.000 (5.000-5.000)", "1.00 (1.00-1.00)", "0.80 (0.80-0.80)"], [cell.strip() for cell in row if cell][-3:])
        self.assertEqual(1, done.returncode)

    def test_equal(self):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            done = {(case.name, 0): {"compute_s": 0.94, "mean_step_s": 1, "load": 1.0} for case in exchange.CASES["equal"]}
            self.assertEqual(1, exchange.report(exchange.parse(["--part", "equal", "--rounds", "1"]), done))
        self.assertIn("reached  equal compute of 450 ms: share of the same without exchange: 0.94 (0.94-0.94) >= 0.92", out.getvalue())
        self.assertIn("MISSED   equal compute of 1600 ms: share of the same without exchange: 0.94 (0.94-0.94) >= 0.98", out.getvalue())

    def test_scale(self):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            line = {"steps": 4, "compute_s": 7.65, "mean_step_s": 8.5, "servers_cpu_s": 40, "trainers_cpu_s": 32,
                     "memory_peak_bytes": 13 * 2**30, "load": 1.0}
            done = {(case.name, 0): line for case in exchange.CASES["scale"]}
            code = exchange.report(exchange.parse(["--part", "scale", "--rounds", "1"]), done)
        self.assertIn("reached  100 trainers, 20 servers: share of the compute time: 0.90 (0.90-0.90) >= 0.9", out.getvalue())
        self.assertIn("MISSED   100 trainers, 20 servers: peak memory, GiB: 13.00 (13.00-13.00) <= 12", out.getvalue())
        self.assertRegex(out.getvalue(), r"18\.00 \(18\.00-18\.00\) +0\.85 \(0\.85-0\.85\)")  # 18 CPU-s a step, two cores, 7.65 s
        self.assertEqual(("reached 5 of 16", 1), (out.getvalue().splitlines()[-1], code))

    def test_link(self):
        """61 MB of one trainer in 0.52 s, of two in 1.06 s; iperf3 carries 0.95 Gbit/s."""
        benchctl = """#!/bin/sh
case "$(cat "$2")" in
*iperf3*) rate=118750000 ;;
*'"trainers": [1]'*) rate=1.923 ;;
*) rate=1.887 ;;
esac
grep -q '"link": {"rate": "1000mbit"}' "$2" && echo "{\\"points\\": [{\\"throughput\\": {\\"value\\": $rate}}]}"
"""
        done = self.run_with("--part", "link", "--rounds", "2", BENCHCTL=self.program("benchctl", benchctl))
        self.assertIn("reached  1 trainers, one server, 1000 Mbit/s: share of iperf3's rate: 0.99 (0.99-0.99) >= 0.97", done.stdout, done.stderr)
        self.assertIn("MISSED   2 trainers, one server, 1000 Mbit/s: share of iperf3's rate: 0.97 (0.97-0.97) >= 0.97", done.stdout)
        self.assertRegex(done.stdout, r"2 trainers, one server +1\.060 \(1\.060-1\.060\) +0\.921")

    def test_one_gang(self):
        args = exchange.parse(["--part", "scale", "--gang", "100x20", "--gang", "60x3"])
        self.assertEqual(["scale 100 20", "scale 60 3"], [case.name for case in exchange.cases_of(args, "scale")])
        self.assertEqual(exchange.CASES["core"], exchange.cases_of(args, "core"))
        with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
            exchange.parse(["--gang", "100x19"])

    def test_a_trace_has_the_length_of_its_step(self):
        times = [tuple(map(int, item.split("=")[1].split(":"))) for item in exchange.trace(7650).split(",")]
        self.assertEqual(16, len(times))
        self.assertAlmostEqual(7.65e9, sum(map(sum, times)), delta=32)

    def test_a_gang_that_fails_says_why(self):
        os.environ["BENCHWORKER"], real = self.program("worker", "#!/bin/sh\necho 'no room' >&2; exit 13\n"), os.environ["BENCHWORKER"]
        self.addCleanup(os.environ.update, BENCHWORKER=real)
        with self.assertRaisesRegex(exchange.Failed, "exit code 13\n  no room"):
            exchange.run_emulated(1, 1, 1, 1)

    def test_a_gang_that_cannot_start_leaves_nobody(self):
        begun = []

        def popen(*args, real=subprocess.Popen, **options):
            begun.append(real(*args, **options))
            return begun[-1]

        with unittest.mock.patch.object(subprocess, "Popen", popen), self.assertRaises(FileNotFoundError):
            with exchange.started([["sleep", 600], ["/no/such/program"]]):
                self.fail("it has started")
        self.assertEqual([-9], [process.returncode for process in begun])

    def test_the_kernels_memory_counts(self):
        with unittest.mock.patch.object(exchange, "tcp_bytes", lambda: 2**40):
            memory = exchange.Memory([os.getpid()])
            memory.look()
        self.assertGreater(memory.peak_bytes, 2**40)

    def test_measurements_that_are_kept_are_not_repeated(self):
        args = ("--part", "core", "--steps", "5", "--json", str(self.file))
        self.assertEqual(0, self.run_with(*args, "--rounds", "1").returncode)
        self.assertEqual(0, self.run_with(*args, "--rounds", "2").returncode)
        self.assertEqual((6, 6), (len(self.servers()), len(self.file.read_text(encoding="utf-8").splitlines())))
        self.assertEqual(0, self.run_with(*args, "--rounds", "1", "--steps", "6").returncode)  # other steps are other measurements
        self.assertEqual(9, len(self.servers()))

    def test_a_failure_says_why_and_keeps_what_is_done(self):
        done = self.run_with("--part", "core", "--rounds", "1", "--json", str(self.file),
                             worker=WORKER.replace("case", 'case "$* " in *"--trainers 8 "*) echo "pserver/0: no" >&2; exit 1 ;; esac\ncase', 1))
        self.assertRegex(done.stderr, r"--trainers 8 .*: exit code 1\n  pserver/0: no")
        done = self.run_with("--part", "native", "--rounds", "1", worker="#!/bin/sh\necho 'no data' >&2; exit 10\n")
        self.assertIn("exit code 10\n  no data", done.stderr)
        self.assertEqual(1, done.returncode)

    @unittest.mock.patch.object(exchange, "LOOK_S", 0.01)  # a look each half second may miss a run of 0.4 s
    def test_real_programs(self):
        emulated = exchange.run_emulated(3, 2, 2, 50)
        self.assertGreaterEqual(emulated["mean_step_s"], 0.05)
        self.assertLess(122e6, emulated["memory_peak_bytes"])
        program = pathlib.Path(os.environ["BENCHWORKER"]).read_bytes()
        if b"__asan_init" not in program and b"__tsan_init" not in program:  # they have memory of their own
            self.assertLess(emulated["memory_peak_bytes"], 1e9)  # not 61 MB for each trainer and direction
        for key in ("servers_cpu_s", "trainers_cpu_s"):
            self.assertGreater(emulated[key], 0, key)
        gang = exchange.run_native(2, 1, 1)
        self.assertGreater(gang["rate"], 0)
        self.assertGreaterEqual(gang["bytes"], 4 * 15254602 * 4)  # two trainers, each way


os.environ.update(BENCHWORKER=str(BUILD / "worker" / "benchworker"))
if __name__ == "__main__":
    bench_case.main()
