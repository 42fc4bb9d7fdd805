"""VGG16 (Fluid, FC 512) in PyTorch: eager, Adam, synthetic CIFAR-10 shapes. Reads BENCHD_*, prints records.

train.py [--precision fp32|tf32|bf16] [--layout channels_last|nchw]

The model `imagenet` is train_imagenet.py, resnet20 to resnet56 are train_mlbench.py, fleetx is train_fleetx.py, llm is
train_llm.py, fp32-sum is allreduce.py. This network and `imagenet` are trained on a GPU where PyTorch sees one (tf32 is for GPUs only). With exchange AllReduce
each replica is a rank of DistributedDataParallel, over NCCL on GPUs and over gloo on CPUs, and reads MASTER_ADDR, MASTER_PORT, RANK
and WORLD_SIZE too. A rank alone is the plain network: it has no peer to exchange with."""
import argparse
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import benchd_replica as benchd  # noqa: E402
import devices  # noqa: E402
import vgg16  # noqa: E402


def main():
    if os.environ.get("BENCHD_MODEL") == "imagenet":
        import train_imagenet
        return train_imagenet.main()
    if os.environ.get("BENCHD_MODEL", "").startswith("resnet"):
        import train_mlbench
        return train_mlbench.main()
    if os.environ.get("BENCHD_MODEL") == "fleetx":
        import train_fleetx
        return train_fleetx.main()
    if os.environ.get("BENCHD_MODEL") == "llm":
        import train_llm
        return train_llm.main()
    if os.environ.get("BENCHD_MODEL") == "fp32-sum":
        import allreduce
        return allreduce.main()
    parser = argparse.ArgumentParser()
    parser.add_argument("--precision", choices=devices.PRECISIONS, default="fp32")
    parser.add_argument("--layout", choices=("channels_last", "nchw"), default="channels_last")
    args = parser.parse_args()
    replica = benchd.Replica(exchanges=("None", "AllReduce"), roles=("trainer", "worker"))
    replica.limit_threads()
    import torch
    torch.set_num_threads(replica.threads)
    torch.manual_seed(replica.seed)
    device = devices.choose(torch)
    devices.set_precision(torch, device, args.precision, replica)
    layout = torch.channels_last if args.layout == "channels_last" else torch.contiguous_format
    replica.start("PyTorch", torch.__version__, args.precision, layout=args.layout, **devices.facts(torch, device))
    model = vgg16.build(torch).to(device, memory_format=layout).train()
    model = vgg16.distribute(torch, model, replica, device)
    adam = vgg16.optimizer(torch, model)
    cross_entropy = torch.nn.functional.cross_entropy

    def step(x, labels):
        adam.zero_grad(set_to_none=True)
        with torch.autocast(device.type, torch.bfloat16, enabled=args.precision == "bf16"):
            loss = cross_entropy(model(x), labels)
        loss.backward()
        adam.step()
        return loss.item()

    replica.train(step, [(torch.from_numpy(x).to(device, memory_format=layout), torch.from_numpy(labels).to(device))
                         for x, labels in replica.batches()])
    if replica.training > 1:
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
