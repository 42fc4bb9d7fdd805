"""What the tests of benchctl on a cluster share: a fake API server, and runs as benchd would serve them."""
import json

import cli
import run_file
from fake_cluster import FakeCluster, wait_until


class ClusterCase(cli.CliCase):
    def setUp(self):
        super().setUp()
        self.fake = FakeCluster()
        self.addCleanup(self.fake.close)
        self.env["KUBECONFIG"] = self.fake.kubeconfig(self.folder / "kubeconfig")

    def attempts_document(self, name):
        """A local run, for FakeCluster.documents."""
        self.ctl("export", name, "-f", "served.benchd.db", "--store", "sqlite:results.db")
        self.fake.file = (self.folder / "served.benchd.db").read_bytes()
        return run_file.document(self.fake.file)

    def sent(self, method, part):
        return [(path, body) for m, path, body in self.fake.requests if m == method and part in path]

    def created(self):
        return [body for _, body in self.sent("POST", "/benchmarkruns")]

    def serve_local_run(self, **keys):
        """A finished local run that the cluster has, too; its name."""
        self.run_tiny(**keys)
        name = self.run_name()
        document = self.attempts_document(name)
        self.fake.documents[name] = document
        self.fake.put("benchmarkruns", {
            "metadata": {"name": name, "uid": document["run"]["uid"]},
            "spec": {"benchmarkRef": {"name": "tiny"}},
            "status": {"phase": "Succeeded", "completions": "6/6", "succeeded": 6, "failed": 0, "total": 6, "conditions": [
                {"type": "Complete", "status": "True", "reason": "Completed",
                 "message": document["run"]["status"]["message"]}]}})
        return name

    def play(self, document, phases=("Running", "Succeeded"), already=0):
        """What benchd does with a new run: the run of the document, attempt after attempt; `already` so many have ended
        when it is first asked."""
        def run(name):
            uid = self.fake.objects["benchmarkruns"][name]["metadata"]["uid"]
            played = json.loads(json.dumps(document))
            played["run"].update(name=name, uid=uid)
            played["run"]["status"]["phase"] = "Running"
            attempts, played["attempts"] = played["attempts"][already:], played["attempts"][:already]
            self.fake.documents[name] = played
            self.fake.set_status(name, phase=phases[0], completions=f"0/{len(attempts)}", failed=0)
            path = f"/runs/{name}"
            wait_until(lambda: any(p.endswith(path) for p, _ in self.sent("GET", path)))
            for attempt in attempts:
                played["attempts"].append(attempt)
            played["run"]["status"]["phase"] = phases[-1]
            self.fake.set_status(name, phase=phases[-1], completions=f"{len(attempts)}/{len(attempts)}")
        self.fake.on_create = run


class RunCase(ClusterCase):
    """A tiny benchmark, and what came out of a local run of it, for play()."""

    def setUp(self):
        super().setUp()
        self.run_tiny()
        self.document = self.attempts_document(self.run_name())

    def put_tiny(self):
        self.fake.put("benchmarks", {"metadata": {"name": "tiny"}, "spec": self.document["run"]["definition"]["spec"]})
