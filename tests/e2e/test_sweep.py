#!/usr/bin/env python3
"""The shipped vgg16-pserver-sweep at its full size through benchd, on simulated nodes: 100 trainers, up to 60 pservers of
10 CPUs and 5Gi, all four points and the baseline. One repeat: what is checked is the same for each."""
import collections
import json
import re
import sys
import threading
import time

import kwok
import tap
from benchctl import Benchctl
from benchd import Benchd, definition, wait_for
from cluster import CONTROLLERS, CRD, Cluster
from gangs import attempt
from rest import NS, RUNS, Api

NAME = "vgg16-pserver-sweep"
NODES = 80
QUIET_S = 180
FULL = {"0": (10, 100), "1": (20, 100), "2": (40, 100), "3": (60, 100), "4": (0, 1)}   # pservers and trainers of each point


def see_pods(cluster):
    """By point and name, every pod that there is or will be. A watch misses none; a list made now and then misses the lone trainer."""
    pods = collections.defaultdict(dict)

    def read():
        for event in Api(cluster).watch(f"{NS}/pods"):
            pod = event["object"]
            pods[pod["metadata"]["labels"]["benchd.io/point"]][pod["metadata"]["name"]] = pod
    threading.Thread(target=read, daemon=True).start()
    return pods


def counts_of(pods):
    roles = {point: collections.Counter(re.search(r"-(pserver|trainer)-\d+$", name)[1] for name in list(named))
             for point, named in list(pods.items())}
    return {point: (count["pserver"], count["trainer"]) for point, count in roles.items()}


def wait_end(cluster, name, pods):
    """The phase in which it ended; None: neither it nor a pod has changed for QUIET_S, however long all takes."""
    api, seen, since = Api(cluster), None, time.monotonic()
    while time.monotonic() < since + QUIET_S:
        run = api.get(f"{RUNS}/{name}")
        phase = run.get("status", {}).get("phase")
        if phase in ("Succeeded", "PartiallyFailed", "Failed", "Cancelled"):
            return phase
        now = [each["metadata"]["resourceVersion"] for each in [run, *(pod for named in list(pods.values()) for pod in list(named.values()))]]
        if now != seen:
            seen, since = now, time.monotonic()
        time.sleep(0.5)
    return None


def check(t, cluster, daemon, ctl):
    k = cluster.kubectl
    k("apply", "-f", "-", stdin=tap.whole(tap.ROOT / "benchmarks" / f"{NAME}.yaml"))
    body = {"apiVersion": "benchd.io/v1alpha1", "kind": "BenchmarkRun", "metadata": {"name": "full"},
            "spec": {"benchmarkRef": {"name": NAME}, "overrides": {"repeats": {"min": 1}}}}
    pods = see_pods(cluster)
    k("create", "--validate=strict", "-f", "-", stdin=json.dumps(body))
    t.equal("Succeeded", wait_end(cluster, "full", pods), "all points succeed")
    wait_for(lambda: counts_of(pods) == FULL, 60)   # the watch may be a moment behind
    t.equal(FULL, counts_of(pods), "pods of each point")
    pod = next(iter(pods["3"].values()))
    size = {"cpu": "10", "memory": "5Gi"}
    t.equal({"requests": size, "limits": size}, pod["spec"]["containers"][0]["resources"], "10 CPU / 5Gi each")
    shapes = {json.dumps(p["spec"]["containers"][0]["resources"], sort_keys=True)
              for named in pods.values() for p in named.values()}
    t.equal(1, len(shapes), "all of one size")
    t.equal({("Guaranteed", "Never", False)},
            {(p["status"]["qosClass"], p["spec"]["restartPolicy"], p["spec"]["automountServiceAccountToken"])
             for named in pods.values() for p in named.values()}, "their quality of service, restarts, token")
    began = {point: min(p["metadata"]["creationTimestamp"] for p in named.values()) for point, named in pods.items()}
    plan = json.loads(ctl("plan", NAME, "--repeats", "1", "-o", "json").stdout)
    t.equal([str(slot["point"]) for slot in plan["order"]], sorted(began, key=began.get), "in the order of benchctl plan")
    t.equal({"0"}, {p["metadata"]["labels"]["benchd.io/attempt"] for named in pods.values() for p in named.values()},
            "no attempt was lost")
    run = json.loads(k("get", "bmr", "full", "-o", "json").stdout)
    t.equal("5/5", run["status"]["completions"], "completions")
    conditions = {c["type"]: c["status"] for c in run["status"]["conditions"]}
    t.equal({"Accepted": "True", "Suspended": "False", "Running": "False", "Waiting": "False", "Complete": "True", "Failed": "False",
             "MetricsUnavailable": "False"}, {n: s for n, s in conditions.items() if n != "ThresholdFailed"}, "conditions")
    rest = {**run["status"], "definition": None}
    t.ok(len(json.dumps(rest)) < 64 * 1024, "the status fits", len(json.dumps(rest)))
    result = daemon.results("full")
    t.equal((True, 4), (result["simulated"], len(result["points"])), "simulated, and says so")
    t.ok(all(p["throughput"]["value"] > 0 for p in result["points"]), "each point has a throughput")
    t.ok(wait_for(lambda: k("get", "pods", "-o", "name").stdout == ""), "no pod is left")


