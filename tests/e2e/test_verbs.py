#!/usr/bin/env python3
"""Each verb of benchctl, and the lines of kubectl that a user types, beside a benchd with runs. The pods are KWOK's."""
import contextlib
import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading

import kwok
import tap
from benchctl import Benchctl
from benchd import Benchd, definition, wait_for
from cluster import CONTROLLERS, CRD, Cluster, die_with_parent

COLUMNS = "NAME PHASE COMPLETIONS FAILED CURRENT ETA AGE".split()


class Lines:
    """A program whose output is read while it runs."""

    def __init__(self, command, env, cwd):
        self.process = subprocess.Popen(command, env=env, cwd=cwd, text=True, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=die_with_parent())
        self.lines = []
        self._queue = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self._queue.put(line)
        self._queue.put(None)

    def until(self, pattern, seconds=180):
        """The match in the first line that has it; None at the end of the output."""
        try:
            while (line := self._queue.get(timeout=seconds)) is not None:
                self.lines.append(line)
                if found := re.search(pattern, line):
                    return found
        except queue.Empty:
            pass
        return None

    def end(self, seconds=180):
        """Reads the rest; the exit status and all that was said."""
        self.until(r"(?!)", seconds)
        return self.process.wait(timeout=60), "".join(self.lines)

    def stop(self):
        self.process.kill()
        self.process.wait()


class Verbs:
    def __init__(self, t, cluster, daemon, ends):
        self.t, self.cluster, self.daemon, self.ends = t, cluster, daemon, ends
        self.k, self.ctl = cluster.kubectl, Benchctl(t, cluster)

    def start(self, *args):
        return Lines([os.environ["BENCHCTL"], *args], self.ctl.env, self.cluster.dir)

    def write(self, name, **changes):
        path = self.cluster.dir / f"{name}.json"
        path.write_text(json.dumps({"apiVersion": "benchd.io/v1alpha1", "kind": "Benchmark", "metadata": {"name": name},
                                    "spec": definition(addressing="DNS", **changes)}))
        return str(path)

    def start_run(self, *args):
        """A run that goes on, and its name."""
        lines = self.start("run", *args)
        return lines, lines.until(r"run/(\S+) created")[1]

    @contextlib.contextmanager
    def ends_held(self):
        """No pod ends until this does."""
        self.ends.is_held.set()
        try:
            yield
        finally:
            self.ends.is_held.clear()

    def wait_running(self, name):
        return wait_for(lambda: json.loads(self.k("get", "bmr", name, "-o", "json").stdout).get("status", {}).get("current"))

    def check_gone(self, name, what, keeps_results):
        left = wait_for(lambda: self.k("get", "pods,services,secrets", f"--selector=benchd.io/run={name}", "-o", "name").stdout == "")
        self.t.ok(left, f"{what}: no pod, Service or Secret is left", self.k("get", "pods,services,secrets").stdout)
        self.t.equal("", self.k("get", "bmr", name, "-o", "name", "--ignore-not-found").stdout, f"{what}: nor the run")
        code = 0 if keeps_results else 3
        self.t.ok(wait_for(lambda: self.ctl("results", name).returncode == code),
                  f"{what}: its results {'stay for a while' if keeps_results else 'are erased'}")


# ---- one run, from beginning to end ----

def check_run(v):
    t, ctl = v.t, v.ctl
    watch = Lines(v.cluster.command(v.cluster.programs["kubectl"], "get", "bmr", "-n", "benchd", "-w"), v.cluster.env(), v.cluster.dir)
    run, name = v.start_run("-f", v.write("small", repeats={"min": 4}))
    t.ok(v.wait_running(name), "run: a trial is under way")
    with v.ends_held():   # it must go on while others look at it, however long they take
        check_running(v, run, name)
    done = ctl("attach", name, "-o", "json")
    t.equal(0, done.returncode, "attach: exit 0 at its end")
    result = json.loads(done.stdout)
    t.equal(("Succeeded", name, 2), (result["phase"], result["run"], len(result["points"])), "attach -o json: the result")
    check_watch(t, watch, name)
    check_ended(v, name, result)
    return name


def check_running(v, run, name):
    t, ctl = v.t, v.ctl
    run.process.send_signal(signal.SIGINT)
    code, said = run.end()
    t.equal(130, code, "run, Ctrl-C: exit 130")
    t.match(f"benchctl attach {name}", said, "run, Ctrl-C: how to follow it again")
    t.match(rf"(?m)^{name} +\S+ +Running ", ctl("get", "runs").stdout, "get runs: it goes on")
    t.match(r"(?m)^Phase: +Running", ctl("describe", name).stdout, "describe: while it runs")


def check_watch(t, watch, name):
    """Later rows keep the widths of the first, so values are found by their form."""
    watch.until(rf"^{name}\b.* Succeeded")
    watch.stop()
    t.equal(COLUMNS, watch.lines[0].split(), "kubectl get bmr -w: its columns")
    rows = "".join(line for line in watch.lines if line.startswith(name))
    for what, pattern, least in (("phases", r" (Queued|Running|Succeeded) ", 2), ("completions", r" (\d/8) ", 3),
                                 ("current", r" (p\d t\d a\d) ", 2), ("ETA", r" a\d +((?:\d+m)?\d+s) ", 1)):
        t.ok(len(set(re.findall(pattern, rows))) >= least, f"kubectl get bmr -w: {what}, {least} of them", rows)


