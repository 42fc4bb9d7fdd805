#!/usr/bin/env python3
"""Shaped links: real processes behind them, who may not have them, whom a gang names when one is cut, and what is left after kill -9.
Only root can make network namespaces; without it the test says what it skips."""
import json
import os
import pathlib
import shutil
import subprocess
import unittest

import cli

IS_ROOT = os.geteuid() == 0
NEEDS_ROOT = unittest.skipUnless(IS_ROOT, "only root shapes links")


def network_of(pid):
    try:
        return os.readlink(f"/proc/{pid}/ns/net")
    except OSError:
        return None


def networks_in_use():
    """Of processes, and of those that hold one open."""
    found = set()
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        found.add(network_of(process.name))
        try:
            found.update(os.readlink(fd) for fd in (process / "fd").iterdir())
        except OSError:
            continue  # it has ended
    return {n for n in found if n is not None and n.startswith("net:")}


def children(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    except OSError:
        return []


def received_bytes(pid):
    """Through the link of this process."""
    (line,) = (line for line in pathlib.Path(f"/proc/{pid}/net/dev").read_text(encoding="ascii").splitlines() if "eth0:" in line)
    return int(line.split(":")[1].split()[0])


class Links(cli.CliCase):
    def setUp(self):
        super().setUp()
        self.env.update(BENCHWORKER=os.environ["BENCHWORKER_PROGRAM"], BENCHD_PEER_TIMEOUT_S="15")

    def run_as_nobody(self, *args):
        """Copies of the programs: the tree may lie in a home that only its owner may enter."""
        program, worker = (shutil.copy(path, self.folder) for path in (cli.BENCHCTL, self.env["BENCHWORKER"]))
        self.folder.chmod(0o777)
        for file in self.folder.glob("results.db*"):
            file.chmod(0o666)
        return subprocess.run([program, "run", *args, "--local", "--store", self.store], env={**self.env, "BENCHWORKER": worker}, capture_output=True,
                              text=True, check=False, cwd="/", **({"user": 65534, "group": 65534} if IS_ROOT else {}))

    @NEEDS_ROOT
    def test_an_axis(self):
        one = {"baseline": {"kind": "Point", "where": {"trainers": 1}}}
        result = self.run_tiny("--set", "batch_size=1", "--set", "link=none,1000mbit", pservers=(1,), steps=1, repeats=1, extra=one)
        self.assertEqual(result["phase"], "Succeeded")
        self.assertEqual([(p["parameters"]["link"], p.get("link")) for p in result["points"]], [("none", None), ("1gbit", "1gbit")])
        text = self.ctl("results", result["run"], "--store", self.store).stdout
        self.assertRegex(text, r"\n *LINK  +SAMPLES/S ")
        # 61 MB in each direction, one after the other but for what overlaps: no step is faster than one direction.
        self.assertGreater(1 / result["points"][1]["throughput"]["value"], 61_018_408 * 8 / 1e9 * 0.95)

    @NEEDS_ROOT
    def test_of_the_workload(self):
        workload = {"model": "vgg16-fluid-fc512", "batchSize": 1, "link": {"rate": "2gbit"}}
        path = self.define("linked.json", pservers=(1,), steps=1, repeats=1, extra={"workload": workload})
        note = self.ctl("validate", path).stderr
        self.assertIn("links are shaped between the processes of one machine, not between pods", note)

    def test_not_root(self):
        workload = {"model": "vgg16-fluid-fc512", "batchSize": 1, "link": {"rate": "1gbit"}}
        path = self.define("linked.json", pservers=(1,), steps=1, repeats=1, extra={"workload": workload})
        done = self.run_as_nobody(str(path))
        self.assertEqual(done.returncode, 9, done.stderr)
        self.assertIn("link 1gbit of point 0: a shaped link needs root", done.stderr)
        self.assertFalse((self.folder / "results.db").exists())

    @NEEDS_ROOT
    def test_delay_needs_netem(self):
        workload = {"model": "vgg16-fluid-fc512", "batchSize": 1, "link": {"rate": "1gbit", "delay": "1ms"}}
        path = self.define("linked.json", pservers=(1,), trainers=(1,), steps=1, repeats=1, extra={"workload": workload})
        done = subprocess.run([cli.BENCHCTL, "run", path, "--store", self.store], env=self.env, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            self.assertEqual(done.returncode, 9)
            self.assertIn("this kernel cannot delay packets: it has no netem", done.stderr)

    @NEEDS_ROOT
    def test_a_link_that_is_cut(self):
        """No packet says that it is gone, and both ends name each other. All others agree with one of them: that is the cause."""
        path = self.define("cut.json", pservers=(1,), trainers=(2,), steps=100000, repeats=1, extra={
            "workload": {"model": "vgg16-fluid-fc512", "batchSize": 1, "link": {"rate": "1gbit"}},
            "baseline": {"kind": "Point", "where": {"trainers": 2}}, "runPolicy": {"activeDeadlineSeconds": 600, "backoffLimit": 0}})
        run = self.start("run", path, "--local", "--store", self.store, "-o", "json")
        gang = cli.wait_for("the gang", lambda: cli.gang_of(run.pid, 3))
        cli.wait_for("two exchanges", lambda: received_bytes(gang["trainer/1"]) > 2 * 61_018_408)
        subprocess.run(["nsenter", f"--net=/proc/{gang['trainer/1']}/ns/net", "ip", "link", "set", "eth0", "down"], check=True)
        out, err = run.communicate(timeout=cli.WAIT_S)
        self.assertEqual(1, run.returncode, err)
        result = json.loads(out)
        self.assertRegex(result["points"][0]["trials"][0]["error"], "trainer/1: lost, reported by (pserver|trainer)/0: ")
        for role, index, lost in (("pserver", "0", "trainer/1"), ("trainer", "0", "trainer/1"), ("trainer", "1", "pserver/0")):
            log = self.ctl("logs", result["run"], "--point", "0", "--role", role, "--index", index, "--store", self.store).stdout
            records = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
            self.assertEqual([lost], [r["peer"] for r in records if r["type"] == "error"], f"{role}/{index}")

    @NEEDS_ROOT
    def test_nothing_is_left_after_kill_9(self):
        path = self.define("long.json", pservers=(1,), steps=1000, repeats=1,
                           extra={"workload": {"model": "vgg16-fluid-fc512", "batchSize": 1, "link": {"rate": "1gbit"}}})
        own = network_of("self")
        run = subprocess.Popen([cli.BENCHCTL, "run", str(path), "--local", "--store", self.store], env=self.env,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            inside = cli.wait_for("two replicas in networks of their own",
                                  lambda: len(n := {network_of(c) for c in children(run.pid)} - {own, None}) >= 2 and n)
        finally:
            run.kill()
            run.wait()
        cli.wait_for("their networks are nobody's", lambda: not inside & networks_in_use())
        # Who cannot make the links cannot go on, and the run stays as it is, for one who can.
        done = self.run_as_nobody("--resume", "latest")
        self.assertEqual(done.returncode, 9, done.stderr)
        self.assertIn("link 1gbit of point 0: a shaped link needs root", done.stderr)
        self.assertIn("(interrupted)", self.ctl("get", "runs", "--store", self.store).stdout)


if __name__ == "__main__":
    cli.main()
