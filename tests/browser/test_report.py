#!/usr/bin/env python3
"""The page of `benchctl report` in a real Chromium: light, dark, printed, 360 to 2,560 px wide. Nothing is refused by its
policy, nothing is requested, nothing sticks out, text has contrast, pictures have names. Screenshots lie in the build folder,
below tests/browser."""
import os
import pathlib
import sys

ROOT = pathlib.Path(os.environ["BENCHD_SOURCE_DIR"])
sys.path.insert(0, str(ROOT / "tests" / "ctl"))
import cli  # noqa: E402  (its folder is known only now)

from chromium import Chromium  # noqa: E402

PICTURES = pathlib.Path(os.environ["BENCHD_BUILD_DIR"]) / "tests" / "browser"
LOOK = (pathlib.Path(__file__).parent / "look.js").read_text(encoding="utf-8")
# name: how it is shown
VIEWS = {
    "light": {},
    "dark": {"dark": True},
    "print": {"printed": True, "width": 794},
    "print-dark": {"printed": True, "width": 794, "dark": True},
    "phone": {"width": 360},
    "wide": {"width": 2560},
}


class Page(cli.CliCase):
    def look(self, browser, name, url):
        for view, how in VIEWS.items():
            with self.subTest(view=view):
                browser.show(url, **how)
                browser.screenshot(PICTURES / f"{name}-{view}.png")
                self.assertEqual(browser.complaints(), [])
                self.assertEqual(browser.requests(), [url])
                self.assertEqual(browser.value(LOOK), [])

    def test_a_sweep_and_a_comparison(self):
        """Two systems, so that rows have long names."""
        systems = [{"name": name, "profile": "benchworker"} for name in ("a-system-with-a-long-name", "b")]
        first, second = (self.run_tiny(pservers=(1, 2), trainers=(1, 2), repeats=3, extra={"systems": systems})["run"]
                         for _ in range(2))
        self.ctl("report", first, "--store", self.store, "--file", "one.html")
        self.ctl("report", first, second, "--store", self.store, "--file", "two.html")
        with Chromium() as browser:
            self.look(browser, "report", f"file://{self.folder}/one.html")
            self.look(browser, "comparison", f"file://{self.folder}/two.html")

    def test_the_browser_finds_what_is_wrong(self):
        """A check that cannot fail is none: a bad page is refused by its policy, and looked at with a finding each."""
        bad = self.folder / "bad.html"
        bad.write_text("<!doctype html><meta http-equiv=Content-Security-Policy content=\"default-src 'none'\"><body>"
                       "<style>p{color:red}</style><h1>A</h1><h3>B</h3><svg></svg><img src=x.png>"
                       "<p>text", encoding="utf-8")
        pale = self.folder / "pale.html"
        pale.write_text("<!doctype html><html lang=en><style>p{color:#bbb}div{width:5000px}</style><body><p>pale<div>x",
                        encoding="utf-8")
        with Chromium() as browser:
            browser.show(f"file://{bad}")
            self.assertEqual(len([c for c in browser.complaints() if "Content Security Policy" in c]), 2)
            said = browser.value(LOOK)
            for what in ("a picture has no name", "'B' skips a level of headings", "the page has no language"):
                self.assertIn(what, said)
            browser.show(f"file://{pale}")
            said = " ".join(browser.value(LOOK))
            self.assertIn("has a contrast of 1.9", said)
            self.assertIn("px wide in a window of 1280", said)


if __name__ == "__main__":
    cli.main()
