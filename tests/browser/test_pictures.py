#!/usr/bin/env python3
"""The pictures of the documents, in a real Chromium: the report, benchd's pages, and the terminal. `script/pictures` runs this with real
training and keeps what comes in docs/images. As a test it makes each again, of runs of tests/ctl/fake_replica.c, in a folder that goes away,
and holds docs/images and the documents against the list below.

BENCHD_PICTURES names the folder to keep them in; then real workers train, or, if BENCHD_PICTURES_STORE names a file, its runs are shown."""
import fcntl
import json
import os
import pathlib
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import unittest

ROOT = pathlib.Path(os.environ["BENCHD_SOURCE_DIR"])
sys.path[:0] = [str(ROOT / "tests" / "daemon" / "web"), str(ROOT / "tests" / "browser")]
import serve  # noqa: E402  (its folder is known only now; it adds tests/ctl)
import terminal_svg  # noqa: E402
from chromium import Chromium  # noqa: E402

KEPT = os.environ.get("BENCHD_PICTURES")
STORE = os.environ.get("BENCHD_PICTURES_STORE")
IMAGES = ROOT / "docs" / "images"
# name: width
PICTURES = {"report-light": 1100, "report-dark": 1100, "report-print": 794, "report-phone": 360, "report-mark": 1100,
            "page-runs": 1100,
            "terminal-run": 702, "terminal-results": 702}
LEAST_PX = 120
LEAST_BYTES, MOST_BYTES, MOST_BYTES_TOGETHER = 4000, 320000, 2000000
REAL = "vgg16-pserver-sweep"   # its local values fit two cores: 2 x 2 points and the baseline, three times each
COLUMNS, ROWS = 80, 24
ALL_ROWS = 100
DRAWN = b"\x1b[J"   # the end of what the live view draws


