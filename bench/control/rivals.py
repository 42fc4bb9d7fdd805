"""Who makes the pods of a point: benchd, a bare loop, and JobSet with its rate lifted.

Each is started for its turn alone, makes one pod first, so that its connections are open and its caches full, and ends."""
import contextlib
import json
import os
import subprocess

from control import audit, plane, process

PSERVERS, TRAINERS = 60, 100
COUNTS = {"pserver": PSERVERS, "trainer": TRAINERS}
RESOURCES = {"cpu": "10", "memory": "5Gi"}
CONTAINER = {"name": "main", "image": "benchd.local/benchworker:0.1.0", "resources": {"requests": RESOURCES, "limits": RESOURCES}}
IN_FLIGHT = 32
RATE = 1000


def point(pservers, trainers, annotations=None, **changes):
    """benchd's definition of it."""
    template = {"metadata": {"annotations": annotations or {}}, "spec": {"containers": [CONTAINER]}}
    return plane.definition(
        sweep={"grid": {"pservers": [pservers], "trainers": [trainers]}},
        baseline={"kind": "Point", "where": {"trainers": trainers}},
        roles={role: {"replicas": {"from": role + "s"}, "template": template} for role in COUNTS}, **changes)


class Benchd:
    name, resource, scheduling = "benchd", "benchmarkruns", {}

    def __init__(self, where):
        self.where = where
        self.daemon = plane.Daemon(where)

    @property
    def pid(self):
        return self.daemon.pid

    def make(self, job, counts):
        self.where.api.create_run(job, point(counts["pserver"], counts["trainer"]), scheduling=self.scheduling)

    def prefix(self, job):
        return f"{job}-p0t0a0-"

    def remove(self, job):
        self.where.api.delete_run(job)

    @contextlib.contextmanager
    def running(self):
        with self.daemon:
            yield


class Exclusive(Benchd):
    """With an anti-affinity in each pod to those of other attempts, which the scheduler looks at for each node."""
    name, scheduling = "exclusive", {"exclusiveNodes": True}


class Bare:
    """bench/post_pods.c: the pods of benchd, owned by a run that no process drives."""
    name, resource, pid = "bare", None, None

    def __init__(self, where):
        self.where = where

    def make(self, job, counts):
        definition = point(counts["pserver"], counts["trainer"])
        uid = self.where.api.create_run(job, definition, suspend=True)["metadata"]["uid"]
        file = self.where.folder / f"{job}.json"
        file.write_text(json.dumps({"apiVersion": "benchd.io/v1alpha1", "kind": "Benchmark", "metadata": {"name": "bench"},
                                    "spec": definition}))
        cluster = self.where.cluster
        done = cluster.run(os.environ["POST_PODS"], cluster.kubeconfig, "benchd", file, job, uid, str(IN_FLIGHT))
        if done.returncode != 0:
            raise plane.Failed(done.stderr.strip())

    def prefix(self, job):
        return f"{job}-p0t0a0-"

    def remove(self, job):
        self.where.api.delete_run(job)

    def running(self):
        return contextlib.nullcontext()


