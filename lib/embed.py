#!/usr/bin/env python3
"""Writes text files into a C file, as the rows of an array (doc/embedded.h): embed.py OUT.c ARRAY FILE...

A row is named after its file; that of a profile.yaml after its folder."""
import pathlib
import sys


def quoted(text):
    """The text as C strings, one for each line."""
    lines = []
    for line in text.splitlines(keepends=True):
        escaped = line.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("??", "?\\?")
        lines.append(f'     "{escaped}"')
    return "\n".join(lines)


def row(path):
    name = path.parent.name if path.name == "profile.yaml" else path.stem
    return name, f'    {{"{name}",\n{quoted(path.read_text(encoding="utf-8"))}}},\n'


def main():
    out, array, *files = sys.argv[1:]
    rows = "".join(text for _, text in sorted(map(row, map(pathlib.Path, files))))
    pathlib.Path(out).write_text(
        f'/* Made by embed.py. */\n#include "doc/embedded.h"\n\n'
        f"extern const struct embedded {array}[];\nconst struct embedded {array}[] = {{\n{rows}}};\n"
        f"extern const size_t {array}_count;\nconst size_t {array}_count = {len(files)};\n", encoding="utf-8")


if __name__ == "__main__":
    main()
