#!/usr/bin/env python3
"""The image of foreign systems: a small Debian with Open MPI, sshd and Python (debootstrap), and JAX (PyPI).

    path = system_image.archive()     # an OCI archive of IMAGE, made once on a machine and kept

It is kept in ${XDG_CACHE_HOME:-~/.cache}/benchd/images, named by what it is made from. No package is configured: each is
only unpacked, and what its scripts would have made is in `finish`. By hand: tests/e2e/system_image.py prints the path.
"""
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import mkimage

IMAGE = "benchd.local/systems:1"
USER = 65532
SUITE, MIRROR = "bookworm", "http://deb.debian.org/debian"
PACKAGES = ["libpython3.11-stdlib", "openmpi-bin", "openssh-client", "openssh-server", "python3-minimal"]
PINS = pathlib.Path(__file__).with_name("jax-requirements.txt")
SITE = "usr/lib/python3/dist-packages"
PLATFORMS = ["manylinux2014_x86_64", "manylinux_2_27_x86_64", "manylinux_2_28_x86_64"]
# Nothing of it is run, and half of the bytes are in it.
UNUSED = ["debootstrap", "var/cache/apt", "var/lib/apt", "usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info",
          "usr/share/zoneinfo", "usr/share/perl", "usr/share/perl5", "usr/lib/x86_64-linux-gnu/gconv"]
FILES = {
    "etc/passwd": f"root:x:0:0:root:/root:/bin/sh\nsshd:x:100:65534::/run/sshd:/usr/sbin/nologin\nbench:x:{USER}:{USER}::/tmp:/bin/sh\n",
    "etc/group": f"root:x:0:\nnogroup:x:65534:\nbench:x:{USER}:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}
LINKS = {   # made by update-alternatives
    "etc/alternatives/mpirun": "/usr/bin/mpirun.openmpi", "usr/bin/mpirun": "/etc/alternatives/mpirun",
    "etc/alternatives/libpsm_infinipath.so.1": "/usr/lib/libpsm1/libpsm_infinipath.so.1.16",
}


def why_not():
    missing = [program for program in ("debootstrap", "dpkg-deb") if shutil.which(program) is None]
    return f"{missing[0]} is not installed (script/packages.txt)" if missing else None


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, words))}: exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def unpack(root, packages=PACKAGES):
    """The first stage fetches all packages and unpacks some; a second one would configure them for minutes."""
    run("debootstrap", "--foreign", "--variant=minbase", f"--include={','.join(packages)}", SUITE, root, MIRROR)
    for package in sorted((root / "var/cache/apt/archives").glob("*.deb")):
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE) as data:
            subprocess.run(["tar", "-x", "--keep-directory-symlink", "-C", root], stdin=data.stdout, check=True)
        if data.returncode != 0:
            raise RuntimeError(f"{package}: dpkg-deb: exit code {data.returncode}")


def install_jax(root):
    platforms = [f"--platform={name}" for name in PLATFORMS]
    run(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary=:all:", "--python-version=3.11", *platforms,
        "--target", root / SITE, "-r", PINS)
    for tests in (root / SITE).rglob("tests"):
        shutil.rmtree(tests, ignore_errors=True)


def finish(root):
    for name in UNUSED:
        shutil.rmtree(root / name, ignore_errors=True)
    for name, text in FILES.items():
        (root / name).write_text(text, encoding="ascii")
    for name, target in LINKS.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).unlink(missing_ok=True)
        (root / name).symlink_to(target)
    if (root / "proc").is_symlink():   # debootstrap's, where it may not mount one
        (root / "proc").unlink()
    (root / "proc").mkdir(exist_ok=True)
    run("ldconfig", "-r", root)


def write(out, name, root, **env):
    """Writes the image of a root, by one rename."""
    with tempfile.TemporaryDirectory(dir=out.parent) as folder:
        layer = pathlib.Path(folder) / "layer.tar"
        run("tar", "-c", "--sort=name", "--numeric-owner", "--exclude=./dev/*", "-C", root, "-f", layer, ".")
        new = pathlib.Path(folder) / "image.tar"
        variables = [f"{key}={value}" for key, value in {"PATH": mkimage.PATH, **env}.items()]
        mkimage.write_image(new, name, layer.read_bytes(), {"User": f"{USER}:{USER}", "Env": variables})
        new.rename(out)


def make(out):
    with tempfile.TemporaryDirectory(dir=out.parent) as folder:
        root = pathlib.Path(folder) / "root"
        unpack(root)
        install_jax(root)
        finish(root)
        write(out, IMAGE, root)


def archive():
    key = hashlib.sha256(pathlib.Path(__file__).read_bytes() + PINS.read_bytes()).hexdigest()[:16]
    folder = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "benchd" / "images"
    folder.mkdir(parents=True, exist_ok=True)
    out = folder / f"systems-{key}.tar"
    with open(folder / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not out.exists():
            make(out)
            for old in set(folder.glob("systems-*.tar")) - {out}:
                old.unlink()
    return out


if __name__ == "__main__":
    print(archive())
