#!/usr/bin/env python3
"""A gang that spans two real nodes, and the end of one of them in the middle of the training: drained, without power, and with --long left
by its kubelet. The trial counts as infrastructure and is tried again on the other node; nothing is lost, and no two gangs live at a time.

With --long the cluster also finds out by itself that a kubelet is dead, which takes half a minute.

BENCHD_BUILD_DIR names the build tree whose programs go into the images, BENCHCTL the program."""
import contextlib
import json
import os
import signal
import sys

import tap
from cluster import becomes, wait_until
from machine import why_not
from node import Node
from second_node import Peer
from user import NS, User, definition

START_S, END_S = 180, 300
LEASE_S, NOT_READY_S = 8, 20   # of a node; what the cluster waits before it believes that a node is gone
STEPS = 16


def spanning(name, peer, steps=STEPS):
    """The server on the second node, the trainer away from it, as long as both nodes take pods."""
    there = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [peer.name]}]}
    apart = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"benchd.io/role": "pserver"}}}
    affinity = {
        "pserver": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "preference": there}]}},
        "trainer": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 100, "podAffinityTerm": apart}]}}}
    leave = [{"key": f"node.kubernetes.io/{why}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 2}
             for why in ("unreachable", "not-ready")]
    patches = [{"roles": [role], "path": "/spec/affinity", "value": value} for role, value in affinity.items()]
    patches.append({"path": "/spec/tolerations", "value": leave})
    return definition(name, steps=steps, systems=[{"name": "benchworker", "profile": "benchworker", "patches": patches}])


def waiting_message(user, run, seconds):
    """That of the condition Waiting once it is true, or what kubectl says in its place."""
    message = "-o=jsonpath={.status.conditions[?(@.type=='Waiting')].message}"
    done = user.k("wait", f"bmr/{run}", "--for=condition=Waiting", f"--timeout={seconds}s", "-n", NS, message, check=False)
    return done.stdout or done.stderr


class Story:
    """One run whose server's node goes in the middle."""

    def __init__(self, user, node, peer, name, steps=STEPS):
        self.t, self.user, self.name = user.t, user, name
        self.process, self.run, self.pods = user.start_training(spanning(name, peer, steps))
        self.server = self.pods["pserver"]["metadata"]["name"]
        where = {role: pod["spec"]["nodeName"] for role, pod in self.pods.items()}
        self.t.equal({"pserver": peer.name, "trainer": node.name}, where, f"{name}: the gang spans both nodes, and trains")
        self.node, self.here = node, node.name

    @contextlib.contextmanager
    def held(self):
        """The trainer stands still, for less than its peers' patience of 10 s: it has some seconds of work left, and must not be through
        before what happens here has happened."""
        pids = self.node.processes(self.pods["trainer"]["metadata"]["uid"], "benchworker")
        self.t.equal(1, len(pids), f"{self.name}: its trainer runs")
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):   # benchd was faster
                    os.kill(pid, signal.SIGCONT)

    def remove_server(self):
        """What a cluster does whose node is gone for good: nobody there confirms the deletion."""
        self.user.k("delete", "pod", self.server, "-n", NS, "--force", "--grace-period=0")

    def check_end(self, message):
        """The second attempt is on the first node alone; the first is void."""
        seen = {}

        def second():
            seen.update((pod["metadata"]["name"], pod) for pod in self.user.pods(self.run)
                        if pod["metadata"]["labels"]["benchd.io/attempt"] == "1" and pod["spec"].get("nodeName"))
            return len(seen) == 2 or self.process.poll() is not None
        becomes(second, END_S)
        self.t.equal({self.here}, {pod["spec"]["nodeName"] for pod in seen.values()}, f"{self.name}: tried again on the other node")
        result, said = self.user.finish(self.process)
        trials = [(trial["attempt"], trial["phase"]) for point in result["points"] for trial in point["trials"]]
        self.t.equal(("Succeeded", [(1, "Succeeded")]), (result["phase"], trials), f"{self.name}: by its second attempt")
        self.t.ok(result["points"][0]["throughput"]["value"] > 0, f"{self.name}: and has its result")
        placed = {item["placement"]["node"] for point in result["points"] for trial in point["trials"]
                  for item in trial["replicas"]["items"]}
        self.t.equal({self.here}, placed, f"{self.name}: which names its node")
        self.t.match(f"attempt=0 outcome=Void error: {message}", said, f"{self.name}: the first is void, and why")
        self.user.ctl("delete", self.run)


