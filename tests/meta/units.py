"""The unit is part of a name, so two names of different units never meet without a factor between them: no
`wait_ns = timeout_ms`, no `a_ms < b_s`, no `x_bytes - y_mib`. Wall time is always in ms and monotonic time in ns
(base/clock.h), so this also finds one taken for the other. Where the right side goes on (`* 1000`, `== 0 ?`) nothing is
said: there may be the factor."""

import re

import csource

UNIT = r"(?:ns|us|ms|s|bytes|bits|kib|mib|millicores|cores)"
NAME = rf"(?:[A-Za-z_]\w*(?:->|\.))*[A-Za-z_]\w*_{UNIT}\b"
PAIR = re.compile(
    rf"(?P<left>{NAME})(?:\(\)|\[[^\]]*\])?\s*"
    r"(?:[-+]?=(?!=)|==|!=|[<>]=?(?![<>])|[-+](?![-+>]))\s*"
    rf"(?P<right>{NAME})(?P<rest>\(\))?(?!\s*(?:[*/%(\[?]|[<>=!]=|[<>]))")
BEFORE = re.compile(r"[*/%]\s*$")  # left of the pair: a product that ends in its first name


def unit(name):
    return name.rsplit("_", 1)[1]


def check(root):
    findings = []
    for path in csource.files(root, csource.SOURCE_FOLDERS):
        code = csource.code_only(csource.read(root, path))
        for match in PAIR.finditer(code):
            left, right = match["left"], match["right"]
            if unit(left) != unit(right) and not BEFORE.search(code[:match.start()]):
                findings.append(f"{path}:{csource.line_of(code, match.start())}: {left} and {right}: {unit(left)} meets "
                                f"{unit(right)}")
    return findings


if __name__ == "__main__":
    csource.main(check)
