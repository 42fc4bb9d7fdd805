"""A kubelet for all pods of the namespace, and a witness: it ends gangs that are whole, and notes what must never be.

    with Gangs(cluster) as gangs:
        ...
        gangs.broken    # what was seen that must not be, one text each

It needs etcd and the API server only, and takes some ten milliseconds a pod. Pods are bound to a node, so that a deletion is a request
which the kubelet confirms a moment later, as on real nodes.
"""
import collections
import heapq
import itertools
import queue
import threading
import time

from benchd import Kubelet
from rest import MERGE, NS, Api

NODE = "played"
ENDED = ("Succeeded", "Failed")


class Gangs:
    def __init__(self, cluster, run_s=0.1, grace_s=0.1):
        """run_s: from a whole gang to the ends of its trainers, and as long again to those of the others; None: until end_now().
        grace_s: from the request to delete a pod to its end."""
        self.cluster, self.run_s, self.grace_s = cluster, run_s, grace_s
        self.broken = []
        self.uids = collections.defaultdict(set)   # of every pod that was ever there, by its owner's uid and its name
        self.pods = {}                             # by name, those that are there
        self._api = Api(cluster)
        self._queue = queue.SimpleQueue()
        self._due = []                             # (when, number, what to do)
        self._numbers = itertools.count()
        self._ending = set()                       # uids of the pods that have their end before them
        self._threads = [threading.Thread(target=target, daemon=True) for target in (self._watch, self._serve)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._queue.put(None)
        self._threads[1].join()

    def end_now(self):
        """Ends the gangs that are whole now, and from now on as they come."""
        self.run_s = 0.1
        self._queue.put("look")

    def names(self, owner_uid):
        """Of every pod that this run ever had."""
        return {name for owner, name in list(self.uids) if owner == owner_uid}

    # ---- the witness ----

    def _see(self, kind, pod):
        name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
        if kind == "DELETED":
            self.pods.pop(name, None)
            return
        self.pods[name] = pod
        of_name = self.uids[owner_of(pod), name]
        if uid in of_name:
            return
        of_name.add(uid)
        if len(of_name) > 1:
            self.broken.append(f"pod {name} was made {len(of_name)} times")
        for other in self.pods.values():
            if (owner_of(other), attempt(other)) != (owner_of(pod), attempt(pod)) and other["status"]["phase"] not in ENDED:
                self.broken.append(f"pod {name} was made while {other['metadata']['name']} of another attempt was "
                                   f"{other['status']['phase']}")

    # ---- the kubelet ----

    def _watch(self):
        for event in Api(self.cluster).watch(f"{NS}/pods"):
            self._queue.put(event)

    def _later(self, seconds, what, *args):
        heapq.heappush(self._due, (time.monotonic() + seconds, next(self._numbers), lambda: what(*args)))

    def _serve(self):
        while True:
            wait = max(0, self._due[0][0] - time.monotonic()) if self._due else None
            try:
                event = self._queue.get(timeout=wait)
            except queue.Empty:
                heapq.heappop(self._due)[2]()
                continue
            if event is None:
                return
            if event != "look":
                self._see(event["type"], event["object"])
                if event["type"] != "DELETED":
                    self._live(event["object"])
            self._end_whole_gangs()

    def _live(self, pod):
        name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
        if "deletionTimestamp" in pod["metadata"]:
            self._ending.add(uid)
            self._later(self.grace_s, self._api, "DELETE", f"{NS}/pods/{name}",
                        {"gracePeriodSeconds": 0, "preconditions": {"uid": uid}})
        elif not pod["spec"].get("nodeName"):
            self._api("POST", f"{NS}/pods/{name}/binding", {
                "apiVersion": "v1", "kind": "Binding", "metadata": {"name": name, "uid": uid},
                "target": {"apiVersion": "v1", "kind": "Node", "name": NODE}})
        elif pod["status"]["phase"] == "Pending":
            self._set(pod, {"phase": "Running", "podIP": "10.0.0.9", "podIPs": [{"ip": "10.0.0.9"}],
                            "containerStatuses": Kubelet.container({"running": {}})})

    def _set(self, pod, status):
        # With the uid: a pod of that name that came later is not meant.
        self._api("PATCH", f"{NS}/pods/{pod['metadata']['name']}/status",
                  {"metadata": {"uid": pod["metadata"]["uid"]}, "status": status}, MERGE)

    def _end_whole_gangs(self):
        if self.run_s is None:
            return
        gangs = collections.defaultdict(list)
        for pod in self.pods.values():
            if attempt(pod)[0]:
                gangs[attempt(pod)].append(pod)
        for gang in gangs.values():
            if len(gang) < size_of(gang[0]) or any(pod["status"]["phase"] == "Pending" for pod in gang):
                continue
            for pod in gang:
                if pod["status"]["phase"] == "Running" and pod["metadata"]["uid"] not in self._ending:
                    self._ending.add(pod["metadata"]["uid"])
                    after = 1 if pod["metadata"]["labels"]["benchd.io/role"] == "trainer" else 2
                    self._later(after * self.run_s, self._end, pod)

    def _end(self, pod):
        state = {"terminated": {"exitCode": 0, "reason": "Completed", "message": Kubelet.summary(pod)}}
        self._set(pod, {"phase": "Succeeded", "containerStatuses": Kubelet.container(state)})


def owner_of(pod):
    return next((owner["uid"] for owner in pod["metadata"].get("ownerReferences", [])), None)


def attempt(pod):
    labels = pod["metadata"].get("labels", {})
    return tuple(labels.get(f"benchd.io/{label}") for label in ("run", "point", "trial", "attempt"))


def size_of(pod):
    env = {e["name"]: e.get("value") for e in pod["spec"]["containers"][0].get("env", [])}
    return sum(int(env.get(f"BENCHD_{role}", 0)) for role in ("PSERVERS", "TRAINERS", "WORKERS"))
