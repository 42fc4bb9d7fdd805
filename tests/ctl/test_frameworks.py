#!/usr/bin/env python3
"""Rows of vgg16-systems and of imagenet-2017, and script/bench systems, with their real frameworks, where
`script/bench peers install` has installed those: two workers or trainers and one alone. The shipped definition, profile and
script run; VGG16 has a few channels, so that it compiles and trains in seconds."""
import gzip
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import unittest

import cli

sys.path.insert(0, str(cli.ROOT / "bench"))
import peers  # noqa: E402

INSTALLED = {name: peers.interpreter(name).exists() for name in peers.names()}
TINY = "STACKS = (((4, .3),), ((4, 0),), ((4, .4),), ((4, .4),), ((4, 0),))"
SYSTEMS = {"pytorch-ddp": "pytorch", "tensorflow-ps": "tensorflow", "tensorflow-mwms": "tensorflow", "jax": "jax-cpu",
           "paddle-collective": "paddle", "paddle-fluid": "fluid", "paddle-fluid-async": "fluid"}


class Frameworks(cli.CliCase):
    def setUp(self):
        super().setUp()
        place = self.folder / "place"
        shutil.copytree(cli.ROOT / "benchmarks", place)
        replica = place / "profiles" / "benchd_replica.py"
        text, n = re.subn(r"(?s)STACKS = .*?\)\)\)", TINY, replica.read_text(encoding="utf-8"), count=1)
        text = text.replace("WIDTH, CLASSES = 512, 10", "WIDTH, CLASSES = 8, 10")
        self.assertEqual((1, 1), (n, text.count("WIDTH, CLASSES = 8,")))
        replica.write_text(text, encoding="utf-8")
        self.env.update(BENCHCTL_PATH=str(place), XDG_CACHE_HOME=str(peers.cache_folder().parent.parent))

    def ctl(self, *args, **keys):
        """On a busy machine a trial of one process takes two minutes, and a run here has up to 16."""
        return super().ctl(*args, timeout=1800, **keys)

    def check(self, system, *words):
        profile = SYSTEMS[system]
        if not INSTALLED[profile]:
            self.skipTest(f"{profile} is not installed: script/bench peers install {profile}")
        result = json.loads(self.ctl("run", "vgg16-systems", "--systems", system, "--set", "batch_size=4", "--steps", "3",
                                     "--repeats", "1", "--store", self.store, "-o", "json", *words).stdout)
        self.assertEqual("Succeeded", result["phase"])
        (two,), (alone,) = result["points"], result["baselines"]
        self.assertLess(0, two["efficiency"]["value"])
        pins = (peers.PROFILES / profile / "requirements.txt").read_text(encoding="utf-8").replace("_", "-").splitlines()
        for point, n in ((two, 2), (alone, 1)):
            trained = [r for r in point["trials"][0]["replicas"]["items"] if r["summary"]]
            self.assertEqual([(3, 12)] * n, [(r["summary"]["steps"], r["summary"]["samples"]) for r in trained])
            log = self.ctl("logs", result["run"], "--store", self.store, "--point", str(point["point"])).stdout
            start = next(r for r in map(json.loads, filter(lambda x: x.startswith("{"), log.splitlines())) if r["type"] == "start")
            version = start["environment"]["framework_version"].split("+")[0]  # 2.15.0+cu132
            self.assertTrue([pin for pin in pins if pin.endswith(f"=={version}")], (version, pins))

    def test_pytorch_ddp(self):
        self.check("pytorch-ddp")

    def test_tensorflow_ps(self):
        self.check("tensorflow-ps", "--set", "pservers=2")

    def test_paddle_fluid(self):
        """The system of 2018 on its own servers, two of them: each trainer's steps wait for the other's, or do not."""
        self.check("paddle-fluid", "--set", "pservers=2")
        self.check("paddle-fluid-async", "--set", "pservers=2")

    def test_tensorflow_mwms(self):
        self.check("tensorflow-mwms")

    def test_jax(self):
        self.check("jax")

    def test_paddle_collective(self):
        self.check("paddle-collective")

    def test_networks_and_data_are_axes(self):
        """Inception v3 and ResNet-50, the whole networks, of tiny images and batches."""
        if not INSTALLED["pytorch"]:
            self.skipTest("pytorch is not installed: script/bench peers install pytorch")
        words = ["--set", "net=inception3,resnet50", "--set", "image_size=75", "--set", "workers=1,2", "--set", "data=real", "--steps", "1",
                 "--repeats", "1", "--systems", "pytorch-ddp"]
        result = json.loads(self.ctl("run", "imagenet-2017", *words, "--store", self.store, "-o", "json").stdout)
        self.assertEqual(("Succeeded", 4), (result["phase"], len(result["points"])))
        if not os.path.isdir("/images"):  # a folder of somebody else
            self.assertEqual(64, len(list((self.folder / ".cache" / "benchd" / "images-jpeg").glob("*.jpg"))))
        for point in result["points"]:
            self.assertLess(0, point["efficiency"]["value"])
            log = self.ctl("logs", result["run"], "--store", self.store, "--point", str(point["point"])).stdout
            found = json.loads(log.splitlines()[0])["environment"]
            self.assertEqual([point["parameters"][name] for name in ("net", "data", "image_size")],
                             [found["model"], found["data"], found["image_size"]])

    def test_parameter_servers_train_the_networks(self):
        """One trainer alone and two with a server, each network, of images that the trainers decode."""
        if not INSTALLED["tensorflow"]:
            self.skipTest("tensorflow is not installed: script/bench peers install tensorflow")
        words = ["--set", "net=inception3,resnet50", "--set", "image_size=75", "--set", "workers=2", "--set", "data=real", "--steps", "2",
                 "--repeats", "1", "--systems", "tensorflow-ps"]
        result = json.loads(self.ctl("run", "imagenet-2017", "--local", *words, "--store", self.store, "-o", "json").stdout)
        self.assertEqual(("Succeeded", 2, 2), (result["phase"], len(result["points"]), len(result["baselines"])))
        for point in result["points"] + result["baselines"]:
            trained = [r["summary"] for r in point["trials"][0]["replicas"]["items"] if r["summary"]]
            self.assertEqual([(2, 4)] * point["replicas"]["trainer"], [(s["steps"], s["samples"]) for s in trained])

    def test_images_are_decoded(self):
        """What is no JPEG is named: whoever only reads the bytes of a file would not know."""
        if not INSTALLED["pytorch"]:
            self.skipTest("pytorch is not installed: script/bench peers install pytorch")
        for files, says in (({"README.txt": b""}, "{0} has no JPEG files; remove it, or set IMAGES"),
                            ({"n01/a.JPEG": b"\x89PNG\r\n"}, "{0}/n01/a.JPEG cannot be decoded as JPEG: ")):
            folder = self.folder / f"images{len(says)}"
            for name, data in files.items():
                (folder / name).parent.mkdir(parents=True)
                (folder / name).write_bytes(data)
            done = subprocess.run([peers.interpreter("pytorch"), cli.ROOT / "benchmarks" / "profiles" / "pytorch" / "train.py"],
                                  capture_output=True, text=True, check=False, env=self.env | {
                                      "BENCHD_MODEL": "imagenet", "DATA": "real", "IMAGES": str(folder), "IMAGE_SIZE": "75"})
            self.assertEqual(2, done.returncode, done.stderr)
            self.assertIn(says.format(folder), json.loads(done.stdout.splitlines()[-1])["message"])

    def test_a_cpu_has_no_tf32(self):
        if not INSTALLED["pytorch"]:
            self.skipTest("pytorch is not installed: script/bench peers install pytorch")
        program = cli.ROOT / "benchmarks" / "profiles" / "pytorch" / "train.py"
        done = subprocess.run([peers.interpreter("pytorch"), program, "--precision", "tf32"], capture_output=True, text=True,
                              check=False, env=self.env | {"CUDA_VISIBLE_DEVICES": ""})
        self.assertEqual(2, done.returncode, done.stderr)
        self.assertIn("precision tf32: PyTorch sees no GPU, and CPUs have no tf32", done.stderr)

    def fleetx(self, profile, name, *words):
        """By one process and by two; each trainer's lines are those of FleetX."""
        if not INSTALLED[profile]:
            self.skipTest(f"{profile} is not installed: script/bench peers install {profile}")
        result = json.loads(self.ctl("run", name, "--local", *words, "--repeats", "1", "--store", self.store,
                                     "-o", "json").stdout)
        self.assertEqual("Succeeded", result["phase"])
        for point in result["points"]:
            self.assertLess(0, point["efficiency"]["value"], point)
        return result["points"] + result["baselines"]

    def test_fleetx_collective(self):
        points = self.fleetx("paddle", "fleetx-collective", "--steps", "1", "--set", "batch_size=1")
        self.assertEqual({(net, n) for net in ("resnet50", "vgg16", "bert-base", "transformer-base") for n in (1, 2)},
                         {(p["parameters"]["net"], p["replicas"]["worker"]) for p in points})

    def test_fleetx_parameter_servers(self):
        """Every way to update learns; of one trainer, synchronous and asynchronous are the same."""
        points = self.fleetx("pytorch", "fleetx-pserver", "--steps", "40", "--set", "pservers=2", "--set", "trainers=2",
                             "--set", "geo_steps=4", "--systems", "pytorch-rpc,pytorch-rpc-async,pytorch-rpc-geo")
        best = {(p["parameters"]["net"], p["system"], p["replicas"]["pserver"], p["replicas"]["trainer"]):
                p["trials"][0]["timeToAccuracy"]["bestAccuracy"] for p in points}
        systems = {"pytorch-rpc": None, "pytorch-rpc-async": "Async", "pytorch-rpc-geo": "Async"}
        self.assertEqual({(net, system, servers, n) for net in ("ctr", "word2vec") for system in systems
                          for servers, n in ((1, 1), (2, 2))}, set(best))
        self.assertEqual(set(systems.items()), {(p["system"], p.get("mode")) for p in points})
        for (net, system, servers, n), found in best.items():
            self.assertLess(.6 if net == "ctr" else .5, found, (net, system, servers, n))
            if n == 1 and system != "pytorch-rpc-geo":
                self.assertEqual(best[net, "pytorch-rpc", 1, 1], found)

    def test_fleetx_on_the_servers_of_paddle(self):
        """Both networks train, and what another trainer has learned reaches the first one by the servers only, and lowers its losses."""
        losses, words = {}, "--steps 60 --set pservers=2 --set trainers=2 --set geo_steps=4 --systems paddle-async,paddle-geo".split()
        for point in self.fleetx("paddle-servers", "fleetx-pserver", *words):
            for trained in (r["summary"] for r in point["trials"][0]["replicas"]["items"] if r["summary"]):
                self.assertLess(trained["lossLast"], trained["lossFirst"], point["parameters"])
            log = self.ctl("logs", "latest", "--store", self.store, "--point", str(point["point"]), "--role", "trainer", "--index", "0").stdout
            losses.setdefault((point["system"], point["parameters"]["net"]), {})[point["replicas"]["trainer"]] = sum(
                map(float, re.findall(r"train_loss: ([\d.]+)", log)[:60]))
        self.assertEqual(4, len(losses), losses)
        for both in losses.values():
            self.assertLess(both[2], both[1], losses)

    def test_mlbench_resnet(self):
        """ResNet-20 of a few channels learns by one process and by two, on each kind of data and in each framework."""
        systems = {"pytorch-ddp": "pytorch", "tensorflow-mwms": "tensorflow"}
        for profile in systems.values():
            if not INSTALLED[profile]:
                self.skipTest(f"{profile} is not installed: script/bench peers install {profile}")
        folder = self.folder / "idx"
        folder.mkdir()
        for kind, n in (("train", 128), ("t10k", 64)):
            labels = bytes(i % 2 for i in range(n))
            images = b"".join(bytes([200 * label]) * (28 * 28) for label in labels)
            (folder / f"{kind}-images-idx3-ubyte.gz").write_bytes(gzip.compress(struct.pack(">4I", 0x803, n, 28, 28) + images))
            (folder / f"{kind}-labels-idx1-ubyte").write_bytes(struct.pack(">2I", 0x801, n) + labels)
        cifar = self.folder / "cifar"
        cifar.mkdir()
        for name in [f"data_batch_{i}.bin" for i in range(1, 6)] + ["test_batch.bin"]:
            (cifar / name).write_bytes(b"".join(bytes([i % 2]) + bytes([200 * (i % 2)]) * 3072 for i in range(64)))
        words = ["--set", "samples=128", "--set", "test_samples=64", "--set", "epochs=2", "--set", "width=2", "--repeats", "1",
                 "--set", f"data=synthetic,{folder},{cifar}", "--systems", ",".join(systems), "--store", self.store, "-o", "json"]
        result = json.loads(self.ctl("run", "mlbench-resnet", "--local", *words).stdout)
        self.assertEqual(("Succeeded", 12), (result["phase"], len(result["points"])))
        words[words.index(f"data=synthetic,{folder},{cifar}")] = "net=resnet20-v2"
        again = json.loads(self.ctl("run", "mlbench-resnet", "--local", "--set", "workers=1", *words).stdout)
        for point in result["points"] + again["points"]:
            self.assertIsNotNone(point["trials"][0]["timeToAccuracy"]["bestAccuracy"])
            self.assertLess(0, point["throughput"]["value"])

    @unittest.skipUnless(shutil.which("mpirun"), "openmpi-bin is not installed")
    def test_mlbench_resnet_over_open_mpi(self):
        """Both rows train the same: of two workers and of one, each epoch has the same loss and accuracy."""
        if not INSTALLED["pytorch"]:
            self.skipTest("pytorch is not installed: script/bench peers install pytorch")
        program = self.folder / "bin" / "mlbench-resnet"
        program.parent.mkdir()
        script = self.folder / "place" / "profiles" / "pytorch" / "train_mlbench.py"
        program.write_text(f"#!/bin/sh\nexec {peers.interpreter('pytorch')} {script}\n", encoding="utf-8")
        program.chmod(0o755)
        self.env["PATH"] = f"{program.parent}:{self.env.get('PATH', os.defpath)}"
        words = ["--set", "samples=256", "--set", "test_samples=128", "--set", "epochs=3", "--set", "width=2", "--repeats", "1",
                 "--systems", "pytorch-ddp,pytorch-open-mpi"]
        result = json.loads(self.ctl("run", "mlbench-resnet", "--local", *words, "--store", self.store, "-o", "json").stdout)
        self.assertEqual("Succeeded", result["phase"])
        learnt, exchanged = {}, {}
        for point in result["points"]:
            key = point["system"], point["replicas"]["worker"]
            log = self.ctl("logs", result["run"], "--store", self.store, "--point", str(point["point"])).stdout
            learnt[key] = [(float(loss), float(accuracy)) for loss, accuracy in re.findall(r"loss ([\d.]+), .*accuracy ([\d.]+)", log)]
            (exchanged[key],) = [r["summary"]["phaseNs"]["wait"] for r in point["trials"][0]["replicas"]["items"]
                                 if r["role"] in ("worker", "launcher") and r["index"] == 0 and r["summary"]]
        self.assertEqual({(s, n) for s in ("pytorch-ddp", "pytorch-open-mpi") for n in (1, 2)}, set(learnt))
        for n in (1, 2):
            gloo, mpi = learnt["pytorch-ddp", n], learnt["pytorch-open-mpi", n]
            self.assertEqual((3, 3), (len(gloo), len(mpi)))
            for (loss, accuracy), (other, found) in zip(gloo, mpi, strict=True):
                self.assertAlmostEqual(loss, other, delta=.0002)
                self.assertAlmostEqual(accuracy, found, delta=.01)
        self.assertNotEqual(learnt["pytorch-ddp", 1], learnt["pytorch-ddp", 2])
        self.assertEqual((0, 0), (exchanged["pytorch-ddp", 1], exchanged["pytorch-open-mpi", 1]))
        self.assertLess(0, min(exchanged["pytorch-ddp", 2], exchanged["pytorch-open-mpi", 2]))

    def test_both_frameworks_learn_the_same_of_mlbench(self):
        """With the initial weights of the other, each loss and accuracy is that of the other. In more steps rounding grows."""
        write = """import sys, numpy, train, train_mlbench as script
class Network(script.Network):
    def __init__(self, *words):
        super().__init__(*words)
        numpy.savez(sys.argv[1], *(param.numpy() for param in self.params))
script.Network, script.task.WEIGHT_DECAY = Network, .1  # enough to be seen after six steps
script.main()"""
        read = """import sys, numpy, torch, train_mlbench as script
made = script.resnet
def resnet(*words):
    model, kept = made(*words), numpy.load(sys.argv[1])
    for param, name in zip(model.parameters(), kept.files, strict=True):
        param.data.copy_(torch.from_numpy(kept[name].T.swapaxes(-1, -2) if kept[name].ndim == 4 else kept[name].T))
    return model
script.resnet, script.task.WEIGHT_DECAY = resnet, .1
script.main()"""
        for net in ("resnet20", "resnet20-v2"):
            learnt = []
            for profile, program in (("tensorflow", write), ("pytorch", read)):
                if not INSTALLED[profile]:
                    self.skipTest(f"{profile} is not installed: script/bench peers install {profile}")
                done = subprocess.run([peers.interpreter(profile), "-c", program, self.folder / "weights.npz"], capture_output=True, text=True, check=True,
                                      cwd=cli.ROOT / "benchmarks" / "profiles" / profile, env=self.env | {
                                          "PYTHONDONTWRITEBYTECODE": "1", "BENCHD_MODEL": net, "SAMPLES": "32", "TEST_SAMPLES": "128", "EPOCHS": "6", "WIDTH": "4"})
                learnt.append([(float(loss), float(accuracy)) for loss, accuracy in re.findall(r"loss ([\d.]+), .*accuracy ([\d.]+)", done.stdout)])
            for (loss, accuracy), (other, found) in zip(*learnt, strict=True):
                self.assertAlmostEqual(loss, other, delta=.0003)
                self.assertAlmostEqual(accuracy, found, delta=.01)

    def test_the_networks_of_mlbench(self):
        """m2 has nothing after a sum, m1 a ReLU; both have the layers of the papers."""
        if not INSTALLED["pytorch"]:
            self.skipTest("pytorch is not installed: script/bench peers install pytorch")
        program = """import torch, train_mlbench
for is_v2 in (False, True):
    net = train_mlbench.resnet(torch, 3, 16, is_v2)
    block = net[1 if is_v2 else 3]
    out = block(torch.randn(64, 16, 8, 8))
    print(sum(p.numel() for p in net.parameters()), *(type(m).__name__ for m in block.body), bool((out < 0).any()))"""
        done = subprocess.run([peers.interpreter("pytorch"), "-c", program], capture_output=True, text=True, check=True,
                              cwd=cli.ROOT / "benchmarks" / "profiles" / "pytorch", env=self.env | {"PYTHONDONTWRITEBYTECODE": "1"})
        self.assertEqual(["269722 Conv2d BatchNorm2d ReLU Conv2d BatchNorm2d False",
                          "269722 BatchNorm2d ReLU Conv2d BatchNorm2d ReLU Conv2d True"], done.stdout.splitlines())

    def test_allreduce_systems(self):
        """Gloo's row: two ranks add up numbers, and print nccl-tests' table."""
        if not INSTALLED["pytorch"]:
            self.skipTest("pytorch is not installed: script/bench peers install pytorch")
        words = ["--systems", "gloo", "--set", "bytes=4096", "--set", "workers=2", "--steps", "3", "--repeats", "1"]
        result = json.loads(self.ctl("run", "allreduce-systems", "--local", "--store", self.store, "-o", "json", *words).stdout)
        self.assertEqual("Succeeded", result["phase"])
        (point,) = result["points"]
        log = self.ctl("logs", result["run"], "--store", self.store, "--point", "0", "--role", "worker").stdout
        self.assertIn("# Out of bounds values : 0 OK\n", log)
        self.assertIn(f"# Avg bus bandwidth    : {point['throughput']['value']:g}\n", log)
        self.assertEqual("GB/s", point["throughput"]["unit"])

    @unittest.skipUnless(shutil.which("mpirun"), "openmpi-bin is not installed")
    def test_the_bench_with_the_row_of_open_mpi(self):
        if not INSTALLED["pytorch"]:
            self.skipTest("pytorch is not installed: script/bench peers install pytorch")
        words = ["--rounds", "1", "--steps", "3", "--batches", "4", "--systems", "pytorch-open-mpi",
                 "--store", f"{self.folder}/bench.db"]
        done = subprocess.run([sys.executable, cli.ROOT / "bench" / "systems.py", *words], capture_output=True, text=True,
                              env=self.env | {"BENCHCTL": cli.BENCHCTL}, timeout=1800, check=False)
        self.assertEqual(1, done.returncode, done.stderr)  # no bar is for this system
        self.assertRegex(done.stdout, r"(?m)^pytorch-open-mpi +4 +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+$")

    def test_no_library_could_be_told_better(self):
        """The programs of profiles choose the settings of their libraries: none of the known ones computes half as much again."""
        for name in ("fluid", "jax-cpu", "paddle", "pytorch", "tensorflow"):
            if not INSTALLED[name]:
                continue
            with self.subTest(name):
                rates = peers.check(name, rounds=2)
                self.assertLess(max(rates.values()), 1.5 * rates[None], rates)

    def test_every_foreign_row_of_the_definition_is_here(self):
        text = pathlib.Path(cli.ROOT, "benchmarks", "vgg16-systems.yaml").read_text(encoding="utf-8")
        rows = dict(re.findall(r"(?m)^  - \{name: ([\w-]+), profile: ([\w-]+)", text))
        self.assertEqual(SYSTEMS | {"benchworker": "benchworker"}, rows)


