"""VGG16 (Fluid, FC 512) in PyTorch: eager, Adam, synthetic CIFAR-10 shapes. Reads BENCHD_*, prints records.

train.py [--precision fp32|bf16] [--layout channels_last|nchw]

The model `imagenet` is train_imagenet.py, resnet20 to resnet56 are train_mlbench.py, fleetx is train_fleetx.py, fp32-sum is allreduce.py. With exchange AllReduce each replica is a rank of DistributedDataParallel over
gloo, and reads MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE too. A rank alone is the plain network: it has no peer to
exchange with."""
import argparse
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import benchd_replica as benchd  # noqa: E402


def build(torch, dropout=True):
    """The network with the initial weights of the original (torch.manual_seed decides)."""
    nn = torch.nn
    layers, channels = [], 3
    for stack in benchd.STACKS:
        for width, drop in stack:
            conv = nn.Conv2d(channels, width, 3, padding=1)
            nn.init.normal_(conv.weight, 0, benchd.conv_std(channels))
            nn.init.zeros_(conv.bias)
            layers += [conv, nn.BatchNorm2d(width, benchd.BN_EPSILON, 1 - benchd.BN_KEEP), nn.ReLU(inplace=True)]
            layers += [nn.Dropout(drop)] if drop and dropout else []
            channels = width
        layers.append(nn.MaxPool2d(2))
    width = benchd.WIDTH
    head = [nn.Dropout(benchd.HEAD_DROPOUT if dropout else 0), nn.Linear(channels, width),
            nn.BatchNorm1d(width, benchd.BN_EPSILON, 1 - benchd.BN_KEEP), nn.ReLU(inplace=True),
            nn.Dropout(benchd.HEAD_DROPOUT if dropout else 0), nn.Linear(width, width), nn.Linear(width, benchd.CLASSES)]
    for layer in head:
        if isinstance(layer, nn.Linear):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
    return nn.Sequential(*layers, nn.Flatten(), *head)


def optimizer(torch, model):
    return torch.optim.Adam(model.parameters(), lr=benchd.LEARNING_RATE, betas=(benchd.BETA1, benchd.BETA2),
                            eps=benchd.ADAM_EPSILON, fused=True)


def distribute(torch, model, replica):
    """The network whose gradients are the mean of all ranks'. Batch norm counts by itself, as Fluid's does."""
    if replica.training == 1:
        return model
    torch.distributed.init_process_group("gloo")
    torch.manual_seed(replica.seed + replica.index)  # dropout: each rank its own
    # What a rank waits for in its first step is the others' start: not part of a warm-up.
    torch.distributed.barrier()
    return torch.nn.parallel.DistributedDataParallel(model, broadcast_buffers=False, gradient_as_bucket_view=True)


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
    if os.environ.get("BENCHD_MODEL") == "fp32-sum":
        import allreduce
        return allreduce.main()
    parser = argparse.ArgumentParser()
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--layout", choices=("channels_last", "nchw"), default="channels_last")
    args = parser.parse_args()
    replica = benchd.Replica(exchanges=("None", "AllReduce"), roles=("trainer", "worker"))
    replica.limit_threads()
    import torch
    torch.set_num_threads(replica.threads)
    torch.manual_seed(replica.seed)
    layout = torch.channels_last if args.layout == "channels_last" else torch.contiguous_format
    replica.start("PyTorch", torch.__version__, args.precision, layout=args.layout,
                  cpu_features=torch.backends.cpu.get_cpu_capability())
    model = distribute(torch, build(torch).to(memory_format=layout).train(), replica)
    adam = optimizer(torch, model)
    cross_entropy = torch.nn.functional.cross_entropy

    def step(x, labels):
        adam.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=args.precision == "bf16"):
            loss = cross_entropy(model(x), labels)
        loss.backward()
        adam.step()
        return loss.item()

    replica.train(step, [(torch.from_numpy(x).contiguous(memory_format=layout), torch.from_numpy(labels))
                         for x, labels in replica.batches()])
    if replica.training > 1:
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
