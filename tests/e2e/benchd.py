"""benchd as a process beside an API server without nodes: the tests play the kubelet.

    with Cluster() as cluster:
        with Benchd(cluster) as daemon:
            ...
"""
import json
import os
import re
import signal
import subprocess
import tempfile
import time
from collections import Counter

import tap
from cluster import free_port
from rest import MERGE, NS, Api

BENCHD = os.environ.get("BENCHD", str(tap.ROOT / "build" / "daemon" / "benchd"))
BENCHCTL = os.environ.get("BENCHCTL", str(tap.ROOT / "build" / "ctl" / "benchctl"))
SUMMARY = json.loads((tap.ROOT / "docs/contracts/golden/summary.json").read_text().splitlines()[0])
LOOP_WATCH_MODULE = os.environ.get("LOOP_WATCH_MODULE")   # of a build without a sanitizer, which wants to be loaded first
TICK_MS, LIMIT_MS = 4, 50   # of loop_watch.c
LOOP_WATCH = tempfile.NamedTemporaryFile("r")   # what it saw of every benchd
LIBUV_ALONE = re.compile(r"(?:\S+ < )*run main\.c:")   # no function that libuv has called


def check_loop(t):
    """A turn of 50 ms has 12 ticks of 4 ms; the kernel may give a thread that it interrupts often only half of them."""
    said = LOOP_WATCH.read().splitlines()
    turns = [re.match(r"a turn of the loop took (\d+) ms (\(.*?\)), at ?(.*)", line) for line in said if line != "loaded"]
    slow = []
    for took, what, stacks in (turn.groups() for turn in turns):
        stacks = stacks.split(";")[:-1]
        print(f"# a turn of benchd's loop took {took} ms of a CPU {what}, seen {len(stacks)} times", flush=True)
        seen = Counter(map(places, stacks))
        ours = sum(n for where, n in seen.items() if not LIBUV_ALONE.match(where))
        if ours * TICK_MS >= LIMIT_MS / 2:
            slow.append(f"{took} ms {what}:\n" + "\n".join(f"{n} times {where}" for where, n in seen.most_common()))
    t.ok("loaded" in said and not slow, f"no turn of benchd's loop took more than {LIMIT_MS} ms of a CPU", "\n".join(slow))


def places(stack):
    """The functions of a stack, innermost first: of libraries up to the first of benchd, then those of benchd."""
    frames = stack.split()
    own = [frame for frame in frames if frame.startswith("0x")]
    above = frames[:frames.index(own[0])] if own else frames
    named = subprocess.run(["addr2line", "-f", "-s", "-e", BENCHD, *own], text=True, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, check=True).stdout.splitlines() if own else []
    return " < ".join(above + [f"{function} {place}" for function, place in zip(named[::2], named[1::2])])


if LOOP_WATCH_MODULE:
    tap.AT_END.append(check_loop)


class Benchd:
    def __init__(self, cluster, *options, name="results"):
        """name: of its store; options win over those below."""
        self.cluster = cluster
        self.options = options
        self.process = None
        self.listen = f"127.0.0.1:{free_port()}"   # also after a restart: benchctl reads the address once
        self.store = f"sqlite:{cluster.dir}/{name}.db"
        self.log = cluster.dir / f"benchd-{name}.log"

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.kill()

    def start(self, *options):
        env = dict(os.environ)
        if LOOP_WATCH_MODULE:
            env.update(LD_PRELOAD=" ".join(filter(None, (env.get("LD_PRELOAD"), LOOP_WATCH_MODULE))), LOOP_WATCH=LOOP_WATCH.name)
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [BENCHD, "--kubeconfig", self.cluster.dir / "pki/admin.kubeconfig", "--namespace", "benchd",
                 "--store", self.store, "--listen", self.listen, *self.options, *options],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        """SIGTERM; returns the exit status."""
        self.process.terminate()
        return self.process.wait(timeout=60)

    def ctl(self, *args):
        return subprocess.run([BENCHCTL, *args, "--store", self.store], capture_output=True, text=True, timeout=180)

    def results(self, run):
        return json.loads(self.ctl("results", run, "-o", "json").stdout)


