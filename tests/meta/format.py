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


def formatted(program, root, path):
    return subprocess.run([program, f"--style=file:{STYLE}", f"--assume-filename={path}"],
                          input=csource.read(root, path), capture_output=True, text=True, check=True).stdout


def check(root, write=False):
    program, findings = clang_format(), []
    paths = csource.files(root, csource.SOURCE_FOLDERS + csource.TEST_FOLDERS)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        texts = pool.map(lambda path: formatted(program, root, path), paths)
    for path, text in zip(paths, texts):
        if text == csource.read(root, path):
            continue
        if write:
            with open(os.path.join(root, path), "w", encoding="utf-8") as f:
                f.write(text)
        else:
            findings.append(f"{path}: not formatted; run script/format")
    return findings


if __name__ == "__main__":
    if clang_format() is None:
        print(f"skipped: clang-format {VERSION} is not installed")
        sys.exit(77)
    csource.main(lambda root: check(root, "--write" in sys.argv))
