"""ResNet-50 and Inception v3 in PyTorch, as of the published tf_cnn_benchmarks: SGD with momentum, one process or
DistributedDataParallel over gloo. train.py starts it for the model `imagenet`. Reads BENCHD_*, prints records. What a sweep
may have as an axis comes from the environment too:

    MODEL        resnet50 or inception3
    DATA         synthetic: one batch in memory. real: JPEG files, each decoded in the step that it is for; a random part of it is
                 scaled to IMAGE_SIZE, flipped and normalised. Nothing is read ahead: the time of it is part of the step
    IMAGES       a folder with JPEG files, ImageNet's for instance, in folders of their own or not. Default: images-jpeg in /images, a
                 pod's volume, or else in ~/.cache/benchd; it is made where it is missing, with noise of ImageNet's mean size
    IMAGE_SIZE   of a side, 75 or more; default 224 (resnet50) or 299 (inception3)

With several workers, MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE too."""
import os
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import benchd_replica as benchd  # noqa: E402

CLASSES = 1000
VOLUME = "/images"
STORED, MADE_SIZE, COARSE, FINE = 64, (500, 375), (24, 18), 28  # files that are made: about 100 KB each, as ImageNet's
LEAST_AREA = .08  # of a file that is made into an image
MEAN, STD = (123.7, 116.3, 103.5), (58.4, 57.1, 57.4)  # ImageNet's, a channel


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
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, CLASSES))


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
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(.5), nn.Linear(2048, CLASSES))


MODELS = {"resnet50": (resnet50, 224), "inception3": (inception3, 299)}


def make_images(numpy, image, folder):
    """By one process, and there by one rename."""
    random, partial = numpy.random.default_rng(1), folder.with_name(f"{folder.name}.{os.getpid()}")
    partial.mkdir(parents=True)
    for i in range(STORED):
        coarse = image.fromarray(random.integers(0, 256, (*COARSE[::-1], 3), numpy.uint8)).resize(MADE_SIZE, image.BICUBIC)
        pixels = numpy.asarray(coarse, numpy.int16) + random.integers(-FINE, FINE + 1, (*MADE_SIZE[::-1], 3))
        image.fromarray(pixels.clip(0, 255).astype(numpy.uint8)).save(partial / f"{i:02}.jpg", quality=90)
    try:
        partial.rename(folder)
    except OSError:  # another process was first
        shutil.rmtree(partial)


def real_batches(numpy, image, replica, files, random, size):
    """Endless: (N, 3, size, size) float32, and labels."""
    mean, std = (numpy.array(values, numpy.float32) for values in (MEAN, STD))
    while True:
        x = numpy.empty((replica.batch, size, size, 3), numpy.float32)
        for row in x:
            path = files[random.integers(len(files))]
            try:
                decoded = image.open(path, formats=["JPEG"]).convert("RGB")
            except OSError as error:
                replica.fail(benchd.EXIT_USAGE, f"{path} cannot be decoded as JPEG: {error}")
            share = random.uniform(LEAST_AREA, 1) ** .5
            width, height = decoded.width * share, decoded.height * share
            left, top = random.uniform(0, decoded.width - width), random.uniform(0, decoded.height - height)
            scaled = numpy.asarray(decoded.resize((size, size), image.BILINEAR, box=(left, top, left + width, top + height)))
            row[:] = (scaled if random.random() < .5 else scaled[:, ::-1]) - mean
        x /= std
        yield x.transpose(0, 3, 1, 2), random.integers(0, CLASSES, replica.batch)


def batches(numpy, replica, data, size):
    random = numpy.random.default_rng([replica.seed, replica.index])
    if data == "synthetic":
        x = random.standard_normal((replica.batch, 3, size, size), numpy.float32), random.integers(0, CLASSES, replica.batch)
        while True:
            yield x
    from PIL import Image
    place = VOLUME if os.path.isdir(VOLUME) else os.path.expanduser("~/.cache/benchd")
    folder = pathlib.Path(os.environ.get("IMAGES") or f"{place}/images-jpeg")
    if not folder.exists():
        make_images(numpy, Image, folder)
    files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in (".jpg", ".jpeg"))
    if not files:
        replica.fail(benchd.EXIT_USAGE, f"{folder} has no JPEG files; remove it, or set IMAGES")
    yield from real_batches(numpy, Image, replica, files, random, size)


def main():
    known = {key: value for key, value in os.environ.items() if key != "BENCHD_MODEL"}
    replica = benchd.Replica(known, exchanges=("None", "AllReduce"), roles=("trainer", "worker"))
    name = replica.choice("MODEL", list(MODELS))
    build, default = MODELS[name]
    data, size = replica.choice("DATA", ["synthetic", "real"]), replica.number("IMAGE_SIZE", default, 75)
    replica.limit_threads()
    import numpy
    import torch
    torch.set_num_threads(replica.threads)
    torch.manual_seed(replica.seed)
    replica.start("PyTorch", torch.__version__, model=name, layout="channels_last", data=data, image_size=size)
    model = build(torch).to(memory_format=torch.channels_last).train()
    if replica.training > 1:
        torch.distributed.init_process_group("gloo")
        model = torch.nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)
    sgd = torch.optim.SGD(model.parameters(), lr=.005, momentum=.9, weight_decay=4e-5)
    ready = batches(numpy, replica, data, size)

    def step():
        x, labels = next(ready)  # reading is part of a step
        sgd.zero_grad(set_to_none=True)
        loss = torch.nn.functional.cross_entropy(
            model(torch.from_numpy(x).contiguous(memory_format=torch.channels_last)), torch.from_numpy(labels))
        loss.backward()
        sgd.step()
        return loss.item()

    replica.train(step, [()])
    if replica.training > 1:
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
