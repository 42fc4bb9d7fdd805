#!/usr/bin/env python3
"""benchctl try in a cluster: a figure from the pods' logs, and the run is deleted whatever came of it."""
import json
import signal

import cli
from cluster_case import ClusterCase, RunCase
from fake_cluster import status

DEFINITION = {
    "apiVersion": "benchd.io/v1alpha1", "kind": "Benchmark", "metadata": {"name": "mine"}, "spec": {
        "systems": [{"name": "ddp", "profile": "torchrun", "image": "registry/ddp:1", "command": ["python3", "train.py"],
                     "log": "torch-ddp"}],
        "workload": {"model": "m", "batchSize": 32, "exchange": {"kind": "AllReduce"}},
        "sweep": {"grid": {"workers": [4, 2]}}, "roles": {"worker": {"replicas": {"from": "workers"}}},
        "repeats": {"min": 5}, "runPolicy": {"trialTimeoutSeconds": 77}}}


class Try(ClusterCase):
    def setUp(self):
        super().setUp()
        self.path = self.folder / "mine.json"
        self.path.write_text(json.dumps(DEFINITION), encoding="utf-8")

    def serve(self, *logs, phase="Running", message=None, role="worker"):
        """What benchd does: pods with these logs; None: the pod has not begun."""
        def run(name):
            for i, log in enumerate(logs):
                pod = f"{name}-{i}"
                self.fake.logs[pod] = log or ""
                self.fake.put("pods", {"metadata": {"name": pod, "labels": {
                    "benchd.io/run": name, "benchd.io/role": role, "benchd.io/replica-index": str(i)}},
                    "spec": {"containers": [{"name": "main"}]}})
            conditions = [] if message is None else [{"type": "Running", "status": "False", "reason": "Waiting", "message": message}]
            self.fake.set_status(name, phase=phase, completions="0/1", failed=0, conditions=conditions)
        self.fake.on_create = run

    def try_it(self, *options, code=0, **keys):
        done = self.ctl("try", str(self.path), *options, code=code, **keys)
        self.check_deleted()
        return done

    def check_deleted(self, n=1):
        self.assertEqual({}, self.fake.objects["benchmarkruns"])
        self.assertEqual(n, len(self.created()))
        deleted = self.sent("DELETE", "/benchmarkruns/")
        self.assertEqual(n, len(deleted))
        marks = [body["metadata"]["annotations"] for _, body in self.sent("PATCH", "/benchmarkruns/")]
        self.assertEqual([{"benchd.io/erase": "Now"}] * n, marks)  # and its results

    def test_a_figure(self):
        self.serve("step 1 123.0 images/sec\n" * 5, "step 1 77.0 images/sec\n" * 3)
        done = self.try_it()
        self.assertRegex(done.stdout, r"^ddp \(2 workers\): \d steps found, 200.0 samples/s by the rule torch-ddp "
                                      r"\(mean of \d [a-z ]*step lines\)\n  lines: [^\n]*\n  verdict: 123 samples/s; one witness: [^\n]*\n$")
        spec = self.created()[0]["spec"]["definition"]
        self.assertEqual({"points": [{"workers": 2}]}, spec["sweep"])
        self.assertEqual((1, 0, 3), (spec["repeats"]["min"], spec["measure"]["warmupSteps"], spec["measure"]["steps"]))
        # Should benchctl be killed: benchd ends the run and removes it.
        self.assertEqual((300 + 120, 60, 77), tuple(spec["runPolicy"][k] for k in (
            "activeDeadlineSeconds", "ttlSecondsAfterFinished", "trialTimeoutSeconds")))

    def test_no_line_matched(self):
        self.serve("one\n12 frames/s\n", "two\n")
        done = self.try_it("--timeout", "1s", code=8)
        self.assertIn("ddp (2 workers): worker/0: no line of 2 matched the log rule torch-ddp\nthe last 2 lines:\n  1: one\n", done.stdout)
        self.assertIn("a rule for such lines could be", done.stdout)

    def test_time_stamps_of_the_node_are_no_text(self):
        self.serve("one\n", "one\n")
        self.assertNotIn("2026-01-01", self.try_it("--timeout", "1s", code=8).stdout)

    def test_nothing_starts(self):
        self.serve(phase="Running", message="0/3 nodes are available")
        done = self.try_it("--timeout", "1s", code=8)
        self.assertTrue(done.stdout.startswith("ddp (2 workers): no pod has printed anything"), done.stdout)

    def test_ctrl_c(self):
        self.serve("hello\n", "hello\n")
        process = self.start("try", str(self.path))
        cli.wait_for("a look at the logs", lambda: self.sent("GET", "/log?"))
        code, out, _ = self.stop(process, signal.SIGINT)
        self.assertEqual(130, code)
        self.assertIn("no line of 1 matched", out)
        self.check_deleted()

    def test_logs_are_forbidden(self):
        self.serve("hello\n", "hello\n")
        self.fake.answers.append(("GET", r"/log\?", *status(403, "Forbidden", "pods/log is forbidden")))
        self.assertIn("forbidden", self.try_it(code=4).stderr)

    def test_somebody_else_deletes_it(self):
        def run(name):
            self.fake.set_status(name, phase="Running")
            cli.wait_for("a look at the run", lambda: self.sent("GET", f"/benchmarkruns/{name}"))
            self.fake.remove("benchmarkruns", name)
        self.fake.on_create = run
        done = self.ctl("try", str(self.path), code=3)
        self.assertRegex(done.stderr, r"run/mine-\w{5} was deleted")
        self.assertEqual([], self.sent("DELETE", "/benchmarkruns/"))

    def test_it_is_not_accepted(self):
        def run(name):
            self.fake.set_status(name, phase="Failed", conditions=[
                {"type": "Failed", "status": "True", "reason": "InvalidSpec", "message": "no such image policy"}])
            self.fake.documents[name] = {
                "apiVersion": "benchd.io/v1alpha1", "kind": "BenchmarkRunAttempts", "attempts": [], "events": [],
                "run": {"name": name, "uid": self.fake.objects["benchmarkruns"][name]["metadata"]["uid"], "benchmark": "mine",
                        "definition": None, "createdUnixMs": 1, "cpus": 0, "rehearsal": False, "simulated": False,
                        "status": {"phase": "Failed", "reason": "InvalidSpec", "message": "no such image policy",
                                   "trialsDone": 0, "trialsFailed": 0, "trialsTotal": 0, "current": None,
                                   "startedUnixMs": 0, "endedUnixMs": 1}}}
        self.fake.on_create = run
        self.assertEqual("ddp (2 workers): no such image policy\n", self.try_it(code=1).stdout)

    def test_what_is_refused_creates_nothing(self):
        self.assertIn("try stores nothing", self.ctl("try", str(self.path), "--store", self.store, code=2).stderr)
        document = json.loads(json.dumps(DEFINITION))
        del document["spec"]["systems"][0]["image"]
        self.path.write_text(json.dumps(document), encoding="utf-8")
        self.assertIn("no template", self.ctl("try", str(self.path), code=2).stderr)
        self.fake.lease_age_s = None
        self.path.write_text(json.dumps(DEFINITION), encoding="utf-8")
        self.ctl("try", str(self.path), code=5)
        self.assertEqual([], self.created())


