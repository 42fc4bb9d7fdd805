"""What the tests of benchctl on a cluster share: a fake API server, and runs as benchd would serve them."""
import json
import sqlite3

import cli
import stored
from fake_cluster import FakeCluster, wait_until


def export(path, name):
    """A local run as benchd's attempts document (docs/contracts/attempts.md)."""
    db = sqlite3.connect(path)
    db.row_factory = sqlite3.Row
    run = db.execute("SELECT * FROM run WHERE name = ?", (name,)).fetchone()
    attempts = []
    for a in db.execute("SELECT * FROM attempt ORDER BY point, trial, attempt"):
        rows = stored.replicas(db, a["point"], a["trial"], a["attempt"])
        attempts.append({
            "point": a["point"], "trial": a["trial"], "attempt": a["attempt"], "outcome": a["outcome"],
            "startedUnixMs": a["started_unix_ms"], "endedUnixMs": a["ended_unix_ms"], "error": a["error"],
            "simulated": bool(a["simulated"]),
            "replicas": [{"role": r["role"], "index": r["index"], "exitCode": r["exit_code"],
                          "signal": r["signal"], "failure": r["failure"], "summary": r["summary"],
                          "environment": r["environment"], "logBytes": r["log_bytes"]} | ({"reading": r["reading"]} if r["reading"] else {})
                         for r in rows]})
    events = [{"unixMs": e["unix_ms"], "type": "Warning" if e["warning"] else "Normal", "reason": e["reason"],
               "note": e["note"]} for e in db.execute("SELECT * FROM event ORDER BY id")]
    db.close()
    st = {"phase": run["phase"], "reason": run["reason"], "message": run["message"],
          "trialsDone": run["trials_done"], "trialsFailed": run["trials_failed"],
          "trialsTotal": run["trials_total"], "current": None, "startedUnixMs": run["started_unix_ms"],
          "endedUnixMs": run["ended_unix_ms"]}
    return {"apiVersion": "benchd.io/v1alpha1", "kind": "BenchmarkRunAttempts",
            "run": {"name": name, "uid": run["uid"], "benchmark": run["benchmark"],
                    "definition": json.loads(run["definition"]), "createdUnixMs": run["created_unix_ms"],
                    "cpus": run["cpus"], "rehearsal": bool(run["rehearsal"]),
                    "simulated": bool(run["simulated"]), "status": st},
            "attempts": attempts, "events": events}


class ClusterCase(cli.CliCase):
    def setUp(self):
        super().setUp()
        self.fake = FakeCluster()
        self.addCleanup(self.fake.close)
        self.env["KUBECONFIG"] = self.fake.kubeconfig(self.folder / "kubeconfig")

    def sent(self, method, part):
        return [(path, body) for m, path, body in self.fake.requests if m == method and part in path]

    def created(self):
        return [body for _, body in self.sent("POST", "/benchmarkruns")]

    def serve_local_run(self, **keys):
        """A finished local run that the cluster has, too; its name."""
        self.run_tiny(**keys)
        name = self.run_name()
        document = export(self.folder / "results.db", name)
        self.fake.documents[name] = document
        self.fake.put("benchmarkruns", {
            "metadata": {"name": name, "uid": document["run"]["uid"]},
            "spec": {"benchmarkRef": {"name": "tiny"}},
            "status": {"phase": "Succeeded", "completions": "6/6", "failed": 0, "conditions": [
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
        self.document = export(self.folder / "results.db", self.run_name())

    def put_tiny(self):
        self.fake.put("benchmarks", {"metadata": {"name": "tiny"}, "spec": self.document["run"]["definition"]["spec"]})
