#!/usr/bin/env python3
"""Completion: what the program offers, and what three shells make of it when a person presses Tab."""
import fcntl
import os
import pty
import select
import shutil
import signal
import struct
import subprocess
import termios
import time
import unittest

import cli

NO_SPACE, NO_FILES = 2, 4


class Case(cli.CliCase):
    def offered(self, *words, hints=NO_FILES, where=()):
        """The candidates for the last of the words; checks the hints."""
        lines = self.ctl("__complete", *where, *words).stdout.splitlines()
        self.assertEqual(lines[-1], f":{hints}")
        return [line.split("\t")[0] for line in lines[:-1]]


class Offers(Case):
    def test_verbs_and_options(self):
        self.assertEqual(self.offered("re"), ["results", "report", "reproduce"])
        self.assertIn("validate", self.offered(""))
        self.assertEqual(self.offered("results", "--reference", "tf-", hints=0), ["tf-official-2017", "tf-sheet-2017"])
        self.assertIn("results\tPrint the tables of a run, ", self.ctl("__complete", "res").stdout)
        self.assertEqual(self.offered("help", "att"), ["attach"])
        self.assertEqual(self.offered("nonsense", ""), [])
        self.assertEqual(self.offered("logs", "x", "--po"), ["--point"])
        self.assertEqual(self.offered("run", "--progr"), ["--progress"])
        self.assertEqual(self.offered("version", "--pro"), [])
        self.assertEqual(self.offered("run", "--", "--pro", hints=0), [])

    def test_values(self):
        self.assertEqual(self.offered("get", "-o", ""), ["wide", "json", "name"])
        self.assertEqual(self.offered("get", "--output=j"), ["json"])
        self.assertEqual(self.offered("-o", "w"), [])  # of which verb?
        self.assertEqual(self.offered("version", "--color", "a"), ["auto", "always"])
        self.assertEqual(self.offered("run", "x", "--progress", ""), ["auto", "live", "plain", "none"])
        self.assertEqual(self.offered("run", "--file", "", hints=0), [])
        self.assertEqual(self.offered("compare", "x", "--axis", ""), [])
        self.assertEqual(self.offered("get", "--store", "", hints=NO_SPACE), ["sqlite:"])
        self.assertEqual(self.offered("run", "x", "--steps", ""), [])
        self.assertEqual(self.offered("run", "x", "--set", "t", hints=NO_SPACE | NO_FILES), ["threads=", "trainers="])
        self.assertEqual(self.offered("init", "--profile", "tf"), ["tf-config", "tf-config-chief"])
        self.assertEqual(self.offered("import", "--rules", "paddle-f", hints=0), ["paddle-fluid"])

    def test_words(self):
        self.assertIn("vgg16-pserver-sweep", self.offered("run", "--local", "vgg16-p", hints=0))
        self.assertEqual(self.offered("get", ""), ["runs", "benchmarks"])
        self.assertIn("vgg16-single-node", self.offered("get", "--local", "benchmarks", ""))
        self.assertEqual(self.offered("completion", "z"), ["zsh"])
        self.assertEqual(self.offered("validate", "", hints=0), [])
        self.assertEqual(self.offered("version", ""), [])

    def test_nothing_is_asked(self):
        """A store or a cluster that does not answer holds up nobody who types."""
        self.run_tiny()
        for where in (("--store", self.store), ("--kubeconfig", "/no/such")):
            self.assertEqual(self.offered("results", "", where=where), [])
            self.assertIn("vgg16-single-node", self.offered("run", "", where=where, hints=0))

    def test_kubectl_asks_under_another_name(self):
        plugin = self.folder / "kubectl_complete-bench"
        plugin.symlink_to(cli.BENCHCTL)
        done = subprocess.run([plugin, "resu"], env=self.env, capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, "results\tPrint the tables of a run, or figures that others published\n:4\n")


class Names(Case):
    def test_a_name_cannot_act_on_the_terminal(self):
        (self.folder / "a\x1b]0;title\x07 b\u009bJ é.yaml").write_text("", encoding="utf-8")
        self.env["BENCHCTL_PATH"] = str(self.folder)
        self.assertIn("a?]0;title? b?J é\tshipped\n", self.ctl("__complete", "get", "--local", "benchmarks", "").stdout)


class Shells(Case):
    """Each line is typed into a shell on a terminal; what it then shows ends with the completed word."""

    LINES = [
        ("benchctl resu\t", "benchctl results "),
        ("benchctl run vgg16-sing\t", "benchctl run vgg16-single-node "),
        ("benchctl get runs -o wi\t", "benchctl get runs -o wide "),
        ("benchctl get --output=wi\t", "benchctl get --output=wide "),
        ("benchctl run --store sqli\t", "--store sqlite:"),
        ("benchctl run --store sqlite:tin\t", "--store sqlite:tiny.json "),
        ("benchctl run --store=sqlite:tin\t", "--store=sqlite:tiny.json "),
        ("benchctl validate tin\t", "benchctl validate tiny.json "),
    ]

    def setUp(self):
        super().setUp()
        self.define()
        folder = self.folder / "bin"
        folder.mkdir()
        (folder / "benchctl").symlink_to(cli.BENCHCTL)
        self.env.update(PATH=f"{folder}:{self.env['PATH']}", TERM="dumb", PS1="$ ")

    def on_terminal(self, argv, setup, lines):
        """Types `setup`, then each line; what the terminal showed after each."""
        pid, fd = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            os.execvpe(argv[0], argv, self.env)
        fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
        shown = b""

        def read_until(found):
            nonlocal shown
            end = time.monotonic() + cli.WAIT_S
            while not found(shown.decode(errors="replace").replace("\r", "")):
                if time.monotonic() > end:
                    self.fail(f"{argv[0]}: the terminal shows {shown!r}")
                if select.select([fd], [], [], 0.05)[0]:
                    shown += os.read(fd, 65536)

        try:
            os.write(fd, setup.encode() + b"; echo rea''dy\n")
            read_until(lambda text: "\nready\n" in text)
            for line, completed in lines:
                shown = b""
                os.write(fd, line.encode())
                with self.subTest(shell=argv[0], line=line):
                    read_until(lambda text, completed=completed: completed in text)
                os.write(fd, b"\x15")  # forget the line
        finally:
            os.close(fd)
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

    def test_bash(self):
        self.on_terminal(["bash", "--norc", "-i"], "source <(benchctl completion bash)", self.LINES)

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_zsh(self):
        self.on_terminal(["zsh", "-f", "-i"],
                         "autoload -U compinit; compinit -u -D; source <(benchctl completion zsh)", self.LINES)

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish(self):
        for line, completed in self.LINES:
            with self.subTest(line=line):
                script = f"benchctl completion fish | source; complete -C '{line.strip()}'"
                text = subprocess.run(["fish", "-c", script], env=self.env, cwd=self.folder, capture_output=True,
                                      text=True, check=True).stdout
                self.assertEqual([row.split("\t")[0] for row in text.splitlines()], [completed.split()[-1]])


if __name__ == "__main__":
    cli.main()
