#!/usr/bin/env python3
"""Writes what profiles say they are into a C file, as the rows of an array (doc/embedded.h): profile_descriptions.py OUT.c PROFILE.YAML..."""
import pathlib
import re
import sys


def row(path):
    """A description is one line without quotes; tests/spec/test_rendezvous.c compares it with what profile_load reads."""
    description = re.search(r"^description: (.+)$", path.read_text(encoding="utf-8"), re.M).group(1)
    return path.parent.name, description


def main():
    out, *files = sys.argv[1:]
    rows = "".join(f'    {{"{name}", "{description}"}},\n' for name, description in sorted(map(row, map(pathlib.Path, files))))
    pathlib.Path(out).write_text(
        '/* Made by profile_descriptions.py. */\n#include "spec/shipped_profiles.h"\n\n'
        f"const struct embedded profile_descriptions[] = {{\n{rows}}};\n"
        f"const size_t profile_descriptions_count = {len(files)};\n", encoding="utf-8")


if __name__ == "__main__":
    main()
