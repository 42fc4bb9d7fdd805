"""A control plane for the bench, an administrator's connection to it, and benchd on it."""
import contextlib
import http.client
import json
import os
import pathlib
import re
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

from control import audit, process

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

from cluster import API, CONTROLLERS, Cluster, ClusterError, free_port, programs, wait_until  # pylint: disable=wrong-import-position
import kwok  # pylint: disable=wrong-import-position

ALLOCATOR = {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}  # as manifests/deployment.yaml
RUNS = "/apis/benchd.io/v1alpha1/namespaces/benchd/benchmarkruns"
# What controllers make with pods, and the garbage collector takes away after their owners: the API server is busy until then.
MADE_BESIDE = ("/api/v1/namespaces/benchd/services", "/apis/discovery.k8s.io/v1/namespaces/benchd/endpointslices",
               "/apis/batch/v1/namespaces/benchd/jobs")
PODS = "/api/v1/namespaces/benchd/pods"
AT_ONCE = 8
BUSY_TRIES = 30
IDLE_S = 30   # the API server closes connections that are idle for longer than 90 s
ENDED = ("Succeeded", "PartiallyFailed", "Failed", "Cancelled")


class Failed(Exception):
    """What could not be measured, and why."""


FAILURES = (Failed, ClusterError, OSError, http.client.HTTPException, subprocess.SubprocessError)


def wait_for(what, why, seconds=120, every_s=0.1):
    deadline = time.monotonic() + seconds
    while not (answer := what()):
        if time.monotonic() > deadline:
            raise Failed(f"not within {seconds} s: {why}")
        time.sleep(every_s)
    return answer


class Api:
    """The API server as administrator, over one connection that is kept. One thread's."""

    def __init__(self, cluster):
        config = json.loads(cluster.kubectl("config", "view", "--raw", "-o", "json").stdout)
        self.host, port = config["clusters"][0]["cluster"]["server"].removeprefix("https://").rsplit(":", 1)
        self.port, pki = int(port), cluster.dir / "pki"
        self.context = ssl.create_default_context(cafile=pki / "ca.crt")
        self.context.load_cert_chain(pki / "admin.crt", pki / "admin.key")
        self.connection, self.used_s = self.connect(), 0

    def connect(self):
        return http.client.HTTPSConnection(self.host, self.port, context=self.context, timeout=120)

    def again(self):
        """The same, for another thread."""
        other = object.__new__(Api)
        other.__dict__.update(self.__dict__, connection=self.connect())
        return other

    def call(self, method, path, body=None, content_type="application/json"):
        if time.monotonic() - self.used_s > IDLE_S:
            self.connection.close()   # it opens again by itself
        for left in reversed(range(BUSY_TRIES)):
            self.used_s = time.monotonic()
            self.connection.request(method, path, json.dumps(body) if body else None, {"Content-Type": content_type})
            answer = self.connection.getresponse()
            text = answer.read()
            if answer.status != 429 or left == 0:   # such as: its caches are not full yet
                break
            time.sleep(float(answer.getheader("Retry-After", 1)))
        if answer.status >= 300 and answer.status != 404:
            raise Failed(f"{method} {path}: HTTP {answer.status}: {text.decode(errors='replace')[:300]}")
        return json.loads(text)

    def count(self, path):
        """Objects under a path: a page of one, and how many remain."""
        page = self.call("GET", f"{path}?limit=1")
        return len(page["items"]) + page["metadata"].get("remainingItemCount", 0)

    def delete_pods(self, selector=""):
        """The API server gives up on ten thousand after a minute, and hangs up: what is left is deleted by the next call."""
        for left in reversed(range(BUSY_TRIES)):
            try:
                self.call("DELETE", f"{PODS}?gracePeriodSeconds=0&labelSelector={urllib.parse.quote(selector)}")
                return
            except (Failed, OSError, http.client.HTTPException):
                self.connection.close()   # it opens again by itself
                if left == 0:
                    raise

    def create_run(self, name, definition, **spec):
        body = {"apiVersion": "benchd.io/v1alpha1", "kind": "BenchmarkRun", "metadata": {"name": name},
                "spec": {"definition": definition, **spec}}
        return self.call("POST", RUNS, body)

    def delete_run(self, name):
        self.call("DELETE", f"{RUNS}/{name}")

    def status(self, name):
        """None: there is no such run."""
        run = self.call("GET", f"{RUNS}/{name}")
        return run.get("status", {}) if run["kind"] == "BenchmarkRun" else None

    def many(self, work, items):
        """work(api, item) for each, by some threads with a connection each."""
        items, failures = iter(items), []
        lock = threading.Lock()

        def some():
            api = self.again()
            try:
                while True:
                    with lock:
                        item = next(items, None)
                    if item is None or failures:
                        return
                    work(api, item)
            except (Failed, OSError, http.client.HTTPException) as error:
                failures.append(error)
        threads = [threading.Thread(target=some, daemon=True) for _ in range(AT_ONCE)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise Failed(str(failures[0]))


class Plane:
    """etcd and an API server with the kinds of benchd; with nodes also what schedules and runs pods on them (KWOK)."""

    def __init__(self, nodes=0, configuration=None):
        self.nodes, self.configuration = nodes, configuration

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            self.folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="benchd-bench-")))
            self.cluster = stack.enter_context(Cluster(
                parts=CONTROLLERS if self.nodes else API, kwok=self.configuration if self.nodes else None,
                api_options=audit.options(self.folder)))
            self.cluster.apply_kinds()
            if self.nodes:
                kwok.make_nodes(self.cluster, self.nodes, cpu="64")
            self.api = Api(self.cluster)
            self.audit = audit.Audit(self.folder / "audit.log")
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        self.stack.close()

    def pid(self, server):
        return self.cluster.servers[server].pid

    def left(self):
        """How many pods there are, and objects that go with them."""
        return sum(self.api.count(path) for path in (PODS, *MADE_BESIDE))

    def empty(self, seconds=300):
        """No pod, nothing that went with one, no run; what happened so far is forgotten."""
        for run in self.api.call("GET", RUNS)["items"]:
            self.api.delete_run(run["metadata"]["name"])
        self.api.delete_pods()
        wait_for(lambda: self.left() == 0 and self.api.count(RUNS) == 0, "no pod, nothing made with it and no run is left", seconds)
        self.audit.forget()


