"""A throw-away Kubernetes API server (etcd and kube-apiserver) for the end-to-end tests.

    with Cluster() as cluster:
        cluster.kubectl("get", "namespaces")

Everything lives in one temporary folder; the API server listens on a free loopback port, etcd on a socket in that
folder. The servers are children that the kernel kills with the test (PR_SET_PDEATHSIG), however the test ends.
"""
import ctypes
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
START_S = 120
KUBECTL_S = 120
PORT_TRIES = 5

_libc = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1


class ClusterError(Exception):
    """The control plane could not be started; the text holds the end of the server's log."""


def _die_with(parent):
    """Runs in the child: asks for SIGKILL at the parent's end, which may have come already."""
    def before_exec():
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
    return before_exec


def _free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def _programs():
    """The folder with etcd, kube-apiserver and kubectl; builds them at the first call on a machine (minutes)."""
    build = subprocess.run([HERE / "kubernetes" / "build.sh"], stdout=subprocess.PIPE, check=True, text=True)
    return pathlib.Path(build.stdout.strip())


class Cluster:
    def __init__(self):
        self.bin = None
        self.dir = None
        self.servers = {}

    def __enter__(self):
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))   # a timeout of meson: still remove the folder
        self.bin = _programs()
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="benchd-e2e-"))
        try:
            self._start_etcd()
            self._start_api_server()
            self.kubectl("create", "namespace", "benchd")
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

    def kubectl(self, *args, check=True, stdin=None):
        """Runs kubectl as administrator in the namespace benchd; returns the finished process with its output."""
        env = {"PATH": os.environ["PATH"], "HOME": str(self.dir), "KUBECONFIG": str(self.dir / "pki/admin.kubeconfig")}
        done = subprocess.run([self.bin / "kubectl", *args], input=stdin, env=env, capture_output=True, text=True,
                              timeout=KUBECTL_S)
        if check and done.returncode != 0:
            raise ClusterError(f"kubectl {' '.join(map(str, args))}: {done.stderr.strip()}")
        return done

    def _spawn(self, name, *args):
        with open(self.dir / f"{name}.log", "ab") as log:
            self.servers[name] = subprocess.Popen(
                [self.bin / name, *args], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.dir,
                preexec_fn=_die_with(os.getpid()))

    def _log_tail(self, name):
        return "\n".join((self.dir / f"{name}.log").read_text(errors="replace").splitlines()[-15:])

    def _wait(self, name, is_ready):
        """True when ready, False when the server ended first; raises after START_S."""
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            if self.servers[name].poll() is not None:
                return False
            if is_ready():
                return True
            time.sleep(0.1)
        raise ClusterError(f"{name} is not ready after {START_S} s:\n{self._log_tail(name)}")

    def _start_etcd(self):
        # etcd insists on host:port, and makes sockets of these very names in its working folder.
        client, peer = "unix://client:0", "unix://peer:0"
        self._spawn("etcd", "--name=n0", f"--data-dir={self.dir}/etcd", "--unsafe-no-fsync", "--log-level=warn",
                    f"--listen-client-urls={client}", f"--advertise-client-urls={client}",
                    f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}",
                    f"--initial-cluster=n0={peer}")
        if not self._wait("etcd", (self.dir / "client:0").exists):
            raise ClusterError(f"etcd ended:\n{self._log_tail('etcd')}")

    def _start_api_server(self):
        for _ in range(PORT_TRIES):
            port = _free_port()
            pki = self.dir / "pki"
            subprocess.run([HERE / "kubernetes" / "certs.sh", pki, f"https://127.0.0.1:{port}"], check=True)
            self._spawn("kube-apiserver", f"--etcd-servers=unix://{self.dir}/client:0",
                        "--bind-address=127.0.0.1", f"--secure-port={port}", "--endpoint-reconciler-type=none",
                        "--service-cluster-ip-range=10.96.0.0/16", "--profiling=false",
                        f"--client-ca-file={pki}/ca.crt", f"--tls-cert-file={pki}/apiserver.crt",
                        f"--tls-private-key-file={pki}/apiserver.key", "--authorization-mode=Node,RBAC",
                        "--service-account-issuer=https://kubernetes.default.svc",
                        f"--service-account-key-file={pki}/sa.pub", f"--service-account-signing-key-file={pki}/sa.key")
            if self._wait("kube-apiserver", self._is_ready):
                return
            if "address already in use" not in self._log_tail("kube-apiserver"):
                break
        raise ClusterError(f"kube-apiserver ended:\n{self._log_tail('kube-apiserver')}")

    def _is_ready(self):
        return self.kubectl("get", "--raw", "/readyz", check=False).returncode == 0