def check_marked(t, ctl, name):
    """Simulated, in every form in which somebody may meet its numbers."""
    result = json.loads(ctl("results", name, "-o", "json").stdout)
    t.equal(True, result["simulated"], "results -o json: simulated")
    for form in ("text", "markdown"):
        t.match("(?i)simulated", ctl("results", name, "-o", form).stdout, f"results -o {form}: simulated")
    rows = ctl("results", name, "-o", "csv").stdout.splitlines()
    t.ok(len(rows) > 4, "results -o csv: rows", rows)
    t.ok("simulated" in rows[0], "results -o csv: a column says it", rows[0])
    t.match("(?i)simulated", ctl("describe", name).stdout, "describe: simulated")
    ctl.expect("compare with a simulated base", 2, f"run/{name} is simulated and cannot be the base", "compare", name, name)


def check_gpus(t, cluster, ctl):
    """Pods that ask for GPUs: what they take is planned, counted and priced, and pods that split a node are named."""
    kwok.make_nodes(cluster, 1, name="gpu", **{"nvidia.com/gpu": "8"})
    cluster.kubectl("label", "node", "gpu-0", "nvidia.com/gpu.product=NVIDIA-H100-80GB-HBM3", "topology.kubernetes.io/zone=z1",
                    "nvidia.com/cuda.driver-version.full=535.104.05", "node.kubernetes.io/instance-type=p5.48xlarge", "rack=r7")
    spec = definition(addressing="DNS", repeats={"min": 1}, sweep={"grid": {"pservers": [1], "trainers": [1, 4], "tp": [1, 2]}, "require": [
        "devices % tp == 0"]}, parameters=[{"name": "tp", "targets": [{"roles": ["trainer"], "env": ["TP"]}]}])
    spec["workload"] = {**spec["workload"], "flops": {"perSample": 93_000_000_000}, "precision": "FP32"}
    roles = json.loads(json.dumps(spec["roles"]))   # its two templates are one
    roles["trainer"]["template"]["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": "1"}}
    path = cluster.dir / "gpus.json"
    path.write_text(json.dumps({"apiVersion": "benchd.io/v1alpha1", "kind": "Benchmark", "metadata": {"name": "gpus"},
                                "spec": {**spec, "roles": roles, "baseline": {"kind": "Point", "where": {"trainers": 1, "tp": 1}}}}))
    plan = ctl("plan", "-f", str(path)).stdout
    t.equal(["0 1 1 1", "1 4 4 1", "2 4 4 2"], [f"{row[0]} {row[3]} {row[4]} {re.search('tp=(.)', row[1])[1]}" for row in
                                                map(str.split, plan.splitlines()[1:4])], "plan: points that can run, and their GPUs")
    done = ctl("run", "-f", str(path), "-o", "json")
    result = json.loads(done.stdout)
    t.equal([1, 4, 4], [p["devices"] for p in result["points"]], "run: GPUs of the points")
    pod_nodes = {replica["placement"]["node"] for p in result["points"] for trial in p["trials"]
                 for replica in trial["replicas"]["items"] if replica["role"] == "trainer"}
    t.equal({"gpu-0"}, pod_nodes, "run: on the node that has some")
    for p in result["points"]:   # 67 TFLOP/s in fp32: the data sheet's of the GPU that the label names
        expected = p["throughput"]["value"] * 9.3e10 / p["devices"] / 67e12
        t.ok(abs(p["metrics"]["mfu"]["value"] / expected - 1) < 1e-9, "run: MFU by the label of its node", (expected, p["metrics"]))
    told = ctl("describe", result["run"]).stdout
    for fact in ("accelerator: +NVIDIA-H100-80GB-HBM3", "gpu_driver: +nvidia 535.104.05", "instance_type: +p5.48xlarge", "zone: +z1", r"kubernetes: +v1\.\d+\.\d+",
                 'node_labels: +{"rack":"r7"}'):
        t.match(rf"(?m)^  {fact}$", told, "describe: where it ran")
    text = ctl("results", result["run"], "--explain").stdout
    t.match("Efficiency: Speedup / number of devices", re.sub(r"\s+", " ", text), "results: by devices")
    t.match("node 'gpu-0' had several pods of one device each", re.sub(r"\s+", " ", text), "results: a node that is split")
    t.match(r"at 3.000 a GPU hour", ctl("results", result["run"], "--price", "3/gpu-hour").stdout, "results: the cost of a million samples")


