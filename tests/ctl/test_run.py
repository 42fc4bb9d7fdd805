#!/usr/bin/env python3
"""benchctl run and what one does with a run: results, describe, logs, get, delete."""
import csv
import io
import json
import os
import pathlib
import pty
import re
import sqlite3
import time

import cli
import stored


class Results(cli.CliCase):
    def test_one_document_and_the_same_numbers_everywhere(self):
        result = self.run_tiny(trainers=(1, 2))
        self.assertEqual(result["kind"], "BenchmarkResult")
        self.assertEqual(result["phase"], "Succeeded")
        self.assertEqual([p["point"] for p in result["points"]], [0, 1, 2, 3])
        self.assertEqual([p["point"] for p in result["baselines"]], [4])
        self.assertEqual({len(p["trials"]) for p in result["points"]}, {2})
        # Trial t of point p takes 10 + p + t/10 ms a step of 2 samples: the median of both trials.
        for point in result["points"]:
            n, p = point["parameters"]["trainers"], point["point"]
            expected = sum(n * 2 / (0.010 + 0.001 * p + 0.0001 * t) for t in (0, 1)) / 2
            self.assertAlmostEqual(point["throughput"]["value"], expected, places=6)
        name = result["run"]
        again = json.loads(self.ctl("results", name, "--store", self.store, "-o", "json").stdout)
        self.assertEqual(again, result)
        text = self.ctl("results", name[-5:], "--store", self.store, "-o", "csv").stdout
        rows = list(csv.DictReader(io.StringIO(text)))
        figures = result["points"] + result["baselines"]
        self.assertEqual([float(row["throughput"]) for row in rows], [p["throughput"]["value"] for p in figures])
        self.assertEqual([float(row["efficiency"]) for row in rows], [p["efficiency"]["value"] for p in figures])
        for form in ("text", "markdown"):
            table = self.ctl("results", name, "--store", self.store, "-o", form).stdout
            self.assertIn("PSERVERS" if form == "text" else "|", table)
            self.assertIn("SingleNode", table)

    def test_get_lists_runs(self):
        name = self.run_tiny(repeats=1)["run"]
        self.assertRegex(name, r"^tiny-[bcdfghjklmnpqrstvwxz2456789]{5}$")
        text = self.ctl("get", "runs", "--store", self.store).stdout
        self.assertRegex(text, rf"^NAME +BENCHMARK +PHASE +TRIALS +AGE +DURATION\n" rf"{name} +tiny +Succeeded +3/3 +\d+s +\d+s\n$")
        bare = self.ctl("get", "runs", name, "--store", self.store, "--no-headers", "-o", "wide").stdout
        self.assertTrue(bare.startswith(name))
        items = json.loads(self.ctl("get", "runs", "--store", self.store, "-o", "json").stdout)["items"]
        self.assertEqual([(i["name"], i["phase"], i["interrupted"]) for i in items], [(name, "Succeeded", False)])
        typed = self.ctl("get", "runs", "--store", self.store, "-o", "name").stdout.strip()
        self.assertEqual(typed, f"benchmarkrun.benchd.io/{name}")
        self.ctl("results", typed, "--store", self.store)
        self.assertIn("did you mean", self.ctl("results", name[:-1], "--store", self.store, code=3).stderr)

    def test_the_default_store(self):
        self.ctl("run", self.define(repeats=1), "--local", "-q")
        self.assertTrue((self.folder / "data" / "benchd" / "results.db").exists())
        self.assertIn("Succeeded", self.ctl("get", "runs", "--local").stdout)

    def test_no_folder_for_the_default_store(self):
        del self.env["XDG_DATA_HOME"]
        for home in (None, "", "relative"):
            self.env.pop("HOME", None)
            if home is not None:
                self.env["HOME"] = home
            for args in (["get", "runs"], ["run", self.define(repeats=1)]):
                stderr = self.ctl(*args, "--local", code=9).stderr
                self.assertIn("neither XDG_DATA_HOME nor HOME", stderr)
                self.assertIn("fix: choose a file with --store sqlite:FILE", stderr)

    def test_a_store_that_cannot_be_made(self):
        rows = [  # what is typed is made by nobody; the usual place's folder is
            (["--store", f"sqlite:{self.folder}/typo/x.db"], 2, f"there is no folder '{self.folder}/typo'",
             "fix: create that directory, or choose another file with --store sqlite:FILE"),
            (["--store", "sqlite:/dev/null/x.db"], 9, "Not a directory", "fix: choose another file with --store sqlite:FILE"),
            (["--local"], 9, "folder '/proc/none'", "fix: choose another file with --store sqlite:FILE"),
        ]
        self.env["XDG_DATA_HOME"] = "/proc/none"
        for args, code, text, fix in rows:
            with self.subTest(args=args):
                stderr = self.ctl("run", self.define(), *args, code=code).stderr
                self.assertIn(text, stderr)
                self.assertIn(fix, stderr)
        self.assertIn("typo'", self.ctl("get", "runs", *rows[0][0], code=2).stderr)
        self.assertFalse((self.folder / "typo").exists())
        self.assertIn("fix: the first run creates it", self.ctl("results", "x", "--local", code=3).stderr)

    def test_a_hint_works_as_it_is_printed(self):
        missing = self.ctl("results", "nosuch", "--store", self.store, code=3).stderr
        self.assertIn(f"fix: the first run creates it: benchctl run NAME --store {self.store}\n", missing)
        name = self.run_tiny(repeats=1)["run"]
        for verb in ("results", "describe", "logs", "delete"):
            stderr = self.ctl(verb, "nosuch", "--store", self.store, code=3).stderr
            hint = re.search(r"^fix: list the runs with: benchctl (.*)$", stderr, re.M)
            self.assertIsNotNone(hint, stderr)
            self.assertIn(name, self.ctl(*hint.group(1).split()).stdout)

    def test_delete_leaves_nothing(self):
        name = self.run_tiny(repeats=1)["run"]
        self.assertEqual(self.ctl("delete", name, "--store", self.store).stdout, f"run/{name} deleted\n")
        self.ctl("results", name, "--store", self.store, code=3)
        self.assertIn(f"No resources found in {self.store}.", self.ctl("get", "runs", "--store", self.store).stderr)
        db = sqlite3.connect(self.folder / "results.db")
        for table in ("run", "attempt", "replica", "environment", "log", "event"):
            self.assertEqual(db.execute(f"SELECT count(*) FROM {table}").fetchone(), (0,), table)
        db.close()
        self.assertEqual(list(self.folder.glob("*.lock")), [])

    def test_a_failed_threshold_is_exit_7(self):
        low = {"thresholds": [{"metric": "efficiency", "where": {"trainers": 1}, "min": 5}]}
        self.assertEqual(self.run_tiny(repeats=1, extra=low, code=7)["phase"], "Succeeded")

    def test_a_threshold_that_could_not_be_judged_is_exit_7(self):
        low = {"thresholds": [{"metric": "efficiency", "where": {"trainers": 1}, "min": "0.1", "evaluate": "Interval"}]}
        result = self.run_tiny(repeats=2, extra=low, code=7)  # no interval with two trials
        self.assertEqual([t["verdict"] for t in result["thresholds"]], ["Unknown", "Unknown"])
        self.assertEqual([t["confidence"] for t in result["thresholds"]], [0.95, 0.95])
        text = " ".join(self.ctl("results", result["run"], "--store", self.store).stdout.split())
        self.assertRegex(text, r"efficiency >= 0.1 with 95% confidence at point 0 \(.*?\): [\d.]+ has no interval")
        self.assertEqual(self.run_tiny(repeats=3, extra=low)["thresholds"][0]["verdict"], "Passed")


