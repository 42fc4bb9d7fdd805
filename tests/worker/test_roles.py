#!/usr/bin/env python3
"""benchworker trainer and pserver from outside: settings, ports, secrets, data, who does not come."""
import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from worker_gang import HOST, WORKER, Gang, Replica, own_ports, seconds_since, time
from tap import Tap

MEET_S = 15  # for who is there to meet; the one that is missing is waited for so long


def once(args, env=None):
    """(exit code, error record, stderr, all records)"""
    r = Replica(args[0], args, env)
    return (*r.end(), r.records)


def usage(tap, key):
    rows = [
        (["pserver"], {}, "no address to listen on"),
        (["pserver", "--listen", "7164"], {}, "expected host:port"),
        (["pserver", "--listen", "127.0.0.1:0"], {}, "no secret; set --secret-file"),
        (["pserver", "--listn", "x"], {}, "did you mean --listen"),
        (["trainer"], {}, "no parameter server addresses"),
        (["trainer", "--exchange", "None"], {"BENCHD_BATCH_SIZE": "many"},
         "BENCHD_BATCH_SIZE 'many': expected a whole number from 1"),
        (["trainer", "--exchange", "None", "--model", "vgg"], {}, "unknown model 'vgg'; known models: vgg16"),
        (["trainer", "--exchange", "None", "--data", "mnist"], {}, "mnist"),
        (["trainer", "more"], {}, "unexpected argument 'more'"),
        (["tariner"], {}, "unknown role 'tariner'; did you mean trainer"),
    ]
    for args, env, says in rows:
        code, _, stderr, _ = once(args, env)
        tap.equal(2, code, f"{args} {env}: usage")
        tap.match(says.replace("(", r"\("), stderr, f"{args} {env}: says why")
    for mode, size, says in ((0o644, 32, "everyone on this machine can read"), (0o600, 16, "holds 16 bytes")):
        with open(key, "wb") as f:
            f.write(bytes(size))
        os.chmod(key, mode)
        for args in (["pserver", "--listen", "127.0.0.1:0"], ["trainer", "--pserver-addrs", "127.0.0.1:1"]):
            code, error, stderr, _ = once([*args, "--secret-file", key])
            tap.equal(2, code, f"{args[0]}: secret of {size} bytes, mode {mode:o}")
            tap.match(says, stderr, f"{args[0]}: secret of {size} bytes, mode {mode:o}: says why")


def occupied_port(tap):
    with socket.create_server(("127.0.0.1", 0)) as s:
        address = f"127.0.0.1:{s.getsockname()[1]}"
        code, error, stderr, _ = once(["pserver", "--listen", address])
    tap.equal(13, code, "occupied port: exit code")
    tap.equal(f"benchworker pserver/0: bind {address}: Address already in use (another process listens "
              "there; choose another --listen)\n", stderr, "occupied port: message")
    tap.equal((13, None), (error["code"], error["peer"]), "occupied port: record")


class WithoutTheLast(Gang):
    def add(self, role, index, args):
        if (role, index) != ("trainer", 1):
            super().add(role, index, args)


