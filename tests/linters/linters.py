#!/usr/bin/env python3
"""Programs that nobody here wrote read the tree. What they complain of is in accepted.txt with a reason, or it fails; so does a line there
that accepts nothing. Their versions are in tests/e2e/linters-requirements.txt."""
import fnmatch
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "e2e"))
import pinned  # noqa: E402  (its folder is known only now)

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


def complaints(words, form):
    """{(file, kind)}. A linter that could not run is one, too."""
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    found = {(file.removeprefix(f"{ROOT}/"), kind) for file, kind in form.findall(done.stdout + done.stderr)}
    return found if found or done.returncode == 0 else {(" ".join(words)[:200], done.stderr[-300:])}


def main():
    if not (ROOT / ".git").exists():
        return 77   # git says which files there are
    folder = pinned.python("linters", with_theirs=True).parent
    rows = [line.split(None, 3)[:3] for line in (pathlib.Path(__file__).with_name("accepted.txt")).read_text().splitlines() if line and line[0] != "#"]
    failed, used = [], set()
    for linter, (words, form) in linters(folder).items():
        for file, kind in sorted(complaints(words, form)):
            accepting = {tuple(row) for row in rows if row[0] == linter and fnmatch.fnmatch(file, row[1]) and fnmatch.fnmatch(kind, row[2])}
            failed += [] if accepting else [f"{linter}: {file}: {kind}"]
            used |= accepting
    failed += [f"accepted.txt: {' '.join(row)} accepts nothing" for row in rows if tuple(row) not in used]
    print("\n".join(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