class Failures(cli.CliCase):
    def test_a_summary_without_samples_is_no_result(self):
        """A gate never passes empty: neither alone nor with a threshold."""
        bound = {"thresholds": [{"metric": "efficiency", "where": {"trainers": 1}, "min": "0.9"}]}
        for field, why in (("samples", "'samples' is 0"), ("duration_ns", "'duration_ns' is 0")):
            with self.subTest(field):
                result = self.run_tiny(repeats=1, extra=bound, env={"FAKE_SUMMARY": json.dumps({field: 0})}, code=1)
                self.assertEqual(result["phase"], "Failed")
                self.assertEqual(result["thresholds"][0]["verdict"], "Unknown")
                trial = result["points"][0]["trials"][0]
                self.assertEqual((trial["phase"], trial["error"]), (
                    "MetricsUnavailable", f"trainer/0: succeeded but wrote a summary that is refused: {why}"))
                text = " ".join(self.ctl("results", result["run"], "--store", self.store).stdout.split())
                self.assertIn(f"MetricsUnavailable: trainer/0: succeeded but wrote a summary that is refused: {why}", text)
        result = self.run_tiny(repeats=1, env={"FAKE_SUMMARY": '{"steps": null}'}, code=1)
        self.assertEqual(result["points"][0]["trials"][0]["error"],
                         "trainer/0: succeeded but wrote no summary; damaged record: record: 'steps' is missing")

    def test_noisy_trials_are_repeated_as_often_as_asked(self):
        """Each attempt is noisy: the first two of the run are repeated, the others count."""
        slow = {"spins_per_s": 880, "copy_bytes_per_s": 500}
        env = {"FAKE_SUMMARY": json.dumps({"noise": {"before": {**slow, "spins_per_s": 1000}, "after": slow}})}
        why = "trainer/0: clock 12% lower after the measured steps than before"
        result = self.run_tiny(repeats=1, env=env)
        self.assertNotIn("InvalidTrial", [w["code"] for w in result["warnings"]])  # nobody asked
        result = self.run_tiny(repeats=1, env=env, extra={"runPolicy": {"invalidRepeats": 2}})
        trials = [t for p in result["points"] + result["baselines"] for t in p["trials"]]
        self.assertEqual({("Succeeded", None)}, {(t["phase"], t["error"]) for t in trials})
        self.assertEqual(2, sum(t["attempt"] for t in trials))
        warning = [w["message"] for w in result["warnings"] if w["code"] == "InvalidTrial"]
        self.assertRegex(warning[0], f"^2 attempts on a noisy machine were repeated and count in no table: point .*: {why}")
        text = self.ctl("describe", result["run"], "--store", self.store).stdout
        self.assertEqual(2, len(re.findall(f"attempt [01]: Invalid: {why}", text)), text)
        self.assertIn("TrialInvalid", text)

    def test_a_stored_run_without_numbers_did_not_succeed(self):
        """Of an older program, which took a summary without samples for a result."""
        run = self.run_tiny(repeats=1)["run"]
        stored.change(self.folder / "results.db", run, "samples = 0")
        document = json.loads(self.ctl("results", run, "--store", self.store, "-o", "json").stdout)
        self.assertEqual(document["phase"], "Succeeded")
        self.assertEqual(document["points"][0]["trials"][0]["error"], "trainer/0 wrote a summary that is refused: 'samples' is 0")
        self.ctl("run", "--resume", run, "--store", self.store, code=1)  # prints the tables of a run that has ended

    def test_a_failed_trial_is_exit_1_and_explained(self):
        result = self.run_tiny(env={"FAKE_FAIL": "1.*.*=12"}, code=1)
        self.assertEqual(result["phase"], "PartiallyFailed")
        self.assertEqual(result["points"][0]["phase"], "Succeeded")
        self.assertIsNone(result["points"][1]["throughput"]["value"])
        text = self.ctl("describe", result["run"], "--store", self.store).stdout
        self.assertRegex(text, r"point 1, trial 0, attempt 0: Failed: trainer/0: .*told to fail")
        command = re.search(r"^ +benchctl (logs .*)$", text, re.M).group(1)
        self.assertIn("told to fail", self.ctl(*command.split()).stdout)
        self.assertRegex(text, r"Reason: +SomePointsFailed: ")
        self.assertRegex(text, r"Warning +TrialFailed")
        self.assertRegex(text, r"host: +fake")

    def test_a_point_is_given_up_and_the_others_go_on(self):
        result = self.run_tiny(repeats=3, env={"FAKE_FAIL": "0.*.*=12"}, code=1, extra={"repeats": {"min": 3, "order": "Interleaved"}})
        self.assertEqual(result["phase"], "PartiallyFailed")
        self.assertEqual([[t["phase"] for t in p["trials"]] for p in result["points"]],
                         [["Failed", "Pending", "Pending"]] + [["Succeeded"] * 3] * (len(result["points"]) - 1))
        text = self.ctl("describe", result["run"], "--store", self.store).stdout
        self.assertRegex(text, r"Warning +PointGivenUp +point 0 has failed, so 2 trials of it are not run; see benchctl")
        self.assertEqual(re.findall(r"(?m)^  0 +(\d) +(\d) +(Failed|Pending|not run) ", text),
                         [("0", "1", "Failed"), ("1", "0", "not run"), ("2", "0", "not run")])
        ended = re.search(r"SomePointsFailed.*?; (benchctl logs .*? --point \d+)", " ".join(text.split())).group(1)
        self.assertEqual(ended, f"benchctl logs {result['run']} --store {self.store} --point 0")
        self.assertIn("told to fail", self.ctl(*ended.split()[1:]).stdout)
        table = self.ctl("results", result["run"], "--store", self.store).stdout
        self.assertIn("2 trials not run, because 1 point failed", " ".join(table.split()))

    def test_an_infrastructure_failure_is_tried_again(self):
        result = self.run_tiny(env={"FAKE_FAIL": "0.1.0=13"})
        self.assertEqual([t["attempt"] for t in result["points"][0]["trials"]], [0, 1])
        log = ["logs", result["run"], "--store", self.store, "--point", "0", "--trial", "1"]
        self.assertIn('"summary"', self.ctl(*log).stdout)  # the last attempt
        self.assertIn("told to fail", self.ctl(*log, "--attempt", "0").stdout)

    def test_logs_name_what_is_there(self):
        name = self.run_tiny(repeats=1)["run"]
        log = ["logs", name, "--store", self.store]
        self.assertIn("hello from trainer/0 of point 1", self.ctl(*log, "--point", "1").stdout)
        server = ["--point", "1", "--role", "pserver", "--index", "1"]
        self.assertIn("hello from pserver/1", self.ctl(*log, *server).stdout)
        self.assertIn("--point 2 --trial 0 --attempt 0", self.ctl(*log, code=2).stderr)
        self.assertIn("pserver/0 pserver/1 trainer/0", self.ctl(*log, "--point", "1", "--index", "9", code=3).stderr)
        self.assertIn("no attempt that has ended matches", self.ctl(*log, "--point", "1", "--trial", "7", code=3).stderr)
        self.assertEqual(self.ctl(*log, "--point", "7", code=3).stderr,
                         f"error: run '{name}' has no point 7\nfix: write --point 0 to 2; benchctl describe {name} lists them\n")
        self.assertIn("--role 'boss' is unknown", self.ctl(*log, "--point", "1", "--role", "boss", code=2).stderr)

    def test_a_damaged_store_is_named(self):
        name = self.run_tiny(repeats=1)["run"]
        path = self.folder / "results.db"
        path.write_bytes(path.read_bytes()[:4096 * 2])
        self.assertIn(f"store '{path}': the file is damaged", self.ctl("results", name, "--store", self.store, code=9).stderr)


