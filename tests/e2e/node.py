#!/usr/bin/env python3
"""One real Kubernetes node for the end-to-end tests: containerd, runc, kubelet and CoreDNS, with its control plane.

    with Node() as node:
        node.load("benchworker")                # the image, from the build tree
        node.cluster.kubectl("apply", "-f", "pod.yaml")

The node has PID, mount and network namespaces of its own (node_keeper.py), and its control plane runs in the same
network: pods reach the API server at 10.96.0.1:443, as in any cluster. Whatever ends the test, everything goes with it.
A program of the tests that talks to this API server is started with cluster.run() or cluster.command().

By hand, with the named images of a build tree, and a command (default: a shell) that has kubectl and KUBECONFIG; the
node lives as long as it:

    tests/e2e/node.py BUILD_DIR [benchd] [benchworker] [-- COMMAND...]
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import mkimage
from cluster import CONTROLLERS, Cluster, ClusterError, die_with_parent, programs, wait_until
from node_keeper import NODE_IP, hierarchies

HERE = pathlib.Path(__file__).resolve().parent
READY_S = 120
IMPORT_S = 120
CNI_PLUGINS = pathlib.Path("/usr/lib/cni")
NEEDED = ("containerd", "runc", "ctr", "ip", "nsenter", "unshare", "busybox")
BUSYBOX = "benchd.local/busybox:1"   # what the tests run as a pod beside our own images
PAUSE = "benchd.local/pause:1"

CONTAINERD_TOML = """
version = 2
root = "{dir}/cd/root"
state = "{dir}/cd/state"
[grpc]
  address = "{dir}/cd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  # Without CAP_SYS_RESOURCE runc cannot lower oom_score_adj, and dies of it.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{cni_plugins}"
    conf_dir = "{dir}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
