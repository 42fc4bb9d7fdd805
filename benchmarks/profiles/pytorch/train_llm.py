"""A decoder as of Llama 3 in PyTorch, its parameters and gradients sharded over all processes (FSDP2), on random tokens: over NCCL where
PyTorch sees GPUs, else over gloo. train.py starts it for the model `llm`. Reads BENCHD_*, and prints a line a step: tokens/s of the job.

NET        tiny, 1b or 8b: layers, width and heads as below
SEQUENCE   tokens of a sample; default 4096, of tiny 128
GPUS       processes of each worker, one a device (torchrun); a worker's batch is divided among them

train.py [--precision bf16|fp32|tf32]"""
import argparse
import time

import benchd_replica as benchd
import devices

# Layers, width, heads, heads of keys and values, width of the feed-forward part, words.
NETS = {"tiny": (2, 128, 4, 2, 384, 1024), "1b": (16, 2048, 32, 8, 8192, 128256), "8b": (32, 4096, 32, 8, 14336, 128256)}
THETA = 500000.


def rotation(torch, device, length, size):
    """cos and sin of the rotary embedding, (length, size)."""
    angles = torch.arange(length, device=device)[:, None] * THETA ** (-torch.arange(0, size, 2, device=device) / size)
    return angles.cos().repeat(1, 2), angles.sin().repeat(1, 2)


def build(torch, net):
    nn, functional = torch.nn, torch.nn.functional
    layers, width, heads, shared, inner, words = NETS[net]
    size = width // heads

    def turn(x, cos, sin):
        left, right = x.chunk(2, -1)
        return x * cos + torch.cat((-right, left), -1) * sin

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norms = nn.ModuleList(nn.RMSNorm(width, 1e-5) for _ in range(2))
            self.q, self.o = (nn.Linear(width, width, bias=False) for _ in range(2))
            self.k, self.v = (nn.Linear(width, shared * size, bias=False) for _ in range(2))
            self.gate, self.up = (nn.Linear(width, inner, bias=False) for _ in range(2))
            self.down = nn.Linear(inner, width, bias=False)

        def forward(self, x, cos, sin):
            y = self.norms[0](x)
            q, k, v = (part(y).unflatten(-1, (-1, size)).transpose(1, 2) for part in (self.q, self.k, self.v))
            y = functional.scaled_dot_product_attention(turn(q, cos, sin).to(v.dtype), turn(k, cos, sin).to(v.dtype), v, is_causal=True, enable_gqa=True)
            x = x + self.o(y.transpose(1, 2).flatten(2))
            y = self.norms[1](x)
            return x + self.down(functional.silu(self.gate(y)) * self.up(y))

    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.norm = nn.Embedding(words, width), nn.RMSNorm(width, 1e-5)
            self.blocks = nn.ModuleList(Block() for _ in range(layers))
            self.head = nn.Linear(width, words, bias=False)

        def forward(self, tokens):
            cos, sin = rotation(torch, tokens.device, tokens.shape[1], size)
            x = self.words(tokens)
            for block in self.blocks:
                x = block(x, cos, sin)
            return self.head(self.norm(x))

    return Decoder()


def shard(torch, device, model, precision):
    """Each process has a part of the parameters, gradients and moments of each block, and gathers a block where it computes it."""
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    policy = MixedPrecisionPolicy(torch.bfloat16, torch.float32) if precision == "bf16" else MixedPrecisionPolicy()
    for block in model.blocks:
        fully_shard(block, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    model.to_empty(device=device)
    for part in model.modules():
        if isinstance(part, (torch.nn.Linear, torch.nn.Embedding)):
            torch.nn.init.normal_(part.weight, 0, 0.02)
        elif isinstance(part, torch.nn.RMSNorm):
            torch.nn.init.ones_(part.weight)
    return model


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--precision", choices=devices.PRECISIONS, default="bf16")
    precision = parser.parse_args().precision
    replica = benchd.Replica({key: value for key, value in benchd.os.environ.items() if key not in ("BENCHD_MODEL", "BENCHD_DATA")},
                             exchanges=("AllReduce",), roles=("worker",))
    devices.launch(replica)
    net = replica.choice("NET", tuple(NETS))
    length = replica.number("SEQUENCE", 128 if net == "tiny" else 4096)
    replica.limit_threads()
    import torch
    print(f"PyTorch {torch.__version__}", flush=True)
    torch.set_num_threads(replica.threads)
    torch.manual_seed(replica.seed)
    device = devices.choose(torch)
    devices.set_precision(torch, device, precision, replica)
    devices.connect(torch, device)
    with torch.device("meta"):
        model = build(torch, net)
    model = shard(torch, device, model, precision)
    adam = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1)
    torch.manual_seed(replica.seed + 1 + replica.rank)
    tokens = torch.randint(NETS[net][-1], (replica.batch, length + 1), device=device)
    ranks, many = torch.distributed.get_world_size(), replica.batch * length
    for i in range(-replica.warmup_steps, replica.steps):
        begin = time.monotonic()
        adam.zero_grad(set_to_none=True)
        loss = torch.nn.functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1).float(), tokens[:, 1:].flatten())
        loss.backward()
        adam.step()
        mean = loss.detach()
        torch.distributed.all_reduce(mean)   # all have come this far: the step of the job is over
        value = mean.item() / ranks
        if torch.distributed.get_rank() == 0 and i >= 0:
            took_s = time.monotonic() - begin
            print(f"step {i + 1}: loss {value:.4f}, {ranks * many / took_s:.1f} tokens/s, {took_s * 1e3:.1f} ms", flush=True)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
