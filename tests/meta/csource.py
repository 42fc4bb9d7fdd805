"""Reading C sources for the checks of this folder. Standard library only."""

import os
import re
import sys
import typing

SOURCE_FOLDERS = ("lib", "ctl", "daemon", "worker")
TEST_FOLDERS = ("tests", "bench")

_TOKENS = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)
_OPEN = re.compile(r"^\{", re.MULTILINE)
_CLOSE = re.compile(r"^\}", re.MULTILINE)
_NAME = re.compile(r"(?:^TEST\()?(\w+)\s*[()]", re.MULTILINE)  # a test is TEST(name)
_STATIC = re.compile(r"^static\b", re.MULTILINE)  # not the one of an array parameter


def files(root, folders, suffixes=(".c", ".h")):
    """Paths below root, sorted, with forward slashes; build and hidden folders are left out."""
    found = []
    for folder in folders:
        for here, dirs, names in os.walk(os.path.join(root, folder)):
            dirs[:] = [d for d in dirs if not d.startswith((".", "build", "__pycache__"))]
            found += [os.path.relpath(os.path.join(here, n), root).replace(os.sep, "/") for n in names if n.endswith(suffixes)]
    return sorted(found)


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as f:
        return f.read()


def code_only(text):
    """The text without comments, and strings and characters emptied; lines keep their numbers."""
    def blank(match):
        token = match.group(0)
        if token[0] in "\"'":
            return token[0] * 2
        return re.sub(r"[^\n]", " ", token)
    return _TOKENS.sub(blank, text)


def comments_only(text):
    """The comments, everything else gone; lines keep their numbers."""
    out, at = [], 0
    for match in _TOKENS.finditer(text):
        out.append(re.sub(r"[^\n]", " ", text[at:match.start()]))
        token = match.group(0)
        out.append(token if token[0] == "/" else re.sub(r"[^\n]", " ", token))
        at = match.end()
    return "".join(out) + re.sub(r"[^\n]", " ", text[at:])


def without_comments(text):
    """The text without comments, strings as they are."""
    def blank(match):
        token = match.group(0)
        return token if token[0] in "\"'" else re.sub(r"[^\n]", " ", token)
    return _TOKENS.sub(blank, text)


def strings(text):
    """The string literals, without their quotes."""
    return [token[1:-1] for token in _TOKENS.findall(text) if token[0] == '"']


def includes(text):
    """(line, is_quoted, name) of each #include."""
    text = without_comments(text)
    return [(line_of(text, m.start(1)), m.group(1) == '"', m.group(2)) for m in _INCLUDE.finditer(text)]


class Function(typing.NamedTuple):
    name: str
    is_static: bool
    first: int  # line
    last: int


def functions(code):
    """The functions that the code defines: their braces stand in column 1."""
    found = []
    for start in _OPEN.finditer(code):
        head_at = max(code.rfind("\n\n", 0, start.start()), code.rfind(";\n", 0, start.start()), code.rfind("}\n", 0, start.start()), 0)
        head = code[head_at:start.start()].strip("\n;} ")
        end = _CLOSE.search(code, start.end())
        name = _NAME.search(head)
        if end is None or name is None or head.endswith("="):
            continue
        first = line_of(code, start.start()) - head.count("\n") - 1
        found.append(Function(name.group(1), _STATIC.search(head) is not None, first, line_of(code, end.start())))
    return found


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def main(check):
    """Runs check(root) on the tree named on the command line; prints findings, exits 1 if any."""
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    findings = check(root)
    for finding in findings:
        print(finding)
    print(f"{len(findings)} findings")
    sys.exit(1 if findings else 0)
