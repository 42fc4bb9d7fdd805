#!/usr/bin/env python3
"""How fast benchd posts the pods of a point, beside a bare loop of libcurl, and how much memory it holds at rest.

A real API server and etcd (tests/e2e/cluster.py), nothing else: pods stay Pending. Both post the 160 pods of the same
point with the same bodies over one HTTP/2 connection, 32 requests at a time, in turn. The clock is the API server's
own, for both: its audit log, from the arrival of the first POST of a pod to the end of the answer to the last.
"""
import argparse
import contextlib
import datetime
import http.client
import json
import os
import pathlib
import re
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request

import figures
import machine

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

PSERVERS, TRAINERS = 60, 100
PODS = PSERVERS + TRAINERS
IN_FLIGHT = 32
MIB = 2**20
RATIO_BAR, PRIVATE_BAR_MIB, RSS_BAR_MIB = 1.3, 8, 16
DRY_RUN = b"dryRun=All"  # benchd tries a template of each role first; nothing is made
ALLOCATOR = {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}  # as manifests/deployment.yaml
REST_S = 10  # after the last request, before memory is read

AUDIT_POLICY = """apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Metadata, verbs: [create], resources: [{group: "", resources: [pods]}]}
- {level: None}
"""


class Failed(Exception):
    pass


def audit_time(text):
    return datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%f%z").timestamp()


def creations(lines, run):
    """(arrival, end) in seconds of every creation of a pod of this run that was answered with 201, of lines as bytes."""
    found = []
    for line in lines:
        if DRY_RUN in line:
            continue
        event = json.loads(line)
        name = event.get("objectRef", {}).get("name", "")
        if event["verb"] == "create" and event["responseStatus"]["code"] == 201 and name.startswith(f"{run}-p"):
            found.append((audit_time(event["requestReceivedTimestamp"]), audit_time(event["stageTimestamp"])))
    return found


def span_s(found):
    return max(end for _, end in found) - min(arrival for arrival, _ in found)


def memory(text):
    """{"Rss": bytes, "Private_Dirty": bytes} of a smaps_rollup."""
    return {key: int(re.search(rf"^{key}:\s+(\d+) kB$", text, re.MULTILINE)[1]) * 1024 for key in ("Rss", "Private_Dirty")}


def definition():
    resources = {"cpu": "10", "memory": "5Gi"}
    template = {"spec": {"containers": [{"name": "main", "image": "benchd.local/benchworker:0.1.0",
                                         "resources": {"requests": resources, "limits": resources}}]}}
    return {
        "systems": [{"name": "benchworker", "profile": "benchworker"}],
        "workload": {"model": "vgg16-fluid-fc512", "batchSize": 64, "exchange": {"kind": "PServer"}},
        "sweep": {"grid": {"pservers": [PSERVERS], "trainers": [TRAINERS]}},
        "baseline": {"kind": "Point", "where": {"trainers": TRAINERS}},
        "roles": {role: {"replicas": {"from": role + "s"}, "template": template} for role in ("pserver", "trainer")},
        "measure": {"warmupSteps": 1, "steps": 4}, "repeats": {"min": 1}, "addressing": "Dns",
    }


