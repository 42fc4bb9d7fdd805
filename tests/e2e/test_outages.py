#!/usr/bin/env python3
"""What is between benchd and the API server goes wrong: before its start, and under a run. The pods are KWOK's; benchd is
a process with the rights of manifests/rbac.yaml."""
import base64
import json
import signal
import subprocess
import sys
import time
import urllib.request

import kwok
import tap
from benchd import Benchd, definition, wait_for
from cluster import CONTROLLERS, Cluster

CRD = tap.ROOT / "manifests" / "benchmark-crd.yaml"
RBAC = tap.ROOT / "manifests" / "rbac.yaml"
FINAL = ("Succeeded", "PartiallyFailed", "Failed", "Cancelled")
SOON_S = 25   # what benchd gives up after 10 s, on a loaded machine


# ---- a wrong kubeconfig ----

def set_token(token):
    def change(_cluster, user, _config):
        user.clear()
        user["token"] = token
    return change


def set_server(url):
    return lambda cluster, _user, _config: cluster.update(server=url)


def set_authority(pem):
    return lambda cluster, _user, _config: cluster.update({"certificate-authority-data": base64.b64encode(pem).decode()})


def foreign_authority(folder):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                    "2", "-subj", "/CN=other", "-keyout", folder / "other.key", "-out", folder / "other.crt"],
                   check=True, capture_output=True)
    return (folder / "other.crt").read_bytes()


class WrongStarts:
    """benchds that cannot begin, all at once: each says at once what is wrong, and ends in its time."""

    def __init__(self, t, cluster):
        self.t, self.cluster = t, cluster
        k = cluster.kubectl
        k("create", "serviceaccount", "stranger")
        stranger = k("create", "token", "stranger").stdout.strip()
        server = json.loads(k("config", "view", "-o", "json").stdout)["clusters"][0]["cluster"]["server"]
        self.soon = [self.start(*row) for row in (
            ("wrong authority", set_authority(foreign_authority(cluster.dir)),
             "TLS: .*certificate.*; check certificate-authority"),
            ("refused token", set_token("wrong"), "HTTP 401 Unauthorized: .*log in again, or choose another context"),
            ("no rights", set_token(stranger),
             "HTTP 403 Forbidden: .*cannot list resource .*in the namespace .benchd.; ask an administrator"),
            ("no TLS", set_server(server.replace("https:", "http:")), "HTTP request to an HTTPS server"),
        )]
        self.late = [
            self.start("nobody listens", set_server("https://127.0.0.1:1"),
                       "cannot reach the API server: .*; is it running, and is its address right in the kubeconfig"),
            self.start("no such namespace", lambda *_: None, 'HTTP 404 NotFound: namespaces "nowhere" not found',
                       "--namespace", "nowhere")]

    def start(self, name, change, pattern, *options):
        path = self.cluster.make_kubeconfig(name.replace(" ", "-"), change)
        daemon = Benchd(self.cluster, "--kubeconfig", path, *options, name=name.replace(" ", "-"))
        daemon.start()
        return name, pattern, daemon, time.monotonic()

    def check(self, rows, seconds):
        for name, pattern, daemon, began in rows:
            self.t.ok(wait_for(lambda: "level=warn" in daemon.log.read_text(), 20), f"{name}: benchd warns at once")
            code = daemon.process.wait(timeout=max(1.0, began + seconds - time.monotonic()))
            self.t.equal(5, code, f"{name}: and ends with exit 5")
            self.t.match(f"(?m)^benchd: .*{pattern}", daemon.log.read_text(), f"{name}: message")

    def kill(self):
        for _, _, daemon, _ in self.soon + self.late:
            daemon.kill()


def check_usage(t, cluster):
    """What can be seen without asking anybody ends at once."""
    nowhere = cluster.make_kubeconfig("context", lambda _c, _u, config: config.update({"current-context": "nowhere"}))
    for name, options, pattern in (
            ("missing file", ("--kubeconfig", "/no/such/file"), "kubeconfig: open /no/such/file: No such file"),
            ("wrong current context", ("--kubeconfig", nowhere), "no 'nowhere' in contexts"),
            ("wrong --context", ("--context", "elsewhere"), "elsewhere")):
        daemon = Benchd(cluster, *options, name="usage")
        daemon.start()
        t.equal(2, daemon.process.wait(timeout=10), f"{name}: exit 2")
        t.match(f"(?m)^benchd: .*{pattern}", daemon.log.read_text(), f"{name}: message")


def check_kinds_missing(t, cluster, daemon):
    daemon.start()
    t.ok(wait_for(lambda: "level=warn" in daemon.log.read_text(), 20), "kinds missing: benchd says so at once")
    t.match("benchd's kinds are not installed: kubectl apply -f manifests/benchmark-crd.yaml", daemon.log.read_text(),
            "kinds missing: what to do")
    cluster.kubectl("apply", "-f", CRD)
    t.ok(wait_for(lambda: "the API server answers again" in daemon.log.read_text()), "and goes on when they come",
         daemon.log.read_text())


def main():
    t = tap.Tap()
    with Cluster(parts=CONTROLLERS, kwok=lambda folder: kwok.configuration(folder, pserver_s=2)) as cluster:
        k = cluster.kubectl
        kwok.make_nodes(cluster, 4)
        k("apply", "-n", "benchd", "-f", RBAC)
        token = k("create", "token", "benchd").stdout.strip()
        own = cluster.make_kubeconfig("benchd", set_token(token))
        starts = WrongStarts(t, cluster)
        daemon = Benchd(cluster, "--kubeconfig", own)
        try:
            check_usage(t, cluster)
            check_kinds_missing(t, cluster, daemon)
            starts.check(starts.soon, SOON_S)
            starts.check(starts.late, 90)
        finally:
            starts.kill()
            daemon.kill()
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
