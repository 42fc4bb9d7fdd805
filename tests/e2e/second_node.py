"""A second real node beside that of node.py, joined to it by a veth pair: a gang spans both, and this one can die.

    with Node() as node, Peer(node) as peer:
        peer.load("benchworker")
        peer.kill_kubelet()     # its containers live on, and nobody reports them
        peer.end()              # the machine loses power

It has namespaces, containerd, cgroups and pod addresses of its own, and no control plane: its kubelet and its pods reach the API server and
the DNS of the first node by way of the pair.
"""
import subprocess

from cluster import ClusterError
from machine import HERE, Machine

ADDRESS, GATEWAY = "10.99.1.2", "10.99.1.1"
PODS = "10.98.1.0/24"
SERVER = "https://10.96.0.1:443"


class Peer(Machine):
    def __init__(self, node):
        super().__init__(ADDRESS, PODS, "--joined", lease_s=node.lease_s)
        self.node, self.cluster = node, node.cluster

    def __enter__(self):
        try:
            self.start_containers()
            self._join()
            self.load_test_images()
            subprocess.run([HERE / "kubernetes" / "certs.sh", self.cluster.dir / "pki", SERVER, self.name], check=True)
            self.start_kubelet()
            self.wait_for_ready()
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, *_):
        self.end()

    def _join(self):
        """The interface goes with either namespace."""
        here, there = self.node.in_network(), self.in_network()
        for words, *command in (
                (here, "link", "add", "peer0", "type", "veth", "peer", "name", "node0", "netns", str(self.first_pid)),
                (here, "address", "add", f"{GATEWAY}/24", "dev", "peer0"),
                (here, "link", "set", "peer0", "up"),
                (there, "address", "add", f"{ADDRESS}/24", "dev", "node0"),
                (there, "link", "set", "node0", "up"),
                (there, "route", "add", "default", "via", GATEWAY),
                (here, "route", "add", PODS, "via", ADDRESS)):
            done = subprocess.run([*words, "ip", *command], capture_output=True, text=True)
            if done.returncode != 0:
                raise ClusterError(f"ip {' '.join(command)}: {done.stderr.strip()}")