class Interruptions(cli.CliCase):
    def check_resume(self, name):
        """Goes on where it stopped: nothing that was kept runs again."""
        done = len(self.worker_pids())
        self.redefine_without_hang(name)
        result = json.loads(self.ctl("run", "--resume", name, "--store", self.store, "-o", "json").stdout)
        self.assertEqual(result["phase"], "Succeeded")
        self.assertEqual(result["run"], name)
        self.assertEqual(len(self.worker_pids()) - done, 4)  # point 1: 2 servers, 1 trainer; the baseline
        finished = self.ctl("run", "--resume", name, "--store", self.store, "-o", "json")
        self.assertEqual(json.loads(finished.stdout), result)
        self.assertEqual(len(self.worker_pids()) - done, 4)

    def redefine_without_hang(self, name):
        """The frozen definition tells the fake replica to hang: take that out of the store."""
        db = sqlite3.connect(self.folder / "results.db")
        with db:
            db.execute("UPDATE run SET definition = replace(definition, 'FAKE_HANG', 'FAKE_NOTHING') " "WHERE name = ?", (name,))
        db.close()

    def test_ctrl_c_cancels_and_resume_goes_on(self):
        process = self.start_hanging("-o", "json")
        code, out, err = self.stop(process, cli.SIGINT)
        self.assertEqual(code, 130)
        self.assert_no_worker()
        self.assertEqual(json.loads(out)["phase"], "Cancelled")
        name = self.run_name()
        self.assertIn(f"benchctl run --resume {name} --store {self.store}", err)
        self.check_resume(name)

    def test_workers_that_ignore_sigterm_are_killed(self):
        path = self.define(env={"FAKE_HANG": "*.*", "FAKE_STUBBORN": "1"}, repeats=1)
        process = self.start("run", path, "--store", self.store)
        cli.wait_for("the first gang", lambda: len(self.worker_pids()) == 2)
        code, _, _ = self.stop(process, cli.SIGTERM)
        self.assertEqual(code, 130)
        self.assert_no_worker()

    def test_kill_9_leaves_no_process_and_resume_goes_on(self):
        process = self.start_hanging()
        code, _, _ = self.stop(process, cli.SIGKILL)
        self.assertEqual(code, -9)
        self.assert_no_worker()
        name = self.run_name()
        self.assertRegex(self.ctl("get", "runs", "--store", self.store).stdout, r"Running \(interrupted\)")
        self.assertIn(f"benchctl run --resume {name}", self.ctl("describe", name, "--store", self.store).stdout)
        self.assertIn("not finished: 1 of 3", self.ctl("results", name, "--store", self.store).stderr)
        self.check_resume(name)

    def test_a_driven_run_is_left_alone(self):
        process = self.start_hanging()
        name = self.run_name()
        for words in (["run", "--resume", name], ["delete", name]):
            done = self.ctl(*words, "--store", self.store, code=9)
            self.assertIn(f"run '{name}': it is being driven by process {process.pid}\n", done.stderr)
        self.assertNotIn("interrupted", self.ctl("get", "runs", "--store", self.store).stdout)
        self.stop(process, cli.SIGKILL)

    def test_a_run_beside_another_is_told(self):
        process = self.start_hanging()
        name = self.run_name()
        path = self.define("other.json", repeats=1, env={"FAKE_STEP_S": "0"})
        told = f"run/{name} is also running: the two slow each other down\n"
        self.assertIn(told, self.ctl("run", path, "--store", self.store).stderr)
        self.stop(process, cli.SIGKILL)
        self.assertNotIn("is going on", self.ctl("run", path, "--store", self.store).stderr)

    def test_timeout_is_exit_8(self):
        path = self.define(env={"FAKE_HANG": "*.*"}, repeats=1)
        done = self.ctl("run", path, "--store", self.store, "--timeout", "1s", "-o", "json", code=8)
        self.assertEqual(json.loads(done.stdout)["phase"], "Cancelled")
        self.assert_no_worker()

    def stop_twice(self):
        """Seconds from the second Ctrl-C to the end of a run whose workers ignore SIGTERM."""
        self.pids.unlink(missing_ok=True)
        path = self.define(env={"FAKE_HANG": "*.*", "FAKE_STUBBORN": "1"}, repeats=1)
        process = self.start("run", path, "--store", self.store, "--progress", "plain")
        cli.wait_for("the first gang", lambda: len(self.worker_pids()) == 2)
        process.send_signal(cli.SIGINT)
        for line in process.stderr:
            if "warning Cancelling" in line:
                break
        begin = time.monotonic()
        self.assertEqual(self.stop(process, cli.SIGINT)[0], 130)
        self.assert_no_worker()
        return time.monotonic() - begin

    def test_a_second_ctrl_c_stops_at_once(self):
        """Never sooner than the grace period of two seconds, if it waits; a machine that is busy may be slow once."""
        self.assertTrue(any(self.stop_twice() < 1.5 for _ in range(5)))

    def small_disk(self):
        """A tmpfs of 2 MiB that goes with the test."""
        disk = self.folder / "disk"
        disk.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(disk)]
        if os.geteuid() != 0 or cli.subprocess.run(mount, stderr=cli.subprocess.DEVNULL, check=False).returncode:
            self.skipTest("mounting a small tmpfs needs root")
        self.addCleanup(cli.subprocess.run, ["umount", str(disk)], check=True)
        self.store = f"sqlite:{disk}/results.db"
        return disk

    def test_a_read_only_store_can_be_read(self):
        disk = self.small_disk()
        name = self.run_tiny(repeats=1)["run"]
        cli.subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        self.assertIn("Succeeded", self.ctl("get", "runs", "--store", self.store).stdout)
        self.ctl("results", name, "--store", self.store)
        path = self.define(repeats=1)
        for words in (["run", path], ["delete", name]):
            self.assertRegex(self.ctl(*words, "--store", self.store, code=9).stderr, r"results\.db.*: Read-only file system")

    def test_a_full_disk_is_exit_9_and_resume_goes_on(self):
        disk = self.small_disk()
        filler = disk / "filler"

        def fill():
            with filler.open("wb", buffering=0) as file:
                try:
                    while True:
                        file.write(bytes(4096))
                except OSError:
                    pass

        path = self.define(env={"FAKE_GATES": f"0={self.folder}"}, repeats=2)
        process = self.start("run", path, "--store", self.store)
        cli.wait_for("the first gang", lambda: len(self.worker_pids()) == 2)   # it stays until both files are there
        fill()
        (self.folder / "first").touch()
        (self.folder / "last").touch()
        out, err = process.communicate(timeout=180)
        self.assertEqual((process.returncode, out), (9, ""), err)
        self.assertIn("disk full", err)
        self.assertIn(f"{disk}/results.db", err)
        self.assertIn("--resume", err)
        self.assert_no_worker()
        self.assertIn("disk full", self.ctl("run", path, "--store", self.store, code=9).stderr)
        filler.unlink()
        result = json.loads(self.ctl("run", "--resume", self.run_name(), "--store", self.store, "-o", "json").stdout)
        self.assertEqual(result["phase"], "Succeeded")


