#!/usr/bin/env python3
"""The manual pages that the build writes."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import cli

sys.path.insert(0, str(cli.ROOT / "lib"))
import man  # pylint: disable=wrong-import-position,import-error

PAGES = pathlib.Path(cli.BENCHCTL).parent
WORKER = pathlib.Path(os.environ["BENCHWORKER_PROGRAM"])
WORKER_PAGE = WORKER.with_name("benchworker.1")


class Man(cli.CliCase):
    def test_every_verb_has_a_page_and_no_page_is_of_another_time(self):
        verbs = re.findall(r"^  (\w+) +[A-Z]", self.ctl("help").stdout, re.MULTILINE)
        self.assertIn("run", verbs)
        self.assertEqual(sorted(page.name for page in PAGES.glob("*.1")),
                         sorted(["benchctl.1", *(f"benchctl-{verb}.1" for verb in verbs)]))
        made = [pathlib.Path(page.name) for page in PAGES.glob("*.1")]
        version = re.search('"benchd (.*)"', (PAGES / "benchctl.1").read_text(encoding="utf-8")).group(1)
        subprocess.run([sys.executable, cli.ROOT / "lib/man.py", version, *made, "--", cli.BENCHCTL], cwd=self.folder, check=True)
        for page in made:
            self.assertEqual((PAGES / page).read_text(encoding="utf-8"), (self.folder / page).read_text(encoding="utf-8"))

    def test_what_roff_would_take_for_its_own_is_escaped(self):
        for text, expected in (("plain", "plain\n"), (".dot\n'quote", "\\&.dot\n\\&'quote\n"), ("not . here", "not . here\n"),
                               ("a\\b --x", "a\\eb \\-\\-x\n"), ("use `-o` now", "use \\fB\\-o\\fP now\n"), ("one\n\ntwo", "one\n.PP\ntwo\n")):
            self.assertEqual(man.paragraphs(text), expected)

    def test_options_have_their_names_and_values(self):
        self.assertEqual(man.options("  -o, --output FORMAT     How\n                          it looks\n"
                                     "      --by a|b Say it\n      --long-name LONG A thing\n"
                                     "      --no-color          .Plain\n  -h, --help              Print this help\n"),
                         ".TP\n\\fB\\-o\\fP, \\fB\\-\\-output\\fP \\fIFORMAT\\fP\nHow it looks\n"
                         ".TP\n\\fB\\-\\-by\\fP \\fIa|b\\fP\nSay it\n.TP\n\\fB\\-\\-long\\-name\\fP \\fILONG\\fP\nA thing\n"
                         ".TP\n\\fB\\-\\-no\\-color\\fP\n\\&.Plain\n")

    def test_a_page_says_what_help_says(self):
        page = (PAGES / "benchctl-logs.1").read_text(encoding="utf-8").replace("\\-", "-").replace("\\fB", "").replace("\\fP", "")
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
