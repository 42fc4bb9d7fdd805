#!/usr/bin/env python3
"""bench/by_hand.py: what its processes are given, and what counts as their rate. Stand-ins for the scripts print records; cli/frameworks runs real ones."""
import json
import pathlib
import sys
import tempfile
import time
import unittest
from unittest import mock

import bench_case

import by_hand

# Ends as its directions say; its summary takes `s` seconds for 8 samples.
SCRIPT = """
import json, os, pathlib, sys, time
want = json.loads(pathlib.Path(sys.argv[0]).with_name("want.json").read_text())[os.environ.get("BENCHD_INDEX", "0")]
print("a warning of the framework")
print(json.dumps({"benchd": 1, "type": "summary", "samples": 8, "duration_ns": int(want["s"] * 1e9), "of": os.environ["BENCHD_BATCH_SIZE"]}))
sys.stdout.flush()
time.sleep(want.get("sleep", 0))
sys.stderr.write(want.get("says", ""))
sys.exit(want.get("code", 0))
"""


class Rate(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "x").mkdir()
        (self.folder / "x" / "train.py").write_text(SCRIPT)
        for name, value in (("PROFILES", self.folder), ("interpreter", lambda _: sys.executable)):
            patch = mock.patch.object(by_hand.peers, name, value)
            patch.start()
            self.addCleanup(patch.stop)

    def want(self, **of_index):
        (self.folder / "x" / "want.json").write_text(json.dumps({name[1:]: value for name, value in of_index.items()}))

    def test_all_samples_in_the_time_of_the_last(self):
        self.want(_0={"s": 1}, _1={"s": 4})
        self.assertEqual(4.0, by_hand.run("x", [{"BENCHD_INDEX": "0"}, {"BENCHD_INDEX": "1"}], 8, 1))

    def test_a_process_that_fails_is_named_with_its_words(self):
        self.want(_0={"s": 1}, _1={"s": 1, "code": 3, "says": "no such device"})
        with self.assertRaisesRegex(OSError, r"x ended with \[(0|None), 3\]: no such device"):
            by_hand.run("x", [{"BENCHD_INDEX": "0"}, {"BENCHD_INDEX": "1"}], 8, 1)

    def test_who_waits_for_one_that_failed_is_not_waited_for(self):
        self.want(_0={"s": 1, "sleep": 600}, _1={"s": 1, "code": 3, "says": "no such device"})
        began = time.monotonic()
        with self.assertRaisesRegex(OSError, r"x ended with \[None, 3\]: no such device"):
            by_hand.run("x", [{"BENCHD_INDEX": "0"}, {"BENCHD_INDEX": "1"}], 8, 1)
        self.assertLess(time.monotonic() - began, 300)

    def test_one_that_does_not_end_has_a_limit(self):
        self.want(_0={"s": 1, "sleep": 60})
        with mock.patch.object(by_hand, "LIMIT_S", .2), self.assertRaisesRegex(OSError, "x did not end within 0.2 s"):
            by_hand.run("x", [{"BENCHD_INDEX": "0"}], 8, 1)

    def test_nothing_printed_is_no_rate(self):
        with self.assertRaisesRegex(OSError, "no process printed a summary"):
            by_hand.rate_of(["", "a warning\n"])

    def test_efficiency_is_of_two_beside_two_alone(self):
        rates = iter([30.0, 20.0])
        with mock.patch.object(by_hand, "run", side_effect=lambda *_: next(rates)) as run:
            self.assertEqual(.75, by_hand.efficiency("pytorch-ddp", 32, 5))
        self.assertEqual([("pytorch", 2), ("pytorch", 1)], [(call.args[0], len(call.args[1])) for call in run.call_args_list])


class Variables(unittest.TestCase):
    def test_ranks_of_torch_know_each_other(self):
        first, second = by_hand.ddp_pair()
        self.assertEqual((first["MASTER_PORT"], "2", "2"), (second["MASTER_PORT"], second["WORLD_SIZE"], second["BENCHD_WORKERS"]))
        self.assertEqual([("0", "0"), ("1", "1")], [(one["RANK"], one["BENCHD_INDEX"]) for one in (first, second)])

    def test_two_trainers_and_their_server_share_a_cluster(self):
        pair = by_hand.server_pair()
        configs = [json.loads(one["TF_CONFIG"]) for one in pair]
        self.assertEqual([("worker", 0), ("worker", 1), ("ps", 0)], [(c["task"]["type"], c["task"]["index"]) for c in configs])
        self.assertEqual(["trainer", "trainer", "pserver"], [one["BENCHD_ROLE"] for one in pair])
        (cluster,) = {json.dumps(c["cluster"]) for c in configs}
        addresses = json.loads(cluster)
        self.assertEqual(3, len({*addresses["worker"], *addresses["ps"]}))


if __name__ == "__main__":
    bench_case.main()
