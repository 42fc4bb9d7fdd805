"""A run on this machine: its secret is in no argument and no variable of a process, in no log, and not in the store. The
fake replica's place is taken by a program that reads the secret as a real worker would, and writes down what
/proc shows of itself and of benchctl."""
import base64
import os
import pathlib
import sys

import cli

SPY = """\
#!{python}
import os, pathlib
seen = pathlib.Path({folder!r})
name = os.environ["BENCHD_ROLE"] + "-" + os.environ["BENCHD_INDEX"] + "-" + str(os.getpid())
secret = os.read(int(os.environ["BENCHD_SECRET_FD"]), 4096)
(seen / (name + ".secret")).write_bytes(secret)
for pid in (os.getpid(), os.getppid()):
    for what in ("cmdline", "environ"):
        (seen / (name + "." + str(pid) + "." + what)).write_bytes(pathlib.Path("/proc/%d/%s" % (pid, what)).read_bytes())
os.execv({worker!r}, [{worker!r}, *os.sys.argv[1:]])
"""


def forms(secret):
    """How it may be written."""
    return {"raw": secret, "hex": secret.hex().encode(), "HEX": secret.hex().upper().encode(),
            "base64": base64.b64encode(secret).rstrip(b"=")}


def found(secret, places):
    """["FORM in PLACE", ...]; places: {name: bytes}."""
    return [f"{form} in {place}" for place, data in places.items() for form, text in forms(secret).items() if text in data]


class Secrets(cli.CliCase):
    def setUp(self):
        super().setUp()
        self.seen = self.folder / "seen"
        self.seen.mkdir()
        spy = self.folder / "spy.py"
        spy.write_text(SPY.format(python=sys.executable, folder=str(self.seen), worker=cli.FAKE_REPLICA), encoding="utf-8")
        spy.chmod(0o700)
        self.env["BENCHWORKER"] = str(spy)

    def test_the_secret_of_a_run_shows_nowhere(self):
        done = self.ctl("run", self.define(repeats=1), "--store", self.store, "--progress", "plain")
        run = self.run_name()
        secrets = {path.read_bytes() for path in self.seen.glob("*.secret")}
        self.assertEqual(len(secrets), 1)  # all members of a run share it
        (secret,) = secrets
        self.assertGreaterEqual(len(secret), 32)
        places = {"stdout": done.stdout.encode(), "stderr": done.stderr.encode()}
        for verb in (("logs", run, "--point", "0"), ("describe", run), ("results", run, "-o", "json")):
            places[f"benchctl {verb[0]}"] = self.ctl(*verb, "--store", self.store).stdout.encode()
        for pattern in ("*.cmdline", "*.environ"):
            files = list(self.seen.glob(pattern))
            self.assertGreaterEqual(len(files), 4)  # of two processes at least, and of benchctl
            places.update({path.name: path.read_bytes() for path in files})
        for path in self.folder.glob("results.db*"):
            places[path.name] = path.read_bytes()
        self.assertTrue(any(b"\0BENCHD_SECRET_FD=" in data for data in places.values()))  # of the worker's own
        self.assertEqual(found(secret, places), [])

    def test_the_search_can_fail(self):
        secret = bytes(range(32))
        for form, text in forms(secret).items():
            self.assertEqual(found(secret, {"x": b"a" + text + b"b"}), [f"{form} in x"])


if __name__ == "__main__":
    cli.main()