def check_drained(user, node, peer):
    story = Story(user, node, peer, "drained")
    with story.held():
        done = user.k("drain", peer.name, "--force", "--timeout=60s", check=False)
    user.t.equal(0, done.returncode, f"drained: kubectl drain {done.stderr.strip()[-200:]}")
    story.check_end("pserver/0: .*(evicted|drained|[Ee]viction)")
    user.k("uncordon", peer.name)


def check_kubelet_killed(user, node, peer):
    """Nobody reports what becomes of the pods there: they live on until somebody removes them."""
    story = Story(user, node, peer, "unreported")
    with story.held():
        user.t.equal(1, peer.kill_kubelet(), "unreported: kill -9 of the kubelet")
        user.t.equal(1, len(peer.processes(story.pods["pserver"]["metadata"]["uid"], "benchworker")), "unreported: the server lives on")
        user.k("cordon", peer.name)
        story.remove_server()
    story.check_end("pserver/0: .*(vanished|deleted|gone)")
    user.k("uncordon", peer.name)
    restart_kubelet(user, peer)


def restart_kubelet(user, peer):
    """Returns when the cluster trusts the node again. It may still trust the kubelet that was killed and taint the node a moment later,
    and the new kubelet renews the node's Lease before it reports its first status, which may be NotReady. So the new one must
    have renewed the Lease and have reported Ready itself."""
    def seen():
        node = json.loads(user.k("get", "node", peer.name, "-o", "json").stdout)
        ready = next(c for c in node["status"]["conditions"] if c["type"] == "Ready")
        renewed = user.k("get", "lease", peer.name, "-n", "kube-node-lease", "-o", "jsonpath={.spec.renewTime}").stdout
        return renewed, ready["lastHeartbeatTime"], ready["status"] == "True" and not node["spec"].get("taints")

    def is_ready():
        renewed, reported, is_good = seen()
        return is_good and renewed != last_renewed and reported != last_reported
    last_renewed, last_reported, _ = seen()
    peer.start_kubelet()
    wait_until(is_ready, START_S, "the node is ready again")


def check_not_ready(user, node, peer):
    """The cluster marks the pod for deletion when it believes that the node is gone. Nobody knows whether it still runs, so the next gang waits."""
    story = Story(user, node, peer, "not-ready", steps=2000)
    user.t.equal(1, peer.kill_kubelet(), "not-ready: kill -9 of the kubelet")
    user.t.match(story.server, waiting_message(user, story.run, NOT_READY_S + START_S),
                 "not-ready: the next attempt waits for that pod, and names it")
    user.ctl("cancel", story.run)
    story.remove_server()
    result, _ = user.finish(story.process, code=1)
    user.t.equal("Cancelled", result["phase"], "not-ready: cancelled meanwhile")
    user.ctl("delete", story.run)
    restart_kubelet(user, peer)


def check_power_lost(user, node, peer):
    """The trainer misses its server at once; that the server is gone is not known before its node's pods are removed."""
    story = Story(user, node, peer, "power")
    with story.held():
        peer.end()
    user.t.match(story.server, waiting_message(user, story.run, START_S),
                 "power: the next attempt waits for a pod that may still run, and names it")
    user.k("delete", "node", peer.name)
    story.remove_server()
    story.check_end("pserver/0: (.*; )?lost, reported by trainer/0")  # and what is known of it, as that nobody can read its log


def main():
    tap.skip_if(why_not())
    t = tap.Tap()
    options = ("--node-monitor-period=1s", f"--node-monitor-grace-period={NOT_READY_S}s")
    with Node(namespace=None, controller_options=options, lease_s=LEASE_S) as node:
        node.install()
        user = User(t, node)
        with Peer(node) as peer:
            peer.load("benchworker")
            check_drained(user, node, peer)
            if "--long" in sys.argv[1:]:
                check_kubelet_killed(user, node, peer)
                check_not_ready(user, node, peer)
            check_power_lost(user, node, peer)
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