class Placement:
    """What pods of a run share a node at one time, and how many of its attempts run together, from a watch."""

    def __init__(self, cluster):
        self.pods, self.shared, self.most = {}, set(), 0
        self._api = Api(cluster)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for event in self._api.watch(f"{NS}/pods"):
            pod = event["object"]
            is_over = event["type"] == "DELETED" or pod["status"].get("phase") in ("Succeeded", "Failed")
            self.pods[pod["metadata"]["name"]] = None if is_over else (pod["spec"].get("nodeName"), attempt(pod))
            alive = [each for each in self.pods.values() if each is not None and each[0]]
            self.shared |= {node for node, gang in alive for other, another in alive if node == other and gang != another}
            self.most = max(self.most, len({gang for _, gang in alive}))


def check_lanes(t, cluster, daemon, ends, ctl):
    """Two trials at a time, each on nodes of its own, also after a kill -9; and marked."""
    path = cluster.dir / "lanes.json"
    path.write_text(json.dumps({"apiVersion": "benchd.io/v1alpha1", "kind": "Benchmark", "metadata": {"name": "lanes"},
                                "spec": definition(addressing="DNS", repeats={"min": 2}, sweep={"grid": {"pservers": [1], "trainers": [1, 2, 3]}})}))
    placement, api = Placement(cluster), Api(cluster)
    ends.is_held.set()
    name = ctl.run_and_detach("-f", str(path), "--parallel", "2")["metadata"]["name"]

    def running():
        pods = [pod for pod in api.get(f"{NS}/pods")["items"] if pod["status"]["phase"] == "Running"]
        lanes = api.get(f"{RUNS}/{name}").get("status", {}).get("lanes", [])
        return len(lanes) == 2 and len({attempt(pod) for pod in pods}) == 2 and {pod["metadata"]["uid"] for pod in pods}
    before = wait_for(running)
    t.ok(before, "two lanes in the status, and pods of two attempts run")
    daemon.kill()
    daemon.start()
    ends.is_held.clear()
    t.ok(wait_for(lambda: api.get(f"{RUNS}/{name}")["status"]["phase"] == "Succeeded"), "kill -9 while two lanes measure: the run succeeds")
    parallel = json.loads(ctl("results", name, "-o", "json").stdout)
    trials = [trial for point in parallel["points"] for trial in point["trials"]]
    t.equal([("Succeeded", 0)] * 2 * 3, [(trial["phase"], trial["attempt"]) for trial in trials], "all trials, by their first attempts")
    t.equal((2, set()), (placement.most, placement.shared), "attempts at a time, and nodes that two of them share")
    t.equal(2, parallel["parallelTrials"], "JSON says so")
    t.match("parallel: up to 2 trials ran at a time", re.sub(r"\s+", " ", ctl("results", name).stdout), "results: a warning")
    t.match("Scheduling: +exclusive nodes, 2 trials at a time", ctl("describe", name).stdout, "describe")


