#!/usr/bin/env python3
"""benchctl try: one small point, a figure or what to write, and nothing is stored."""
import concurrent.futures
import itertools
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
last = time.monotonic()
for step in range(100000):
    time.sleep(0.02)
    last, before = time.monotonic(), last
    print(f"step {{step}} loss 2.5 {{32 / (last - before):.1f}} images/sec", flush=True)
"""
# It sleeps, measures its steps, prints a line of each (after "0:" only rank 0 does, after "#" only at the end), and says how fast it really
# was, in the slowest and in the fastest five steps: a figure may be of any part of its run, and a busy machine is slow for a part.
FAKE = """import json, os, signal, sys, time
W, R = int(os.environ.get("BENCHD_WORKERS", "1")), int(os.environ.get("BENCHD_INDEX", "0"))
text, B = {text!r}, {batch}
is_only, text = text.startswith("0:"), text.removeprefix("0:")
is_end, text = text.startswith("#"), text.removeprefix("#")
began = last = time.monotonic()
ends = []
def finish(*_):
    with open({truth!r}, "a") as f:
        rates = [5 * B / (b - a) for a, b in zip(ends, ends[5:])]
        f.write(json.dumps([W, min(rates), max(rates)]) + "\\n")
    os._exit(0)
signal.signal(signal.SIGTERM, finish)
def say(i, s, steps):
    r = B * steps / s
    if R == 0 or not is_only:
        print(text.format(i=i, n={steps}, loss=2.5 - 0.02 * i, r=r, rw=r * W, t=int(64 * r), ms=1000 * s / steps, s=s / steps, ups=steps / s,
                          all=r * W, sps=steps / s), flush=True)
for i in range({steps}):
    time.sleep({step_s})
    ends.append(time.monotonic())
    if not is_end:
        say(i, ends[-1] - last, 1)
    last = ends[-1]
if is_end:
    say(0, last - began, {steps})
