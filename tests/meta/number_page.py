"""docs/numbers.md works each printed figure by hand: each column of numbers and each warning is in the line of names in italics that
begins a section, and no name is there that nothing prints. docs/figures.md explains the figures of the catalogue: of these it has some."""

import re

import csource

PAGE = "docs/numbers.md"
WARNINGS = "lib/result/result.h"
# Columns of numbers that are no measured figure.
NO_FIGURE = {
    "POINT": "a number for a point", "TRIAL": "a number for a trial", "TRIALS": "counted", "DEVICES": "counted", "ATTEMPTS": "counted",
    "REPLICAS": "counted", "POINTS": "counted", "MODEL": "a name", "PARAMETER": "a name", "ROLE": "a name", "NODE": "a name",
    "LINES": "numbers of lines", "COUNT": "counted", "VALUES": "as the lines have them",
}
# Warnings that say what a run is, and follow from no figure.
NO_FIGURE |= {code: "no figure" for code in ("Rehearsal", "Simulated", "Imported", "Parallel", "OneTrial", "MixedHardware", "MixedUnits",
                                             "MixedBatches", "MixedWork", "SplitNode", "NonMonotonicTime", "WarmupCounted", "OneWitness",
                                             "DoubtfulLog", "IndependentCopies")}
# Names that are not a column and not a warning: words of a line, or titles that are made.
WORDS = {"REACHED", "BEST", "KNOWN", "TFLOPS", "MFU", "SAMPLES/S", "WARM-UP", "MachineBusy"}

_COLUMN = re.compile(r'table_column\(\w+, "([^"]+)", TABLE_RIGHT\)|\{"([^"]+)", TABLE_RIGHT\}|'
                     r'\b(?!\w+_text|table_column)\w+\(\w+, "([A-Z0-9][A-Z0-9%/: -]*)"')
_TITLES = re.compile(r"\btitles\[\] = \{([^}]*)\}")
_HEADING = re.compile(r'X\(\w+, \w+, "[a-z-]+", "[^"]+", "([A-Z0-9][A-Z0-9%/: -]*)"')  # of a row of the catalogue
_WARNING = re.compile(r'X\(\w+, "(\w+)", (?:lint_\w+|NULL)\)')  # of a row of WARNINGS
_TITLE = re.compile(r"[A-Z0-9%][A-Z0-9%/: -]*|(?:[A-Z][a-z]+){2,}")  # a column, a warning


def printed(root):
    """{title or code: the file that prints it}."""
    found = {}
    for path in csource.files(root, ("lib/report", "lib/result", "lib/compare", "ctl"), (".c",)):
        if path.startswith("ctl/") and path != "ctl/runs/describe.c":
            continue  # lists of files, plans and predictions
        text = csource.without_comments(csource.read(root, path))
        names = [name for names in _COLUMN.findall(text) for name in names if name]
        for block in _TITLES.findall(text):
            names += re.findall(r'"([^"]+)"', block)
        found.update((name, path) for name in names)
    found.update((name, WARNINGS) for name in _WARNING.findall(csource.read(root, WARNINGS)))
    return found


def check(root):
    lines = re.findall(r"^#.*\n\*(.+)\*$", csource.read(root, PAGE), re.MULTILINE)
    here = [name.strip() for names in lines for name in names.split(",")]
    known = printed(root)
    headings = _HEADING.findall(csource.read(root, "lib/spec/figures.h"))
    findings = [f"{path}: no section of {PAGE} has '{name}'" for name, path in sorted(known.items())
                if name not in here and name not in NO_FIGURE]
    findings += [f"{PAGE}: nothing prints '{name}'" for name in here
                 if name not in (*known, *headings) and name not in WORDS and _TITLE.fullmatch(name)]
    return findings


if __name__ == "__main__":
    csource.main(check)
