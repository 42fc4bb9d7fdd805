"""docs/numbers.md works each printed figure by hand: each column of numbers and each warning stands in its table "Where each
figure is", which names sections that are there, and nothing that is printed nowhere."""

import re

import csource

PAGE = "docs/numbers.md"
HEADING = "## Where each figure is"
# Columns of numbers that are no measured figure.
NO_FIGURE = {
    "POINT": "a number for a point", "TRIAL": "a number for a trial", "TRIALS": "counted", "ATTEMPTS": "counted",
    "REPLICAS": "counted", "POINTS": "counted", "MODEL": "a name", "PARAMETER": "a name", "ROLE": "a name", "NODE": "a name",
}
# Warnings that say what a run is, and follow from no figure.
NO_FIGURE |= {code: "no figure" for code in ("Rehearsal", "Simulated", "Imported", "OneTrial", "MixedHardware", "MixedUnits",
                                             "EfficiencyUnproven", "NonMonotonicTime")}
# Rows of the table that are no column and no warning: words of a line, or titles that are made.
WORDS = {"REACHED", "BEST", "KNOWN", "EFF/POD", "EFF/CPU", "SAMPLES/S", "PREDICTED SAMPLES/S", "WARM-UP", "MachineBusy"}

_COLUMN = re.compile(r'table_column\(\w+, "([^"]+)", TABLE_RIGHT\)|\{"([^"]+)", TABLE_RIGHT\}')
_TITLES = re.compile(r"\btitles\[\] = \{([^}]*)\}")
_WARNING = re.compile(r'\[WARNING_\w+\] = "(\w+)"')
_TITLE = re.compile(r"[A-Z0-9%][A-Z0-9%/: -]*|(?:[A-Z][a-z]+){2,}")  # a column, a warning


def printed(root):
    """{title or code: the file that prints it}."""
    found = {}
    for path in csource.files(root, ("lib/report", "lib/result", "ctl"), (".c",)):
        if path.startswith("ctl/") and path != "ctl/describe.c":
            continue  # lists of files, plans and predictions
        text = csource.without_comments(csource.read(root, path))
        names = [a or b for a, b in _COLUMN.findall(text)] + _WARNING.findall(text)
        for block in _TITLES.findall(text):
            names += re.findall(r'"([^"]+)"', block)
        found.update((name, path) for name in names)
    return found


def slug(heading):
    return re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-")


def check(root):
    page = csource.read(root, PAGE)
    anchors = {slug(h) for h in re.findall(r"^## (.+)$", page, re.MULTILINE)}
    table = page.partition(HEADING)[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.+) \| (.*\]\(.+) \|$", table, re.MULTILINE)
    here = [name.strip() for names, _ in rows for name in re.split(r"[,;]| of any of them", names)]
    known = printed(root)
    findings = [f"{path}: '{name}' is not in the table of {PAGE}" for name, path in sorted(known.items())
                if name not in here and name not in NO_FIGURE]
    findings += [f"{PAGE}: nothing prints '{name}'" for name in here
                 if name not in known and name not in WORDS and _TITLE.fullmatch(name)]
    findings += [f"{PAGE}: no section '{anchor}'" for _, where in rows for anchor in re.findall(r"\(#([^)]+)\)", where)
                 if anchor not in anchors]
    return findings


if __name__ == "__main__":
    csource.main(check)
