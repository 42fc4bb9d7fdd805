#!/usr/bin/env python3
"""script/bench modes with a worker that only says numbers."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import bench_case

WORKER = """#!/bin/sh
seed=${*#*--seed }
seed=${seed%% *}
case "$*" in
*--mode\\ Sync) accuracy=0.8000 staleness= ;;
*accumulate=2) accuracy=0.7801 staleness= ;;
*backups=1) accuracy=0.$((77 + ${seed:-0}))00 staleness=', "late": {"slices": 40, "dropped": 9, "trainer": 1, "most": 9}' ;;
*Async) accuracy=0.7799 staleness=', "staleness": {"slices": 9, "mean": 1.25, "max": 3}' ;;
esac
case "$1 $*" in
pserver*) echo "{\\"type\\": \\"summary\\"$staleness}" ;;
*print-accuracy*) echo "$*" >>"$0.runs"; echo "test_accuracy $accuracy" >&2 ;;
esac
"""


class Modes(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        self.worker = pathlib.Path(self.dir.name, "worker")
        self.worker.write_text(WORKER, encoding="utf-8")
        self.worker.chmod(0o700)

    def run_modes(self, *args):
        return subprocess.run([sys.executable, bench_case.ROOT / "bench" / "modes.py", "--data", "/data", *args], capture_output=True,
                              text=True, check=False, env={**os.environ, "BENCHWORKER": str(self.worker)})

    def runs(self):
        return pathlib.Path(f"{self.worker}.runs").read_text(encoding="utf-8").splitlines()

    def test_beside_sync(self):
        done = self.run_modes("--mode", "Sync", "--mode", "Sync accumulate=2", "--mode", "Async", "--steps", "8", "--seeds", "1")
        self.assertRegex(done.stdout, r"Sync +80\.00 \(80\.00-80\.00\) +8 +48 +0\.00 +0 +0\.0%")
        self.assertRegex(done.stdout, r"Async +77\.99 \(77\.99-77\.99\) +24 +16 +1\.25 +3 +0\.0%")
        self.assertIn("Sync: batch 16, 8 steps, 384 samples; 1 seeds; load average ", done.stdout)
        self.assertIn("reached  Sync accumulate=2: points below Sync: 1.99 (1.99-1.99) <= 2", done.stdout)
        self.assertIn("MISSED   Async: points below Sync: 2.01 (2.01-2.01) <= 2", done.stdout)
        self.assertEqual(("reached 2 of 3", 1), (done.stdout.splitlines()[-1], done.returncode))
        runs = self.runs()
        self.assertEqual(len(runs), 4)
        self.assertIn("--index 0 ", runs[0])
        self.assertIn("--batch-size 16 --warmup-steps 0 --steps 8 --data idx:/data ", runs[0])

    def test_as_many_samples_in_an_update(self):
        done = self.run_modes("--mode", "Sync", "--mode", "Sync accumulate=2", "--steps", "8", "--seeds", "1")
        self.assertRegex(done.stdout, r"Sync accumulate=2 +78\.01 \(78\.01-78\.01\) +4 +96 ")
        self.assertRegex(done.stdout, r"Sync accumulate=2, batch 8, 16 steps +78\.01 \(78\.01-78\.01\) +8 +48 ")
        self.assertIn("reached  Sync accumulate=2, batch 8, 16 steps: points below Sync: 1.99 (1.99-1.99) <= 2", done.stdout)
        self.assertIn("--batch-size 8 --warmup-steps 0 --steps 16 ", self.runs()[2])
        self.run_modes("--mode", "Sync accumulate=2", "--steps", "8", "--batch", "3", "--seeds", "1")
        self.assertEqual(len(self.runs()), 4)  # half of three samples is no batch

    def test_as_many_samples_in_updates(self):
        done = self.run_modes("--mode", "Sync", "--mode", "Sync backups=1", "--steps", "8", "--seed", "2", "--seeds", "1")
        self.assertRegex(done.stdout, r"Sync backups=1 +79\.00 \(79\.00-79\.00\) +9 +32 +0\.00 +0 +22\.5%")
        self.assertRegex(done.stdout, r"Sync backups=1, batch 16, 12 steps +79\.00 \(79\.00-79\.00\) +14 +32 +0\.00 +0 +22\.5%")

    def test_seeds_in_turn(self):
        done = self.run_modes("--mode", "Sync", "--mode", "Sync backups=1", "--steps", "8", "--seed", "2")
        self.assertRegex(done.stdout, r"Sync backups=1 +80\.00 \(79\.00-81\.00\) +9 +32 +0\.00 +0 +22\.5%")
        self.assertIn("reached  Sync backups=1: points below Sync: 0.00 (-1.00-1.00) <= 2", done.stdout)
        self.assertEqual([" ".join(run.split()[run.split().index("--seed"):]) for run in self.runs()],
                         [f"--seed {seed} --mode {mode}" for seed in (2, 3, 4) for mode in ("Sync", "Sync backups=1", "Sync backups=1")])

    def test_what_is_kept_is_not_run_again(self):
        file = os.path.join(self.dir.name, "file")
        for _ in range(2):
            self.assertEqual(self.run_modes("--mode", "Sync", "--seeds", "2", "--json", file).returncode, 0)
        lines = [json.loads(line) for line in pathlib.Path(file).read_text(encoding="utf-8").splitlines()]
        self.assertEqual([(t["mode"], t["accuracy"], t["batch"], t["seed"]) for t in lines], [("Sync", 0.8, 16, 1), ("Sync", 0.8, 16, 2)])

    def test_wrong_steps(self):
        self.assertIn("steps a multiple of 4", self.run_modes("--steps", "6").stderr)


if __name__ == "__main__":
    bench_case.main()
