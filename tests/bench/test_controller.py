#!/usr/bin/env python3
"""script/bench controller without a cluster: what it reads out of an audit log and of /proc, what it keeps, and its bars."""
import contextlib
import io
import json
import os
import pathlib
import socket
import sqlite3
import sys
import tempfile
import unittest

import bench_case

import controller
from control import audit, gang, process, rivals, scale, seed, single, soak
from figures import Bar, Spread


def event(verb, name, arrival, end, code=201, uri="/api/v1/namespaces/benchd/pods", user="admin", **target):
    return json.dumps({"verb": verb, "requestURI": uri, "objectRef": {"resource": "pods", "name": name, **target},
                       "responseStatus": {"code": code}, "user": {"username": user},
                       "requestReceivedTimestamp": f"2026-01-01T00:00:{arrival:09.6f}Z",
                       "stageTimestamp": f"2026-01-01T00:00:{end:09.6f}Z"}).encode()


def told(name, end, user="kwok"):
    return event("patch", name, end, end, 200, user=user, subresource="status")


class Audit(unittest.TestCase):
    def test_creations(self):
        found = list(audit.events([
            event("create", "run-1-p0t0a0-trainer-0", 1.5, 1.75), event("create", "run-1-p0t0a0-trainer-1", 1.25, 2.5),
            event("create", "run-1-p0t0a0-trainer-2", 0.5, 9, code=409), event("create", "run-10-p0t0a0-trainer-0", 0.25, 8),
            event("create", "run-1-p0t0a0-trainer-0", 0.1, 0.2, uri="/api/v1/namespaces/benchd/pods?dryRun=All"),
            event("create", "run-1-p0t0a0-trainer-3", 0.1, 0.2, subresource="binding")]))
        pods = audit.creations(found, "run-1-")
        self.assertEqual([0.0, 0.25], [round(arrival - pods[0][0], 5) for arrival, _ in pods])
        self.assertEqual([1.25, 0.5], [round(end - pods[0][0], 5) for _, end in pods])

    def test_a_generated_name_counts(self):
        self.assertEqual(1, len(audit.creations(audit.events([event("create", "", 1, 2)]), "point-1-")))

    def test_only_nodes_tell_states(self):
        found = list(audit.events([told("a-0", 3), told("a-0", 2), told("a-0", 1, "benchd"), told("b-0", 1)]))
        states = audit.states(found, "a-")
        self.assertEqual({"a-0"}, set(states))
        self.assertEqual([0, 1], [round(t - states["a-0"][0], 5) for t in states["a-0"]])

    def test_a_counter_goes_on_where_it_was(self):
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder, "audit.log")
            log.write_bytes(b"old kwok\n")
            found = audit.Audit(log)
            found.forget()
            count = found.counter(b"kwok")
            self.assertEqual(0, count())
            with open(log, "ab") as out:
                out.write(b"kwok 1\nother\nkwok half")
            self.assertEqual(1, count())
            with open(log, "ab") as out:
                out.write(b" done\n")
            self.assertEqual(2, count())

    def test_next_trial(self):
        found = list(audit.events([told("r-p0t0a0-trainer-0", 1), told("r-p0t0a0-trainer-0", 5), told("r-p0t0a0-trainer-1", 1),
                                   told("r-p0t0a0-trainer-1", 6), event("create", "r-p0t1a0-trainer-0", 6.75, 7)]))
        self.assertAlmostEqual(0.75, gang.next_trial_s(found, "r"), places=5)

    def test_pauses_between_single_pods(self):
        found = list(audit.events([told("r-p0t0a0-trainer-0", 1), told("r-p0t0a0-trainer-0", 2), event("create", "r-p1t0a0-trainer-0", 2.5, 3),
                                   told("r-p1t0a0-trainer-0", 4), told("r-p1t0a0-trainer-0", 5)]))
        self.assertEqual([0.5], [round(pause, 5) for pause in single.pauses(found, "r")])


class Costs(unittest.TestCase):
    def test_memory(self):
        text = "55-7f [rollup]\nRss:               14728 kB\nPrivate_Clean:      400 kB\nPrivate_Dirty:      2276 kB\n"
        self.assertEqual(process.memory(text), {"Rss": 14728 * 1024, "Private_Dirty": 2276 * 1024})

    def test_axes(self):
        for points in (1, 7, 64, 400, 4000, 10000):
            a, b, c = single.axes(points)
            self.assertEqual(points, a * b * c)
            self.assertLessEqual(max(a, b, c), 64)
        with self.assertRaises(Exception):
            single.axes(67)


