#!/usr/bin/env python3
"""Systems that know nothing of benchd, in pods of a real node: an Open MPI program with a launcher and two workers that
run sshd, and a JAX script with two workers; and a Job. Their figures come from their own log lines. benchd is a pod of the node, installed, replaced and removed
as README.md says.

BENCHD_BUILD_DIR names the build tree whose programs go into the images, BENCHCTL the program. Both programs run as in the
namespace of manifests/: not as root, without capabilities."""
import base64
import json
import os
import pathlib
import re
import sys

import bare_root
import dockerfile
import machine
import mkimage
import tap
from cluster import CRD, becomes
from node import Node
from user import GONE_S, NS, User

PAGE = (tap.ROOT / "docs" / "own-script.md").read_text(encoding="utf-8").split("## An MPI program")[1]
MPI = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1]
# Data-parallel: XLA adds the all-reduce of the gradient.
JAX = """\
import os, time
import jax, jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec as P

jax.distributed.initialize(num_processes=int(os.environ["JAX_NUM_PROCESSES"]), process_id=int(os.environ["JAX_PROCESS_ID"]))
mesh = jax.make_mesh((jax.device_count(),), ("data",))
batch, width = 64, 256
key = jax.random.key(jax.process_index())
local = jax.random.normal(key, (batch, width))
x = jax.make_array_from_process_local_data(NamedSharding(mesh, P("data")), local)
w = jax.device_put(jnp.zeros(width), NamedSharding(mesh, P()))

@jax.jit
def step(w, x):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((x @ w - x.sum(axis=1)) ** 2))(w)
    return w - 0.1 * grad, loss

for i in range(30):
    began = time.monotonic()
    w, loss = step(w, x)
    loss = float(loss)
    if jax.process_index() == 0:
        print(f"[{i + 1}/30] loss={loss:.4f} {batch * jax.process_count() / (time.monotonic() - began):,.1f} examples/sec", flush=True)
print(f"done on {jax.process_count()} processes", flush=True)
"""
# Prints what the rule torch-ddp reads, which `init` finds by the name of the Job.
JOB = """\
import time
for i in range(60):
    began = time.monotonic()
    time.sleep(0.05)
    print(f"step {i}: {2 / (time.monotonic() - began):.1f} samples/s")
"""
PROXY = "/api/v1/namespaces/benchd/services/benchd:http/proxy"
PROGRAMS = {"train_mpi.py": MPI, "train_jax.py": JAX}


def pod(cpu, memory):
    return {
        "enableServiceLinks": False, "terminationGracePeriodSeconds": 5,
        "securityContext": {"runAsNonRoot": True, "runAsUser": mkimage.USER, "runAsGroup": mkimage.USER,
                            "seccompProfile": {"type": "RuntimeDefault"}},
        "volumes": [{"name": "programs", "configMap": {"name": "programs"}}],
        "containers": [{
            "name": "main", "image": mkimage.image_name("systems"), "imagePullPolicy": "IfNotPresent",
            "resources": {kind: {"cpu": cpu, "memory": memory} for kind in ("requests", "limits")},
            "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
            "volumeMounts": [{"name": "programs", "mountPath": "/programs"}]}]}


def definition(name, system, line, memory="256Mi", **roles):
    """`line`: the pattern of a step's line, by the first process for all."""
    rule = {"lines": [{"kind": "Step", "scope": "Job", "pattern": line}]}
    worker = {"replicas": {"from": "workers"}, "template": {"spec": pod("500m", memory)}}
    return {"apiVersion": "benchd.io/v1alpha1", "kind": "Benchmark", "metadata": {"name": name}, "spec": {
        "systems": [{"name": name, "log": rule, **system}],
        "workload": {"model": "m", "batchSize": 32, "exchange": {"kind": "AllReduce"}},
        "sweep": {"grid": {"workers": [2]}},
        "roles": {"worker": worker, **roles},
        "measure": {"warmupSteps": 10, "steps": 20}, "repeats": {"min": 1}}}


