#!/usr/bin/env python3
"""script/bench faults: what is drawn, what counts as right, trials that are kept; and 20 real ones."""
import contextlib
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import bench_case
import random_faults as rf

BUILD = pathlib.Path(os.environ["BENCHD_BUILD_DIR"])
# Under a sanitizer three processes on two busy CPUs may be too slow to agree on shared memory.
IS_SANITIZED = os.environ.get("BENCHD_SANITIZED") == "1"


def ended(name, code, peer="", ms=500, steps=3):
    return {"name": name, "code": code, "peer": peer, "message": "", "ended_ms": ms, "steps": steps}


def outcome(*processes, victim="worker/1", other="", step=3):
    return {"victim": victim, "other": other, "struck_ms": 100, "struck_at_step": step, "processes": list(processes)}


def kinds(fault, *processes, late_s=0, **more):
    return [kind for kind, _ in rf.judge({"fault": fault}, outcome(*processes, **more), late_s)]


def state_of(pid):
    """As in /proc/PID/stat; Z: it has ended, None: and somebody has waited for it."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[0]
    except OSError:
        return None


def soon(is_true):
    """Within 60 s."""
    end_s = time.monotonic() + 60
    while not is_true() and time.monotonic() < end_s:
        time.sleep(0.05)
    return is_true()


class Judge(unittest.TestCase):
    def test_a_killed_one_is_named_by_all(self):
        self.assertEqual([], kinds("kill", ended("worker/0", 11, "worker/1"), ended("worker/1", -9)))
        self.assertEqual([], kinds("kill", ended("worker/0", 0), ended("worker/1", 0)))  # all were through
        self.assertEqual([], kinds("kill", ended("worker/0", 11, "worker/1"), ended("worker/1", -9), ended("worker/2", 0)))

    def test_what_is_wrong_has_a_kind(self):
        victim = ended("worker/1", -9)
        for process, kind in ((ended("worker/0", None), "hangs"), (ended("worker/0", 99), "wrong sums"),
                              (ended("worker/0", 11, "worker/2"), "healthy peers named"), (ended("worker/0", 13), "other ends"),
                              (ended("worker/0", -11), "other ends"), (ended("worker/0", 11), "other ends")):
            self.assertEqual([kind], kinds("kill", process, victim))

    def test_the_victim_too(self):
        well = ended("worker/0", 11, "worker/1")
        for fault, right, wrong in (("stop", ended("worker/1", 11, "worker/1"), ended("worker/1", 11, "worker/0")),
                                    ("abandon", ended("worker/1", 10), ended("worker/1", 13)),
                                    ("stick", ended("worker/1", 13), ended("worker/1", None)),
                                    ("kill", ended("worker/1", -9), ended("worker/1", 99))):
            self.assertEqual([], kinds(fault, well, right), fault)
            self.assertEqual(1, len(kinds(fault, well, wrong)), fault)

    def test_nobody_ends_for_a_pause_or_for_nothing(self):
        for fault in rf.HARMLESS:
            self.assertEqual([], kinds(fault, ended("worker/0", 0), ended("worker/1", 0)))
            self.assertEqual(["healthy peers named"] * 2,
                             kinds(fault, ended("worker/0", 11, "worker/1"), ended("worker/1", 11, "worker/0")))

    def test_a_cut_connection_has_two_ends(self):
        both = [ended("worker/0", 11, "worker/1"), ended("worker/1", 11, "worker/0")]
        self.assertEqual([], kinds("cut", *both, other="worker/0"))
        self.assertEqual(["healthy peers named"], kinds("cut", *both, ended("worker/2", 11, "worker/2"), other="worker/0"))
        self.assertEqual(["healthy peers named"] * 2, kinds("cut", *both))  # none was cut

    def test_who_comes_when_the_others_have_left_names_one_of_them(self):
        well = [ended("worker/1", -9), ended("worker/2", 11, "worker/1", ms=1000)]
        self.assertEqual([], kinds("kill", ended("worker/0", 11, "worker/2", ms=3000, steps=0), *well, step=0))
        for late in (ended("worker/0", 11, "worker/2", ms=2999, steps=0), ended("worker/0", 11, "worker/2", ms=3000, steps=1)):
            self.assertEqual(["healthy peers named"], kinds("kill", late, *well, step=0))
        self.assertEqual(["healthy peers named"], kinds("kill", ended("worker/0", 11, "worker/2", ms=2050, steps=0), *well, step=1))
        woken = ended("worker/1", 11, "worker/0", ms=16000, steps=0)
        self.assertEqual([], kinds("stop", ended("worker/0", 11, "worker/1", ms=8000, steps=0), woken, step=0))

    def test_who_ends_too_late(self):
        for fault, ms, step, late_s, found in (("kill", 2100, 3, 0, []), ("kill", 2101, 3, 0, ["late"]), ("kill", 2101, 3, 1, []),
                                               ("kill", 10100, 0, 0, []), ("stop", 10100, 3, 0, []), ("stop", 10101, 3, 0, ["late"])):
            victim = ended("worker/1", -9 if fault == "kill" else 0, ms=99999)
            self.assertEqual(found, kinds(fault, ended("worker/0", 11, "worker/1", ms), victim, step=step, late_s=late_s), (fault, ms))


class Draw(unittest.TestCase):
    def test_the_same_every_time_and_everything_once(self):
        all_words = [rf.draw(1, number, list(rf.FAMILIES)) for number in range(1000)]
        self.assertEqual(all_words, [rf.draw(1, number, list(rf.FAMILIES)) for number in range(1000)])
        self.assertNotEqual(all_words, [rf.draw(2, number, list(rf.FAMILIES)) for number in range(1000)])
        met = {(w["family"], w["transport"], w["fault"]) for w in all_words}
        all_kinds = {(f, t, k) for f in rf.FAMILIES for t in rf.TRANSPORTS for k in rf.FAULTS}
        self.assertEqual(all_kinds, met)
        for w in all_words:
            self.assertLess(w["victim"], w["servers"] + w["workers"])
            if w["fault"] in rf.OF_WORKERS:
                self.assertGreaterEqual(w["victim"], w["servers"])


class Trials(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        self.file = pathlib.Path(self.dir.name, "trials")

    def run_with(self, *args, program=BUILD / "bench" / "fault_trial"):
        return subprocess.run([sys.executable, bench_case.ROOT / "bench" / "random_faults.py", *args], capture_output=True, text=True,
                              check=False, env={**os.environ, "FAULT_TRIAL": str(program)})

    def fake(self, text):
        path = pathlib.Path(self.dir.name, "program")
        path.write_text(f"#!/bin/sh\necho run >>{path}.runs\n{text}\n", encoding="utf-8")
        path.chmod(0o700)
        return path

    def test_trials_that_are_kept_are_not_run_again(self):
        program = self.fake("echo '" + json.dumps(outcome(ended("worker/0", 0), ended("worker/1", 0))) + "'")
        for trials in ("3", "5"):
            done = self.run_with("--trials", trials, "--json", str(self.file), program=program)
            self.assertEqual(("reached 5 of 5", 0), (done.stdout.splitlines()[-1], done.returncode), done.stderr)
            self.assertEqual(int(trials), len(pathlib.Path(f"{program}.runs").read_text(encoding="utf-8").splitlines()))
        self.assertEqual([0, 1, 2, 3, 4], sorted(json.loads(line)["number"] for line in self.file.read_text(encoding="utf-8").splitlines()))

    def test_a_finding_misses_its_bar_and_can_be_repeated(self):
        program = self.fake("echo '" + json.dumps(outcome(ended("worker/0", None), ended("worker/1", -9))) + "'")
        done = self.run_with("--trials", "1", program=program)
        self.assertIn("MISSED   trials: hangs", done.stdout)
        self.assertEqual(1, done.returncode)
        self.assertIn(f"{program} family=", done.stderr)
        self.assertEqual(1, self.run_with("--trial", "0", program=program).returncode)

    def test_a_program_that_fails_is_no_trial(self):
        done = self.run_with("--trials", "1", program=self.fake("echo broken >&2; exit 2"))
        self.assertNotEqual(0, done.returncode)
        self.assertIn("exit code 2: broken", done.stderr)

    def test_sigterm_ends_the_trials_and_begins_no_others(self):
        program = self.fake("echo $$ >>$0.pids; exec sleep 600")
        with subprocess.Popen([sys.executable, bench_case.ROOT / "bench" / "random_faults.py", "--trials", "50", "--jobs", "2"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env={**os.environ, "FAULT_TRIAL": str(program)}) as bench:
            self.addCleanup(bench.kill)
            pids = pathlib.Path(f"{program}.pids")
            self.assertTrue(soon(lambda: pids.exists() and len(pids.read_text(encoding="ascii").split()) == 2))
            bench.send_signal(signal.SIGTERM)
            bench.communicate(timeout=60)
        self.assertEqual(143, bench.returncode)
        begun = pids.read_text(encoding="ascii").split()
        self.assertEqual(2, len(begun))
        self.assertEqual([], [pid for pid in begun if state_of(pid) not in (None, "Z")])

    def test_a_gang_ends_with_its_program(self):
        words = ["family=ring", "workers=2", "fault=stop", "victim=1", "after_ms=0", "steps=100", "compute_ms=500", "floats=100"]
        with subprocess.Popen([BUILD / "bench" / "fault_trial", *words], stdout=subprocess.DEVNULL) as program:
            gang = pathlib.Path(f"/proc/{program.pid}/task/{program.pid}/children")
            self.assertTrue(soon(lambda: "T" in map(state_of, gang.read_text(encoding="ascii").split())))  # one is stopped
            pids = gang.read_text(encoding="ascii").split()
            program.kill()
        self.assertTrue(soon(lambda: all(state_of(pid) in (None, "Z") for pid in pids)), pids)

    @unittest.skipIf(IS_SANITIZED, "too slow")
    def test_20_real_ones(self):
        done = self.run_with("--trials", "20", "--seed", "18", "--silence-s", "15", "--late-s", "20", "--json", str(self.file))
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        trials = [json.loads(line) for line in self.file.read_text(encoding="utf-8").splitlines()]
        self.assertEqual(20, len(trials))
        self.assertGreater(sum(t["took_s"] is not None for t in trials), 5)  # gangs that ended by a fault


class Report(unittest.TestCase):
    def test_rows_by_gang_and_by_fault(self):
        words = {"family": "ring", "transport": "Tcp", "fault": "kill"}
        trials = [{"number": n, "words": words, "took_s": took_s, "is_early": early, "found": found}
                  for n, (took_s, early, found) in enumerate([(0.5, False, []), (1.5, False, [["hangs", "x"]]), (9.0, True, [])])]
        with contextlib.redirect_stdout(io.StringIO()) as out:
            code = rf.report(rf.parse(["--seed", "7"]), trials)
        self.assertEqual(1, code)
        rows = [" ".join(line.split()) for line in out.getvalue().splitlines()]
        self.assertIn("ring Tcp 3 1 0 0 0 0 1.0 (0.5-1.5)", rows)
        self.assertIn("kill 3 1 0 0 0 0 1.0 (0.5-1.5)", rows)


if __name__ == "__main__":
    bench_case.main()
