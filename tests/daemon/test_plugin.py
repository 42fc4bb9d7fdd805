#!/usr/bin/env python3
"""benchd with a credential plugin in its kubeconfig: the API server refuses the first token."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "kube"), str(ROOT / "e2e")]
import fake_api  # noqa: E402
import tap  # noqa: E402

LEASE = "/apis/coordination.k8s.io/v1/namespaces/benchd/leases/benchd"
SCRIPT = """#!/bin/sh
echo run >> "$RUNS"
echo "asked for a token" >&2
printf '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"daemon-%d"}}' \
    "$(wc -l < "$RUNS")"
"""


def config(url):
    exec_ = {"apiVersion": "client.authentication.k8s.io/v1", "command": "./login", "interactiveMode": "IfAvailable"}
    return {"current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
            "clusters": [{"name": "k", "cluster": {"server": url}}], "users": [{"name": "u", "user": {"exec": exec_}}]}


def main():
    t = tap.Tap()
    with tempfile.TemporaryDirectory(prefix="benchd-plugin-") as name, fake_api.FakeApi() as fake:
        folder = pathlib.Path(name)
        (folder / "login").write_text(SCRIPT)
        (folder / "login").chmod(0o755)
        (folder / "config").write_text(json.dumps(config(fake.url)))
        fake.on("GET", LEASE, fake_api.status(401, "Unauthorized", "old"), fake_api.status(404, "NotFound", "no lease"))
        with subprocess.Popen([os.environ["BENCHD"], "--kubeconfig", str(folder / "config"), "--store",
                               f"sqlite:{folder}/results.db", "--listen", "127.0.0.1:0"], text=True,
                              env=os.environ | {"RUNS": str(folder / "runs")}, stderr=subprocess.PIPE) as benchd:
            t.ok(fake.wait_for("GET", LEASE, 2), "the Lease is asked for again after a 401")
            deadline = time.monotonic() + 90
            while time.monotonic() < deadline and not fake.seen("POST", LEASE.rpartition("/")[0]):
                time.sleep(0.05)
            benchd.terminate()
            log = benchd.stderr.read()
        tokens = [r.headers.get("authorization") for r in fake.seen("GET", LEASE)][:2]
        t.equal(["Bearer daemon-1", "Bearer daemon-2"], tokens, "first with the old token, then with the new one")
        created = fake.seen("POST", LEASE.rpartition("/")[0])
        t.equal({"Bearer daemon-2"}, {r.headers.get("authorization") for r in created}, "and goes on with it")
        t.equal(2, len((folder / "runs").read_text().splitlines()), "runs of the plugin")
        t.match("(?m)^asked for a token$", log, "what the plugin says is there")
        t.equal(False, "daemon-" in log, "the log has no token")
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
