"""PyTorch's half of script/bench training: trains from what `benchworker export` wrote, prints {"loss": [...]} and, with
--test, the test accuracy. Runs in PyTorch's environment.

training_torch.py DIR [--dropout] [--seed N] [--layout LAYOUT] [--fp64] [--steps N] [--test IDX_DIR]"""
import argparse
import gzip
import importlib.util
import itertools
import json
import math
import pathlib
import sys

import numpy
import torch

PROFILES = pathlib.Path(__file__).resolve().parent.parent / "benchmarks" / "profiles"
# How an exported tensor becomes PyTorch's: convolutions (K, C, R, S), dense layers (K, C).
ORDERS = {"RSCK": (3, 2, 0, 1), "KCRS": (0, 1, 2, 3), "KC": (0, 1), "K": (0,)}


def load_profile():
    spec = importlib.util.spec_from_file_location("train", PROFILES / "pytorch" / "train.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load_params(model, folder, tensors):
    flat, at = numpy.fromfile(folder / "params.f32", "<f4"), 0
    params = list(model.parameters())
    if len(params) != len(tensors):
        sys.exit(f"error: {len(tensors)} tensors were exported, PyTorch's network has {len(params)}")
    for param, tensor in zip(params, tensors):
        size = math.prod(tensor["shape"])
        value = flat[at:at + size].reshape(tensor["shape"]).transpose(ORDERS[tensor["dims"]])
        if tuple(param.shape) != value.shape:
            sys.exit(f"error: layer {tensor['layer']} {tensor['tensor']} is {value.shape}, PyTorch has {param.shape}")
        param.data.copy_(torch.from_numpy(numpy.ascontiguousarray(value)))
        at += size
    if at != flat.size:
        sys.exit(f"error: params.f32 has {flat.size} floats, its tensors {at}")


def batches(folder):
    """(x, labels) of each exported step."""
    counts = numpy.fromfile(folder / "steps.u32", "<u4")
    x = numpy.memmap(folder / "x.f32", "<f4", "r").reshape(-1, 3, 32, 32)
    labels = numpy.fromfile(folder / "labels.u8", "u1")
    at = 0
    for n in map(int, counts):
        yield torch.from_numpy(x[at:at + n].copy()), torch.from_numpy(labels[at:at + n].astype("i8"))
        at += n


def set_epsilon(adam, epsilon, t):
    """Fluid and TensorFlow add epsilon before the bias correction of the second moment, PyTorch behind it: this value
    makes PyTorch's step t the same formula."""
    for group in adam.param_groups:
        group["eps"] = epsilon / math.sqrt(1 - group["betas"][1] ** t)


class FluidDropout(torch.nn.Module):
    """As Fluid and the worker: training leaves what stays as it is, inference multiplies by 1 - p. PyTorch's own divides by
    1 - p in training, so the last two dense layers, with no batch norm behind them, would begin with twice the values."""

    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return x * (torch.rand_like(x) >= self.p) if self.training else x * (1 - self.p)


def follow_fluid(model):
    """Fluid's dropout for PyTorch's, in place; and each batch norm learns how many values its variance is of."""
    def count(norm, args):
        norm.n_values = args[0].numel() // args[0].shape[1]

    for i, layer in enumerate(model):
        if isinstance(layer, torch.nn.Dropout):
            model[i] = FluidDropout(layer.p)
        if isinstance(layer, (torch.nn.BatchNorm1d, torch.nn.BatchNorm2d)):
            layer.register_forward_pre_hook(count)


def keep_batch_variances(model):
    """Running variances as Fluid keeps them: of the batch, where PyTorch's are divided by n - 1. Once, behind training."""
    for layer in model:
        if isinstance(layer, (torch.nn.BatchNorm1d, torch.nn.BatchNorm2d)):
            layer.running_var.mul_(1 - 1 / layer.n_values)


def idx_bytes(folder, name, offset):
    """The items of an IDX file, plain or gzip."""
    path = folder / name
    opened = open(path, "rb") if path.exists() else gzip.open(folder / f"{name}.gz")
    with opened as file:
        return numpy.frombuffer(file.read(), "u1", offset=offset)


def idx_test(folder):
    """The test images as the worker reads them: padded by 2, three times the same channel, [0, 1]."""
    images = idx_bytes(folder, "t10k-images-idx3-ubyte", 16).reshape(-1, 28, 28)
    labels = idx_bytes(folder, "t10k-labels-idx1-ubyte", 8)
    padded = numpy.pad(images.astype("f4") / 255, ((0, 0), (2, 2), (2, 2)))
    return numpy.repeat(padded[:, None], 3, 1), labels


def accuracy(model, folder):
    images, labels = idx_test(folder)
    right = 0
    keep_batch_variances(model)
    model.eval()
    with torch.no_grad():
        for at in range(0, len(labels), 250):
            answers = model(torch.from_numpy(images[at:at + 250])).argmax(1).numpy()
            right += int((answers == labels[at:at + 250]).sum())
    return right / len(labels)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--dropout", action="store_true")
    parser.add_argument("--seed", type=int, default=1, help="of dropout")
    parser.add_argument("--layout", choices=("channels_last", "nchw"), default="channels_last")
    parser.add_argument("--fp64", action="store_true")
    parser.add_argument("--steps", type=int, help="the first N of those exported")
    parser.add_argument("--test", type=pathlib.Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    profile = load_profile()
    description = json.loads((args.folder / "export.json").read_text(encoding="utf-8"))
    model = profile.build(torch, args.dropout)
    load_params(model, args.folder, description["tensors"])
    follow_fluid(model)
    layout = torch.channels_last if args.layout == "channels_last" else torch.contiguous_format
    dtype = torch.float64 if args.fp64 else torch.float32
    model.to(dtype).to(memory_format=layout).train()
    adam = profile.optimizer(torch, model)
    losses = []
    for t, (x, labels) in enumerate(itertools.islice(batches(args.folder), args.steps), 1):
        set_epsilon(adam, profile.benchd.ADAM_EPSILON, t)
        adam.zero_grad(set_to_none=True)
        loss = torch.nn.functional.cross_entropy(model(x.to(dtype).contiguous(memory_format=layout)), labels)
        loss.backward()
        adam.step()
        losses.append(loss.item())
    result = {"loss": losses, "torch": torch.__version__}
    if args.test:
        result["accuracy"] = accuracy(model, args.test)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
