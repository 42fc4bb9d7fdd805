#!/usr/bin/env python3
"""Faults on the real node, with benchd as its pod: each ends as docs/contracts/retries.md says, with benchctl's exit code
and words that a person can act on.

With --long benchd is killed ten times in a longer run, else three times.

BENCHD_BUILD_DIR names the build tree whose programs go into the images, BENCHCTL the program."""
import json
import random
import sys
import time

import tap
from cluster import becomes
from machine import BUSYBOX, why_not
from node import Node
from user import NS, User, definition

KILLS, REPEATS = (10, 3) if "--long" in sys.argv[1:] else (3, 1)
START_S = 180
REGISTRY = "127.0.0.1:5000"   # has no image
PROMETHEUS_PORT = 9090
SCRAPE = """\
- {{job_name: {name}, scrape_interval: 1s, scrape_timeout: 1s, scheme: https, metrics_path: {path}, static_configs: [{{targets: ["{ip}:10250"]}}],
   tls_config: {{insecure_skip_verify: true, cert_file: {pki}/apiserver-kubelet.crt, key_file: {pki}/apiserver-kubelet.key}}}}
"""
PATIENCE = ["--node-wait", "3", "--image-wait", "3", "--setup-wait", "45"]   # else a day, 120 s and 300 s

PERMANENT = [
    ("oom", {"memory": "256Mi", "batch_size": 128}, "trainer/0: out of memory; raise its limit of 256Mi"),
    ("noimage", {"image": f"{REGISTRY}/nothing:1"},
     f"image '{REGISTRY}/nothing:1': (ErrImagePull|ImagePullBackOff): .*not found"),
    ("nofit", {"cpu": "1000"}, r"no node fits the pod: 0/1 nodes are available: 1 Insufficient cpu"),
]

# Programs that print 40 known figures: what each prints before the first one, and with each. Their logs are known to be whole, or give no figure.
RATES = range(10, 50)
FIGURE = len(RATES) / sum(1 / rate for rate in RATES)
NOISE = "yes 0123456789012345678901234567890123456789012345678901234567890123456789 | head -c {}; echo"
LATE, LOUD, ENDLESS = ("sleep 12", "sleep 0.3"), ("true", f"{NOISE.format(600000)}; sleep 0.6"), ("true", NOISE.format(2000000))

# role: whom to kill, once it trains; addressing: how the run's replicas find each other
KILLED = [
    ("trainer", "DNS", "trainer/0: killed by signal 9, not by the OOM killer"),
    ("pserver", "IP", "pserver/0: killed by signal 9, not by the OOM killer"),
]


def start_registry(cluster):
    """In the node's network: a server that answers 404."""
    empty = cluster.dir / "registry"
    empty.mkdir()
    host, port = REGISTRY.split(":")
    cluster.start("registry", sys.executable, "-m", "http.server", port, "--bind", host, "--directory", empty)


def start_prometheus(node):
    """In the node's network, where it scrapes the kubelet, with an authority of its own; benchd may read nodes, which are known by a label."""
    folder = node.cluster.dir / "prometheus"
    folder.mkdir()
    (folder / "prometheus.yml").write_text("scrape_configs:\n" + "".join(
        SCRAPE.format(name=name, path=path, ip=node.ip, pki=node.cluster.dir / "pki")
        for name, path in (("kubelet", "/metrics"), ("resource", "/metrics/resource"))))
    certificate, key = tap.make_certificate(folder, "own", f"IP:{node.ip}")
    (folder / "web.yml").write_text(f"tls_server_config: {{cert_file: {certificate}, key_file: {key}}}\n")
    node.cluster.kubectl("create", "configmap", "authorities", "-n", NS, f"--from-file=ca.crt={certificate}")
    node.cluster.start("prometheus", "prometheus", f"--web.config.file={folder}/web.yml", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
                       f"--web.listen-address={node.ip}:{PROMETHEUS_PORT}")
    node.cluster.kubectl("apply", "-f", tap.ROOT / "manifests" / "node-reader.yaml")
    node.cluster.kubectl("label", "node", node.name, "node.kubernetes.io/instance-type=here")


