"""Simulated nodes and pods (KWOK) for the end-to-end tests: what benchd does at the size of the shipped definitions.

    with Cluster(parts=CONTROLLERS, kwok=kwok.configuration) as cluster:
        kwok.make_nodes(cluster, 80)

The fake pods of benchd end with summaries recorded from a real run; kubernetes/stages.yaml says how a test steers them.
"""
import json
import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent
RECORDED = HERE / "recorded"   # summary and log of one trainer and one pserver, batch 64, 100 steps, on one machine
ROLES = ("trainer", "pserver")


def summary(role):
    """The recorded summary, as the worker wrote it."""
    return (RECORDED / f"{role}.json").read_text()


def _message(text):
    """The Go expression that gives a pod this summary, with index and attempt from its labels; without one nothing."""
    if not text:
        return '""'
    form, count = re.subn(r'"(index|attempt)":0', r'"\1":%s', text.replace("%", "%%"))
    if count != 2 or form.find('"index"') > form.find('"attempt"'):
        raise ValueError(f"expected index and attempt, in this order: {text}")
    return f"printf {json.dumps(form)} $index $attempt"   # a JSON string is a Go string too


def _role_stage(role, text, run_s):
    """The stage that ends pods of this role, run_s after they started."""
    stage = (HERE / "kubernetes" / "stage-role.yaml").read_text().partition("\n")[2]
    for name, value in (("ROLE", role), ("RUN_MS", int(run_s * 1000)), ("MESSAGE", _message(text))):
        stage = stage.replace(f"@{name}@", str(value))
    return stage


def configuration(folder, summaries=True, trainer_s=1, pserver_s=6):
    """KWOK's configuration, for Cluster(kwok=...): stages, and one log that every pod shows.

    pserver_s has to cover the time in which all pods of a point come to run, or the first pservers end before them.
    """
    log = folder / "pod.log"
    log.write_text("".join(f"2026-01-01T00:00:00.{number:09d}Z stdout F {line}\n" for number, line in
                           enumerate((RECORDED / "trainer.log").read_text().splitlines())))
    stages = "".join(_role_stage(role, summary(role) if summaries else "", seconds)
                     for role, seconds in zip(ROLES, (trainer_s, pserver_s)))
    text = (HERE / "kubernetes" / "stages.yaml").read_text()
    return text.replace("@ROLE_STAGES@", stages).replace("@LOGS@", str(log))


def make_nodes(cluster, count, cpu="32", memory="128Gi", pods="110"):
    """Makes fake nodes and waits until they are ready."""
    room = {"cpu": cpu, "memory": memory, "pods": pods}
    items = [{"apiVersion": "v1", "kind": "Node",
              "metadata": {"name": f"fake-{i}", "annotations": {"kwok.x-k8s.io/node": "fake"},
                           "labels": {"kubernetes.io/hostname": f"fake-{i}"}},
              "status": {"allocatable": room, "capacity": room}} for i in range(count)]
    cluster.kubectl("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    cluster.kubectl("wait", "--for=condition=Ready", "node", "--all", "--timeout=200s")
