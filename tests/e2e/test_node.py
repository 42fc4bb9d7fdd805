#!/usr/bin/env python3
"""The real node leaves nothing behind, nor does one that is joined to it, and benchworker trains on it in pods made from the shipped template.
It ends by kill -9 of all that belongs to it; with --long in three more ways.

BENCHD_BUILD_DIR names the build tree whose benchworker goes into the image.
"""
import base64
import copy
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import node_keeper
import tap
from cluster import CRD, becomes, wait_until
from machine import why_not
from node import Node
from second_node import Peer

HERE = pathlib.Path(__file__).resolve().parent
END_S = 120
POD_S = 240
SUMMARY_MAX_BYTES = 4096
RUN = "vgg16-e2e"
PORT = 7164


def machine():
    """What a node may change on the machine and must not: mounts, network, sysctls, and what bears its name."""
    def lines(*command):
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    # Other tests mount below the temporary folder meanwhile, where a node's own mounts would bear its name, and debootstrap
    # below the cache.
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "benchd"
    others = re.compile(rf"\S+ (?:{re.escape(tempfile.gettempdir())}/(?!{node_keeper.PREFIX})|{re.escape(str(cache))}/)")
    mounts = [line for line in pathlib.Path("/proc/mounts").read_text().splitlines() if not others.match(line)]
    links = [line.split(":")[1] for line in lines("ip", "-oneline", "link")]
    sysctls = {name: pathlib.Path("/proc/sys", name).read_text() for name in node_keeper.SYSCTLS
               if pathlib.Path("/proc/sys", name).exists()}
    return {"mounts": mounts, "links": links, "sysctls": sysctls,
            "routes": lines("ip", "route"), "network namespaces": lines("ip", "netns")}


def traces(folders):
    """Processes, cgroups and files of nodes that are still there."""
    return [trace for folder in folders for trace in traces_of(folder)]


def traces_of(folder):
    found = [str(folder)] if folder.exists() else []
    found += [str(path) for hierarchy in node_keeper.hierarchies() for path in hierarchy.glob(folder.name)]
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(folder).encode() in path.read_bytes():
                found.append(str(path))
        except OSError:
            pass   # it ended meanwhile
    return found


def pod_left_running(node):
    """A pod that would run for ever if nobody ended it, with a volume (a mount) and a process of its own."""
    spec = {"containers": [{"name": "main", "image": "benchd.local/busybox:1", "command": ["sleep", "86400"]}],
            "restartPolicy": "Never"}
    node.cluster.kubectl("create", "-f", "-", stdin=json.dumps(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "sleeper"}, "spec": spec}))
    node.cluster.kubectl("wait", "--for=condition=Ready", "pod/sleeper", f"--timeout={END_S}s")


def hold_node():
    """Child process for check_end: a node with a running pod, and another, until stdin closes."""
    with Node() as node, Peer(node) as peer:
        pod_left_running(node)
        print(node.dir, peer.dir, flush=True)
        sys.stdin.read()