def definition(**changes):
    """A run of two points, pservers and trainers on images that nobody pulls."""
    template = {"spec": {"containers": [{"name": "main", "image": "benchd.local/benchworker:0.1.0"}]}}
    spec = {
        "systems": [{"name": "benchworker", "profile": "benchworker"}],
        "workload": {"model": "vgg16-fluid-fc512", "batchSize": 16, "exchange": {"kind": "PServer"}},
        "sweep": {"grid": {"pservers": [1], "trainers": [1, 2]}},
        "baseline": {"kind": "Point", "where": {"trainers": 1}},
        "roles": {role: {"replicas": {"from": role + "s"}, "template": template} for role in ("pserver", "trainer")},
        "measure": {"warmupSteps": 1, "steps": 4},
        "repeats": {"min": 2},
    }
    return {**spec, **changes}


class Kubelet:
    """Patches the status of pods by hand, as nodes would."""

    def __init__(self, cluster):
        self.api = Api(cluster)
        self.seen = {}   # name: uid of every pod that was there

    def pods(self):
        pods = self.api.get(f"{NS}/pods")["items"]
        for pod in pods:
            name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
            self.seen.setdefault(name, set()).add(uid)
        return pods

    def set_status(self, pod, status):
        self.api("PATCH", f"{NS}/pods/{pod['metadata']['name']}/status", {"status": status}, MERGE)   # it may be gone

    @staticmethod
    def summary(pod):
        labels = pod["metadata"]["labels"]
        return json.dumps({**SUMMARY, "role": labels["benchd.io/role"],
                           "index": int(labels["benchd.io/replica-index"]),
                           "attempt": int(labels["benchd.io/attempt"])}, separators=(",", ":"))

    @staticmethod
    def container(state, container_id=""):
        return [{"name": "main", "image": "x", "imageID": "", "ready": False, "restartCount": 0,
                 "containerID": container_id, "state": state}]

    def end(self, pod, code=0, reason="Completed", message=None):
        message = self.summary(pod) if message is None else message
        ended = {"terminated": {"exitCode": code, "reason": reason, "message": message}}
        self.set_status(pod, {"phase": "Failed" if code else "Succeeded", "podIP": "10.0.0.9",
                                     "podIPs": [{"ip": "10.0.0.9"}], "containerStatuses": self.container(ended)})

    def run(self, pod, address):
        self.set_status(pod, {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}],
                                     "containerStatuses": self.container({"running": {}})})

    def end_all(self):
        """What waits runs, and gangs that are whole end well: no worker ends before its peers are there."""
        gangs = {}
        for pod in self.pods():
            labels = pod["metadata"]["labels"]
            key = [labels.get(f"benchd.io/{label}") for label in ("run", "point", "trial", "attempt")]
            gangs.setdefault(tuple(key), []).append(pod)
        for gang in gangs.values():
            env = {e["name"]: e.get("value") for e in gang[0]["spec"]["containers"][0].get("env", [])}
            size = sum(int(env.get(f"BENCHD_{role}", 0)) for role in ("PSERVERS", "TRAINERS", "WORKERS"))
            for pod in gang:
                if "deletionTimestamp" in pod["metadata"]:
                    continue
                if pod["status"]["phase"] in ("Pending", "Running") and len(gang) >= size:
                    self.end(pod)
                elif pod["status"]["phase"] == "Pending":
                    self.run(pod, "10.0.0.9")


def wait_for(what, seconds=180):
    """The first true answer of what(), None after `seconds`: far more than a loaded machine takes. What was asked may be otherwise a
    moment later, so a test looks at this answer and does not ask again."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        answer = what()
        if answer:
            return answer
        time.sleep(0.1)
    return None
