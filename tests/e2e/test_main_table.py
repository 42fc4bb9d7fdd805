#!/usr/bin/env python3
"""The main table, benchmarks/vgg16-systems.yaml, in pods of a real node: all systems, with the images of the profiles' Dockerfiles and a
point that two CPUs can train. Each figure is computed a second time, from the lines that the pods printed. Then the other definitions whose
rows have such an image: each row runs, and has a figure.

BENCHD_BUILD_DIR names the build tree whose programs go into the images, BENCHCTL the program. The frameworks' images are built once on a
machine (dockerfile.py; five minutes, 10 GB)."""
import json
import sys
import time

import bare_root
import dockerfile
import machine
import tap
from node import Node
from user import User

SMALL = ["--set", "pservers=1", "--set", "trainers=2", "--set", "batch_size=4", "--set", "cpu=600m", "--set", "memory=3Gi", "--steps", "2",
         "--repeats", "1"]
STEPS = 2
PROFILES = {"paddle-fluid": ("fluid", "PaddlePaddle Fluid"), "paddle-fluid-async": ("fluid", "PaddlePaddle Fluid"), "pytorch-ddp": ("pytorch", "PyTorch"), "tensorflow-ps": ("tensorflow", "TensorFlow"), "tensorflow-mwms": ("tensorflow", "TensorFlow"),
            "jax": ("jax-cpu", "JAX"), "paddle-collective": ("paddle", "PaddlePaddle")}
SMALL_POD = ["cpu=500m", "memory=3Gi"]
RESNET = ["net=resnet20", "workers=1,2", "data=synthetic", "samples=256", "test_samples=256", "epochs=2", "width=4", "cpu=500m"]
# As small as they can be: the values, more options, the rows.
OTHERS = {
    "allreduce-sweep": (["bytes=65536", "workers=2", *SMALL_POD], [], ["pytorch"]),
    "allreduce-systems": (["bytes=65536", "workers=2", *SMALL_POD], [], ["gloo", "open-mpi"]),
    "imagenet-2017": (["net=resnet50,inception3", "data=real", "image_size=96", "batch_size=2", "workers=2", *SMALL_POD], ["--steps", "2"],
                      ["pytorch-ddp", "tensorflow-ps"]),
    "mlbench-resnet": (RESNET, [], ["pytorch-ddp", "pytorch-open-mpi", "tensorflow-mwms"]),
    "mlbench-logistic": (["workers=1,2", "samples=20000", "test_samples=4000", "features=200", "epochs=20", *SMALL_POD], [], ["open-mpi"]),
    "fleetx-collective": (["net=resnet50", "size=small", "workers=1,2", "batch_size=2", *SMALL_POD], ["--steps", "2"], ["paddle-collective"]),
    "fleetx-pserver": (["net=ctr", "size=small", "pservers=1", "trainers=1,2", *SMALL_POD], ["--steps", "100"],
                       ["paddle-async", "paddle-geo", "pytorch-rpc", "pytorch-rpc-async", "pytorch-rpc-geo"]),
}
RUN_S = 5000
IMPORT_S = 1200


def records(user, result, point, role, index):
    """{type: the last record of the type} that a pod printed."""
    log = user.ctl("logs", result["run"], "--point", str(point["point"]), "--role", role, "--index", str(index)).stdout
    return {record["type"]: record for record in map(json.loads, filter(lambda line: line.startswith('{"benchd"'), log.splitlines()))}


