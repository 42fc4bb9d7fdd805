#!/usr/bin/env python3
"""script/bench allreduce with programs that only say numbers: figures, ratios and bars, and peers that are missing."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import bench_case
import allreduce
import cores

WORKER = """#!/bin/sh
while read -r name value; do
    [ "$name" != Cpus_allowed_list: ] || echo "$* cpus=$value" >> "$0.runs"
done < /proc/self/status
case "$*" in
allreduce*-J*)
    while [ "$1" != -J ]; do shift; done
    printf '{"rows": [{"way": "doubling", "in_place": {"time_us": %s, "cpu_ns_per_byte": 0.5, "wrong": %s}, "out_of_place": {"time_us": 9}}]}' \\
        "${TIME_US:-8}" "${WRONG:-0}" > "$2" ;;
allreduce*) ;;
worker*--index?0*Emulated*) echo '{"samples": 9, "duration_ns": 1000000000, "cpu_ns": 5, "bytes_tx": 6, "bytes_rx": 6}' ;;
worker*) echo '{"samples": 90, "duration_ns": '${WORKER_NS:-1000000000}', "cpu_ns": 5000000000, "bytes_tx": 6, "bytes_rx": 6}' ;;
*) echo '{"samples": 100, "duration_ns": 1000000000, "cpu_ns": 4000000000, "bytes_tx": 0, "bytes_rx": 0}' ;;
esac
"""
PEER = {"time_us": 16, "cpu_ns_per_byte": 1.0, "wrong": 0}


class Allreduce(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        self.worker = pathlib.Path(self.dir.name, "worker")
        self.worker.write_text(WORKER, encoding="utf-8")
        self.worker.chmod(0o700)
        self.file = pathlib.Path(self.dir.name, "file")

    def run_with(self, *args, **env):
        """Without peers: no environment of theirs, and no mpicc."""
        return subprocess.run([sys.executable, bench_case.ROOT / "bench" / "allreduce.py", *args], capture_output=True, text=True,
                              check=False, env={**os.environ, "BENCHWORKER": str(self.worker), "XDG_CACHE_HOME": self.dir.name,
                                                "PATH": "/nowhere", **env})

    def keep(self, case, **values):
        line = {"case": case, "round": 0, "algorithm": "auto", "values": values, "load": 1.0}
        with open(self.file, "a", encoding="utf-8") as f:
            f.write(json.dumps(line) + "\n")

    def test_calls(self):
        self.keep("Gloo, 2 ranks", **{"4096": PEER, str(allreduce.MODEL_BYTES): PEER})
        self.keep("Open MPI, 2 ranks", **{"4096": {**PEER, "time_us": 4}, str(allreduce.MODEL_BYTES): PEER})
        done = self.run_with("--part", "calls", "--rounds", "1", "--ranks", "2", "--sizes", f"4096,{allreduce.MODEL_BYTES}", "--json",
                             str(self.file))
        for text in ("reached  2 ranks, 4096 bytes: time over Gloo's: 0.50 (0.50-0.50) < 1",
                     "MISSED   2 ranks, 4096 bytes: time over Open MPI's: 2.00 (2.00-2.00) < 1",
                     "reached  2 ranks, 61018408 bytes: CPU time a byte over Gloo's: 0.50 (0.50-0.50) < 1"):
            self.assertIn(text, done.stdout, done.stderr)
        self.assertEqual(("reached 4 of 5", 1), (done.stdout.splitlines()[-1], done.returncode))
        runs = pathlib.Path(f"{self.worker}.runs").read_text(encoding="utf-8")
        self.assertEqual(4, runs.count("allreduce --index"))
        self.assertIn("-b 4096 -e 4096 -w 200 -n 1000 --algorithm auto --backend tcp", runs)

    def test_missing_peers_are_missed_bars(self):
        done = self.run_with("--part", "calls", "--rounds", "1", "--ranks", "2", "--sizes", "4096")
        self.assertIn("MISSED   2 ranks, 4096 bytes: time over Gloo's: not measured < 1", done.stdout, done.stderr)
        self.assertEqual(("reached 0 of 2", 1), (done.stdout.splitlines()[-1], done.returncode))

    def test_four_ranks_have_no_bar_at_4_kib(self):
        done = self.run_with("--part", "calls", "--rounds", "1", "--ranks", "4", "--sizes", "4096")
        self.assertEqual("reached 0 of 0", done.stdout.splitlines()[-1], done.stderr)

    def test_wrong_sums_are_no_figure(self):
        done = self.run_with("--part", "calls", "--rounds", "1", "--ranks", "2", "--sizes", "4096", WRONG="1")
        self.assertEqual((1, "script/bench allreduce: 2 ranks, 4096 bytes: a program's sums are wrong\n"),
                         (done.returncode, done.stderr.splitlines(True)[-1]))

    def test_shared_memory(self):
        sizes = (allreduce.MODEL_BYTES, allreduce.ADD_BYTES)
        for program in ("Open MPI shm", "the additions alone"):
            self.keep(f"{program}, 2 ranks", **{str(size): PEER for size in sizes})
        done = self.run_with("--part", "shm", "--rounds", "1", "--ranks", "2", "--sizes", ",".join(map(str, sizes)), "--json",
                             str(self.file), TIME_US="12500")
        for text in ("MISSED   2 ranks, 61018408 bytes through shared memory, ms: 12.50 (12.50-12.50) <= 12",
                     "MISSED   2 ranks, 61018408 bytes: time over Open MPI shm's: 781.25 (781.25-781.25) < 1",
                     "MISSED   2 ranks, 1048576 bytes: time over that of the additions alone: 781.25 (781.25-781.25) <= 3",
                     "MISSED   2 ranks, 61018408 bytes: time over MPICH shm's: not measured < 1"):
            self.assertIn(text, done.stdout, done.stderr)
        self.assertIn("--backend shm", pathlib.Path(f"{self.worker}.runs").read_text(encoding="utf-8"))

    def test_training(self):
        done = self.run_with("--part", "training", "--rounds", "1")
        self.assertIn("reached  two workers, batch 32, Tcp: share of two copies: 0.90 (0.90-0.90) >= 0.85", done.stdout, done.stderr)
        self.assertIn("MISSED   two workers, batch 128, SharedMemory: share of two copies: 0.90 (0.90-0.90) >= 0.97", done.stdout)
        row = next(line for line in done.stdout.splitlines() if line.startswith("batch 32"))
        self.assertIn("0.125 (0.125-0.125)", row)  # 2 x (5 - 4) CPU-s more, in 16 steps

    def test_training_is_pinned_as_benchctl_pins(self):
        cpus = cores.one_cpu_each(2)
        if None in cpus:
            self.skipTest("two CPUs are needed")
        done = self.run_with("--part", "training", "--rounds", "1")
        runs = pathlib.Path(f"{self.worker}.runs").read_text(encoding="utf-8").splitlines()
        self.assertEqual(12, len(runs), done.stderr)
        for cpu in cpus:
            self.assertEqual(6, sum(run.endswith(f" cpus={cpu}") for run in runs), runs)

    def test_cores_before_their_second_threads(self):
        """CPUs 0 and 1 are threads of a core, and 2 and 3."""
        with unittest.mock.patch("os.sched_getaffinity", return_value={0, 1, 2, 3}), \
                unittest.mock.patch("cores.first_thread", lambda cpu: cpu // 2 * 2):
            self.assertEqual([0, 2, 1], cores.one_cpu_each(3))
            self.assertEqual([None] * 5, cores.one_cpu_each(5))

    def test_equal(self):
        done = self.run_with("--part", "equal", "--rounds", "1", WORKER_NS="1052631579")
        # 16 steps in 1.053 s beside 16 in 1 s; the faster of the two does not count.
        self.assertIn("reached  two workers that sleep 450 ms: share of the same without exchange: 0.95 (0.95-0.95) >= 0.94", done.stdout,
                      done.stderr)
        self.assertIn("MISSED   two workers that sleep 1600 ms: share of the same without exchange: 0.95 (0.95-0.95) >= 0.98", done.stdout)
        runs = [line for line in pathlib.Path(f"{self.worker}.runs").read_text(encoding="utf-8").splitlines() if "Emulated" in line]
        self.assertEqual((4, 4), (sum("--arena-fd" in run for run in runs), sum("--exchange None" in run for run in runs)))
        self.assertTrue(all("--trace conv1_1=" in run for run in runs), runs)

    def test_link(self):
        """Two copies of batch 128 take 1.28 s a step; iperf3 carries 0.95 Gbit/s, so 61 MB take 0.514 s."""
        program = pathlib.Path(self.dir.name, "benchctl")
        program.write_text("""#!/bin/sh
