#!/usr/bin/env python3
"""Programs that nobody here wrote read the tree. What they complain of is in accepted.txt with a reason, or it fails; so does a line there
that accepts nothing. Their versions are in tests/e2e/linters-requirements.txt. What is made of the tree others read: twine the wheel
(tests/e2e/wheel_checks.py), lintian the packages, axe the page (tests/browser).

clang-tidy reads a file of C again when its text, a header of it, its options or the version has changed: what it said is kept in
${XDG_CACHE_HOME:-~/.cache}/benchd/clang-tidy.json."""
import concurrent.futures
import fnmatch
import functools
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "e2e"))
import pinned  # noqa: E402  (its folder is known only now)

BUILD = pathlib.Path(sys.argv[1]).resolve()
TIDY = "--checks=-*,bugprone-*,cert-*,concurrency-*,performance-*"
GCC = re.compile(r"(?m)^(\S+?):\d+:\d+: \w+: .* \[([\w.-]+)[^\]]*\]$")


def files(pattern):
    """Those of the work tree, in which a line fits."""
    found = subprocess.run(["git", "grep", "-lIE", "--untracked", pattern, "--", ":!*.py", ":!*.md", ":!tests/corpus"], cwd=ROOT, capture_output=True, text=True, check=True)
    return found.stdout.split()


def linters(folder):
    """{name: (the words that start it, what a complaint looks like: file and kind)}"""
    def program(name, *words):   # a script in Python names the interpreter where pip has put it, and the folder has moved since
        is_script = (folder / name).read_bytes().startswith(b"#!")
        return [*([str(folder / "python3")] if is_script else []), str(folder / name), *words]
    manifests = [str(path) for path in sorted(ROOT.glob("manifests/**/*.yaml")) if path.name not in ("benchmark-crd.yaml", "kustomization.yaml")]
    return {
        "shellcheck": (program("shellcheck", "-x", "-f", "gcc", *files("^#! ?/bin/(ba)?sh")), GCC),
        "hadolint": (program("hadolint", "--no-color", *files("^FROM ")), re.compile(r"(?m)^(\S+?):\d+ ([A-Z]+\d+) ")),
        "reuse": (program("reuse", "lint", "--lines"), re.compile(r"(?m)^(\S+): (.*)$")),
        "kubernetes-validate": (program("kubernetes-validate", "--strict", "-k", "1.36", *manifests), re.compile(r"(?m)^ERROR (\S+) (did not validate.*)")),
    }


def complaints(words, form, folder=ROOT):
    """{(file, kind)}. A linter that could not run is one, too."""
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    found = {(os.path.relpath(os.path.join(folder, file), ROOT), kind) for file, kind in form.findall(done.stdout + done.stderr)}
    return found if found or done.returncode == 0 else {(" ".join(words)[:200], done.stderr[-300:])}


def c_files():
    """{file: what clang-tidy says of it depends on}: those that the build compiles, and the headers as they were at that."""
    @functools.cache
    def digest(path):
        return hashlib.sha256((BUILD / path).read_bytes()).hexdigest()
    listed = subprocess.run(["ninja", "-C", BUILD, "-t", "deps"], capture_output=True, text=True, check=True).stdout
    headers = {block.partition(":")[0]: block.split("\n    ")[1:] for block in listed.split("\n\n")}
    found = {}
    for row in json.loads((BUILD / "compile_commands.json").read_text(encoding="utf-8")):
        path = (BUILD / row["file"]).resolve()
        if path.is_relative_to(ROOT) and not path.is_relative_to(BUILD):
            found.setdefault(path, []).extend([row["command"].replace(f"{ROOT}/", ""), *map(digest, headers.get(row["output"]) or [row["file"]])])
    return found


def tidy(program):
    """Of all files of C, {(file, kind)}."""
    kept = pinned.cache() / "clang-tidy.json"
    how = "".join(pathlib.Path(path).read_text(encoding="utf-8") for path in (__file__, pathlib.Path(pinned.__file__).with_name("linters-requirements.txt")))
    known = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}

    def read(path, facts):
        key = hashlib.sha256("\n".join([how, *facts]).encode()).hexdigest()
        name = str(path.relative_to(ROOT))
        if known.get(name, [""])[0] != key:
            known[name] = [key, sorted(complaints([program, "-p", ".", "--quiet", TIDY, str(path)], GCC, BUILD))]
        return {tuple(row) for row in known[name][1]}
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        found = set().union(*pool.map(read, *zip(*c_files().items())))
    part = kept.with_suffix(f".{os.getpid()}")
    part.write_text(json.dumps(known), encoding="utf-8")
    part.rename(kept)
    return found


def main():
    if not (ROOT / ".git").exists():
        return 77   # git says which files there are
    folder = pinned.python("linters", with_theirs=True).parent
    rows = [line.split(None, 3)[:3] for line in (pathlib.Path(__file__).with_name("accepted.txt")).read_text().splitlines() if line and line[0] != "#"]
    failed, used = [], set()
    said = {linter: complaints(words, form) for linter, (words, form) in linters(folder).items()} | {"clang-tidy": tidy(next(folder.parent.rglob("data/bin/clang-tidy")))}
    for linter, found in said.items():
        for file, kind in sorted(found):
            accepting = {tuple(row) for row in rows if row[0] == linter and fnmatch.fnmatch(file, row[1]) and fnmatch.fnmatch(kind, row[2])}
            failed += [] if accepting else [f"{linter}: {file}: {kind}"]
            used |= accepting
    failed += [f"accepted.txt: {' '.join(row)} accepts nothing" for row in rows if tuple(row) not in used]
    print("\n".join(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