def check_end(t, name, end):
    before = machine()
    child = subprocess.Popen([sys.executable, __file__, "--hold"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             text=True)
    folders = [pathlib.Path(word) for word in child.stdout.readline().split()]
    if not t.ok(len(folders) == 2 and all(folder.exists() for folder in folders), f"{name}: two nodes run, one with a pod"):
        return
    for folder in folders:
        t.ok(len(traces_of(folder)) > 5, f"{name}: its traces can be seen", traces_of(folder))
    t.equal(before, machine(), f"{name}: the machine does not notice")
    end(child)
    child.wait()
    becomes(lambda: not traces(folders), END_S)
    t.equal([], traces(folders), f"{name}: no process, cgroup or file is left")
    t.equal(before, machine(), f"{name}: the machine is as it was")


def kill_with_keeper(child):
    """The worst case: the keeper, which clears up, is killed with the test. The next start does its work."""
    keeper = next(pid for pid in pathlib.Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()
                  if b"node_keeper" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes())
    os.kill(int(keeper), 9)
    child.kill()
    child.wait()
    wait_until(lambda: node_keeper.start_time(keeper) is None, END_S, "the keeper is dead")
    node_keeper.clear_abandoned()


def shipped_template(cluster, role):
    """The pod template of a shipped definition, as the API server keeps it, fitted to a node of two CPUs."""
    k = cluster.kubectl
    k("apply", "-f", CRD)
    cluster.wait_for_kinds()
    k("apply", "-f", "-", stdin=tap.whole(tap.ROOT / "benchmarks" / "vgg16-pserver-sweep.yaml"))
    spec = json.loads(k("get", "bm", "vgg16-pserver-sweep", "-o", "json").stdout)["spec"]
    template = spec["roles"][role]["template"]
    for kind in ("requests", "limits"):
        template["spec"]["containers"][0]["resources"][kind].update(cpu="400m", memory="1Gi")
    return template


def replica(template, role, env):
    """A pod as benchd makes it (design: restartPolicy, names, environment, the secret, where the summary goes)."""
    spec = copy.deepcopy(template["spec"])
    main = spec["containers"][0]
    common = {"RUN": RUN, "POINT": 0, "TRIAL": 0, "ATTEMPT": 0, "ROLE": role, "INDEX": 0, "TRAINERS": 1,
              "WORKERS": 0, "MODEL": "vgg16-fluid-fc512", "DATA": "synthetic", "BATCH_SIZE": 2, "THREADS": 1, "SEED": 1,
              "WARMUP_STEPS": 0, "STEPS": 1, "SECRET_FILE": "/run/benchd/secret",
              "SUMMARY_FILE": "/dev/termination-log"}
    main["command"] = ["benchworker", role]
    main["env"] = [{"name": f"BENCHD_{name}", "value": str(value)} for name, value in {**common, **env}.items()]
    main["terminationMessagePolicy"] = "FallbackToLogsOnError"
    main["volumeMounts"] = [{"name": "secret", "mountPath": "/run/benchd", "readOnly": True}]
    spec["volumes"] = [{"name": "secret", "secret": {"secretName": "key", "defaultMode": 0o440}}]
    spec["securityContext"]["fsGroup"] = 65532
    spec.update(restartPolicy="Never", automountServiceAccountToken=False, hostname=f"{role}-0", subdomain=RUN)
    labels = {"benchd.io/run": RUN, "benchd.io/role": role}
    name = f"{RUN}-{env['EXCHANGE'].lower()}-{role}-0"
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels}, "spec": spec}


def create(k, body, check=True):
    return k("create", "--validate=strict", "-f", "-", stdin=json.dumps(body), check=check)


def wait_for_end(k, name):
    def phase():
        return k("get", "pod", name, "-o", "jsonpath={.status.phase}").stdout
    wait_until(lambda: phase() in ("Succeeded", "Failed"), POD_S, f"pod {name} ends")
    return json.loads(k("get", "pod", name, "-o", "json").stdout)["status"]


def check_summary(t, k, pod, name):
    """The pod succeeded, and its termination message is its summary, which is also the last line of its log."""
    pod_name = pod["metadata"]["name"]
    status = wait_for_end(k, pod_name)
    end = status["containerStatuses"][0]["state"].get("terminated", {})
    log = k("logs", pod_name).stdout
    if not t.equal(("Succeeded", 0, "Completed"), (status["phase"], end.get("exitCode"), end.get("reason")),
                   f"{name}: succeeds"):
        print("\n".join("# " + line for line in log.splitlines()[-10:]))
        return
    message = end.get("message", "")
    t.ok(0 < len(message.encode()) <= SUMMARY_MAX_BYTES, f"{name}: a message of at most {SUMMARY_MAX_BYTES} bytes",
         len(message))
    summary = json.loads(message)
    role = pod["metadata"]["labels"]["benchd.io/role"]
    t.equal((1, "summary", role, 0), tuple(summary[key] for key in ("benchd", "type", "role", "index")),
            f"{name}: the message is its summary")
    t.equal(message.strip(), log.strip().splitlines()[-1], f"{name}: the last line of its log too")
    t.equal("Guaranteed", status["qosClass"], f"{name}: no other pod shares its CPU")
    t.ok(status["containerStatuses"][0].get("containerID", "").startswith("containerd://"), f"{name}: is real")
    return summary


