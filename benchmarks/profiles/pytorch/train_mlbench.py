"""Task 1a of mlbench: ResNet-20, 32, 44 or 56 on CIFAR-10's form, one process or several. train.py starts it for the models resnet20,
resnet32, resnet44 and resnet56, and those with -v2: then the processes exchange by DistributedDataParallel over gloo. Started by mpirun they
exchange by one MPI_Allreduce a step (train_mpi.py); both do the same arithmetic. Reads BENCHD_*, and what a sweep may have as an axis:

    NET            one of these models; default BENCHD_MODEL. The task's m1 is resnet20, its m2 resnet20-v2
    DATA           synthetic (default): seeded images of 10 classes, each its own pattern under noise, learnt in a few epochs. Or a
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
The steps and the times of their parts are those of this epoch in the first worker. With gloo, gradients travel while others are still
computed; only the time from the last one until all have arrived is waiting. Batch norm counts by itself in each worker."""
import gzip
import os
import pathlib
import struct
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import benchd_replica as benchd  # noqa: E402

DEPTHS = {"resnet20": 3, "resnet32": 5, "resnet44": 7, "resnet56": 9}  # blocks of a stage
CLASSES, SIDE, BORDER = 10, 32, 4
CIFAR10_TRAIN, CIFAR10_TEST = [f"data_batch_{i}.bin" for i in range(1, 6)], ["test_batch.bin"]
CIFAR10_RECORD = 1 + 3 * SIDE * SIDE  # a label, then red, green and blue
RATE_OF_A_SAMPLE, WARMUP_EPOCHS, CUTS = .1 / 256, 5, (82, 109)


def resnet(torch, blocks, width, is_v2):
    """He et al. 2015, section 4.2: 6n + 2 layers, shortcuts without parameters. 269,722 parameters with 3 blocks of 16.
    v2: He et al. 2016, batch norm and ReLU before each convolution, and nothing after the sum; as many parameters."""
    nn = torch.nn

    def active(channels):
        return nn.BatchNorm2d(channels), nn.ReLU(inplace=True)

    class Block(nn.Module):
        def __init__(self, channels, out, stride):
            super().__init__()
            first = nn.Conv2d(channels, out, 3, stride, 1, bias=False)
            second = nn.Conv2d(out, out, 3, 1, 1, bias=False)
            self.body = nn.Sequential(*(active(channels) if is_v2 else ()), first, *active(out), second,
                                      *(() if is_v2 else [nn.BatchNorm2d(out)]))
            self.stride, self.more = stride, out - channels

        def forward(self, x):
            shortcut = nn.functional.pad(x[:, :, ::self.stride, ::self.stride], (0, 0, 0, 0, 0, self.more))
            y = self.body(x) + shortcut
            return y if is_v2 else nn.functional.relu(y, inplace=True)

    layers, channels = [nn.Conv2d(3, width, 3, 1, 1, bias=False), *(() if is_v2 else active(width))], width
    for stage in range(3):
        for i in range(blocks):
            layers.append(Block(channels, width << stage, 2 if stage and i == 0 else 1))
            channels = width << stage
    layers += active(channels) if is_v2 else ()
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, CLASSES))
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight)
    return model


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


# ---- how workers exchange ----

class Alone:
    """One process, which exchanges nothing."""

    def __init__(self, model):
        self.model = model

    def sum(self, values):
        """Adds a tensor up over all workers, in place."""

    def clear(self, sgd):
        """Before backward()."""
        sgd.zero_grad(set_to_none=True)

    def exchange(self):
        """After backward(): returns with the mean of all gradients in place. Gives the time when its own were computed."""
        return time.monotonic()

    def end(self):
        pass


class Gloo(Alone):
    """DistributedDataParallel: buckets of gradients travel while others are computed."""

    def __init__(self, torch, model):
        from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
        torch.distributed.init_process_group("gloo")
        super().__init__(torch.nn.parallel.DistributedDataParallel(model, broadcast_buffers=False, gradient_as_bucket_view=True))
        self.distributed, self.all_reduce, self.ready_s = torch.distributed, default_hooks.allreduce_hook, 0
        self.model.register_comm_hook(None, self.send)

    def send(self, _, bucket):
        """DDP's own exchange of a bucket of gradients, which it calls when they are computed."""
        self.ready_s = time.monotonic()
        return self.all_reduce(None, bucket)

    def sum(self, values):
        self.distributed.all_reduce(values)

    def exchange(self):
        return self.ready_s

    def end(self):
        self.distributed.destroy_process_group()


class Mpi(Alone):
    """All gradients in one buffer, which one MPI_Allreduce adds up."""

    def __init__(self, torch, model, world):
        import train_mpi
        super().__init__(model)
        self.world, self.sum, self.flat = world, world.sum, train_mpi.flat_gradients(torch, model)

    def clear(self, sgd):
        self.flat.zero_()

    def exchange(self):
        ready_s = time.monotonic()
        self.world.mean(self.flat)
        return ready_s


# ---- training ----

def learning_rate(epoch, batch, workers):
    """Of a step at `epoch`, which has a fraction."""
    whole = RATE_OF_A_SAMPLE * batch * workers
    warm = whole / workers + (whole - whole / workers) * min(1, epoch / WARMUP_EPOCHS)
    return warm * .1 ** sum(epoch >= cut for cut in CUTS)


