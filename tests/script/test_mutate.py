"""script/mutate tells a test that catches a mistake from one that does not, and refuses rows that no longer fit.

Each case is a small tree of its own: a C function, a test that sees its mistakes, and one that sees nothing."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

SCRIPTS = pathlib.Path(os.environ["BENCHD_SOURCE_DIR"]) / "script"
sys.path.insert(0, str(SCRIPTS))
import places  # noqa: E402

TREE = {
    "meson.build": """
        project('small', 'c')
        lib = static_library('base', 'lib/base/mem.c', 'lib/sign/sign.c', include_directories: 'lib')
        test('sign/sign', executable('test_sign', 'test_sign.c', include_directories: 'lib', link_with: lib), timeout: 3)
        test('sign/blind', executable('test_blind', 'test_blind.c', include_directories: 'lib', link_with: lib))
        test('broken', find_program('false'))
        """,
    "lib/base/mem.c": "int mem_unused(void) { return 0; }\n",
    "lib/sign/sign.h": "int sign(int value);\n",
    "lib/sign/sign.c": """
        #include "sign/sign.h"
        static int noted;
        static void note(int value)
        {
            noted = value; (void)noted;
        }
        static int difference(int a, int b)
        {
            return a - b;
        }
        int sign(int value)
        {
            int ret = 0;
            while (value > 100) {
                value -= 100;
            }
            if (value > 0) {
                ret = 1;
            }
            note(value);
            return difference(value, 0) < 0 ? -1 : ret;
        }
        int unreached(int value)
        {
            return value > 7;
        }
        """,
    # A test that is wrong: it does not look at what sign() says.
    "test_blind.c": '#include "sign/sign.h"\nint main(void) { sign(1); return 0; }\n',
    "test_sign.c": '#include "sign/sign.h"\nint main(void) { return sign(300) == 1 && sign(0) == 0 && sign(-5) == -1 ? 0 : 1; }\n',
}


def row(name, operator, of, tests="sign/sign", at="lib/sign/sign.c: sign", more=""):
    return f"[[row]]\nname = '{name}'\nin = '{at}'\n{operator} = '{of}'\ntests = ['{tests}']\n{more}\n"


class MutateTests(unittest.TestCase):
    def mutate(self, table, *options):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {**TREE, "tests/mutations/small.toml": table, ".gitignore": "build*\n"}.items():
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(textwrap.dedent(text).lstrip())
            os.mkdir(f"{folder}/script")
            for name in ("mutate", "places.py"):
                shutil.copy(SCRIPTS / name, f"{folder}/script/{name}")
            subprocess.run(["git", "init", "-q", folder], check=True)
            done = subprocess.run([sys.executable, f"{folder}/script/mutate", *options], cwd=folder,
                                  capture_output=True, text=True)
        return done.returncode, done.stdout.splitlines(), done.stderr

    def test_each_operator_makes_its_mistake(self):
        code, lines, said = self.mutate(
            row("positive is lost", "never", "value > 0") + row("all is positive", "always", "> 0") + row("0 is positive", "shift", "value > 0") +
            row("negative is positive", "negate", "value <") + row("the loop does not end", "drop", "value 100") +
            row("all is negative", "return", "-1") + row("all else is 0", "return", "0", more="before = 'difference'") +
            row("the other way round", "swap", "difference"))
        self.assertEqual(code, 0, (lines, said))
        self.assertEqual(lines[-1], "caught 8 of 8")
        self.assertIn("lib/sign/sign.c: positive is lost: caught by sign/sign (exit 1", "\n".join(lines))
        self.assertIn("lib/sign/sign.c: the loop does not end: caught by sign/sign (time-out", "\n".join(lines))

    def test_a_survivor_is_below_the_bar(self):
        code, lines, _ = self.mutate(row("caught", "never", "value <") +
                                     row("seen by none", "never", "value > 0", "sign/blind", more="short = true"),
                                     "--log", "log.json")
        self.assertEqual((code, lines[-1]), (1, "caught 1 of 2"))
        self.assertIn("lib/sign/sign.c: seen by none: SURVIVED sign/blind", lines)
        self.assertIn("below 95%", "\n".join(lines))

    def test_short_and_row_and_folder_choose(self):
        table = (row("one", "never", "value <", more="short = true") + row("two", "shift", "> 0") +
                 row("three", "return", "0", at="lib/base/mem.c: mem_unused"))
        for options, names in ((["--short"], ["one"]), (["--row", "two", "--row", "three"], ["two", "three"]), (["--folder", "lib/base"], ["three"]),
                               ([], ["one", "two", "three"])):
            code, lines, _ = self.mutate(table, "--list", *options)
            self.assertEqual((code, [line.split(": ")[1] for line in lines]), (0, names))

    def test_a_row_that_does_not_fit_is_an_error(self):
        good = row("good", "never", "value <")
        for table, why in (
                (row("gone", "never", "value == 7"), "gone: never of 'value == 7' fits 0 places in sign() of lib/sign/sign.c"),
                (row("twice", "always", "value"), "fits 3 places in sign() of lib/sign/sign.c, expected 1\n  line 14: value > 100\n"),
                (good + good, "two rows are named 'good'"),
                (row("no such test", "never", "value <", "nobody"), "there is no test 'nobody'"),
                (row("more", "never", "value <", more="shrt = true"), "unknown key 'shrt'"),
                (row("fails anyway", "never", "value <", "broken"), "broken fails without a mutation: exit 1")):
            code, _, said = self.mutate(table)
            self.assertEqual(code, 2, said)
            self.assertIn(why, said)

    def test_of_two_that_are_equal_either_is_the_larger(self):
        code = ("void f(long most, int a, int b, char *ret) {\n"
                "if (a == 0 || (long)a > most) { most = a; }\nif ((char)a > *ret) { *ret = a; }\n"
                "*ret = most < 0 || most > b ? b : most;\nif (a < b) { *ret = most; }\n}\n")
        found = places.Reader("f.c", code.encode(), []).places
        self.assertEqual([p.text for p in found if p.operator == places.SHIFT], ["(char)a > *ret", "most < 0", "a < b"])

    def test_the_order_of_arguments_is_drawn_where_it_matters(self):
        code = "int dot(int, int); int sub(int, int);\nint f(int a, int b) { return dot(a, b) + sub(a, b); }\n"
        found = places.Reader("f.c", code.encode(), []).places
        self.assertEqual([p.callee for p in found if p.operator == places.SWAP and places.is_drawn(p)], ["sub"])

    def test_a_draw_lists_what_survives(self):
        code, lines, said = self.mutate("", "--draw", "99", "--folder", "lib/sign")
        survivors = [line.split(" (number")[0] for line in lines if "SURVIVED" in line]
        self.assertEqual((code, sorted(survivors)), (1, ["lib/sign/sign.c:20: sign(): drop: note(value): SURVIVED 2 tests",
                                                         "lib/sign/sign.c:5: note(): return: noted = value: SURVIVED 2 tests"]), said)
        self.assertNotIn("unreached", "\n".join(lines))
        self.assertEqual(lines[-1], "caught 10 of 12, seed 1")
        self.assertIn(" of 3, seed 7", self.mutate("", "--draw", "3", "--seed", "7", "--folder", "lib/sign")[1][-1])


if __name__ == "__main__":
    unittest.main()