# Training in the form of scripts that everybody knows: each prints as one of them does, and writes into a file how many samples of the whole
# job it trained a second after ten steps.
HEAD = """import json, os, sys, time
import torch
rank, world, steps, batch = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1)), 80, 8
model = torch.nn.Linear(64, 10)
{parallel}
optimizer, data, ends = torch.optim.SGD(model.parameters(), lr=0.01), torch.rand(batch, 64), [time.time()]
def train():
    time.sleep(0.03)
    optimizer.zero_grad()
    loss = model(data).square().mean()
    loss.backward()
    optimizer.step()
    ends.append(time.time())
    return loss.item(), ends[-1] - ends[-2]
{body}
with open({truth!r}, "a") as file:
    workers = int(os.environ["BENCHD_WORKERS"])
    file.write(json.dumps([workers, {samples} * (steps - 10) / (ends[steps] - ends[10])]) + "\\n")
"""
PARALLEL = """torch.distributed.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(model)"""
IMAGENET = """print("=> creating model 'resnet18'")
mean = 0
for i in range(steps):
    loss, took = train()
    mean += (took - mean) / (i + 1)
    print(f"Epoch: [0][{i + 1:3d}/{steps}]\\tTime {took:6.3f} ({mean:6.3f})\\tData  0.001 ( 0.001)\\tLoss {loss:.4e} ({loss:.4e})\\tAcc@1   0.00 (  0.00)")
print("Test: [1/2]\\tTime  0.001 ( 0.001)\\tLoss 2.3e+00 (2.3e+00)\\tAcc@1   0.00 (  0.00)")"""
LANGUAGE = """print("Using device: cpu")
for i in range(steps):
    loss, _ = train()
    if i % 5 == 0 and i:
        print(f"| epoch   1 | {i:5d}/{steps:5d} batches | lr 20.00 | ms/batch {200 * (ends[-1] - ends[-6]):5.2f} | loss {loss:5.2f} | ppl     1.10")
print("-" * 89)
print(f"| end of epoch   1 | time: {ends[-1] - ends[0]:5.2f}s | valid loss  1.00 | valid ppl     2.72")"""
TRAINER = """bar = lambda i: f"\\r{100 * i // steps:3d}%|#| {i}/{steps} [00:{int(ends[-1] - ends[0]):02d}<00:01, {i / (ends[-1] - ends[0] + 1e-9):5.2f}it/s]"
print("\\rMap:  50%|#    | 320/640 [00:00<00:00, 21834.00 examples/s]\\rMap: 100%|#####| 640/640 [00:00<00:00, 21834.00 examples/s]", file=sys.stderr)
for i in range(steps):
    train()
    if rank == 0:
        print(bar(i + 1), end="", file=sys.stderr, flush=True)
if rank == 0:
    s = ends[-1] - ends[0]
    print(f"\\n{{'train_runtime': {s:.4f}, 'train_samples_per_second': {batch * world * steps / s:.3f},", end="")
    print(f" 'train_steps_per_second': {steps / s:.3f}, 'train_loss': 0.1, 'epoch': 1.0}}")"""
