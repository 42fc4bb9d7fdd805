#!/usr/bin/env python3
"""benchd's pages in a real Chromium: what a reader sees, and that nothing is refused by their policy or requested from another server. Screenshots lie in the build folder, below tests/browser."""
import os
import pathlib
import sys

ROOT = pathlib.Path(os.environ["BENCHD_SOURCE_DIR"])
sys.path[:0] = [str(ROOT / "tests" / "daemon" / "web"), str(ROOT / "tests" / "browser")]
import serve  # noqa: E402  (its folder is known only now)
from chromium import Chromium  # noqa: E402

PICTURES = pathlib.Path(os.environ["BENCHD_BUILD_DIR"]) / "tests" / "browser"
LOOK = (pathlib.Path(__file__).parent / "look.js").read_text(encoding="utf-8")
VIEWS = {"light": {}, "dark": {"dark": True}, "phone": {"width": 360}, "wide": {"width": 2560}}
WIDTHS = (360, 640, 1024, 2560)  # no text is wider than the window


class Pages(serve.ServedCase):
    def serve(self, active=None, big=False):
        self.name = self.document["run"]
        return super().serve(self.name, big)

    def setUp(self):
        super().setUp()
        browser = Chromium()
        self.browser = browser.__enter__()
        self.addCleanup(browser.__exit__, None, None, None)
        self.root = f"http://{self.server.address}"

    def look(self, name, path):
        for view, how in VIEWS.items():
            with self.subTest(page=name, view=view):
                self.browser.show(self.root + path, **how)
                self.browser.screenshot(PICTURES / f"{name}-{view}.png")
                self.assertEqual(self.browser.complaints(), [])
                self.assertEqual([url for url in self.browser.requests() if not url.startswith(self.root)], [])
                self.assertEqual(self.browser.value(LOOK), [])
        for width in WIDTHS:
            with self.subTest(page=name, width=width):
                self.browser.show(self.root + path, width=width)
                self.assertLessEqual(self.browser.value("document.documentElement.scrollWidth"), width)

    def test_what_a_reader_sees(self):
        for name, path in (("runs", "/"), ("run", f"/runs/{self.name}")):
            self.look(name, path)

    def test_charts_answer(self):
        """To the keyboard: their script is the one that the policy allows."""
        self.browser.show(f"{self.root}/runs/{self.name}")
        self.browser.value("document.querySelector('.chart').focus()")
        self.browser.key("ArrowRight")
        self.assertIn("samples/s", self.browser.value("document.querySelector('.tip').textContent"))
        self.assertEqual(self.browser.complaints(), [])

    def test_links_lead_on(self):
        """From the list to the run, from there to a log."""
        self.browser.show(self.root + "/")
        for selector, end in (("td a", f"/runs/{self.name}"), ("td a", "/logs?point=0&trial=0&attempt=0&role=pserver&index=0")):
            self.browser.show(self.browser.value(f"document.querySelector('{selector}').href"))
            self.assertTrue(self.browser.value("location.href").endswith(end))
        self.assertGreater(len(self.browser.value("document.body.textContent")), 100)

    def test_an_error(self):
        for path, code, text in (("/?phase=%3Cb%3E", 400, "unknown phase '<b>'"), ("/runs/none", 404, "there is no run 'none'")):
            with self.subTest(path):
                got, headers, body = self.server.get(path, Accept="text/html")
                self.assertEqual((got, headers["Content-Type"]), (code, "application/json"))
                self.assertIn(text, body)

    def test_find(self):
        self.browser.show(self.root + "/?q=tiny")
        self.browser.events.clear()
        self.browser.value("document.querySelector('[name=q]').value = 'no-such'; document.querySelector('form').submit()")
        self.browser.wait("Page.loadEventFired")
        self.assertIn("None of the", self.browser.value("document.querySelector('main').textContent"))
        self.assertIn("q=no-such", self.browser.value("location.search"))
        self.assertEqual(self.browser.complaints(), [])

    def test_a_run_that_goes_on(self):
        """Its page loads itself again, without scripts; the page of the ended run is the last one."""
        self.server.say("phase Running")
        self.browser.call("Emulation.setScriptExecutionDisabled", value=True)
        serve.cli.wait_for("a running run", lambda: "http-equiv" in self.server.get(f"/runs/{self.name}")[2])
        self.browser.show(f"{self.root}/runs/{self.name}")
        self.server.say("phase Failed")
        self.browser.events.clear()
        self.browser.wait("Page.loadEventFired")
        self.assertEqual(self.browser.value("document.querySelector('.tag').textContent"), "Failed")
        self.assertEqual(self.browser.complaints(), [])


if __name__ == "__main__":
    serve.cli.main()
