#!/usr/bin/env python3
"""A bare Debian 12 (debootstrap's minbase) to install packages in, with the .deb files of what they depend on.

    with BareRoot(["libcurl4", "libjansson4"]) as root:
        root.run("apt-get", "install", "-y", "./benchctl.deb")      # needs no network

It is made once on a machine for the same list, and kept in ${XDG_CACHE_HOME:-~/.cache}/benchd/images; each test unpacks a copy.
Commands run in mount and PID namespaces of their own, so nothing stays mounted and nothing goes on.
"""
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile

SUITE = "bookworm"
ENV = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
ENTER = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c",
         'root=$1; shift; mount -t proc proc "$root/proc" && mount --bind /dev "$root/dev" && exec chroot "$root" "$@"', "sh"]


def why_not():
    missing = [program for program in ("debootstrap", "unshare") if shutil.which(program) is None]
    if missing:
        return f"{missing[0]} is not installed (script/packages.txt)"
    if os.geteuid() != 0:
        return "a bare root needs root"
    done = subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else f"no namespaces here: {done.stderr.strip()}"


def enter(root, words, cwd="/"):
    inside = ["env", "-i", f"--chdir={cwd}", *(f"{name}={value}" for name, value in ENV.items()), *map(str, words)]
    return subprocess.run([*ENTER, root, *inside], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)


def must(done):
    if done.returncode != 0:
        raise RuntimeError(f"{done.args}: exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def make(out, packages):
    with tempfile.TemporaryDirectory(dir=out.parent) as folder:
        root = pathlib.Path(folder) / "root"
        must(subprocess.run(["debootstrap", "--variant=minbase", SUITE, root], capture_output=True, text=True, check=False))
        (root / "etc/apt/apt.conf.d/90keep").write_text('APT::Keep-Downloaded-Packages "true";\n', encoding="ascii")
        must(enter(root, ["apt-get", "update"]))
        must(enter(root, ["apt-get", "clean"]))
        must(enter(root, ["apt-get", "install", "-y", "--download-only", *packages]))
        must(enter(root, ["sh", "-c", "rm -rf /etc/resolv.conf /var/lib/apt/lists/*_Translation-*"]))
        new = pathlib.Path(folder) / "root.tar.gz"
        must(subprocess.run(["tar", "-c", "-I", "gzip -1", "--numeric-owner", "--exclude=./dev/*", "-C", root, "-f", new, "."],
                            capture_output=True, text=True, check=False))
        new.rename(out)


def archive(packages):
    key = hashlib.sha256(pathlib.Path(__file__).read_bytes() + "\n".join(sorted(packages)).encode()).hexdigest()[:16]
    folder = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "benchd" / "images"
    folder.mkdir(parents=True, exist_ok=True)
    out = folder / f"bare-{key}.tar.gz"
    with open(folder / "bare.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not out.exists():
            make(out, sorted(packages))
            for old in set(folder.glob("bare-*.tar.gz")) - {out}:
                old.unlink()
    return out


class BareRoot:
    def __init__(self, packages):
        """packages: the names of all that may be installed besides .deb files at hand."""
        self._archive = archive(packages)
        self._folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self._folder.name) / "root"

    def __enter__(self):
        self.path.mkdir()
        must(subprocess.run(["tar", "-x", "-z", "-C", self.path, "-f", self._archive], capture_output=True, text=True, check=False))
        return self

    def __exit__(self, *_):
        self._folder.cleanup()

    def run(self, *words, cwd="/"):
        """The ended process of a command inside."""
        return enter(self.path, words, cwd)

    def files(self):
        """The paths of all files; not of what apt and dpkg know, and not of what programs write at run time."""
        skipped = ("dev", "proc", "sys", "tmp", "root", "run", "var/cache", "var/lib/apt", "var/lib/dpkg", "var/log")
        found = set()
        for folder, _, names in os.walk(self.path):
            inside = os.path.relpath(folder, self.path)
            if not inside.startswith(skipped):
                found |= {os.path.join(inside, name) for name in names}
        return found
