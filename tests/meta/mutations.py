"""Every row of tests/mutations/*.toml fits the code: its text stands in its file once, no two rows overlap, and what is
replaced is neither a part of a text nor replaced by nothing, which no compiler takes. With its rows Python stays Python. A row
that fits no longer would end script/mutate before its first mutation, and so would a test that is none.

mutations.py ROOT [BUILD_DIR]: with a build the tests' names are checked, too."""

import collections
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import sys

import csource

_SCRIPT = os.path.join(os.path.dirname(__file__), "../../script/mutate")


def _load():
    loader = importlib.machinery.SourceFileLoader("mutate", _SCRIPT)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutate", loader))
    loader.exec_module(module)
    return module


def _is_no_code(row, text):
    """Why C does not take the row; None: it does, as far as can be seen here."""
    start, _ = row.span(text)
    line = text[text.rfind("\n", 0, start) + 1:start].replace("\\\"", "").replace("'\"'", "")
    if line.count('"') % 2 == 1:
        return "replaces a part of a text; replace all of it"
    is_statement = row.old.rstrip().endswith((";", "}"))
    if not is_statement and (_is_list(row.old) or _is_list(row.put)):
        return "replaces several arguments, of which C would take the last; replace one, or the whole statement"
    return "puts nothing in place of an expression" if row.put.strip() == "" and not is_statement else None


def _is_list(code):
    """Does it have a comma outside of texts and brackets?"""
    depth = 0
    for c in re.sub(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'', "", code):
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            return True
    return False


def _unknown_tests(rows, build):
    known = {test["name"] for test in json.loads(pathlib.Path(build, "meson-info/intro-tests.json").read_text(encoding="utf-8"))}
    return [f"{row.source}: {row.name}: there is no test '{name}'" for row in rows for name in row.tests if name not in known]


def check(root, build=None):
    mutate = _load()
    by_file = collections.defaultdict(list)
    try:
        rows = mutate.read_rows(root)
    except mutate.Misfit as e:
        return [str(e)]
    findings = [] if build is None else _unknown_tests(rows, build)
    for row in rows:
        by_file[row.file].append(row)
    for path, mine in sorted(by_file.items()):
        try:
            text = pathlib.Path(root, path).read_text(encoding="utf-8")
            mutate.check_python(path, mutate.mutate(text, mine).encode(), mine)
            for row in mine if path.endswith(".c") else []:
                why = _is_no_code(row, text)
                findings += [] if why is None else [f"{row.source}: {row.name}: {why}"]
        except FileNotFoundError:
            findings.append(f"{mine[0].source}: {mine[0].name}: there is no file {path}")
        except mutate.Misfit as e:
            findings.append(str(e))
    return findings


if __name__ == "__main__":
    csource.main(lambda root: check(root, *sys.argv[2:]))
