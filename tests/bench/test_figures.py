#!/usr/bin/env python3
"""Ratios, bars and tables of script/bench, from measurements made by hand."""
import unittest

import bench_case

import figures
import peers
import telemetry
from figures import Bar, Row, Sample, Spread

OURS, TORCH, TF, BF16 = Row("benchworker"), Row("pytorch"), Row("tensorflow"), Row("pytorch", "bf16")


def sample(row, number, wall, cpu=None, others=0.0, rss=100):
    return Sample(row, 32, number, "", wall, wall if cpu is None else cpu, rss, others, others)


class Ratios(unittest.TestCase):
    def test_each_round_has_its_own_best_peer(self):
        samples = [sample(OURS, 1, 300), sample(TORCH, 1, 100), sample(TF, 1, 75),
                   sample(OURS, 2, 300), sample(TORCH, 2, 60), sample(TF, 2, 120)]
        self.assertEqual(figures.ratios(samples, OURS, [TORCH, TF], "wall"), [3.0, 2.5])
        self.assertEqual(figures.ratios(samples, OURS, [TORCH], "wall"), [3.0, 5.0])

    def test_wall_and_cpu_are_two_things(self):
        samples = [sample(OURS, 1, 100, cpu=300), sample(TORCH, 1, 100, cpu=150)]
        self.assertEqual(figures.ratios(samples, OURS, [TORCH], "wall"), [1.0])
        self.assertEqual(figures.ratios(samples, OURS, [TORCH], "cpu"), [2.0])

    def test_a_round_without_a_peer_gives_none(self):
        samples = [sample(OURS, 1, 100), sample(TORCH, 2, 100), sample(BF16, 1, 50)]
        self.assertEqual(figures.ratios(samples, OURS, [TORCH], "wall"), [])
        self.assertEqual(figures.ratios(samples, OURS, [], "wall"), [])

    def test_the_interval_of_a_median(self):
        """Of no distribution: the ranks of a table of the sign test."""
        for n, ranks in ((5, None), (6, (1, 6)), (8, (1, 8)), (9, (2, 8)), (12, (3, 10)), (24, (7, 18))):
            self.assertEqual(ranks, telemetry.median_interval(list(range(n, 0, -1))), n)

    def test_memory(self):
        samples = [sample(OURS, 1, 1, rss=50), sample(TORCH, 1, 1, rss=200)]
        self.assertEqual(figures.rss_ratios(samples, OURS, TORCH), [0.25])

    def test_the_clock_is_chosen_by_the_load_of_others(self):
        for others, expected in (((0, 0, .9), "wall"), ((.04, .05, .05), "wall"), ((0, .06, .06), "cpu")):
            samples = [sample(OURS, i, 1, others=o) for i, o in enumerate(others)]
            self.assertEqual(figures.choose_clock(samples, .05), expected, others)


class Bars(unittest.TestCase):
    def test_the_median_decides(self):
        for values, bar, sign, reached in (((2.9, 3.0, 9), 3.0, ">=", True), ((2.9, 2.99, 9), 3.0, ">=", False),
                                           ((.9, 1.0, 1.1), 1.0, "<=", True), ((1.1, 1.2), 1.0, "<=", False)):
            made = Bar("x", Spread.of(values), bar, sign)
            self.assertEqual(made.is_reached, reached, made)
            self.assertTrue(made.text().startswith("reached" if reached else "MISSED "), made.text())

    def test_what_was_not_measured_is_missed(self):
        self.assertEqual(Bar("x", None, 3).text(), "MISSED   x: not measured >= 3")

    def test_spread(self):
        self.assertEqual(Spread.of([3, 1, 2]).text(), "2.00 (1.00-3.00)")


class Tables(unittest.TestCase):
    def test_rows(self):
        samples = [sample(OURS, 1, 300, rss=2**30), sample(TORCH, 1, 100, rss=2**29)]
        self.assertEqual(figures.rows_text(samples, OURS, "wall").splitlines(), [
            "ROW                          SAMPLES/S         SAMPLES/CPU-S   OURS / IT (wall)   PEAK RSS",
            "benchworker fp32   300.0 (300.0-300.0)   300.0 (300.0-300.0)                      1024 MiB",
            "pytorch fp32       100.0 (100.0-100.0)   100.0 (100.0-100.0)   3.00 (3.00-3.00)    512 MiB"])


class Peers(unittest.TestCase):
    def test_names_are_the_profiles_with_pins(self):
        self.assertEqual(peers.names(), ["jax-cpu", "paddle", "pytorch", "tensorflow"])


if __name__ == "__main__":
    bench_case.main()
