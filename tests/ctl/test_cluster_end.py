#!/usr/bin/env python3
"""The end of a run on a cluster, when benchd is not there to tell it: a file of its own, for one row waits as long as
benchctl does."""
import json
import time

import cli
from cluster_case import RunCase
from fake_cluster import status, wait_until

AWAY = ("GET", "/proxy/", *status(503, "ServiceUnavailable", "no endpoints available"))


class Ending(RunCase):
    def setUp(self):
        super().setUp()
        self.put_tiny()
        self.name = None

    def end_without(self, answer, phase="Succeeded", then=lambda: None):
        """A run that ends in the moment in which benchd's API begins to give `answer`; then() is what comes next."""
        def run(name):
            self.name = name
            document = json.loads(json.dumps(self.document))
            document["run"].update(name=name, uid=self.fake.objects["benchmarkruns"][name]["metadata"]["uid"])
            document["run"]["status"]["phase"] = "Running"
            self.fake.documents[name] = {**document, "attempts": document["attempts"][:1]}
            self.fake.set_status(name, phase="Running", completions="1/6", failed=0)
            path = f"/runs/{name}"
            wait_until(lambda: any(p.endswith(path) for p, _ in self.sent("GET", path)))
            with self.fake.lock:
                self.fake.answers = [answer]
                document["run"]["status"]["phase"] = phase
                self.fake.documents[name] = document
                self.fake.set_status(name, phase=phase, completions="6/6")
            then()
        self.fake.on_create = run

    def come_back(self):
        asked = len(self.sent("GET", "/proxy/"))
        wait_until(lambda: len(self.sent("GET", "/proxy/")) >= asked + 4)   # more than the tries of one question
        self.fake.answers = []

    def test_benchd_comes_back(self):
        self.end_without(AWAY, then=self.come_back)
        done = self.ctl("run", "tiny", "-o", "json")
        self.assertEqual(json.loads(done.stdout)["phase"], "Succeeded")
        self.assertEqual(done.stderr.count("outcome=Succeeded"), len(self.document["attempts"]))
        self.assertEqual(done.stderr.count("has ended (Succeeded), but benchd does not answer; retrying"), 1)

    def test_benchd_stays_away(self):
        self.end_without(AWAY, phase="PartiallyFailed")
        begin = time.monotonic()
        done = self.ctl("run", "tiny", code=5)
        self.assertLess(time.monotonic() - begin, 240)
        self.assertEqual(done.stdout, "")
        self.assertRegex(done.stderr, rf"error: run/{self.name} has ended \(PartiallyFailed\), but benchd did not report its "
                                      "tables and its last trials: .*no endpoints available")
        self.assertIn(f"benchctl results {self.name} -n bench", done.stderr)
        questions = [path for path, _ in self.sent("GET", "/proxy/")]
        self.assertLess(len(questions), 60)   # it backs off

    def test_a_right_is_missing(self):
        self.end_without(("GET", "/proxy/", *status(403, "Forbidden", "cannot get services/proxy")))
        done = self.ctl("run", "tiny", code=4)
        self.assertRegex(done.stderr, "did not report its tables and its last trials: .*cannot get services/proxy")
        self.assertIn(f"benchctl results {self.name} -n bench", done.stderr)

    def test_ctrl_c_while_waiting(self):
        self.end_without(AWAY)
        process = self.start("run", "tiny")
        for line in process.stderr:
            if "benchd does not answer" in line:
                break
        code, out, err = self.stop(process, cli.SIGINT)
        self.assertEqual((code, out), (130, ""))
        self.assertIn(f"detached from run/{self.name}, which has ended (Succeeded); print its tables with: "
                      f"benchctl results {self.name} -n bench", err)

    def test_the_object_goes_at_once(self):
        """Time to live 0: what came out is there for longer."""
        self.end_without(AWAY, then=lambda: (self.fake.remove("benchmarkruns", self.name), self.come_back()))
        done = self.ctl("run", "tiny", "-o", "json")
        self.assertEqual(json.loads(done.stdout)["phase"], "Succeeded")

    def test_deleted_at_its_end(self):
        def delete():
            del self.fake.documents[self.name]
            self.fake.remove("benchmarkruns", self.name)
            self.come_back()
        self.end_without(AWAY, then=delete)
        done = self.ctl("run", "tiny", code=3)
        self.assertIn(f"run/{self.name} was deleted", done.stderr)


if __name__ == "__main__":
    cli.main()
