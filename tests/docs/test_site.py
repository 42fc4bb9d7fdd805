#!/usr/bin/env python3
"""The documents as a site: it builds without a warning, each link and each picture of each page is there, and a page loads
nothing from elsewhere. Skipped where the environment of docs/site/install.sh is missing; script/test makes it."""
import html.parser
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.parse

ROOT = pathlib.Path(os.environ["BENCHD_SOURCE_DIR"])
sys.path.insert(0, str(ROOT / "tests" / "ctl"))
import cli  # noqa: E402  (its folder is known only now)


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.links, self.loads, self.ids = [], [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.ids.update(filter(None, (attrs.get("id"), attrs.get("name") if tag == "a" else None)))
        if tag == "a" and attrs.get("href"):
            self.links.append(attrs["href"])
        for name in ("src",) if tag != "link" else ("href",):
            if attrs.get(name) and attrs.get("rel") not in ("next", "prev", "index", "search"):
                self.loads.append(attrs[name])


class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="site-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        done = subprocess.run([ROOT / "script" / "docs", cls.folder], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        cls.pages = {path: Page(path) for path in cls.folder.rglob("*.html")}

    def target(self, page, link):
        """The file that a link of a page leads to, and its anchor; None: it leads elsewhere."""
        url = urllib.parse.urlsplit(link)
        if url.scheme or url.netloc:
            return None, ""
        path = page if url.path == "" else pathlib.Path(os.path.normpath(page.parent / urllib.parse.unquote(url.path)))
        return path, urllib.parse.unquote(url.fragment)

    def test_all_documents_are_pages(self):
        for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")):
            self.assertIn(self.folder / path.relative_to(ROOT).with_suffix(".html"), self.pages)
        self.assertEqual((self.folder / "index.html").read_bytes(), (self.folder / "README.html").read_bytes())

    def test_links_lead_somewhere(self):
        n_links = 0
        for path, page in self.pages.items():
            for link in page.links:
                target, anchor = self.target(path, link)
                if target is None:
                    continue
                n_links += 1
                self.assertTrue(target.is_file(), f"{path.name}: {link}")
                if anchor and target in self.pages:
                    self.assertIn(anchor, self.pages[target].ids, f"{path.name}: {link}")
        self.assertGreater(n_links, 1000)

    def test_nothing_is_loaded_from_elsewhere(self):
        for path, page in self.pages.items():
            for link in page.loads:
                target, _ = self.target(path, link)
                self.assertTrue(link.startswith("data:") or (target is not None and target.is_file()), f"{path.name}: {link}")


if __name__ == "__main__":
    if subprocess.run([ROOT / "docs" / "site" / "install.sh", "--path"], stdout=subprocess.DEVNULL, check=False).returncode != 0:
        print("1..0 # SKIP docs/site/install.sh has not run on this machine")
        sys.exit(0)
    cli.main()
