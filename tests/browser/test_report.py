#!/usr/bin/env python3
"""The page of `benchctl report` in a real Chromium: light, dark, printed, 360 to 2,560 px wide. Nothing is refused by its
policy, nothing is requested, nothing sticks out, text has contrast, pictures have names. Screenshots lie in the build folder,
below tests/browser."""
import base64
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(os.environ["BENCHD_SOURCE_DIR"])
sys.path[:0] = [str(ROOT / "tests" / "ctl"), str(ROOT / "tests" / "e2e")]
import cli  # noqa: E402  (its folder is known only now)
import pinned  # noqa: E402

from chromium import Chromium  # noqa: E402

PICTURES = pathlib.Path(os.environ["BENCHD_BUILD_DIR"]) / "tests" / "browser"
LOOK = (pathlib.Path(__file__).parent / "look.js").read_text(encoding="utf-8")
AXE = next(pathlib.Path(pinned.python("axe")).parents[1].glob("lib/python3*/site-packages/axe_core_python/axe.min.js")).read_text(encoding="utf-8")
WIDTHS = (360, 640, 1024, 2560)  # no text is wider than the window
FOLD_PX = 900
# The mean difference of two pictures, 0 to 255; null: their sizes differ by more than rounding.
DIFFERENCE = """Promise.all(%s.map(async data => {
  const image = new Image(), canvas = document.createElement('canvas'), draw = canvas.getContext('2d');
  image.src = 'data:image/png;base64,' + data;
  await image.decode();
  [canvas.width, canvas.height] = [image.width, image.height];
  draw.drawImage(image, 0, 0);
  return {height: image.height, bytes: draw.getImageData(0, 0, image.width, image.height).data};
})).then(([a, b]) => Math.abs(a.height - b.height) > 1 ? null
  : a.bytes.reduce((sum, byte, i) => sum + Math.abs(byte - (b.bytes[i] ?? byte)), 0) / a.bytes.length)"""
DRAWN_ALIKE = 1  # glyphs differ at their edges; without its style a chart differs by more than 5
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


def promised(browser, expression):
    answer = browser.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
    return answer["result"].get("value", answer)


