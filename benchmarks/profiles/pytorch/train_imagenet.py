"""ResNet-50 and Inception v3 in PyTorch, as of the published tf_cnn_benchmarks: SGD with momentum, one process or
DistributedDataParallel over gloo; on a GPU where PyTorch sees one, over NCCL. train.py starts it for the model `imagenet`. Reads
BENCHD_*, and what imagenet_data.py has; prints records. With several workers, MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE too.

train.py [--precision fp32|tf32|bf16]"""
import argparse
import io
import itertools
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import benchd_replica as benchd  # noqa: E402
import devices  # noqa: E402
import imagenet_data as task  # noqa: E402


def sequential(torch, channels, *layers):
    """Convolutions with batch norm and ReLU. A layer: (width, kernel, stride, padding)."""
    nn, made = torch.nn, []
    for width, kernel, stride, padding in layers:
        made += [nn.Conv2d(channels, width, kernel, stride, padding, bias=False), nn.BatchNorm2d(width, 1e-3),
                 nn.ReLU(inplace=True)]
        channels = width
    return nn.Sequential(*made)


def residual(torch, body, shortcut):
    class Residual(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.shortcut, self.relu = body, shortcut, torch.nn.ReLU(inplace=True)

        def forward(self, x):
            return self.relu(self.body(x) + self.shortcut(x))
    return Residual()


def branches(torch, *parts):
    """What each of them makes of x, side by side."""
    class Branches(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = torch.nn.ModuleList(parts)

        def forward(self, x):
            return torch.cat([part(x) for part in self.parts], 1)
    return Branches()


def resnet50(torch):
    """He et al. 2015, the stride in the 3x3 convolution (v1.5). 25,557,032 parameters."""
    nn = torch.nn
    layers, channels = [sequential(torch, 3, (64, 7, 2, 3)), nn.MaxPool2d(3, 2, 1)], 64
    for width, n, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(n):
            step = stride if i == 0 else 1
            body = sequential(torch, channels, (width, 1, 1, 0), (width, 3, step, 1), (4 * width, 1, 1, 0))[:-1]
            shortcut = nn.Identity() if i > 0 else sequential(torch, channels, (4 * width, 1, step, 0))[:-1]
            layers.append(residual(torch, body, shortcut))
            channels = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, task.CLASSES))


def inception3(torch):
    """Szegedy et al. 2015, without the auxiliary classifier. 23,834,568 parameters."""
    nn = torch.nn

    def s(channels, *layers):
        return sequential(torch, channels, *layers)

    def pooled(channels, width):
        return nn.Sequential(nn.AvgPool2d(3, 1, 1), s(channels, (width, 1, 1, 0)))

    def thirds(channels, *front):
        """The end of the last blocks: what 1x3 and 3x1 make of the same."""
        end = branches(torch, s(384, (384, (1, 3), 1, (0, 1))), s(384, (384, (3, 1), 1, (1, 0))))
        return nn.Sequential(s(channels, *front), end)

    def wide(width, *order):
        return tuple((width, (1, 7) if k == "h" else (7, 1), 1, (0, 3) if k == "h" else (3, 0)) for k in order)

    layers = [s(3, (32, 3, 2, 0), (32, 3, 1, 0), (64, 3, 1, 1)), nn.MaxPool2d(3, 2), s(64, (80, 1, 1, 0), (192, 3, 1, 0)),
              nn.MaxPool2d(3, 2)]
    for c, width in ((192, 32), (256, 64), (288, 64)):
        layers.append(branches(torch, s(c, (64, 1, 1, 0)), s(c, (48, 1, 1, 0), (64, 5, 1, 2)),
                               s(c, (64, 1, 1, 0), (96, 3, 1, 1), (96, 3, 1, 1)), pooled(c, width)))
    layers.append(branches(torch, s(288, (384, 3, 2, 0)), s(288, (64, 1, 1, 0), (96, 3, 1, 1), (96, 3, 2, 0)),
                           nn.MaxPool2d(3, 2)))
    for w in (128, 160, 160, 192):
        layers.append(branches(torch, s(768, (192, 1, 1, 0)), s(768, (w, 1, 1, 0), *wide(w, "h"), *wide(192, "v")),
                               s(768, (w, 1, 1, 0), *wide(w, "v", "h", "v"), *wide(192, "h")), pooled(768, 192)))
    layers.append(branches(torch, s(768, (192, 1, 1, 0), (320, 3, 2, 0)),
                           s(768, (192, 1, 1, 0), *wide(192, "h", "v"), (192, 3, 2, 0)), nn.MaxPool2d(3, 2)))
    for c in (1280, 2048):
        layers.append(branches(torch, s(c, (320, 1, 1, 0)), thirds(c, (384, 1, 1, 0)),
                               thirds(c, (448, 1, 1, 0), (384, 3, 1, 1)), pooled(c, 192)))
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(.5), nn.Linear(2048, task.CLASSES))


