#!/usr/bin/env python3
"""The arithmetic of script/bench: ratios, bars and tables, from measurements made by hand."""
import contextlib
import io
import json
import unittest
from unittest import mock

import bench_case

import by_hand
import exchange
import figures
import peers
import systems
import telemetry
from control import audit, gang, single
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


def event(verb, name, arrival, end, code=201, uri="/api/v1/namespaces/benchd/pods", user="admin", **target):
    return json.dumps({"verb": verb, "requestURI": uri, "objectRef": {"resource": "pods", "name": name, **target},
                       "responseStatus": {"code": code}, "user": {"username": user},
                       "requestReceivedTimestamp": f"2026-01-01T00:00:{arrival:09.6f}Z",
                       "stageTimestamp": f"2026-01-01T00:00:{end:09.6f}Z"}).encode()


def status(name, end, user="kwok"):
    return event("patch", name, end, end, 200, user=user, subresource="status")


class Controller(unittest.TestCase):
    """What script/bench controller reads in the audit log of the API server."""

    def test_creations(self):
        pods = audit.creations(list(audit.events([
            event("create", "run-1-p0t0a0-trainer-0", 1.5, 1.75), event("create", "run-1-p0t0a0-trainer-1", 1.25, 2.5),
            event("create", "run-1-p0t0a0-trainer-2", 0.5, 9, code=409), event("create", "run-10-p0t0a0-trainer-0", 0.25, 8),
            event("create", "run-1-p0t0a0-trainer-0", 0.1, 0.2, uri="/api/v1/namespaces/benchd/pods?dryRun=All"),
            event("create", "run-1-p0t0a0-trainer-3", 0.1, 0.2, subresource="binding")])), "run-1-")
        self.assertEqual([(0.0, 1.25), (0.25, 0.5)], [tuple(round(at - pods[0][0], 5) for at in pod) for pod in pods])

    def test_pauses_between_trials(self):
        """Only nodes report when a pod has ended."""
        found = list(audit.events([status("r-p0t0a0-trainer-0", 1), status("r-p0t0a0-trainer-0", 5), status("r-p0t0a0-trainer-0", 5.5, "benchd"),
                                   event("create", "r-p0t1a0-trainer-0", 5.75, 6)]))
        self.assertAlmostEqual(0.75, gang.next_trial_s(found, "r"), places=5)
        self.assertEqual([0.75], [round(pause, 5) for pause in single.pauses(found, "r")])


class Exchange(unittest.TestCase):
    def report(self, part, line):
        done = {(case.name, 0): {**line, "load": 1.0} for case in exchange.CASES[part]}
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exchange.report(exchange.parse(["--part", part, "--rounds", "1"]), done)
        return out.getvalue()

    def test_shares_of_the_compute_time(self):
        text = self.report("equal", {"compute_s": 0.94, "mean_step_s": 1})
        self.assertIn("reached  equal compute of 450 ms: share of the same without exchange: 0.94 (0.94-0.94) >= 0.92", text)
        text = self.report("scale", {"steps": 4, "compute_s": 7.65, "mean_step_s": 8.5, "servers_cpu_s": 40, "trainers_cpu_s": 32,
                                     "memory_peak_bytes": 13 * 2**30})
        self.assertIn("reached  100 trainers, 20 servers: share of the compute time: 0.90 (0.90-0.90) >= 0.9", text)
        self.assertRegex(text, r"18\.00 \(18\.00-18\.00\) +0\.85 \(0\.85-0\.85\)")  # 18 CPU-s a step, two cores, 7.65 s

    def test_a_trace_has_the_length_of_its_step(self):
        times = [tuple(map(int, item.split("=")[1].split(":"))) for item in exchange.trace(7650).split(",")]
        self.assertEqual(16, len(times))
        self.assertAlmostEqual(7.65e9, sum(map(sum, times)), delta=32)


class Systems(unittest.TestCase):
    def test_an_interval_meets_the_rounds_by_hand_where_they_overlap(self):
        for efficiency, met in (((.50, .40, .54), False), ((.50, .40, .55), True), ((.59, .58, .60), True), ((.70, .63, .80), True),
                                ((.70, .64, .80), False), ((.55, None, None), True), ((.64, None, None), False), ((None, None, None), False)):
            row = systems.Row("x", 32, {}, {}, dict(zip(("value", "low", "high"), efficiency)))
            self.assertEqual(met, row.meets([.60, .55, .63]), efficiency)
            self.assertFalse(row.meets([]))

    def test_efficiency_by_hand_is_two_over_twice_one(self):
        rates = iter([30.0, 20.0])
        with mock.patch.object(by_hand, "run", side_effect=lambda *_: next(rates)) as run:
            self.assertEqual(.75, by_hand.efficiency("pytorch-ddp", 32, 5))
        self.assertEqual([2, 1], [len(call.args[1]) for call in run.call_args_list])


class Peers(unittest.TestCase):
    def test_names_are_the_profiles_with_pins(self):
        self.assertEqual(peers.names(), ["jax-cpu", "paddle", "pytorch", "tensorflow"])


if __name__ == "__main__":
    bench_case.main()
