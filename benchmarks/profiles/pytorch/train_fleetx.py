"""The parameter server workloads of FleetX in PyTorch (PaddlePaddle's own servers are the profile paddle-servers): a table of rows and
dense parameters on the servers, reached by torch.distributed.rpc. TensorFlow's ParameterServerStrategy has no synchronous mode;
this has both. train.py starts it for the model `fleetx`. Trainers print the lines of FleetX's trainer, for the log rule `fleetx`.
Reads BENCHD_*, and what a sweep may have as an axis:

    NET        ctr, word2vec (fleetx_data.py, which has their data)
    UPDATE     sync: a step ends when the mean gradient of all trainers is in. async: each trainer's counts as it comes. geo (Geo-SGD):
               a trainer has its own copy of all parameters, and trains it. After GEO_STEPS steps the servers add its changes, divided
               by the number of trainers, to theirs, and it takes over the servers' values of the rows that it changed
    GEO_STEPS  default 100
    SIZE       full: 1,000,001 features; 350,000 words of 300 numbers. small: 10,001 and 64 wide layers; 10,000 of 32

Trainer 0 tests the servers' parameters five times,
between parts of the training that all trainers begin together, and prints the AUC of samples that no trainer trains.

With servers, MASTER_ADDR and MASTER_PORT (the first server's) too. A trainer without servers keeps the table itself."""
import os
import pathlib
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import benchd_replica as benchd  # noqa: E402
import fleetx_data  # noqa: E402

TESTS, TEST_SAMPLES, TEST_SEED = 5, 4000, 1 << 20  # no trainer has this index
RPC_LIMIT_S = 600


class Ctr(fleetx_data.Ctr):
    def __init__(self, torch, numpy, size):
        super().__init__(numpy, size)
        layers, before = [], fleetx_data.NUMBERS + fleetx_data.SLOTS * self.width
        for width in self.layers:
            layers += [torch.nn.Linear(before, width), torch.nn.ReLU()]
            before = width
        self.dense = torch.nn.Sequential(*layers, torch.nn.Linear(before, 1))

    def scores(self, torch, rows, x):
        return self.dense(torch.cat([x, rows.flatten(1)], 1))


class Word2Vec(fleetx_data.Word2Vec):
    """Nothing is dense."""

    def __init__(self, torch, numpy, size):
        super().__init__(numpy, size)
        self.dense = torch.nn.Identity()

    def scores(self, torch, rows):
        return (rows[:, 1:] @ rows[:, 0].unsqueeze(2)).squeeze(2)


NETS = {"ctr": Ctr, "word2vec": Word2Vec}


def batch_of(torch, net, random, n):
    """Row numbers (n, k), what else scores() needs, and what is true (n, m)."""
    ids, truths, *inputs = (torch.from_numpy(x) for x in net.draw(random, n))
    return ids, *inputs, truths


def loss_of(torch, scores, truths):
    return torch.nn.functional.binary_cross_entropy_with_logits(scores, truths, reduction="sum") / len(truths)


def auc(torch, scores, truths):
    """How often the score of what is true is above that of what is not: by the sum of its ranks. The order of equal scores is chance."""
    is_true = truths.flatten()[scores.flatten().argsort()] > 0
    n_true, ranks = int(is_true.sum()), torch.arange(1, len(is_true) + 1)
    return (ranks[is_true].sum().item() - n_true * (n_true + 1) / 2) / (n_true * (len(is_true) - n_true))


def flat(torch, tensors):
    return torch.cat([torch.zeros(0), *(t.detach().flatten() for t in tensors)])


class Shard:
    """What one of `servers` servers keeps: every `servers`-th row, and a part of the dense parameters. It subtracts what is pushed,
    times `rate`, when that of `together` trainers has come."""

    def __init__(self, torch, net, index, servers, together, rate):
        random = torch.Generator().manual_seed(index)
        self.together, self.rate = together, rate
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
            if len(self.waiting) == self.together:
                for gradients in self.waiting:
                    self.apply(*gradients)
                self.waiting, self.round = [], self.round + 1
                self.changed.notify_all()
                return
            mine = self.round
            self.changed.wait_for(lambda: self.round > mine)

    def apply(self, rows, row_gradients, dense_gradient):
        self.table.index_add_(0, rows, row_gradients, alpha=-self.rate)
        self.dense.sub_(dense_gradient, alpha=self.rate)


