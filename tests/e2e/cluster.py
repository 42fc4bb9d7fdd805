"""A throw-away Kubernetes control plane for the end-to-end tests.

    with Cluster() as cluster:                       # etcd and kube-apiserver
        cluster.kubectl("get", "namespaces")
    with Cluster(parts=CONTROLLERS) as cluster:      # and kube-controller-manager, kube-scheduler
    with Cluster(parts=CONTROLLERS, kwok=kwok.without_ends):    # and simulated nodes

Everything lives in one temporary folder; the API server listens on a free loopback port, etcd on a socket in that
folder. The servers are children that the kernel kills with the test (PR_SET_PDEATHSIG), however the test ends.
node.py adds one real node, and puts all of it into a network namespace.
"""
import ctypes
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from node_keeper import IPV4

HERE = pathlib.Path(__file__).resolve().parent
CRD = HERE.parents[1] / "manifests" / "benchmark-crd.yaml"
START_S = 240
KUBECTL_S = 300
PORT_TRIES = 5
API = ("etcd", "kube-apiserver")
CONTROLLERS = (*API, "kube-controller-manager", "kube-scheduler")

_libc = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1


class ClusterError(Exception):
    """The control plane could not be started; the text holds the end of the server's log."""


def die_with_parent():
    """A preexec_fn: asks in the child for SIGKILL at the parent's end, which may have come already."""
    parent = os.getpid()

    def before_exec():
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
    return before_exec


held_ports = []   # to the end of this process


