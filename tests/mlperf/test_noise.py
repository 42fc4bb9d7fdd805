"""noise.py on made-up entries: what it calls named, quiet and held."""

import contextlib
import io
import json
import os
import pathlib
import random
import re
import tempfile
import unittest

import noise


class Noise(unittest.TestCase):
    def test_entries_of_normal_noise(self):
        rng = random.Random(1)
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as printed:
            rates = pathlib.Path(folder) / "rates"
            logs = [{"path": f"a/results/s/b{i}/result_{k}.txt", "throughput": 1000 * rng.gauss(1, 0.0005), "target": "reached"}
                    for i in range(6) for k in range(10)]
            logs += [logs[0] | {"throughput": None}, logs[0] | {"throughput": 1, "target": "aborted"}]
            rates.write_text("".join(json.dumps(log) + "\n" for log in logs), encoding="utf-8")
            noise.main([os.environ["BENCHCTL"], str(rates), "--points", "8"])
        text = printed.getvalue()
        self.assertIn("6 entries; spread of ln X", text)
        self.assertEqual(re.findall(r"(?m)^n (\d+): 6 entries, (\d+)%", text), [("3", "100"), ("5", "100"), ("10", "0")])
        rows = re.findall(r" 0% slower: named (\d+) of 8\n.* 1% slower: .* (\d+) of (\d+) where.*\n.* 5% slower: named 8 of 8, 8 of 8 .*\n"
                          r".*: (\d+) of 16 .*, (\d+) those", text)
        self.assertEqual(len(rows), 3, text)
        for alarms, slower, quiet, held, normal in rows:
            self.assertLessEqual(int(alarms), 1)
            self.assertEqual(slower, quiet)
            self.assertTrue(10 <= int(held) <= 16 and 10 <= int(normal) <= 16, text)


if __name__ == "__main__":
    unittest.main()