SHARD = None    # of this process, if it is a server: who calls by rpc has only names
BARRIER = None  # of all trainers, in the first server


def arrive():
    BARRIER.wait()


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


class Meeting:
    """Of all trainers, in the first server."""

    def __init__(self, server):
        self.server, self.arrival = server, None

    def meet(self):
        self.server.begin(arrive).wait()

    def is_over(self):
        """Says once that this trainer has come, and from then on whether all have."""
        self.arrival = self.arrival or self.server.begin(arrive)
        if not self.arrival.done():
            return False
        self.arrival.wait()  # raises what failed
        self.arrival = None
        return True


class Trainer:
    def __init__(self, torch, numpy, replica, net, shards):
        self.torch, self.numpy, self.net, self.shards, self.batch = torch, numpy, net, shards, replica.batch
        self.random = numpy.random.default_rng([replica.seed, replica.index])
        self.test_data = batch_of(torch, net, numpy.random.default_rng([replica.seed, TEST_SEED]), TEST_SAMPLES)

    def split(self, rows):
        """For each shard: which of these rows it has, and their numbers there."""
        n = len(self.shards)
        whose = [(rows % n == i).nonzero().squeeze(1) for i in range(n)]
        return [(mine, rows[mine] // n) for mine in whose]

    def pull(self, rows):
        """Their values; the dense parameters are then in the network."""
        torch, parts = self.torch, self.split(rows)
        pulled = [future.wait() for future in [shard.begin(pull, r) for shard, (_, r) in zip(self.shards, parts)]]
        values = torch.empty((len(rows), self.net.width))
        for (mine, _), (found, _) in zip(parts, pulled):
            values[mine] = found
        torch.nn.utils.vector_to_parameters(torch.cat([found for _, found in pulled]), list(self.net.dense.parameters()))
        return values

    def push(self, rows, changes, dense):
        for future in [shard.begin(push, r, changes[mine], part(dense, i, len(self.shards)))
                       for i, (shard, (mine, r)) in enumerate(zip(self.shards, self.split(rows)))]:
            future.wait()

    def gradients(self, values, inverse, rest):
        """(the loss, that of the rows, that of the dense parameters)."""
        values.requires_grad_()
        self.net.dense.zero_grad()
        *inputs, truths = rest
        loss = loss_of(self.torch, self.net.scores(self.torch, values[inverse], *inputs), truths)
        loss.backward()
        return loss.item(), values.grad, flat(self.torch, [p.grad for p in self.net.dense.parameters()])

    def step(self):
        """Pull what the batch needs, forward, backward, push. Returns the loss."""
        ids, *rest = batch_of(self.torch, self.net, self.random, self.batch)
        rows, inverse = self.torch.unique(ids, return_inverse=True)
        loss, *gradients = self.gradients(self.pull(rows), inverse, rest)
        self.push(rows, *gradients)
        return loss

    def test(self):
        """The AUC by the servers' parameters."""
        ids, *inputs, truths = self.test_data
        rows, inverse = self.torch.unique(ids, return_inverse=True)
        values = self.pull(rows)
        with self.torch.no_grad():
            return auc(self.torch, self.net.scores(self.torch, values[inverse], *inputs), truths)


class GeoTrainer(Trainer):
    """Trains a copy of all rows in `table`, and the network's own dense parameters. `base`, `dense_base`: what the servers said last."""

    def __init__(self, torch, numpy, replica, net, shards, steps):
        super().__init__(torch, numpy, replica, net, shards)
        self.steps, self.done, self.touched = steps, 0, torch.zeros(net.rows, dtype=torch.bool)
        self.table = self.pull(torch.arange(net.rows))
        self.base, self.dense_base = self.table.clone(), flat(torch, net.dense.parameters())

    def step(self):
        torch, params = self.torch, list(self.net.dense.parameters())
        ids, *rest = batch_of(torch, self.net, self.random, self.batch)
        rows, inverse = torch.unique(ids, return_inverse=True)
        loss, row_gradients, dense = self.gradients(self.table[rows], inverse, rest)
        self.table.index_add_(0, rows, row_gradients, alpha=-self.net.rate)
        torch.nn.utils.vector_to_parameters(flat(torch, params).sub_(dense, alpha=self.net.rate), params)
        self.touched[rows] = True
        self.done += 1
        if self.done % self.steps == 0:
            self.exchange()
        return loss

    def exchange(self):
        rows, params = self.touched.nonzero().squeeze(1), self.net.dense.parameters()
        self.push(rows, self.base[rows] - self.table[rows], self.dense_base - flat(self.torch, params))
        self.base[rows] = self.table[rows] = self.pull(rows)
        self.dense_base = flat(self.torch, self.net.dense.parameters())
        self.touched.zero_()

    def test(self):
        """Puts the servers' dense parameters into the network, and then its own back."""
        mine = flat(self.torch, self.net.dense.parameters())
        found = super().test()
        self.torch.nn.utils.vector_to_parameters(mine, list(self.net.dense.parameters()))
        return found


def join(torch, replica, servers, trainers):
    """Servers have the first ranks; the first of them is where all meet."""
    rpc = torch.distributed.rpc
    rank = replica.index if replica.role == "pserver" else servers + replica.index
    address = f"tcp://{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
    # A thread of a server waits in each synchronous push.
    options = rpc.TensorPipeRpcBackendOptions(num_worker_threads=trainers + 8, init_method=address, rpc_timeout=RPC_LIMIT_S)
    rpc.init_rpc(f"{replica.role}{replica.index}", rank=rank, world_size=servers + trainers, rpc_backend_options=options)


def main():
    global SHARD, BARRIER
    if __name__ == "__main__":
        raise SystemExit("start train.py: what rpc calls is found by this module's name")
    known = {key: value for key, value in os.environ.items() if key != "BENCHD_MODEL"}
    replica = benchd.Replica(known, exchanges=("None", "PServer"), roles=("trainer", "pserver"))
    name, size = replica.choice("NET", list(NETS)), replica.choice("SIZE", ("full", "small"))
    update, geo_steps = replica.choice("UPDATE", ("sync", "async", "geo")), replica.number("GEO_STEPS", 100)
    servers, trainers = int(os.environ.get("BENCHD_PSERVERS", "0")), replica.training
    replica.limit_threads()
    import numpy
    import torch
    import torch.distributed.rpc
    torch.set_num_threads(replica.threads)
    torch.manual_seed(replica.seed)  # all begin with the same dense parameters
    net = NETS[name](torch, numpy, size)
    replica.start("PyTorch", torch.__version__, model=name, size=size, update=update)
    if replica.role == "pserver" or servers == 0:
        rate = {"sync": net.rate / trainers, "async": net.rate, "geo": 1 / trainers}[update]
        SHARD = Shard(torch, net, replica.index, max(1, servers), trainers if update == "sync" else 1, rate)
        BARRIER = threading.Barrier(trainers)
    if servers > 0:
        join(torch, replica, servers, trainers)
    if replica.role == "trainer":
        shards = [Remote(torch, i) for i in range(servers)] or [Local()]
        trainer = (GeoTrainer(torch, numpy, replica, net, shards, geo_steps) if update == "geo" else
                   Trainer(torch, numpy, replica, net, shards))
        meeting = Meeting(shards[0])
        more = {"is_over": meeting.is_over} if update != "sync" and trainers > 1 else {}
        replica.train_as_fleetx(trainer.step, f"worker_index: {replica.index}", meeting.meet, tests=TESTS,
                                test=trainer.test if replica.index == 0 else None, **more)
    if servers > 0:
        torch.distributed.rpc.shutdown()  # waits until all have trained
