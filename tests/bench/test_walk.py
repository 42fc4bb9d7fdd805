#!/usr/bin/env python3
"""Where the time of a run on a node goes, from pods made by hand."""
import contextlib
import io
import json
import unittest

import bench_case

import walk


def pod(role, uid, point, trial, ended=None, run="r", attempt=0):
    """ended: (created, started, finished) in seconds of one minute."""
    def at(second):
        return f"2026-01-01T00:00:{second:02}Z"
    labels = {"run": run, "point": point, "trial": trial, "attempt": attempt, "role": role}
    created, started, finished = ended or (0, 0, 0)
    state = {"terminated": {"startedAt": at(started), "finishedAt": at(finished)}} if ended else {"running": {}}
    return {"metadata": {"uid": uid, "creationTimestamp": at(created),
                         "labels": {f"benchd.io/{key}": str(value) for key, value in labels.items()}},
            "status": {"containerStatuses": [{"state": state}]}}


class Walk(unittest.TestCase):
    def test_documents_one_behind_the_other(self):
        text = json.dumps({"a": 1}) + "\n" + json.dumps({"b": 2}, indent=1) + '\n{"cut": '
        self.assertEqual([{"a": 1}, {"b": 2}], list(walk.documents(text)))
        self.assertEqual([], list(walk.documents("")))

    def test_a_gang_is_as_slow_as_its_last_pod(self):
        found = walk.gangs([pod("pserver", "a", 0, 0), pod("pserver", "a", 0, 0, (1, 2, 9)),
                            pod("trainer", "b", 0, 0, (2, 4, 8)), pod("trainer", "c", 1, 0, (11, 12, 20)),
                            pod("trainer", "d", 2, 0), pod("trainer", "e", 3, 0, (30, 31, 32), run="other")], "r")
        self.assertEqual({(0, 0, 0), (1, 0, 0)}, set(found))
        parts = walk.parts(found)
        self.assertEqual({"pods start": 2, "programs run": 6.5, "until the next": 2}, parts)

    def test_a_pod_without_a_status_is_none(self):
        self.assertEqual({}, walk.gangs([{"metadata": {"uid": "a", "labels": {}}}], "r"))

    def test_one_trial_has_no_next(self):
        self.assertEqual(0, walk.parts({(0, 0, 0): (1, 2, 3)})["until the next"])

    def test_the_bar(self):
        self.assertEqual(145, walk.allowed_s(30, 10))
        for cluster_s, reached in ((145, True), (146, False)):
            one = {"trials": 10, "cluster_s": cluster_s, "local_s": 30, "allowed_s": 145, "measured_s": 1,
                   "parts_s": {"pods start": 1}}
            with contextlib.redirect_stdout(io.StringIO()) as out:
                bar = walk.conclude([one])
            self.assertEqual(reached, bar.is_reached)
            self.assertIn("allowed 1.5 x 30.0 + 10 x 10 = 145.0 s", walk.describe(0, one))
            self.assertIn(f"reached {int(reached)} of 1", out.getvalue())

    def test_measured_is_the_longest_trainer(self):
        def trial(*durations):
            items = [{"role": "trainer", "summary": {"durationNs": int(d * 1e9)}} for d in durations]
            return {"replicas": {"items": [*items, {"role": "pserver", "summary": {"durationNs": 10 ** 12}}]}}
        result = {"points": [{"trials": [trial(1, 3), trial(5)]}], "baselines": []}
        self.assertEqual(4, walk.measured_s(result))


if __name__ == "__main__":
    bench_case.main()
