#!/usr/bin/env python3
"""Writes what profiles say they are into a C file, as the rows of two arrays (doc/embedded.h): profile_descriptions.py OUT.c PROFILE.YAML..."""
import pathlib
import re
import sys


def row(path):
    """A description is one line without quotes; tests/spec/test_rendezvous.c compares it with what profile_load reads."""
    text = path.read_text(encoding="utf-8")
    family = re.search(r"^family: \[(.+)\]$", text, re.M)
    return path.parent.name, re.search(r"^description: (.+)$", text, re.M).group(1), "," + family.group(1).replace(", ", ",") + "," if family else ""


def main():
    out, *files = sys.argv[1:]
    profiles = sorted(map(row, map(pathlib.Path, files)))
    descriptions, families = ("".join(f'    {{"{profile[0]}", "{profile[i]}"}},\n' for profile in profiles) for i in (1, 2))
    pathlib.Path(out).write_text(
        '/* Made by profile_descriptions.py. */\n#include "spec/profile.h"\n\n'
        f"const struct embedded profile_descriptions[] = {{\n{descriptions}}};\n"
        f"const struct embedded profile_families[] = {{\n{families}}};\n"
        f"const size_t profile_descriptions_count = {len(files)};\n", encoding="utf-8")


if __name__ == "__main__":
    main()
