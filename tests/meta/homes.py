"""A function that x.h declares is defined in x.c beside it, or the header names the .c file that has it: whoever reads
a declaration knows where to look."""

import os
import re

import csource

_DECLARED = re.compile(r"\b([a-z_]\w*)\s*\([^;{}]*\)\s*(?:__attribute__\s*\(\(.*?\)\)\s*)*;", re.DOTALL)
_POINTERS = re.compile(r"\(\s*\*\s*\w*\s*\)\s*\([^()]*\)")
_BODIES = re.compile(r"\{[^{}]*\}")
_NOT_NAMES = {"__attribute__", "sizeof", "defined", "_Static_assert", "static_assert"}


def declared(code):
    """Names of the functions that a header declares: not members, not static ones."""
    code = re.sub(r"^[ \t]*#.*?(?<!\\)$", "", code, flags=re.MULTILINE | re.DOTALL)
    while True:
        bare = _BODIES.sub("", code)
        if bare == code:
            break
        code = bare
    code = _POINTERS.sub("", re.sub(r"\btypedef\b[^;]*;", "", code))
    names = []
    for match in _DECLARED.finditer(code):
        head = code[:match.start()].rsplit(";", 1)[-1]
        if match.group(1) not in _NOT_NAMES and "static" not in head.split():
            names.append(match.group(1))
    return names


def check(root):
    paths = csource.files(root, csource.SOURCE_FOLDERS)
    homes = {}
    for path in paths:
        if path.endswith(".c"):
            for function in csource.functions(csource.code_only(csource.read(root, path))):
                if not function.is_static:
                    homes.setdefault(function.name, set()).add(path)
    findings = []
    for path in paths:
        if not path.endswith(".h"):
            continue
        text = csource.read(root, path)
        comments = csource.comments_only(text)
        own = path[:-2] + ".c"
        for name in declared(csource.code_only(text)):
            where = homes.get(name, set())
            named = any(re.search(rf"\b{re.escape(os.path.basename(home))}\b", comments) for home in where)
            if own not in where and where and not named:
                findings.append(f"{path}: {name} is defined in {' '.join(sorted(where))}, which no comment here names")
    return findings


if __name__ == "__main__":
    csource.main(check)