class Api:
    """The API server as administrator, over one connection that is kept."""

    def __init__(self, cluster):
        config = json.loads(cluster.kubectl("config", "view", "--raw", "-o", "json").stdout)
        host, port = config["clusters"][0]["cluster"]["server"].removeprefix("https://").rsplit(":", 1)
        pki = cluster.dir / "pki"
        context = ssl.create_default_context(cafile=pki / "ca.crt")
        context.load_cert_chain(pki / "admin.crt", pki / "admin.key")
        self.connection = http.client.HTTPSConnection(host, int(port), context=context, timeout=60)

    def call(self, method, path, body=None, content_type="application/json"):
        self.connection.request(method, path, json.dumps(body) if body else None, {"Content-Type": content_type})
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status >= 300 and answer.status != 404:
            raise Failed(f"{method} {path}: HTTP {answer.status}: {text.decode()[:300]}")
        return json.loads(text)

    def pods(self):
        return self.call("GET", "/api/v1/namespaces/benchd/pods")["items"]

    def delete_pods(self):
        self.call("DELETE", "/api/v1/namespaces/benchd/pods?gracePeriodSeconds=0")

    def create_run(self, name):
        self.call("POST", "/apis/benchd.io/v1alpha1/namespaces/benchd/benchmarkruns",
                  {"apiVersion": "benchd.io/v1alpha1", "kind": "BenchmarkRun", "metadata": {"name": name},
                   "spec": {"definition": definition()}})

    def delete_run(self, name):
        self.call("DELETE", f"/apis/benchd.io/v1alpha1/namespaces/benchd/benchmarkruns/{name}")

    def end_pod(self, pod, summary):
        ended = {"terminated": {"exitCode": 0, "reason": "Completed", "message": summary}}
        status = {"phase": "Succeeded", "podIP": "10.0.0.9", "podIPs": [{"ip": "10.0.0.9"}], "containerStatuses": [
            {"name": "main", "image": "x", "imageID": "", "ready": False, "restartCount": 0, "state": ended}]}
        self.call("PATCH", f"/api/v1/namespaces/benchd/pods/{pod['metadata']['name']}/status", {"status": status},
                  "application/merge-patch+json")

    def phase(self, name):
        path = f"/apis/benchd.io/v1alpha1/namespaces/benchd/benchmarkruns/{name}"
        return self.call("GET", path).get("status", {}).get("phase")


def wait_for(what, why, seconds=120):
    deadline = time.monotonic() + seconds
    while not (answer := what()):
        if time.monotonic() > deadline:
            raise Failed(f"not within {seconds} s: {why}")
        time.sleep(0.1)
    return answer


class Bench:
    def __init__(self, cluster, daemon, audit_log):
        self.cluster, self.daemon, self.audit_log = cluster, daemon, audit_log
        self.api = Api(cluster)
        self.read_to = 0
        lease = json.loads(cluster.kubectl("get", "lease", "benchd", "-o", "json").stdout)
        self.address = lease["metadata"]["annotations"]["benchd.io/address"]

    def audited(self):
        """What has come since the last empty(). Counted, not parsed: whoever is measured needs the CPU."""
        with open(self.audit_log, "rb") as log:
            log.seek(self.read_to)
            return log.read().splitlines()

    def posted(self, run):
        """Seconds, once all pods of the run are there."""
        wait_for(lambda: sum(DRY_RUN not in line for line in self.audited()) >= PODS, f"{PODS} pods of {run}")
        found = creations(self.audited(), run)
        if len(found) != PODS:
            raise Failed(f"{run}: {len(found)} pods were made, not {PODS}")
        return span_s(found)

    def get(self, path):
        try:
            with urllib.request.urlopen(self.address + path, timeout=20) as answer:
                return answer.read()
        except urllib.error.HTTPError as error:
            with error:
                if error.code == 404:
                    return None
                raise

    def ours(self, run):
        self.api.create_run(run)
        took_s = self.posted(run)
        self.api.delete_run(run)
        wait_for(lambda: self.get(f"/api/v1/runs/{run}") is None, f"benchd forgets {run}")
        return took_s

    def bare(self, run, file):
        done = self.cluster.run(os.environ["POST_PODS"], self.cluster.kubeconfig, "benchd", file, run,
                                "00000000-0000-4000-8000-000000000000", str(IN_FLIGHT))
        if done.returncode != 0:
            raise Failed(done.stderr.strip())
        return self.posted(run)

    def empty(self):
        self.api.delete_pods()
        wait_for(lambda: not self.api.pods(), "no pod is left")
        self.read_to = self.audit_log.stat().st_size

    def whole_run(self, run, summary):
        """From its beginning to its results, with every pod's end told by hand."""
        self.api.create_run(run)
        self.posted(run)
        for pod in self.api.pods():
            self.api.end_pod(pod, summary(pod))
        wait_for(lambda: self.api.phase(run) == "Succeeded", f"{run} ends well")
        for path in ("/metrics", "/", f"/runs/{run}", f"/api/v1/runs/{run}/results"):
            self.get(path)

    def at_rest(self):
        time.sleep(REST_S)
        return memory(pathlib.Path(f"/proc/{self.daemon.process.pid}/smaps_rollup").read_text(encoding="ascii"))


