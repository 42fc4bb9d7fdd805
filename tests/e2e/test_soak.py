#!/usr/bin/env python3
"""20 runs in a row, whose objects expire: neither memory nor descriptors nor API objects grow (script/bench controller)."""
import subprocess
import sys

import tap

RUNS = 20


def main():
    t = tap.Tap()
    done = subprocess.run([sys.executable, tap.ROOT / "bench" / "controller.py", "--part", "soak", "--runs", str(RUNS)],
                          capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    for what in ("private memory", "descriptors", "API objects"):
        row = next((line for line in lines if f"growth of {what}" in line), "not measured")
        t.ok(row.startswith("reached "), f"{RUNS} runs: no growth of {what}", row + "\n" + done.stdout + done.stderr)
    t.equal(("reached 4 of 4", 0), (lines[-1] if lines else "", done.returncode), "the bench says so, too")
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
