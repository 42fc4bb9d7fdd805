#!/usr/bin/env python3
"""expand.py cases.txt FOLDER: a definition with one fault for each case, as FOLDER/NAME.yaml. tests/wrong/README.md has the format."""
import pathlib
import re
import shutil
import sys

CASE = re.compile(r"=== ([\w-]+)(?: \((\w+)\))?(?:: (.*))?")
TAG = re.compile(r"(expect|benchd): (.*)")
KEY = re.compile(r"(?:  )?(\w+):|    (pserver|trainer):$")


def blocks(lines):
    """[(key, lines)]: each key of the document or of its spec, and each role, with the lines below it."""
    found = []
    for line in lines:
        key = KEY.match(line)
        if key or not found:
            found.append((key[1] or key[2] if key else "", [line]))
        else:
            found[-1][1].append(line)
    return found


def document(base, own):
    """The base, in which the blocks of `own` replace those with the same key; others are added. `roles` replaces all roles."""
    own, gone = dict(own), ()
    if "roles" in own:
        gone = ("pserver", "trainer")
        own["roles"] = [line for key in ("roles", *gone) for line in own.pop(key, [])]
    merged = [(key, own.pop(key, lines)) for key, lines in base if key not in gone]
    return [line for _, lines in [*merged, *own.items()] for line in lines]


def cases(text):
    """{name: the text of the file}. The first case, `base`, has no fault."""
    base, found = [], {}
    for part in re.split(r"(?m)^(?==== )", text)[1:]:
        head, *lines = part.rstrip("\n").split("\n")
        name, layer, why = CASE.fullmatch(head).groups()
        tags = {}
        while lines and (tag := TAG.fullmatch(lines[0])):
            tags[tag[1]] = tag[2]
            del lines[0]
        if name == "base":
            base = blocks(lines)
            continue
        comments = [f"# {line}" for line in (why or "").split(" / ") if line] + [f"# layer: {layer}"]
        comments += [f"# {key}: {tags[key]}" for key in ("expect", "benchd") if key in tags]
        is_whole = lines[0].startswith("apiVersion:")
        body = lines if is_whole else document(base, blocks(lines))
        found[name] = "\n".join([*comments, *body]) + "\n"
    return found


def main(source, folder):
    folder = pathlib.Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, text in cases(pathlib.Path(source).read_text(encoding="utf-8")).items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
