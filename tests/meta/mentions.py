"""Every file of the project that a page, a comment or a build file mentions exists: by its path from the root or from
lib/, by a link of a page, or by its bare name ("see reflector.h")."""

import fnmatch
import os
import re

import csource

TEXT_SUFFIXES = (".md", ".c", ".h", ".py", ".sh", ".yaml", "meson.build", "Dockerfile")
SUFFIXES = r"\.(?:c|h|py|md|sh|yaml|json)"
SKIPPED = {
    "CHANGELOG.md": "names files of its day",
    "tests/*/golden/*": "output of programs",
    "tests/meta/selftest.py": "has bad examples",
    "tests/script/test_mutate.py": "has a small tree of its own",
}
# What looks like a file of the project and is none.
NOT_OURS = {
    "*NAME*": "stands for any name",
    "ctl/benchctl": "a program, in a build folder",
    "daemon/benchd": "a program",
    "worker/benchworker": "a program",
    "worker/[0-9]": "a replica",
    "x*.[ch]": "stands for any file",
    "stdio.h": "libc",
    "cpuid.h": "the compiler",
    "cmocka.h": "a library",
    "nccl.h": "a library",
    "work.c": "a program of a page, which its reader types",
    "llm.c": "a project of that name",
    "nvml.h": "a library",
    "cuda.h": "a library",
}

_PATH = re.compile(rf"(?<![\w./<>$~*{{}}-])((?:[\w*.{{}},-]+/)+[\w*.{{}},-]*[\w*}}])(?![\w(<$]|/[\w*{{])")
_BARE = re.compile(rf"(?<![\w./<>\"*%+-])([a-z]\w*\.[ch])(?![\w/>\"(-]|\.\w)")
_LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
_DOCSTRING = re.compile(r'"""(.*?)"""|#([^\n]*)', re.DOTALL)


def folder_of(path):
    return path.rpartition("/")[0]


def prose(path, text):
    """What people read of a file; lines keep their numbers."""
    if path.endswith((".c", ".h")):
        return csource.comments_only(text)
    if not path.endswith(".md"):
        out, at = [], 0
        for m in _DOCSTRING.finditer(text):
            out += [re.sub(r"[^\n]", " ", text[at:m.start()]), m.group(0)]
            at = m.end()
        return "".join(out)
    return text


def alternatives(pattern):
    """"a/{b,c}.h" as "a/b.h", "a/c.h"."""
    m = re.search(r"\{([^{}]*)\}", pattern)
    if m is None:
        return [pattern]
    return [p for part in m.group(1).split(",") for p in alternatives(pattern[:m.start()] + part + pattern[m.end():])]


class Tree:
    """The names of everything in the project."""

    def __init__(self, root):
        self.paths = set()
        for here, dirs, names in os.walk(root):
            dirs[:] = [d for d in dirs if not d.startswith((".git", "build", "__pycache__"))]
            at = os.path.relpath(here, root).replace(os.sep, "/")
            prefix = "" if at == "." else at + "/"
            self.paths |= {prefix + n for n in dirs + names}
        self.top = {p for p in self.paths if os.path.isdir(os.path.join(root, p)) and "/" not in p}
        self.lib = {p.split("/")[1] for p in self.paths if p.startswith("lib/")}
        self.names = {p.rpartition("/")[2] for p in self.paths}

    def has(self, path):
        if "*" in path:
            return any(fnmatch.fnmatchcase(p, path) for p in self.paths)
        return path in self.paths

    def lacks(self, folder, path):
        """Is it a path of the project, and is there no such file?"""
        first = path.split("/")[0]
        if first not in self.top | self.lib or (first not in self.top and not re.search(SUFFIXES + "$", path)):
            return False
        # Without suffix it may be a program, which is built from the source beside it.
        return not any(map(self.has, (path, "lib/" + path, os.path.join(folder, path), path + ".c")))


def check(root):
    tree, findings = Tree(root), []
    for path in sorted(p for p in tree.paths if p.endswith(TEXT_SUFFIXES) or folder_of(p) == "script"):
        full = os.path.join(root, path)
        if any(fnmatch.fnmatchcase(path, s) for s in SKIPPED) or os.path.isdir(full):
            continue
        text, folder = prose(path, csource.read(root, path)), folder_of(path)
        missing = []
        for m in _PATH.finditer(text):
            missing += [(m.start(), p) for p in alternatives(m.group(1).rstrip(".,")) if tree.lacks(folder, p)]
        if path.endswith(".md"):
            missing += [(m.start(), m.group(1)) for m in _LINK.finditer(text)
                        if not tree.has(os.path.normpath(os.path.join(folder, m.group(1))))]
        missing += [(m.start(), m.group(1)) for m in _BARE.finditer(text) if m.group(1) not in tree.names]
        findings += [f"{path}:{csource.line_of(text, at)}: {name} does not exist" for at, name in sorted(missing)
                     if not any(fnmatch.fnmatchcase(name, n) for n in NOT_OURS)]
    return findings


if __name__ == "__main__":
    csource.main(check)