class Seed(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name, "store.db")
        db = sqlite3.connect(self.path)
        db.executescript("CREATE TABLE run (uid TEXT, name TEXT, ended_unix_ms INT); CREATE TABLE attempt (run_uid TEXT, point INT, outcome TEXT);"
                         "CREATE TABLE event (id INTEGER PRIMARY KEY, run_uid TEXT, note TEXT);"
                         "INSERT INTO run VALUES ('u', 'r', 9000); INSERT INTO attempt VALUES ('u', 3, 'Succeeded'), ('u', 5, 'Failed');"
                         "INSERT INTO event VALUES (1, 'u', 'note')")
        db.close()

    def all(self, table):
        return sorted(sqlite3.connect(self.path).execute(f"SELECT * FROM {table}").fetchall())

    def test_points(self):
        self.assertEqual(2, seed.points(self.path, "r", range(2, 6)))
        self.assertEqual([("u", 2, "Succeeded"), ("u", 3, "Succeeded"), ("u", 4, "Succeeded"), ("u", 5, "Failed")], self.all("attempt"))


def gang_row(ours, exclusive=1.2, **others):
    return {"load": [1, 2], "next_s": 0.1, "benchd": dict.fromkeys(gang.FIGURES, ours), "exclusive": dict.fromkeys(gang.FIGURES, exclusive),
            **{name.replace("_", "-"): dict.fromkeys(gang.FIGURES, value) for name, value in others.items()}}


def scale_row(private=4, rss=14, foreign=0.0, grown=1.0):
    memory = {"Private_Dirty": private, "Rss": rss}
    return {"load": [1, 2], "rest": memory, "after": memory,
            "foreign": {"private_mib": foreign, "cpu": foreign, "bytes": foreign, "seconds": 60, "pods": 10000},
            "gangs": [{"pods": n, "etcd_bytes": n * size, "running_s": 1, "cpu_s": 1, **memory} for n, size in ((500, 9), (10000, 9 * grown))],
            "points": {"points": 10000, "pause_first_s": 0.1, "pause_last_s": 0.1, **memory}}


