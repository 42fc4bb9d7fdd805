"""The parameter server workloads of FleetX in PyTorch, since today's PaddlePaddle has no parameter servers: a table of rows and
dense parameters on the servers, reached by torch.distributed.rpc. TensorFlow's ParameterServerStrategy has no synchronous mode;
this has both. train.py starts it for the model `fleetx`. Synthetic data, words and features as often as in Zipf's law. Trainers
print the lines of FleetX's trainer, for the log rule `fleetx`. Reads BENCHD_*, and what a sweep may have as an axis:

    NET     ctr: a click is predicted from 13 numbers and 26 features (rows of 10 numbers, three layers of 400). A sample is one
            of them. word2vec: skip-gram; a sample is a word, one of its neighbours and five that are not
    UPDATE  sync: a step ends when the mean gradient of all trainers is in. async: each trainer's counts as it comes
    SIZE    full: 1,000,001 features; 350,000 words of 300 numbers. small: 10,001 and 64 wide layers; 10,000 of 32

With servers, MASTER_ADDR and MASTER_PORT (the first server's) too. A trainer without servers keeps the table itself."""
import os
import pathlib
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import benchd_replica as benchd  # noqa: E402

LEARNING_RATE = .01
SLOTS, NUMBERS, WIDTH = 26, 13, 10  # of ctr
NEGATIVES = 5                       # of word2vec
ZIPF = 1.1
RPC_LIMIT_S = 600


class Ctr:
    def __init__(self, torch, size):
        self.rows, self.width = (1_000_001 if size == "full" else 10_001), WIDTH
        layers, before = [], NUMBERS + SLOTS * WIDTH
        for width in (400 if size == "full" else 64,) * 3:
            layers += [torch.nn.Linear(before, width), torch.nn.ReLU()]
            before = width
        self.dense = torch.nn.Sequential(*layers, torch.nn.Linear(before, 1))

    def batch(self, torch, numpy, random, n):
        """Row numbers (n, k), and whatever else the loss needs."""
        ids = torch.from_numpy(random.zipf(ZIPF, (n, SLOTS)) % self.rows)
        x = torch.from_numpy(random.standard_normal((n, NUMBERS), numpy.float32))
        return ids, x, torch.from_numpy(random.integers(0, 2, n).astype(numpy.float32))

    def loss(self, torch, rows, x, clicks):
        y = self.dense(torch.cat([x, rows.flatten(1)], 1)).squeeze(1)
        return torch.nn.functional.binary_cross_entropy_with_logits(y, clicks)


class Word2Vec:
    """Word w is row w as the one in the middle, and row `words` + w as a neighbour. Nothing is dense."""

    def __init__(self, torch, size):
        self.words, self.width = (350_000, 300) if size == "full" else (10_000, 32)
        self.rows, self.dense = 2 * self.words, torch.nn.Identity()

    def batch(self, torch, numpy, random, n):
        ids = random.zipf(ZIPF, (n, 2 + NEGATIVES)) % self.words
        ids[:, 1:] += self.words
        truths = numpy.zeros((n, 1 + NEGATIVES), numpy.float32)
        truths[:, 0] = 1
        return torch.from_numpy(ids), torch.from_numpy(truths)

    def loss(self, torch, rows, truths):
        scores = (rows[:, 1:] @ rows[:, 0].unsqueeze(2)).squeeze(2)
        return torch.nn.functional.binary_cross_entropy_with_logits(scores, truths, reduction="sum") / len(truths)


NETS = {"ctr": Ctr, "word2vec": Word2Vec}


def flat(torch, tensors):
    return torch.cat([torch.zeros(0), *(t.detach().flatten() for t in tensors)])


class Shard:
    """What one of `servers` servers keeps: every `servers`-th row, and a part of the dense parameters. Each gradient that comes is
    a step of SGD; with `trainers` above 1, the mean of as many is."""

    def __init__(self, torch, net, index, servers, trainers):
        random = torch.Generator().manual_seed(index)
        self.torch, self.trainers = torch, trainers
        self.table = torch.rand((len(range(index, net.rows, servers)), net.width), generator=random).sub_(.5).div_(net.width)
        self.dense = part(flat(torch, net.dense.parameters()), index, servers).clone()
        self.changed = threading.Condition()
        self.waiting, self.round = [], 0

    def pull(self, rows):
        with self.changed:
            return self.table[rows], self.dense.clone()

    def push(self, rows, row_gradients, dense_gradient):
        """Returns when it counts: in a synchronous step, when those of all have come."""
        with self.changed:
            self.waiting.append((rows, row_gradients, dense_gradient))
            if len(self.waiting) == self.trainers:
                for gradients in self.waiting:
                    self.apply(*gradients)
                self.waiting, self.round = [], self.round + 1
                self.changed.notify_all()
                return
            mine = self.round
            self.changed.wait_for(lambda: self.round > mine)

    def apply(self, rows, row_gradients, dense_gradient):
        self.table.index_add_(0, rows, row_gradients, alpha=-LEARNING_RATE / self.trainers)
        self.dense.sub_(dense_gradient, alpha=LEARNING_RATE / self.trainers)


