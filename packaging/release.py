#!/usr/bin/env python3
"""release.py --epoch SECONDS DIR               the files of a release that are made from its Debian packages, which are in DIR; with
                                             BENCHD_SYSROOT (script/sysroot) those of that architecture
release.py --epoch SECONDS --join [--url URL] DIR   what is of all architectures: the chart, an image each, the manifest of krew
script/release calls this."""
import argparse
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests" / "e2e")]

import archive
import krew
import linked
import mkimage
import sbom
import wheel

PACKAGES = ("benchctl", "benchworker", "benchd", "benchd-benchmarks")
IN_BUILD_TREE = {"benchctl": "ctl/benchctl", "benchd": "daemon/benchd", "benchworker": "worker/benchworker"}


def unpack(folder, into):
    """The .deb files of a folder as {package: path}; their files below `into`."""
    found = {}
    for package in PACKAGES:
        paths = [path for arch in (linked.ARCH, "all") for path in folder.glob(f"{package}_*_{arch}.deb")]
        if len(paths) != 1:
            sys.exit(f"release.py: {folder} has {len(paths)} packages {package}, and needs one")
        found[package] = paths[0]
        subprocess.run(["dpkg-deb", "--extract", paths[0], into], check=True)
    return found


def make_images(root, out):
    """Both images from the packaged programs, as {name: path}."""
    with tempfile.TemporaryDirectory() as name:
        tree = pathlib.Path(name)
        for program, place in IN_BUILD_TREE.items():
            (tree / place).parent.mkdir(exist_ok=True)
            (tree / place).symlink_to(root / "usr/bin" / program)
        made = {}
        for image in mkimage.PROGRAMS:
            path = out / f"{image}-image-{mkimage.VERSION}-{linked.ARCH}.tar"
            mkimage.make(image, tree, out).rename(path)
            made[image] = path
    return made


def join(out, url, epoch):
    archive.make_chart(HERE / "helm" / "benchd", out / f"benchd-chart-{mkimage.VERSION}.tgz", epoch)
    if url:
        (out / "bench.yaml").write_text(krew.manifest(sorted(out.glob("benchctl-*-linux-*.tar.gz")), url, mkimage.VERSION), encoding="utf-8")
    for image in mkimage.PROGRAMS:
        paths = sorted(out.glob(f"{image}-image-{mkimage.VERSION}-*.tar"))
        if len(paths) > 1:
            mkimage.join(mkimage.image_name(image), paths, out / f"{image}-image-{mkimage.VERSION}.tar")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epoch", type=int, required=True)
    parser.add_argument("--url", default="")
    parser.add_argument("--join", action="store_true")
    parser.add_argument("dir", type=pathlib.Path)
    args = parser.parse_args()
    if args.join:
        join(args.dir, args.url, args.epoch)
        return
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        debs = unpack(args.dir, root)
        programs = {program: root / "usr/bin" / program for program in IN_BUILD_TREE}
        plugin = archive.make_plugin(root, args.dir / f"benchctl-{mkimage.VERSION}-linux-{linked.ARCH}.tar.gz", args.epoch)
        pip = wheel.make(root, args.dir, mkimage.VERSION, args.epoch)
        images = make_images(root, args.dir)
        (args.dir / f"sbom{f'-{linked.ARCH}' if linked.SYSROOT else ''}.cdx.json").write_text(sbom.document(debs, {plugin: ["benchctl"], pip: wheel.PROGRAMS}, images, programs, args.epoch), encoding="utf-8")


if __name__ == "__main__":
    main()
