#!/usr/bin/env python3
"""What telemetry.c loads is declared as nvml.h of NVIDIA's wheel has it. The wheel is fetched once; without a way to the package
index the test is skipped."""
import os
import pathlib
import subprocess
import sys
import zipfile

WHEEL = "nvidia-nvml-dev==13.4.92"
ROOT = pathlib.Path(os.environ["BENCHD_SOURCE_DIR"])
CACHE = pathlib.Path.home() / ".cache" / "benchd" / WHEEL


def fetch():
    """The folder with nvml.h, or None."""
    if not (CACHE / "nvml.h").exists():
        done = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                               "--retries", "1", "--dest", CACHE, WHEEL], stderr=subprocess.PIPE, check=False)
        wheels = list(CACHE.glob("*.whl"))
        if done.returncode != 0 or not wheels:
            return None
        with zipfile.ZipFile(wheels[0]) as wheel:
            (CACHE / "nvml.h.part").write_bytes(wheel.read(next(n for n in wheel.namelist() if n.endswith("/nvml.h"))))
        (CACHE / "nvml.h.part").rename(CACHE / "nvml.h")
    return CACHE


def main():
    if fetch() is None:
        print(f"1..0 # SKIP pip cannot fetch {WHEEL}")
        return 0
    options = ["-std=gnu17", "-Wall", "-Wextra", "-Werror", "-Wno-deprecated-declarations", "-fsyntax-only"]
    done = subprocess.run(["cc", *options, "-isystem", CACHE, "-I", ROOT / "lib", ROOT / "tests" / "host" / "nvml_header.c"],
                          check=False)
    print(f"1..1\n{'ok' if done.returncode == 0 else 'not ok'} 1 - declarations of nvml_api.h")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
