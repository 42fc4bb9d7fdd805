"""What the black-box tests of benchctl share: a folder and a store for each test, definitions that run
against fake_replica.c (trials cost a moment, not minutes), and TAP on stdout."""
import fcntl
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

from unittest_tap import main

ROOT = pathlib.Path(os.environ["BENCHD_SOURCE_DIR"])
BENCHCTL = os.environ["BENCHCTL"]
FAKE_REPLICA = os.environ["BENCHD_BUILD_DIR"] + "/tests/ctl/fake_replica"
WAIT_S = 90  # for what takes a moment; a machine that is busy with other tests may take many times as long


def figures():
    """The rows of docs/figures.md, which the test report/catalogue writes; "-": none."""
    page = (ROOT / "docs" / "figures.md").read_text(encoding="utf-8")
    names = ("name", "heading", "column", "json", "unit", "metric", "interval", "meaning")
    return [dict(zip(names, line[2:-2].split(" | "), strict=True)) for line in page.splitlines()[7:]]


def metric_limits(figure):
    """{name of a metric of the figure: the part of the figure that it has}; none if /metrics has none."""
    units = re.findall(r'^    \{"\S+", "(\w+)", .*\},$', (ROOT / "lib" / "result" / "catalogue.c").read_text(encoding="utf-8"), re.M)
    match = re.fullmatch(rf"(benchd_point_\w+?)(_(?:{'|'.join(units)}))", figure["metric"])
    limits = {"": "value"} | ({"_low": "low", "_high": "high"} if figure["interval"] == "yes" else {})
    return {} if match is None else {match[1] + limit + match[2]: part for limit, part in limits.items()}


def definition(pservers=(1, 2), trainers=(1,), steps=3, repeats=2, env=None, extra=None):
    """A Benchmark as JSON; `env` reaches the fake replica through the pod template."""
    container = {"name": "main", "env": [{"name": k, "value": v} for k, v in (env or {}).items()]}
    template = {"spec": {"containers": [container]}}
    spec = {
        "description": "a test",
        "systems": [{"name": "benchworker", "profile": "benchworker"}],
        "workload": {"model": "vgg16-fluid-fc512", "dataset": {"kind": "Synthetic"}, "batchSize": 2,
                     "threads": 1, "seed": 1,
                     "exchange": {"kind": "PServer", "mode": "Sync", "wire": "FP32"}, "compute": "Real"},
        "sweep": {"grid": {"pservers": list(pservers), "trainers": list(trainers)}},
        "baseline": {"kind": "SingleNode"},
        "roles": {"pserver": {"replicas": {"from": "pservers"}, "template": template},
                  "trainer": {"replicas": {"from": "trainers"}, "template": template}},
        "measure": {"warmupSteps": 1, "steps": steps},
        "repeats": {"min": repeats, "order": "Sequential"},
        "failurePolicy": {"onTrialFailure": "Skip", "maxFailedTrials": 3},
        "runPolicy": {"activeDeadlineSeconds": 600, "backoffLimit": 1},
    }
    spec.update(extra or {})
    return {"apiVersion": "benchd.io/v1alpha1", "kind": "Benchmark", "metadata": {"name": "tiny"}, "spec": spec}


def wait_for(what, condition, timeout_s=WAIT_S):
    """Polls until condition() is true; its value."""
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"not within {timeout_s} s: {what}")