def check_ended(v, name, result):
    t, ctl, k = v.t, v.ctl, v.k
    t.equal(result["points"], json.loads(ctl("results", name, "-o", "json").stdout)["points"], "results: as attach said")
    t.match("SAMPLES/S|BATCHES/S", ctl("results", name[-5:]).stdout, "results: by the end of its name")
    ctl.expect("logs of a simulated pod, which nobody read", 0, "trainer/1 of point 1, trial 0, attempt 0: 0 bytes", "logs",
               name, "--point", "1", "--role", "trainer", "--index", "1")
    ctl.expect("logs of no such replica", 3, "available logs", "logs", name, "--point", "1", "--role", "trainer", "--index", "7")
    t.equal(0, ctl("attach", name).returncode, "attach: to a run that has ended")
    t.match(r"(?m)^Phase: +Succeeded", ctl("describe", name).stdout, "describe: at its end")
    t.equal(0, k("wait", "--for=condition=Complete", f"bmr/{name}", "--timeout=60s", check=False).returncode,
            "kubectl wait --for=condition=Complete bmr/X")
    k("apply", "-f", "-", stdin=tap.whole(tap.ROOT / "benchmarks" / "vgg16-single-node.yaml"))
    both = k("get", "bm,bmr", "-o", "name").stdout.split()
    t.equal({"benchmark.benchd.io/vgg16-single-node", f"benchmarkrun.benchd.io/{name}"}, set(both), "kubectl get bm,bmr")
    # That of the end is posted after the status.
    wait_for(lambda: "Completed" in k("get", "events", "-o", "jsonpath={.items[*].reason}").stdout.split())
    described = k("describe", "bmr", name).stdout
    t.match(r"Events:(?s:.*)RunStarted(?s:.*)Completed", described, "kubectl describe bmr: its Events")


# ---- the ends that a user makes ----

def check_ends(v):
    t, k, ctl = v.t, v.k, v.ctl
    path = v.write("long", repeats={"min": 20})
    run, name = v.start_run("-f", path)
    v.wait_running(name)
    t.equal(f"run/{name} cancelled\n", ctl("cancel", name).stdout, "cancel")
    code, said = run.end()
    t.equal(1, code, "cancel: the run that was looked at ends with 1")
    t.match("Cancelled", said, "cancel: and says so")
    t.match(rf"(?m)^{name} +\S+ +Cancelled ", ctl("get", "runs").stdout, "cancel: get runs")
    t.ok(wait_for(lambda: k("get", "pods", "-o", "name").stdout == ""), "cancel: no pod is left")
    t.equal(f"run/{name} deleted\n", ctl("delete", name).stdout, "delete")
    v.check_gone(name, "delete", keeps_results=False)

    run, name = v.start_run("-f", path)
    v.wait_running(name)
    t.equal(0, k("delete", "bmr", name, "--timeout=120s", check=False).returncode, "kubectl delete bmr in the middle")
    code, said = run.end()
    t.equal(3, code, "kubectl delete bmr: benchctl run ends with 3")
    t.match("was deleted", said, "kubectl delete bmr: and says why")
    v.check_gone(name, "kubectl delete bmr", keeps_results=True)

    done = ctl("run", "-f", path, "--timeout", "4s", "-o", "json")
    t.equal((8, "Cancelled"), (done.returncode, json.loads(done.stdout)["phase"]), "run --timeout: exit 8, cancelled")


def check_without_benchd(v, name):
    """What needs benchd says that it is not there; what does not goes on."""
    t, k, ctl = v.t, v.k, v.ctl
    v.daemon.stop()
    missing = "benchd is not running in namespace 'benchd': nobody holds the lease 'benchd'"
    for verb in (("run", "vgg16-pserver-sweep"), ("results", name), ("logs", name, "--point", "0")):
        ctl.expect(f"no benchd, {verb[0]}", 5, missing, *verb)
    done = ctl.expect("no benchd, describe", 5, missing, "describe", name)
    t.match(r"(?m)^Phase: +Succeeded\nReason: +Completed: ", done.stdout, "no benchd, describe: what the object says")
    t.match(rf"(?m)^{name} +\S+ +Succeeded ", ctl("get", "runs").stdout, "no benchd, get runs: as ever")
    v.daemon.start()
    t.ok(wait_for(lambda: ctl("results", name).returncode == 0), "and its results are back with it")
    v.daemon.kill()
    ctl.expect("benchd killed, results", 5, "cannot reach|benchd is not running", "results", name)
    v.daemon.start()
    t.ok(wait_for(lambda: ctl("results", name).returncode == 0), "and back again")
    v.daemon.stop()
    k("create", "-f", "-", stdin=json.dumps({"apiVersion": "benchd.io/v1alpha1", "kind": "BenchmarkRun",
                                             "metadata": {"name": "later"}, "spec": {"definition": definition()}}))
    ctl.expect("no benchd, cancel", 0, "nobody holds the lease 'benchd'.: the run is cancelled when benchd is back", "cancel", "later")
    ctl.expect("no benchd, delete", 0, "nobody holds the lease 'benchd'.: the results of this run are erased later", "delete", "later")


def main():
    t = tap.Tap()
    with Cluster(parts=CONTROLLERS, kwok=kwok.without_ends) as cluster, kwok.GangEnds(cluster) as ends:
        kwok.make_nodes(cluster, 4)
        cluster.kubectl("apply", "-f", CRD)
        cluster.wait_for_kinds()
        with Benchd(cluster) as daemon:
            v = Verbs(t, cluster, daemon, ends)
            t.ok(wait_for(lambda: "holding the lease" in daemon.log.read_text()), "benchd is there")
            name = check_run(v)
            check_ends(v)
            check_without_benchd(v, name)
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
