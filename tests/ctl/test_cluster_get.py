"""Lists of runs and benchmarks of a cluster: all namespaces, labels, order, `latest`."""
import json

import cli
from cluster_case import ClusterCase
from fake_cluster import NS


class Cluster(ClusterCase):
    def put_run(self, name, created, ns=NS, labels=None):
        self.fake.put("benchmarkruns", {
            "metadata": {"name": name, "namespace": ns, "creationTimestamp": created, "labels": labels or {}},
            "spec": {"benchmarkRef": {"name": "tiny"}}, "status": {"phase": "Running", "completions": "2/5"}})

    def test_lists(self):
        self.put_run("a-1", "2026-01-01T00:00:00Z", labels={"team": "x"})
        self.put_run("c-3", "2026-01-03T00:00:00Z", ns="other")
        self.put_run("b-2", "2026-01-02T00:00:00Z")
        rows = [
            ((), ["b-2", "a-1"]),
            (("-l", "team=x"), ["a-1"]),
            (("-A",), ["c-3", "b-2", "a-1"]),
        ]
        for args, expected in rows:
            got = json.loads(self.ctl("get", "runs", "-o", "json", *args).stdout)["items"]
            self.assertEqual([item["name"] for item in got], expected, args)
            self.assertEqual(["namespace" in item for item in got], ["-A" in args] * len(got))
        table = [line.split()[:2] for line in self.ctl("get", "-A").stdout.splitlines()]
        self.assertEqual(table, [["NAMESPACE", "NAME"], ["other", "c-3"], [NS, "b-2"], [NS, "a-1"]])
        self.assertEqual(self.ctl("get", "-A", "-l", "team=none").stderr, "No resources found\n")
        self.assertIn("choose the objects themselves", self.ctl("get", "runs", "a-1", "-A", code=2).stderr)
        self.fake.put("benchmarks", {"metadata": {"name": "tiny", "namespace": "other"}, "spec": cli.definition()["spec"]})
        self.assertRegex(self.ctl("get", "bm", "-A", "--no-headers").stdout, r"^other +tiny +vgg16")
        for repeats, printed in (({"min": 3, "max": 10}, "3-10"), ({"min": 4, "max": 4}, "4"), ({"min": 5}, "5"), ({}, "-")):
            spec = {**cli.definition()["spec"], "repeats": repeats}
            self.fake.put("benchmarks", {"metadata": {"name": "tiny", "namespace": "other"}, "spec": spec})
            self.assertEqual(self.ctl("get", "bm", "-n", "other", "--no-headers").stdout.split()[5], printed)
        self.assertEqual(self.ctl("get", "bm").stderr, f"No resources found in {NS} namespace.\n")

    def test_describe_as_json(self):
        name = self.serve_local_run()
        document = json.loads(self.ctl("describe", name, "-o", "json").stdout)
        wanted = json.loads(json.dumps(self.fake.documents[name]))
        wanted["run"]["interrupted"] = False
        self.assertEqual(document, wanted)
        self.fake.lease_age_s = None   # what the object says, and the exit code says that it is not all
        document = json.loads(self.ctl("describe", name, "-o", "json", code=5).stdout)
        self.assertEqual((document["run"]["status"]["phase"], document["attempts"]), ("Succeeded", []))

    def test_the_latest_run(self):
        self.assertIn("there are no runs yet", self.ctl("describe", "latest", code=3).stderr)
        self.put_run("old-1", "2020-01-01T00:00:00Z")
        name = self.serve_local_run()
        self.put_run("older-1", "2019-01-01T00:00:00Z")
        for args in (("results", "latest"), ("describe", "run/latest"), ("get", "runs", "latest"), ("attach", "latest")):
            self.assertIn(f"the latest run is {name}\n", self.ctl(*args).stderr, args)
        self.assertEqual(self.ctl("delete", "latest").stdout, f"run/{name} deleted\n")
        self.assertEqual(self.ctl("cancel", "latest").stdout, "run/old-1 cancelled\n")


if __name__ == "__main__":
    cli.main()
