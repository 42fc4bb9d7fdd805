#!/usr/bin/env python3
"""docs/first-run.md and a part of docs/own-script.md, typed line by line in one shell: each command ends well, and prints what the page says but for numbers, names
of runs and the width of columns. A line of three dots stands for any lines."""
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(os.environ["BENCHD_SOURCE_DIR"])
sys.path.insert(0, str(ROOT / "tests" / "ctl"))
import cli  # noqa: E402  (its folder is known only now)

import typed  # noqa: E402  (beside this file)

FIRST, OWN = ROOT / "docs" / "first-run.md", ROOT / "docs" / "own-script.md"


class Tutorial(cli.CliCase):
    def test_the_first_run_as_it_is_typed(self):
        self.type_page(FIRST.read_text(encoding="utf-8"))

    def test_an_own_script_as_it_is_typed(self):
        """The one without a framework; tests/e2e/own_scripts.py types the others, too."""
        section = "## A shell loop" + OWN.read_text(encoding="utf-8").split("## A shell loop")[1].split("\n## ")[0]
        files = re.findall(r"`([a-z.]+)`:\n\n```\w+\n(.*?)```", section, flags=re.S)
        self.assertEqual([name for name, _ in files], ["work.c", "passes.sh"])
        for name, text in files:
            (self.folder / name).write_text(text, encoding="utf-8")
        self.type_page(section, 4)

    def type_page(self, page, least=6):
        build = pathlib.Path(cli.BENCHCTL).parent
        env = {**self.env, "BENCHWORKER": os.environ["BENCHWORKER_PROGRAM"], "PATH": f"{build}:{self.env['PATH']}", "PS1": ""}
        steps = typed.steps(page)
        self.assertGreaterEqual(len(steps), least)
        with typed.Shell(env=env, cwd=self.folder) as shell:
            for step in steps:
                shell.type(step.command)
                printed = list(shell.lines())
                with self.subTest(command=step.command):
                    self.assertEqual(shell.code, 0, printed)
                    self.assertTrue(typed.is_like(step.told, printed), typed.difference(step.told, printed))

    def test_the_commands_of_a_page(self):
        page = "```\n# not typed\n```\nRun it:\n```\n$ a --long \\\n    --more\none\n```\nIn another terminal:\n```\n$ b\n$ c\ntwo\n```\nThen:\n```\nthree\n```\n"
        self.assertEqual([(step.command, step.told, step.is_beside) for step in typed.steps(page)],
                         [("a --long --more", ["one", "three"], False), ("b", [], True), ("c", ["two"], True)])

    def test_lines_that_are_alike(self):
        """A check that cannot fail is none."""
        rows = [(["a 12.5 b"], ["a   7 b"], True), (["a 12.5 b"], ["a 7 c"], False), (["..."], ["x", "y"], True), (["...", "z"], ["x", "y"], False),
                (["a", "...", "z"], ["a", "z"], True), (["took 49s 48s"], ["took 2m46s   1h2m"], True), (["a"], [], False), ([], ["a"], False), (["76% of 3s"], ["8% of 12s"], True),
                (["run vgg16-pserver-sweep-ab3de done"], ["run vgg16-pserver-sweep-zz9zz done"], True),
                (["benchd-6445bb7f57-shgxr   1/1"], ["benchd-5f6d9c7b4-x2x4z 1/1"], True), (["benchd-5f6d9c7b4-x2x4z"], ["other-5f6d9c7b4-x2x4z"], False)]
        for told, printed, alike in rows:
            self.assertEqual(typed.is_like(told, printed), alike, (told, printed))


if __name__ == "__main__":
    cli.main()
