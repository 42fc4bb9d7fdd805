#!/usr/bin/env python3
"""script/bench rules: each rule that ships has a log there, and the last line says how many reach the bar."""
import os
import pathlib
import re
import subprocess
import unittest

import bench_case

PROGRAM = pathlib.Path(os.environ["BENCHD_BUILD_DIR"]) / "bench" / "log_rules"


class LogRules(unittest.TestCase):
    def test_each_rule_that_ships_is_measured(self):
        done = subprocess.run([PROGRAM, "1"], capture_output=True, text=True, check=False)
        rows = re.findall(r"(?m)^([\w-]+) +(\d+) +(\d+) +(\d+)$", done.stdout)
        shipped = {path.stem for path in (bench_case.ROOT / "benchmarks" / "rules").glob("*.yaml")}
        self.assertEqual(sorted(shipped), [name for name, *_ in rows])
        self.assertTrue(all(int(rate) > 0 for _, *rates, _ in rows for rate in rates), done.stdout)  # its lines are figures
        reached = int(re.search(rf"(?m)^reached (\d+) of {len(shipped)}$", done.stdout)[1])
        self.assertEqual(reached < len(shipped), done.returncode)


if __name__ == "__main__":
    bench_case.main()
