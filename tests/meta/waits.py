"""lib/decide/policy_wait.c has the reasons for which a run waits; docs/troubleshooting.md explains each of them, and docs/metrics.md lists them."""

import re

import csource

SOURCE, GUIDE, METRICS = "lib/decide/policy_wait.c", "docs/troubleshooting.md", "docs/metrics.md"


def check(root):
    kinds = re.search(r"wait_kinds\[\] = \{(.*?)\n\};", csource.read(root, SOURCE), re.DOTALL).group(1)
    defined = set(re.findall(r'\{"(\w+)"', kinds))
    table = re.search(r"### What a run waits for\n(.*?)\n## ", csource.read(root, GUIDE), re.DOTALL).group(1)
    explained = set(re.findall(r"^\| ([A-Z]\w+) \|", table, re.MULTILINE))
    listed = re.search(r"^\| `reason` of waits \|([^.|]*)", csource.read(root, METRICS), re.MULTILINE).group(1)
    return ([f"the wait {r} is in {SOURCE} and not in {GUIDE}" for r in sorted(defined - explained)] +
            [f"the wait {r} is in {GUIDE} and not in {SOURCE}" for r in sorted(explained - defined)] +
            [f"the wait {r} is in {SOURCE} and not in {METRICS}" for r in sorted(defined - set(re.findall(r"\w+", listed)))])


if __name__ == "__main__":
    csource.main(check)
