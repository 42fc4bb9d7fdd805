#!/usr/bin/env python3
"""docs/first-run.md, typed line by line in one shell: each command ends well, and prints what the page says but for numbers, names
of runs and the width of columns. A line of three dots stands for any lines."""
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(os.environ["BENCHD_SOURCE_DIR"])
sys.path.insert(0, str(ROOT / "tests" / "ctl"))
import cli  # noqa: E402  (its folder is known only now)

PAGE = ROOT / "docs" / "first-run.md"
END = "-- end --"


def steps(text):
    """[(command, [lines that it prints])] of the blocks of a page; a command may go on behind a backslash."""
    found = []
    for block in re.findall(r"^```\n(.*?)^```", text, re.M | re.S):
        lines = iter(block.splitlines())
        for line in lines:
            if line.startswith("$ "):
                command = line[2:]
                while command.endswith("\\"):
                    command = command[:-1] + next(lines).strip()
                found.append((command, []))
            elif found:
                found[-1][1].append(line)
    return found


def rough(line):
    """Without what differs between machines and runs: a machine with more CPUs has no rehearsal, and no column for it."""
    line = re.sub(r" +RUN$", "", line)
    line = re.sub(r"\b(vgg16-pserver-sweep-)[a-z0-9]{5}\b", r"\1NAME", line)
    line = re.sub(r"\b(?:\d+[smhd]){2,}\b", "#", line)
    return re.sub(r"-?\d[\d.,:]*(?:(?:ms|[smhd%x])\b|[%x])?", "#", re.sub(r"\s+", " ", line.strip()))


def is_like(told, printed):
    """Whether the lines are as the page has them."""
    if not told:
        return not printed
    if told[0].strip() == "...":
        return any(is_like(told[1:], printed[i:]) for i in range(len(printed) + 1))
    return bool(printed) and rough(told[0]) == rough(printed[0]) and is_like(told[1:], printed[1:])


class Tutorial(cli.CliCase):
    def test_the_page_as_it_is_typed(self):
        build = pathlib.Path(cli.BENCHCTL).parent
        env = {**self.env, "BENCHWORKER": os.environ["BENCHWORKER_PROGRAM"], "PATH": f"{build}:{self.env['PATH']}", "PS1": ""}
        typed = steps(PAGE.read_text(encoding="utf-8"))
        self.assertGreater(len(typed), 6)
        with subprocess.Popen(["bash", "--norc"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env,
                              cwd=self.folder) as shell:
            for command, told in typed:
                shell.stdin.write(f"{{ {command}\n}} </dev/null; code=$?; echo; echo {END} $code\n")
                shell.stdin.flush()
                printed = []
                for line in shell.stdout:
                    if line.startswith(END):
                        break
                    printed.append(line.rstrip("\n"))
                if printed and printed[-1] == "":
                    printed.pop()   # the empty line before the end
                with self.subTest(command=command):
                    self.assertEqual(line.split()[-1], "0", printed)
                    self.assertTrue(is_like(told, printed), "the page says:\n" + "\n".join(told) + "\nprinted was:\n" + "\n".join(printed))
            shell.stdin.close()

    def test_lines_that_are_alike(self):
        """A check that cannot fail is none."""
        rows = [(["a 12.5 b"], ["a   7 b"], True), (["a 12.5 b"], ["a 7 c"], False), (["..."], ["x", "y"], True), (["...", "z"], ["x", "y"], False),
                (["a", "...", "z"], ["a", "z"], True), (["took 49s 48s"], ["took 2m46s   1h2m"], True), (["a"], [], False), ([], ["a"], False), (["76% of 3s"], ["8% of 12s"], True),
                (["run vgg16-pserver-sweep-ab3de done"], ["run vgg16-pserver-sweep-zz9zz done"], True)]
        for told, printed, alike in rows:
            self.assertEqual(is_like(told, printed), alike, (told, printed))


if __name__ == "__main__":
    cli.main()
