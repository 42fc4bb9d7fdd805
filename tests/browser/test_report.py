#!/usr/bin/env python3
"""The page of `benchctl report` in a real Chromium: light, dark, printed, 360 to 2,560 px wide. Nothing is refused by its
policy, nothing is requested, nothing sticks out, text has contrast, pictures have names. Screenshots lie in the build folder,
below tests/browser."""
import json
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(os.environ["BENCHD_SOURCE_DIR"])
sys.path.insert(0, str(ROOT / "tests" / "ctl"))
import cli  # noqa: E402  (its folder is known only now)

from chromium import Chromium  # noqa: E402

PICTURES = pathlib.Path(os.environ["BENCHD_BUILD_DIR"]) / "tests" / "browser"
LOOK = (pathlib.Path(__file__).parent / "look.js").read_text(encoding="utf-8")
WIDTHS = (360, 640, 1024, 2560)  # no text is wider than the window
# name: how it is shown
VIEWS = {
    "light": {},
    "dark": {"dark": True},
    "print": {"printed": True, "width": 794},
    "print-dark": {"printed": True, "width": 794, "dark": True},
    "phone": {"width": 360},
    "wide": {"width": 2560},
}


# Of benchworker's summaries: phases, and eight step times.
SUMMARY = {"phase_ns": {"data": 8000000, "forward": 1032000000, "backward": 2072000000, "send": 72000000},
           "series": {"k": 1, "n": 8, "min": 38171, "data": "HQAPAAcAFgAPAAAADwAPAA=="}}
# What is said of a mark.
TIP = "(() => { const tip = document.querySelector('.tip'); return tip && !tip.hidden ? tip.textContent : ''; })()"


class Page(cli.CliCase):
    def look(self, browser, name, url):
        for view, how in VIEWS.items():
            with self.subTest(view=view):
                browser.show(url, **how)
                browser.screenshot(PICTURES / f"{name}-{view}.png")
                self.assertEqual(browser.complaints(), [])
                self.assertEqual(browser.requests(), [url])
                self.assertEqual(browser.value(LOOK), [])
        for width in WIDTHS:
            with self.subTest(width=width):
                browser.show(url, width=width)
                self.assertLessEqual(browser.value("document.documentElement.scrollWidth"), width)
                # A table that is wider than its box has a shade at that edge: paper covers it where there is nothing more.
                hidden = "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth)"
                shades = browser.value(f"[...new Set({hidden}.map(e => getComputedStyle(e).backgroundAttachment))].join(';')")
                self.assertIn(shades, ("", "local, local, scroll, scroll"))
                if width == 360:
                    self.assertNotEqual(shades, "")

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

    def places(self, browser, selector):
        """The middles of elements, which are scrolled into view."""
        return browser.value("(() => { const all = [...document.querySelectorAll(%r)]; all[0].scrollIntoView({block: 'center'}); "
                             "return all.map(e => { const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; }); "
                             "})()" % selector)

    def page_of(self):
        name = self.run_tiny(pservers=(1,), trainers=(1, 2, 3, 4), repeats=3, steps=8, env={"FAKE_SUMMARY": json.dumps(SUMMARY)})["run"]
        self.ctl("report", name, "--store", self.store, "--file", "page.html")
        return f"file://{self.folder}/page.html"

    def test_the_pointer(self):
        """On a mark, or near it, it says the mark's figures. A finger does so, too, and what it touched stays until it touches something else."""
        with Chromium() as browser:
            browser.show(self.page_of())
            at = self.places(browser, "figure:has([id$=throughput-title]) g[transform]")
            self.assertEqual(len(at), 4)
            browser.point(*at[1])
            self.assertRegex(browser.value(TIP), r"^trainers 2: [\d.]+ samples/s")
            browser.point(at[1][0], at[1][1] + 8)  # near is enough
            self.assertRegex(browser.value(TIP), r"^trainers 2: ")
            browser.screenshot(PICTURES / "report-hover.png")
            browser.point(2, 2)
            self.assertEqual(browser.value(TIP), "")
            browser.touch(*at[2])
            self.assertRegex(browser.value(TIP), r"^trainers 3: ")
            browser.touch(2, 2)
            self.assertEqual(browser.value(TIP), "")
            self.assertEqual(browser.complaints(), [])

    def test_the_keyboard(self):
        """All that the pointer does: arrows go from value to value; what is said is a status for a screen reader."""
        with Chromium() as browser:
            browser.show(self.page_of())
            chart = "document.querySelector('.chart')"
            self.assertIn("Arrow keys", browser.value(f"{chart}.getAttribute('aria-label')"))
            browser.value(f"{chart}.focus()")
            said = []
            for _ in range(5):
                browser.key("ArrowRight")
                said.append(browser.value(TIP))
            self.assertEqual([text.split(":")[0] for text in said], ["trainers 1", "trainers 2", "trainers 3", "trainers 4", "trainers 4"])
            browser.key("Home")
            self.assertEqual(browser.value(TIP), said[0])
            self.assertEqual(browser.value("document.querySelector('.tip').getAttribute('role')"), "status")
            browser.key("Escape")
            self.assertEqual(browser.value(TIP), "")
            # Each chart is reached by the Tab key, and rows are said, too.
            for title, first in (("step consists of", "trainers 1"),):
                with self.subTest(title):
                    browser.value(f"[...document.querySelectorAll('.chart')].find(e => e.getAttribute('aria-label').includes('{title}')).focus()")
                    browser.key("ArrowRight")
                    self.assertIn(first, browser.value(TIP))
                    browser.screenshot(PICTURES / f"report-keyboard-{title.split('/')[0].split()[0]}.png")
            self.assertEqual(browser.complaints(), [])

    def test_without_scripts(self):
        """The charts are whole, and each mark says what it is."""
        with Chromium() as browser:
            url = self.page_of()
            browser.call("Emulation.setScriptExecutionDisabled", value=True)
            browser.show(url)
            browser.screenshot(PICTURES / "report-without-scripts.png")
            self.assertEqual(browser.complaints(), [])
            self.assertEqual(browser.requests(), [url])
            page = (self.folder / "page.html").read_text(encoding="utf-8")
            self.assertEqual(len(re.findall(r"<title>trainers \d: [\d.]+ samples/s", page)), 4)

    def test_the_browser_finds_what_is_wrong(self):
        """A check that cannot fail is none: a bad page is refused by its policy, and looked at with a finding each."""
        bad = self.folder / "bad.html"
        bad.write_text("<!doctype html><meta http-equiv=Content-Security-Policy content=\"default-src 'none'\"><body>"
                       "<style>p{color:red}</style><h1>A</h1><h3>B</h3><svg></svg><img src=x.png><table><th></th></table>"
                       "<input type=checkbox>"
                       "<p>text", encoding="utf-8")
        pale = self.folder / "pale.html"
        pale.write_text("<!doctype html><html lang=en><style>p{color:#bbb}div{width:5000px}</style><body><p>pale<div>x",
                        encoding="utf-8")
        with Chromium() as browser:
            browser.show(f"file://{bad}")
            self.assertEqual(len([c for c in browser.complaints() if "Content Security Policy" in c]), 2)
            said = browser.value(LOOK)
            for what in ("a picture has no name", "'B' skips a level of headings", "the page has no language", "a column has no name", "input has no label",
                         "the page has no title", "input is 13 x 13 px, less than 24"):
                self.assertIn(what, said)
            browser.show(f"file://{pale}")
            said = " ".join(browser.value(LOOK))
            self.assertIn("has a contrast of 1.9", said)
            self.assertIn("px wide in a window of 1280", said)


if __name__ == "__main__":
    cli.main()
