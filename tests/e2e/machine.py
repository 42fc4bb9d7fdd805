"""What makes a real node, but for its control plane: namespaces, containerd, images, kubelet (node.py, two_nodes.py).

It needs root, the packages marked `test` in script/packages.txt, and namespaces; why_not() says what is missing.
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import mkimage
from cluster import ClusterError, die_with_parent, wait_until
from node_keeper import IPV4, IPV6, ONLY_IPV6, hierarchies

HERE = pathlib.Path(__file__).resolve().parent
READY_S = 240
IMPORT_S = 240
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
address: "{ip}"
healthzBindAddress: 127.0.0.1
readOnlyPort: 0
authentication: {{anonymous: {{enabled: false}}, webhook: {{enabled: true}}, x509: {{clientCAFile: {pki}/ca.crt}}}}
authorization: {{mode: Webhook}}
resolvConf: ""
clusterDNS: ["{dns}"]
clusterDomain: cluster.local
podLogsDir: {dir}/podlogs
evictionHard: {{memory.available: "0%", nodefs.available: "0%", imagefs.available: "0%", nodefs.inodesFree: "0%", imagefs.inodesFree: "0%"}}
imageGCHighThresholdPercent: 100
nodeStatusUpdateFrequency: 5s
nodeLeaseDurationSeconds: {lease_s}
crashLoopBackOff: {{maxContainerRestartPeriod: 1s}}
{more}
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


def has_ipv6():
    return os.path.exists("/proc/net/if_inet6")


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


class Machine:
    """A node with an address and a range of addresses for its pods. Its owner sets `cluster` before start_kubelet()."""

    def __init__(self, ip, pods, *keeper_options, lease_s=40, kubelet=""):
        """lease_s: of the node's Lease, which is renewed four times in this time; kubelet: more lines of its configuration."""
        self.ip, self.pods, self.lease_s, self.more = ip, pods, lease_s, kubelet
        self.network = IPV6 if ONLY_IPV6 in keeper_options else IPV4
        self.cluster = None
        self.dir = None
        self.name = None
        self._keeper_options = keeper_options
        self._keeper = None
        self._kubelet = None
        self.first_pid = None

    def start_containers(self):
        """Makes the namespaces, and starts containerd in them."""
        self._start_keeper()
        self._write_cni()   # before containerd, which would make its folder
        self._start("containerd", "containerd", "-c", self.write("containerd.toml", CONTAINERD_TOML))

    def end(self):
        """The end of everything in it, as when the machine loses power; what it leaves is cleared up."""
        if self._keeper:
            self._keeper.stdin.close()
            self._keeper.wait()
            self._keeper = None

    def in_network(self):
        """Words before a command that put it into the node's network."""
        return ["nsenter", f"--net=/proc/{self.first_pid}/ns/net", "--"]

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

    def load_archive(self, archive, timeout=IMPORT_S):
        """Gives the image of an OCI archive to containerd."""
        self._import(archive, timeout)

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

    def kill_kubelet(self):
        """kill -9 of the kubelet; containerd and all containers live on."""
        # What was started is nsenter, whose one child is the kubelet.
        children = pathlib.Path(f"/proc/{self._kubelet.pid}/task/{self._kubelet.pid}/children").read_text().split()
        for pid in children:
            os.kill(int(pid), signal.SIGKILL)
        self._kubelet.wait()
        return len(children)

    def _start_keeper(self):
        self._keeper = subprocess.Popen([sys.executable, HERE / "node_keeper.py", *self._keeper_options],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
        line = self._keeper.stdout.readline().strip()
        if not line or line.startswith("failed: "):
            raise ClusterError(f"the node's namespaces: {line}")
        pid, self.name, folder = line.split(" ", 2)
        self.first_pid, self.dir = int(pid), pathlib.Path(folder)

    def write(self, file, text):
        pki = self.cluster and self.cluster.dir / "pki"
        path = self.dir / file
        path.write_text(text.format(dir=self.dir, name=self.name, ip=self.ip, pki=pki, pause=PAUSE,
                                    cni_plugins=CNI_PLUGINS, lease_s=self.lease_s, dns=self.network.dns, more=self.more))
        return path

    def _write_cni(self):
        (self.dir / "cni").mkdir()
        bridge = {"type": "bridge", "bridge": "cni0", "isGateway": True, "ipMasq": False, "hairpinMode": True,
                  "ipam": {"type": "host-local", "dataDir": f"{self.dir}/ipam",
                           "ranges": [[{"subnet": self.pods}]], "routes": [{"dst": f"{self.network.any}/0"}]}}
        (self.dir / "cni" / "10-bridge.conflist").write_text(
            json.dumps({"cniVersion": "0.4.0", "name": "benchd", "plugins": [bridge]}))

    def _start(self, name, *command):
        """Starts a process inside the node; it ends with the node's first process."""
        with open(self.dir / f"{name}.log", "ab") as log:
            return subprocess.Popen(["nsenter", f"--target={self.first_pid}", "--pid", "--mount", "--net", "--", *command],
                                    stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=die_with_parent())

    def _ctr(self, *args, timeout=IMPORT_S):
        return subprocess.run(["ctr", "-a", self.dir / "cd.sock", "-n", "k8s.io", *args], capture_output=True,
                              text=True, timeout=timeout)

    def _import(self, archive, timeout=IMPORT_S):
        done = self._ctr("images", "import", archive, timeout=timeout)
        if done.returncode != 0:
            raise ClusterError(f"ctr images import {archive}: {done.stderr.strip()}")

    def load_test_images(self):
        try:
            wait_until(lambda: self._ctr("version").returncode == 0, READY_S, "containerd answers")
        except ClusterError as e:
            raise ClusterError(f"{e}:\n{self.log_tail('containerd')}") from None
        pause = ["/bin/busybox", "tail", "-f", "/dev/null"]
        self._import(mkimage.make_busybox(PAUSE, self.dir / "pause.tar", pause))
        self._import(mkimage.make_busybox(BUSYBOX, self.dir / "busybox.tar", ["/bin/sh"]))

    def start_kubelet(self):
        kubeconfig = self.cluster.dir / "pki" / f"{self.name}.kubeconfig"
        self._kubelet = self._start(
            "kubelet", self.cluster.programs["kubelet"], "--config", self.write("kubelet.yaml", KUBELET_YAML),
            "--kubeconfig", kubeconfig, "--root-dir", self.dir / "kubelet", "--hostname-override", self.name,
            "--node-ip", self.ip, "--cert-dir", self.dir / "kubelet-pki")

    def wait_for_ready(self):
        k = self.cluster.kubectl
        node = f"node/{self.name}"
        for condition in ("create", "condition=Ready"):
            done = k("wait", f"--for={condition}", node, f"--timeout={READY_S - 5}s", check=False)
            if done.returncode != 0:
                raise ClusterError(f"the node is not ready: {done.stderr}\n{self.log_tail('kubelet')}")

    def log_tail(self, name):
        return "\n".join((self.dir / f"{name}.log").read_text(errors="replace").splitlines()[-15:])