def check_metrics(t, user):
    """Numbers of the kubelet, of the measured steps of a pod that trains; and where it ran."""
    memory = 'container_memory_working_set_bytes{namespace="$(NAMESPACE)",pod=~"$(PODS)",container="main"}[$(WINDOW)]'
    result, _ = user.run(definition("watched", steps=40, metrics=[
        {"name": "containers", "query": 'max(max_over_time(kubelet_running_containers{container_state="running"}[$(WINDOW)]))'},
        {"name": "memory_bytes", "query": f"max(max_over_time({memory}))"},
        {"name": "wrong", "query": "sum(x[$(WINDOW)])"}]))
    trial = result["points"][0]["trials"][0]
    numbers = trial.get("metrics", {})
    t.equal({"containers", "memory_bytes", "start_spread_s"}, set(numbers), "the metrics that are known")
    t.ok(numbers.get("containers", 0) >= 3, "containers that ran: benchd, a server, a trainer", numbers)
    t.ok(1 << 20 < numbers.get("memory_bytes", 0) <= 512 << 20, "memory of one of the pods, within its limit", numbers)
    told = user.ctl("describe", result["run"]).stdout
    t.match(r"MetricUnknown +since point 0, trial 0: wrong: Prometheus\s+says: ", told, "what Prometheus says of a wrong query")
    t.match(r"(?m)^  instance_type: +here$", told, "where it ran")
    user.delete(result["run"])


