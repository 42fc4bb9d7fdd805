#!/usr/bin/env python3
"""The manual pages that the build writes."""
import os
import pathlib
import re
import shutil
import subprocess
import unittest

import cli

PAGES = pathlib.Path(cli.BENCHCTL).parent
WORKER = pathlib.Path(os.environ["BENCHWORKER_PROGRAM"])
WORKER_PAGE = WORKER.with_name("benchworker.1")


class Man(cli.CliCase):
    def test_every_verb_has_a_page_and_no_page_is_of_another_time(self):
        verbs = re.findall(r"^  (\w+) +[A-Z]", self.ctl("help").stdout.split("Verbs:")[1], re.MULTILINE)
        self.assertIn("run", verbs)
        self.assertEqual(sorted(page.name for page in PAGES.glob("*.1")),
                         sorted(["benchctl.1", *(f"benchctl-{verb}.1" for verb in verbs)]))
        for verb in verbs:
            page = (PAGES / f"benchctl-{verb}.1").read_text(encoding="utf-8")
            self.assertEqual(page, self.ctl("__man", verb).stdout)
        self.assertEqual((PAGES / "benchctl.1").read_text(encoding="utf-8"), self.ctl("__man").stdout)

    def test_a_page_says_what_help_says(self):
        page = self.ctl("__man", "logs").stdout.replace("\\-", "-").replace("\\fB", "").replace("\\fP", "")
        for option in re.findall(r"--[a-z-]+", self.ctl("logs", "--help").stdout.split("Options:")[1]):
            self.assertIn(option, page)
        self.assertIn("benchctl logs 7k3fq --point 3", page)
        self.assertIn("130\n", page)

    def test_the_page_of_benchworker_has_its_roles_and_exit_codes(self):
        page = WORKER_PAGE.read_text(encoding="utf-8")
        help_text = subprocess.run([WORKER, "--help"], capture_output=True, text=True, check=True).stdout
        roles = re.findall(r"^  (\w+) +[A-Z]", help_text, re.MULTILINE)
        self.assertIn("pserver", roles)
        for role in roles:
            self.assertIn(f"\\fB{role}\\fP", page)
        self.assertIn("a peer was lost", page)
        self.assertNotIn("the lease was lost", page)   # benchd's

    def test_an_unknown_page(self):
        self.assertIn("there is no page for 'nonsense'", self.ctl("__man", "nonsense", code=2).stderr)

    @unittest.skipUnless(shutil.which("mandoc"), "mandoc is not installed")
    def test_the_pages_are_formatted_without_a_warning(self):
        pages = sorted(map(str, [*PAGES.glob("*.1"), WORKER_PAGE]))
        done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", *pages], capture_output=True, text=True,
                              check=False)
        # A page has no date, so that each build writes the same one.
        warnings = [line for line in done.stdout.splitlines() if "missing date" not in line]
        self.assertEqual(warnings, [])
        text = subprocess.run(["mandoc", "-T", "utf8", *pages[:1]], capture_output=True, text=True, check=True).stdout
        self.assertIn("SYNOPSIS", re.sub(".\b", "", text))


if __name__ == "__main__":
    cli.main()
