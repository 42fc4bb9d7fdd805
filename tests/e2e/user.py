"""What the tests on the real node share: benchctl as its user types it, and small definitions.

    user = User(t, node)
    result = user.run(definition(repeats=2), code=0)
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import tap
from cluster import ClusterError, becomes, die_with_parent, wait_until

sys.path.insert(0, str(tap.ROOT / "tests" / "docs"))
import typed  # noqa: E402

NS = "benchd"
RUN_S = 1000
TRAINS_S = 180
GONE_S = 180   # a kubelet's grace, and its next look at the pod
ROLES = ("pserver", "trainer")
# What the shipped sweep needs to fit a node of two CPUs.
SWEEP = ["vgg16-pserver-sweep", "--set", "pservers=1", "--set", "trainers=1,2", "--set", "batch_size=4",
         "--set", "cpu=400m", "--set", "memory=1Gi", "--steps", "4", "--repeats", "2"]
CONTROLLER = "--selector=app.kubernetes.io/component=controller"


def definition(name, cpu="600m", memory="512Mi", image="benchd.local/benchworker:0.1.0", batch_size=2, trainers=(1,),
               steps=4, repeats=1, **spec):
    """A Benchmark of small pods that train, as restricted as the shipped ones; `spec` replaces whole keys."""
    pod = {
        "enableServiceLinks": False, "terminationGracePeriodSeconds": 5,
        "securityContext": {"runAsNonRoot": True, "runAsUser": 65532, "runAsGroup": 65532,
                            "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [{
            "name": "main", "image": image, "imagePullPolicy": "IfNotPresent",
            "resources": {kind: {"cpu": cpu, "memory": memory} for kind in ("requests", "limits")},
            "securityContext": {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                                "capabilities": {"drop": ["ALL"]}}}]}
    return {"apiVersion": "benchd.io/v1alpha1", "kind": "Benchmark", "metadata": {"name": name}, "spec": {
        "systems": [{"name": "benchworker", "profile": "benchworker"}],
        "workload": {"model": "vgg16-fluid-fc512", "batchSize": batch_size, "exchange": {"kind": "PServer"}},
        "sweep": {"grid": {"pservers": [1], "trainers": list(trainers)}},
        "baseline": {"kind": "Point", "where": {"trainers": trainers[0]}},
        "roles": {role: {"replicas": {"from": role + "s"}, "template": {"spec": pod}} for role in ROLES},
        "measure": {"warmupSteps": 1, "steps": steps},
        "repeats": {"min": repeats}, **spec}}


def shell(node, name, links=(), **env):
    """A shell in a folder of that name, made at the first call, with links to files; it has benchctl and kubectl."""
    folder, programs = node.dir / name, node.dir / f"{name}-programs"
    if not folder.exists():
        for where, targets in ((folder, links), (programs, [pathlib.Path(os.environ["BENCHCTL"]), node.cluster.programs["kubectl"]])):
            where.mkdir()
            for target in targets:
                (where / target.name).symlink_to(target)
    env = {**node.cluster.env(), "LC_ALL": "C.UTF-8", "PATH": f"{programs}:{os.environ['PATH']}", "PS1": "", **env}
    return typed.Shell(node.cluster.command(), env=env, cwd=folder)


class User:
    """benchctl in a cluster; its exit code is a check of `t` each time."""

    def __init__(self, t, node):
        self.t, self.node, self.k, self.cluster = t, node, node.cluster.kubectl, node.cluster
        self.env = {"BENCHCTL_PATH": str(tap.ROOT / "benchmarks"), "LC_ALL": "C.UTF-8"}

    def ctl(self, *args, code=0, timeout=RUN_S):
        done = self.cluster.run(os.environ["BENCHCTL"], *args, timeout=timeout, env=self.env)
        self.t.equal((code, ""), (done.returncode, done.stderr if done.returncode != code else ""),
                     f"benchctl {args[0]}: exit code")
        return done

    def write(self, body):
        path = self.node.dir / f"{body['metadata']['name']}.json"
        path.write_text(json.dumps(body))
        return path

    def run(self, body, code=0):
        """benchctl run -f; its result as JSON, and what it said on stderr."""
        done = self.ctl("run", "-f", self.write(body), "-o", "json", code=code)
        return json.loads(done.stdout), done.stderr

    def start(self, body):
        """The same in the background, for `finish`; returns when the run's name is known, with it."""
        path = self.write(body)
        with open(path.with_suffix(".out"), "wb") as out, open(path.with_suffix(".err"), "wb") as err:
            process = subprocess.Popen(
                self.cluster.command(os.environ["BENCHCTL"], "run", "-f", path, "-o", "json"),
                env={**self.cluster.env(), **self.env}, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                preexec_fn=die_with_parent())
        process.said = path
        becomes(lambda: process.poll() is not None or "created in" in path.with_suffix(".err").read_text(), GONE_S)
        return process, re.search(r"(?m)^run/(\S+) created|\Z", path.with_suffix(".err").read_text())[1]

    def start_training(self, body):
        """The same, until trainer 0 of the first attempt has measured a step; with the attempt's pods by role. It trains for some seconds
        only: where this test is held up for that long, another run is started."""
        for _ in range(5):
            process, run = self.start(body)
            pods = {}

            def trains(run=run, pods=pods):
                pods.update((pod["metadata"]["labels"]["benchd.io/role"], pod) for pod in self.pods(run)
                            if pod["metadata"]["labels"]["benchd.io/attempt"] == "0")
                name = pods["trainer"]["metadata"]["name"] if len(pods) == 2 else "none"
                return '"type":"step"' in self.k("logs", name, "-n", NS, "--tail=1", check=False).stdout
            has_ended = process.poll
            wait_until(lambda trains=trains, has_ended=has_ended: trains() or has_ended() is not None, TRAINS_S, f"run {run} trains")
            if has_ended() is None:
                return process, run, pods
            self.finish(process)
            self.delete(run)
        raise ClusterError(f"run {run} has ended before it was seen to train")

    def finish(self, process, code=0):
        deadline = time.monotonic() + RUN_S
        becomes(lambda: process.poll() is not None, deadline - time.monotonic())
        stderr = process.said.with_suffix(".err").read_text()
        if not self.t.equal(code, process.poll(), "benchctl run: exit code"):
            print("".join(f"# {line}\n" for line in stderr.splitlines()[-20:]), end="", flush=True)
        out = process.said.with_suffix(".out").read_text()
        return json.loads(out) if out else None, stderr

    def pods(self, run):
        return self._pods(f"--selector=benchd.io/run={run}")

    def controller(self):
        """The pod of benchd that lives."""
        return next(pod for pod in self._pods(CONTROLLER) if "deletionTimestamp" not in pod["metadata"])

    def _pods(self, selector):
        return json.loads(self.k("get", "pods", "-n", NS, selector, "-o", "json").stdout)["items"]

    def gone(self, what, *words):
        """Waits until `kubectl get` finds nothing."""
        left = []

        def is_gone():
            left[:] = self.k("get", *words, "-n", NS, "-o", "name").stdout.split()
            return not left

        self.t.ok(becomes(is_gone, GONE_S), what, left)

    def delete(self, run):
        """benchctl delete, and then there is nothing of the run."""
        self.ctl("delete", run)
        for kinds in ("pods", "services", "secrets"):
            self.gone(f"delete leaves none of {kinds}", kinds, f"--selector=benchd.io/run={run}")
