#!/usr/bin/env python3
"""The private memory of benchd at rest: it has the Lease of an API server over TLS, a new store, and no run."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "kube"), str(ROOT / "e2e")]
import fake_api  # noqa: E402
import tap  # noqa: E402

BAR_MIB = 4
RENEWALS = 2
WAIT_S = 90
LEASES = "/apis/coordination.k8s.io/v1/namespaces/benchd/leases"
# As manifests/deployment.yaml has it.
ALLOCATOR = {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}


class Api(fake_api.FakeApi):
    """Keeps the Lease. Its lists are empty, and its watches say nothing."""
    lease = None
    n_writes = 0

    def take(self, request):
        path, _, query = request.path.partition("?")
        if path.startswith(LEASES):
            return self.take_lease(request)
        if request.method != "GET":
            return fake_api.status(404, "NotFound", "no such thing")
        if "watch" in query:
            return fake_api.stream(end="silence")
        return fake_api.obj(200, {"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": []})

    def take_lease(self, request):
        if request.method != "GET":
            self.lease = json.loads(request.body)
            self.n_writes += 1
            self.lease["metadata"]["resourceVersion"] = str(self.n_writes)
        return fake_api.status(404, "NotFound", "no Lease") if self.lease is None else fake_api.obj(200, self.lease)

    def address(self):
        return ((self.lease or {}).get("metadata", {}).get("annotations") or {}).get("benchd.io/address")


def config(url, ca):
    return {"current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u", "namespace": "benchd"}}],
            "clusters": [{"name": "k", "cluster": {"server": url, "certificate-authority": str(ca)}}],
            "users": [{"name": "u", "user": {"token": "t"}}]}


def wait_for(what):
    deadline = time.monotonic() + WAIT_S
    while not what() and time.monotonic() < deadline:
        time.sleep(0.1)
    return what()


def private_mib(pid):
    text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    return int(re.search(r"^Private_Dirty:\s+(\d+) kB$", text, re.MULTILINE)[1]) / 1024


def is_ready(address):
    try:
        with urllib.request.urlopen(f"{address}/readyz", timeout=20) as answer:
            return answer.status == 200
    except OSError:
        return False


def main():
    t = tap.Tap()
    with tempfile.TemporaryDirectory(prefix="benchd-rest-") as name:
        folder = pathlib.Path(name)
        pair = tap.make_certificate(folder, "kube")
        with Api(fake_api.tls_context(*pair)) as fake:
            (folder / "config").write_text(json.dumps(config(fake.url, pair[0])), encoding="utf-8")
            with subprocess.Popen([os.environ["BENCHD"], "--kubeconfig", str(folder / "config"), "--store", f"sqlite:{folder}/results.db",
                                   "--listen", "127.0.0.1:0"], env=os.environ | ALLOCATOR, text=True, stderr=subprocess.PIPE) as benchd:
                is_up = wait_for(lambda: fake.address() and is_ready(fake.address()))
                renewed = fake.n_writes + RENEWALS
                is_up = is_up and wait_for(lambda: fake.n_writes >= renewed)
                wait_for(lambda: private_mib(benchd.pid) <= BAR_MIB)
                mib = private_mib(benchd.pid)
                benchd.terminate()
                log = benchd.stderr.read()
            t.ok(is_up, "benchd drives, and renews its Lease", log)
            t.ok(mib <= BAR_MIB, f"at rest it has at most {BAR_MIB} MiB of its own", f"{mib:.1f} MiB\n{log}")
            t.equal(0, benchd.returncode, "and ends well")
    t.ok(b"\0.embedded\0" in pathlib.Path(os.environ["BENCHD"]).read_bytes(), "texts that are seldom read lie apart from the rest")
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
