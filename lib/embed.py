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


def name_of(path):
    return path.parent.name if path.name == "profile.yaml" else path.stem


def main():
    out, array, *files = sys.argv[1:]
    paths = sorted(map(pathlib.Path, files), key=name_of)
    # Seldom read, so they lie together: next to words that are read all the time, they would be in memory, too.
    texts = "".join(f'static const char text_{i}[] __attribute__((section(".embedded"))) =\n'
                    f'{quoted(path.read_text(encoding="utf-8"))};\n' for i, path in enumerate(paths))
    rows = "".join(f'    {{"{name_of(path)}", text_{i}}},\n' for i, path in enumerate(paths))
    pathlib.Path(out).write_text(
        f'/* Made by embed.py. */\n#include "doc/embedded.h"\n\n{texts}'
        f"extern const struct embedded {array}[];\nconst struct embedded {array}[] = {{\n{rows}}};\n"
        f"extern const size_t {array}_count;\nconst size_t {array}_count = {len(files)};\n", encoding="utf-8")


if __name__ == "__main__":
    main()
