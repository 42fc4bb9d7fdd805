#!/usr/bin/env python3
"""Writes the style sheets and the script of charts into a C file: embed_style.py OUT.c chart.css style.css chart.js

The script is without its comments and indentation: each page carries it."""

import base64
import hashlib
import pathlib
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from embed import quoted  # noqa: E402  (its folder is known only now)


def shortened(script):
    lines = (line.strip() for line in script.splitlines())
    return "".join(f"{line}\n" for line in lines if line and not line.startswith("//"))


def literal(style):
    """The light colours in the rules themselves, no question about the screen, and no rule that names the root, which is svg:svg to Inkscape."""
    values = dict(re.findall(r"(--\w+):([^;}]+)", style.splitlines()[0]))
    rules = "".join(f"{line}\n" for line in style.splitlines() if not line.startswith((":root", "@media")))
    return re.sub(r"var\((--\w+)\)", lambda name: values[name[1]], rules.replace("svg ", ""))


def digest(text):
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def main():
    out, *paths = sys.argv[1:]
    chart, page, script = (open(path, encoding="utf-8").read() for path in paths)
    script = shortened(script)
    with open(out, "w", encoding="utf-8") as f:
        f.write('/* Made by embed_style.py. */\n#include "report/style.h"\n\n'
                f"const char chart_style[] =\n{quoted(literal(chart))};\n"
                f"const char page_style[] =\n{quoted(page + chart)};\n"
                f"const char page_script[] =\n{quoted(script)};\n"
                f'const char page_style_hash[] = "{digest(page + chart)}";\n'
                f'const char page_script_hash[] = "{digest(script)}";\n')


if __name__ == "__main__":
    main()
