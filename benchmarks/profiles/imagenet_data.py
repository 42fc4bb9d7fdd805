"""The networks' sizes and the data of train_imagenet.py, in the profiles pytorch and tensorflow, as of the published tf_cnn_benchmarks.
What a sweep may have as an axis comes from the environment:

    MODEL        resnet50 or inception3
    DATA         synthetic: one batch in memory. real: JPEG files, each decoded in the step that it is for; a random part of it is
                 scaled to IMAGE_SIZE, flipped and normalised. Nothing is read ahead: the time of it is part of the step
    IMAGES       a folder with JPEG files, ImageNet's for instance, in folders of their own or not. Default: images-jpeg in /images, a
                 pod's volume, or else in ~/.cache/benchd; it is made where it is missing, with noise of ImageNet's mean size
    IMAGE_SIZE   of a side, 75 or more; default 224 (resnet50) or 299 (inception3)"""
import os
import pathlib
import shutil

import benchd_replica as benchd

SIZES = {"resnet50": 224, "inception3": 299}
CLASSES = 1000
RATE, MOMENTUM, WEIGHT_DECAY = .005, .9, 4e-5
VOLUME = "/images"
STORED, MADE_SIZE, COARSE, FINE = 64, (500, 375), (24, 18), 28  # files that are made: about 100 KB each, as ImageNet's
QUALITY = 90
LEAST_AREA = .08  # of a file that is made into an image
MEAN, STD = (123.7, 116.3, 103.5), (58.4, 57.1, 57.4)  # ImageNet's, a channel


class Options:
    """What the environment asks for."""

    def __init__(self, exchange, *roles):
        known = {key: value for key, value in os.environ.items() if key != "BENCHD_MODEL"}
        self.replica = benchd.Replica(known, exchanges=("None", exchange), roles=("trainer", *roles))
        self.net = self.replica.choice("MODEL", list(SIZES))
        self.data = self.replica.choice("DATA", ["synthetic", "real"])
        self.size = self.replica.number("IMAGE_SIZE", SIZES[self.net], 75)

    def facts(self):
        """Of the start record."""
        return {"model": self.net, "data": self.data, "image_size": self.size}

    def files(self, encode):
        """Paths of the JPEG files. encode(pixels) -> bytes, for files that are made."""
        place = VOLUME if os.path.isdir(VOLUME) else os.path.expanduser("~/.cache/benchd")
        folder = pathlib.Path(os.environ.get("IMAGES") or f"{place}/images-jpeg")
        if not folder.exists():
            make_images(folder, encode)
        found = sorted(path for path in folder.rglob("*") if path.suffix.lower() in (".jpg", ".jpeg"))
        if not found:
            self.replica.fail(benchd.EXIT_USAGE, f"{folder} has no JPEG files; remove it, or set IMAGES")
        return found


def make_images(folder, encode):
    """By one process, and there by one rename."""
    import numpy
    random, partial = numpy.random.default_rng(1), folder.with_name(f"{folder.name}.{os.getpid()}")
    partial.mkdir(parents=True)
    blends = [numpy.stack([numpy.interp(numpy.linspace(0, few - 1, many), range(few), row) for row in numpy.eye(few)])
              for few, many in zip(COARSE, MADE_SIZE)]
    for i in range(STORED):
        smooth = numpy.einsum("whc,wx,hy->yxc", random.integers(0, 256, (*COARSE, 3)), *blends, optimize=True)
        pixels = smooth + random.integers(-FINE, FINE + 1, smooth.shape)
        (partial / f"{i:02}.jpg").write_bytes(encode(pixels.clip(0, 255).astype(numpy.uint8)))
    try:
        partial.rename(folder)
    except OSError:  # another process was first
        shutil.rmtree(partial)
