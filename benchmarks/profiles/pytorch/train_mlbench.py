"""Task 1a of mlbench in PyTorch, one process or several; mlbench_resnet.py has the task, and what the environment may ask for. train.py
starts it for the models resnet20, resnet32, resnet44 and resnet56, and those with -v2: then the processes exchange by DistributedDataParallel
over gloo. Started by mpirun they exchange by one MPI_Allreduce a step (open_mpi.py); both do the same arithmetic. With gloo, gradients
travel while others are still computed; only the time from the last one until all have arrived is waiting."""
import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import mlbench_resnet as task  # noqa: E402
import open_mpi  # noqa: E402


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
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, task.CLASSES))
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight)
    return model


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
        super().__init__(model)
        self.world, self.sum, self.flat = world, world.sum, open_mpi.flat_gradients(torch, model)

    def clear(self, sgd):
        self.flat.zero_()

    def exchange(self):
        ready_s = time.monotonic()
        self.world.mean(self.flat)
        return ready_s


# ---- training ----

class Trainer(task.Trainer):
    def __init__(self, torch, peers, workers):
        self.torch, self.peers, self.model, self.workers, self.now_s = torch, peers, peers.model, workers, 0
        self.plain = getattr(peers.model, "module", peers.model)  # in a test DDP would wait for whoever has another number of batches
        self.sgd = torch.optim.SGD(self.model.parameters(), lr=1, momentum=task.MOMENTUM, nesterov=True, weight_decay=task.WEIGHT_DECAY)

    def tensors(self, x, labels):
        torch = self.torch
        return torch.from_numpy(x).contiguous(memory_format=torch.channels_last), torch.from_numpy(labels)

    def sum(self, *values):
        total = self.torch.tensor(values, dtype=self.torch.float64)
        self.peers.sum(total)
        return total.tolist()

    def lap(self, phase, ended_s=None):
        """Counts the time since the last one: until now, if it is not given."""
        ended_s = time.monotonic() if ended_s is None else ended_s
        self.phases[phase] += ended_s - self.now_s
        self.now_s = ended_s

    def begin(self):
        self.model.train()
        self.phases = dict.fromkeys(("data", "forward", "backward", "wait", "update"), 0.)
        self.now_s = time.monotonic()

    def step(self, rate, x, labels):
        for group in self.sgd.param_groups:
            group["lr"] = rate
        x, labels = self.tensors(x, labels)
        self.lap("data")
        self.peers.clear(self.sgd)
        loss = self.torch.nn.functional.cross_entropy(self.model(x), labels)
        self.lap("forward")
        loss.backward()
        self.lap("backward", self.peers.exchange())
        self.lap("wait", None if self.workers > 1 else self.now_s)
        self.sgd.step()
        loss = loss.item()
        self.lap("update")
        return loss

    def count_right(self, x, labels):
        x, labels = self.tensors(x, labels)
        self.plain.eval()
        with self.torch.no_grad():
            return int((self.plain(x).argmax(1) == labels).sum())


def join_mpi(replica):
    """MPI_COMM_WORLD, of which the replica is a rank. None: mpirun has not started this process."""
    if "OMPI_COMM_WORLD_SIZE" not in os.environ:
        return None
    world = open_mpi.World()
    replica.index, replica.training = world.rank, world.size
    return world


def connect(torch, model, replica, world):
    if replica.training == 1:
        return Alone(model)
    return Gloo(torch, model) if world is None else Mpi(torch, model, world)


def main():
    replica = task.new_replica(roles=("launcher",))
    world = join_mpi(replica)
    options = task.Options(replica)
    replica.limit_threads()
    import numpy
    import torch
    print(f"PyTorch {torch.__version__}", flush=True)
    torch.set_num_threads(replica.threads)
    torch.manual_seed(replica.seed)
    model = resnet(torch, options.blocks, options.width, options.is_v2).to(memory_format=torch.channels_last)
    samples = task.Samples(numpy, replica, options)
    peers = connect(torch, model, replica, world)
    Trainer(torch, peers, replica.training).train(replica, options, samples)
    peers.end()
    if world is not None:
        world.end()


if __name__ == "__main__":
    main()