def bars(ratios, before, after):
    rows = [figures.Bar(f"time to post {PODS} pods, over the bare loop's", figures.Spread.of(ratios), RATIO_BAR, "<=")]
    for when, at in (("before a run", before), ("after runs", after)):
        for key, bar in (("Private_Dirty", PRIVATE_BAR_MIB), ("Rss", RSS_BAR_MIB)):
            rows.append(figures.Bar(f"{key} at rest {when}, MiB", figures.Spread.of([at[key] / MIB]), bar, "<="))
    return rows


def measure(rounds):
    # Here, not above: these look for the build tree.
    from benchd import Benchd, Kubelet  # pylint: disable=import-outside-toplevel
    from cluster import Cluster  # pylint: disable=import-outside-toplevel
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="benchd-bench-")))
        (folder / "policy.yaml").write_text(AUDIT_POLICY)
        (folder / "definition.json").write_text(json.dumps(
            {"apiVersion": "benchd.io/v1alpha1", "kind": "Benchmark", "metadata": {"name": "bench"},
             "spec": definition()}))
        cluster = stack.enter_context(Cluster(api_options=(f"--audit-policy-file={folder}/policy.yaml",
                                                           f"--audit-log-path={folder}/audit.log")))
        crd = ROOT / "manifests" / "benchmark-crd.yaml"
        cluster.kubectl("create", "serviceaccount", "default", check=False)   # its controller is not here
        cluster.kubectl("apply", "-f", crd)
        cluster.kubectl("wait", "--for=condition=Established", "--timeout=60s", "-f", crd)
        os.environ.update(ALLOCATOR)
        daemon = stack.enter_context(Benchd(cluster))
        wait_for(lambda: cluster.kubectl("get", "lease", "benchd", check=False).returncode == 0, "benchd is ready")
        bench = Bench(cluster, daemon, folder / "audit.log")
        before = bench.at_rest()
        times = {"ours": [], "bare": []}
        for i in range(rounds + 1):   # the first warms the server up
            for who in ("ours", "bare") if i % 2 else ("bare", "ours"):
                run = f"{who}-{i}"
                took_s = bench.ours(run) if who == "ours" else bench.bare(run, folder / "definition.json")
                bench.empty()
                if i > 0:
                    times[who].append(took_s)
            if i > 0:
                print(f"round {i}: benchd {times['ours'][-1]:.3f} s, bare {times['bare'][-1]:.3f} s", flush=True)
        bench.whole_run("whole", Kubelet.summary)
        return times, before, bench.at_rest()


def main():
    parser = argparse.ArgumentParser(prog="script/bench controller", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="of one post by each (7)")
    options = parser.parse_args()
    print(json.dumps(machine.describe()))
    try:
        times, before, after = measure(options.rounds)
    except Failed as error:
        print(f"script/bench controller: {error}", file=sys.stderr)
        return 1
    for who, name in (("ours", "benchd"), ("bare", "bare loop")):
        spread = figures.Spread.of(times[who])
        print(f"{name}: {spread.text(3)} s for {PODS} pods, {PODS / spread.median:.0f}/s")
    rows = bars([a / b for a, b in zip(times["ours"], times["bare"])], before, after)
    for row in rows:
        print(row.text())
    reached = sum(row.is_reached for row in rows)
    print(f"reached {reached} of {len(rows)}")
    return reached < len(rows)


if __name__ == "__main__":
    sys.exit(main())