class Page(cli.CliCase):
    def look(self, browser, name, url):
        for view, how in VIEWS.items():
            with self.subTest(view=view):
                browser.show(url, **how)
                browser.screenshot(PICTURES / f"{name}-{view}.png")
                self.assertEqual(browser.complaints(), [])
                self.assertEqual(browser.requests(), [url])
                self.assertEqual(browser.value(LOOK), [])
                self.assertEqual(self.violations(browser), [])
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

    @staticmethod
    def violations(browser):
        """What axe-core says of the page, with what is folded open."""
        browser.value(AXE + ";document.querySelectorAll('details').forEach(e => e.open = true)")
        return promised(browser, "axe.run().then(r => r.violations.map(v => v.id + ': ' + v.nodes.map(n => n.target.join(' ')).join(', ')))")

    def test_what_a_reader_sees_first(self):
        """Of 2 points, 16 on two axes, and a run that failed in part: a chart above the fold, and on paper the charts on page 1 with no page
        that is empty. A failed point has a mark, and the failure its last lines."""
        runs = {
            "2": {"pservers": (1,), "trainers": (1, 2)},
            "16": {"pservers": (1, 2, 4, 8), "trainers": (1, 2, 4, 8), "steps": 1},
            "failed": {"pservers": (1,), "trainers": (1, 2, 4), "env": {"FAKE_FAIL": "2.*.*=7"}, "code": 1},
        }
        with Chromium() as browser:
            for name, keys in runs.items():
                with self.subTest(name):
                    run = self.run_tiny(repeats=3, **keys)["run"]
                    self.ctl("report", run, "--store", self.store, "--file", "page.html")
                    browser.show(f"file://{self.folder}/page.html", width=1200, height=FOLD_PX)
                    browser.screenshot(PICTURES / f"first-{name}.png")
                    browser.value("document.querySelectorAll('div.bad pre').forEach(e => e.append('\\nx'.repeat(4)))")  # as of a stack trace
                    self.assertLess(browser.value("document.querySelector('figure').getBoundingClientRect().bottom"), FOLD_PX)
                    crosses, says = browser.value("[document.querySelectorAll('figure .f').length, document.body.innerText.includes(', a cross a point')]")
                    self.assertEqual((crosses > 0, says), (name == "failed", name == "failed"))
                    browser.show(f"file://{self.folder}/page.html", printed=True)
                    sizes = browser.value("[...new Set([...document.querySelectorAll('p, td, th, li')].map(e => getComputedStyle(e).fontSize))]")
                    self.assertEqual(len(sizes), 1, sizes)
                    pages = self.pages_of(browser, PICTURES / f"first-{name}.pdf")
                    self.assertIn("Efficiency by trainers", pages[0])
                    self.assertTrue(all(len(page.strip()) > 100 for page in pages), [len(page) for page in pages])

    @staticmethod
    def pages_of(browser, path):
        """The texts of the pages on paper."""
        pdf = browser.call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69, preferCSSPageSize=True)
        path.write_bytes(base64.b64decode(pdf["data"]))
        return subprocess.run(["pdftotext", "-layout", path, "-"], capture_output=True, text=True, check=True).stdout.split("\f")[:-1]

    def test_charts_as_other_programs_draw_them(self):
        """rsvg-convert draws a chart as the browser does, in the width that was asked for."""
        name = self.run_tiny(pservers=(1, 2), trainers=(1, 2, 4), repeats=3)["run"]
        with Chromium() as browser:
            for chart in ("throughput", "efficiency"):
                svg = self.ctl("report", name, "--store", self.store, "-o", "svg", "--chart", chart, "--width", "660px").stdout
                self.assertNotRegex(svg, "[>,\n]svg ")  # its name is svg:svg in Inkscape, which then leaves out the rule
                (self.folder / "chart.svg").write_text(svg, encoding="utf-8")
                page = f"<!doctype html><html lang=en><body style='margin:0;background:#fff'>{svg.replace('<svg ', '<svg style=display:block ', 1)}"
                (self.folder / "chart.html").write_text(page, encoding="utf-8")
                browser.show(f"file://{self.folder}/chart.html", width=660, height=100, dark=True)
                browser.screenshot(PICTURES / f"chart-{chart}.png")
                drawn = PICTURES / f"chart-{chart}-rsvg.png"
                subprocess.run(["rsvg-convert", "-b", "white", "-o", drawn, self.folder / "chart.svg"], check=True)
                (self.folder / "grey.svg").write_text(re.sub(r"(?s)<style>.*?</style>", "", svg), encoding="utf-8")
                subprocess.run(["rsvg-convert", "-b", "white", "-o", self.folder / "grey.png", self.folder / "grey.svg"], check=True)
                pictures = [base64.b64encode(path.read_bytes()).decode()
                            for path in (PICTURES / f"chart-{chart}.png", drawn, self.folder / "grey.png")]
                self.assertLess(promised(browser, DIFFERENCE % pictures[:2]), DRAWN_ALIKE)
                self.assertGreater(promised(browser, DIFFERENCE % pictures[::2]), 5 * DRAWN_ALIKE)

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
            browser.value("document.querySelectorAll('details').forEach(e => e.open = true)")   # a folded chart has no focus
            browser.value("[...document.querySelectorAll('.chart')].find(e => e.getAttribute('aria-label').includes('step consists of')).focus()")
            browser.key("ArrowRight")
            self.assertRegex(browser.value(TIP), "^trainers 1.* data")
            browser.screenshot(PICTURES / "report-keyboard-step.png")
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
            self.assertIn("image-alt: img", self.violations(browser))
            browser.show(f"file://{pale}")
            said = " ".join(browser.value(LOOK))
            self.assertIn("has a contrast of 1.9", said)
            self.assertIn("px wide in a window of 1280", said)


if __name__ == "__main__":
    cli.main()
