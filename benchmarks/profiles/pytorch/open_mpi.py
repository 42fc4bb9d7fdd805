"""MPI_COMM_WORLD of Debian's Open MPI for tensors, called by ctypes: PyTorch's wheel has no mpi backend. Used by train_mpi.py and
train_mlbench.py, which an mpirun starts."""
import ctypes

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
