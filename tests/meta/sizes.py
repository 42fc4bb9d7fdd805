"""Files of at most 700 lines, in Python too; C functions of at most 80, those of tests, which hold tables, of twice as
many. A longer one says why in a comment `size: ...`: a file in its first 40 lines, a function directly above or inside
it."""

import re

import csource

FILE_LINES, FUNCTION_LINES = 700, 80
TEST_FUNCTION_FACTOR = 2

_REASON = re.compile(r"\bsize: \w")
_BEFORE_COMMENT = re.compile(r"^[^#\n]*", re.MULTILINE)


def has_reason(comments, first, last):
    lines = comments.splitlines()
    return any(_REASON.search(line) for line in lines[max(first - 4, 0):last])


def check_file(path, text, comments):
    n_lines = text.count("\n")
    return [f"{path}: {n_lines} lines, limit {FILE_LINES}"] \
        if n_lines > FILE_LINES and not has_reason(comments, 0, 40) else []


def check(root):
    findings = []
    folders = csource.SOURCE_FOLDERS + csource.TEST_FOLDERS
    for path in csource.files(root, folders, (".py",)):
        text = csource.read(root, path)
        findings += check_file(path, text, _BEFORE_COMMENT.sub("", text))
    for path in csource.files(root, folders):
        factor = TEST_FUNCTION_FACTOR if path.startswith(csource.TEST_FOLDERS) else 1
        text = csource.read(root, path)
        comments = csource.comments_only(text)
        findings += check_file(path, text, comments)
        for function in csource.functions(csource.code_only(text)):
            length = function.last - function.first + 1
            if length > FUNCTION_LINES * factor and not has_reason(comments, function.first, function.last):
                findings.append(f"{path}:{function.first}: {function.name}: {length} lines, "
                                f"limit {FUNCTION_LINES * factor}")
    return findings


if __name__ == "__main__":
    csource.main(check)
