"""Task 1a of mlbench without the network: its data, its schedule, and the line that is printed after each epoch. The programs
train_mlbench.py of the profiles pytorch and tensorflow use it. They read BENCHD_*, and what a sweep may have as an axis:

    NET            resnet20, resnet32, resnet44, resnet56, each also with -v2; default BENCHD_MODEL. The task's m1 is resnet20, its m2
                   resnet20-v2
    DATA           synthetic (default): seeded images of 10 classes, each its own pattern under noise, which a network learns in a few epochs. Or a
                   folder with CIFAR-10's binary files (data_batch_1.bin to data_batch_5.bin, test_batch.bin, plain or .gz), or
                   with Fashion-MNIST or MNIST as IDX files (Debian's is /usr/share/datasets/fashion-mnist): 28 pixels become 32
                   by a border of zeros, and one channel three
    SAMPLES        to train on: the first ones; default 50000. TEST_SAMPLES: default 10000
    EPOCHS         default 164
    WIDTH          of the first stage; default 16, the network of the paper. Less is another network, for a test

Settings of the task: SGD with Nesterov's momentum 0.9, weight decay 1e-4, a learning rate of 0.1 / 256 a sample and step, times the number of
workers, reached over 5 epochs, and cut to a tenth after epochs 82 and 109. Each epoch is shuffled by the seed, and worker i of k takes every
k-th sample. Images are padded by 4, cropped and flipped. After each epoch all workers test, each its part, and the first one prints

    epoch 1: loss 1.7302, 152.1 samples/s, accuracy 0.4125 after 328.705 s; 1562 steps: data 20.100 s, forward 90.204 s, backward
    180.310 s, wait 30.050 s, update 8.041 s

in one line for the log rule `epochs`: the mean loss, and the time of all training steps since the start. Testing is no part of it, as in mlbench.
The steps and the times of their parts are those of this epoch in the first worker; a program that does not know the parts leaves them out.
Each worker has batch statistics of its own."""
import gzip
import os
import pathlib
import struct
import time

import benchd_replica as benchd

DEPTHS = {"resnet20": 3, "resnet32": 5, "resnet44": 7, "resnet56": 9}  # blocks of a stage
CLASSES, SIDE, BORDER = 10, 32, 4
CIFAR10_TRAIN, CIFAR10_TEST = [f"data_batch_{i}.bin" for i in range(1, 6)], ["test_batch.bin"]
CIFAR10_RECORD = 1 + 3 * SIDE * SIDE  # a label, then red, green and blue
RATE_OF_A_SAMPLE, WARMUP_EPOCHS, CUTS = .1 / 256, 5, (82, 109)
MOMENTUM, WEIGHT_DECAY = .9, 1e-4
TEST_BATCH = 256


class Options:
    """What the environment asks for."""

    def __init__(self, replica):
        first = os.environ["BENCHD_MODEL"]
        net = replica.choice("NET", [first, *(n for depth in DEPTHS for n in (depth, depth + "-v2") if n != first)])
        self.blocks, self.is_v2 = DEPTHS[net.removesuffix("-v2")], net.endswith("-v2")
        self.epochs, self.width = replica.number("EPOCHS", 164), replica.number("WIDTH", 16)
        self.samples, self.test_samples = replica.number("SAMPLES", 50000), replica.number("TEST_SAMPLES", 10000)
        if self.samples < replica.training * replica.batch:
            replica.fail(benchd.EXIT_USAGE, f"SAMPLES is {self.samples}, fewer than a batch of {replica.batch} for each worker")


def new_replica(roles=()):
    known = {key: value for key, value in os.environ.items() if key not in ("BENCHD_MODEL", "BENCHD_DATA")}
    return benchd.Replica(known, exchanges=("None", "AllReduce"), roles=("trainer", "worker", *roles))


# ---- data: (N, 3, 32, 32) of bytes, and labels ----

def synthetic(numpy, seed, first, n):
    """Sample i is the same in every process: a pattern of its class, shifted, half hidden by noise."""
    patterns = numpy.random.default_rng(seed).integers(0, 256, (CLASSES, 3, 8, 8)).repeat(4, 2).repeat(4, 3)
    x, labels = numpy.empty((n, 3, SIDE, SIDE), numpy.uint8), numpy.empty(n, numpy.int64)
    for i in range(n):
        random = numpy.random.default_rng([seed, first + i])
        labels[i] = random.integers(CLASSES)
        shifted = numpy.roll(patterns[labels[i]], random.integers(-4, 5, 2), (1, 2))
        x[i] = (shifted + random.integers(0, 256, (3, SIDE, SIDE))) // 2
    return x, labels


def find(path):
    """The file, or that with .gz after its name; None: neither exists."""
    return next((p for p in (path, path.with_name(path.name + ".gz")) if p.exists()), None)


def read_file(path):
    """The bytes of a file, plain or gzip'd."""
    file = find(path)
    if file is None:
        raise ValueError(f"{path} and {path}.gz do not exist")
    return (gzip.decompress if file.suffix == ".gz" else bytes)(file.read_bytes())


def read_cifar10(folder, names):
    """The records of some files, one after the other."""
    data = []
    for name in names:
        data.append(read_file(folder / name))
        if not data[-1] or len(data[-1]) % CIFAR10_RECORD or max(data[-1][::CIFAR10_RECORD]) >= CLASSES:
            raise ValueError(f"{folder / name} is not a binary file of CIFAR-10: expected records of {CIFAR10_RECORD} bytes, "
                             f"labels 0 to {CLASSES - 1}")
    return b"".join(data)


