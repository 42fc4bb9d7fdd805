"""Lists of runs and benchmarks of a cluster: all namespaces, labels, order, `latest`."""
import json

import cli
from cluster_case import ClusterCase
from fake_cluster import NS


class Cluster(ClusterCase):
    def put_run(self, name, created, ns=NS):
        self.fake.put("benchmarkruns", {
            "metadata": {"name": name, "namespace": ns, "creationTimestamp": created},
            "spec": {"benchmarkRef": {"name": "tiny"}}, "status": {"phase": "Running", "completions": "2/5", "succeeded": 2, "total": 5}})

    def test_lists(self):
        self.put_run("a-1", "2026-01-01T00:00:00Z")
        self.put_run("c-3", "2026-01-03T00:00:00Z", ns="other")
        self.put_run("b-2", "2026-01-02T00:00:00Z")
        got = json.loads(self.ctl("get", "runs", "-o", "json").stdout)["items"]
        self.assertEqual([item["name"] for item in got], ["b-2", "a-1"])
        self.assertEqual([line.split()[0] for line in self.ctl("get").stdout.splitlines()], ["NAME", "b-2", "a-1"])
        for repeats, printed in (({"min": 3, "max": 10}, "3-10"), ({"min": 4, "max": 4}, "4"), ({"min": 5}, "5"), ({}, "-")):
            spec = {**cli.definition()["spec"], "repeats": repeats}
            self.fake.put("benchmarks", {"metadata": {"name": "tiny", "namespace": "other"}, "spec": spec})
            self.assertEqual(self.ctl("get", "bm", "-n", "other", "--no-headers").stdout.split()[5], printed)
        self.assertEqual(self.ctl("get", "bm").stderr, f"No resources found in {NS} namespace.\n")

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