NETWORKS = {"resnet50": resnet50, "inception3": inception3}


def encode(image, pixels):
    data = io.BytesIO()
    image.fromarray(pixels).save(data, "JPEG", quality=task.QUALITY)
    return data.getvalue()


def batches(numpy, options):
    """(N, 3, size, size) float32, and labels: one batch of synthetic data, real ones without end."""
    replica, size = options.replica, options.size
    random = numpy.random.default_rng([replica.seed, replica.rank])
    if options.data == "synthetic":
        yield random.standard_normal((replica.batch, 3, size, size), numpy.float32), random.integers(0, task.CLASSES, replica.batch)
        return
    from PIL import Image
    files = options.files(lambda pixels: encode(Image, pixels))
    mean, std = (numpy.array(values, numpy.float32) for values in (task.MEAN, task.STD))
    while True:
        x = numpy.empty((replica.batch, size, size, 3), numpy.float32)
        for row in x:
            path = files[random.integers(len(files))]
            try:
                decoded = Image.open(path, formats=["JPEG"]).convert("RGB")
            except OSError as error:
                replica.fail(benchd.EXIT_USAGE, f"{path} cannot be decoded as JPEG: {error}")
            share = random.uniform(task.LEAST_AREA, 1) ** .5
            width, height = decoded.width * share, decoded.height * share
            left, top = random.uniform(0, decoded.width - width), random.uniform(0, decoded.height - height)
            scaled = numpy.asarray(decoded.resize((size, size), Image.BILINEAR, box=(left, top, left + width, top + height)))
            row[:] = (scaled if random.random() < .5 else scaled[:, ::-1]) - mean
        x /= std
        yield x.transpose(0, 3, 1, 2), random.integers(0, task.CLASSES, replica.batch)


def on_device(torch, device, x, labels):
    return torch.from_numpy(x).to(device, memory_format=torch.channels_last), torch.from_numpy(labels).to(device)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--precision", choices=devices.PRECISIONS, default="fp32")
    precision = parser.parse_args().precision
    options = task.Options("AllReduce", "worker")
    replica = options.replica
    devices.launch(replica)
    replica.limit_threads()
    import numpy
    import torch
    torch.set_num_threads(replica.threads)
    torch.manual_seed(replica.seed)
    device = devices.choose(torch)
    devices.set_precision(torch, device, precision, replica)
    replica.start("PyTorch", torch.__version__, precision, layout="channels_last", **options.facts(), **devices.facts(torch, device))
    model = NETWORKS[options.net](torch).to(device, memory_format=torch.channels_last).train()
    if replica.training > 1:
        devices.connect(torch, device)
        model = torch.nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)
    sgd = torch.optim.SGD(model.parameters(), lr=task.RATE, momentum=task.MOMENTUM, weight_decay=task.WEIGHT_DECAY)
    read = (on_device(torch, device, *batch) for batch in batches(numpy, options))
    ready = itertools.repeat(next(read)) if options.data == "synthetic" else read

    def step():
        x, labels = next(ready)  # reading is part of a step
        sgd.zero_grad(set_to_none=True)
        with torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16"):
            loss = torch.nn.functional.cross_entropy(model(x), labels)
        loss.backward()
        sgd.step()
        return loss.item()

    replica.train(step, [()])
    if replica.training > 1:
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