def check_training(t, cluster):
    k = cluster.kubectl
    t.equal("restricted", k("get", "namespace", "benchd", "-o",
                            r"jsonpath={.metadata.labels.pod-security\.kubernetes\.io/enforce}").stdout,
            "Pod Security: restricted is enforced")
    secret = base64.b64encode(os.urandom(32)).decode()
    create(k, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"}, "data": {"secret": secret}})
    trainer = shipped_template(cluster, "trainer")
    alone = replica(trainer, "trainer", {"EXCHANGE": "None", "PSERVERS": 0})

    as_root = copy.deepcopy(alone)
    as_root["spec"]["securityContext"].update(runAsUser=0, runAsNonRoot=False)
    t.match("violates PodSecurity", create(k, as_root, check=False).stderr, "a pod that runs as root is refused")

    create(k, alone)
    summary = check_summary(t, k, alone, "one trainer alone")
    if summary:
        t.equal((2, 1), (summary["samples"], summary["steps"]), "one trainer alone: 2 samples in 1 step")
        t.ok(summary["duration_ns"] > 0 and summary["loss_first"] > 0, "one trainer alone: took time, has a loss",
             summary)

    create(k, {"apiVersion": "v1", "kind": "Service", "metadata": {"name": RUN}, "spec": {
        "clusterIP": "None", "publishNotReadyAddresses": True, "selector": {"benchd.io/run": RUN},
        "ports": [{"name": "exchange", "port": PORT}]}})
    server = f"pserver-0.{RUN}.benchd.svc:{PORT}"
    shared = {"EXCHANGE": "PServer", "PSERVERS": 1, "PSERVER_ADDRS": server, "LISTEN": f"0.0.0.0:{PORT}"}
    pods = [replica(shipped_template(cluster, role), role, shared) for role in ("pserver", "trainer")]
    for pod in pods:
        create(k, pod)
    for pod in pods:
        check_summary(t, k, pod, f"by DNS, {pod['metadata']['labels']['benchd.io/role']}")


def check_dns(t, k):
    """What the worker relies on, seen without it: the name is the pod's address, a wrong one is no name."""
    create(k, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "shell"}, "spec": {
        "restartPolicy": "Never", "hostname": "trainer-7", "subdomain": RUN,
        "securityContext": {"runAsNonRoot": True, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [{"name": "main", "image": "benchd.local/busybox:1", "command": ["sleep", "600"],
                        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}}]}})
    k("label", "pod", "shell", f"benchd.io/run={RUN}")
    k("wait", "--for=condition=Ready", "pod/shell", f"--timeout={POD_S}s")
    address = k("get", "pod", "shell", "-o", "jsonpath={.status.podIP}").stdout

    def resolve(host):
        return k("exec", "shell", "--", "nslookup", f"{host}.{RUN}.benchd.svc.cluster.local", check=False).stdout
    def wait_said(host, pattern, what):
        """One answer may be lost on a busy machine."""
        said = []
        t.ok(becomes(lambda: said.append(resolve(host)) or re.search(pattern, said[-1]), END_S), what, said[-1])
    wait_said("trainer-7", rf"(?m)^Address.*{address}$", "the name of a pod in a headless Service")
    wait_said("trainer-8", "NXDOMAIN", "a pod that is not there has no name")


def main():
    if sys.argv[1:] == ["--hold"]:
        return hold_node()
    tap.skip_if(why_not())
    t = tap.Tap()
    if "--long" in sys.argv[1:]:
        check_end(t, "normal end", lambda child: child.stdin.close())
        check_end(t, "kill -9", lambda child: child.kill())
        check_end(t, "SIGTERM", lambda child: child.terminate())
    check_end(t, "kill -9, keeper too", kill_with_keeper)
    with Node(namespace=None) as node:
        k = node.cluster.kubectl
        k("apply", "-f", tap.ROOT / "manifests" / "namespace.yaml")
        node.cluster.wait_for_service_account()
        node.load("benchworker")
        check_training(t, node.cluster)
        check_dns(t, k)
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
