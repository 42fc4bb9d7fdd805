"""script/bench controller without a cluster: what it reads out of an audit log and of /proc, and its bars."""
import json
import sys
import unittest

import bench_case

import controller


def event(name, arrival, end, code=201, uri="/api/v1/namespaces/benchd/pods"):
    return json.dumps({"verb": "create", "requestURI": uri, "objectRef": {"name": name}, "responseStatus": {"code": code},
                       "requestReceivedTimestamp": f"2026-01-01T00:00:{arrival:09.6f}Z",
                       "stageTimestamp": f"2026-01-01T00:00:{end:09.6f}Z"}).encode()


class Controller(unittest.TestCase):
    def test_span(self):
        lines = [event("run-1-p0t0a0-trainer-0", 1.5, 1.75), event("run-1-p0t0a0-trainer-1", 1.25, 2.5),
                 event("run-1-p0t0a0-trainer-2", 0.5, 9, code=409), event("run-10-p0t0a0-trainer-0", 0.25, 8),
                 event("run-1-p0t0a0-trainer-0", 0.1, 0.2, uri="/api/v1/namespaces/benchd/pods?dryRun=All")]
        found = controller.creations(lines, "run-1")
        self.assertEqual(len(found), 2)
        self.assertAlmostEqual(controller.span_s(found), 1.25, places=5)

    def test_memory(self):
        text = "55-7f [rollup]\nRss:               14728 kB\nPrivate_Clean:      400 kB\nPrivate_Dirty:      2276 kB\n"
        self.assertEqual(controller.memory(text), {"Rss": 14728 * 1024, "Private_Dirty": 2276 * 1024})

    def test_bars(self):
        good = {"Rss": 15 * controller.MIB, "Private_Dirty": 7 * controller.MIB}
        fat = {"Rss": 17 * controller.MIB, "Private_Dirty": 7 * controller.MIB}
        for ratios, after, reached in (([1.2, 1.0, 9.0], good, 5), ([1.4, 1.35, 1.0], good, 4), ([1.0], fat, 4)):
            with self.subTest(ratios=ratios):
                rows = controller.bars(ratios, good, after)
                self.assertEqual((len(rows), sum(row.is_reached for row in rows)), (5, reached))

    def test_one_point(self):
        spec = controller.definition()
        self.assertEqual(sum(spec["sweep"]["grid"][role][0] for role in ("pservers", "trainers")), controller.PODS)


if __name__ == "__main__":
    sys.exit(bench_case.main())
