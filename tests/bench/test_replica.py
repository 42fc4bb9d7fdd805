#!/usr/bin/env python3
"""benchmarks/profiles/benchd_replica.py with a clock of its own: what is measured, and how it is written."""
import base64
import contextlib
import io
import json
import os
import pathlib
import struct
import sys
import tempfile
import types
import unittest
from unittest import mock

import bench_case

sys.path.insert(0, str(bench_case.ROOT / "benchmarks" / "profiles"))
sys.path.insert(0, str(bench_case.ROOT / "benchmarks" / "profiles" / "pytorch"))
import benchd_replica
import devices

MS = 1_000_000


class Clock:
    """As the module time: it stands still but for the steps."""

    def __init__(self):
        self.now_ns = 5 * MS

    def monotonic_ns(self):
        return self.now_ns

    def process_time_ns(self):
        return self.now_ns // 2


class Replica(unittest.TestCase):
    def setUp(self):
        self.addCleanup(setattr, benchd_replica, "time", benchd_replica.time)
        self.clock = benchd_replica.time = Clock()

    def train(self, steps, warmup=1, batch=4):
        """steps: (ms, loss) of each, the warm-up first. The records."""
        replica = benchd_replica.Replica({"BENCHD_BATCH_SIZE": str(batch), "BENCHD_WARMUP_STEPS": str(warmup),
                                          "BENCHD_STEPS": str(len(steps) - warmup)})
        left = iter(steps)

        def step(_x, _labels):
            took_ms, loss = next(left)
            self.clock.now_ns += took_ms * MS
            return loss

        with contextlib.redirect_stdout(io.StringIO()) as out:
            replica.train(step, [(None, None)])
        return [json.loads(line) for line in out.getvalue().splitlines()]

    def test_the_warm_up_is_not_measured(self):
        first, second, *steps, summary = self.train([(900, 9.0), (300, 8.0), (10, 3.0), (30, 2.0), (20, 1.0)], warmup=2)
        self.assertEqual([(True, 0, 0), (True, 1, 0)], [(r["warmup"], r["step"], r["t_ns"]) for r in (first, second)])
        self.assertEqual([(0, 10 * MS, 10 * MS), (1, 40 * MS, 30 * MS), (2, 60 * MS, 20 * MS)],
                         [(r["step"], r["t_ns"], r["step_ns"]) for r in steps])
        self.assertEqual([False] * 3, ["warmup" in r for r in steps])
        self.assertEqual((60 * MS, 30 * MS), (summary["duration_ns"], summary["cpu_ns"]))
        self.assertEqual((3, 12, 3.0, 1.0), tuple(summary[k] for k in ("steps", "samples", "loss_first", "loss_last")))

    def test_steps_that_somebody_else_measured(self):
        replica = benchd_replica.Replica({"BENCHD_BATCH_SIZE": "4", "BENCHD_STEPS": "3"})
        with contextlib.redirect_stdout(io.StringIO()) as out:
            replica.report(70 * MS, 30 * MS, [(10 * MS, 3.0), (40 * MS, float("nan")), (60 * MS, 1.0)])
        *steps, summary = [json.loads(line) for line in out.getvalue().splitlines()]
        self.assertEqual([(0, 10 * MS, 10 * MS, 3.0), (1, 40 * MS, 30 * MS, None), (2, 60 * MS, 20 * MS, 1.0)],
                         [(r["step"], r["t_ns"], r["step_ns"], r["loss"]) for r in steps])
        self.assertEqual((70 * MS, 30 * MS, 12, 3.0, 1.0), tuple(
            summary[k] for k in ("duration_ns", "cpu_ns", "samples", "loss_first", "loss_last")))

    def test_a_loss_that_is_no_number(self):
        *_, step, summary = self.train([(1, 9.0), (1, 2.0), (1, float("nan"))])
        self.assertEqual((None, None), (step["loss"], summary["loss_last"]))

    def test_the_series_has_a_thousand_times_at_most(self):
        """Each is the mean of as many steps."""
        for n, k in ((1, 1), (1000, 1), (1001, 2), (1999, 2), (2001, 3)):
            series = benchd_replica._series([10 * MS if i % k else 40 * MS for i in range(n)])
            self.assertEqual((k, -(-n // k)), (series["k"], series["n"]), n)
            codes = struct.unpack(f"<{series['n']}H", base64.b64decode(series["data"]))
            expected = (40 + 10 * (k - 1)) * MS / k
            self.assertAlmostEqual(2 ** ((codes[0] + series["min"]) / 2048) * 1000 / expected, 1, delta=2e-4, msg=n)

    def test_cards_and_topology(self):
        """As lib/host/host.c names cards; the topology is there with the program that prints it."""
        with tempfile.TemporaryDirectory() as name, mock.patch.dict(os.environ, PATH=name):
            for card, speed in (("lo", "1"), ("veth12", "10000"), ("ib0", "-1"), ("eth0", "25000"), ("br0", None)):
                folder = pathlib.Path(name, "net", card)
                folder.mkdir(parents=True)
                if speed is not None:
                    (folder / "speed").write_text(speed + "\n", encoding="ascii")
            self.assertEqual("br0, eth0 25000 Mbit/s, ib0", benchd_replica._nics(f"{name}/net"))
            self.assertIsNone(benchd_replica._nics(f"{name}/none"))
            self.assertIsNone(benchd_replica._gpu_topology())
            program = pathlib.Path(name, "nvidia-smi")
            for does, wanted in (("printf '\\t\\033[4mGPU0\\033[0m\\nGPU0\\t X \\n'; echo \"$@\"", "        GPU0\nGPU0     X \ntopo -m"), ("exit 9", None)):
                program.write_text(f"#!/bin/sh\n{does}\n", encoding="ascii")
                program.chmod(0o700)
                self.assertEqual(wanted, benchd_replica._gpu_topology())

    def test_what_it_cannot_do_is_refused(self):
        for name, value in (("MODEL", "resnet"), ("DATA", "idx:/x"), ("EXCHANGE", "PServer"), ("ROLE", "pserver")):
            with self.subTest(name), contextlib.redirect_stdout(io.StringIO()) as out, \
                    contextlib.redirect_stderr(io.StringIO()), self.assertRaises(SystemExit) as end:
                benchd_replica.Replica({f"BENCHD_{name}": value})
            self.assertEqual(benchd_replica.EXIT_USAGE, end.exception.code)
            self.assertIn(f"BENCHD_{name} is '{value}'", json.loads(out.getvalue())["message"])

    def test_what_a_script_says_it_can_do(self):
        made = benchd_replica.Replica({"BENCHD_EXCHANGE": "AllReduce", "BENCHD_ROLE": "worker", "BENCHD_WORKERS": "3",
                                       "BENCHD_TRAINERS": "0"}, ("None", "AllReduce"), ("trainer", "worker"))
        self.assertEqual(("AllReduce", "worker", 3), (made.exchange, made.role, made.training))
        self.assertEqual(2, benchd_replica.Replica({"BENCHD_TRAINERS": "2", "BENCHD_WORKERS": "0"}).training)
        self.assertEqual(1, benchd_replica.Replica({}).training)
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()), \
                self.assertRaises(SystemExit):
            benchd_replica.Replica({"BENCHD_EXCHANGE": "PServer"}, ("None", "AllReduce"))
        self.assertIn("this profile has 'None', 'AllReduce' only", out.getvalue())

    def test_each_replica_has_data_of_its_own(self):
        """The first one the same as a replica alone."""
        seeds = []
        numpy = types.SimpleNamespace(float32=None, random=types.SimpleNamespace(
            default_rng=lambda seed: seeds.append(seed) or mock.Mock()))
        with mock.patch.dict(sys.modules, numpy=numpy):
            for index in "012":
                benchd_replica.Replica({"BENCHD_INDEX": index, "BENCHD_SEED": "7"}).batches()
        self.assertEqual([7, [7, 1], [7, 2]], seeds)

    def test_a_rank_of_pytorch_has_the_gpu_of_its_number(self):
        for n, ranks, wanted in ((0, {"RANK": "1"}, ("cpu",)), (2, {"RANK": "3"}, ("cuda", 1)), (2, {}, ("cuda", 0)),
                                 (8, {"RANK": "9", "LOCAL_RANK": "2"}, ("cuda", 2))):
            torch = mock.Mock()
            torch.cuda.device_count.return_value = n
            with mock.patch.dict(os.environ, ranks, clear=True):
                devices.choose(torch)
            torch.device.assert_called_once_with(*wanted)

    def test_ranks_of_pytorch_meet_over_nccl_where_they_have_gpus(self):
        for kind, backend, keys in (("cpu", "gloo", {}), ("cuda", "nccl", {"device_id": mock.ANY})):
            torch, device = mock.Mock(), types.SimpleNamespace(type=kind)
            devices.connect(torch, device)
            torch.distributed.init_process_group.assert_called_once_with(backend, **keys)


if __name__ == "__main__":
    bench_case.main()
