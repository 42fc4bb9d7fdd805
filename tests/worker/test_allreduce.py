#!/usr/bin/env python3
"""benchworker allreduce from outside: its table, its sums, its options, and who is named when a rank dies, stops or measures
something else; over TCP and through shared memory."""
import json
import os
import re
import subprocess
import sys
import tempfile

from worker_gang import HOST, PATIENCE_S, SHORT, WORKER, environment, own_ports, seconds_since, signal, time
from tap import Tap

ROW = re.compile(r" *(\d+) +(\d+) +float +sum +-1((?: +[\d.]+){3} +\d+){2}$")
# How it is noticed: at once who is killed, after a while who is stopped. How long it takes here depends on the machine.
NOTICED = {signal.SIGKILL: "closed the connection early", signal.SIGSTOP: "silent for"}


class Ranks:
    """One gang; its processes end with it."""

    def __init__(self, n, args=(), own=None):
        self.dir = tempfile.TemporaryDirectory(prefix="benchd-ranks-")
        self.keys = [self.path(name) for name in ("key", "another")]
        for key in self.keys:
            with open(os.open(key, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as f:
                f.write(os.urandom(32))
        addrs = [f"{HOST}:{port}" for port in own_ports(n)]
        self.processes = []
        for i, addr in enumerate(addrs):
            argv = [WORKER, "allreduce", "--run", "ranks", "--workers", n, "--index", i, "--listen", addr, "--worker-addrs",
                    ",".join(addrs), "--secret-file", self.keys[0], *args, *(own or {}).get(i, [])]
            self.processes.append(subprocess.Popen([str(word) for word in argv], env=environment(), stdin=subprocess.DEVNULL,
                                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))

    def path(self, name):
        return os.path.join(self.dir.name, name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()
            process.stdout.close()
            process.stderr.close()
        self.dir.cleanup()

    def end(self, but=None):
        """[(exit code, stdout, stderr)], of all but one."""
        ends = []
        for i, process in enumerate(self.processes):
            if i == but:
                continue
            try:
                out, err = process.communicate(timeout=PATIENCE_S)
                ends.append((process.returncode, out, err))
            except subprocess.TimeoutExpired:
                ends.append(("still running", "", ""))
        return ends


def rows_of(table):
    return [line for line in table.splitlines() if not line.startswith("#")]


# ranks, options, the sizes, and the ways of their messages
TABLES = [
    (2, ["-b", "4", "-e", "1M", "-f", "8"], [4 * 8**i for i in range(7)], ["doubling"] * 6 + ["halving-doubling"]),
    (3, ["-b", "4K", "-e", "2M", "-i", "1M", "--algorithm", "halving-doubling"], [4096, 4096 + 2**20], ["ring", "ring"]),
    (4, ["-b", "20", "-e", "2000000", "-f", "100", "--algorithm", "halving-doubling"], [20, 2000, 200000],
     ["doubling", "doubling", "halving-doubling"]),
    (4, ["-b", "20", "-e", "2000000", "-f", "10", "--algorithm", "ring"], [20, 200, 2000, 20000, 200000, 2000000], ["ring"] * 6),
    (4, ["-b", "1K", "-e", "1M", "-f", "1024", "--algorithm", "doubling"], [1024, 2**20], ["doubling", "halving-doubling"]),
    (2, ["-b", "1K", "-e", "1M", "-f", "1024", "--algorithm", "halving"], [1024, 2**20], ["halving-doubling"] * 2),
    (1, ["-b", "2M", "-e", "2M"], [2**21], ["ring"]),
]


def check_tables(tap, backend, carrier):
    for n, args, sizes, ways in TABLES:
        what = f"{backend}, {n} ranks {' '.join(args)}"
        with Ranks(n, [*args, "-n", 3, "-w", 1, "-c", 2, "--backend", backend], {0: ["-J", "/dev/fd/2"]}) as ranks:
            ends = ranks.end()
        tap.equal([0] * n, [code for code, _, _ in ends], f"{what}: exit codes")
        table = ends[0][1]
        tap.equal([""] * (n - 1), [out for _, out, _ in ends[1:]], f"{what}: only rank 0 prints")
        rows = rows_of(table)
        tap.equal(sizes, [int(ROW.match(row).group(1)) if ROW.match(row) else row for row in rows], f"{what}: the sizes")
        tap.match("# Out of bounds values : 0 OK\n# Avg bus bandwidth    : [0-9.e-]+\n", table, f"{what}: the foot")
        found = json.loads(ends[0][2])
        tap.ok(ends[0][2].endswith("}\n"), f"{n} ranks: the JSON ends its last line")
        used = carrier if n > 1 else backend
        tap.equal(used, found["backend"], f"{what}: the backend in JSON")
        tap.match(f" allreduce: {n} ranks?, backend {used}, ", table, f"{what}: the backend in the table")
        tap.equal((n, ways, 0), (found["ranks"], [row["way"] for row in found["rows"]], found["wrong"]), f"{what}: JSON")
        for row in found["rows"]:
            got, want = row["in_place"], row["bytes"] / row["in_place"]["time_us"] / 1e3
            tap.ok(abs(got["algbw_gb_per_s"] - want) < 1e-6 * want and
                   abs(got["busbw_gb_per_s"] - want * 2 * (n - 1) / n) <= 1e-6 * want, f"{what}: {row['bytes']}: formulas", got)


def check_options(tap):
    rows = [
        (["-b", "5"], "--minbytes '5': expected a multiple of 4"),
        (["-e", "17G"], "--maxbytes '17G': expected a multiple of 4 up to 16G"),
        (["-b", "8K", "-e", "4K"], "--maxbytes 4096 is less than --minbytes 8192"),
        (["-f", "1"], "--stepfactor '1': expected a whole number from 2"),
        (["-f", "2", "-i", "4K"], "exclude each other"),
        (["-n", "0"], "--iters '0': expected a whole number from 1"),
        (["--algorithm", "tree"], "expected ring, halving-doubling, halving, doubling or auto"),
        (["--backend", "smoke"], "--backend 'smoke': expected tcp, shm, nccl or auto"),
        (["--backend", "nccl", "--algorithm", "ring"], "--algorithm 'ring': NCCL chooses its own; leave it out"),
        (["--workers", "2"], "no addresses of the workers"),
        (["--workers", "2000", "--worker-addrs", "a:{0..1999}", "--listen", "a:1"], "at most 1024 can measure together"),
        (["--batch-size", "2"], "unknown option"),
    ]
    for args, says in rows:
        done = subprocess.run([WORKER, "allreduce", *args], capture_output=True, text=True, check=False)
        tap.equal(2, done.returncode, f"{args}: usage")
        tap.match(re.escape(says), done.stderr, f"{args}: says why")
    done = subprocess.run([WORKER, "allreduce"], env={**os.environ, "BENCHD_ROLE": "trainer"}, capture_output=True, text=True, check=False)
    tap.equal(2, done.returncode, "another role: usage")
    tap.match("BENCHD_ROLE is 'trainer', but the command is benchworker allreduce\n", done.stderr, "another role: says what was typed")
    done = subprocess.run([WORKER, "allreduce", "--help"], capture_output=True, text=True, check=False)
    tap.match("value from --run on can also be set in the environment: --workers as BENCHD_WORKERS, --iters as BENCHD_STEPS", done.stdout,
              "--help names variables")
    done = subprocess.run([WORKER, "allreduce", "-b", "4", "-e", "4", "-J", "/nowhere/x"], capture_output=True, text=True, check=False)
    tap.equal(13, done.returncode, "a file that cannot be written: exit code")
    tap.match("write '/nowhere/x'", done.stderr, "a file that cannot be written: says so")


def check_disagreements(tap):
    rows = [
        (2, {1: ["-n", 4]}, "its sizes, calls, algorithm, backend or number of ranks differ; give all replicas"),
        (3, {2: ["--algorithm", "ring"]}, "calls, algorithm, backend or number of ranks differ; give all replicas"),
        (2, {0: ["--backend", "shm"]}, "calls, algorithm, backend or number of ranks differ; give all replicas"),
    ]
    for n, own, says in rows:
        with Ranks(n, ["-b", "4K", "-e", "4K"], own) as ranks:
            ends = ranks.end()
        tap.ok(all(code in (11, 12) for code, _, _ in ends) and 12 in [code for code, _, _ in ends], f"{own}: exit codes", ends)
        tap.match(says, " ".join(err for _, _, err in ends), f"{own}: says why")
    with Ranks(2, ["-b", "4K", "-e", "4K", "--rendezvous-s", 1]) as ranks:
        ranks.processes[1].kill()
        code, _, err = ranks.end(but=1)[0]
    tap.equal(11, code, "a rank that does not come: exit code")
    tap.match("worker/1", err, "a rank that does not come is named")


def check_faults(tap, backend):
    for n, victim, number in [(2, 0, signal.SIGKILL), (5, 1, signal.SIGKILL), (4, 1, signal.SIGSTOP)]:
        what = f"{backend}, {number.name} of worker/{victim} of {n}"
        limit = SHORT if number == signal.SIGSTOP else []
        with Ranks(n, ["-b", "4M", "-e", "4M", "-n", 1000000, "--backend", backend, *limit]) as ranks:
            tap.match(f"benchworker .* allreduce: .*backend {backend},", ranks.processes[0].stdout.readline(), f"{what}: all are connected")
            begin = time.monotonic()
            ranks.processes[victim].send_signal(number)
            ends = ranks.end(but=victim)
            took_s = seconds_since(begin)
            print(f"# {what}: the last one left after {took_s:.1f} s")
            for code, _, err in ends:
                tap.equal(11, code, f"{what}: exit code")
                tap.match(f"worker/{victim}", err, f"{what}: names the cause")
                tap.match(NOTICED[number], err, f"{what}: says how it was noticed")
                # A process of another test may knock that had this port's former owner as its peer.
                lines = [line for line in err.splitlines() if "connection rejected" not in line]
                tap.equal(1, len(lines), f"{what}: says it in one line")
                tap.ok(err.count(" reports: ") <= 1, f"{what}: in the words of who met it", err)
            if number == signal.SIGSTOP:
                ranks.processes[victim].send_signal(signal.SIGCONT)
                _, err = ranks.processes[victim].communicate(timeout=PATIENCE_S)
                tap.equal(11, ranks.processes[victim].returncode, f"{what}: it finds itself out")
                # What it was told may be there before its clock says that it was away for long enough.
                tap.match(f"worker/{victim} itself was stopped|reports: worker/{victim}: silent", err, f"{what}: and says so")


def main():
    tap = Tap()
    check_tables(tap, "tcp", "tcp")
    check_tables(tap, "shm", "shm")
    check_tables(tap, "auto", "shm")
    check_options(tap)
    check_disagreements(tap)
    for backend in ("tcp", "shm"):
        check_faults(tap, backend)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
