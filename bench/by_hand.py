"""Two processes of a system, and one alone, started as the system's own pages say, without benchd: what benchd says of it must be what these say.

The scripts are those of benchmarks/profiles. A rate is the samples of all processes by the time that the last one took, from what they print."""
import json
import os
import pathlib
import socket
import subprocess
import tempfile
import time

import peers

WARMUP_STEPS = 2
LIMIT_S, POLL_S = 3600, 0.1
TWO = 2


def free_ports(count):
    """TCP ports of 127.0.0.1 that are free now; the kernel gives none of them to another program while all are held."""
    held = [socket.socket() for _ in range(count)]
    try:
        for one in held:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in held]
    finally:
        for one in held:
            one.close()


def torch_variables(index, port):
    """What torchrun would set."""
    return {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "RANK": str(index), "WORLD_SIZE": str(TWO)}


def ddp_pair():
    (port,) = free_ports(1)
    return [{"BENCHD_ROLE": "worker", "BENCHD_INDEX": str(i), "BENCHD_WORKERS": str(TWO), "BENCHD_EXCHANGE": "AllReduce",
             **torch_variables(i, port)} for i in range(TWO)]


def server_pair():
    """And their parameter server."""
    *workers, server = [f"127.0.0.1:{port}" for port in free_ports(TWO + 1)]
    tasks = [("trainer", "worker", i) for i in range(TWO)] + [("pserver", "ps", 0)]
    cluster = {"worker": workers, "ps": [server]}
    return [{"BENCHD_ROLE": role, "BENCHD_INDEX": str(i), "BENCHD_TRAINERS": str(TWO), "BENCHD_EXCHANGE": "PServer",
             "TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": job, "index": i}})} for role, job, i in tasks]


# Of each system: its profile, and the variables of the processes that are two.
PAIRS = {"pytorch-ddp": ("pytorch", ddp_pair), "tensorflow-ps": ("tensorflow", server_pair)}
ALONE = [{"BENCHD_ROLE": "trainer", "BENCHD_EXCHANGE": "None"}]


def rate_of(outputs):
    """Samples a second of a gang, by the summaries in what its processes printed."""
    records = [json.loads(line) for text in outputs for line in text.splitlines() if line.startswith("{")]
    summaries = [record for record in records if record.get("type") == "summary"]
    if not summaries:
        raise OSError("by hand: no process printed a summary")
    return sum(s["samples"] for s in summaries) / (max(s["duration_ns"] for s in summaries) / 1e9)


def wait(processes):
    """Their exit codes; None: it still runs, because another one has failed and it might wait for that for ever, or for too long."""
    end_s = time.monotonic() + LIMIT_S
    while True:
        codes = [process.poll() for process in processes]
        if None not in codes or any(codes) or time.monotonic() > end_s:
            return codes
        time.sleep(POLL_S)


def run(profile, variables, batch, steps):
    """Starts a process for each set of variables; their rate. OSError: one of them failed."""
    command = [str(peers.interpreter(profile)), str(peers.PROFILES / profile / "train.py")]
    size = {"BENCHD_BATCH_SIZE": str(batch), "BENCHD_STEPS": str(steps), "BENCHD_WARMUP_STEPS": str(WARMUP_STEPS)}
    with tempfile.TemporaryDirectory() as folder:
        paths = [pathlib.Path(folder) / str(i) for i in range(len(variables))]
        processes = []
        try:
            for path, own in zip(paths, variables):
                with open(path, "wb") as out, open(path.with_suffix(".err"), "wb") as err:
                    processes.append(subprocess.Popen(command, env={**os.environ, **size, **own}, stdin=subprocess.DEVNULL,
                                                      start_new_session=True,  # as benchctl does: the scheduler groups none of them
                                                      stdout=out, stderr=err))
            codes = wait(processes)
        finally:
            for process in processes:
                process.kill()
                process.wait()
        if None in codes and not any(codes):
            raise OSError(f"by hand: {profile} did not end within {LIMIT_S} s")
        if any(codes):
            said = next(path.with_suffix(".err") for path, code in zip(paths, codes) if code).read_text(errors="replace")
            raise OSError(f"by hand: {profile} ended with {codes}: {said[-500:].strip()}")
        return rate_of([path.read_text() for path in paths])


def efficiency(system, batch, steps):
    """A round: the rate of two over twice that of one alone."""
    profile, pair = PAIRS[system]
    return run(profile, pair(), batch, steps) / (TWO * run(profile, ALONE, batch, steps))
