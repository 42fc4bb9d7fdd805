"""VGG16 (Fluid, FC 512) of vgg16.py, its gradients exchanged by Open MPI: one MPI_Allreduce a step. Reads BENCHD_*, and
prints a line a step, that of rank 0:

    step 3: 57.1 samples/s, loss 2.4113

It is a program for the profile open-mpi: its launcher runs `mpirun python train_mpi.py`. In pods, hand the variables on:
mpirun -x BENCHD_BATCH_SIZE -x BENCHD_STEPS ..."""
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import benchd_replica as benchd  # noqa: E402
import open_mpi  # noqa: E402
import vgg16  # noqa: E402


def main():
    replica = benchd.Replica(exchanges=("None", "AllReduce"), roles=("launcher", "worker"))
    replica.limit_threads()
    import torch
    torch.set_num_threads(replica.threads)
    world = open_mpi.World()
    replica.index = world.rank  # data of its own
    torch.manual_seed(replica.seed)  # the same initial weights
    model = vgg16.build(torch).to(memory_format=torch.channels_last).train()
    torch.manual_seed(replica.seed + world.rank)  # dropout: each rank its own
    adam, flat = vgg16.optimizer(torch, model), open_mpi.flat_gradients(torch, model)
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