def from_cifar10(numpy, folder, names, n):
    records = numpy.frombuffer(read_cifar10(folder, names), numpy.uint8).reshape(-1, CIFAR10_RECORD)[:n]
    return records[:, 1:].reshape(-1, 3, SIDE, SIDE), records[:, 0].astype(numpy.int64)


def read_idx(numpy, path):
    """An IDX file of bytes, plain or gzip'd."""
    data = read_file(path)
    if len(data) < 4 or data[:3] != b"\0\0\x08":
        raise ValueError(f"{path} is no IDX file of bytes")
    shape = struct.unpack_from(f">{data[3]}I", data, 4)
    return numpy.frombuffer(data, numpy.uint8, offset=4 + 4 * data[3]).reshape(shape)


def from_idx(numpy, folder, kind, n):
    images = read_idx(numpy, folder / f"{kind}-images-idx3-ubyte")[:n]
    labels = read_idx(numpy, folder / f"{kind}-labels-idx1-ubyte")[:n]
    border = (SIDE - images.shape[1]) // 2
    padded = numpy.pad(images, ((0, 0), (border, border), (border, border)))
    return numpy.repeat(padded[:, None], 3, 1), labels.astype(numpy.int64)


def load(numpy, replica, data, samples, test_samples):
    if data == "synthetic":
        return synthetic(numpy, replica.seed, 0, samples), synthetic(numpy, replica.seed, samples, test_samples)
    try:
        folder = pathlib.Path(data)
        if find(folder / CIFAR10_TRAIN[0]) is not None:
            return from_cifar10(numpy, folder, CIFAR10_TRAIN, samples), from_cifar10(numpy, folder, CIFAR10_TEST, test_samples)
        return from_idx(numpy, folder, "train", samples), from_idx(numpy, folder, "t10k", test_samples)
    except (EOFError, OSError, ValueError, struct.error) as error:
        return replica.fail(benchd.EXIT_USAGE, f"DATA is '{data}': {error}")


def crop(numpy, random, x):
    """Padded by 4 with zeros, cropped and flipped, each its own way."""
    padded = numpy.pad(x, ((0, 0), (0, 0), (BORDER, BORDER), (BORDER, BORDER)))
    out = numpy.empty_like(x)
    for i, (top, left, flip) in enumerate(random.integers(0, (2 * BORDER + 1, 2 * BORDER + 1, 2), (len(x), 3))):
        image = padded[i, :, top:top + SIDE, left:left + SIDE]
        out[i] = image[:, :, ::-1] if flip else image
    return out


# ---- training ----

def learning_rate(epoch, batch, workers):
    """Of a step at `epoch`, which has a fraction."""
    whole = RATE_OF_A_SAMPLE * batch * workers
    warm = whole / workers + (whole - whole / workers) * min(1, epoch / WARMUP_EPOCHS)
    return warm * .1 ** sum(epoch >= cut for cut in CUTS)


class Samples:
    """Those that this worker trains and tests, as batches of float32: (N, 3, 32, 32), and labels."""

    def __init__(self, numpy, replica, options):
        self.numpy, self.replica = numpy, replica
        (self.x, self.labels), (self.test_x, self.test_labels) = load(
            numpy, replica, os.environ.get("DATA", "synthetic"), options.samples, options.test_samples)
        self.mean, self.std = self.x.mean(), self.x.std() + 1e-6
        self.steps = len(self.x) // replica.training // replica.batch  # all make as many

    def scaled(self, x):
        x = (x.astype(self.numpy.float32) - self.mean) / self.std
        return x.astype(self.numpy.float32)

    def batches(self, epoch):
        """(learning rate, x, labels) of each step."""
        replica, numpy = self.replica, self.numpy
        order = numpy.random.default_rng([replica.seed, epoch]).permutation(len(self.x))[replica.index::replica.training]
        random = numpy.random.default_rng([replica.seed, epoch, replica.index])
        for step in range(self.steps):
            rows = order[step * replica.batch:(step + 1) * replica.batch]
            rate = learning_rate(epoch + step / self.steps, replica.batch, replica.training)
            yield rate, self.scaled(crop(numpy, random, self.x[rows])), self.labels[rows]

    def tests(self):
        """(x, labels) of this worker's part."""
        mine = range(self.replica.index, len(self.test_x), self.replica.training)
        for i in range(0, len(mine), TEST_BATCH):
            rows = list(mine[i:i + TEST_BATCH])
            yield self.scaled(self.test_x[rows]), self.test_labels[rows]


class Trainer:
    """Of one worker. A framework's adds step(rate, x, labels) -> loss, count_right(x, labels) and sum(*values), that over all workers."""
    phases = {}

    def begin(self):
        """Before the steps of an epoch."""

    def train(self, replica, options, samples):
        count, trained_s = samples.steps * replica.training, 0
        for epoch in range(1, options.epochs + 1):
            self.sum(0)  # all begin at once
            self.begin()
            began_s = time.monotonic()
            loss_sum = sum(self.step(*batch) for batch in samples.batches(epoch - 1))
            took_s = time.monotonic() - began_s
            trained_s += took_s
            phases = ", ".join(f"{name} {spent_s:.6f} s" for name, spent_s in self.phases.items())
            right = tested = 0
            for x, labels in samples.tests():
                right += self.count_right(x, labels)
                tested += len(labels)
            loss_sum, right, tested = self.sum(loss_sum, right, tested)
            if replica.index == 0:
                print(f"epoch {epoch}: loss {loss_sum / count:.4f}, {count * replica.batch / took_s:.1f} samples/s, accuracy "
                      f"{right / tested:.4f} after {trained_s:.3f} s{phases and f'; {samples.steps} steps: {phases}'}", flush=True)
