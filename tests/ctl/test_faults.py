#!/usr/bin/env python3
"""benchctl run with real workers that train, and one is killed or stopped in the middle: the message names
the replica, and no process is left. Whom the others blame: tests/worker/test_faults.py; kill -9 of benchctl itself: test_run.py."""
import json
import os
import pathlib
from concurrent.futures import ThreadPoolExecutor

import cli

HZ = os.sysconf("SC_CLK_TCK")
ROWS = [  # victim, signal, what the cause must say
    ("pserver/0", cli.SIGKILL, "pserver/0: killed by signal 9"),
    ("trainer/1", cli.signal.SIGSTOP, "trainer/1: lost"),
]


def cpu_s(pid):
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return (int(fields[11]) + int(fields[12])) / HZ


class Faults(cli.CliCase):
    def setUp(self):
        super().setUp()
        self.env.update(BENCHWORKER=os.environ["BENCHWORKER_PROGRAM"], BENCHD_PEER_TIMEOUT_S="15")

    def begin(self, folder):
        """Starts a run of one point with two trainers and waits until they train.
        (process, {"trainer/0": pid, ...}, url of its store)"""
        folder.mkdir()
        store = f"sqlite:{folder}/results.db"
        extra = {"baseline": {"kind": "Point", "where": {"trainers": 2}},
                 "runPolicy": {"activeDeadlineSeconds": 600, "backoffLimit": 0}}
        path = folder / "faults.json"
        one = cli.definition(pservers=(1,), trainers=(2,), steps=100000, repeats=1, extra=extra)
        one["spec"]["workload"]["batchSize"] = 1
        path.write_text(json.dumps(one), encoding="utf-8")
        process = self.start("run", str(path), "--store", store, "--progress", "plain")
        gang = cli.wait_for("the gang", lambda: cli.gang_of(process.pid, 3))
        cli.wait_for("training", lambda: cpu_s(gang["trainer/0"]) > 1 and cpu_s(gang["trainer/1"]) > 1)
        return process, gang, store

    def fault(self, row):
        victim, number, _ = row
        process, gang, store = self.begin(self.folder / f"{victim.replace('/', '')}-{number}")
        os.kill(gang[victim], number)
        process.communicate(timeout=cli.WAIT_S)
        return process.returncode, gang, store

    def test_a_lost_replica_is_named(self):
        with ThreadPoolExecutor(2) as pool:  # two gangs at a time: the machine may have two cores
            results = list(pool.map(self.fault, ROWS))
        for (victim, number, cause), (code, gang, store) in zip(ROWS, results):
            with self.subTest(victim=victim, signal=number.name):
                self.assertEqual(code, 1)
                self.assertEqual([], [name for name, pid in gang.items() if cli.is_alive(pid)])
                (name,) = self.ctl("get", "runs", "--store", store, "-o", "name").stdout.split()
                told = self.ctl("describe", name.split("/")[1], "--store", store).stdout
                self.assertIn(cause, told)
                shown = self.ctl("results", name.split("/")[1], "--store", store, "-o", "json").stdout
                self.assertEqual(json.loads(shown)["phase"], "Failed")


if __name__ == "__main__":
    cli.main()