class Bars(unittest.TestCase):
    def check(self, part, cases):
        for rows, reached, of in cases:
            with self.subTest(part=part.NAME, rows=rows):
                found = part.bars(rows)
                self.assertEqual((reached, of), (sum(bar.is_reached for bar in found), len(found)), [bar.text() for bar in found])
                if rows:
                    header, lines = part.table(rows)
                    self.assertEqual({len(header)}, {len(line) for line in lines})

    def test_each_comes_behind_each(self):
        for n in (2, 4):
            rounds = [gang.order(n, number) for number in range(n)]
            self.assertTrue(all(sorted(row) == list(range(n)) for row in rounds), rounds)
            self.assertEqual(n * (n - 1), len({pair for row in rounds for pair in zip(row, row[1:])}), rounds)
        self.assertEqual(gang.order(4, 1), gang.order(4, 5))

    def test_gang(self):
        good = gang_row(1.0, bare=0.9, jobset=1.1, training_operator=1.2)
        self.check(gang, [([good], 11, 11), ([gang_row(1.0, exclusive=1.4, bare=0.8, jobset=1.0, training_operator=0.9)], 1, 11),
                          ([gang_row(1.0, bare=0.85, jobset=1.1, training_operator=1.2)], 9, 11), ([gang_row(1.0, bare=1)], 5, 11), ([], 0, 11)])

    def test_scale(self):
        self.check(scale, [([scale_row()], 10, 10), ([scale_row(private=9)], 8, 10), ([scale_row(private=17, rss=33)], 4, 10),
                           ([scale_row(foreign=0.3)], 8, 10), ([scale_row(grown=1.2)], 9, 10), ([], 0, 10)])
        failed = {**scale_row(), "gangs": [scale_row()["gangs"][0], {"failed": "why"}], "foreign": {"failed": "why"}}
        self.check(scale, [([failed], 4, 10)])

    def test_scale_looks_at_what_it_is_told(self):
        whole = scale_row()
        alone = {look: {"load": [1, 2], look: whole[look]} for look in scale.LOOKS}
        alone["rest"]["after"] = whole["after"]
        self.check(scale, [([alone["rest"]], 2, 2), ([alone["foreign"]], 3, 3), ([alone["gangs"]], 3, 3), ([alone["points"]], 2, 2),
                           ([{**alone["foreign"], "foreign": {"failed": "why"}}], 0, 3)])
        options = controller.parse(["--look", "points", "--look", "rest"])
        self.assertEqual(["rest", "points"], scale.looks(options))
        self.assertNotEqual(scale.settings(options), scale.settings(controller.parse([])))
        self.assertEqual(list(scale.LOOKS), scale.looks(controller.parse([])))

    def test_soak(self):
        def row(private, descriptors, pods, last=20):
            samples = [{"runs": 1, "private_mib": 2, "rss_mib": 9, "descriptors": 20, "beside": [], "objects": {"pods": 0}, "events": 1,
                        "store_mb": 1},
                       {"runs": 2, "private_mib": private, "rss_mib": 9, "descriptors": descriptors, "beside": ["pipe"] * (descriptors - 20),
                        "objects": {"pods": pods}, "events": 1, "store_mb": 1}]
            return {"load": [1], "samples": [*samples, {**samples[0], "runs": 3, "descriptors": last}]}
        self.check(soak, [([row(2.4, 20, 0)], 4, 4), ([row(2.6, 21, 1, 21)], 1, 4), ([row(2.4, 32, 0)], 4, 4), ([row(2.4, 33, 0)], 3, 4),
                          ([row(2.4, 20, 0, 21)], 3, 4), ([], 0, 4)])

    def test_descriptors_have_names(self):
        before = process.descriptors(os.getpid())
        with socket.socket() as listening, open(os.devnull, encoding="ascii") as null:
            listening.bind(("127.0.0.1", 0))
            listening.listen()
            with socket.create_connection(listening.getsockname()):
                self.assertEqual([null.name, f"TCP to port {listening.getsockname()[1]}", "TCP, listening"],
                                 soak.beside(process.descriptors(os.getpid()), before))
        self.assertEqual([], soak.beside(process.descriptors(os.getpid()), before))
        pair = socket.socketpair()
        self.assertEqual("2 Unix socket", soak.counted(soak.beside(process.descriptors(os.getpid()), before)))
        for one in pair:
            one.close()

    def test_ahead_is_not_beside(self):
        self.assertFalse(Bar("x", Spread.of([1]), 1, "<").is_reached)


class Rounds(unittest.TestCase):
    class Part:
        NAME = "soak"
        wanted = []

        @staticmethod
        def settings(options):
            return {"runs": options.runs}

        @classmethod
        def rounds(cls, _, wanted):
            cls.wanted = wanted
            for i in wanted:
                yield {"value": i * 10}

    def test_rounds_that_are_kept_are_not_measured_again(self):
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
            options = controller.parse(["--rounds", "2", "--json", f"{folder}/rows"])
            controller.measure(self.Part, options, {})
            options.rounds = 3
            found = controller.kept(self.Part, options)
            controller.measure(self.Part, options, found)
            self.assertEqual(([3], [10, 20, 30]), (self.Part.wanted, [found[i]["value"] for i in sorted(found)]))
            options.runs += 1
            self.assertEqual({}, controller.kept(self.Part, options), "of other settings")

    def test_the_end(self):
        row = scale_row()
        for rows, why, reached, code in (([row], None, "10 of 10", False), ([row], "Failed: x", "10 of 10", True), ([], None, "0 of 10", True)):
            with self.subTest(rows=rows, why=why), contextlib.redirect_stdout(io.StringIO()) as out:
                self.assertEqual(code, controller.report([(scale, rows, why)]))
            self.assertTrue(out.getvalue().endswith(f"reached {reached}\n"), out.getvalue())
            self.assertEqual(why is not None, "not finished" in out.getvalue())

    def test_one_point(self):
        spec = rivals.point(rivals.PSERVERS, rivals.TRAINERS)
        self.assertEqual(160, sum(spec["sweep"]["grid"][role][0] for role in ("pservers", "trainers")))


if __name__ == "__main__":
    sys.exit(bench_case.main())
