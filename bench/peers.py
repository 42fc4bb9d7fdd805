#!/usr/bin/env python3
"""Python environments of the peers: one each, made from the pins of its profile, kept outside the tree.

peers.py install [NAME...]    makes what is missing (all without a NAME)
peers.py list                 what there is
peers.py check [NAME...]      samples a CPU-second of each that is installed, as it sets its libraries and with each known setting instead
peers.py path NAME            its interpreter

An environment is ${XDG_CACHE_HOME:-~/.cache}/benchd/peers/NAME-HASH; HASH is FNV-1a of requirements.txt, as
ctl/definition/profiles.c computes it: other pins, another environment. It appears by one rename, so one that is there is whole.

A profile whose packages are for certain versions of Python only names them (python.versions); they are looked for on PATH, in pyenv, uv
and conda."""
import argparse
import contextlib
import fcntl
import json
import os
import pathlib
import re
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


def versions(name):
    """Of Python, the best first, for which there are wheels of its packages; none: any."""
    found = re.search(r"^  versions: \[(.*)\]", (PROFILES / name / "profile.yaml").read_text(encoding="utf-8"), re.M)
    return re.findall(r"\d+\.\d+", found[1]) if found else []


def pythons(version):
    """Where an interpreter of it may be."""
    home = pathlib.Path(os.environ.get("HOME", "/"))
    yield shutil.which(f"python{version}")
    for place in (pathlib.Path(os.environ.get("PYENV_ROOT", home / ".pyenv")) / "versions", home / ".local" / "share" / "uv" / "python",
                  *(home / conda / "envs" for conda in ("miniconda3", "miniforge3", "anaconda3", ".conda"))):
        yield from sorted(place.glob(f"*/bin/python{version}"))


def works(python):
    """A shim of pyenv may stand for nothing."""
    return python is not None and subprocess.run([python, "-c", "import venv"], capture_output=True, check=False).returncode == 0


def maker(name):
    """The interpreter that makes the environment; None: this machine lacks it."""
    wanted = versions(name)
    return next(filter(works, (python for version in wanted for python in pythons(version))), None) if wanted else sys.executable


def cost(name):
    """"downloads 2.5 GB, takes 4.2 GB": what its profile says, as measured on x86-64."""
    return re.search(r"install %s +# ([^\"]*)" % name, (PROFILES / name / "profile.yaml").read_text(encoding="utf-8"))[1]


def how_to_get(name):
    wanted = versions(name)
    return f"{name} needs Python {' or '.join(wanted)}, which is neither on PATH nor in pyenv, uv or conda: uv python install {wanted[0]}"


def install(name):
    target = folder(name)
    with locked(target.with_name(target.name + ".lock")):
        if target.exists():
            return
        print(f"==> installing {name} from PyPI into {target}: {cost(name)}", file=sys.stderr, flush=True)
        partial = target.with_name(f".partial-{target.name}")
        shutil.rmtree(partial, ignore_errors=True)  # of one that was interrupted: we hold its lock
        subprocess.run([maker(name), "-m", "venv", str(partial)], check=True)
        # --no-deps: the pins are the whole environment, pip must not add to it.
        subprocess.run([str(partial / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-cache-dir",
                        "--disable-pip-version-check", "--no-deps", "--requirement",
                        str(PROFILES / name / "requirements.txt")], check=True)
        partial.rename(target)


# Variables by which the libraries of frameworks choose their code, and values that helped on some CPU; "" is as if not set.
SETTINGS = {"MKL_DEBUG_CPU_TYPE": ("", "5"), "ONEDNN_MAX_CPU_ISA": ("AVX2",), "OPENBLAS_CORETYPE": ("Haswell",)}


def samples_per_cpu_s(name, settings):
    """Of the profile's train.py, one thread and a batch of 8. Other load changes it little: it counts CPU time."""
    env = os.environ | {"BENCHD_BATCH_SIZE": "8", "BENCHD_STEPS": "3", "BENCHD_WARMUP_STEPS": "1", "BENCHD_THREADS": "1"} | settings
    done = subprocess.run([interpreter(name), PROFILES / name / "train.py"], env=env, capture_output=True, text=True, check=True)
    records = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"benchd"')]
    summary = next(record for record in records if record["type"] == "summary")
    return summary["samples"] / summary["cpu_ns"] * 1e9


def check(name, rounds=3):
    """{setting: the best of the rounds}; None: as the program sets them. The best, because what disturbs only makes it slower."""
    settings = [None, *((key, value) for key, values in SETTINGS.items() for value in values)]
    return {key: max(samples_per_cpu_s(name, dict([key] if key else [])) for _ in range(rounds)) for key in settings}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=("install", "list", "path", "check"))
    parser.add_argument("name", nargs="*", help="; ".join(names()))
    args = parser.parse_args()
    for name in args.name:
        if name not in names():
            parser.error(f"there is no peer '{name}'; there are: {', '.join(names())}")
    for name in args.name or names():
        if args.verb == "install":
            if maker(name) is None:
                if args.name:
                    sys.exit(f"error: {how_to_get(name)}")
                print(f"skipped: {how_to_get(name)}", file=sys.stderr)
                continue
            try:
                install(name)
            except subprocess.CalledProcessError as error:
                sys.exit(f"error: {name} was not installed: {error}")
            print(interpreter(name))
        elif args.verb == "path":
            print(interpreter(name))
        elif args.verb == "check":
            # A profile of other models than VGG16 has no figure here.
            if interpreter(name).exists() and "vgg16-fluid-fc512" in (PROFILES / name / "profile.yaml").read_text(encoding="utf-8"):
                for key, rate in check(name).items():
                    print(f"{name:12} {'='.join(key) if key else 'as it is set':24} {rate:8.2f} samples/CPU-s")
        else:
            print(f"{name:12} {'installed' if folder(name).exists() else 'missing: ' + cost(name):44} {folder(name)}")


if __name__ == "__main__":
    main()