class Daemon:
    """benchd on a plane, as its manifest runs it."""

    def __init__(self, plane, name="results", *options):
        from benchd import Benchd  # Here, not above: it looks for the build tree.  # pylint: disable=import-outside-toplevel
        os.environ.update(ALLOCATOR)
        self.plane, self.benchd, self.address = plane, Benchd(plane.cluster, *options, name=name), None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        if self.benchd.process.poll() is None:
            self.benchd.kill()

    @property
    def pid(self):
        if self.benchd.process.poll() is not None:
            raise Failed(f"benchd has ended with {self.benchd.process.returncode}:\n{self.words()}")
        return self.benchd.process.pid

    def words(self):
        """The end of its log."""
        return self.benchd.log.read_text(errors="replace")[-2000:]

    @property
    def store(self):
        return self.benchd.store.removeprefix("sqlite:")

    def start(self):
        self.benchd.start()
        try:
            wait_for(self.is_ready, "benchd is ready")
        except Failed as error:
            raise Failed(f"{error}\n{self.words()}") from error

    def stop(self):
        if self.benchd.stop() != 0:
            raise Failed(f"benchd did not end well:\n{self.words()}")

    def is_ready(self):
        lease = self.plane.api.call("GET", "/apis/coordination.k8s.io/v1/namespaces/benchd/leases/benchd")
        self.address = lease["metadata"].get("annotations", {}).get("benchd.io/address") if "spec" in lease else None
        try:
            return self.address and self.get("/readyz") is not None
        except OSError:
            return False

    def get(self, path):
        """None: no such thing."""
        try:
            with urllib.request.urlopen(self.address + path, timeout=20) as answer:
                return answer.read()
        except urllib.error.HTTPError as error:
            with error:
                if error.code == 404:
                    return None
                raise

    def metric(self, name):
        """The sum of its series."""
        lines = [line for line in self.get("/metrics").decode().splitlines() if line.startswith((f"{name} ", f"{name}{{"))]
        return sum(float(line.rpartition(" ")[2]) for line in lines)

    def memory(self):
        return process.memory_of(self.pid)

    def ended(self, run, seconds=120, every_s=0.1):
        """Its last phase."""
        return wait_for(lambda: (p := (self.plane.api.status(run) or {}).get("phase")) in ENDED and p, f"{run} ends", seconds, every_s)


def definition(**changes):
    """A run of one point of small pods; changes win."""
    template = {"spec": {"containers": [{"name": "main", "image": "benchd.local/benchworker:0.1.0"}]}}
    spec = {
        "systems": [{"name": "benchworker", "profile": "benchworker"}],
        "workload": {"model": "vgg16-fluid-fc512", "batchSize": 64, "exchange": {"kind": "PServer"}},
        "sweep": {"grid": {"pservers": [1], "trainers": [1]}},
        "baseline": {"kind": "Point", "where": {"trainers": 1}},
        "roles": {role: {"replicas": {"from": role + "s"}, "template": template} for role in ("pserver", "trainer")},
        "measure": {"warmupSteps": 1, "steps": 4}, "repeats": {"min": 1}, "addressing": "DNS",
    }
    return {**spec, **changes}


def end_message(role):
    """The Go expression that gives a pod its recorded summary, with index and attempt from its labels."""
    form, count = re.subn(r'"(index|attempt)":0', r'"\1":%s', kwok.summary(role).replace("%", "%%"))
    if count != 2 or form.find('"index"') > form.find('"attempt"'):
        raise Failed(f"expected index and attempt, in this order: {form}")
    return f"printf {json.dumps(form)} $index $attempt"   # a JSON string is a Go string too


def steered(last_s):
    """KWOK's configuration: pods of benchd end after `last_s`, or after what their annotation sim/last says. KWOK knows one pod at a time:
    it ends whether its peers are there or not."""
    text, stage = kwok.without_ends(), (pathlib.Path(__file__).parent / "stage-role.yaml").read_text().partition("\n")[2]
    for role in kwok.ROLES:
        text += stage.replace("@ROLE@", role).replace("@RUN_MS@", str(int(last_s * 1000))).replace("@MESSAGE@", end_message(role))
    return text
