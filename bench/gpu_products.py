"""What a GPU can do with matrices alone, by PyTorch: TFLOP/s of a product in each precision, the best of some rounds. Started by gpu.py;
prints one JSON object."""
import json
import sys

N, CALLS, ROUNDS = 8192, 10, 5


def product_tflops(torch, precision, n=N):
    """Two n x n matrices. fp32 is fp32: tf32 has to be asked for."""
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    a, b = (torch.randn(n, n, dtype=dtype, device="cuda") for _ in range(2))
    torch.matmul(a, b)  # the first call chooses how
    best_ms = float("inf")
    for _ in range(ROUNDS):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(CALLS):
            torch.matmul(a, b)
        end.record()
        end.synchronize()
        best_ms = min(best_ms, begin.elapsed_time(end))
    return 2 * n**3 * CALLS / best_ms / 1e9


def main():
    import torch
    print(json.dumps({precision: product_tflops(torch, precision) for precision in sys.argv[1:]}))


if __name__ == "__main__":
    main()
