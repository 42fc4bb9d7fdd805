#!/usr/bin/env python3
"""torch.distributed.all_reduce over Gloo, as DistributedDataParallel calls it, for script/bench allreduce:
allreduce_gloo.py RANK RANKS FILE BYTES:WARMUP:ITERS... Rank 0 prints a JSON line a size. FILE is where ranks meet."""
import datetime
import json
import os
import sys
import time


def measure(torch, dist, ranks, size, warmup, iters):
    data = torch.zeros(size // 4)
    for _ in range(warmup):
        dist.all_reduce(data)
    dist.barrier()
    begin, cpu = time.monotonic(), time.process_time()
    for _ in range(iters):
        dist.all_reduce(data)
    own = torch.tensor([time.monotonic() - begin, time.process_time() - cpu], dtype=torch.float64)
    dist.all_reduce(own)
    data.fill_(1)
    dist.all_reduce(data)
    return {"bytes": size, "time_us": own[0].item() / ranks / iters * 1e6, "cpu_ns_per_byte": own[1].item() / iters / size * 1e9,
            "wrong": int((data != ranks).sum().item())}


def main(argv):
    rank, ranks, meeting = int(argv[0]), int(argv[1]), argv[2]
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    import torch  # pylint: disable=import-outside-toplevel # it reads the environment
    import torch.distributed as dist  # pylint: disable=import-outside-toplevel
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=ranks, timeout=datetime.timedelta(seconds=120))
    for word in argv[3:]:
        figures = measure(torch, dist, ranks, *map(int, word.split(":")))
        if rank == 0:
            print(json.dumps(figures), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1:])