"""

KUBELET_YAML = """
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
failSwapOn: false
cgroupDriver: cgroupfs
cgroupRoot: /{name}
containerRuntimeEndpoint: unix://{dir}/cd.sock
address: {ip}
healthzBindAddress: 127.0.0.1
readOnlyPort: 0
authentication: {{anonymous: {{enabled: false}}, webhook: {{enabled: true}}, x509: {{clientCAFile: {pki}/ca.crt}}}}
authorization: {{mode: Webhook}}
resolvConf: ""
clusterDNS: [10.96.0.10]
clusterDomain: cluster.local
podLogsDir: {dir}/podlogs
evictionHard: {{memory.available: "0%", nodefs.available: "0%", imagefs.available: "0%", nodefs.inodesFree: "0%", imagefs.inodesFree: "0%"}}
imageGCHighThresholdPercent: 100
nodeStatusUpdateFrequency: 5s
crashLoopBackOff: {{maxContainerRestartPeriod: 1s}}
"""

COREFILE = """.:53 {{
  errors
  cache 2
  kubernetes cluster.local {{
    kubeconfig {pki}/coredns.kubeconfig
    ttl 2
  }}
}}
"""


def why_not():
    """Why no node can run on this machine, or None."""
    if os.geteuid() != 0:
        return "a real node needs root"
    missing = [name for name in NEEDED if not shutil.which(name)]
    missing += [] if (CNI_PLUGINS / "bridge").exists() else [f"{CNI_PLUGINS}/bridge"]
    if missing:
        return f"a real node needs {', '.join(missing)} (script/packages.txt)"
    if not hierarchies() or not all(os.access(path, os.W_OK) for path in hierarchies()):
        return "a real node needs cgroups that it may write to"
    probe = subprocess.run(["unshare", "--pid", "--mount", "--net", "--fork", "true"], capture_output=True, text=True)
    return f"a real node needs namespaces: {probe.stderr.strip()}" if probe.returncode != 0 else None


def read_if_there(path):
    """A cgroup may go between its finding and its reading."""
    try:
        return path.read_text()
    except OSError:
        return ""


def exe_name(pid):
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/exe"))
    except OSError:
        return None


class Node:
    def __init__(self, namespace="benchd"):
        """namespace: as of Cluster."""
        self.namespace = namespace
        self.cluster = None
        self.dir = None
        self.name = None
        self._keeper = None
        self._first_pid = None

    def __enter__(self):
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        coredns = programs("coredns")["coredns"]
        try:
            self._start_keeper()
            self._write_cni() # before containerd, which would make its folder
            self._start("containerd", "containerd", "-c", self._write("containerd.toml", CONTAINERD_TOML))
            self.cluster = Cluster(parts=CONTROLLERS, node=self, namespace=self.namespace).__enter__()
            self._load_test_images()
            self._start_kubelet()
            self._start_coredns(coredns)
            self._wait_for_ready()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.cluster:
            self.cluster.__exit__()
        if self._keeper:
            self._keeper.stdin.close()
            self._keeper.wait()

    def in_network(self):
        """Words before a command that put it into the node's network."""
        return ["nsenter", f"--net=/proc/{self._first_pid}/ns/net", "--"]

    def load(self, name, build_dir=None):
        """Makes the image of benchd or benchworker from the build tree and gives it to containerd.

        BENCHD_IMAGES names a folder with NAME.tar of another make, the Dockerfile's for one."""
        folder = os.environ.get("BENCHD_IMAGES")
        if folder:
            self._import(pathlib.Path(folder) / f"{name}.tar")
            return
        archive = mkimage.make(name, build_dir or os.environ["BENCHD_BUILD_DIR"], self.dir)
        self._import(archive)
        archive.unlink()

    def local_volume(self, name, size="1Gi"):
        """Makes a PersistentVolume of a folder of this node; returns the folder."""
        folder = self.dir / "volumes" / name
        folder.mkdir(parents=True)
        here = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [self.name]}]}
        self.cluster.kubectl("create", "-f", "-", stdin=json.dumps({
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
            "spec": {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], "local": {"path": str(folder)},
                     "persistentVolumeReclaimPolicy": "Retain", "nodeAffinity": {
                         "required": {"nodeSelectorTerms": [here]}}}}))
        return folder

    def install(self):
        """Installs benchd as its users do, with the images of the build tree; returns when it is ready."""
        k = self.cluster.kubectl
        for name in ("benchd", "benchworker"):
            self.load(name)
        k("apply", "-f", mkimage.ROOT / "manifests" / "benchmark-crd.yaml")
        k("wait", "--for=condition=Established", f"--timeout={READY_S}s", "-f",
          mkimage.ROOT / "manifests" / "benchmark-crd.yaml")
        self.local_volume("benchd")
        k("apply", "-k", mkimage.ROOT / "manifests")
        done = k("rollout", "status", "deployment/benchd", f"--timeout={READY_S - 5}s", check=False)
        if done.returncode != 0:
            raise ClusterError(f"benchd is not ready: {done.stderr}\n{k('get', 'events').stdout}"
                               f"{k('logs', 'deployment/benchd', check=False).stdout}")

    def processes(self, pod_uid, program):
        """The pids, as this machine counts them, of a pod's processes that run a program of that name."""
        pids = set()
        for hierarchy in hierarchies():
            for folder, _, _ in os.walk(hierarchy / self.name):   # other than rglob, it passes over what goes meanwhile
                if os.path.basename(os.path.dirname(folder)) == f"pod{pod_uid}":
                    pids.update(int(pid) for pid in read_if_there(pathlib.Path(folder) / "cgroup.procs").split())
        return sorted(pid for pid in pids if exe_name(pid) == program)

    def kill(self, pod_uid, program):
        """kill -9 of those; returns their pids. Nothing outside of the pod's cgroups is ever looked at."""
        killed = []
        for pid in self.processes(pod_uid, program):
            try:
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
            except ProcessLookupError:
                pass   # it ended by itself just now
        return killed

    def _start_keeper(self):
        self._keeper = subprocess.Popen([sys.executable, HERE / "node_keeper.py"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, start_new_session=True)
        line = self._keeper.stdout.readline().strip()
        if not line or line.startswith("failed: "):
            raise ClusterError(f"the node's namespaces: {line}")
        pid, self.name, folder = line.split(" ", 2)
        self._first_pid, self.dir = int(pid), pathlib.Path(folder)

    def _write(self, file, text):
        pki = self.cluster and self.cluster.dir / "pki"
        path = self.dir / file
        path.write_text(text.format(dir=self.dir, name=self.name, ip=NODE_IP, pki=pki, pause=PAUSE,
                                    cni_plugins=CNI_PLUGINS))
        return path

    def _write_cni(self):
        (self.dir / "cni").mkdir()
        bridge = {"type": "bridge", "bridge": "cni0", "isGateway": True, "ipMasq": False, "hairpinMode": True,
                  "ipam": {"type": "host-local", "dataDir": f"{self.dir}/ipam",
                           "ranges": [[{"subnet": "10.98.0.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}}
        (self.dir / "cni" / "10-bridge.conflist").write_text(
            json.dumps({"cniVersion": "0.4.0", "name": "benchd", "plugins": [bridge]}))

    def _start(self, name, *command):
        """Starts a process inside the node; it ends with the node's first process."""
        with open(self.dir / f"{name}.log", "ab") as log:
            subprocess.Popen(["nsenter", f"--target={self._first_pid}", "--pid", "--mount", "--net", "--", *command],
                             stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=die_with_parent())

    def _ctr(self, *args, timeout=IMPORT_S):
        return subprocess.run(["ctr", "-a", self.dir / "cd.sock", "-n", "k8s.io", *args], capture_output=True,
                              text=True, timeout=timeout)

    def _import(self, archive):
        done = self._ctr("images", "import", archive)
        if done.returncode != 0:
            raise ClusterError(f"ctr images import {archive}: {done.stderr.strip()}")

    def _load_test_images(self):
        try:
            wait_until(lambda: self._ctr("version").returncode == 0, READY_S, "containerd answers")
        except ClusterError as e:
            raise ClusterError(f"{e}:\n{self._log_tail('containerd')}") from None
        pause = ["/bin/busybox", "tail", "-f", "/dev/null"]
        self._import(mkimage.make_busybox(PAUSE, self.dir / "pause.tar", pause))
        self._import(mkimage.make_busybox(BUSYBOX, self.dir / "busybox.tar", ["/bin/sh"]))

    def _start_kubelet(self):
        self._start("kubelet", self.cluster.programs["kubelet"], "--config", self._write("kubelet.yaml", KUBELET_YAML),
                    "--kubeconfig", self.cluster.dir / "pki/kubelet.kubeconfig", "--root-dir", self.dir / "kubelet",
                    "--hostname-override", self.name, "--node-ip", NODE_IP, "--cert-dir", self.dir / "kubelet-pki")

    def _start_coredns(self, program):
        self.cluster.start("coredns", program, "-conf", self._write("Corefile", COREFILE))
        log = self.cluster.dir / "coredns.log"
        ended = self.cluster.servers["coredns"].poll
        wait_until(lambda: ended() is not None or "CoreDNS-" in log.read_text(), READY_S, "CoreDNS serves")
        if ended() is not None:
            raise ClusterError(f"CoreDNS ended:\n{log.read_text()}")

    def _wait_for_ready(self):
        k = self.cluster.kubectl
        node = f"node/{self.name}"
        for condition in ("create", "condition=Ready"):
            done = k("wait", f"--for={condition}", node, f"--timeout={READY_S - 5}s", check=False)
            if done.returncode != 0:
                raise ClusterError(f"the node is not ready: {done.stderr}\n{self._log_tail('kubelet')}")

    def _log_tail(self, name):
        return "\n".join((self.dir / f"{name}.log").read_text(errors="replace").splitlines()[-15:])


def main():
    reason = why_not()
    if reason:
        sys.exit(f"node.py: {reason}")
    parser = argparse.ArgumentParser(usage="node.py BUILD_DIR [IMAGE...] [-- COMMAND...]")
    parser.add_argument("build_dir")
    parser.add_argument("images", nargs="*", metavar="IMAGE", help=" or ".join(mkimage.PROGRAMS))
    words = sys.argv[1:]
    end = words.index("--") if "--" in words else len(words)
    args, command = parser.parse_args(words[:end]), words[end + 1:] or [os.environ.get("SHELL", "/bin/sh")]
    signal.signal(signal.SIGINT, lambda *_: None)   # Ctrl-C is for the command
    with Node() as node:
        for name in args.images:
            node.load(name, args.build_dir)
        bin_dir = node.dir / "bin"
        bin_dir.mkdir()
        (bin_dir / "kubectl").symlink_to(node.cluster.programs["kubectl"])
        env = {**os.environ, **node.cluster.env(), "PATH": f"{bin_dir}:{os.environ['PATH']}"}
        return subprocess.run(node.cluster.command(*command), env=env).returncode


if __name__ == "__main__":
    sys.exit(main())