NANOGPT = """accumulation = 4 // world
if rank == 0:
    print(f"tokens per iteration will be: {4 * batch * 64:,}\\nstep 0: train loss 4.2, val loss 4.2")
for i in range(steps):
    for _ in range(accumulation - 1):
        time.sleep(0.03)
    loss, took = train()
    if rank == 0:
        print(f"iter {i}: loss {loss:.4f}, time {took * 1000:.2f}ms, mfu -100.00%")"""
DIGITS = """for i in range(steps):
    loss, _ = train()
    if i % 4 == 0:
        print(f"Train Epoch: 1 [{i * batch}/{steps * batch} ({100 * i / steps:.0f}%)]\\tLoss: {loss:.6f}")
print("\\nTest set: Average loss: 2.3028, Accuracy: 101/1000 (10%)\\n")"""
EPOCHS = """for epoch in range(8):
    for _ in range(10):
        train()
    print(f"Epoch {epoch} in {ends[-1] - ends[-11]:0.2f} sec\\nTraining set accuracy 0.1{epoch}12500029802322")
    print(f"epoch {epoch}: {{'accuracy': 0.5{epoch}, 'f1': 0.5}}")"""


class Scripts(cli.CliCase):
    """Three commands lead to the figures that the scripts have themselves, or to a question."""

    def setUp(self):
        super().setUp()
        self.env.update(BENCHCTL_PATH=str(cli.ROOT / "benchmarks"), XDG_CACHE_HOME=str(peers.cache_folder().parent.parent))
        if not INSTALLED["pytorch"]:
            self.skipTest("pytorch is not installed: script/bench peers install pytorch")
        self.env["PATH"] = f"{peers.interpreter('pytorch').parent}:{self.env['PATH']}"

    def define(self, body, *options, is_parallel=True, samples="batch * world"):
        """What init makes of the script."""
        parallel = PARALLEL if is_parallel else ""
        text = HEAD.format(body=body, parallel=parallel, samples=samples, truth=str(self.folder / "truth"))
        (self.folder / "script.py").write_text(text, encoding="utf-8")
        path = self.folder / "script.yaml"
        path.write_text(self.ctl("init", "--", "script.py", *options).stdout, encoding="utf-8")
        return path

    def run_it(self, path, sizes="1,2"):
        """The figures of these workers, and those that the script wrote down."""
        (self.folder / "truth").write_text("", encoding="utf-8")
        result = json.loads(self.ctl("run", str(path), "--local", "--set", f"workers={sizes}", "--repeats", "1", "--store", self.store,
                                     "-o", "json").stdout)
        rows = [json.loads(line) for line in (self.folder / "truth").read_text(encoding="utf-8").splitlines()]
        truth = dict(rows)  # those of the last attempt
        return [(p["throughput"]["value"], p["throughput"]["unit"], truth[p["replicas"]["worker"]]) for p in result["points"]]

    def check(self, path, unit="samples/s"):
        self.ctl("try", str(path), "--local", "--write")
        for value, found, truth in self.run_it(path):
            self.assertEqual(unit, found)
            self.assertLess(abs(value / truth - 1), .25, (value, truth))

    def test_imagenet(self):
        path = self.define(IMAGENET, "-b", "8")
        self.assertIn("batchSize: 8 ", path.read_text(encoding="utf-8"))
        self.check(path)

    def test_word_language_model(self):
        """Two of them do not know each other, so their rates are added."""
        self.check(self.define(LANGUAGE, "--batch_size", "8", is_parallel=False))

    def test_the_trainer_of_transformers(self):
        self.check(self.define(TRAINER, "--per_device_train_batch_size=8"))

    def test_nanogpt(self):
        """Its workers divide 32 samples, and no option says so: only steps are known."""
        self.check(self.define(NANOGPT, "--batch_size=8", "--gradient_accumulation_steps=4", samples="1"), unit="steps/s")

    def paste(self, body, *options, **keys):
        """No rule reads it: the figures under the rule that try suggests, none without a suggestion."""
        path = self.define(body, *options, is_parallel=False, **keys)
        tried = self.ctl("try", str(path), "--local", "--write", code=1).stdout
        rule = re.search(r"(?m)^ *(log: \{.*)", tried)
        if not rule:
            return []
        path.write_text(re.sub(r"(?m)^    (# )?log: .*", lambda _: "    " + rule[1], path.read_text(encoding="utf-8")), encoding="utf-8")
        return self.run_it(path, "1")

    def test_a_script_that_prints_epochs(self):
        """No accuracy, score or number of an epoch is a rate."""
        for value, unit, truth in self.paste(EPOCHS, samples="1"):
            self.assertEqual("steps/s", unit)
            self.assertIn(round(truth / value, 0), (1, 10), truth)

    def test_mnist(self):
        """The position in its lines counts samples, not steps: that is a question."""
        (value, unit, truth), = self.paste(DIGITS, "--batch-size", "8", samples="batch")
        self.assertEqual("samples/s", unit)
        self.assertLess(abs(value / truth - 1), .25, truth)


if __name__ == "__main__":
    cli.main()