SHARD = None  # of this process, if it is a server: who calls by rpc has only names


def pull(rows):
    return SHARD.pull(rows)


def push(*gradients):
    return SHARD.push(*gradients)


class Remote:
    """A shard that is in another process."""

    def __init__(self, torch, index):
        self.rpc, self.name = torch.distributed.rpc, f"pserver{index}"

    def begin(self, function, *args):
        return self.rpc.rpc_async(self.name, function, args, timeout=RPC_LIMIT_S)


class Local:
    """The one shard of a trainer without servers."""

    class Done:
        def __init__(self, value):
            self.wait = lambda: value

    def begin(self, function, *args):
        return self.Done(function(*args))


def part(vector, index, n):
    """The index-th of n parts, even within one."""
    return vector[len(vector) * index // n:len(vector) * (index + 1) // n]


class Trainer:
    def __init__(self, torch, numpy, replica, net, shards):
        self.torch, self.numpy, self.net, self.shards, self.batch = torch, numpy, net, shards, replica.batch
        self.random = numpy.random.default_rng([replica.seed, replica.index])

    def step(self):
        """Pull what the batch needs, forward, backward, push. Returns the loss."""
        torch, shards = self.torch, self.shards
        ids, *rest = self.net.batch(torch, self.numpy, self.random, self.batch)
        unique, inverse = torch.unique(ids, return_inverse=True)
        whose = [(unique % len(shards) == i).nonzero().squeeze(1) for i in range(len(shards))]
        rows = [unique[mine] // len(shards) for mine in whose]
        pulled = [future.wait() for future in [shard.begin(pull, r) for shard, r in zip(shards, rows)]]
        values = torch.empty((len(unique), self.net.width))
        for mine, (found, _) in zip(whose, pulled):
            values[mine] = found
        values.requires_grad_()
        dense = list(self.net.dense.parameters())
        torch.nn.utils.vector_to_parameters(torch.cat([found for _, found in pulled]), dense)
        self.net.dense.zero_grad()
        loss = self.net.loss(torch, values[inverse], *rest)
        loss.backward()
        gradient = flat(torch, [p.grad for p in dense])
        for future in [shard.begin(push, rows[i], values.grad[whose[i]], part(gradient, i, len(shards)))
                       for i, shard in enumerate(shards)]:
            future.wait()
        return loss.item()


def join(torch, replica, servers, trainers):
    """Servers have the first ranks; the first of them is where all meet."""
    rpc = torch.distributed.rpc
    rank = replica.index if replica.role == "pserver" else servers + replica.index
    address = f"tcp://{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
    # A thread of a server waits in each synchronous push.
    options = rpc.TensorPipeRpcBackendOptions(num_worker_threads=trainers + 8, init_method=address, rpc_timeout=RPC_LIMIT_S)
    rpc.init_rpc(f"{replica.role}{replica.index}", rank=rank, world_size=servers + trainers, rpc_backend_options=options)


def main():
    global SHARD
    if __name__ == "__main__":
        raise SystemExit("start train.py: what rpc calls is found by this module's name")
    known = {key: value for key, value in os.environ.items() if key != "BENCHD_MODEL"}
    replica = benchd.Replica(known, exchanges=("None", "PServer"), roles=("trainer", "pserver"))
    name, size = replica.choice("NET", list(NETS)), replica.choice("SIZE", ("full", "small"))
    is_sync = replica.choice("UPDATE", ("sync", "async")) == "sync"
    servers, trainers = int(os.environ.get("BENCHD_PSERVERS", "0")), replica.training
    replica.limit_threads()
    import numpy
    import torch
    import torch.distributed.rpc
    torch.set_num_threads(replica.threads)
    torch.manual_seed(replica.seed)  # all begin with the same dense parameters
    net = NETS[name](torch, size)
    replica.start("PyTorch", torch.__version__, model=name, size=size, update="sync" if is_sync else "async")
    if replica.role == "pserver" or servers == 0:
        SHARD = Shard(torch, net, replica.index, max(1, servers), trainers if is_sync else 1)
    if servers > 0:
        join(torch, replica, servers, trainers)
    if replica.role == "trainer":
        shards = [Remote(torch, i) for i in range(servers)] or [Local()]
        replica.train_as_fleetx(Trainer(torch, numpy, replica, net, shards).step, f"worker_index: {replica.index}")
    if servers > 0:
        torch.distributed.rpc.shutdown()  # waits until all have trained
