"""What the tests of the HTTP server share: a run made by benchctl with the fake worker, served by
web_server as benchd would."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

ROOT = pathlib.Path(os.environ["BENCHD_SOURCE_DIR"])
sys.path.insert(0, str(ROOT / "tests" / "ctl"))
import cli  # noqa: E402  (its folder is known only now)


class Server:
    """web_server over a store; end() says whether it left cleanly."""

    def __init__(self, store, *args):
        self.process = subprocess.Popen([os.environ["WEB_SERVER"], store, *args],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True)
        self.left = None
        self.late_ns = self.n_busy = None  # of its loop, known at its end
        self.address = self.process.stdout.readline().strip()
        if not self.address:
            raise AssertionError(self.process.communicate()[1])
        self.host, port = self.address.rsplit(":", 1)
        self.port = int(port)

    def get(self, path, method="GET", **headers):
        """(code, headers, body as text), also of errors."""
        request = urllib.request.Request(f"http://{self.address}{path}", headers=headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=90) as answer:
                kind = "latin-1" if answer.headers["Content-Type"] == "application/zstd" else "utf-8"
                return answer.status, answer.headers, answer.read().decode(kind)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers, error.read().decode()

    def json(self, path):
        return json.loads(self.get(path)[2])

    def say(self, line):
        """See web_server.c."""
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def end(self):
        """(exit code, stderr): sanitizers speak there."""
        if self.left is None:
            out, err = self.process.communicate(timeout=90)
            self.late_ns, self.n_busy = [int(word) for word in out.split()] or (None, None)
            self.left = self.process.returncode, err
        return self.left

    def is_slow(self):
        """A sanitizer's code takes several times as long."""
        program = pathlib.Path(os.environ["WEB_SERVER"]).read_bytes()
        return b"__asan_init" in program or b"__tsan_init" in program

    def judge_loop(self, case):
        """After end(): what the loop did between two beats. A sanitizer's loop is not judged. The kernel counts the time that the host of a
        virtual machine takes as work of the thread that runs, so a few beats may be long. Work for clients makes hundreds of them."""
        print(f"# the loop: {self.late_ns / 1e6:.1f} ms late at most, more than 10 ms of work in {self.n_busy} beats")
        if not self.is_slow():
            case.assertLess(self.n_busy, 10, "the loop works for its clients")


class ServedCase(cli.CliCase):
    """A finished run of 2 x 2 points, three trials each, and its server. The run is made once."""
    made = None  # (document, folder with its store)

    def setUp(self):
        super().setUp()
        if ServedCase.made is None:
            document = self.run_tiny(trainers=(1, 2), repeats=3)
            folder = tempfile.TemporaryDirectory(prefix="benchd-served-")
            for path in self.folder.glob("results.db*"):
                shutil.copy(path, folder.name)
            ServedCase.made = document, folder
        else:
            shutil.copytree(self.made[1].name, self.folder, dirs_exist_ok=True)
        self.document = self.made[0]
        self.name = self.document["run"]
        self.server = self.serve()

    def serve(self, active=None, big=False):
        """big: an attempt 7 of point 0 with a long log, and more than 64 KiB of /metrics."""
        server = Server(self.store, *([active] if active else []), *(["big"] if big else []))
        self.addCleanup(self.check_end, server)
        return server

    def check_end(self, server):
        self.assertEqual(server.end(), (0, ""))
