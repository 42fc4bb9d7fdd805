"""Files of at most 700 lines, functions of at most 80; tests, which hold tables,
may be twice as long. A longer one says why in a comment `size: ...`: a file in its first 40 lines, a function
directly above or inside it."""

import re

import csource

FILE_LINES, FUNCTION_LINES = 700, 80
TEST_FACTOR = 2

_REASON = re.compile(r"\bsize: \w")
_OPEN = re.compile(r"^\{", re.MULTILINE)
_CLOSE = re.compile(r"^\}", re.MULTILINE)
_NAME = re.compile(r"(\w+)\s*\(")


def functions(code):
    """(name, first line, last line) of each function: its braces stand in column 1."""
    found = []
    for start in _OPEN.finditer(code):
        head_at = max(code.rfind("\n\n", 0, start.start()), code.rfind(";\n", 0, start.start()),
                      code.rfind("}\n", 0, start.start()), 0)
        head = code[head_at:start.start()].strip("\n;} ")
        end = _CLOSE.search(code, start.end())
        name = _NAME.search(head)
        if end is None or name is None or head.endswith("="):
            continue
        first = csource.line_of(code, start.start()) - head.count("\n") - 1
        found.append((name.group(1), first, csource.line_of(code, end.start())))
    return found


def has_reason(comments, first, last):
    lines = comments.splitlines()
    return any(_REASON.search(line) for line in lines[max(first - 4, 0):last])


def check(root):
    findings = []
    for path in csource.files(root, csource.SOURCE_FOLDERS + csource.TEST_FOLDERS):
        factor = TEST_FACTOR if path.startswith(csource.TEST_FOLDERS) else 1
        text = csource.read(root, path)
        comments = csource.comments_only(text)
        n_lines = text.count("\n")
        if n_lines > FILE_LINES * factor and not has_reason(comments, 0, 40):
            findings.append(f"{path}: {n_lines} lines, limit {FILE_LINES * factor}")
        for name, first, last in functions(csource.code_only(text)):
            length = last - first + 1
            if length > FUNCTION_LINES * factor and not has_reason(comments, first, last):
                findings.append(f"{path}:{first}: {name}: {length} lines, "
                                f"limit {FUNCTION_LINES * factor}")
    return findings


if __name__ == "__main__":
    csource.main(check)
