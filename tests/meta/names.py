"""No file name occurs twice without a reason, so that a name in a message or a review leads to one file.

A reason is a rule (EXPECTED: the paths that may share a name) or a name of its own (ALLOWED). An entry of ALLOWED whose name
occurs once is a finding, so that the list can only shrink."""

import collections
import os
import re

import csource

EXPECTED = (
    ("a name that a program or a reader looks for in every folder",
     r"(.*/)?(README\.md|meson\.build|Dockerfile|kustomization\.yaml|go\.(mod|sum)|main\.(c|go)|requirements\.txt|install\.sh|__init__\.py)"),
    ("a test is named after what it tests, and its folder is part of the name of the test", r"tests/.*/test_\w+\.(c|py)"),
    ("inputs of one kind for several fuzz targets", r"tests/fuzz/corpus_\w+/.*"),
    ("one object, installed by kubectl or by the chart", r"(manifests|dashboards|packaging/helm/benchd/(templates|files))/.*"),
    ("one script or description a profile", r"benchmarks/profiles/.*"),
)
ALLOWED = {
    "a page for users, and the contract or the golden of it": ("prediction.md", "summary.json"),
    "a name that Debian gives": ("format",),
}


def is_expected(paths):
    return any(all(re.fullmatch(pattern, path) for path in paths) for _, pattern in EXPECTED)


def check(root, allowed=ALLOWED):
    by_name = collections.defaultdict(list)
    for path in csource.files(root, ("",), ("",)):
        by_name[os.path.basename(path)].append(path)
    known = {name for names in allowed.values() for name in names}
    twice = {name: paths for name, paths in by_name.items() if len(paths) > 1 and not is_expected(paths)}
    findings = [f"{' and '.join(paths)}: one name; rename one, or give a reason" for name, paths in sorted(twice.items()) if name not in known]
    return findings + [f"tests/meta/names.py: '{name}' is allowed and occurs once" for name in sorted(known - set(twice))]


if __name__ == "__main__":
    csource.main(check)
