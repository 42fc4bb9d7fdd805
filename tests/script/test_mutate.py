"""script/mutate tells a test that catches a mistake from one that does not, and refuses rows that no longer fit.

Each case is a small tree of its own: one C function, one Python one, a test for each."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

SCRIPT = pathlib.Path(os.environ["BENCHD_SOURCE_DIR"]) / "script" / "mutate"
TREE = {
    "meson.build": """
        project('small', 'c')
        lib = static_library('base', 'lib/base/mem.c', 'lib/sign/sign.c', include_directories: 'lib')
        test('sign', executable('test_sign', 'test_sign.c', include_directories: 'lib', link_with: lib), timeout: 3)
        test('blind', executable('test_blind', 'test_blind.c', include_directories: 'lib', link_with: lib))
        test('half', find_program('python3'), args: files('test_half.py'))
        test('broken', find_program('false'))
        """,
    "lib/base/mem.c": "int mem_unused(void) { return 0; }\n",
    "lib/sign/sign.h": "int sign(int value);\n",
    "lib/sign/sign.c": """
        #include "sign/sign.h"
        int sign(int value)
        {
            int ret = 0;
            while (value > 100) {
                value -= 100;
            }
            if (value > 0) {
                ret = 1;
            }
            return value < 0 ? -1 : ret;
        }
        """,
    "half.py": "def half(value):\n    return value // 2\n",
    # A test that is wrong: it does not look at what sign() says.
    "test_blind.c": '#include "sign/sign.h"\nint main(void) { sign(1); return 0; }\n',
    "test_sign.c": '#include "sign/sign.h"\nint main(void) { return sign(300) == 1 && sign(0) == 0 && sign(-5) == -1 ? 0 : 1; }\n',
    "test_half.py": "import half\nassert half.half(9) == 4\n",
}


def row(name, find, put, tests="sign", file="lib/sign/sign.c", more=""):
    return f"[[row]]\nname = '{name}'\nfile = '{file}'\nfind = '''{find}'''\nput = '''{put}'''\ntests = ['{tests}']\n{more}\n"


class MutateTests(unittest.TestCase):
    def mutate(self, table, *options):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {**TREE, "tests/mutations/small.toml": table, ".gitignore": "build*\n"}.items():
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(textwrap.dedent(text).lstrip())
            os.mkdir(f"{folder}/script")
            shutil.copy(SCRIPT, f"{folder}/script/mutate")
            subprocess.run(["git", "init", "-q", folder], check=True)
            done = subprocess.run([sys.executable, f"{folder}/script/mutate", *options], cwd=folder,
                                  capture_output=True, text=True)
        return done.returncode, done.stdout.splitlines(), done.stderr

    def test_each_mutation_is_alone(self):
        code, lines, _ = self.mutate(
            row("zero counts as positive", "    if («value > 0»)", "value >= 0") +
            row("negative is lost", "value < 0 ? -1 : ret", "ret") +
            row("the loop does not end", "        «value -= 100;»", ";") +
            row("half is rounded up", "value // 2", "(value + 1) // 2", "half", "half.py"))
        self.assertEqual(code, 0, lines)
        self.assertEqual(lines[-1], "caught 4 of 4")
        self.assertIn("lib/sign/sign.c: zero counts as positive: caught by sign (exit 1", "\n".join(lines))
        self.assertIn("lib/sign/sign.c: the loop does not end: caught by sign (time-out", "\n".join(lines))

    def test_what_this_cpu_does_not_run_is_skipped(self):
        code, lines, _ = self.mutate(row("for another one", "value > 0", "value >= 0", "blind", more="cpu = ['fpu', 'unheard-of']") +
                                     row("for this one", "value < 0", "value < 9", more="cpu = ['processor']"))
        self.assertEqual((code, lines[-1]), (0, "caught 1 of 1"))
        self.assertIn("lib/sign/sign.c: for another one: skipped, this CPU has no ", "\n".join(lines))

    def test_a_survivor_is_below_the_bar(self):
        code, lines, _ = self.mutate(row("caught", "value < 0", "value < 9") +
                                     row("seen by none", "value > 0", "value >= 0", "blind", more="short = true"),
                                     "--log", "log.json")
        self.assertEqual((code, lines[-1]), (1, "caught 1 of 2"))
        self.assertIn("lib/sign/sign.c: seen by none: SURVIVED blind", lines)
        self.assertIn("below 95%", "\n".join(lines))

    def test_the_log_counts_a_case_a_row(self):
        table = row("caught", "value < 0", "value < 9") + row("seen by none", "value > 0", "value >= 0", "blind")
        with tempfile.NamedTemporaryFile(suffix=".json") as log:
            self.mutate(table, "--log", log.name)
            said = log.read().decode()
        self.assertIn('"result": "FAIL"', said)
        self.assertIn("ok 1 - caught\\nnot ok 2 - seen by none\\n", said)

    def test_short_and_row_and_folder_choose(self):
        table = (row("one", "value < 0", "value < 9", more="short = true") + row("two", "value > 0", "value >= 0") +
                 row("three", "value // 2", "value", "half", "half.py"))
        for options, names in ((["--short"], ["one"]), (["--row", "two", "--row", "three"], ["two", "three"]),
                               (["--folder", "lib"], ["one", "two"]), (["--folder", "lib/sign/"], ["one", "two"]), ([], ["one", "two", "three"])):
            code, lines, _ = self.mutate(table, "--list", *options)
            self.assertEqual((code, [line.split(": ")[1] for line in lines]), (0, names))
        self.assertEqual(self.mutate(table, "--row", "four")[0], 2)
        self.assertEqual(self.mutate(table, "--folder", "li")[0], 2)

    def test_a_row_that_does_not_fit_is_an_error(self):
        good = row("good", "value < 0", "value < 9")
        for table, why in (
                (row("gone", "value == 7", "false"), "gone: 0 places in lib/sign/sign.c"),
                (row("twice", "value", "0"), "places in lib/sign/sign.c read 'value', expected 1"),
                (row("no file", "value", "0", file="lib/none.c"), "there is no file lib/none.c"),
                (good + good, "two rows are named 'good'"),
                (good + row("over", "return value < 0", "return"), "overlaps another row"),
                (row("no such test", "value < 0", "value < 9", "nobody"), "there is no test 'nobody'"),
                (row("nothing", "«»", "0"), "nothing to find"),
                (row("more", "value < 0", "0", more="shrt = true"), "unknown key 'shrt'"),
                ("[[row]]\nname = 'bare'\n", "bare: no 'file'"),
                ("[[row]\n", "small.toml"),
                (row("no C", "value < 0", "no such name"), "failed:"),
                (row("no Python", "value «//» 2", "/ /", "half", "half.py"), "half.py is no Python, line 2: "),
                (row("always", "value < 0", "value < 9", "broken"), "broken fails without a mutation: exit 1")):
            code, _, said = self.mutate(table)
            self.assertEqual(code, 2, said)
            self.assertIn(why, said)


if __name__ == "__main__":
    unittest.main()
