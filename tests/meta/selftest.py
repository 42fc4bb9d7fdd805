"""No check that cannot fail: each checker of this folder finds what is wrong in a small bad tree, and
nothing in a good one."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import banned
import circles
import columns
import csource
import edges
import exit_codes
import number_page
import format as formatting
import headers
import homes
import layers
import mentions
import mutations
import names
import promises
import sizes
import threads
import units
import usage
import waits
import words

GOOD = {
    "lib/base/buf.h": "#pragma once\n#include <stddef.h>\nint buf_len(size_t n);\n",
    "lib/base/buf.c": '#include "base/buf.h"\n#include <unistd.h>\n',
    "lib/core/record.h": '#pragma once\n#include "base/buf.h"\n',
    "lib/core/spec.h": '#pragma once\n#include "core/record.h"\n#include <jansson.h>\n',
    "lib/store/store.h": '#pragma once\n#include "core/spec.h"\n',
    "lib/run/driver.c": '#include "store/store.h"\n#include <uv.h>\n',
    "ctl/main.c": '#include "config.h"\n#include "store/store.h"\nint main(void)\n{\n    return 0;\n}\n',
    "worker/comm/net.h": '#pragma once\n#include "core/record.h"\n',
    "worker/role.c": '#include "worker/comm/net.h"\n',
}
EXIT_CODES = {
    "lib/base/exit_code.h": "enum exit_code {\n    EXIT_OK = 0,\n    EXIT_USAGE = 2, /* x */\n};\n",
    "docs/contracts/exit-codes.md": "| code | program | meaning |\n|---|---|---|\n"
                                    "| 0 | all | done |\n| 2 | all | usage |\n",
}


def long_function(n_lines, comment=""):
    body = "    x++;\n" * (n_lines - 3)
    return f"{comment}static int count(int x)\n{{\n{body}}}\n"


class SelfTest(unittest.TestCase):
    def findings(self, check, files):
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                full = os.path.join(root, path)
                os.makedirs(os.path.dirname(full), exist_ok=True)
                with open(full, "w", encoding="utf-8") as f:
                    f.write(text)
            return check(root)

    def assert_good(self, check, files):
        self.assertEqual(self.findings(check, files), [])

    def assert_bad(self, check, path, text, expected):
        """One bad file in the good tree gives one finding that names it."""
        found = self.findings(check, {**GOOD, path: text})
        self.assertEqual(len(found), 1, found)
        self.assertIn(path, found[0])
        self.assertIn(expected, found[0])

    def test_layers(self):
        self.assert_good(layers.check, GOOD)
        bad = self.assert_bad
        bad(layers.check, "lib/base/up.c", '#include "core/spec.h"\n', "base may not use core")
        bad(layers.check, "lib/core/up.c", '#include "store/store.h"\n', "core may not use store")
        bad(layers.check, "lib/report/x.c", '#include "store/store.h"\n', "report may not use store")
        bad(layers.check, "lib/store/x.c", "#include <uv.h>\n", "store may not use <uv.h>")
        bad(layers.check, "lib/core/x.c", "#include <unistd.h>\n", "core is pure")
        bad(layers.check, "lib/core/x.c", "#include <sys/stat.h>\n", "core is pure")
        bad(layers.check, "lib/core/x.c", "#include <time.h>\n", "core is pure")
        bad(layers.check, "lib/logparse/x.c", "#include <unistd.h>\n", "logparse is pure")
        bad(layers.check, "lib/run/x.c", "#include <pcre2.h>\n", "run may not use <pcre2.h>")
        bad(layers.check, "lib/run/x.c", '#include "ctl/main.c"\n', "run may not use ctl")
        bad(layers.check, "worker/comm/x.c", '#include "store/store.h"\n', "worker/comm may not use store")
        bad(layers.check, "worker/tensor/x.c", '#include "core/record.h"\n', "worker/tensor may not use")
        bad(layers.check, "worker/comm/x.c", '#include "worker/role.c"\n', "worker/comm may not use")
        bad(layers.check, "worker/x.c", '#include "store/store.h"\n', "worker may not use store")
        bad(layers.check, "lib/core/x.c", '#include "core/missing.h"\n', "no such header")
        bad(layers.check, "lib/new/x.c", "\n", "no rule for")
        source = '#include "base/build_source.h"\n#include "config.h"\n'
        self.assert_good(layers.check, {**GOOD, "lib/base/build_info.c": source})
        bad(layers.check, "worker/x.c", '#include "base/build_source.h"\n', "worker may not use base/build_source.h")
        bad(layers.check, "lib/base/x.c", '#include "config.h"\n', "base may not use config.h")
        clock = {**GOOD, "lib/base/clock.h": "#pragma once\n", "lib/core/x.c": '#include "base/clock.h"\n'}
        self.assertIn("core is pure", self.findings(layers.check, clock)[0])

    def test_headers(self):
        good = {k: v.replace("#include <jansson.h>\n", "") for k, v in GOOD.items()}
        self.assert_good(headers.check, good)
        found = self.findings(headers.check, {**good, "lib/core/x.h": "#pragma once\nsize_t x(void);\n"})
        self.assertEqual(len(found), 1, found)
        self.assertIn("lib/core/x.h: does not compile alone", found[0])
        warns = "#pragma once\nstatic inline int f(unsigned a)\n{\n    return -1 < a;\n}\n"
        found = self.findings(headers.check, {**good, "lib/core/x.h": warns})
        self.assertEqual(len(found), 1, found)

    def test_banned(self):
        self.assert_good(banned.check, GOOD)
        for call in ("strcpy(a, b)", "strcat(a, b)", "sprintf(a, b)", "gets(a)", "strtok(a, b)",
                     "atoi(a)", "strncpy(a, b, 1)", "alloca(9)", "system(a)", "strtol(a, 0, 10)",
                     "strtod(a, 0)", "exit(1)", "_exit(1)", "abort()", "usleep(1)", "sleep (1)",
                     "sscanf(a, b)", "popen(a, b)", "toupper(a)", "isdigit(a)", "isspace(a)", "strcasecmp(a, b)",
                     "strncasecmp(a, b, 1)", "strcasestr(a, b)", "towupper(a)", "strcoll(a, b)", "setlocale(0, a)"):
            self.assert_bad(banned.check, "lib/core/x.c", f"void f(void)\n{{\n    {call};\n}}\n", call.split("(")[0].strip())
        self.assert_bad(banned.check, "tests/core/test_x.c", "    sleep(1);\n", "wait for the event")
        near, far = "/* Rule zero: because. */\n", "/* Rule zero: because. */" + "\n" * 12
        self.assert_good(banned.check, {"lib/core/x.c": near + "    exit(1);\n"})
        self.assert_bad(banned.check, "lib/core/x.c", far + "    exit(1);\n", "exit")
        for word in ("TO" + "DO", "FIX" + "ME", "XX" + "X"):
            self.assert_bad(banned.check, "lib/core/x.c", f"/* {word}: later */\n", word)
        self.assert_good(banned.check, {"lib/core/x.c": "/* no strcpy(a, b) */ char *s = \"exit(1)\";\n" "int r = my_exit(1) + c->exit(2);\n"})

    def test_edges(self):
        self.assert_good(edges.check, GOOD)
        for call in ("curl_easy_init()", "uv_run(l, 0)", "time(NULL)", "clock_gettime(0, 0)",
                     "getenv(a)", "rand()", "getrandom(a, 1, 0)", "clock_unix_ms()"):
            self.assert_bad(edges.check, "lib/store/x.c", f"    x = {call};\n", call.split("(")[0])
        for text in ("FILE *f;\n", "    x = fopen(a, b);\n", "    printf(a);\n", "    puts(a);\n", "    x = read(0, a, 1);\n", "    f = stderr;\n"):
            self.assert_bad(edges.check, "lib/core/x.c", text, "pure")
        self.assert_good(edges.check, {"lib/core/x.c": "int n = d->time(d) + snprintf(a, b, c);\n",
                                       "lib/base/clock.c": "int n = clock_gettime(a, b);\n"})

    def test_sizes(self):
        self.assert_good(sizes.check, GOOD)
        self.assert_good(sizes.check, {"lib/core/x.c": long_function(80) + "\n" * 620})
        self.assert_bad(sizes.check, "lib/core/x.c", long_function(81), "count: 81 lines")
        for path in "lib/core/x.c", "tests/core/x.c", "tests/core/x.py", "bench/x.py":
            self.assert_good(sizes.check, {path: "\n" * 700})
            self.assert_bad(sizes.check, path, "\n" * 701, "701 lines")
        self.assert_bad(sizes.check, "tests/core/x.c", long_function(161), "count: 161 lines")
        a_test = long_function(161).replace("static int count(int x)", "TEST(count)")
        self.assert_bad(sizes.check, "tests/core/x.c", a_test, "count: 161 lines")
        self.assert_good(sizes.check, {"tests/core/x.c": long_function(160)})
        reason = "/* size: one table, read top to bottom */\n"
        self.assert_good(sizes.check, {"lib/core/x.c": long_function(100, reason)})
        self.assert_good(sizes.check, {"lib/core/x.c": reason + "\n" * 800})
        self.assert_good(sizes.check, {"tests/core/x.py": "# size: one table\n" + "\n" * 800})
        self.assert_bad(sizes.check, "tests/core/x.py", "size: int = 1\n" + "\n" * 800, "801 lines")
        self.assert_bad(sizes.check, "lib/core/x.c", long_function(100, "/* size: */\n"), "count")

    def test_threads(self):
        def found(suites, symbols, cmd="tests/a"):
            tests = [{"name": "x", "suite": suites, "cmd": [cmd], "depends": ["a", "lib"]}]
            targets = [{"id": "a", "type": "executable", "filename": ["tests/a"]}, {"id": "lib", "type": "shared library", "filename": ["lib.so"]}]
            info = {"meson-info/intro-tests.json": json.dumps(tests), "meson-info/intro-targets.json": json.dumps(targets)}
            return self.findings(lambda build: threads.check(build, lambda program: symbols[os.path.basename(program)]), info)
        uses, idle = {"a": {"malloc", "pthread_create"}}, {"a": {"malloc", "signal"}}
        self.assertEqual([], found(["benchd:unit", "benchd:threads"], uses))
        self.assertEqual([], found(["benchd:unit"], idle))
        self.assertEqual([], found(["benchd:cli"], uses))
        self.assertIn("has pthread_create", found(["benchd:fake"], uses)[0])
        self.assertIn("has none", found(["benchd:fake", "benchd:threads"], idle)[0])
        self.assertIn("has sigaction", found(["benchd:unit"], {"a": {"sigaction"}}, "/usr/bin/python3")[0])

    def test_format(self):
        if formatting.clang_format() is None:
            self.skipTest(f"clang-format {formatting.VERSION} is not installed")
        self.assert_good(formatting.check, GOOD)
        self.assert_bad(formatting.check, "lib/core/x.c", "int  x;\n", "run script/format")

    def test_circles(self):
        self.assert_good(circles.check, GOOD)
        mutual = {"lib/base/up.h": '#include "core/record.h"\n'}
        found = self.findings(circles.check, {**GOOD, **mutual})
        self.assertEqual(len(found), 1, found)
        self.assertIn("circle of folders: lib/base -> lib/core", found[0])
        headers = {f"ctl/{name}.h": f'#include "ctl/{uses}.h"\n' for name, uses in (("a_internal", "b"), ("b", "a"), ("a", "c"))}
        self.assertIn("circle of headers: ctl/a -> ctl/b (ctl/a_internal.h:1)", self.findings(circles.check, headers)[0])
        define = "int {0}(void)\n{{\n    return {1}();\n}}\n"
        files = {f"ctl/{name}.c": define.format(name, uses) for name, uses in ("ab", "bc", "ca")}
        found = self.findings(circles.check, files)
        self.assertEqual(len(found), 1, found)
        self.assertIn("circle of files: ctl/a.c -> ctl/b.c (b)", found[0])
        apart = {f"ctl/{path[4]}/{path[4]}.c": text for path, text in files.items()}
        self.assertIn("circle of folders: ctl/a -> ctl/b (ctl/a/a.c calls b)", self.findings(circles.check, apart)[0])
        one_way = {**files, "ctl/c.c": "int c(void)\n{\n    return 0;\n}\n"}
        self.assert_good(circles.check, one_way)
        allowed = {frozenset(files): "better than its cut"}
        self.assertEqual(self.findings(lambda root: circles.check(root, allowed), files), [])
        self.assertEqual(len(self.findings(lambda root: circles.check(root, allowed), one_way)), 1)
        three = {frozenset((f"ctl/{i}.c", "ctl/x.c")): "why" for i in range(3)}
        self.assertIn("limit 2", self.findings(lambda root: circles.check(root, three), one_way)[-1])

    def test_columns(self):
        text = "x" * 94
        self.assert_good(columns.check, {"lib/a.c": f"/* {text} */\n" + f'char *s = "{text * 2}";\n', "script/a": f"# {text}\nb {text * 2}\n"})
        for path, bad in (("lib/a.c", f"/* {text}y */\n"), ("tests/a.h", f"int a; /* {text} */\n"), ("bench/a.c", f"/* a\n * {text * 2}\n */\n"),
                          ("script/a", f"    # {text}y\n"), ("lib/meson.build", f"# {text * 2}\n"), ("tests/a.sh", f"# {text * 2}\n")):
            self.assert_bad(columns.check, path, bad, "columns, limit 100")

    def test_homes(self):
        header, body = "lib/core/x.h", "int x_size(const char ret[static 2])\n{\n    return 0;\n}\n"
        declared = "#pragma once\nint x_size(const char ret[static 2]);\nstatic inline int y(void);\n"
        good = {header: declared, "lib/core/x.c": body}
        self.assert_good(homes.check, good)
        self.assert_good(homes.check, {"lib/core/x_internal.h": declared, "lib/core/x.c": body})
        self.assert_good(homes.check, {header: "/* In x_more.c. */\n" + declared, "lib/core/x_more.c": body})
        self.assert_good(homes.check, {header: declared, "lib/core/x.c": "DEFINE_SIZE(x_size, 2)\n"})
        self.assert_good(homes.check, {header: "int x_size_avx2(void);\n", "lib/core/x.c": "int ISA_SYMBOL(x_size)(void)\n"})
        for files, expected in (
                ({header: declared, "lib/core/x_more.c": body}, "x_size is defined in lib/core/x_more.c, which"),
                ({header: declared, "lib/run/x.c": body}, "x_size is defined in lib/run/x.c, which"),
                ({header: declared, "lib/core/x.c": "static " + body}, "x_size is defined nowhere"),
                ({header: "/* In max_more.c. */\n" + declared, "lib/core/x_more.c": body}, "x_size is defined in"),
                ({header: declared.replace("x_size", "x_length"), "lib/core/x.c": body}, "x_length is defined nowhere")):
            found = self.findings(homes.check, files)
            self.assertEqual(len(found), 1, found)
            self.assertIn(f"{header}:", found[0])
            self.assertIn(expected, found[0])

    def test_mentions(self):
        good = {"lib/core/x.c": "int x;\n", "docs/a.md": "See [b](b.md#part), `lib/core/x.c`, core/x.c, lib/core/, `x.c`, "
                "lib/*/x.[c], lib/{core}/x.c, docs/NAME.md, </usr/lib/x.h>, /lib/no.c, https://lib/no.c.\n",
                "docs/b.md": "nothing\n", "lib/core/y.c": 'const char *s = "see no.c";\n', "tests/x.py": "a = 'lib/no.c'\n"}
        self.assert_good(mentions.check, good)
        for path, text, missing in (
                ("docs/c.md", "[b](c/b.md)", "c/b.md"), ("docs/c.md", "`lib/core/no.c`", "lib/core/no.c"),
                ("docs/c.md", "core/no.c", "core/no.c"), ("docs/c.md", "lib/no/", "lib/no"),
                ("docs/c.md", "lib/{core,no}/x.c", "lib/no/x.c"), ("docs/c.md", "lib/core/no*.c", "lib/core/no*.c"),
                ("lib/core/z.c", "/* See no.h. */", "no.h"), ("lib/core/z.c", "// docs/no.md", "docs/no.md"),
                ("tests/z.py", '"""lib/core/no.c"""', "lib/core/no.c"), ("lib/meson.build", "# no.c", "no.c")):
            found = self.findings(mentions.check, {**good, path: "\n" + text + "\n"})
            self.assertEqual(found, [f"{path}:2: {missing} does not exist"])

    def test_promises(self):
        page = "docs/promises.md"
        head = "| benchd promises that | held by |\n|---|---|\n"
        good = {page: head + "| x | `tests/a.c`: `b`, `c`; `tests/d` |\n", "tests/a.c": "b(c)", "tests/d/e.c": ""}
        self.assertEqual(self.findings(promises.check, good), [])
        for path, text, finding in (
                (page, head + "| x | `tests/none.c` |\n", "tests/none.c does not exist"),
                (page, head + "| x | `tests/a.c`: `b`, `bc` |\n", "tests/a.c has no bc"),
                (page, head + "| x | it is so |\n", "a promise without a test"),
                ("docs/threat-model.md", "| a | b | `tests/a.c`: `z` |\n", "tests/a.c has no z")):
            found = self.findings(promises.check, {**good, path: text})
            self.assertEqual(len(found), 1, found)
            self.assertIn(finding, found[0])

    def test_number_page(self):
        page = "# Page\n\n*MS*\n\n## It is worked\n*RATE, MS, ShortStep, what a line says*\n"
        good = {"docs/numbers.md": page, "lib/spec/figures.h": 'X(A, NUMBER, "a", "A", "MS", "a")\n',
                "lib/report/x.c": 'table_column(t, "RATE", TABLE_RIGHT);\ntable_column(t, "POINT", TABLE_RIGHT);\n'
                                  'table_column(t, "SYSTEM", TABLE_LEFT);\nchar *titles[] = {"MS", "POINT"};\n',
                "lib/result/result.h": 'X(SHORT_STEP, "ShortStep", lint_step)\n', "ctl/plan.c": '{"CPU", TABLE_RIGHT}\n'}
        self.assert_good(number_page.check, good)
        for path, text, finding in (
                ("lib/report/y.c", 'table_column(t, "LOST", TABLE_RIGHT);', "has 'LOST'"),
                ("ctl/runs/describe.c", '{"LOST", TABLE_RIGHT}', "has 'LOST'"),
                ("lib/result/result.h", good["lib/result/result.h"] + 'X(LONG, "LongStep", NULL)', "has 'LongStep'"),
                ("docs/numbers.md", page.replace("RATE", "RATE, GONE"), "nothing prints 'GONE'"),
                ("docs/numbers.md", page.replace("Short", "ShortStep, Long"), "nothing prints 'LongStep'"),
                ("docs/numbers.md", page.replace("MS, ", ""), "has 'MS'")):
            found = self.findings(number_page.check, {**good, path: text})
            self.assertEqual(len(found), 1, found)
            self.assertIn(finding, found[0])

    def test_words(self):
        def check(root):
            return words.check(root, {"why": [("ctl/a.c", "nobody")]})

        good = {"ctl/a.c": '/* No process waits; `told` is a name. */\nchar *s = "nobody";\n', "docs/a.md": "`beside` is a name.\n",
                "script/x": "told # says\n", "bench/a.py": "told = None is none\n", "tests/a.c": "/* nobody */\n"}
        self.assertEqual(self.findings(check, good), [])
        for path, text, word in (
                ("ctl/b.c", "/* It is\n * none. */\n", "is none"), ("ctl/b.c", 'char *s = "it tells";\n', "tells"),
                ("ctl/a.c", '/* nobody */ char *s = "nobody";\n', "nobody"), ("docs/a.md", "Beside it.\n", "beside"),
                ("README.md", "what stands there\n", "stands there"), ("bench/a.py", "# told\n", "told"),
                ("bench/a.py", '"""told"""\n', "told"), ("bench/a.py", 'f"{x} told"\n', "told"), ("script/x", "x # meanwhile\n", "meanwhile"),
                ("lib/a.h", "/* A run, whose end it is. */\n", "whose"), ("ctl/a.c", "int a;\n", "allowed and has no hit")):
            found = self.findings(check, {**good, path: text})
            self.assertEqual(len(found), 1, found)
            self.assertIn(path, found[0])
            self.assertIn(word, found[0])

    def test_names(self):
        def check(root):
            return names.check(root, {"why": ("b.c",)})

        good = {"lib/a.c": "", "lib/b.c": "", "ctl/b.c": "", "README.md": "", "lib/README.md": "", "lib/result/c.c": "",
                "tests/a/test_d.c": "", "tests/b/test_d.c": ""}
        self.assertEqual(self.findings(check, good), [])
        for files, finding in (({"ctl/a.c": ""}, "ctl/a.c and lib/a.c: one name"), ({"lib/report/c.c": ""}, "lib/report/c.c and lib/result/c.c"),
                               ({"ctl/b.c": None}, "'b.c' is allowed and occurs once")):
            found = self.findings(check, {path: text for path, text in {**good, **files}.items() if text is not None})
            self.assertEqual(len(found), 1, found)
            self.assertIn(finding, found[0])

    def test_units(self):
        self.assert_good(units.check, GOOD)
        for text, expected in (("wait_ns = timeout_ms;", "ns meets ms"), ("if (a->b_ms < c.d_s) {", "ms meets s"),
                               ("x_bytes -= y_mib;", "bytes meets mib"), ("begin_ns = clock_unix_ms();", "ns meets ms"),
                               ("clock_unix_ms() - begin_ns", "ms meets ns"), ("n = size_bits[i] + rest_bytes;", "bits meets"),
                               ("if (at_s == by_ms) {", "s meets ms")):
            self.assert_bad(units.check, "lib/core/x.c", f"    {text}\n", expected)
        for text in ("wait_ns = timeout_ms * 1000000;", "a_ns = b_ns + c_ns;", "a_ns = b_s == 0 ? 1 : b_s * S_NS;",
                     "ms = 1000 * a_s + b_ms;", "/* a_ns = b_ms */", "a_ns = to_ns(b_ms);", "*ret_ns = now_ns - then_ns;",
                     "p->a_ns = b_ms < 0 ? -1 : b_ms * N;", "a_ns = s->b_ns;"):
            self.assert_good(units.check, {"lib/core/x.c": f"    {text}\n"})

    def test_mutations(self):
        def row(name, function="add", operator="drop", of="put", file="lib/base/add.c", test="base/add"):
            return f'[[row]]\nname = "{name}"\nin = "{file}: {function}"\n{operator} = "{of}"\ntests = ["{test}"]\n'

        def check(root):
            command = {"directory": root, "file": "lib/base/add.c", "command": "cc -c lib/base/add.c"}
            pathlib.Path(root, "compile_commands.json").write_text(json.dumps([command]), encoding="utf-8")
            return mutations.check(root, root)

        good = {"lib/base/add.c": "int put(int a);\nint add(int a)\n{\n    put(a);\n    return a + 1;\n}\n",
                "meson-info/intro-tests.json": json.dumps([{"name": "base/add"}]), "tests/mutations/base.toml": row("one")}
        self.assert_good(check, good)
        for bad in (row("a", of="take"), row("b", "sub"), row("c", operator="never"), row("d", file="lib/base/sub.c"), row("e", test="base/sub")):
            self.assertEqual(len(self.findings(check, {**good, "tests/mutations/base.toml": bad})), 1, bad)

    def test_exit_codes(self):
        self.assert_good(exit_codes.check, EXIT_CODES)
        more = EXIT_CODES["lib/base/exit_code.h"].replace("};", "    EXIT_NEW = 9,\n};")
        found = self.findings(exit_codes.check, {**EXIT_CODES, "lib/base/exit_code.h": more})
        self.assertEqual(found, ["exit code 9 is in lib/base/exit_code.h only"])
        fewer = EXIT_CODES["lib/base/exit_code.h"].replace("EXIT_USAGE = 2", "EXIT_USAGE = 3")
        found = self.findings(exit_codes.check, {**EXIT_CODES, "lib/base/exit_code.h": fewer})
        self.assertEqual(len(found), 2, found)

    def test_waits(self):
        good = {"lib/decide/policy_wait.c": 'const struct wait_kind wait_kinds[] = {\n    {"Queued", 0},\n};\n',
                "docs/troubleshooting.md": "### What a run waits for\n| Queued | a | b |\n\n## Events\n| Other | |\n",
                "docs/metrics.md": "| `reason` of waits | A, Queued. |\n"}
        self.assert_good(waits.check, good)
        for path, old, new, n in (("lib/decide/policy_wait.c", '"Queued", 0},', '"Queued", 0},\n    {"New", 0},', 2),
                                  ("docs/troubleshooting.md", "| Queued |", "| Old |", 2), ("docs/metrics.md", "Queued", "Old", 1)):
            self.assertEqual(len(self.findings(waits.check, {**good, path: good[path].replace(old, new)})), n, path)

    def test_usage(self):
        class Known:
            """What three small programs know."""
            verbs = {"benchctl": {"run": ({"local", "output"}, {"json"}), "help": (set(), set())}, "benchworker": {"bench": ({"batch"}, set())},
                     "benchd": {"": ({"store"}, set())}}
            scripts = {"fast"}

            @staticmethod
            def has_field(path):
                return path in ("spec.measure", "spec.measure.steps", "spec.measure.unit", "benchmarkrun.status.phase")

        table = "| field | what it says |\n|---|---|\n| measure.steps, unit | a |\n"
        good = ("`benchctl run --local -o json`, `run --local`, `script/test --fast`, `spec.measure.steps`, `measure.unit`, `status.phase`, `measure.c`\n"
                "```\n$ benchctl run --local\nbenchctl is a name\n$ benchd --store x\n```\n" + table)
        self.assertEqual(usage.check_page(Known, good, {"spec", "status", "measure"}), ([], set()))
        for text, *wanted in (("`benchctl fly`", "benchctl has no fly"), ("`benchctl run --batch 2`", "benchctl run has no --batch"),
                              ("`run --batch 2`", "benchctl run has no --batch"), ("`benchctl run -o xml`", "benchctl run has no format xml"),
                              ("```\nbenchctl run \\\n  --batch 1\n```\n", "benchctl run has no --batch"), ("`benchd --batch`", "benchd has no --batch"),
                              ("a `--new` option", "no program has --new"), ("`measure.step`", "no field measure.step"),
                              ("`spec.steps: 3`", "no field spec.steps"), (table.replace("unit", "units"), "no field measure.steps units")):
            found, _ = usage.check_page(Known, text, {"spec", "status", "measure"})
            self.assertEqual([bad for _, bad in found], wanted, text)

    def test_corpus(self):
        corpus = pathlib.Path(__file__).resolve().parent.parent / "corpus"
        for name, old, new, said in (("timm.log", " 621.86/s ", " 310.93/s ", "timm.log"),
                                     ("csv_log.log", ",71.02\n", ",73.02\n", "csv_log.log: Wrong: csv: line"),
                                     ("nccl_allreduce.log", " 210.67 ", " 190.67 ", "busbw"),
                                     ("cases.json", '"size": 256', '"size": 128', "differ"),
                                     ("cases.json", '"refuse": "nan", "line": 6', '"refuse": "nan", "line": 7', "run truth.py --write"),
                                     ("cases.json", '"file": "timm.log"', '"file": "apex_validation.log"', "timm.log: no case names this file")):
            with self.subTest(name=name, new=new), tempfile.TemporaryDirectory() as root:
                shutil.copytree(corpus, root, dirs_exist_ok=True)
                path = pathlib.Path(root, name)
                text = path.read_text(encoding="utf-8")
                self.assertIn(old, text)
                path.write_text(text.replace(old, new, 1), encoding="utf-8")
                result = subprocess.run([sys.executable, f"{root}/truth.py", "--check"], capture_output=True, text=True, check=False)
                self.assertEqual(result.returncode, 1)
                self.assertIn(said, result.stderr)

    def test_reading(self):
        text = 'int a; /* b\n */ char *c = "/* d */"; // e\n'
        self.assertEqual(csource.code_only(text).split(), ["int", "a;", "char", "*c", "=", '"";'])
        self.assertEqual(csource.comments_only(text).split(), ["/*", "b", "*/", "//", "e"])
        self.assertEqual(csource.includes('/* #include "a.h" */\n# include "b.h"\n#include <c.h>\n'),
                         [(2, True, "b.h"), (3, False, "c.h")])


if __name__ == "__main__":
    unittest.main()
