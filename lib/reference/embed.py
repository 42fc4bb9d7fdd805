#!/usr/bin/env python3
"""Writes the shipped references into a C file: embed.py OUT.c SET.yaml..."""

import os
import sys


def quoted(text):
    """The text as C strings, one for each line."""
    out = []
    for line in text.splitlines(keepends=True):
        escaped = line.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("??", "?\\?")
        out.append(f'        "{escaped}"')
    return "\n".join(out)


def main():
    out, *paths = sys.argv[1:]
    sets = []
    for path in sorted(paths):
        with open(path, encoding="utf-8") as f:
            name = os.path.splitext(os.path.basename(path))[0]
            sets.append(f'    {{"{name}",\n{quoted(f.read())}}},\n')
    with open(out, "w", encoding="utf-8") as f:
        f.write('/* Made by embed.py. */\n#include "reference/shipped.h"\n\n'
                f"const struct reference_shipped reference_shipped[] = {{\n{''.join(sets)}}};\n"
                f"const size_t reference_shipped_count = {len(sets)};\n")


if __name__ == "__main__":
    main()
