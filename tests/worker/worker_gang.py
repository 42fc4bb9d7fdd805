"""Real worker processes on loopback, for the black-box tests."""
import itertools
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "e2e"))
WORKER = os.environ.get("BENCHWORKER", str(ROOT / "build" / "worker" / "benchworker"))
PATIENCE_S = 120  # for what only a crawling machine delays
# A machine that stalls for some seconds makes no peer a lost one. Tests of that limit wait for it, so theirs is as short as it may be.
HEALTHY = {"BENCHD_PEER_TIMEOUT_S": "60"}
LOST_S = 15
SHORT = ["--peer-timeout-s", LOST_S]
# How it is noticed: at once who is killed, after a while who is stopped. How long it takes here depends on the machine.
NOTICED = {signal.SIGKILL: "closed the connection early", signal.SIGSTOP: "silent for"}


# A loopback address of this process alone: a port that is only known to be free may be another's by the
# time that a server listens.
HOST = f"127.{64 + (os.getpid() >> 16) % 64}.{os.getpid() >> 8 & 255}.{os.getpid() & 255}"
PORTS = itertools.count(20000)


def own_ports(n):
    """Ports of HOST that nobody else has or had."""
    return list(itertools.islice(PORTS, n))


def environment(more=None):
    """Of a worker: of its own variables it gets only those of script/mutate."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("BENCHD_") or k.startswith("BENCHD_MUTANT")}
    return {**clean, **HEALTHY, **(more or {})}


class Replica:
    """One process; its stdout is read as records while it runs."""

    def __init__(self, name, args, env=None, pass_fds=()):
        self.name = name
        self.records = []
        self.has_ended = False  # and all that it wrote is in records
        self.changed = threading.Condition()
        self.process = subprocess.Popen([WORKER] + [str(a) for a in args], env=environment(env),
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, pass_fds=pass_fds)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        try:
            for line in self.process.stdout:
                with self.changed:
                    self.records.append(json.loads(line))
                    self.changed.notify_all()
        finally:
            with self.changed:
                self.has_ended = True
                self.changed.notify_all()

    def wait_for(self, type_, count=1):
        """The count-th record of a type."""
        def found():
            return [r for r in self.records if r["type"] == type_]
        with self.changed:
            self.changed.wait_for(lambda: len(found()) >= count or self.has_ended)
            records = found()
            if len(records) < count:
                raise AssertionError(f"{self.name}: expected {count} records of type {type_}, got {self.records[-3:]}")
        return records[count - 1]

    def signal(self, number):
        self.process.send_signal(number)

    def end(self, timeout_s=PATIENCE_S):
        """(exit code, error record or None, stderr); kills it when it does not end by itself."""
        try:
            code = self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            code = "still running"
        self.reader.join()
        self.stderr = self.process.stderr.read()
        self.process.stderr.close()
        self.process.stdout.close()
        errors = [r for r in self.records if r["type"] == "error"]
        return code, errors[-1] if errors else None, self.stderr


def wait_until_served(port):
    """A server listens before it has computed its parameters; then it hangs up on whoever talks nonsense."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        try:
            with socket.create_connection((HOST, port), PATIENCE_S) as s:
                s.sendall(bytes(200))
                s.recv(1)
                return
        except ConnectionResetError:
            return
        except ConnectionRefusedError:
            time.sleep(0.02)  # nothing announces a port that opens


class Gang:
    """Parameter servers and trainers of one trial."""

    def __init__(self, n_pservers, n_trainers, trainer_args=(), pserver_args=(), servers_first=False):
        self.dir = tempfile.TemporaryDirectory(prefix="benchd-gang-")
        self.key = os.path.join(self.dir.name, "key")
        with open(os.open(self.key, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as f:
            f.write(os.urandom(32))
        ports = own_ports(n_pservers)
        self.addrs = ",".join(f"{HOST}:{p}" for p in ports)
        common = ["--run", "gang", "--pservers", n_pservers, "--trainers", n_trainers, "--secret-file", self.key]
        self.replicas = {}
        for i, port in enumerate(ports):
            self.add("pserver", i, common + ["--listen", f"{HOST}:{port}", *pserver_args])
        if servers_first:
            for port in ports:
                wait_until_served(port)
        for i in range(n_trainers):
            self.add("trainer", i, common + ["--pserver-addrs", self.addrs, "--batch-size", 2, *trainer_args])

    def add(self, role, index, args):
        name = f"{role}/{index}"
        self.replicas[name] = Replica(name, [role, "--index", index, *args])

    def __getitem__(self, name):
        return self.replicas[name]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for r in self.replicas.values():
            if r.process.poll() is None:
                r.process.kill()
                r.process.wait()
        self.dir.cleanup()

    def end(self, names=None, timeout_s=PATIENCE_S):
        return {n: self.replicas[n].end(timeout_s) for n in names or self.replicas}

    def strike(self, victim, number):
        """In the fifth step: (seconds to the last exit, the others' ends, the end of a woken victim or None)"""
        next(r for name, r in self.replicas.items() if not name.startswith("pserver")).wait_for("step", 4)
        begin = time.monotonic()
        self[victim].signal(number)
        others = self.end([n for n in self.replicas if n != victim])
        took_s = seconds_since(begin)
        if number != signal.SIGSTOP:
            return took_s, others, None
        self[victim].signal(signal.SIGCONT)
        return took_s, others, self[victim].end()


class Ring(Gang):
    """The workers of one trial, without servers."""

    def __init__(self, n_workers, worker_args=()):
        super().__init__(0, 0)
        ports = own_ports(n_workers)
        addrs = ",".join(f"{HOST}:{p}" for p in ports)
        for i, port in enumerate(ports):
            self.add("worker", i, ["--run", "ring", "--workers", n_workers, "--secret-file", self.key,
                                   "--worker-addrs", addrs, "--listen", f"{HOST}:{port}", "--batch-size", 2,
                                   *worker_args])


def seconds_since(begin):
    return time.monotonic() - begin


__all__ = ["HOST", "LOST_S", "NOTICED", "PATIENCE_S", "SHORT", "Gang", "Replica", "Ring", "ROOT", "WORKER", "environment", "own_ports", "seconds_since", "signal", "time"]