def free_port():
    """Below the range from which the kernel gives ports to others: nobody gets it before a server listens there, nor while one restarts.
    A socket with a name in this network namespace keeps it from other tests, whose servers may not listen yet either."""
    low = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        port, holder = random.randrange(low // 2, low), socket.socket(socket.AF_UNIX)
        try:
            holder.bind(f"\0benchd-port-{port}")
            with socket.socket() as s:
                s.bind(("127.0.0.1", port))
        except OSError:   # somebody's
            holder.close()
            continue
        held_ports.append(holder)
        return port


def built(*modules):
    """The folders of these modules, each with a bin; builds them at the first call on a machine (minutes)."""
    build = subprocess.run([HERE / "kubernetes" / "build.sh", *modules], stdout=subprocess.PIPE, check=True, text=True)
    return [pathlib.Path(bin).parent for bin in build.stdout.split()]


def programs(*modules):
    """{name: path} of their programs."""
    return {path.name: path for folder in built(*modules) for path in (folder / "bin").iterdir()}


def becomes(is_done, seconds):
    """Asks twenty times a second; False if it was not so within the time."""
    deadline = time.monotonic() + seconds
    while not is_done():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def wait_until(is_done, seconds, what):
    """what: words, or a function that says them once the time is over."""
    if not becomes(is_done, seconds):
        raise ClusterError(f"not within {seconds} s: {what() if callable(what) else what}")


class Cluster:
    def __init__(self, parts=API, kwok=None, node=None, namespace="benchd", api_options=(), controller_options=()):
        """api_options, controller_options: more options of kube-apiserver and of kube-controller-manager.
        kwok: makes KWOK's configuration (kwok.py).
        node: the real node of node.py, in whose network all of it runs.
        namespace: made at the start; None leaves that to the manifests under test.
        """
        self.parts = parts
        self.kwok = kwok
        self.node = node
        self.namespace = namespace
        self.api_options = api_options
        self.controller_options = controller_options
        self.programs = {}
        self.dir = None
        self.servers = {}

    def __enter__(self):
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))   # a timeout of meson: still remove the folder
        self.programs = programs("etcd", "kube", *(["kwok"] if self.kwok else []))
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="benchd-e2e-", dir=self.node and self.node.dir))
        try:
            self._start_etcd()
            self._start_api_server()
            self._start_controllers()
            if self.kwok:
                self._start_kwok()
            if self.namespace:
                self.kubectl("create", "namespace", self.namespace)
                self.wait_for_service_account()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for server in reversed(self.servers.values()):
            server.kill()   # nothing is worth a graceful end here
            server.wait()
        self.servers.clear()
        shutil.rmtree(self.dir, ignore_errors=True)

    @property
    def kubeconfig(self):
        return self.dir / "pki/admin.kubeconfig"

    def make_kubeconfig(self, name, change):
        """A copy of the administrator's, with all files in it, that change(cluster, user, config) has altered."""
        done = self.kubectl("config", "view", "--raw", "--flatten", "-o", "json")
        config = json.loads(done.stdout)
        change(config["clusters"][0]["cluster"], config["users"][0]["user"], config)
        path = self.dir / f"{name}.kubeconfig"
        path.write_text(json.dumps(config, indent=1))
        return path

    def apply_kinds(self):
        """Benchmark and BenchmarkRun; and the account that pods name, whose controller may not be there."""
        self.kubectl("create", "serviceaccount", "default", check=False)
        self.kubectl("apply", "-f", CRD)
        self.wait_for_kinds()

    def wait_for_kinds(self):
        """Until the API server serves both. `kubectl wait` ends with an error while a new CRD has no conditions yet."""
        wait_until(lambda: self.kubectl("wait", "--for=condition=Established", "--timeout=60s", "-f", CRD, check=False).returncode == 0,
                   START_S, "both kinds are established")

    def kubectl(self, *args, check=True, stdin=None):
        """Runs kubectl as administrator in the namespace benchd; returns the finished process with its output."""
        done = self.run(self.programs["kubectl"], *args, stdin=stdin)
        if check and done.returncode != 0:
            raise ClusterError(f"kubectl {' '.join(map(str, args))}: {done.stderr.strip()}")
        return done

    def run(self, *command, stdin=None, timeout=KUBECTL_S, env=None):
        """Runs a command as administrator, where the API server can be reached; returns the finished process."""
        return subprocess.run(self.command(*command), input=stdin, env={**self.env(), **(env or {})},
                              capture_output=True, text=True, timeout=timeout)

    def env(self):
        # GOGC: kubectl ends before it needs memory back, and collecting takes a quarter of its time.
        return {"PATH": os.environ["PATH"], "HOME": str(self.dir), "KUBECONFIG": str(self.kubeconfig), "GOGC": "off"}

    def command(self, *command):
        """The command as it must be started to reach the API server: within the node's network, if there is a node."""
        return [*(self.node.in_network() if self.node else []), *command]

    def restart(self, name):
        """Kills a server with SIGKILL and starts it again as it was; etcd and the API server keep their data."""
        self.servers[name].kill()
        self.servers[name].wait()
        self._popen(name, self.servers[name].args)
        if name == "kube-apiserver":
            wait_until(self._is_ready, START_S, "kube-apiserver is ready again")

    def start(self, name, *command):
        """Starts a server of the cluster: its output goes to NAME.log, and it ends with the test."""
        self._popen(name, self.command(*command))

    def _popen(self, name, command):
        # GOGC: a fifth less of a CPU, for half as much memory again.
        with open(self.dir / f"{name}.log", "ab") as log:
            self.servers[name] = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.dir,
                                                  env={"GOGC": "400", **os.environ}, preexec_fn=die_with_parent())

    def _spawn(self, name, *args):
        self.start(name, self.programs[name], *args)

    def log_tail(self, name):
        return "\n".join((self.dir / f"{name}.log").read_text(errors="replace").splitlines()[-15:])

    def wait_for(self, name, is_ready):
        """True when ready, False when the server ended first; raises after START_S."""
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            if self.servers[name].poll() is not None:
                return False
            if is_ready():
                return True
            time.sleep(0.3)   # asking may take kubectl, and a CPU that the server needs
        raise ClusterError(f"{name} is not ready after {START_S} s:\n{self.log_tail(name)}")

    def _start_etcd(self):
        # etcd insists on host:port, and makes sockets of these very names in its working folder.
        client, peer = "unix://client:0", "unix://peer:0"
        self._spawn("etcd", "--name=n0", f"--data-dir={self.dir}/etcd", "--unsafe-no-fsync", "--log-level=warn",
                    f"--listen-client-urls={client}", f"--advertise-client-urls={client}",
                    f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}",
                    f"--initial-cluster=n0={peer}")
        if not self.wait_for("etcd", (self.dir / "client:0").exists):
            raise ClusterError(f"etcd ended:\n{self.log_tail('etcd')}")

    def _start_api_server(self):
        # In a network of its own the API server takes the address of the Service "kubernetes" (node.py).
        for port in [443] if self.node else [free_port() for _ in range(PORT_TRIES)]:
            pki = self.dir / "pki"
            shutil.rmtree(pki, ignore_errors=True)   # of a port that was taken
            certs = [HERE / "kubernetes" / "certs.sh", pki, f"https://127.0.0.1:{port}"]
            subprocess.run([*certs, *([self.node.name] if self.node else [])], check=True)
            to_kubelet = [f"--kubelet-client-certificate={pki}/apiserver-kubelet.crt",
                          f"--kubelet-client-key={pki}/apiserver-kubelet.key"]
            self._spawn("kube-apiserver", f"--etcd-servers=unix://{self.dir}/client:0",
                        f"--secure-port={port}",
                        f"--bind-address={self.node.network.any if self.node else '127.0.0.1'}",
                        *([f"--advertise-address={self.node.ip}"] if self.node else []),
                        "--endpoint-reconciler-type=none",   # else it refuses a loopback address
                        f"--service-cluster-ip-range={(self.node.network if self.node else IPV4).services}", "--profiling=false",
                        f"--client-ca-file={pki}/ca.crt", f"--tls-cert-file={pki}/apiserver.crt",
                        f"--tls-private-key-file={pki}/apiserver.key", "--authorization-mode=Node,RBAC",
                        "--service-account-issuer=https://kubernetes.default.svc",
                        f"--service-account-key-file={pki}/sa.pub", f"--service-account-signing-key-file={pki}/sa.key",
                        "--kubelet-preferred-address-types=InternalIP", *(to_kubelet if self.node else []), *self.api_options)
            if self.wait_for("kube-apiserver", self._is_ready):
                return
            if "address already in use" not in self.log_tail("kube-apiserver"):
                break
        raise ClusterError(f"kube-apiserver ended:\n{self.log_tail('kube-apiserver')}")

    def _start_controllers(self):
        pki = self.dir / "pki"
        if "kube-controller-manager" in self.parts:
            # The default of 20 requests a second would hide how fast benchd itself is. So below.
            self._spawn("kube-controller-manager", f"--kubeconfig={pki}/kcm.kubeconfig", "--secure-port=0",
                        "--leader-elect=false", "--use-service-account-credentials=true",
                        f"--service-account-private-key-file={pki}/sa.key", f"--root-ca-file={pki}/ca.crt",
                        "--kube-api-qps=1000", "--kube-api-burst=1000", *self.controller_options)
        if "kube-scheduler" in self.parts:
            (self.dir / "scheduler.yaml").write_text(
                "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
                "leaderElection: {leaderElect: false}\n"
                f"clientConnection: {{kubeconfig: {pki}/scheduler.kubeconfig, qps: 1000, burst: 1000}}\n")
            self._spawn("kube-scheduler", f"--config={self.dir}/scheduler.yaml", "--secure-port=0")

    def _start_kwok(self):
        pki, port = self.dir / "pki", free_port()
        (self.dir / "kwok.yaml").write_text(self.kwok())
        self._spawn("kwok", f"--kubeconfig={pki}/kwok.kubeconfig", "--manage-all-nodes=false",
                    "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake", f"--config={self.dir}/kwok.yaml",
                    f"--server-address=127.0.0.1:{port}", "--node-ip=127.0.0.1", f"--node-port={port}",
                    f"--tls-cert-file={pki}/apiserver.crt", f"--tls-private-key-file={pki}/apiserver.key",
                    "--node-lease-duration-seconds=40")

    def wait_for_service_account(self):
        """A namespace takes pods once the controller manager has made its default ServiceAccount."""
        if "kube-controller-manager" in self.parts:
            self.kubectl("wait", "--for=create", "serviceaccount/default", f"--timeout={START_S}s")

    def _is_ready(self):
        return self.kubectl("get", "--raw", "/readyz", check=False).returncode == 0
