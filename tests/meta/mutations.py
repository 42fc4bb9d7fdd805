"""Every row of tests/mutations/*.toml fits the code: its text stands in its file once, no two rows overlap, and what is
replaced is neither a part of a text nor replaced by nothing, which no compiler takes. A row that fits no longer would end
script/mutate before its first mutation."""

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


def _is_no_code(row, text):
    """Why C does not take the row; None: it does, as far as can be seen here."""
    start, _ = row.span(text)
    line = text[text.rfind("\n", 0, start) + 1:start].replace("\\\"", "").replace("'\"'", "")
    if line.count('"') % 2 == 1:
        return "replaces a part of a text; replace all of it"
    is_statement = row.old.rstrip().endswith((";", "}"))
    return "puts nothing in place of an expression" if row.put.strip() == "" and not is_statement else None


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
            text = pathlib.Path(root, path).read_text(encoding="utf-8")
            mutate.mutate(text, mine)
            for row in mine if path.endswith(".c") else []:
                why = _is_no_code(row, text)
                findings += [] if why is None else [f"{row.source}: {row.name}: {why}"]
        except FileNotFoundError:
            findings.append(f"{mine[0].source}: {mine[0].name}: there is no file {path}")
        except mutate.Misfit as e:
            findings.append(str(e))
    return findings


if __name__ == "__main__":
    csource.main(check)