def check_node_pairs(t, cluster, ends, ctl):
    """The shipped node-pairs, but of a program that writes summaries: each pair runs on the nodes that it names, two at a time, and those
    of a node that is 15% slower are the slowest of the table."""
    path, nodes, slow = cluster.dir / "pairs.yaml", [f"fake-{i}" for i in range(10, 15)], "fake-13"
    text = tap.whole(tap.ROOT / "benchmarks" / "node-pairs.yaml").replace("fp32-sum", "vgg16-fluid-fc512")
    text, count = re.subn(r"\{name: pytorch, profile: pytorch, .*\}", "{name: benchworker, profile: benchworker, image: any}", text)
    t.equal(1, count, "the system is found")
    path.write_text(text)

    def stretch(pod):
        chosen = [term["matchFields"][0]["values"][0] for term in pod["spec"]["affinity"]["nodeAffinity"][
            "requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]]
        numbers = [int(node.rpartition("-")[2]) for node in chosen]
        return (1 / 0.85 if slow in chosen else 1) * (1 + 0.01 * (numbers[0] * numbers[1] % 7))   # a pair has something of its own
    ends.stretch = stretch
    names = ",".join(nodes)
    result = json.loads(ctl("run", "-f", str(path), "--set", f"node={names}", "--set", f"peer={names}", "--repeats", "1", "--parallel", "2",
                            "-o", "json").stdout)
    ends.stretch = lambda pod: 1
    t.equal(("Succeeded", 10), (result["phase"], len(result["points"])), "all pairs of 5 nodes are measured")
    ran = [{replica["placement"]["node"] for replica in point["trials"][0]["replicas"]["items"]} for point in result["points"]]
    t.equal([{point["parameters"]["node"], point["parameters"]["peer"]} for point in result["points"]], ran, "each on its two nodes")
    figures = {(point["parameters"]["node"], point["parameters"]["peer"]): point["throughput"]["value"] for point in result["points"]}
    t.ok(max(x for pair, x in figures.items() if slow in pair) < min(x for pair, x in figures.items() if slow not in pair),
         "the pairs of the slow node are the slowest", figures)


def check_shipped_on_gpus(t, cluster, ctl):
    """The shipped definitions for GPUs, as they are, on four nodes of eight: a rehearsal, where pods are placed and end, and nothing is
    measured. A point has the devices of its pods, and no two pods of eight share a node."""
    kwok.make_nodes(cluster, 4, cpu="128", memory="2Ti", name="gpu", **{"nvidia.com/gpu": "8"})
    for name, some, devices in (("imagenet-gpu", "workers=1", [1, 2, 4, 8]), ("imagenet-gpu", "workers=2,4", [16, 32]),   # 4 failures end it
                                ("llm-fsdp", "net=1b", [8, 16, 32]), ("nccl-allreduce", "bytes=65536", [8, 16, 32])):
        done = ctl("run", name, "--set", some, "--repeats", "1", "-o", "json")
        points = (result := json.loads(done.stdout))["points"]
        t.equal((1, True, devices), (done.returncode, result["simulated"], [p["devices"] for p in points]), f"{name}: devices of the points")
        t.equal({("MetricsUnavailable", None)}, {(p["phase"], p["throughput"]["value"]) for p in points}, f"{name}: pods end, without a figure")
        nodes = [{replica["placement"]["node"] for replica in p["trials"][0]["replicas"]["items"]} for p in points]
        t.equal([(max(1, n // 8), {"gpu"}) for n in devices], [(len(names), {node.partition("-")[0] for node in names}) for names in nodes],
                f"{name}: a node for each pod, of those with devices")


def check_no_summaries(t):
    """Replicas that end well and say nothing: no number is made up, and everything says so."""
    with Cluster(parts=CONTROLLERS, kwok=kwok.without_ends) as cluster, kwok.GangEnds(cluster, summaries=False), Benchd(cluster):
        k, ctl = cluster.kubectl, Benchctl(t, cluster)
        k("apply", "-f", CRD)
        kwok.make_nodes(cluster, 1)
        t.ok(wait_for(lambda: ctl("get", "runs").returncode == 0), "benchd is there")
        path = cluster.dir / "mute.json"
        path.write_text(json.dumps({"apiVersion": "benchd.io/v1alpha1", "kind": "Benchmark", "metadata": {"name": "mute"},
                                    "spec": definition(addressing="DNS", repeats={"min": 1})}))
        done = ctl("run", "-f", str(path), "-o", "json")
        t.equal(1, done.returncode, "run without summaries: exit 1")
        result = json.loads(done.stdout)
        t.equal({"MetricsUnavailable"}, {p["phase"] for p in result["points"]}, "each point is MetricsUnavailable")
        t.equal({None}, {p["throughput"]["value"] for p in result["points"]}, "and has no number")
        name = result["run"]
        conditions = {c["type"]: c for c in json.loads(k("get", "bmr", name, "-o", "json").stdout)["status"]["conditions"]}
        mute = conditions["MetricsUnavailable"]
        t.equal(("True", "NoSummary", "some trials succeeded but left no usable summary"),
                (mute["status"], mute["reason"], mute["message"]), "the object's condition")
        t.equal(0, k("wait", "--for=condition=MetricsUnavailable", f"bmr/{name}", "--timeout=60s").returncode,
                "kubectl wait --for=condition=MetricsUnavailable")
        t.match("MetricsUnavailable", ctl("results", name).stdout, "results: the tables")
        t.match(rf"(?m)^{name} .*Failed", ctl("get", "runs").stdout, "get runs")
        check_shipped_on_gpus(t, cluster, ctl)


def main():
    t = tap.Tap()
    with Cluster(parts=CONTROLLERS, kwok=kwok.without_ends) as cluster, kwok.GangEnds(cluster) as ends:
        cluster.kubectl("apply", "-f", CRD)
        cluster.wait_for_kinds()
        kwok.make_nodes(cluster, NODES)
        with Benchd(cluster, "--node-label", "rack") as daemon:
            ctl = Benchctl(t, cluster)
            check(t, cluster, daemon, ctl)
            check_marked(t, ctl, "full")
            check_gpus(t, cluster, ctl)
            check_lanes(t, cluster, daemon, ends, ctl)
            check_node_pairs(t, cluster, ends, ctl)
    check_no_summaries(t)
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
