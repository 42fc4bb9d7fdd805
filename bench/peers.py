#!/usr/bin/env python3
"""Python environments of the peers: one each, made from the pins of its profile, kept outside the tree.

peers.py install [NAME...]    makes what is missing (all without a NAME)
peers.py list                 what there is
peers.py path NAME            its interpreter

An environment is ${XDG_CACHE_HOME:-~/.cache}/benchd/peers/NAME-HASH; HASH is FNV-1a of requirements.txt, as
ctl/definition/profiles.c computes it: other pins, another environment. It appears by one rename, so one that is there is whole."""
import argparse
import contextlib
import fcntl
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROFILES = ROOT / "benchmarks" / "profiles"


def names():
    return sorted(path.parent.name for path in PROFILES.glob("*/requirements.txt"))


def pins_hash(data):
    value = 14695981039346656037
    for byte in data:
        value = (value ^ byte) * 1099511628211 % 2**64
    return f"{value:016x}"


def cache_folder():
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.environ.get("HOME", ""), ".cache")
    return pathlib.Path(cache) / "benchd" / "peers"


def folder(name):
    return cache_folder() / f"{name}-{pins_hash((PROFILES / name / 'requirements.txt').read_bytes())}"


def interpreter(name):
    return folder(name) / "bin" / "python"


@contextlib.contextmanager
def locked(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def install(name):
    target = folder(name)
    with locked(target.with_name(target.name + ".lock")):
        if target.exists():
            return
        print(f"==> installing {name} from PyPI into {target}", file=sys.stderr, flush=True)
        partial = target.with_name(f".partial-{target.name}")
        shutil.rmtree(partial, ignore_errors=True)  # of one that was interrupted: we hold its lock
        subprocess.run([sys.executable, "-m", "venv", str(partial)], check=True)
        # --no-deps: the pins are the whole environment, pip must not add to it.
        subprocess.run([str(partial / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-cache-dir",
                        "--disable-pip-version-check", "--no-deps", "--requirement",
                        str(PROFILES / name / "requirements.txt")], check=True)
        partial.rename(target)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=("install", "list", "path"))
    parser.add_argument("name", nargs="*", help="; ".join(names()))
    args = parser.parse_args()
    for name in args.name:
        if name not in names():
            parser.error(f"there is no peer '{name}'; there are: {', '.join(names())}")
    for name in args.name or names():
        if args.verb == "install":
            try:
                install(name)
            except subprocess.CalledProcessError as error:
                sys.exit(f"error: {name} was not installed: {error}")
            print(interpreter(name))
        elif args.verb == "path":
            print(interpreter(name))
        else:
            print(f"{name:12} {'installed' if folder(name).exists() else 'missing':10} {folder(name)}")


if __name__ == "__main__":
    main()
