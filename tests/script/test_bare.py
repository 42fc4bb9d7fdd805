"""script/bare: what it refuses, the machine that a command sees, and that nothing of it is left. The Debian here is busybox."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(os.environ["BENCHD_SOURCE_DIR"])
FILES = ("script/bare", "script/lib.sh", "tests/e2e/bare_root.py", "tests/e2e/node_keeper.py")
DEBOOTSTRAP = """#!/bin/sh
for word; do [ ! -d "${word%/root}" ] || root=$word; done
cd "$root" 2>/dev/null || { mkdir -p "$root" && cd "$root"; }
mkdir -p bin dev etc/apt/apt.conf.d mnt proc root sys
cp "$(command -v busybox)" bin/busybox
for name in chroot cat env id ls sh sleep stat umount; do ln -s busybox "bin/$name"; done
"""
IS_ROOT = os.geteuid() == 0
END_S = 60


def wait_for(condition):
    end = time.monotonic() + END_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


class Bare(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()
        self.folder.chmod(0o755)
        self.sleep_s = 100_000 + os.getpid()
        for name in FILES:
            (self.folder / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.folder / "tree" / name)
        self.machines = self.folder / "machines"
        self.programs = self.folder / "programs"
        for path in (self.machines, self.programs):
            path.mkdir()
        (self.programs / "debootstrap").write_text(DEBOOTSTRAP, encoding="ascii")
        (self.programs / "debootstrap").chmod(0o755)

    def words(self, *words):
        return [sys.executable, self.folder / "tree/script/bare", *words]

    def options(self, path=None):
        env = {"PATH": path or f"{self.programs}:{os.environ['PATH']}", "TMPDIR": str(self.machines), "PIP_PROXY": "a", "SECRET": "b"}
        return {"env": env, "text": True, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}

    def bare(self, *words, code=0, path=None, **options):
        done = subprocess.run(self.words(*words), check=False, **self.options(path), **options)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(list(self.machines.iterdir()), [])
        return done

    def sleepers(self):
        """The processes that the commands of this test start and leave."""
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if path.read_bytes() == f"sleep\0{self.sleep_s}\0".encode():
                    yield path
            except OSError:
                continue   # it has ended

    def test_wrong_words(self):
        self.assertIn("unrecognized arguments: --nonsense", self.bare("--nonsense", code=2).stderr)
        self.assertIn("script/bare --fast", self.bare("--help").stdout)

    def test_without_debootstrap(self):
        path = str(self.folder / "none")
        self.assertIn("debootstrap is not installed (script/packages.txt)", self.bare(code=9, path=path).stderr)
        log = self.folder / "log.json"
        self.bare("--short", "--log", log, path=path)
        self.assertEqual(json.loads(log.read_text(encoding="utf-8"))["result"], "SKIP")

    @unittest.skipUnless(IS_ROOT, "needs root")
    def test_not_root(self):
        done = self.bare(code=9, user=65534, group=65534, executable="/usr/bin/python3")
        self.assertIn("a bare root needs root", done.stderr)

    @unittest.skipUnless(IS_ROOT, "needs root")
    def test_the_machine(self):
        text = self.bare("sh", "-c", "env; stat -c 'mode %a' /root; ls script; ls -d /dev/pts/ptmx /sys/fs /proc/1 /mnt/*; exit 0").stdout
        names = [line.partition("=")[0] for line in text.splitlines() if re.match(r"[A-Z_]+=", line)]
        self.assertEqual(sorted(set(names) - {"PWD", "SHLVL"}), ["HOME", "PATH", "PIP_PROXY"])
        for line in ("mode 700", "PWD=/root/benchd", "bare", "/dev/pts/ptmx", "/proc/1"):
            self.assertIn(line, text.splitlines())
        self.assertNotIn("/mnt/", text)

    @unittest.skipUnless(IS_ROOT, "needs root")
    def test_the_code_of_the_command(self):
        self.assertIn("exit code 7: sh -c exit 7", self.bare("sh", "-c", "exit 7", code=7).stderr)

    @unittest.skipUnless(IS_ROOT, "needs root")
    def test_nothing_is_left_when_it_is_stopped(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
            command = f"sleep {self.sleep_s} & echo ready; sleep {self.sleep_s}"
            bare = subprocess.Popen(self.words("sh", "-c", command), **self.options())
            with self.subTest(number), bare:
                self.assertEqual(bare.stdout.readline(), "ready\n")
                wait_for(lambda: len(list(self.sleepers())) == 2)
                bare.send_signal(number)
                bare.communicate(timeout=END_S)
                self.assertEqual(bare.returncode, -9 if number == signal.SIGKILL else 128 + number)
                wait_for(lambda: not list(self.sleepers()))
                self.assertNotIn(str(self.machines), pathlib.Path("/proc/mounts").read_text(encoding="utf-8"))
                if number != signal.SIGKILL:
                    self.assertEqual(list(self.machines.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
