#!/usr/bin/env python3
"""The pure parts of bench/training.py: distances, bars, the picture, and what it reads from the worker."""
import unittest
import xml.etree.ElementTree

import bench_case

import training

NAMES = list(training.SERIES)


def series(ours, nchw, last, truth):
    return dict(zip(NAMES, (ours, nchw, last, truth)))


def bars(*losses):
    return [(bar.value.median, bar.is_reached) for bar in training.loss_bars(series(*losses))]


class Losses(unittest.TestCase):
    def test_the_nearer_layout_counts(self):
        found = bars([2.0, 1.0], [4.0, 1.0], [2.0, 1.00001], [])
        self.assertEqual(found[0], (0.0, True))
        self.assertAlmostEqual(found[1][0], 1e-5, places=8)
        self.assertTrue(found[1][1])

    def test_distance_to_fp64_is_over_that_of_channels_last(self):
        _first, _five, truth, _mean = bars([2.2], [2.0], [1.6], [2.0])
        self.assertAlmostEqual(truth[0], .5)
        self.assertTrue(truth[1])
        self.assertFalse(bars([2.2], [2.0], [1.9], [2.0])[2][1])

    def test_only_the_first_steps_are_held_to_the_close_bar(self):
        same = [1.0] * 5
        self.assertEqual(bars(same + [9.0], same + [1.0], same + [1.0], [])[1], (0.0, True))

    def test_the_mean_is_over_all_steps(self):
        value, reached = bars([1.0, 1.1], [1.0, 1.0], [1.0, 1.0], [])[-1]
        self.assertAlmostEqual(value, .05)
        self.assertFalse(reached)


class Accuracies(unittest.TestCase):
    def test_what_the_worker_says(self):
        text = "epoch 1/2   loss 2.3   test accuracy 0.1000   9 s\nepoch 2/2   loss 1.7   test accuracy 0.8175   9 s\n"
        self.assertEqual(training.our_accuracy(text), .8175)

    def test_standard_error(self):
        self.assertAlmostEqual(training.standard_error([1.0, 3.0]), 1.0)
        self.assertNotEqual(training.standard_error([1.0]), training.standard_error([1.0]))  # NaN: not known


class Picture(unittest.TestCase):
    def test_a_line_for_each_series_that_there_is(self):
        root = xml.etree.ElementTree.fromstring(training.svg(series([2.0, 1.0], [2.0, 1.5], [2.0, 1.2], [])))
        lines = root.findall("{http://www.w3.org/2000/svg}polyline")
        self.assertEqual(len(lines), 3)
        self.assertEqual(lines[0].get("points").split()[0], "56.0,16.0")  # the highest loss at the top


class Command(unittest.TestCase):
    def test_accuracies_need_files(self):
        with self.assertRaises(SystemExit):
            training.parse(["--accuracy", "--data", "synthetic"])


if __name__ == "__main__":
    bench_case.main()
