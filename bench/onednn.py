"""oneDNN as PyTorch calls it: the convolutions of VGG16 one by one, each pass in both layouts. Runs in PyTorch's
environment; prints {"layers": {name: {pass: seconds of CPU for one call, the better layout}}, ...} as JSON.

onednn.py BATCH REPEATS"""
import json
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "benchmarks" / "profiles"))
import benchd_replica as benchd  # noqa: E402


def layers():
    """(name, channels in, channels out, side)"""
    channels, side = 3, 32
    for s, stack in enumerate(benchd.STACKS, 1):
        for i, (width, _drop) in enumerate(stack, 1):
            yield f"conv{s}_{i}", channels, width, side
            channels = width
        side //= 2


def cpu_s(call, repeats):
    call()
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        call()
        times.append(time.process_time() - begin)
    return statistics.median(times)


def main():
    batch, repeats = map(int, sys.argv[1:])
    import torch
    torch.set_num_threads(1)
    torch.manual_seed(1)
    backward = torch.ops.aten.convolution_backward
    result, known = {}, {}
    for name, c, k, side in layers():
        if (c, k, side) in known:  # the same layer again
            result[name] = known[c, k, side]
            continue
        best = {}
        for layout in (torch.channels_last, torch.contiguous_format):
            x = torch.rand(batch, c, side, side).contiguous(memory_format=layout)
            w = (torch.rand(k, c, 3, 3) - .5).contiguous(memory_format=layout)
            dy = torch.rand(batch, k, side, side).contiguous(memory_format=layout)
            bias = torch.zeros(k)

            def gradient(mask):
                return backward(dy, x, w, [k], [1, 1], [1, 1], [1, 1], False, [0, 0], 1, mask)

            with torch.no_grad():
                times = {"forward": cpu_s(lambda: torch.nn.functional.conv2d(x, w, bias, padding=1), repeats),
                         "weight_gradient": cpu_s(lambda: gradient([False, True, False]), repeats)}
                if c > 3:
                    times["input_gradient"] = cpu_s(lambda: gradient([True, False, False]), repeats)
            for which, value in times.items():
                best[which] = min(value, best.get(which, value))
        result[name] = known[c, k, side] = best
    print(json.dumps({"layers": result, "batch": batch, "torch": torch.__version__}))


if __name__ == "__main__":
    main()