class Ended(RunCase):
    """A program that ends by itself: benchd has the figures."""

    def test_its_result_counts(self):
        document = json.loads(json.dumps(self.document))
        self.fake.answers.append(("GET", r"/pods\?", 200, {"kind": "PodList", "apiVersion": "v1",
                                                           "metadata": {"resourceVersion": "1"}, "items": []}))

        def run(name):
            uid = self.fake.objects["benchmarkruns"][name]["metadata"]["uid"]
            document["run"].update(name=name, uid=uid)
            self.fake.documents[name] = document
            self.fake.set_status(name, phase="Succeeded", completions="1/1", failed=0, conditions=[
                {"type": "Complete", "status": "True", "reason": "Completed", "message": "done"}])
        self.fake.on_create = run
        path = self.folder / "tiny.json"
        definition = json.loads(path.read_text(encoding="utf-8"))
        for system in definition["spec"]["systems"]:
            system["image"] = "registry/benchd:1"
        path.write_text(json.dumps(definition), encoding="utf-8")
        done = self.ctl("try", str(path))
        self.assertRegex(done.stdout, r"^benchworker \(1 trainer, 1 pserver\): 3 steps found, \S+ samples/s by its records\n$")
        self.assertEqual({}, self.fake.objects["benchmarkruns"])


if __name__ == "__main__":
    cli.main()