def check_table(t, user, result, name):
    """Two workers, and one as the baseline, have throughputs from the lines; so have the tables."""
    if not t.equal("Succeeded", result["phase"], f"{name}: the run succeeds"):
        for role in ("launcher", "worker"):
            print(f"# {role}:", user.k("logs", "-n", NS, f"--selector=benchd.io/run={result['run']},benchd.io/role={role}",
                                       "--tail=40", check=False).stdout.replace("\n", "\n# "))
    t.equal(False, result["simulated"], f"{name}: in real containers")
    for point, workers in ((result["points"][0], 2), (result["baselines"][0], 1)):
        t.equal(workers, point["replicas"]["worker"], f"{name}: {workers} workers")
        t.ok((point["throughput"]["value"] or 0) > 0, f"{name}: their throughput", point)
    table = user.ctl("results", result["run"], "--explain").stdout
    t.match(r"mean of 20 step\s+lines,\s+of\s+the whole job", table, f"{name}: from 20 of 30 lines")
    t.match(r"POINT +THROUGHPUT", table, f"{name}: a table")


def check_keys(t, user, process, run):
    """While a run lives: its Secret has the pair, and no other object, log or output has the private half."""
    def secrets_of_run():
        return json.loads(user.k("get", "secrets", "-n", NS, f"--selector=benchd.io/run={run}", "-o", "json").stdout)["items"]
    becomes(secrets_of_run, GONE_S)   # benchctl returns before benchd has seen the run
    secrets = secrets_of_run()
    t.equal(1, len(secrets), "mpi: one Secret a run")
    keys = {name: base64.b64decode(data).decode("latin-1") for name, data in secrets[0]["data"].items()}
    t.equal({"id_ed25519", "id_ed25519.pub", "key"}, set(keys), "mpi: what it has")
    t.match(r"^-----BEGIN OPENSSH PRIVATE KEY-----\n", keys["id_ed25519"], "mpi: a private key")
    result, stderr = user.finish(process)
    private = keys["id_ed25519"].splitlines()[3]   # nothing that is public is in this line
    seen = stderr + json.dumps(result) + user.k("logs", "-n", NS, "deployment/benchd").stdout
    for kind in ("pods", "events", "benchmarkruns", "benchmarks"):
        seen += user.k("get", kind, "-n", NS, "-o", "json").stdout
    for role in ("launcher", "worker"):
        seen += user.ctl("logs", run, "--point", "0", "--role", role).stdout
    t.ok(private not in seen and base64.b64encode(private.encode()).decode()[:60] not in seen,
         "mpi: the private key is in no log, result, pod or event")
    return result


def check_mpi(t, user):
    system = {"profile": "open-mpi", "command": ["mpirun", "python3", "/programs/train_mpi.py", "$(BENCHD_BATCH_SIZE)"]}
    body = definition("mpi", system, r"step (?<step>): (?<rate>) samples/s",
                      launcher={"template": {"spec": pod("200m", "128Mi")}})
    process, run = user.start(body)
    result = check_keys(t, user, process, run)
    check_table(t, user, result, "mpi")
    t.equal(1, result["points"][0]["replicas"]["launcher"], "mpi: one launcher")
    log = user.ctl("logs", run, "--point", "0").stdout
    t.equal(30, len(re.findall(r"(?m)^step \d+: ", log)), "mpi: the launcher's log has the lines of rank 0")
    worker = user.ctl("logs", run, "--point", "0", "--role", "worker", "--index", "1").stdout
    t.match("Accepted publickey for bench", worker, "mpi: the log of sshd is kept, though it never ends")
    user.gone("mpi: no worker runs on", "pods", "--field-selector=status.phase=Running", f"--selector=benchd.io/run={run}")
    user.delete(run)


def check_jax(t, user):
    system = {"profile": "jax", "command": ["python3", "/programs/train_jax.py"]}
    line = r"\[(?<step>)/30\] loss=(?<loss>) (?<rate>) examples/sec"
    result, _ = user.run(definition("jax", system, line, memory="1Gi"))
    check_table(t, user, result, "jax")
    log = user.ctl("logs", result["run"], "--point", "0", "--role", "worker", "--index", "1").stdout
    t.match("(?m)^done on 2 processes$", log, "jax: both were in one job")