class Progress(cli.CliCase):
    def progress(self, how):
        return self.ctl("run", self.define(repeats=1), "--store", self.store, "--progress", how, "-o", "csv").stderr

    def test_plain_lines_are_dated(self):
        lines = [line for line in self.progress("plain").splitlines() if " run/" in line]
        for line in lines:
            self.assertRegex(line, r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ run/tiny-\w{5} (phase|point)=")
        self.assertEqual(sum("outcome=Succeeded samples_per_s=" in line for line in lines), 3)
        self.assertIn("phase=Succeeded trials=3/3", lines[-1])

    def test_none_and_quiet(self):
        self.assertNotIn("phase=", self.progress("none"))
        self.assertEqual(self.ctl("run", self.define(repeats=1), "--store", self.store, "-q").stderr, "")

    def test_a_reader_that_leaves_is_no_error(self):
        """benchctl run ... | head: the run is kept, and nobody is told of a broken pipe."""
        process = self.start("run", self.define(repeats=1), "--store", self.store, "-q")
        process.stdout.close()
        self.assertEqual(process.wait(timeout=180), -cli.signal.SIGPIPE)
        self.assertEqual(process.stderr.read(), "")
        self.assertRegex(self.ctl("get", "runs", "--store", self.store).stdout, "Succeeded")
        process.stdout = None

    def test_live_view_on_a_terminal(self):
        """80 columns, and a last frame with every point done."""
        main, sub = pty.openpty()
        self.env.update(TERM="xterm", CI="")
        path = self.define(env={"FAKE_GATES": f"0={self.folder}"}, steps=10, repeats=1)
        trains = r"▸ \d .*  [\d.]+ samples/s .*step \d+/10"
        process = cli.subprocess.Popen([cli.BENCHCTL, "run", path, "--store", self.store, "-o", "csv"], stderr=sub,
                                       stdout=cli.subprocess.PIPE, env=self.env, cwd=self.folder)
        os.close(sub)
        text = cli.read_terminal(main, [(self.folder / "first", []), (self.folder / "last", [trains])])
        out, _ = process.communicate(timeout=cli.WAIT_S)
        self.assertEqual(process.returncode, 0)
        self.assertNotIn(b"\033", out)
        frames = text.decode().split("\033[J")
        lines = [re.sub(r"\033\[[0-9;]*[A-Za-z]", "", line).strip("\r") for line in text.decode().split("\n")]
        self.assertLessEqual(max(map(len, lines)), 80)
        self.assertRegex(text.decode(), trains)
        self.assertRegex(frames[-2], r"3/3 trials")
        self.assertEqual(frames[-2].count("✓"), 3)
        self.assertEqual(frames[-1], "\r\n", "an empty line before what follows")

    def test_memory_of_benchctl(self):
        if b"__asan_init" in pathlib.Path(cli.BENCHCTL).read_bytes():
            self.skipTest("the address sanitizer needs more")
        process = self.start_hanging()
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
        peak_kib = int(re.search(r"VmHWM:\s+(\d+) kB", status).group(1))
        self.assertLess(peak_kib, 20 * 1024)


if __name__ == "__main__":
    cli.main()
