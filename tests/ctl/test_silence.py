#!/usr/bin/env python3
"""What a program does not show: its output in a pipe, and the variables that it does not get."""
import concurrent.futures
import pathlib
import re
import subprocess

import cli

class Silence(cli.CliCase):
    def make(self, *command):
        """A definition that measures a command."""
        text = self.ctl("init", "--", *command).stdout.replace("# log: torch-ddp", "log: torch-ddp")
        path = self.folder / f"{command[0]}.yaml"
        path.write_text(text, encoding="utf-8")
        return str(path)

    def ctl_any(self, *args):
        return subprocess.run([cli.BENCHCTL, *args], env=self.env, cwd=self.folder, capture_output=True, text=True,
                              timeout=600, check=False)

    def test_silence_is_answered(self):
        """Once, after 10 s, in the words of a person; a program that prints is not interrupted by it."""
        quiet, loud = self.make("sleep", "100"), self.make("sh", "-c", f"while true; do printf 'working '; sleep 1; echo {'hard ' * 40}; done")
        how = ["--local", "--timeout", "14s"]
        rows = [["try", quiet, *how], *(["run", path, *how, "--progress", "plain"] for path in (quiet, loud)), ["try", loud, *how]]
        with concurrent.futures.ThreadPoolExecutor() as threads:
            tried, ran, heard, tried_loud = threads.map(lambda row: self.ctl_any(*row).stderr, rows)
        text = "the programs have printed nothing for 10 s"
        self.assertEqual((1, 1, 0), (tried.count(text), ran.count("warning NoOutput: " + text), heard.count(text)), tried + ran + heard)
        for said in (heard, tried_loud):  # what comes in parts is no figure: that is said, with the beginning of the last line
            self.assertRegex(said, r"(?m)(^| )\d+ lines so far, 0 of them read as steps; the last: working (hard )+h?a?r?d?$")
        for word in ("flush it after each line", "python3 -u", "stdbuf -oL"):
            self.assertIn(word, tried)

    def test_no_trial_is_silent(self):
        """Two workers, each with a step in 4 s that a rule reads."""
        path = pathlib.Path(self.make("sh", "-c", "for i in 1 2 3 4 5 6 7 8; do sleep 4; echo $i 5 images/sec; done"))
        path.write_text(path.read_text(encoding="utf-8").replace("[1, 2]", "[2]"), encoding="utf-8")
        done = self.ctl_any("try", str(path), "--write", "--timeout", "27s")
        said = [(int(lines), int(read)) for lines, read in re.findall(r"(?m)^(\d+) lines so far, (\d+) of them read as steps; the last: \d 5 im", done.stderr)]
        self.assertGreaterEqual(len(said), 2, done.stderr)
        self.assertTrue(all(lines == read > 0 for lines, read in said), said)

    def test_python_prints_at_once(self):
        (self.folder / "train.py").write_text("import time\nprint('loading the data')\ntime.sleep(1000)\n", encoding="utf-8")
        path = self.make("train.py")
        for limit in ("2s", "8s", "30s"):  # a busy machine takes long to start it
            done = self.ctl_any("try", path, "--local", "--timeout", limit)
            if "loading the data" in done.stdout:
                return
        self.fail(done.stdout)

    def test_variables_that_are_not_passed_on_are_named(self):
        path = self.make("sh", "-c", "for i in 1 2 3; do echo \"step $i 5 images/sec ${OMP_NUM_THREADS-unset}\"; done")
        self.env.update({"OMP_NUM_THREADS": "4", "PYTHONPATH": "/a $(b)", "HF_TOKEN": "secret1", "https_proxy": "http://me:secret2@p",
                         "TF_CLI_ARGS": "x", "UNRELATED": "y", "NCCL_DEBUG": "INFO", "WANDB_MODE": "offline"})
        for verb in ("try", "run"):
            with self.subTest(verb):
                done = self.ctl_any(verb, path, "--local")
                _, _, said = done.stderr.partition("do not reach the programs")
                lines = said.split("  env:\n")[1].splitlines()
                self.assertEqual(sorted(line for line in lines if line.startswith("  - {name: ")), [
                    "  - {name: HF_TOKEN, value: ...}  # not shown here", '  - {name: OMP_NUM_THREADS, value: "4"}',
                    '  - {name: PYTHONPATH, value: "/a $$(b)"}', "  - {name: WANDB_MODE, value: offline}",
                    "  - {name: https_proxy, value: ...}  # not shown here"])
                self.assertNotIn("secret", done.stderr)
        text = pathlib.Path(path).read_text(encoding="utf-8")
        rest = "HF_TOKEN, PYTHONPATH, https_proxy, WANDB_MODE"
        env = "".join(f"{{name: {name}, value: a}}, " for name in rest.split(", ")) + '{name: OMP_NUM_THREADS, value: "4"}'
        pathlib.Path(path).write_text(text.replace("    log:", f"    env: [{env}]\n    log:"), encoding="utf-8")
        self.assertNotIn("do not reach", self.ctl_any("try", path, "--local").stderr)
        self.assertNotIn("do not reach", self.ctl_any("run", self.define(repeats=1), "--local").stderr)  # benchworker


if __name__ == "__main__":
    cli.main()
