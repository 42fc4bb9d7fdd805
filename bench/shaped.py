"""The exchange over links that benchctl shapes (docs/run.md), and iperf3 over the same links. Needs root, and iperf3.

Run as a program it is the trainer of iperf3's gang: it sends to the server for some seconds and says how many bytes came."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

PARAMETER_BYTES = 61_018_408
PORT = 7164           # of every address of a link
IPERF_S = 5
PATIENCE_S = 30
LAYERS = [f"conv{stack}_{i + 1}" for stack, n in enumerate((2, 2, 3, 3, 3), 1) for i in range(n)] + ["fc1", "fc2", "fc3"]


def definition(mbit, trainers, systems, workload, steps):
    return {"apiVersion": "benchd.io/v1alpha1", "kind": "Benchmark", "metadata": {"name": "shaped"}, "spec": {
        "systems": systems,
        "workload": {"batchSize": 1, "exchange": {"kind": "PServer"}, "link": {"rate": f"{mbit}mbit"}, **workload},
        "sweep": {"grid": {"pservers": [1], "trainers": [trainers]}},
        "baseline": {"kind": "Point", "where": {"trainers": trainers}},
        "roles": {"pserver": {"replicas": {"from": "pservers"}}, "trainer": {"replicas": {"from": "trainers"}}},
        "measure": {"warmupSteps": 2, "steps": steps}, "repeats": {"min": 1}}}


def samples_per_s(document):
    """The throughput of its only point."""
    with tempfile.TemporaryDirectory(prefix="benchd-shaped-") as folder:
        path = pathlib.Path(folder, "shaped.json")
        path.write_text(json.dumps(document), encoding="utf-8")
        done = subprocess.run([os.environ["BENCHCTL"], "run", str(path), "--store", f"sqlite:{folder}/results.db", "-o", "json"],
                              capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"benchctl run: exit code {done.returncode}: {done.stderr[-600:]}")
    return json.loads(done.stdout)["points"][0]["throughput"]["value"]


def run_exchange(mbit, trainers, steps):
    """Trainers that compute nothing, one server: its link carries all parameters of all, in each direction, in each step."""
    layers = [{"name": name, "forwardMicroseconds": 1, "backwardMicroseconds": 1} for name in LAYERS]
    workload = {"model": "vgg16-fluid-fc512", "compute": "Emulated", "trace": {"layers": layers}}
    rate = samples_per_s(definition(mbit, trainers, [{"name": "ours", "profile": "benchworker"}], workload, steps))
    return {"step_s": trainers / rate, "gbit_per_s": rate * PARAMETER_BYTES * 8 / 1e9}


def run_iperf(mbit):
    roles = {"pserver": {"command": ["iperf3", "-s", "-1", "-p", str(PORT)]},
             "trainer": {"command": [sys.executable, os.path.abspath(__file__)]}}
    rate = samples_per_s(definition(mbit, 1, [{"name": "iperf3", "profile": "none", "roles": roles}], {"model": "bytes"}, 1))
    return {"gbit_per_s": rate * 8 / 1e9}


def main():
    host = os.environ["BENCHD_PSERVER_ADDRS"].rsplit(":", 1)[0]
    end = time.monotonic() + PATIENCE_S
    while True:
        done = subprocess.run(["iperf3", "-c", host, "-p", str(PORT), "-t", str(IPERF_S), "-J"], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            break
        if time.monotonic() > end:
            sys.exit(f"iperf3: {done.stdout}{done.stderr}")
        time.sleep(0.2)  # until the server listens
    received = json.loads(done.stdout)["end"]["sum_received"]
    print(json.dumps({"benchd": 1, "type": "summary", "role": "trainer", "index": 0, "attempt": int(os.environ["BENCHD_ATTEMPT"]),
                      "samples": received["bytes"], "duration_ns": int(received["seconds"] * 1e9), "steps": 1}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
