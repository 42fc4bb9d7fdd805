#!/usr/bin/env python3
"""One real Kubernetes node for the end-to-end tests: containerd, runc, kubelet and CoreDNS, with its control plane.

    with Node() as node:
        node.load("benchworker")                # the image, from the build tree
        node.cluster.kubectl("apply", "-f", "pod.yaml")

The node has PID, mount and network namespaces of its own (node_keeper.py), and its control plane runs in the same
network: pods reach the API server at 10.96.0.1:443 (only_ipv6: [fd00:96::1]:443), as in any cluster. Whatever ends the test, everything goes with it.
A program of the tests that talks to this API server is started with cluster.run() or cluster.command().

By hand, with the named images of a build tree, and a command (default: a shell) that has kubectl and KUBECONFIG; the
node lives as long as it:

    tests/e2e/node.py BUILD_DIR [benchd] [benchworker] [-- COMMAND...]
"""
import argparse
import json
import os
import signal
import subprocess
import sys

import mkimage
from cluster import CONTROLLERS, CRD, Cluster, ClusterError, programs, wait_until
from machine import READY_S, Machine, why_not
from node_keeper import IPV4, IPV6, ONLY_IPV6

COREFILE = """.:53 {{
  errors
  cache 2
  kubernetes cluster.local {{
    kubeconfig {pki}/coredns.kubeconfig
    ttl 2
  }}
}}
"""


class Node(Machine):
    def __init__(self, namespace="benchd", controller_options=(), lease_s=40, only_ipv6=False, kubelet=""):
        """namespace, controller_options: as of Cluster; lease_s, kubelet: as of Machine; only_ipv6: node, Services and pods have
        no other addresses."""
        network = IPV6 if only_ipv6 else IPV4
        super().__init__(network.node, network.pods, *([ONLY_IPV6] if only_ipv6 else []), lease_s=lease_s, kubelet=kubelet)
        self.namespace = namespace
        self.controller_options = controller_options

    def __enter__(self):
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        coredns = programs("coredns")["coredns"]
        try:
            self.start_containers()
            self.cluster = Cluster(parts=CONTROLLERS, node=self, namespace=self.namespace,
                                   controller_options=self.controller_options).__enter__()
            self.load_test_images()
            self.start_kubelet()
            self._start_coredns(coredns)
            self.wait_for_ready()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.cluster:
            self.cluster.__exit__()
        self.end()

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
        k("apply", "-f", CRD)
        self.cluster.wait_for_kinds()
        self.local_volume("benchd")
        k("apply", "-k", mkimage.ROOT / "manifests")
        done = k("rollout", "status", "deployment/benchd", f"--timeout={READY_S - 5}s", check=False)
        if done.returncode != 0:
            raise ClusterError(f"benchd is not ready: {done.stderr}\n{k('get', 'events').stdout}"
                               f"{k('logs', 'deployment/benchd', check=False).stdout}")

    def _start_coredns(self, program):
        self.cluster.start("coredns", program, "-conf", self.write("Corefile", COREFILE))
        log = self.cluster.dir / "coredns.log"
        ended = self.cluster.servers["coredns"].poll
        wait_until(lambda: ended() is not None or "CoreDNS-" in log.read_text(), READY_S, "CoreDNS serves")
        if ended() is not None:
            raise ClusterError(f"CoreDNS ended:\n{log.read_text()}")


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