def size_of(path):
    """(width, height) of a PNG."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n", path
    return struct.unpack(">II", data[16:24])


class Pictures(serve.ServedCase):
    folder_of_pictures = None

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="benchd-pictures-")
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.folder_of_pictures = pathlib.Path(KEPT or cls.temporary.name)

    def setUp(self):
        if serve.ServedCase.made is None:
            self.make_runs()
        super().setUp()

    def make_runs(self):
        """Two runs, the second on a terminal; what that showed when half of it was done. A stored run has no such picture."""
        serve.cli.CliCase.setUp(self)
        env = {"BENCHWORKER": os.environ["BENCHWORKER_PROGRAM"]} if KEPT else {}
        Pictures.live = None
        if STORE:
            shutil.copy(STORE, self.folder / "results.db")
        else:
            definition = REAL if KEPT else self.define(trainers=(1, 2, 3), repeats=3, env={"FAKE_STEP_S": "0.05"})
            command = [serve.cli.BENCHCTL, "run", definition, "--local", "--store", self.store]
            subprocess.run([*command, "-o", "json"], env={**self.env, **env}, cwd=self.folder, capture_output=True, check=True)
            Pictures.live = self.on_terminal([*command, "--progress", "live"], env, self.is_half_done)
        results = ["results", self.names()[0], "--store", self.store]
        document = json.loads(self.ctl(*results, "-o", "json").stdout)
        Pictures.tables = self.on_terminal([serve.cli.BENCHCTL, *results], env, lambda screen: True)
        folder = tempfile.TemporaryDirectory(prefix="benchd-served-")
        for path in self.folder.glob("results.db*"):
            shutil.copy(path, folder.name)
        serve.ServedCase.made = document, folder

    @staticmethod
    def is_half_done(screen):
        """Half of the trials at most are done, and one trains."""
        text = "\n".join(screen.lines)
        counted = re.search(r"(\d+)/(\d+) trials", text)
        return counted and int(counted[1]) <= int(counted[2]) / 2 and re.search(r"▸.* step \d", text)

    def on_terminal(self, command, env, is_wanted):
        """The last screen of a command that is wanted, as SVG; of the live view, when it is whole."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        env = {**{k: v for k, v in self.env.items() if k != "CI"}, **env, "TERM": "xterm"}
        screen, picture, pending = terminal_svg.Screen(COLUMNS), None, b""
        with subprocess.Popen(command, env=env, cwd=self.folder, stdin=slave, stdout=slave, stderr=slave) as process:
            os.close(slave)
            try:
                while data := self.read_terminal(master):
                    pending += data
                    while DRAWN in pending:
                        drawn, pending = pending.split(DRAWN, 1)
                        screen.feed((drawn + DRAWN).decode())
                        picture = self.picture_of(screen, command, ROWS) if is_wanted(screen) else picture
            finally:
                os.close(master)   # who still writes gets an error, and ends
        self.assertEqual(process.returncode, 0)
        screen.feed(pending.decode())
        picture = self.picture_of(screen, command, ALL_ROWS) if is_wanted(screen) else picture
        self.assertIsNotNone(picture, screen.lines)
        return picture

    @staticmethod
    def picture_of(screen, command, rows):
        """Of the live view without the notes above it."""
        above = [i for i, line in enumerate(screen.lines) if re.search(r"\d/\d+ trials {3}", line)]
        return screen.svg(" ".join(["benchctl", *command[1:3]]), len("\n".join(screen.lines[above[-1]:]).rstrip().splitlines()) if above else rows)

    @staticmethod
    def read_terminal(master):
        try:
            return os.read(master, 65536)
        except OSError:   # the command has ended
            return b""

    def keep(self, browser, name, most_px, from_px=0):
        path = self.folder_of_pictures / f"{name}.png"
        browser.screenshot(path, most_px=most_px, from_px=from_px)
        self.assertEqual(browser.complaints(), [])
        self.sizes[name] = (*size_of(path), path.stat().st_size)

    def test_all(self):
        self.sizes = {}   # name: (width, height, bytes)
        with Chromium() as browser:
            self.take_reports(browser)
            self.take_pages(browser)
            self.take_terminals(browser)
        self.assertEqual({name: width for name, (width, _, _) in self.sizes.items()},
                         {name: width for name, width in PICTURES.items() if self.live or name != "terminal-run"})
        small = {name: size for name, size in self.sizes.items() if size[1] < LEAST_PX or size[2] < LEAST_BYTES}
        large = {name: size for name, size in self.sizes.items() if size[2] > MOST_BYTES}
        self.assertEqual((small, large), ({}, {}))

    def take_reports(self, browser):
        self.ctl("report", self.names()[0], "--store", self.store, "--file", "page.html")
        url = f"file://{self.folder}/page.html"
        views = {"light": {}, "dark": {"dark": True}, "print": {"printed": True}, "phone": {}}
        for view, how in views.items():
            name = f"report-{view}"
            browser.show(url, width=PICTURES[name], **how)
            self.keep(browser, name, most_px=2400 if view == "phone" else 1300)
        browser.show(url, width=PICTURES["report-mark"])
        browser.value("document.querySelector('.chart').focus()")
        for _ in range(2):
            browser.key("ArrowRight")
        top = browser.value("document.querySelector('.charts').getBoundingClientRect().top + scrollY")
        self.keep(browser, "report-mark", most_px=780, from_px=top)

    def names(self):
        """The runs of the pictures, the newest first."""
        names = [name.split("/")[1] for name in self.ctl("get", "runs", "--store", self.store, "-o", "name").stdout.split()]
        return [name for name in names if not STORE or name.startswith(f"{REAL}-")]

    def take_pages(self, browser):
        browser.show(f"http://{self.server.address}/", width=PICTURES["page-runs"], height=300)
        self.keep(browser, "page-runs", most_px=900)

    def take_terminals(self, browser):
        self.assertIn("EFFICIENCY", self.tables)   # the tables, and not only what is below them
        for name, svg in {"terminal-run": self.live, "terminal-results": self.tables}.items():
            if not svg:
                continue
            path = self.folder / f"{name}.html"
            path.write_text(f"<!doctype html><html lang=en><body style='margin:0'>{svg.replace('<svg ', '<svg style=display:block ', 1)}",
                            encoding="utf-8")
            browser.show(f"file://{path}", width=PICTURES[name], height=LEAST_PX)
            self.keep(browser, name, most_px=1500)

    @unittest.skipIf(KEPT, "the pictures are being made")
    def test_the_documents_have_them(self):
        """docs/images has each picture and no other, in its width and not too large; a document shows it, and no document shows another."""
        there = {path.stem: path for path in IMAGES.iterdir()}
        self.assertEqual(set(there), set(PICTURES))
        for name, path in there.items():
            self.assertEqual(size_of(path)[0], PICTURES[name], name)
            self.assertTrue(LEAST_BYTES <= path.stat().st_size <= MOST_BYTES, name)
        self.assertLess(sum(path.stat().st_size for path in there.values()), MOST_BYTES_TOGETHER)
        shown = set()
        for page in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")):
            shown |= {(page.parent / link).resolve() for link in re.findall(r"\]\(([^)]*images/[^)]*)\)", page.read_text(encoding="utf-8"))}
        self.assertEqual(shown, {path.resolve() for path in there.values()})


if __name__ == "__main__":
    serve.cli.main()
