#!/usr/bin/env python3
"""Writes text files into a C file, as arrays that end with a NUL: embed_text.py OUT.c HEADER NAME=FILE..."""

import sys


def main():
    out, header, *pairs = sys.argv[1:]
    parts = [f'/* Made by embed_text.py. */\n#include "{header}"\n']
    for pair in pairs:
        name, path = pair.split("=", 1)
        with open(path, "rb") as f:
            data = f.read() + b"\0"
        rows = [", ".join(str(b) for b in data[i:i + 24]) for i in range(0, len(data), 24)]
        parts.append(f"const char {name}[] = {{\n    " + ",\n    ".join(rows) + "};\n")
    with open(out, "w", encoding="utf-8") as f:
        f.write("\n".join(parts))


if __name__ == "__main__":
    main()