text=$(cat "$2")
case "$text" in *'"link": {"rate": "1000mbit"}'*) ;; *) exit 1 ;; esac
case "$text" in
*iperf3*) rate=118750000 ;;
*'"workers": [2]'*nccl-tests*|*nccl-tests*'"workers": [2]'*) rate=0.118 ;;
*) rate=180 ;;
esac
worker='{"summary": {"phaseNs": {"forward": 9, "send": 60000000, "wait": 0, "receive": 180000000}, "noise": {"cpuRunNs": 4300000000}}}'
echo "{\\"points\\": [{\\"throughput\\": {\\"value\\": $rate}, \\"trials\\": [{\\"replicas\\": {\\"items\\": [$worker, $worker]}}]}]}"
""", encoding="utf-8")
        program.chmod(0o700)
        done = self.run_with("--part", "link", "--rounds", "1", BENCHCTL=str(program), PATH=os.environ["PATH"])
        self.assertIn("reached  2 ranks, 61 MB, 1000 Mbit/s: share of iperf3's rate: 0.99 (0.99-0.99) >= 0.99", done.stdout, done.stderr)
        # A step of both takes 256 / 180 = 1.422 s: 0.142 s of 0.514 are not hidden.
        self.assertIn("reached  two workers, batch 128, 1000 Mbit/s: hidden share of the exchange: 0.72 (0.72-0.72)", done.stdout)
        self.assertRegex(done.stdout, r"time of its bytes at iperf3's rate, s +0\.514")
        self.assertRegex(done.stdout, r"a worker waits for the exchange, s +0\.040 ")  # 0.24 s in 6 steps
        self.assertRegex(done.stdout, r"beyond that of two copies, s +0\.100 ")          # 2 x (4.3 - 4) CPU-s in 6 steps


if __name__ == "__main__":
    bench_case.main()