def text_of(path):
    """Of a process; empty if it has ended, or is of somebody else."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, PermissionError, ProcessLookupError):
        return ""


def is_alive(pid):
    return text_of(pathlib.Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()[:1] not in ([], ["Z"])


def gang_of(parent, n):
    """The replicas that a benchctl has started, {"trainer/0": pid}; None until there are n."""
    gang = {}
    for task in pathlib.Path(f"/proc/{parent}/task").glob("*"):   # a longer pattern fails where one ends
        for pid in text_of(task / "children").split():
            env = text_of(pathlib.Path(f"/proc/{pid}/environ")).split("\0")
            of = dict(v.split("=", 1) for v in env if v.startswith("BENCHD_"))
            if "BENCHD_ROLE" in of:
                gang[f"{of['BENCHD_ROLE']}/{of['BENCHD_INDEX']}"] = int(pid)
    return gang if len(gang) == n else None


def read_terminal(master, gates=()):
    """What a program writes to a pseudo-terminal until it ends; closes this side of it. gates: (file, patterns) one after another; the
    file is made once all patterns are on the terminal (FAKE_GATES of fake_replica.c)."""
    data, gates = b"", list(gates)
    while True:
        try:
            chunk = os.read(master, 65536)
        except OSError:  # the program has ended
            break
        if not chunk:
            break
        data += chunk
        while gates and all(re.search(pattern, data.decode(errors="ignore")) for pattern in gates[0][1]):
            gates.pop(0)[0].touch()
    os.close(master)
    return data


def without_ages(text):
    """Of describe: an age is the only thing in it that depends on when it is read."""
    text = re.sub(r"\(\S+ ago\)", "(some time ago)", text)
    return re.sub(r"(?m)^  (?:AGE|\d+[smhd]\S*) +(TYPE|Normal|Warning) ", r"  \1 ", text)


class CliCase(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="benchctl-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.store = f"sqlite:{self.folder}/results.db"
        self.pids = self.folder / "pids"
        not_ours = re.compile(r"(?i:.*_proxy|NO_COLOR|FORCE_COLOR|COLUMNS|(OMP|HF|WANDB|JAX|TF|TORCH|MKL|KMP)_.*|XLA_FLAGS|PYTHONPATH)")
        self.env = {k: v for k, v in os.environ.items() if not not_ours.fullmatch(k)}
        self.env.update(BENCHWORKER=FAKE_REPLICA, BENCHCTL_PATH=str(ROOT / "benchmarks"),
                        LC_ALL=os.environ.get("CLI_LOCALE", "C.UTF-8"), HOME=str(self.folder), XDG_DATA_HOME=str(self.folder / "data"),
                        BENCHD_PEER_TIMEOUT_S="60")  # a machine that stalls loses no peers

    def define(self, name="tiny.json", env=None, **keys):
        path = self.folder / name
        env = {"FAKE_PIDS": str(self.pids), **(env or {})}
        path.write_text(json.dumps(definition(env=env, **keys)), encoding="utf-8")
        return str(path)

    def ctl(self, *args, code=0, stdin=subprocess.DEVNULL, timeout=600, cwd=None, **keys):
        """Runs benchctl to its end; checks the exit code."""
        done = subprocess.run([BENCHCTL, *args], env=self.env, cwd=cwd or self.folder, capture_output=True,
                              text=True, stdin=stdin, timeout=timeout, check=False, **keys)
        if done.returncode != code:
            self.fail(f"benchctl {' '.join(args)}: expected exit code {code}, got {done.returncode}\n"
                      f"stdout: {done.stdout}\nstderr: {done.stderr}")
        return done

    def bytes_on_terminal(self, columns, *args):
        """The bytes that benchctl writes to a terminal."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        process = subprocess.Popen([BENCHCTL, *args], env=self.env, cwd=self.folder, stdin=slave, stdout=slave, stderr=subprocess.PIPE)
        os.close(slave)
        data = read_terminal(master)
        process.communicate(timeout=WAIT_S)
        self.assertEqual(process.returncode, 0)
        return data

    def start(self, *args):
        """Starts benchctl; ends it with the test."""
        process = subprocess.Popen([BENCHCTL, *args], env=self.env, cwd=self.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

        def end():
            if process.poll() is None:
                process.kill()
            process.communicate()

        self.addCleanup(end)
        return process

    def run_tiny(self, *args, code=0, **keys):
        """A run of a small definition; the result document."""
        done = self.ctl("run", self.define(**keys), "--store", self.store, "-o", "json", *args, code=code)
        return json.loads(done.stdout)

    def start_hanging(self, *args):
        """A run whose second point hangs; returns when its first point is kept."""
        path = self.define(env={"FAKE_HANG": "1.0"}, repeats=1)
        process = self.start("run", path, "--store", self.store, "--progress", "plain", *args)
        for line in process.stderr:
            if "phase=" in line and " point=1 " in line:
                break
        # The gang of point 1: two servers and a trainer, after the two processes of point 0.
        wait_for("all processes of the second point", lambda: len(self.worker_pids()) == 5)
        return process

    def worker_pids(self):
        if not self.pids.exists():
            return []
        return [int(line) for line in self.pids.read_text(encoding="ascii").splitlines()]

    def assert_no_worker(self):
        """Nothing of a run outlives it: these workers would never end by themselves."""
        wait_for("all workers are gone", lambda: not any(map(is_alive, self.worker_pids())))

    def put_worker(self, version=None, code=0):
        """A program that says it is benchworker of this version; the default is benchctl's own. Returns that."""
        own = self.ctl("version").stdout.split()[1]
        path = self.folder / "worker"
        path.write_text(f"#!/bin/sh\necho benchworker {version or own}\nexit {code}\n", encoding="utf-8")
        path.chmod(0o755)
        self.env["BENCHWORKER"] = str(path)
        return own

    def run_name(self):
        names = self.ctl("get", "runs", "--store", self.store, "-o", "name").stdout.split()
        self.assertEqual(len(names), 1)
        return names[0].split("/")[1]

    def stop(self, process, signum):
        """Sends the signal and waits for the end; (exit code, stdout, stderr)."""
        process.send_signal(signum)
        out, err = process.communicate(timeout=WAIT_S)
        return process.returncode, out, err


SIGINT, SIGKILL, SIGTERM = signal.SIGINT, signal.SIGKILL, signal.SIGTERM