class JobSet:
    """Its own program, of tests/e2e/kubernetes. What its webhook would fill in is written out: without the webhook it is faster."""
    name, resource = "jobset", "jobsets"
    path = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/benchd/jobsets"

    def __init__(self, where):
        self.where = where
        self.program = plane.programs(self.name)[self.name]
        # --server-side: a copy of the kind is too large for an annotation of it.
        where.cluster.kubectl("apply", "--server-side", "-f", self.program.parent.parent / "crd.yaml")
        wait = ("wait", "--for=condition=Established", "--timeout=60s", "-f", self.program.parent.parent / "crd.yaml")
        # It ends with an error while a new CRD has no conditions yet.
        plane.wait_until(lambda: where.cluster.kubectl(*wait, check=False).returncode == 0, 60, f"the kind of {self.name} is established")
        self.process = None

    @property
    def pid(self):
        return self.process.pid

    def options(self):
        certs, config = self.where.folder / "jobset-certs", self.where.folder / "jobset.yaml"
        certs.mkdir(exist_ok=True)
        for name, file in (("tls.crt", "apiserver.crt"), ("tls.key", "apiserver.key")):
            (certs / name).write_bytes((self.where.cluster.dir / "pki" / file).read_bytes())
        config.write_text("apiVersion: config.jobset.x-k8s.io/v1alpha1\nkind: Configuration\n"
                          "internalCertManagement: {enable: false}\nleaderElection: {leaderElect: false}\n"
                          f"webhook: {{port: {plane.free_port()}, host: 127.0.0.1, certDir: {certs}}}\n")
        return (f"-config={config}", "-metrics-bind-address=0", f"-health-probe-bind-address=127.0.0.1:{plane.free_port()}",
                f"-kube-api-qps={RATE}", f"-kube-api-burst={RATE}")

    @contextlib.contextmanager
    def running(self):
        log = self.where.folder / f"{self.name}.log"
        with open(log, "wb") as out:
            self.process = subprocess.Popen([self.program, *self.options()], env={**os.environ, **self.where.cluster.env()},
                                            stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        try:
            yield
            if self.process.poll() is not None:
                raise plane.Failed(f"{self.name} ended:\n{log.read_text(errors='replace')[-2000:]}")
        finally:
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=20)
            self.process.kill()
            self.process.wait()

    def make(self, job, counts):
        self.where.api.call("POST", self.path, {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
                                                "metadata": {"name": job}, "spec": self.spec(counts)})

    def spec(self, counts):
        def job(count):
            pod = {"spec": {"restartPolicy": "Never", "containers": [CONTAINER]}}
            return {"spec": {"parallelism": count, "completions": count, "completionMode": "Indexed", "backoffLimit": 0,
                             "template": pod}}
        return {"successPolicy": {"operator": "All"}, "startupPolicy": {"startupPolicyOrder": "AnyOrder"},
                "network": {"enableDNSHostnames": True, "publishNotReadyAddresses": True},
                "replicatedJobs": [{"name": role, "replicas": 1, "template": job(count)} for role, count in counts.items()]}

    def prefix(self, job):
        return f"{job}-"

    def remove(self, job):
        self.where.api.call("DELETE", f"{self.path}/{job}?propagationPolicy=Background")


RIVALS = (Benchd, Exclusive, Bare, JobSet)


def measured(found, rival, job, cpu):
    """What the audit log says of one point: from the answer to its job, or without one from the first pod."""
    pods = audit.creations(found, rival.prefix(job))
    running = [told[0] for told in audit.states(found, rival.prefix(job)).values()]
    began = audit.asked(found, rival.resource, job) if rival.resource else pods[0][0]
    return {"created_s": max(end for _, end in pods) - began, "first_s": pods[0][0] - began,
            "posting_s": max(end for _, end in pods) - pods[0][0], "running_s": max(running) - began, **cpu}


def one_point(where, rival, job, counts=None, settle_s=1):
    """A point of this rival, from its job until all of its pods run."""
    counts = counts or COUNTS
    n = sum(counts.values())
    servers = {"api_cpu_s": where.pid("kube-apiserver"), **({"own_cpu_s": rival.pid} if rival.pid else {})}
    before = {name: process.cpu_s(pid) for name, pid in servers.items()}
    rival.make(job, counts)
    told = where.audit.counter(audit.BY_KWOK, f"/{rival.prefix(job)}".encode())
    plane.wait_for(lambda: told() >= n, f"all {n} pods of {rival.name} run", 300)
    plane.time.sleep(settle_s)
    cpu = {name: process.cpu_s(pid) - before[name] for name, pid in servers.items()}
    row = measured(where.audit.events(), rival, job, cpu)
    if rival.pid:
        row["rss_mib"] = process.memory_of(rival.pid)["Rss"] / process.MIB
    rival.remove(job)
    return row