class Trainer:
    def __init__(self, torch, numpy, replica, peers, loaded):
        self.torch, self.numpy, self.replica, self.peers, self.model = torch, numpy, replica, peers, peers.model
        (self.x, self.labels), (self.test_x, self.test_labels) = loaded
        self.mean, self.std = self.x.mean(), self.x.std() + 1e-6
        self.sgd = torch.optim.SGD(self.model.parameters(), lr=1, momentum=.9, nesterov=True, weight_decay=1e-4)
        self.trained_s, self.phases = 0, {}

    def tensor(self, x):
        x = (x.astype(self.numpy.float32) - self.mean) / self.std
        return self.torch.from_numpy(x.astype(self.numpy.float32)).contiguous(memory_format=self.torch.channels_last)

    def sum(self, *values):
        """Over all workers."""
        total = self.torch.tensor(values, dtype=self.torch.float64)
        self.peers.sum(total)
        return total.tolist()

    def lap(self, phase, began_s, ended_s=None):
        """Counts the time since began_s; returns when it ended: now, if it is not given."""
        ended_s = time.monotonic() if ended_s is None else ended_s
        self.phases[phase] += ended_s - began_s
        return ended_s

    def train(self, epoch):
        """The mean loss, samples/s of all workers, and the steps."""
        replica, numpy = self.replica, self.numpy
        workers = replica.training
        order = numpy.random.default_rng([replica.seed, epoch]).permutation(len(self.x))[replica.index::workers]
        random = numpy.random.default_rng([replica.seed, epoch, replica.index])
        steps = len(self.x) // workers // replica.batch  # all make as many
        self.model.train()
        self.sum(0)  # all begin at once
        self.phases = dict.fromkeys(("data", "forward", "backward", "wait", "update"), 0.)
        began, loss_sum = time.monotonic(), 0.
        now = began
        for step in range(steps):
            rows = order[step * replica.batch:(step + 1) * replica.batch]
            for group in self.sgd.param_groups:
                group["lr"] = learning_rate(epoch + step / steps, replica.batch, workers)
            x, labels = self.tensor(crop(numpy, random, self.x[rows])), self.torch.from_numpy(self.labels[rows])
            now = self.lap("data", now)
            self.peers.clear(self.sgd)
            loss = self.torch.nn.functional.cross_entropy(self.model(x), labels)
            now = self.lap("forward", now)
            loss.backward()
            now = self.lap("backward", now, self.peers.exchange())
            now = self.lap("wait", now, None if workers > 1 else now)
            self.sgd.step()
            loss_sum += loss.item()
            now = self.lap("update", now)
        took_s = time.monotonic() - began
        self.trained_s += took_s
        (loss_sum,) = self.sum(loss_sum)
        return loss_sum / (steps * workers), steps * workers * replica.batch / took_s, steps

    def test(self):
        """The share of all test samples that is right."""
        self.model.eval()
        right, mine = 0, range(self.replica.index, len(self.test_x), self.replica.training)
        plain = getattr(self.model, "module", self.model)  # DDP would wait for whoever has another number of batches
        with self.torch.no_grad():
            for i in range(0, len(mine), 256):
                rows = list(mine[i:i + 256])
                found = plain(self.tensor(self.test_x[rows])).argmax(1).numpy()
                right += int((found == self.test_labels[rows]).sum())
        right, count = self.sum(right, len(mine))
        return right / count


def join_mpi(replica):
    """MPI_COMM_WORLD, of which the replica is a rank. None: mpirun has not started this process."""
    if "OMPI_COMM_WORLD_SIZE" not in os.environ:
        return None
    import train_mpi
    world = train_mpi.World()
    replica.index, replica.training = world.rank, world.size
    return world


def connect(torch, model, replica, world):
    if replica.training == 1:
        return Alone(model)
    return Gloo(torch, model) if world is None else Mpi(torch, model, world)


def main():
    known = {key: value for key, value in os.environ.items() if key not in ("BENCHD_MODEL", "BENCHD_DATA")}
    replica = benchd.Replica(known, exchanges=("None", "AllReduce"), roles=("trainer", "worker", "launcher"))
    world = join_mpi(replica)
    first = os.environ["BENCHD_MODEL"]
    name = replica.choice("NET", [first, *(net for depth in DEPTHS for net in (depth, depth + "-v2") if net != first)])
    epochs, width = replica.number("EPOCHS", 164), replica.number("WIDTH", 16)
    samples, test_samples = replica.number("SAMPLES", 50000), replica.number("TEST_SAMPLES", 10000)
    if samples < replica.training * replica.batch:
        replica.fail(benchd.EXIT_USAGE, f"SAMPLES is {samples}, fewer than a batch of {replica.batch} for each worker")
    replica.limit_threads()
    import numpy
    import torch
    torch.set_num_threads(replica.threads)
    torch.manual_seed(replica.seed)
    model = resnet(torch, DEPTHS[name.removesuffix("-v2")], width, name.endswith("-v2")).to(memory_format=torch.channels_last)
    loaded = load(numpy, replica, os.environ.get("DATA", "synthetic"), samples, test_samples)
    peers = connect(torch, model, replica, world)
    trainer = Trainer(torch, numpy, replica, peers, loaded)
    for epoch in range(epochs):
        loss, rate, steps = trainer.train(epoch)
        accuracy = trainer.test()
        if replica.index == 0:
            phases = ", ".join(f"{name} {spent_s:.6f} s" for name, spent_s in trainer.phases.items())
            print(f"epoch {epoch + 1}: loss {loss:.4f}, {rate:.1f} samples/s, accuracy {accuracy:.4f} after "
                  f"{trainer.trained_s:.3f} s; {steps} steps: {phases}", flush=True)
    peers.end()
    if world is not None:
        world.end()


if __name__ == "__main__":
    main()
