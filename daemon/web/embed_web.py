#!/usr/bin/env python3
"""Writes the style sheet and the script of benchd's pages into a C file: embed.py OUT.c web.css live.js"""

import sys


def quoted(text):
    lines = []
    for line in text.splitlines(keepends=True):
        escaped = line.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("??", "?\\?")
        lines.append(f'    "{escaped}"')
    return "\n".join(lines)


def main():
    out, style, script = sys.argv[1:]
    with open(out, "w", encoding="utf-8") as f:
        f.write('/* Made by embed.py. */\n#include "daemon/web/assets.h"\n')
        for name, path in (("asset_style", style), ("asset_script", script)):
            with open(path, encoding="utf-8") as text:
                f.write(f"\nconst char {name}[] =\n{quoted(text.read())};\n")


if __name__ == "__main__":
    main()
