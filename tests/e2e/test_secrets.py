#!/usr/bin/env python3
"""What a cluster's benchd keeps secret: its token, its key, the secret of each run and the key of readers. A whole pass on a real API
server, with --debug, then a search for each of them in what others can see: benchd's log, arguments and environment, every object of
the namespace, the store, and what HTTP answers."""
import base64
import hashlib
import hmac
import json
import pathlib
import re
import sys
import urllib.error
import urllib.request

import kubeconfigs
import tap
from benchd import Benchd, Kubelet, definition, wait_for
from cluster import Cluster
from test_runs import FINAL, create, delete, get, wait_phase

KINDS = "services,events,events.events.k8s.io,networkpolicies,leases,benchmarks,benchmarkruns,configmaps"
PATHS = ("/metrics", "/healthz", "/readyz", "/", "/api/v1/runs", "/runs/RUN", "/api/v1/runs/RUN", "/api/v1/runs/RUN/file",
         "/api/v1/runs/RUN/results", "/api/v1/runs/RUN/logs?point=0")


def derive(key, purpose):
    return hmac.new(key, purpose.encode(), hashlib.sha256).digest()


def forms(secret):
    """How it may be written."""
    return {secret, secret.hex().encode(), secret.hex().upper().encode(), base64.b64encode(secret).rstrip(b"=")}


def search(secrets, places):
    """[(secret, place), ...]: what was found; names only."""
    return sorted((name, place) for name, secret in secrets.items() for place, data in places.items()
                  if any(form in data for form in forms(secret)))


def make_token(k):
    k("create", "serviceaccount", "operator")
    k("create", "clusterrolebinding", "operator", "--clusterrole=cluster-admin", "--serviceaccount=benchd:operator")
    return k("create", "token", "operator").stdout.strip()


def fetch(address, path, read_key):
    """(code, headers and body)"""
    request = urllib.request.Request(f"{address}{path}", headers={"X-Benchd-Read-Key": read_key})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, str(answer.headers).encode() + answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, str(error.headers).encode() + error.read()


def collect(t, k, daemon, run, read_key):
    """{place: bytes}: all that others can see."""
    pid = daemon.process.pid
    places = {"log": daemon.log.read_bytes(), "arguments": pathlib.Path(f"/proc/{pid}/cmdline").read_bytes(),
              "environment": pathlib.Path(f"/proc/{pid}/environ").read_bytes()}
    for item in json.loads(k("get", KINDS, "-o", "json", "--show-managed-fields").stdout)["items"]:
        places[f"{item['kind']}/{item['metadata']['name']}"] = json.dumps(item).encode()
    lease = json.loads(k("get", "lease", "benchd", "-o", "json").stdout)
    address = lease["metadata"]["annotations"]["benchd.io/address"]
    for path in PATHS:
        code, data = fetch(address, path.replace("RUN", run), read_key)
        t.ok(code in (200, 404), f"{path} answers", code)
        places[path] = data
    for path in pathlib.Path(daemon.store.removeprefix("sqlite:")).parent.glob("results.db*"):
        places[f"store: {path.name}"] = path.read_bytes()
    return places


def check_secrets(t, k, node, cluster, daemon, token, pods):
    key = (cluster.dir / "benchd.key").read_bytes()
    uids = {name: get(node, name)["metadata"]["uid"] for name in ("one", "two")}
    secrets = {"benchd's key": key, "token": token.encode(), "read key": derive(key, "benchd read key 1:")[:16],
               **{f"secret of {name}": derive(key, f"benchd run key 1:{uid}") for name, uid in uids.items()}}
    stored = {item["metadata"]["name"]: base64.b64decode(item["data"]["key"])
              for item in json.loads(k("get", "secrets", "-o", "json").stdout)["items"]}
    t.equal({f"{name}-{uid[:8]}-key": secrets[f"secret of {name}"] for name, uid in uids.items()}, stored,
            "these are the secrets: the Secrets have those of the runs")
    read_key = secrets["read key"].hex()
    places = {**collect(t, k, daemon, "one", read_key), **pods}
    kinds = {place.split("/")[0] for place in places}
    t.ok({"Pod", "Lease", "NetworkPolicy", "BenchmarkRun", "Event", "log"} <= kinds, "these are the places", kinds)
    t.match(rb"a run has ended", places["log"], "the log is of the whole pass")
    # Where it is meant to be: readers of the Lease are readers of runs.
    t.equal([("read key", "Lease/benchd")], search(secrets, places), "no secret shows, but for the readers' key in the Lease")
    for name, secret in secrets.items():
        t.equal([(name, "x")], search({name: secret}, {"x": b"a" + base64.b64encode(secret) + b"b"}), f"the search can find: {name}")


def main():
    t = tap.Tap()
    with Cluster() as cluster:
        k = cluster.kubectl
        cluster.apply_kinds()
        node = Kubelet(cluster)
        token = make_token(k)
        config = cluster.make_kubeconfig("operator", kubeconfigs.set_token(token))
        with Benchd(cluster, "--kubeconfig", config, "--debug", "--read-key", "--network-policy") as daemon:
            pods = {}
            for name in ("one", "two"):
                create(k, name, definition=definition(repeats={"min": 1}))
                t.ok(wait_for(node.pods), f"{name}: pods are made", daemon.log.read_text())
                pods.update({f"Pod/{pod['metadata']['name']}": json.dumps(pod).encode() for pod in node.pods()})
                t.equal("Succeeded", wait_phase(node, name, FINAL, ends=True), f"{name}: the run ends well")
            check_secrets(t, k, node, cluster, daemon, token, pods)
            text = daemon.log.read_text()
            t.equal(None, re.search(r"Bearer|Authorization", text), "no header of a request is logged")
            for name in ("one", "two"):
                delete(k, name)
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
