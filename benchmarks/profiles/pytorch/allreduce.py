"""All-reduce of torch.distributed, as DistributedDataParallel calls it, in the table of nccl-tests: over NCCL where PyTorch sees a GPU, else
over gloo. train.py starts it for the model `fp32-sum`.

train.py --minbytes=N --maxbytes=N

Sizes double from the least to the most. A size has BENCHD_WARMUP_STEPS calls, then BENCHD_STEPS that are measured; BENCHD_THREADS
threads; ranks find each other as those of train.py do. A time is the mean of the calls and of the ranks. torch.distributed adds in place
alone, so out of place is a copy and a sum in place. Each size ends with a sum that is checked, on each rank.

busbw = bytes / time x 2 (n - 1)/n, in GB/s, as nccl-tests has it."""
import argparse
import os
import sys
import time

import benchd_replica as benchd
import devices

FLOAT = 4


def mean_us(dist, torch, device, call, warmup, iters):
    for _ in range(warmup):
        call()
    dist.barrier()
    begin = time.monotonic()
    for _ in range(iters):
        call()
    took = torch.tensor([time.monotonic() - begin], dtype=torch.float64, device=device)
    dist.all_reduce(took)
    return took.item() / dist.get_world_size() / iters * 1e6


def count_wrong(dist, torch, data):
    """Numbers of any rank that are not the sum of rank + 1."""
    ranks = dist.get_world_size()
    data.fill_(dist.get_rank() + 1)
    dist.all_reduce(data)
    wrong = torch.tensor([int((data != ranks * (ranks + 1) / 2).sum())], dtype=torch.int64, device=data.device)
    dist.all_reduce(wrong)
    return wrong.item()


def measure(dist, torch, device, size, warmup, iters):
    """[(microseconds, GB/s, bus GB/s, wrong numbers)] out of place and in place."""
    own, data = torch.ones(size // FLOAT, device=device), torch.ones(size // FLOAT, device=device)

    def in_place():
        dist.all_reduce(data)
        if device.type == "cuda":
            torch.cuda.synchronize(device)  # a call on a GPU returns before its sum is there

    def out_of_place():
        data.copy_(own)
        in_place()

    ranks, figures = dist.get_world_size(), []
    for call in (out_of_place, in_place):
        data.zero_()  # sums of sums stay numbers
        us = mean_us(dist, torch, device, call, warmup, iters)
        rate = size / us / 1e3
        figures.append((us, rate, rate * 2 * (ranks - 1) / ranks, count_wrong(dist, torch, data)))
    return figures


def print_head(torch, dist, replica):
    print(f"# torch.distributed {torch.__version__} allreduce: {dist.get_world_size()} ranks, backend {dist.get_backend()}\n"
          f"# calls of a size: {replica.warmup_steps} to warm up, {replica.steps} measured\n#\n"
          f"# {'out-of-place':>82}  {'in-place':>32}")
    for left, right in ((("size", "count", "type", "redop", "root"), ("time", "algbw", "busbw", "#wrong")),
                        (("(B)", "(elements)", "", "", ""), ("(us)", "(GB/s)", "(GB/s)", ""))):
        print("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}".format(*left) + "  {:>8}  {:>6}  {:>6}  {:>6}".format(*right) * 2, flush=True)


def main():
    known = {key: value for key, value in os.environ.items() if key not in ("BENCHD_MODEL", "BENCHD_DATA")}
    replica = benchd.Replica(known, exchanges=("AllReduce",), roles=("worker",))
    parser = argparse.ArgumentParser()
    parser.add_argument("--minbytes", type=int, default=61018408)
    parser.add_argument("--maxbytes", type=int, default=61018408)
    args = parser.parse_args()
    if not FLOAT <= args.minbytes <= args.maxbytes:
        replica.fail(benchd.EXIT_USAGE, f"sizes from {args.minbytes} to {args.maxbytes} bytes: expected {FLOAT} or more, in order")
    devices.launch(replica)
    replica.limit_threads()
    import torch
    import torch.distributed as dist
    torch.set_num_threads(replica.threads)
    device = devices.choose(torch)
    devices.connect(torch, device)
    rates, n_wrong, size = [], 0, args.minbytes
    if dist.get_rank() == 0:
        print_head(torch, dist, replica)
    while size <= args.maxbytes:
        both = measure(dist, torch, device, size, replica.warmup_steps, replica.steps)
        if dist.get_rank() == 0:
            cells = "".join(f"  {us:8.2f}  {rate:6.3f}  {bus:6.3f}  {wrong:6}" for us, rate, bus, wrong in both)
            print(f"{size:12}  {size // FLOAT:12}  {'float':>8}  {'sum':>6}  {-1:6}{cells}", flush=True)
        rates += [bus for _, _, bus, _ in both]
        n_wrong += sum(wrong for _, _, _, wrong in both)
        size *= 2
    if dist.get_rank() == 0:
        print(f"# Out of bounds values : {n_wrong} {'FAILED' if n_wrong else 'OK'}\n"
              f"# Avg bus bandwidth    : {sum(rates) / len(rates):g}\n#", flush=True)
    dist.destroy_process_group()
    if n_wrong:
        sys.exit(1)


if __name__ == "__main__":
    main()
