"""docs/contracts/exit-codes.md and lib/base/exit_code.[ch] hold the same codes with the same meanings."""

import re

import csource

CONTRACT, HEADER = "docs/contracts/exit-codes.md", "lib/base/exit_code.h"
TEXTS = "lib/base/exit_code.c"


def meanings(root):
    """Findings for rows of the two tables that differ."""
    codes = {name: code for name, code in
             re.findall(r"\b(EXIT_\w+) = (\d+)", csource.code_only(csource.read(root, HEADER)))}
    told = {(codes.get(name), programs, meaning) for name, programs, meaning in
            re.findall(r'\{(EXIT_\w+), "([^"]*)",\s*"([^"]*)"\}', re.sub(r'"\s*\n\s*"', "", csource.read(root, TEXTS)))}
    documented = set(re.findall(r"^\| (\d+) \| (.*?) \| (.*?) \|$", csource.read(root, CONTRACT), re.MULTILINE))
    return [f"exit code {row[0]}: {CONTRACT} and {TEXTS} do not both say: {row[1]}: {row[2]}"
            for row in sorted(told ^ documented, key=str)]


def check(root):
    documented = set(map(int, re.findall(r"^\| (\d+) \|", csource.read(root, CONTRACT), re.MULTILINE)))
    defined = set(map(int, re.findall(r"\bEXIT_\w+ = (\d+)", csource.code_only(csource.read(root, HEADER)))))
    return ([f"exit code {c} is in {HEADER} only" for c in sorted(defined - documented)] +
            [f"exit code {c} is in {CONTRACT} only" for c in sorted(documented - defined)] + meanings(root))


if __name__ == "__main__":
    csource.main(check)
