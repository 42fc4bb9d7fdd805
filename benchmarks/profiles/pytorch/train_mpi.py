"""VGG16 (Fluid, FC 512) of train.py, its gradients exchanged by Open MPI: one MPI_Allreduce a step. Reads BENCHD_*, and
prints a line a step, that of rank 0:

    step 3: 57.1 samples/s, loss 2.4113

It is a program for the profile open-mpi: its launcher runs `mpirun python train_mpi.py`; libmpi is Debian's, called by
ctypes. In pods, hand the variables on: mpirun -x BENCHD_BATCH_SIZE -x BENCHD_STEPS ... train_mlbench.py uses World and
flat_gradients, too."""
import ctypes
import time

import train
import benchd_replica as benchd  # train.py made it known

IN_PLACE = ctypes.c_void_p(1)  # as Open MPI defines it


class World:
    """MPI_COMM_WORLD, by Open MPI's own symbols: its handles are addresses."""

    def __init__(self):
        self.mpi = ctypes.CDLL("libmpi.so.40", ctypes.RTLD_GLOBAL)
        self.comm, self.float, self.double, self.add = (
            ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(self.mpi, "ompi_mpi_" + name)))
            for name in ("comm_world", "float", "double", "op_sum"))
        self.check(self.mpi.MPI_Init(None, None))
        self.rank, self.size = self.number("MPI_Comm_rank"), self.number("MPI_Comm_size")

    @staticmethod
    def check(status):
        if status != 0:
            raise OSError(f"MPI returned {status}")

    def number(self, function):
        found = ctypes.c_int()
        self.check(getattr(self.mpi, function)(self.comm, ctypes.byref(found)))
        return found.value

    def sum(self, flat):
        """Over all ranks, in place. flat: contiguous float32 or float64."""
        kind = self.double if flat.element_size() == 8 else self.float
        self.check(self.mpi.MPI_Allreduce(IN_PLACE, ctypes.c_void_p(flat.data_ptr()), flat.numel(), kind, self.add, self.comm))

    def mean(self, flat):
        self.sum(flat)
        flat /= self.size

    def end(self):
        self.check(self.mpi.MPI_Finalize())


def flat_gradients(torch, model):
    """One buffer with all gradients, each in the layout of its parameter; backward() adds into it."""
    params = list(model.parameters())
    flat = torch.zeros(sum(p.numel() for p in params))
    begin = 0
    for param in params:
        param.grad = flat[begin:begin + param.numel()].as_strided(param.size(), param.stride(), begin)
        begin += param.numel()
    return flat


def main():
    replica = benchd.Replica(exchanges=("None", "AllReduce"), roles=("launcher", "worker"))
    replica.limit_threads()
    import torch
    torch.set_num_threads(replica.threads)
    world = World()
    replica.index = world.rank  # data of its own
    torch.manual_seed(replica.seed)  # the same initial weights
    model = train.build(torch).to(memory_format=torch.channels_last).train()
    torch.manual_seed(replica.seed + world.rank)  # dropout: each rank its own
    adam, flat = train.optimizer(torch, model), flat_gradients(torch, model)
    batches = [(torch.from_numpy(x).contiguous(memory_format=torch.channels_last), torch.from_numpy(labels))
               for x, labels in replica.batches()]
    for i in range(replica.warmup_steps + replica.steps):
        began = time.monotonic()
        x, labels = batches[i % len(batches)]
        flat.zero_()
        loss = torch.nn.functional.cross_entropy(model(x), labels)
        loss.backward()
        if world.size > 1:
            world.mean(flat)
        adam.step()
        rate = replica.batch * world.size / (time.monotonic() - began)
        if world.rank == 0:
            print(f"step {i}: {rate:.4f} samples/s, loss {loss.item():.4f}", flush=True)
    world.end()


if __name__ == "__main__":
    main()
