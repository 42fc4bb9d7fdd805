#!/usr/bin/env python3
"""script/bench systems --pods [option...]   Rows of benchmarks/vgg16-systems-cluster.yaml in pods of a real node.

One node on this machine: control plane, containerd, kubelet and benchd as tests/e2e has them; needs root. The images hold what
the Dockerfiles beside the profiles put into them: a small Debian with Python (debootstrap), the profile's pinned packages (PyPI,
from the environment that bench/peers.py installed) and its scripts. What no program on a CPU opens of the packages for GPUs is left
out. The definition is the shipped one, with these images, pods of --cpu and --memory, and a sweep of one server and two trainers
or workers. Prints the tables of the run."""
import argparse
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import figures
import peers

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEFINITION = "vgg16-systems-cluster"
SYSTEMS = {"pytorch-ddp": "pytorch", "tensorflow-ps": "tensorflow", "tensorflow-mwms": "tensorflow", "jax": "jax-cpu",
           "paddle-collective": "paddle"}
PACKAGES = ["libgomp1", "libpython3.11-stdlib", "libstdc++6", "openmpi-bin", "python3-minimal"]
IMPORTS = {"pytorch": "import torch, torch.distributed.rpc", "tensorflow": "import tensorflow", "jax-cpu": "import jax",
           "paddle": "import paddle"}
SITE = "usr/lib/python3/dist-packages"
IMPORT_S = 900  # gigabytes
FOR_GPUS = ("nvidia", "triton")  # packages
SHIPPED_POINTS = r"    points:\n(?:    - .*\n)+"


def image(profile):
    return f"benchd.local/{profile}:1"


def definition(text, cpu, memory, batch, pservers, trainers):
    """The shipped one as these pods can run it."""
    text = re.sub(r"image: registry/([\w-]+):1\b", lambda found: f"image: {image(found[1])}", text)
    text, n_pods = re.subn(r'\{cpu: "10", memory: 5Gi\}', f'{{cpu: "{cpu}", memory: {memory}}}', text)
    grid = f"    grid: {{pservers: [{pservers}], trainers: [{trainers}], batch_size: [{batch}]}}\n"
    text, n_sweeps = re.subn(SHIPPED_POINTS, grid, text)
    if (n_pods, n_sweeps) != (2, 1):
        raise ValueError(f"{DEFINITION}.yaml has {n_pods} places with CPUs and {n_sweeps} lists of points, not 2 and 1")
    return text


def site_packages(profile):
    return next((peers.folder(profile) / "lib").glob("python3*/site-packages"))


def opened(profile, site):
    """The files of the packages that a program has mapped once it has imported the framework."""
    code = f"{IMPORTS[profile]}\nprint(open('/proc/self/maps', encoding='utf-8').read())"
    done = subprocess.run([peers.interpreter(profile), "-c", code], capture_output=True, text=True, check=True,
                          env={**os.environ, "CUDA_VISIBLE_DEVICES": ""})
    return {pathlib.Path(path) for path in re.findall(rf"{re.escape(str(site))}/\S+", done.stdout)}


def copy_packages(profile, root):
    """By links: the environment and the image's root are in one file system."""
    site, target = site_packages(profile), root / SITE
    kept = opened(profile, site)

    def unused(folder, names):
        of_gpus = pathlib.Path(folder).relative_to(site).parts[:1]
        return [name for name in names if name == "__pycache__" or (
            of_gpus and of_gpus[0] in FOR_GPUS and (path := pathlib.Path(folder, name)).is_file()
            and path.suffix not in (".py",) and path not in kept)]
    shutil.copytree(site, target, symlinks=True, ignore=unused, copy_function=os.link, dirs_exist_ok=True)


def copy_scripts(profile, root):
    target = root / "profiles"
    target.mkdir()
    shutil.copy(peers.PROFILES / "benchd_replica.py", target)
    shutil.copytree(peers.PROFILES / profile, target / profile)


def make_image(profile, out):
    import system_image
    with tempfile.TemporaryDirectory(dir=out.parent) as folder:
        root = pathlib.Path(folder) / "root"
        system_image.unpack(root, [*system_image.PACKAGES, *PACKAGES])
        copy_packages(profile, root)
        copy_scripts(profile, root)
        system_image.finish(root)
        system_image.write(out, image(profile), root, HOME="/tmp", PYTHONUNBUFFERED="1")


def archive(profile):
    """An OCI archive, made once on a machine for these files and kept."""
    import system_image
    sources = [pathlib.Path(__file__), pathlib.Path(system_image.__file__), peers.PROFILES / "benchd_replica.py",
               *sorted(path for path in (peers.PROFILES / profile).iterdir() if path.is_file())]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]
    folder = peers.cache_folder().parent / "images"
    folder.mkdir(parents=True, exist_ok=True)
    out = folder / f"peer-{profile}-{digest}.tar"
    with peers.locked(folder / "peers.lock"):
        if not out.exists():
            print(f"==> making the image of {profile}", file=sys.stderr, flush=True)
            for old in folder.glob(f"peer-{profile}-*.tar"):
                old.unlink()
            make_image(profile, out)
    return out


def run(node, args):
    """The exit code of benchctl run; its output goes to the terminal."""
    text = (ROOT / "benchmarks" / f"{DEFINITION}.yaml").read_text(encoding="utf-8")
    path = node.dir / f"{DEFINITION}.yaml"
    path.write_text(definition(text, args.cpu, args.memory, args.batch, args.pservers, args.trainers), encoding="utf-8")
    benchctl = pathlib.Path(os.environ["BENCHD_BUILD_DIR"]) / "ctl" / "benchctl"
    words = [benchctl, "run", path, "--systems", ",".join(args.systems), "--steps", str(args.steps), "--repeats", str(args.rounds)]
    env = {**node.cluster.env(), "BENCHCTL_PATH": str(ROOT / "benchmarks"), "LC_ALL": "C.UTF-8"}
    return subprocess.run(node.cluster.command(*map(str, words)), env=env, stdin=subprocess.DEVNULL, check=False).returncode


def parse(argv):
    parser = argparse.ArgumentParser(prog="script/bench systems --pods", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pods", action="store_true", help="this")
    parser.add_argument("--systems", type=figures.names_of(SYSTEMS), default=["pytorch-ddp", "tensorflow-ps"], metavar="NAME,..",
                        help=f"of {', '.join(SYSTEMS)}; default: pytorch-ddp,tensorflow-ps")
    for name, value, text in (("rounds", 3, "trials a point"), ("steps", 8, "measured steps"), ("batch", 32, "samples"),
                              ("pservers", 1, "servers"), ("trainers", 2, "trainers or workers")):
        parser.add_argument(f"--{name}", type=int, default=value, metavar="N", help=f"{text} (default {value})")
    parser.add_argument("--cpu", default="500m", help="of a pod (default 500m)")
    parser.add_argument("--memory", default="3Gi", help="of a pod (default 3Gi)")
    return parser.parse_args(argv)


def main(argv):
    args = parse(argv)
    sys.path.insert(0, str(ROOT / "tests" / "e2e"))
    import machine
    import system_image
    from node import Node
    reason = machine.why_not() or system_image.why_not()
    if reason:
        print(f"script/bench systems --pods: {reason}", file=sys.stderr)
        return 1
    profiles = sorted({SYSTEMS[system] for system in args.systems})
    for profile in profiles:
        peers.install(profile)
    archives = [archive(profile) for profile in profiles]
    with Node(namespace=None) as node:
        node.install()
        for path in archives:
            node.load_archive(path, IMPORT_S)
        return run(node, args)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