def check_point(t, user, result, point, n):
    """n replicas trained, each in a pod of its own, and their figure is what their own lines say."""
    system = point["system"]
    what = f"{system}, {n} {'replicas' if n > 1 else 'replica'}"
    t.equal("Succeeded", point["phase"], f"{what}: the point succeeds")
    role = "worker" if point["replicas"]["worker"] else "trainer"
    servers = 1 if n == 2 and point["exchange"] == "PServer" else 0
    t.equal((n, servers), (point["replicas"][role], point["replicas"]["pserver"]), f"{what}: as many as asked for")
    printed = [records(user, result, point, role, i) for i in range(n)]
    if not t.ok(all({"start", "summary"} <= set(record) for record in printed), f"{what}: each printed a start and a summary", printed):
        return
    t.equal(n, len({record["start"]["environment"]["host"] for record in printed}), f"{what}: each ran in a pod of its own")
    t.equal([(STEPS, 4 * STEPS)] * n, [(record["summary"]["steps"], record["summary"]["samples"]) for record in printed],
            f"{what}: each trained all steps")
    rate = sum(record["summary"]["samples"] / record["summary"]["duration_ns"] * 1e9 for record in printed)
    t.ok(abs((point["throughput"]["value"] or 0) / rate - 1) < 1e-6, f"{what}: the figure is that of its lines", (point["throughput"], rate))
    t.equal(PROFILES.get(system, (None, None))[1], printed[0]["start"]["environment"].get("framework"), f"{what}: by its framework")


def check_table(t, user, systems):
    done = user.ctl("run", "vgg16-systems", *SMALL, "--systems", ",".join(systems), "-o", "json", timeout=RUN_S)
    result = json.loads(done.stdout)
    table = user.ctl("results", result["run"]).stdout
    print(f"# {table}".replace("\n", "\n# "), flush=True)
    t.equal(("Succeeded", False), (result["phase"], result["simulated"]), "the run succeeds, in real containers")
    t.equal(systems, [point["system"] for point in result["points"]], "a point for each system")
    t.equal(systems, [point["system"] for point in result["baselines"]], "and a baseline for each")
    for two, alone in zip(result["points"], result["baselines"]):
        check_point(t, user, result, two, 2)
        check_point(t, user, result, alone, 1)
        t.match(rf"(?m)^ *{two['system']} ", table, f"{two['system']}: it has a row")


def check_other(t, user, name, values, options, rows):
    small = [word for value in values for word in ("--set", value)]
    result = json.loads(user.ctl("run", name, *small, *options, "--repeats", "1", "-o", "json", timeout=RUN_S).stdout)
    print(f"# {user.ctl('results', result['run']).stdout}".replace("\n", "\n# "), flush=True)
    t.equal(("Succeeded", False), (result["phase"], result["simulated"]), f"{name} succeeds, in real containers")
    points = [*result["points"], *result["baselines"]]
    t.equal(set(rows), {point["system"] for point in points}, f"{name}: all rows")
    for point in points:
        t.ok((point["throughput"]["value"] or 0) > 0, f"{name}, point {point['point']}: {point['system']} has its figure", point["throughput"])
        started = point["replicas"].get("launcher", 0) > 0
        t.equal("open-mpi" in point["system"], started, f"{name}, point {point['point']}: a launcher where mpirun starts the processes")


def main():
    t = tap.Tap()
    tap.skip_if(machine.why_not() or bare_root.why_not())
    archives, left_out = [], set()
    for name in sorted(path.parent.name for path in dockerfile.CONTEXT.glob("*/Dockerfile")):
        if dockerfile.why_not(name):
            t.ok(True, f"the rows of {name} # SKIP {dockerfile.why_not(name)}")
            left_out.add(name)
            continue
        began = time.monotonic()
        archives.append(dockerfile.archive(name))
        print(f"# {name}: {archives[-1].stat().st_size / 1e6:.0f} MB after {time.monotonic() - began:.0f} s", flush=True)
    with Node(namespace=None) as node:
        node.install()
        for archive in archives:
            node.load_archive(archive, IMPORT_S)
        user = User(t, node)
        check_table(t, user, ["benchworker", *(system for system, (profile, _) in PROFILES.items() if profile not in left_out)])
        for name, (values, options, rows) in OTHERS.items():
            check_other(t, user, name, values, options, rows)
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
