"""Every row of tests/mutations/*.toml fits the code: its text stands in its file once, and no two rows overlap. A row
that fits no longer would end script/mutate before its first mutation."""

import collections
import importlib.machinery
import importlib.util
import os
import pathlib

import csource

_SCRIPT = os.path.join(os.path.dirname(__file__), "../../script/mutate")


def _load():
    loader = importlib.machinery.SourceFileLoader("mutate", _SCRIPT)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutate", loader))
    loader.exec_module(module)
    return module


def check(root):
    mutate = _load()
    findings = []
    by_file = collections.defaultdict(list)
    try:
        rows = mutate.read_rows(root)
    except mutate.Misfit as e:
        return [str(e)]
    for row in rows:
        by_file[row.file].append(row)
    for path, mine in sorted(by_file.items()):
        try:
            mutate.mutate(pathlib.Path(root, path).read_text(encoding="utf-8"), mine)
        except FileNotFoundError:
            findings.append(f"{mine[0].source}: {mine[0].name}: there is no file {path}")
        except mutate.Misfit as e:
            findings.append(str(e))
    return findings


if __name__ == "__main__":
    csource.main(check)