def missing_peers(tap):
    with WithoutTheLast(1, 2, pserver_args=["--rendezvous-s", MEET_S], trainer_args=["--rendezvous-s", 60]) as gang:
        ends = gang.end()
    for name, (code, error, stderr) in ends.items():
        tap.equal((11, "trainer/1"), (code, error["peer"]), f"a trainer does not come: {name} names it")
        tap.match("trainer/1", stderr, f"a trainer does not come: {name} says so")
    port = 1  # where nobody listens
    with tempfile.TemporaryDirectory() as d:
        key = os.path.join(d, "key")
        with open(os.open(key, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as f:
            f.write(bytes(32))
        code, error, stderr, _ = once(["trainer", "--pserver-addrs", f"localhost:{port}", "--secret-file", key,
                                       "--rendezvous-s", MEET_S, "--batch-size", "2"])
    tap.equal((11, "pserver/0"), (code, error["peer"]), "the server does not come: the trainer names it")
    tap.match(f"[^,] pserver/0 \\(localhost:{port}: connect: Connection refused\\): no answer within {MEET_S} s", stderr,
              "the server does not come: says where and why")


def fill(address):
    """Connections that nobody accepts, until the kernel drops those that follow."""
    filled = []
    while True:
        try:
            filled.append(socket.create_connection(address, 0.5))
        except TimeoutError:
            return filled


def black_hole(tap):
    """An address that answers nothing, not even no: the rendezvous ends in its time all the same."""
    with tempfile.NamedTemporaryFile() as key, socket.create_server((HOST, own_ports(1)[0]), backlog=0) as s:
        key.write(bytes(32))
        key.flush()
        address = s.getsockname()
        filled = fill(address)
        code, error, stderr, _ = once(["trainer", "--pserver-addrs", f"{HOST}:{address[1]}", "--secret-file", key.name,
                                       "--rendezvous-s", MEET_S, "--batch-size", "2"])
        for connection in filled:
            connection.close()
    tap.equal((11, "pserver/0"), (code, error["peer"]), "a server that does not answer: the trainer names it")
    tap.match(f"pserver/0 \\({HOST}:{address[1]}: connect: no answer within 3 s\\): no answer within {MEET_S} s", stderr,
              "a server that does not answer: says where, and how long it waited")


def count_waiting(listener):
    """The connections that nobody has accepted."""
    listener.setblocking(False)
    n = 0
    while True:
        try:
            listener.accept()[0].close()
            n += 1
        except BlockingIOError:
            return n


def says_nothing(tap, what, name, args):
    """Somebody who takes connections and is silent is given up after 30 s, and its name looked up again."""
    with tempfile.NamedTemporaryFile() as key, socket.create_server((HOST, own_ports(1)[0]), backlog=8) as s:
        key.write(bytes(32))
        key.flush()
        address = f"{HOST}:{s.getsockname()[1]}"
        code, error, stderr, _ = once([*args(address), "--secret-file", key.name, "--rendezvous-s", 32])
        tap.equal((11, 2), (code, count_waiting(s)), f"{what} that says nothing: dialled again")
    tap.match(f"{name} \\({address}: it accepted the connection and said nothing for 30 s\\)", stderr, f"{what} that says nothing: named")


def silent_peers(tap):
    def own():
        return f"{HOST}:{own_ports(1)[0]}"
    rows = (("a server", "pserver/0", lambda a: ["trainer", "--pserver-addrs", a, "--batch-size", "2"]),
            ("a next worker", "worker/1", lambda a: ["worker", "--workers", 2, "--index", 0, "--listen", (me := own()),
                                                     "--worker-addrs", f"{me},{a}", "--batch-size", 2]))
    with ThreadPoolExecutor(len(rows)) as pool:
        for ended in [pool.submit(says_nothing, tap, *row) for row in rows]:
            ended.result()


def another_secret(tap):
    with tempfile.NamedTemporaryFile() as other:
        other.write(bytes(32))
        other.flush()
        with Gang(1, 1, pserver_args=["--rendezvous-s", MEET_S], trainer_args=["--secret-file", other.name]) as gang:
            ends = gang.end()
    code, error, _ = ends["trainer/0"]
    tap.equal((12, "pserver/0"), (code, error["peer"]), "another secret: the trainer exits 12 and names the server")
    tap.match("does not know this run's secret", error["message"], "another secret: and says why")
    code, error, _ = ends["pserver/0"]
    tap.equal((11, "trainer/0"), (code, error["peer"]), "another secret: the server misses the trainer")
    tap.match(rf"did not connect within {MEET_S} s \(rejected a connection that claimed to be trainer/0: .*different secret\)", error["message"],
              "another secret: and says who was turned away")


def bad_data(tap):
    # A trainer that gives up waits three seconds for its servers.
    with Gang(1, 1, trainer_args=["--data", "idx:/nonexistent"], servers_first=True) as gang:
        ends = gang.end()
    code, error, stderr = ends["trainer/0"]
    tap.equal((10, None), (code, error["peer"]), "no data: the trainer exits 10")
    tap.match("/nonexistent", stderr, "no data: names the place")
    code, error, _ = ends["pserver/0"]
    tap.equal((11, "trainer/0"), (code, error["peer"]), "no data: the server is told who gave up")
    tap.match("/nonexistent", error["message"], "no data: and why")


def full_disk(tap):
    with open("/dev/full", "w") as full:
        r = subprocess.run([WORKER, "trainer", "--exchange", "None", "--batch-size", "2"], stdout=full, stderr=subprocess.PIPE, text=True)
    tap.equal(13, r.returncode, "stdout on a full disk: exit code")
    tap.match("stdout: No space left on device", r.stderr, "stdout on a full disk: message")
    for words in (["--help"], ["--version"], ["trainer", "--help"], ["bench", "--help"]):
        with open("/dev/full", "w") as full:
            r = subprocess.run([WORKER, *words], stdout=full, stderr=subprocess.PIPE, text=True)
        tap.equal((13, "benchworker: cannot write to stdout\n"), (r.returncode, r.stderr), f"{words} on a full disk")


def times(tap, steps, summary, took_s):
    """The clock begins at the barrier; phases are parts of a step; the summary adds up what was measured."""
    measured = [r for r in steps if not r.get("warmup")]
    tap.equal([0], sorted({r["t_ns"] for r in steps if r.get("warmup")}), "alone: no clock in the warm-up")
    ends = [0] + [r["t_ns"] for r in measured]
    for begin, r in zip(ends, measured):
        tap.ok(begin < r["step_ns"] + begin <= r["t_ns"], f"alone: step {r['step']} is within its time on the clock", r)
    warmup_ns = sum(r["step_ns"] for r in steps if r.get("warmup"))
    tap.ok(warmup_ns + summary["duration_ns"] <= took_s * 1e9, "alone: the clock begins after the warm-up", summary)
    for r in steps:
        phases = r["phase_ns"]
        tap.ok(min(phases.values()) >= 0 and sum(phases.values()) <= r["step_ns"], "alone: phases are parts of a step", r)
        tap.equal({"data", "forward", "backward", "update"}, {k for k, v in phases.items() if v > 0}, "alone: the phases that take time")
    tap.equal({k: sum(r["phase_ns"][k] for r in measured) for k in measured[0]["phase_ns"]}, summary["phase_ns"],
              "alone: the summary adds up the measured phases")
    tap.equal((measured[0]["loss"], measured[-1]["loss"]), (summary["loss_first"], summary["loss_last"]),
              "alone: the first and the last measured loss")


def alone(tap):
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "summary")
        begin = time.monotonic()
        code, error, stderr, records = once(
            ["trainer"], {"BENCHD_EXCHANGE": "None", "BENCHD_BATCH_SIZE": "2", "BENCHD_STEPS": "3",
                          "BENCHD_WARMUP_STEPS": "1", "BENCHD_SUMMARY_FILE": path, "BENCHD_ATTEMPT": "4"})
        took_s = seconds_since(begin)
        with open(path) as f:
            saved = json.load(f)
    tap.equal((0, None, ""), (code, error, stderr), "alone: ends well")
    tap.equal(["start", "step", "step", "step", "step", "summary"], [r["type"] for r in records], "alone: the order of the records")
    tap.equal({4}, {r["attempt"] for r in records}, "alone: the attempt")
    environment = records[0]["environment"]
    tap.equal([], [k for k in ("host cpu_model cpu_mhz caches cpuset cgroup_cpu_limit cgroup_memory_limit "
                               "kernel clock_source cpu_governor gpu_driver blas blas_core cpu_features denormals threads build source "
                               "compiler build_options model seed flops_per_sample").split()
                   if k not in environment], "alone: the environment is whole")
    tap.equal([(0, True), (0, False), (1, False), (2, False)],
              [(r["step"], r.get("warmup", False)) for r in records[1:5]], "alone: steps and warm-up")
    summary = records[-1]
    tap.equal(saved, summary, "alone: the summary file holds the same")
    tap.equal((6, 3, 0), (summary["samples"], summary["steps"], summary["bytes_tx"]), "alone: totals")
    tap.equal(records[-2]["t_ns"], summary["duration_ns"], "alone: the clock ends with the last step")
    times(tap, records[1:-1], summary, took_s)
    noise = summary["noise"]
    tap.equal([], [when for when in ("before", "after")
                   if not (noise[when]["spins_per_s"] > 0 <= noise[when]["copy_bytes_per_s"])], "alone: probed twice")
    tap.ok(0 <= noise.get("steal_ns", 0) <= noise.get("busy_ns", 0), "alone: steal is a part of the busy time", noise)
    if os.path.exists("/proc/self/schedstat"):
        tap.ok(noise["cpu_run_ns"] > 0 <= noise["cpu_wait_ns"], "alone: how long its threads ran and waited for CPUs", noise)


def children_cpu_ns():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) * 1e9


