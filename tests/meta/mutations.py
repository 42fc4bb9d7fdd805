"""Every row of tests/mutations/*.toml fits the code: its operator fits one place of its function, and its tests exist. A row that
does not would end script/mutate before its first mutation.

mutations.py ROOT BUILD_DIR: the build says how each file is compiled, and which tests there are."""

import importlib.machinery
import importlib.util
import json
import os
import pathlib
import sys

import csource

_SCRIPT = os.path.join(os.path.dirname(__file__), "../../script/mutate")


def _load():
    loader = importlib.machinery.SourceFileLoader("mutate", _SCRIPT)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutate", loader))
    loader.exec_module(module)
    return module


def check(root, build):
    mutate = _load()
    known = {test["name"] for test in json.loads(pathlib.Path(build, "meson-info/intro-tests.json").read_text(encoding="utf-8"))}
    findings, found = [], {}
    try:
        rows = mutate.read_rows(root)
    except mutate.Misfit as e:
        return [str(e)]
    functions = {row.function for row in rows}
    for row in rows:
        findings += [f"{row.where}: there is no test '{name}'" for name in row.tests if name not in known]
        try:
            if row.file not in found:
                found.update(mutate.find_places(root, build, [row.file], functions=functions))
            row.find(found[row.file])
        except mutate.Misfit as e:
            findings.append(str(e))
    return findings


if __name__ == "__main__":
    csource.main(lambda root: check(root, *sys.argv[2:]))
