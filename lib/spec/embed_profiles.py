"""Writes the texts of profile.yaml files as rows of a C table: embed_profiles.py OUTPUT FILE..."""
import pathlib
import sys

rows = []
for path in map(pathlib.Path, sys.argv[2:]):
    text = path.read_text(encoding="ascii")
    lines = "\n".join('     "' + line.replace("\\", "\\\\").replace('"', '\\"') + '\\n"' for line in text.splitlines())
    rows.append(f'    {{"{path.parent.name}",\n{lines}}},\n')
pathlib.Path(sys.argv[1]).write_text("".join(rows), encoding="ascii")