def cpu_time_begins_at_the_barrier(tap):
    """Of ten equal steps the last is measured. Both numbers are CPU time, which a busy machine does not stretch."""
    before_ns = children_cpu_ns()
    records = once(["trainer"], {"BENCHD_EXCHANGE": "None", "BENCHD_BATCH_SIZE": "2", "BENCHD_STEPS": "1", "BENCHD_WARMUP_STEPS": "9"})[3]
    whole_ns = children_cpu_ns() - before_ns
    tap.ok(0 < records[-1]["cpu_ns"] < whole_ns / 2, f"the CPU time of one step of ten is the lesser part of {whole_ns:.0f} ns", records[-1])


def gangs_are_probed_at_rest(tap):
    """Trainer 0 looks at the machine where all end a step together, and nowhere else."""
    for mode, expected in (("Sync", ["after", "before"]), ("Async", [])):
        settings = ["--warmup-steps", 1, "--steps", 1, "--batch-size", 1, "--mode", mode]
        with Gang(1, 2, settings, ["--mode", mode]) as gang:
            ends = gang.end()
            tap.equal([(0, None)] * 3, [end[:2] for end in ends.values()], f"{mode}: ends well")
            noise = [gang[f"trainer/{i}"].records[-1].get("noise", {}) for i in (0, 1)]
        tap.equal([expected, []], [sorted({"before", "after"} & set(n)) for n in noise], f"{mode}: probes of both trainers")


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as d:
        usage(tap, os.path.join(d, "key"))
    occupied_port(tap)
    with ThreadPoolExecutor(3) as pool:  # they mostly wait
        for waits in [pool.submit(check, tap) for check in (missing_peers, black_hole, silent_peers, another_secret)]:
            waits.result()
    bad_data(tap)
    full_disk(tap)
    alone(tap)
    cpu_time_begins_at_the_barrier(tap)
    gangs_are_probed_at_rest(tap)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
