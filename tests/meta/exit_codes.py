"""docs/contracts/exit-codes.md and lib/base/exit_code.h hold the same codes."""

import re

import csource

CONTRACT, HEADER = "docs/contracts/exit-codes.md", "lib/base/exit_code.h"


def check(root):
    documented = set(map(int, re.findall(r"^\| (\d+) \|", csource.read(root, CONTRACT), re.MULTILINE)))
    defined = set(map(int, re.findall(r"\bEXIT_\w+ = (\d+)", csource.code_only(csource.read(root, HEADER)))))
    return ([f"exit code {c} is in {HEADER} only" for c in sorted(defined - documented)] +
            [f"exit code {c} is in {CONTRACT} only" for c in sorted(documented - defined)])


if __name__ == "__main__":
    csource.main(check)
