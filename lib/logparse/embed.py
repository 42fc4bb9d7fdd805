#!/usr/bin/env python3
"""Writes the shipped log rules into a C file: embed.py OUT.c RULE.yaml..."""

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
    rules = []
    for path in sorted(paths):
        with open(path, encoding="utf-8") as f:
            name = os.path.splitext(os.path.basename(path))[0]
            rules.append(f'    {{"{name}",\n{quoted(f.read())}}},\n')
    with open(out, "w", encoding="utf-8") as f:
        f.write('/* Made by embed.py. */\n#include "logparse/shipped.h"\n\n'
                f"const struct log_shipped log_shipped[] = {{\n{''.join(rules)}}};\n"
                f"const size_t log_shipped_count = {len(rules)};\n")


if __name__ == "__main__":
    main()