finish()
"""
# Real lines in the form of many scripts.
FORMATS = [line for line in r"""
step: {i} loss: {loss:.4f} tok/s: {t:,}
step {i} | loss {loss:.3f} | samples/s {r:.1f}
iter {i} loss={loss:.3f} samples/sec={r:.1f}
0:iter {i} loss={loss:.3f} samples/sec={rw:.1f}
step {i} lr 0.001 images/sec: {r:.1f}
step {i}, loss: {loss:.4f}, acc: 0.912, imgs/s: {r:.1f}
Step {i}: loss = {loss:.4f}; throughput = {r:.1f} samples/s
step {i} loss {loss:.3f} throughput {r:.1f}
[{i}/{n}] loss: {loss:.3f} time: {s:.4f}
step {i} loss {loss:.3f} batch time {s:.4f}s
step {i} loss {loss:.3f} time/iter {ms:.1f} ms
step {i} loss {loss:.3f} ({ms:.1f} ms/step)
step {i} loss {loss:.3f} dt {ms:.2f}ms tok/sec {t}
step {i:5d}/60 | train loss {loss:.6f} | norm 1.2345 | lr 3.00e-04 | ({ms:.2f} ms | {t} tok/s)
{{"step": {i}, "loss": {loss:.4f}, "samples_per_second": {r:.1f}}}
{{'step': {i}, 'loss': {loss:.4f}, 'it/s': {ups:.2f}, 'samples/s': {r:.1f}}}
epoch=1 step={i} loss={loss:.3f} it_per_sec={ups:.2f}
Epoch 1 [{i}/60] loss {loss:.3f} {ups:.2f} it/s
Epoch: [1][{i}/60]	Time {s:.3f} ({s:.3f})	Data 0.001 (0.001)	Loss {loss:.4e} (2.4e+00)
step {i} elapsed_ms {ms:.1f}
iter {i}: loss {loss:.4f}, time {ms:.2f}ms, mfu 1.23%
| epoch   1 | {i:5d}/   60 batches | lr 20.00 | ms/batch {ms:5.2f} | loss {loss:5.2f} | ppl   120.00
Train: 0 [{i:>4d}/60 (  3%)]  Loss: {loss:#.3g} ({loss:#.3g})  Time: {s:.3f}s,  {r:>7.2f}/s  ({s:.3f}s,  {r:>7.2f}/s)  LR: 1.0e-05  Data: 0.001 (0.001)
step {i:05d}/00060 (1.00%) | loss: {loss:.6f} | lrm: 1.00 | dt: {ms:.2f}ms | tok/sec: {t:,} | mfu: 41.20 | total time: 0.12m
epoch 001: {i} / 60 loss={loss:.3f}, ppl=12.3, wps={t}, ups={ups:.2f}, wpb=2048, bsz=32, num_updates={i}, lr=0.001, gnorm=1.2, train_wall=4, wall=9
11/29 09:00:01 - mmengine - INFO - Epoch(train) [1][{i}/60]  lr: 1.0000e-02  eta: 0:01:00  time: {s:.4f}  data_time: 0.0010  memory: 100  loss: {loss:.4f}
INFO:root:Epoch 1, step {i}: train_loss {loss:.4f}, {r:.0f} examples/second, eta 0:01:00
Iteration {i}, loss = {loss:.8f}, speed: {r:.2f} img/s
""".split("\n") if line]
# It starts the script with its variables, as torchrun does with those of PET_*.
TORCHRUN = f"""#!{sys.executable}
import os, sys
assert os.environ["PET_NNODES"] == os.environ["WORLD_SIZE"]
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


class Try(cli.CliCase):
    numbers = itertools.count()

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
        done = self.ctl("try", path, *options, code=code)
        self.assertEqual(list(self.tmp.iterdir()), [])  # nothing stays
        self.assertFalse((self.folder / "data").exists())
        return done.stdout

    def try_in_time(self, wanted, path, *options, code=0):
        """A program that never ends: the limit is longer where the machine is too busy for the first one."""
        for limit in ("1s", "5s", "25s"):
            done = self.ctl_any("try", path, "--timeout", limit, *options)
            if done.returncode == code and re.search(wanted, done.stdout):
                break
        self.assertEqual((done.returncode, list(self.tmp.iterdir())), (code, []), done.stderr)
        self.assertRegex(done.stdout, wanted)
        return done.stdout

    def ctl_any(self, *args, env=None):
        return subprocess.run([cli.BENCHCTL, *args], env=env or self.env, cwd=self.folder, capture_output=True, text=True,
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
                self.assertRegex(done.stdout, r"^train \(1 worker\): \d+ steps found, \d+\.?\d* samples/s by the rule "
                                              r"torch-ddp \(mean of \d+ numbered step lines\)\n"
                                              r"  lines: steps \d+(, not read \d+)?\n  verdict: \d[^\n]*\n"
                                              r"train \(2 workers\): \d+ steps found, \d+\.?\d* samples/s by [^\n]*\n  of these, worker/[01] alone:\n"
                                              r"  lines: [^\n]*\n  verdict: [^\n]*\n(  no process listened [^\n]*\n)?$")
                self.assertIn("went on after its steps; if it never ends, write 'until: Steps' below 'measure'\n", done.stderr)
                self.assertEqual(list(self.tmp.iterdir()), [])

    def test_a_program_that_ends(self):
        script = "for i in 1 2 3 4 5; do echo 50 images/sec; done"
        self.assertRegex(self.try_it(self.make(script, log="torch-ddp")),
                         r"^sh \(1 worker\): 5 steps found, 50.00 samples/s by the rule torch-ddp "
                         r"\(mean of 5 step lines\)\n  lines: steps 5\n"
                         r"  verdict: 50 samples/s; one witness: its lines [^\n]*\n"
                         r"sh \(2 workers\): 5 steps found, 100.0 samples/s [^\n]*\n  of these, worker/[01] alone:\n"
                         r"  lines: steps 5\n  verdict: 50 samples/s[^\n]*\n"
                         r"  2 independent copies, as far as the definition shows: profile none does not [^\n]*\n$")
        one = self.make("echo total images/sec: 8", log="tf-cnn-benchmarks", grid="{workers: [1]}")
        self.assertEqual(self.try_it(one),
                         "sh (1 worker): 8.000 samples/s by the rule tf-cnn-benchmarks (last of 1 summary line)\n"
                         "  lines: summary 1\n  verdict: 8 samples/s; one witness: its lines are too few, or too close together\n")

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
        self.try_in_time(r"^sh \(1 worker\): worker/0: no line of 1 matched the log rule torch-ddp\nthe only line:\n  1: hello\n"
                         "no line has a number that could be a figure; print one a step, [^\n]*\n$", path, code=8)
        path = self.make("echo 12.5 images/sec; exec sleep 1000")
        self.try_in_time("worker/0: the shipped log rule torch-ddp reads 1 line", path, code=8)

    def test_too_few_lines_in_time_are_a_figure(self):
        path = self.make("echo 12.5 images/sec; exec sleep 1000", log="torch-ddp")
        self.try_in_time(r"^sh \(1 worker\): 1 step found, 12.50 samples/s by the rule torch-ddp \(mean of 1 step line\)\n  lines: steps 1\n[^\n]*\nsh \(2", path)

    def test_a_second_trial_that_fails_hides_no_figure(self):
        script = 'for i in 1 2 3 4 5 6 7 8; do echo "$i 50 frames/s"; done; exit $((BENCHD_WORKERS - 1))'
        said = self.try_it(self.make(script, warmupSteps="0"), "--write", code=1)
        self.assertRegex(said, r"^sh \(1 worker\): 8 steps found, 50.00 samples/s by a rule in the definition [^\n]*\n  lines: [^\n]*\n  verdict: [^\n]*\n"
                               r"  log: \{lines: [^\n]*\}  # of this trial alone\nsh \(2 workers\): worker/[01]: exit code 1")
        self.assertTrue(said.endswith("nothing was written\n"), said)

    def test_the_mean_of_two_figures_of_the_job(self):
        rule = "{lines: [{kind: Step, scope: Job, pattern: '(?<rate>) images/sec'}]}"
        script = "for i in 1 2 3 4 5; do echo $((10 + 10 * BENCHD_INDEX)) images/sec; done"
        said = self.try_it(self.make(script, log=rule))
        self.assertRegex(said, r"sh \(1 worker\): 5 steps found, 10.00 [^\n]*\n  lines: steps 5\n")
        self.assertRegex(said, r"sh \(2 workers\): 5 steps found, 15.00 [^\n]*\n  of this mean, worker/0 alone:\n  lines: steps 5\n  verdict: 10 ")

    def test_a_program_that_fails(self):
        said = self.try_it(self.make("echo one; echo two >&2; exit 3", log="torch-ddp"), code=1)
        self.assertEqual(said, "sh (1 worker): worker/0: exit code 3: two\nthe last 2 lines:\n  1: one\n  2: two\n")
        self.assertIn("No such file", self.ctl("try", self.make("x").replace("made", "none"), "--local", code=3).stderr)

    def test_all_workers_or_one_for_all(self):
        script = 'while test "$BENCHD_INDEX" = 0; do echo 10 images/sec; sleep 0.01; done; exec sleep 1000'
        path = self.make(script, log="torch-ddp", grid="{workers: [2]}")
        said = self.try_it(path, code=1)
        self.assertIn("sh (2 workers): 1 of 2 workers printed figures; where one prints for all, add `scope: Each` to the line of", said)
        self.assertIn("\nworker/1: the program printed nothing for the log rule torch-ddp\n"
                      "a program that writes to a pipe may keep its output in a buffer: run it with PYTHONUNBUFFERED=1, ", said)
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

    def fake(self, text, *options, steps=60, step_s=0.04, batch=32, grid="{workers: [1, 2]}", log=None, code=0):
        """try --write of a program that measures its own steps; `text` has what a line says: {r} its rate, {rw} that of all workers.
        It says what it printed, the rule in the file (None: unchanged), and for each number of workers the slowest and the fastest rate of each."""
        folder = self.folder / f"fake{next(self.numbers)}"
        tmp, path, truth = folder / "tmp", folder / "fake.yaml", folder / "truth"
        tmp.mkdir(parents=True)
        script = self.program(f"{folder.name}/fake.py", FAKE.format(text=text, steps=steps, step_s=step_s, batch=batch, truth=str(truth)))
        text = self.ctl("init", *options, "--", sys.executable, script).stdout.replace("[1, 2]", grid[10:-1])
        text = text.replace("# batchSize: 32", "batchSize: 32")
        path.write_text(text if log is None else text.replace("    # log: torch-ddp\n", f"    log: {log}\n"), encoding="utf-8")
        truth.write_text("", encoding="utf-8")
        done = self.ctl_any("try", str(path), "--write", "-q", env={**self.env, "TMPDIR": str(tmp)})
        self.assertIn(done.returncode, code if isinstance(code, tuple) else (code,), done.stdout + done.stderr)
        self.assertEqual(list(tmp.iterdir()), [])
        after = path.read_text(encoding="utf-8")
        self.assertEqual(done.returncode != 0, after.count("log: ") == 0 or "    # log: torch-ddp\n" in after, done.stdout)
        rule = re.search(r"^    log: (.*)$", after, re.M)
        rates = [json.loads(line) for line in truth.read_text(encoding="utf-8").splitlines()]
        return done.stdout, rule and rule.group(1), {n: [rate for workers, *rate in rates if workers == n] for n in (1, 2, 4)}

    def fakes(self, calls):
        """Several fakes at once, for they sleep: an iterator of what each says. `calls`: (text, keys) of each."""
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            for done in [pool.submit(self.fake, text, **keys) for text, keys in calls]:
                yield done.result()

    def figures(self, said):
        return {int(n): float(rate) for n, rate in re.findall(r"\((\d+) workers?\): (?:\d+ steps? found, )?(\S+) \S+/s by ", said)}

    def assert_right(self, said, truth, units=1, tolerance=0.15, of_all=lambda n: True):
        for n, rate in self.figures(said).items():
            slowest, fastest = (units * sum(rates) / (1 if of_all(n) else len(truth[n])) for rates in zip(*truth[n]))
            self.assertTrue((1 - tolerance) * slowest <= rate <= (1 + tolerance) * fastest, f"{n} workers: {truth}\n{said}")

    def test_what_is_learned(self):
        """From programs that run; tests/ctl/test_try.c has more lines with times of its own."""
        trainer = ("0:#{{'train_runtime': '{t:.3f}', 'train_samples_per_second': '{all:.4g}', "
                   "'train_steps_per_second': '{sps:.4g}', 'train_loss': '1.9', 'epoch': '1'}}")
        rows = [  # a line, the rule in the file, what is printed of it, and the tolerance of its figures; the first step is in some means
            ("0:step {i} took {ms:.2f} ms/step", {}, "scope: Each", r"batch: 32 samples a step, by batchSize alone; no line confirms it\n", 0.15),
            ("0:step {i}: {rw:.1f} img/s (all workers)", {}, "scope: Job", "warm-up: the first 10 steps are left out, by the numbers in", 0.15),
            ("step {i}: {r:.1f} img/s", {}, "torch-ddp", r"they agree\n  2 independent copies, as far as the definition shows: profile none does not", 0.15),
            ("#Done. Trained 1920 samples. Throughput: {r:.2f} samples/sec", {}, "torch-ddp", "verdict: ", 0.3),
            ("#done: {r:.1f} frames/s", {}, "{lines: [{kind: Summary, pattern: ", "verdict: ", 0.3),
            ("#Epoch 0 [====] {n}/{n} {sps:.2f} it/s", {}, "{lines: [{kind: Summary, pattern: ", "warm-up: it is in the figure: ", 0.3),
            (trainer, {}, "hf-trainer", "verdict: ", 0.3),  # a shipped rule of the job is not replaced
            ("0:step {i}: {r:.1f} img/s", {"code": 2}, None, r"scope: Each, pattern: .*\n.*scope: Job, pattern: .*\nwith scope: Job, write", None),
            ("0:iter {i}: total {r:.0f} samples/s", {"step_s": "0.08 / W", "code": 1}, None,
             r"by batchSize; write 'batchScope: Job' if all have one batch\n(.*\n)*nothing was written\n", None),
            ("step {i}: {r:.1f} img/s", {"batch": 8, "code": 1}, None, r"; by both the batch is [789]\.?\d* instead of 32\n", None),
        ]
        for row, (said, rule, truth) in zip(rows, self.fakes((row[0], row[1]) for row in rows)):
            with self.subTest(row[0]):
                self.assertRegex(said, row[3])
                self.assertEqual("independent copies" in said, not row[0].startswith("0:") and row[2] is not None, said)
                if row[2] is None:
                    self.assertIsNone(rule, said)
                else:
                    self.assertIn(row[2], rule)
                    self.assert_right(said, truth, tolerance=row[4])
                    self.assertNotIn("skip", rule)

    def test_what_has_no_figure_gets_a_rule_or_advice(self):
        rows = [
            ("bytes/sec {r:.1f}", "is the samples a second, write in the system:\n  log: {lines: [{kind: Step, pattern: 'bytes/sec +(?<rate>)'}]}\n"),
            ("hello", "no line has a number that could be a figure; print one a step, "),
            ("", "PYTHONUNBUFFERED=1"),
        ]
        works = []
        for (text, wanted), (said, _, _) in zip(rows, self.fakes((text, {"steps": 20, "code": 1}) for text, _ in rows)):
            with self.subTest(text):
                self.assertIn(wanted, said)
                self.assertNotRegex(said, "record|log rule\n")
                works += [(text, {"log": rule}) for rule in re.findall(r"  log: (.*)\n", said)]  # it works as it is printed
        for said, _, truth in self.fakes(works):
            self.assert_right(said, truth)

    def test_numbered_lines_are_measured_by_their_time(self):
        said, rule, truth = self.fake("step {i}: loss {loss:.3f}", steps=60)
        self.assertIn("from: TimeStamps, pattern: 'step +(?<step>): +loss\\b'}]}", rule, said)
        self.assert_right(said, truth)

    def test_a_position_may_count_samples(self):
        said, rule, _ = self.fake("[{i}0/4000] loss {loss:.3f}", steps=20, code=1)
        self.assertIsNone(rule)
        self.assertIn("in line 20 counts samples, write in the system:\n"
                      "  log: {lines: [{kind: Step, aggregate: Median, from: TimeStamps, each: 1, pattern: ", said)
        self.assertIn("if it counts steps, leave out 'each: 1'\n", said)

    def test_formats(self):
        """Each of the formats at one and two workers: a right figure, or a reason. All with --long."""
        formats = FORMATS if "--long" in sys.argv[1:] else FORMATS[1::6]
        for text, (said, rule, truth) in zip(formats, self.fakes((text, {"code": (0, 1, 2)}) for text in formats)):
            with self.subTest(text):
                if rule is None:
                    self.assertRegex(said, r"(?s)no figure|known|write")
                else:
                    units = 64 if re.search("(tokens|words)/s by", said) else 1
                    tolerance = 0.3 if "median of" in said else 0.15  # the truth is a mean
                    # A rule that ships knows whose rate its program prints: that of a whole job is not added for copies, and they are named.
                    one_for_all = self.figures(said).get(2, 0) < (1 - tolerance) * units * sum(slowest for slowest, _ in truth[2])
                    if one_for_all:
                        self.assertIn("2 independent copies", said)
                    self.assert_right(said, truth, units, tolerance, of_all=lambda n, one_for_all=one_for_all: n == 1 or not one_for_all)

    def test_the_rule_is_learned_and_written(self):
        # A step time is of who prints it, however the time that a line says and the pace of the lines change.
        bar = 'for i in 1 2 3 4 5 6; do sleep 0.3; echo "$((i * 10))/60 [==] - 1s $((36 - 3 * BENCHD_WORKERS))ms/step - loss: 2"; done'
        said, rule = self.write(bar, grid="{workers: [1, 2]}")
        self.assertEqual((False, "log: keras"), ("scope:" in said, rule), said)
        loop = "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo $i 50 frames/s; done"
        said, rule = self.write(loop, grid="{workers: [1]}")
        self.assertIn("warm-up: the first 2 of 12 lines are left out, because they have no number for measure.warmupSteps\n", said)
        self.assertIn("skip: {lines: 2}, ", rule)

    def test_what_cannot_be_written(self):
        script = "for i in 1 2 3; do echo 5 images/sec; done"
        path = pathlib.Path(self.make(script, grid="{workers: [1]}", warmupSteps="0"))
        old = path.read_text(encoding="utf-8").replace("  workload:", "    log:\n      lines:\n      - {kind: Step, pattern: x}\n  workload:")
        path.write_text(old, encoding="utf-8")
        self.try_it(str(path), "--write", code=2)
        self.assertEqual(path.read_text(encoding="utf-8"), old)
        self.assertIn("--write needs a file", self.ctl("try", "-f", "-", "--write", code=2).stderr)

    def test_a_program_that_prints_an_end_is_not_cut(self):
        """A sweep that is cut short has another figure."""
        rule = "{end: over, lines: [{kind: Step, scope: Job, aggregate: Max, pattern: '(?<rate>) samples/s'}]}"
        script = "for i in 1 2 3 4 5 6 7 8 9 10; do echo $((i * 100)) samples/s; sleep 0.25; done; echo over"
        self.assertIn(" 1000 samples/s by a rule", self.try_it(self.make(script, log=rule, grid="{workers: [1]}")))

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
        done = self.ctl("try", self.define())
        self.assertRegex(done.stdout, r"^benchworker \(1 trainer\): 3 steps found, \S+ samples/s by its records\n$")

    def test_systems_of_several_exchanges(self):
        """Each with its own roles: what the others use is not in its run."""
        document = json.loads(pathlib.Path(self.define()).read_text(encoding="utf-8"))
        spec = document["spec"]
        spec["systems"].append({"name": "ring", "profile": "none", "exchange": {"kind": "AllReduce"}, "log": "torch-ddp",
                                "command": ["sh", "-c", "echo 5 img/s; exec sleep 1000"]})
        spec["roles"]["worker"] = spec["roles"]["trainer"]
        path = self.folder / "both.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        wanted = r"(?s)^benchworker \(1 trainer\): 3 steps found.*\nring \(1 worker\): 1 step found"
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
            ([path, "--store", self.store], "try runs on this machine and stores nothing"),
            ([path, "-n", "bench"], "it takes no --store, --namespace"),
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
