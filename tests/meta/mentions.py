"""Files that comments and pages name exist: a path from the root or from lib/ (worker/comm/net.h, core/role.h), and the
bare name of a neighbour after "see" (see net.h). What is renamed is renamed everywhere."""

import os
import re

import csource

FOLDERS = ("base", "bench", "benchmarks", "core", "ctl", "daemon", "dashboards", "decide", "doc", "docs", "kube", "lib",
           "manifests", "pod", "report", "result", "run", "script", "spec", "store", "tests", "worker")
ENDINGS = r"c|h|py|sh|md|yaml|toml|json|build"
# A path from a folder above, with at least one slash and a known ending; not the tail of a longer path or an address.
_PATH = re.compile(rf"(?<![\w./:<>$~{{}}*%-])((?:{'|'.join(FOLDERS)})/[\w./-]*?[\w-]+\.(?:{ENDINGS}))(?![\w/*{{-]|\.\w)")
_SEE = re.compile(r"\b[Ss]ee (\w+\.[ch])\b")
# Names that stand for no file of the tree.
ELSEWHERE = (
    "tests/meta/selftest.py",  # bad trees that it makes
    "tests/ctl/test_usage.py",  # files that it makes
    "tests/dashboards/test_lint.py",
    "CHANGELOG.md",  # which speaks of what was
)


def candidates(path, name):
    """Where a mention in `path` may lie."""
    here = os.path.dirname(path)
    return [name, os.path.join("lib", name), os.path.join(here, name), os.path.join(os.path.dirname(here), name)]


def texts(root):
    """(path, the text that may name files) of sources, scripts, build files and pages."""
    for path in csource.files(root, csource.SOURCE_FOLDERS + csource.TEST_FOLDERS):
        yield path, csource.comments_only(csource.read(root, path))
    folders = csource.SOURCE_FOLDERS + csource.TEST_FOLDERS + ("docs", "script", "manifests", "dashboards", "benchmarks")
    for path in csource.files(root, folders, (".py", ".md", ".sh", "meson.build")):
        yield path, csource.read(root, path)
    for name in sorted(os.listdir(root)):
        if name.endswith((".md", "meson.build", "Dockerfile")):
            yield name, csource.read(root, name)


def check(root):
    findings = []
    for path, text in texts(root):
        if path in ELSEWHERE:
            continue
        names = {(m.group(1), m.start(1)) for m in _PATH.finditer(text)}
        if path.endswith((".c", ".h")):
            names |= {(m.group(1), m.start(1)) for m in _SEE.finditer(text)}
        for name, at in sorted(names, key=lambda pair: pair[1]):
            if not any(os.path.exists(os.path.join(root, c)) for c in candidates(path, name)):
                findings.append(f"{path}:{csource.line_of(text, at)}: there is no {name}")
    return findings


if __name__ == "__main__":
    csource.main(check)
