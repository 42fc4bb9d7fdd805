"""Simulated nodes and pods (KWOK) for the end-to-end tests: what benchd does at the size of the shipped definitions.

    with Cluster(parts=CONTROLLERS, kwok=kwok.without_ends) as cluster, kwok.GangEnds(cluster):
        kwok.make_nodes(cluster, 80)

GangEnds ends the fake pods of benchd with summaries recorded from a real run, and only gangs that are whole: KWOK knows one pod at a time.
"""
import contextlib
import datetime
import http.client
import json
import pathlib
import threading
import time

from gangs import attempt, size_of
from rest import MERGE, Api

HERE = pathlib.Path(__file__).resolve().parent
RECORDED = HERE / "recorded"   # summaries of one trainer and one pserver, batch 64, 100 steps, on one machine
ROLES = ("trainer", "pserver")
ENDS = ("trainer", "worker", "pserver")   # the order in which a gang ends


def summary(role):
    """The recorded summary, as the worker wrote it."""
    return (RECORDED / f"{role}.json").read_text()


def without_ends():
    """KWOK's configuration, for Cluster(kwok=...): pods begin, and GangEnds ends them."""
    return (HERE / "kubernetes" / "stages.yaml").read_text()


class GangEnds:
    """Ends the pods of each gang that has run as a whole for run_s, its trainers first, as `with`. It asks again and again, so it goes
    on after an API server that was away."""

    def __init__(self, cluster, summaries=True, run_s=1, namespace="benchd"):
        self.run_s = run_s
        self._pods_path = f"/api/v1/namespaces/{namespace}/pods"
        self.is_held = threading.Event()   # set: no pod ends
        self._summaries = {role: json.loads(summary(role)) for role in ROLES} if summaries else {}
        if summaries:
            self._summaries["worker"] = {**self._summaries["trainer"], "role": "worker"}
        self.stretch = lambda pod: 1       # how much longer than recorded its steps took
        self._api, self._whole, self._is_over = Api(cluster), {}, threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._is_over.set()
        self._thread.join()

    def _serve(self):
        while not self._is_over.wait(0.2):
            with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
                self._look((self._api.get(self._pods_path) or {"items": []})["items"])

    def _look(self, pods):
        gangs = {}
        for pod in pods:
            gangs.setdefault(attempt(pod), []).append(pod)
        now = time.monotonic()
        self._whole = {key: self._whole.get(key, now) for key, gang in gangs.items()
                       if len(gang) == size_of(gang[0]) and not any(pod["status"]["phase"] == "Pending" for pod in gang)}
        for key, since in self._whole.items():
            if now - since >= self.run_s:
                for pod in sorted(gangs[key], key=lambda pod: ENDS.index(pod["metadata"]["labels"]["benchd.io/role"])):
                    if pod["status"]["phase"] == "Running" and "deletionTimestamp" not in pod["metadata"] and not self.is_held.is_set():
                        self._end(pod)

    def _end(self, pod):
        meta, container = pod["metadata"], pod["status"]["containerStatuses"][0]
        labels = {name.partition("/")[2]: value for name, value in meta["labels"].items()}
        message = self._summaries.get(labels.get("role", "worker"))
        if message:
            index = labels.get("replica-index") or labels["job-completion-index"]
            message = json.dumps({**message, "index": int(index), "attempt": int(labels["attempt"]),
                                  "duration_ns": int(message["duration_ns"] * self.stretch(pod))}, separators=(",", ":"))
        ended = {"exitCode": 0, "reason": "Completed", "message": message or "",
                 "startedAt": container["state"]["running"]["startedAt"],
                 "finishedAt": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")}
        status = {"phase": "Succeeded", "containerStatuses": [
            {**container, "ready": False, "started": False, "state": {"terminated": ended}}]}
        # With the uid: a pod of that name that came later is not meant.
        self._api("PATCH", f"{self._pods_path}/{meta['name']}/status", {"metadata": {"uid": meta["uid"]}, "status": status}, MERGE)


def make_nodes(cluster, count, cpu="32", memory="128Gi", pods="110", name="fake", **more):
    """Makes fake nodes and waits until they are ready. more: other resources of each."""
    room = {"cpu": cpu, "memory": memory, "pods": pods, **more}
    items = [{"apiVersion": "v1", "kind": "Node",
              "metadata": {"name": f"{name}-{i}", "annotations": {"kwok.x-k8s.io/node": "fake"},
                           "labels": {"kubernetes.io/hostname": f"{name}-{i}"}},
              "status": {"allocatable": room, "capacity": room}} for i in range(count)]
    cluster.kubectl("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    cluster.kubectl("wait", "--for=condition=Ready", "node", "--all", "--timeout=200s")
