"""The C sources are as script/format leaves them.

format.py ROOT [--write]: without --write, each file that differs is a finding. Other versions of clang-format lay
code out differently, so with another one than the pinned version the check is skipped (exit 77)."""

import concurrent.futures
import os
import re
import shutil
import subprocess
import sys

import csource

VERSION = "14"
STYLE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../.clang-format")


def clang_format():
    """The pinned program, or None."""
    for name in (f"clang-format-{VERSION}", "clang-format"):
        path = shutil.which(name)
        if path is None:
            continue
        said = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
        if re.search(rf"\bversion {VERSION}\.", said):
            return path
    return None


def run(program, root, paths, options):
    return subprocess.run([program, f"--style=file:{STYLE}"] + options + paths, cwd=root, capture_output=True,
                          text=True, check=False).stderr


def check(root, write=False):
    """The files that differ; with write, they are changed instead."""
    options = ["-i"] if write else ["--dry-run", "--Werror", "--ferror-limit=1"]
    paths = csource.files(root, csource.SOURCE_FOLDERS + csource.TEST_FOLDERS)
    n_parts = os.cpu_count() * 4
    parts = [part for part in (paths[i::n_parts] for i in range(n_parts)) if part]
    program = clang_format()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        said = "".join(pool.map(lambda part: run(program, root, part, options), parts))
    bad = re.findall(r"^([^:\n]+):\d+:\d+: error:", said, re.MULTILINE)
    return [f"{path}: not formatted; run script/format" for path in sorted(set(bad))]


if __name__ == "__main__":
    if clang_format() is None:
        print(f"skipped: clang-format {VERSION} is not installed")
        sys.exit(77)
    csource.main(lambda root: check(root, "--write" in sys.argv))
