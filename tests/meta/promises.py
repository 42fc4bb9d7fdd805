"""What benchd promises and the threat model name their tests: each file exists, each name after a file (the path, a colon, the
names) is in it, and each promise has a test."""

import os
import re

import csource

PAGES = ("docs/promises.md", "docs/threat-model.md")
REFERENCE = re.compile(r"`(tests/[\w./-]+)`(?:: ((?:`\w+`(?:, )?)+))?")


def check_row(root, row):
    """[finding, ...] about the tests that a line names."""
    findings = []
    for path, names in REFERENCE.findall(row):
        full = os.path.join(root, path)
        if not os.path.exists(full):
            findings.append(f"{path} does not exist")
            continue
        text = "" if os.path.isdir(full) else csource.read(root, path)
        findings += [f"{path} has no {name}" for name in re.findall(r"\w+", names) if not re.search(rf"\b{name}\b", text)]
    return findings


def check(root):
    findings = []
    for page in PAGES:
        if not os.path.exists(os.path.join(root, page)):
            continue
        for number, row in enumerate(csource.read(root, page).splitlines(), 1):
            is_promise = page == PAGES[0] and row.startswith("| ") and not row.startswith("| benchd promises")
            if is_promise and not REFERENCE.search(row):
                findings.append(f"{page}:{number}: a promise without a test")
            findings += [f"{page}:{number}: {finding}" for finding in check_row(root, row)]
    return findings


if __name__ == "__main__":
    csource.main(check)
