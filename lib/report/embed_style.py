#!/usr/bin/env python3
"""Writes the style sheets into a C file: embed_style.py OUT.c chart.css style.css"""

import base64
import hashlib
import sys


def quoted(text):
    lines = []
    for line in text.splitlines(keepends=True):
        escaped = line.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("??", "?\\?")
        lines.append(f'    "{escaped}"')
    return "\n".join(lines)


def main():
    out, *paths = sys.argv[1:]
    chart, page = (open(path, encoding="utf-8").read() for path in paths)
    digest = base64.b64encode(hashlib.sha256((page + chart).encode()).digest()).decode()
    with open(out, "w", encoding="utf-8") as f:
        f.write('/* Made by embed_style.py. */\n#include "report/style.h"\n\n'
                f"const char chart_style[] =\n{quoted(chart)};\n"
                f"const char page_style[] =\n{quoted(page + chart)};\n"
                f'const char page_style_hash[] = "sha256-{digest}";\n')


if __name__ == "__main__":
    main()