def check_job(t, user):
    """A Job that somebody has: two commands make a table of it, as its own pods do it."""
    trainer = pod("300m", "64Mi")
    trainer["containers"][0]["command"] = ["python3", "-uc", JOB]
    path = user.write({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "torch-ddp"}, "spec": {
        "parallelism": 2, "template": {"spec": {**trainer, "restartPolicy": "OnFailure"}}}})
    made = path.with_suffix(".yaml")
    made.write_text(user.ctl("init", "-f", path).stdout.replace("batchSize: 32", "batchSize: 2").replace("{min: 3}", "{min: 1}"))
    refused = user.cluster.run(os.environ["BENCHCTL"], "run", made, env=user.env)
    t.match('apply manifests/rbac.yaml and its Role of manifests/jobs: .* cannot create resource "jobs" ', " ".join((refused.stdout + refused.stderr).split()),
            "job: without the right")
    user.k("apply", "-n", NS, "-f", tap.ROOT / "manifests/jobs/job.yaml")
    result = json.loads(user.ctl("run", made, "-o", "json").stdout)
    t.equal(("Succeeded", False), (result["phase"], result["simulated"]), "job: the run succeeds, in real containers")
    t.match(r"WORKERS .* SPEEDUP .*\n +1 .* 1\.000 .*\n +2 .* \d\.\d+ ", user.ctl("results", result["run"]).stdout, "job: a table of speedup")
    log = user.ctl("logs", result["run"], "--point", "1", "--role", "worker", "--index", "1").stdout
    t.match(r"(?m)^step 59: .* samples/s$", log, "job: the log of each pod is stored")
    user.gone("job: no Job is left", "jobs")
    user.gone("job: and no pod of one", "pods", "--selector=batch.kubernetes.io/job-name")


def check_pod(t, k):
    pods = json.loads(k("get", "pods", "--selector=app.kubernetes.io/component=controller", "-o", "json").stdout)["items"]
    t.equal([("Running", 0)], [(pod["status"]["phase"], pod["status"]["containerStatuses"][0]["restartCount"])
                               for pod in pods], "one pod, never restarted")
    t.equal("Bound", k("get", "pvc", "benchd", "-o", "jsonpath={.status.phase}").stdout, "its volume is bound")
    for path in ("/healthz", "/readyz"):
        done = k("get", "--raw", PROXY + path, check=False)
        t.equal((0, ""), (done.returncode, done.stderr), f"{path} through the API server's proxy")


def check_store_survives(t, k, folder):
    t.ok((folder / "results.db").exists(), "the store lies on the volume", list(folder.iterdir()))
    k("delete", "pod", "--selector=app.kubernetes.io/component=controller")
    done = k("rollout", "status", "deployment/benchd", "--timeout=200s", check=False)
    t.equal(0, done.returncode, "a deleted pod is replaced")
    t.ok((folder / "results.db").exists(), "and the store is still there", list(folder.iterdir()))


def check_removal(t, k):
    for what in (("-k", tap.ROOT / "manifests"), ("-f", CRD)):
        done = k("delete", *what, "--timeout=200s", check=False)
        t.equal((0, ""), (done.returncode, done.stderr), f"kubectl delete {what[0]}")
    left = k("get", "namespaces,customresourcedefinitions", "-o", "name").stdout.split()
    t.equal([], [name for name in left if "benchd" in name], "no namespace and no kind is left")
    t.equal("", k("get", "pods", "--all-namespaces", "-o", "name").stdout, "no pod is left")


def main():
    t = tap.Tap()
    tap.skip_if(machine.why_not() or bare_root.why_not())
    archive = dockerfile.archive("systems", pathlib.Path(__file__).with_name("systems.Dockerfile"))
    with Node(namespace=None) as node:
        node.install()
        k = node.cluster.kubectl
        check_pod(t, k)
        check_store_survives(t, k, node.dir / "volumes" / "benchd")
        node.load_archive(archive)
        user = User(t, node)
        user.k("create", "-n", NS, "-f", "-", stdin=json.dumps({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "programs"}, "data": PROGRAMS}))
        check_mpi(t, user)
        check_jax(t, user)
        check_job(t, user)
        check_removal(t, k)
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
