#!/usr/bin/env python3
"""benchctl try: one small point, a figure or what to write, and nothing is stored."""
import json
import os
import pathlib
import re
import signal
import stat
import subprocess
import sys

import cli

# A script like anybody's, which never ends by itself. Its framework finds the others by torchrun's variables.
TRAIN = f"""#!{sys.executable}
import os, time
print("rank", os.environ["RANK"], "of", os.environ["WORLD_SIZE"], flush=True)
for step in range(100000):
    print(f"step {{step}} loss 2.5 123.0 images/sec", flush=True)
    time.sleep(0.02)
"""
# It starts the script with its variables, as torchrun does with those of PET_*.
TORCHRUN = f"""#!{sys.executable}
import os, sys
assert os.environ["PET_NNODES"] == os.environ["WORLD_SIZE"]
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


class Try(cli.CliCase):
    def setUp(self):
        super().setUp()
        self.tmp = self.folder / "tmp"
        self.tmp.mkdir()
        self.env["TMPDIR"] = str(self.tmp)
        self.env["PATH"] = f"{self.folder}:{os.environ['PATH']}"

    def program(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    def make(self, script, *options, log=None, **changes):
        """A definition that measures a shell script."""
        text = self.ctl("init", *options, "--", "sh", "-c", script).stdout
        self.assertEqual(text.count("    # log: torch-ddp\n"), 1)
        text = text.replace("    # log: torch-ddp\n", "" if log is None else f"    log: {log}\n")
        for old, new in changes.items():
            text = text.replace(f"{old}: ", f"{old}: {new}  # ")
        path = self.folder / "made.yaml"
        path.write_text(text, encoding="utf-8")
        return str(path)

    def try_it(self, path, *options, code=0):
        done = self.ctl("try", path, "--local", *options, code=code)
        self.assertEqual(list(self.tmp.iterdir()), [])  # nothing stays
        self.assertFalse((self.folder / "data").exists())
        return done.stdout

    def try_in_time(self, wanted, path, *options, code=0):
        """A program that never ends: the limit is longer where the machine is too busy for the first one."""
        for limit in ("1s", "5s", "25s"):
            done = self.ctl_any("try", path, "--local", "--timeout", limit, *options)
            if done.returncode == code and re.search(wanted, done.stdout):
                break
        self.assertEqual((done.returncode, list(self.tmp.iterdir())), (code, []), done.stderr)
        self.assertRegex(done.stdout, wanted)
        return done.stdout

    def ctl_any(self, *args):
        return subprocess.run([cli.BENCHCTL, *args], env=self.env, cwd=self.folder, capture_output=True, text=True,
                              timeout=600, check=False)

    def test_from_nothing_to_a_figure_in_two_commands(self):
        self.program("train.py", TRAIN)
        self.program("torchrun", TORCHRUN)
        rows = [["--profile", "torchrun", "--image", "X", "--", "train.py"],  # by python3
                ["--image", "X", "--", "torchrun", "train.py"]]
        for words in rows:
            with self.subTest(" ".join(words)):
                made = self.ctl("init", *words).stdout
                done = subprocess.run([cli.BENCHCTL, "try", "-f", "-", "--local"], input=made, env=self.env, text=True,
                                      cwd=self.folder, capture_output=True, timeout=600, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertRegex(done.stdout, r"^train \(1 worker\): \d+ steps found, 123.0 samples/s by the rule "
                                              r"torch-ddp \(mean of \d+ numbered step lines\)\n"
                                              r"train \(2 workers\): \d+ steps found, 246.0 samples/s by [^\n]*\n$")
                self.assertEqual(list(self.tmp.iterdir()), [])

    def test_a_program_that_ends(self):
        script = "for i in 1 2 3 4 5; do echo 50 images/sec; done"
        # Three suffice; the others may have come with them.
        self.assertRegex(self.try_it(self.make(script, log="torch-ddp")),
                         r"^sh \(1 worker\): ([345]) steps found, 50.00 samples/s by the rule torch-ddp "
                         r"\(mean of \1 step lines\)\nsh \(2 workers\): \d steps found, 100.0 samples/s .*\n$")
        one = self.make("echo total images/sec: 8", log="tf-cnn-benchmarks", grid="{workers: [1]}")
        self.assertEqual(self.try_it(one),
                         "sh (1 worker): 8.000 samples/s by the rule tf-cnn-benchmarks (last of 1 summary line)\n")

    def test_no_line_matched(self):
        script = "for i in 1 2 3; do echo $i imgs each sec; echo $i frames/s; done"
        said = self.try_it(self.make(script, log="torch-ddp"), code=1)
        self.assertIn("sh (1 worker): worker/0: no line of 6 matched the log rule torch-ddp\nthe last 5 lines:\n", said)
        self.assertIn("a rule for such lines could be (it reads 3 lines, ", said)
        rule = said.split("  log: ")[1].strip()
        self.assertIn("3 steps found", self.try_it(self.make(script, log=rule)))

    def test_no_rule_at_all(self):
        said = self.try_it(self.make("echo 12.5 images/sec"), code=1)
        self.assertIn("the shipped log rule torch-ddp reads 1 line, 12.5 samples/s: write 'log: torch-ddp'", said)

    def test_a_program_that_never_prints_a_figure(self):
        path = self.make("echo hello; exec sleep 1000", log="torch-ddp")
        self.try_in_time(r"^sh \(1 worker\): worker/0: no line of 1 matched the log rule torch-ddp\nthe only line:\n  1: hello\n$",
                         path, code=8)
        path = self.make("echo 12.5 images/sec; exec sleep 1000")
        self.try_in_time("worker/0: it printed no record, but the shipped log rule torch-ddp reads 1 line", path, code=8)

    def test_too_few_lines_in_time_are_a_figure(self):
        path = self.make("echo 12.5 images/sec; exec sleep 1000", log="torch-ddp")
        self.try_in_time(r"^sh \(1 worker\): 1 step found, 12.50 samples/s by the rule torch-ddp \(mean of 1 step line\)\nsh \(2", path)

    def test_a_program_that_fails(self):
        said = self.try_it(self.make("echo one; echo two >&2; exit 3", log="torch-ddp"), code=1)
        self.assertEqual(said, "sh (1 worker): worker/0: exit code 3: two\nworker/0, the last 2 lines:\n  1: one\n  2: two\n")
        done = self.ctl("try", self.make("x").replace("made", "none"), "--local", code=3)
        self.assertIn("No such file", done.stderr)

    def test_all_workers_or_one_for_all(self):
        script = 'while test "$BENCHD_INDEX" = 0; do echo 10 images/sec; sleep 0.01; done; exec sleep 1000'
        path = self.make(script, log="torch-ddp", grid="{workers: [2]}")
        said = self.try_it(path, code=1)
        self.assertIn("sh (2 workers): 1 of 2 workers printed figures; where one prints for all, add `scope: Each` to the line of", said)
        self.assertIn("\nworker/1: the program printed nothing for the log rule torch-ddp\n", said)
        rule = "{lines: [{kind: Step, scope: Each, pattern: '(?<rate>) images/sec'}]}"
        path = self.make(script, log=rule, grid="{workers: [2]}")
        self.assertRegex(self.try_it(path), r"^sh \(2 workers\): \d+ steps found, 20.00 samples/s by a rule in the definition ")

    def write(self, script, *options, **keys):
        """try --write, of the definition that init makes of a program: what it said, and the rule in the file."""
        path = pathlib.Path(self.make(script, *options, **keys))
        before = path.read_text(encoding="utf-8").split("\n")
        said = self.try_it(str(path), "--write")
        after = path.read_text(encoding="utf-8").split("\n")
        changed = [line for line in after if line not in before]
        self.assertEqual(len(after) - len(before), len(changed) - len([line for line in before if line not in after]))
        self.assertIn(f"next: benchctl run {path} --local\n", said)
        return said, "\n".join(changed).strip()

    def test_the_rule_is_learned_and_written(self):
        """Rank 0 alone prints what is a step time, a rate of its own, or one of the job; a line may lack its number."""
        # The pace of the steps says which rate it is, though one of them stalls; a step is long beside the start of `sleep`.
        ddp = ('for i in 1 2 3 4 5 6 7 8; do sleep 0.3; test "$BENCHD_INDEX" = 0 && '
               'echo "[12:23:56] E00 | it 00$((i * 10))/0080 | loss=2.3 | {}"; done; echo done $BENCHD_INDEX')
        rows = [
            ("took 30.0ms/it", "{workers: [1, 2]}", "1 of 2 workers prints figures, of one: Each", "scope: Each, ", "it +(?<step>)"),
            ("1067 img/s", "{workers: [1, 4]}", "1 of 4 workers prints figures, of one: Each", "scope: Each, ", "it +(?<step>)"),
            ("$(test $i$BENCHD_WORKERS = 54 && sleep 1.2)$((1067 * BENCHD_WORKERS)) img/s", "{workers: [4, 1]}", "1 of 4 workers prints figures, of all together: Job",
             "scope: Job, ", "it +(?<step>)"),
        ]
        for words, grid, why, scope, step in rows:
            with self.subTest(words):
                said, rule = self.write(ddp.format(words), grid=grid)
                self.assertIn(f"scope: {why}\n", said)
                self.assertTrue(rule.startswith("log: {lines: [{kind: Step, " + scope + "pattern: "), rule)
                self.assertIn(step, rule)
                self.assertIn("warm-up: the first 10 steps are left out, by the numbers in the lines\n", said)
        # A step time is of who prints it, however the time that a line says and the pace of the lines change.
        bar = 'for i in 1 2 3 4 5 6; do sleep 0.3; echo "$((i * 10))/60 [==] - 1s $((36 - 3 * BENCHD_WORKERS))ms/step - loss: 2"; done'
        said, rule = self.write(bar, grid="{workers: [1, 2]}")
        self.assertEqual((False, "log: keras"), ("scope:" in said, rule), said)
        loop = "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo $i 50 frames/s; done"
        said, rule = self.write(loop, grid="{workers: [1]}")
        self.assertIn("warm-up: the first 2 of 12 lines are left out, because they have no number for measure.warmupSteps\n", said)
        self.assertIn("skip: {lines: 2}, ", rule)

    def test_what_is_written_is_the_rule_alone(self):
        script = "for i in 1 2 3; do echo 5 images/sec; done"
        base = pathlib.Path(self.make(script, grid="{workers: [1]}", warmupSteps="0")).read_text(encoding="utf-8")
        at = base.index("    # which lines")
        head, tail = base[:at], base[base.index("  workload:"):]
        name, rule = "  - name: sh\n", "    log: torch-ddp\n"
        rows = [
            ("a comment names one", "    # log: x\n", head + rule + tail),
            ("no field", "", head.replace(name, name + rule) + tail),
            ("a comment of something else", "  # log: x\n", head.replace(name, name + rule) + "  # log: x\n" + tail),
            ("another one", "    log: keras  # a comment\n", head + "    log: torch-ddp  # a comment\n" + tail),
            ("a block is left", "    log:\n      lines:\n      - {kind: Step, pattern: x}\n", None),
        ]
        for name, old, new in rows:
            with self.subTest(name):
                path = self.folder / "one.yaml"
                path.write_text(head + old + tail, encoding="utf-8")
                self.try_it(str(path), "--write", code=2 if new is None else 0)
                self.assertEqual(path.read_text(encoding="utf-8"), new or head + old + tail)
        done = self.ctl("try", "-f", "-", "--local", "--write", code=2)
        self.assertIn("--write needs a file", done.stderr)

    def test_each_system_is_tried_at_its_smallest_point(self):
        file = pathlib.Path(self.make("echo $BENCHD_INDEX; exec sleep 1000", log="torch-ddp", grid="{workers: [3, 2]}"))
        text = file.read_text(encoding="utf-8")
        begin, end = text.index("  - name: sh"), text.index("  workload:")
        second = text[begin:end].replace("name: sh", "name: good").replace("echo $BENCHD_INDEX", "echo 5 img/s")
        file.write_text(text[:end] + second + text[end:], encoding="utf-8")
        self.try_in_time(r"(?s)sh \(2 workers\): worker/0: no line.*\ngood \(2 workers\): 1 step found, 10.00 samples/s", str(file),
                         code=8)
        self.try_in_time(r"^good \(2 workers\): 1 step found", str(file), "--systems", "good")

    def test_records_need_no_rule(self):
        """The native worker, here one that only prints its records."""
        done = self.ctl("try", self.define(), "--local")
        self.assertRegex(done.stdout, r"^benchworker \(1 trainer, \d pservers?\): 3 steps found, \S+ samples/s by its records\n$")

    def test_systems_of_several_exchanges(self):
        """Each with its own roles: what the others use is not in its run."""
        document = json.loads(pathlib.Path(self.define()).read_text(encoding="utf-8"))
        spec = document["spec"]
        spec["systems"].append({"name": "ring", "profile": "none", "exchange": {"kind": "AllReduce"}, "log": "torch-ddp",
                                "command": ["sh", "-c", "echo 5 img/s; exec sleep 1000"]})
        spec["roles"]["worker"] = spec["roles"]["trainer"]
        path = self.folder / "both.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        wanted = r"(?s)^benchworker \(1 trainer, 1 pserver\): 3 steps found.*\nring \(1 worker\): 1 step found"
        self.try_in_time(wanted, str(path))
        self.try_in_time(r"^ring \(1 worker\): 1 step found", str(path), "--systems", "ring")

    def test_ctrl_c(self):
        started = self.folder / "started"
        process = self.start("try", self.make(f"echo hello; touch {started}; exec sleep 1000", log="torch-ddp"), "--local")
        cli.wait_for("its program", started.exists)
        code, out, _ = self.stop(process, signal.SIGINT)
        self.assertEqual(code, 130)
        self.assertIn("worker/0: ", out)
        self.assertEqual(list(self.tmp.iterdir()), [])

    def test_what_is_refused(self):
        path = self.make("true")
        rows = [
            ([path, "--store", self.store], "try stores nothing"),
            (["--local"], "needs a NAME or -f FILE"),
            ([path, "--local", "--timeout", "soon"], "--timeout 'soon': expected a duration"),
            ([path, "--local", "--systems", "other"], "other"),
        ]
        for words, text in rows:
            with self.subTest(" ".join(words)):
                done = self.ctl("try", *words, code=2)
                self.assertIn(text, done.stderr)
                self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    cli.main()