def shorten_waits(user):
    """As a user changes the options of benchd: in its Deployment."""
    options = [*PATIENCE, "--prometheus", f"https://{user.node.ip}:{PROMETHEUS_PORT}"]
    patch = [{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": word} for word in options]
    patch += [{"op": "add", "path": f"/spec/template/spec/{path}", "value": value} for path, value in (
        ("containers/0/env/-", {"name": "SSL_CERT_FILE", "value": "/etc/own/ca.crt"}), ("volumes/-", {"name": "own", "configMap": {"name": "authorities"}}),
        ("containers/0/volumeMounts/-", {"name": "own", "mountPath": "/etc/own", "readOnly": True}))]
    user.k("patch", "deployment", "benchd", "-n", NS, "--type=json", "-p", json.dumps(patch))
    done = user.k("rollout", "status", "deployment/benchd", "-n", NS, f"--timeout={START_S}s", check=False)
    user.t.equal((0, ""), (done.returncode, done.stderr), "benchd with other options")


def check_permanent(t, user):
    runs = []
    for name, change, message in PERMANENT:
        body = definition(name, failurePolicy={"onTrialFailure": "Stop"}, addressing="DNS", **change)
        result, said = user.run(body, code=1)
        t.equal("Failed", result["phase"], f"{name}: the run fails")
        trial = result["points"][0]["trials"][0]
        t.match(message, trial["error"], f"{name}: what a person reads in the results")
        t.match(f"outcome=Failed error: .*{message}", said, f"{name}: and while it runs")
        failed = json.loads(user.k("get", "bmr", result["run"], "-n", NS, "-o", "json").stdout)["status"]["conditions"]
        t.match(message, next(c["message"] for c in failed if c["type"] == "Failed"), f"{name}: and in its condition")
        runs.append(result["run"])
    for run in runs:   # for its first half minute the garbage collector does not know our kinds: not one by one
        user.delete(run)


def check_not_set_up(t, user):
    """A ConfigMap that does not exist: the kubelet tries for ever, and says why in events alone."""
    body = json.loads(json.dumps(definition("nomount", runPolicy={"backoffLimit": 0}, addressing="DNS")))
    pod = body["spec"]["roles"]["trainer"]["template"]["spec"]
    pod["volumes"] = [{"name": "v", "configMap": {"name": "nothing"}}]
    pod["containers"][0]["volumeMounts"] = [{"name": "v", "mountPath": "/v"}]   # a kubelet leaves out what no container mounts
    process, run = user.start(body)
    words = "trainer/0 on node '.*': FailedMount: .*configmap \"nothing\" not found"

    def waits():
        status = json.loads(user.k("get", "bmr", run, "-n", NS, "-o", "json").stdout).get("status", {})
        return next((c["message"] for c in status.get("conditions", []) if (c["type"], c["status"], c["reason"]) == ("Waiting", "True", "PodNotSetUp")), "")
    becomes(lambda: "FailedMount" in waits(), START_S)
    t.match(words, waits(), "a ConfigMap that is not there: the condition says so while the run waits")
    result, said = user.finish(process, code=1)
    t.match("trainer/0: node '.*' could not set up the pod: FailedMount: .*configmap \"nothing\" not found",
            result["points"][0]["trials"][0]["error"], "a ConfigMap that is not there: and the trial's error afterwards")
    t.match("PodNotSetUp", said, "a ConfigMap that is not there: and benchctl says it, too")
    user.delete(run)


def check_in_turns(t, user):
    """Two workers that need no peer, each printing its rate, on a node with room for one: no speedup of two follows from them."""
    script = "for i in 1 2 3 4; do sleep 1; echo 100 images/sec; done"
    pod = definition("in-turns", cpu="1200m", memory="64Mi", image="benchd.local/busybox:1")["spec"]["roles"]["trainer"]["template"]
    body = definition("in-turns", systems=[{"name": "shell", "profile": "none", "command": ["sh", "-c", script],
                                            "log": {"lines": [{"kind": "Step", "scope": "Each", "pattern": r"(?<rate>\d+) images/sec"}]}}],
                      workload={"model": "m", "batchSize": 32, "exchange": {"kind": "AllReduce"}},
                      sweep={"grid": {"workers": [2]}}, baseline={"kind": "Point", "where": {"workers": 2}},
                      roles={"worker": {"replicas": {"from": "workers"}, "template": pod}})
    process, run = user.start(body)

    def told():
        return user.ctl("describe", run).stdout
    becomes(lambda: process.poll() is not None or "NoRoom" in told(), START_S)
    t.match(r"NoRoom.*worker/1: measured from [0-9.]+ s on and worker/0 until [0-9.]+ s", " ".join(told().split()),
            "one worker after the other: the attempt is void for lack of room, and why")
    status = json.loads(user.k("get", "bmr", run, "-n", NS, "-o", "json").stdout)["status"]
    t.equal("0/1", status["completions"], "one worker after the other: nothing is measured")
    user.ctl("cancel", run)
    user.finish(process, code=1)
    user.delete(run)


def check_killed(t, user):
    for role, addressing, message in KILLED:
        process, run, pods = user.start_training(definition(f"{role}-killed", steps=12, addressing=addressing))
        env = {e["name"]: e.get("value") for e in pods["trainer"]["spec"]["containers"][0]["env"]}
        by_ip = pods["pserver"]["status"]["podIP"] + ":7164"
        t.equal(addressing == "IP", env["BENCHD_PSERVER_ADDRS"] == by_ip, f"{role}: the server is known by {addressing}")
        killed = user.node.kill(pods[role]["metadata"]["uid"], "benchworker")
        t.equal(1, len(killed), f"{role}: kill -9 of its process")
        result, said = user.finish(process)
        t.equal("Succeeded", result["phase"], f"{role}: the run goes on and succeeds")
        trial = result["points"][0]["trials"][0]
        t.equal((1, "Succeeded"), (trial["attempt"], trial["phase"]), f"{role}: by a second attempt, which its result names")
        t.match(f"attempt=0 outcome=Void error: {message}", said, f"{role}: the first is void, and why")
        t.match(f"attempt 0: Void: {message}", user.ctl("describe", run).stdout, f"{role}: describe tells it afterwards")
        user.delete(run)


def check_benchd_killed(t, user):
    """kill -9 of benchd in its pod at random moments of one run: the kubelet restarts it, nothing is lost or doubled."""
    seed = int(time.time())
    print(f"# seed {seed}", flush=True)
    rng = random.Random(seed)
    pod = user.controller()
    uid, name = pod["metadata"]["uid"], pod["metadata"]["name"]
    process, run = user.start(definition("benchd-killed", trainers=(1, 2), repeats=REPEATS))
    killed = set()   # a process that is killed may be there for a while

    def restarts():
        status = json.loads(user.k("get", "pod", name, "-n", NS, "-o", "json").stdout)["status"]
        return status["containerStatuses"][0]["restartCount"]
    while len(killed) < KILLS and process.poll() is None:
        time.sleep(rng.uniform(0.1, 2))   # the moment; nothing is waited for
        if not becomes(lambda: set(user.node.processes(uid, "benchd")) - killed, START_S):
            break
        killed.update(user.node.kill(uid, "benchd"))
    result, said = user.finish(process)
    t.equal(KILLS, len(killed), f"{KILLS} kills within one run")
    becomes(lambda: restarts() >= KILLS, START_S)   # the kubelet tells of the last one after a while
    t.equal(KILLS, restarts(), "and as many restarts of its container by the kubelet")
    t.equal("Succeeded", result["phase"], "the run succeeds")
    trials = [(point["point"], trial["trial"], trial["attempt"], trial["phase"]) for point in result["points"] for trial in point["trials"]]
    t.equal([(p, n, 0, "Succeeded") for p in (0, 1) for n in range(REPEATS)], trials, "no trial is lost, none is run twice")
    events = user.k("get", "events", "-n", NS, "--field-selector=reason=Scheduled", "-o", "json").stdout
    uids = {}
    for pod in (event["involvedObject"] for event in json.loads(events)["items"]):
        if pod["name"].startswith(f"{run}-"):
            uids.setdefault(pod["name"], set()).add(pod["uid"])
    t.equal(5 * REPEATS, len(uids), "as many pods as the trials need")
    t.equal({}, {name: list(of) for name, of in uids.items() if len(of) > 1}, "no pod was made twice")
    waited = user.k("wait", "--for=condition=Complete", "--timeout=60s", f"bmr/{run}", "-n", NS, check=False)
    t.equal(0, waited.returncode, "kubectl wait --for=condition=Complete")
    t.equal(2 * REPEATS, said.count("outcome=Succeeded"), "benchctl has told of each trial once")
    user.delete(run)


def printing(name, first, each, **policy):
    """A worker that prints a figure in each of its 40 steps."""
    script = f"{first}; for rate in $(seq {RATES[0]} {RATES[-1]}); do echo $rate images/sec; {each}; done"
    body = json.loads(json.dumps(definition(name, cpu="200m", image=BUSYBOX, trainers=(1,), runPolicy=policy)))
    pod = body["spec"]["roles"].pop("trainer")["template"]["spec"]
    pod["containers"][0]["command"] = ["/bin/sh", "-c", script]
    body["spec"].update({
        "systems": [{"name": name, "profile": "none", "log": {"lines": [{"kind": "Step", "pattern": r"^(?<rate>\d+) images/sec"}]}}],
        "workload": {"model": "m", "batchSize": 1, "exchange": {"kind": "AllReduce"}},
        "sweep": {"grid": {"workers": [1]}}, "baseline": {"kind": "Point", "where": {"workers": 1}},
        "roles": {"worker": {"replicas": {"from": "workers"}, "template": {"spec": pod}}}})
    body["spec"]["measure"] = {"warmupSteps": 0, "steps": len(RATES)}
    return body


def check_figure(t, user, process, name, code):
    """The figure that is known, or none and the reason; never another one."""
    result, said = user.finish(process, code=code)
    trial = result["points"][0]["trials"][0]
    if trial["phase"] == "Succeeded":
        t.ok(abs(trial["throughput"]["value"] - FIGURE) < 0.01, f"{name}: its figure", trial)
    else:
        t.match("worker/0: the log could not be read: lines may be missing", trial["error"], f"{name}: no figure, and why")
    user.delete(result["run"])
    return trial, said


def check_logs(t, user):
    """kill -9 of benchd, and more output than a log file of the kubelet may have."""
    uid = user.controller()["metadata"]["uid"]

    def kill_benchd_when(run, rate):
        becomes(lambda: f"{rate} images/sec" in user.k("logs", "-n", NS, f"--selector=benchd.io/run={run}", "--tail=-1", check=False).stdout, START_S)
        user.node.kill(uid, "benchd")
    process, run = user.start(printing("late", *LATE))
    kill_benchd_when(run, RATES[5])
    trial, said = check_figure(t, user, process, "late", 0)
    t.equal((1, "Succeeded"), (trial["attempt"], trial["phase"]), "a log that began late, and benchd was killed: measured by a second attempt")
    t.match("attempt=0 outcome=Void error: worker/0: the log could not be read: lines may be missing", said, "and why")
    process, run = user.start(printing("loud", *LOUD, backoffLimit=0))
    kill_benchd_when(run, RATES[30])
    trial, _ = check_figure(t, user, process, "loud", 1)
    t.equal("Failed", trial["phase"], "a log whose beginning the kubelet has replaced: no figure")
    process, run = user.start(printing("endless", *ENDLESS, backoffLimit=0))
    becomes(lambda: user.node.processes(uid, "benchd"), START_S)   # it may be on its way since the last kill
    before = user.node.processes(uid, "benchd")
    check_figure(t, user, process, "endless", 1)
    t.equal((1, before), (len(before), user.node.processes(uid, "benchd")), "80 MB: benchd has kept its Lease, it is the same process")


def main():
    tap.skip_if(why_not())
    t = tap.Tap()
    with Node(namespace=None) as node:
        node.install()
        user = User(t, node)
        check_in_turns(t, user)
        start_registry(node.cluster)
        start_prometheus(node)
        shorten_waits(user)
        check_metrics(t, user)
        check_permanent(t, user)
        check_not_set_up(t, user)
        check_killed(t, user)
        check_benchd_killed(t, user)
        check_logs(t, user)
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
