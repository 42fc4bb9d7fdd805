#!/usr/bin/env python3
"""Builds the image of a Dockerfile without an engine: runs its steps in a Debian 12 that debootstrap makes.

    path = dockerfile.archive("pytorch")     # an OCI archive of the profile's image, made once on a machine and kept

python:3.11-slim-bookworm is here Debian with its own Python 3.11 and pip, not the published image, and python:3.8-slim-bookworm Debian with
the Python 3.8 of this machine (bench/peers.py finds it). A step sees the package indexes and
certificates of this machine, which do not become part of the image. The archive is kept in ${XDG_CACHE_HOME:-~/.cache}/benchd/images, by
what it is made from. By hand, as root: tests/e2e/dockerfile.py pytorch jax-cpu    prints the paths.
"""
import hashlib
import json
import pathlib
import re
import shlex
import sys
import tempfile

import bare_root
import mkimage

sys.path.insert(0, str(mkimage.ROOT / "bench"))
import peers  # noqa: E402

CONTEXT = mkimage.ROOT / "benchmarks" / "profiles"
PYTHON_38 = "python:3.8-slim-bookworm"
BASES = {   # and their packages
    "debian:bookworm-slim": [], "python:3.11-slim-bookworm": ["ca-certificates", "python3", "python3-pip"],
    PYTHON_38: ["ca-certificates", "libbz2-1.0", "libffi8", "liblzma5", "libreadline8", "libsqlite3-0", "libssl3", "zlib1g"]}


def own_python(version):
    """None: this machine has none."""
    return next(filter(peers.works, peers.pythons(version)), None)


def why_not(name):
    """Why this machine cannot make the image of a profile, or None."""
    text = (CONTEXT / name / "Dockerfile").read_text(encoding="utf-8")
    return peers.how_to_get(name) if ["FROM", PYTHON_38] in instructions(text) and own_python("3.8") is None else None


def instructions(text, base=None):
    """[word, rest] of each, without comments, its lines joined. If the first is ARG BASE, FROM has `base` or the default of that for it."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    found = [line.split(None, 1) for line in re.sub(r"\\\n\s*", " ", "\n".join(lines)).splitlines()]
    if found[0][0] != "ARG":
        return found
    default = found.pop(0)[1].removeprefix("BASE=")
    return [[word, rest.replace("$BASE", base or default) if word == "FROM" else rest] for word, rest in found]


def copied(rest, context=CONTEXT):
    """{path in the image: contents} of a COPY from the context."""
    *sources, target = shlex.split(rest)
    files = {}
    for source in (context / source for source in sources):
        if source.is_dir():
            files.update((f"{target.rstrip('/')}/{path.relative_to(source)}", path.read_bytes())
                         for path in sorted(source.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)
        else:
            files[target + source.name if target.endswith("/") else target] = source.read_bytes()
    return files


class Stage:
    """A file system in the making: a base, above it the configuration of this machine, above that what the steps change."""

    def __init__(self, path, base):
        if base not in BASES:
            raise ValueError(f"FROM {base}: not among {', '.join(BASES)}")
        self.path, self.env, self.config = path, {}, {}
        self._base = bare_root.kept("base-" + base.partition(":")[0], "", BASES[base], bare_root.make_installed)
        host = path.with_name(path.name + "-host")
        self._host, self._upper = self._new(host), self._new(path)
        bare_root.copy_configuration(self._host)
        self._run(["sh", "-c", "! command -v update-ca-certificates || update-ca-certificates"], host, self._base)
        if base == PYTHON_38:
            self._put_python("3.8")

    @staticmethod
    def _new(path):
        """The folders that bare_root.inside() wants; returns the one of what changes."""
        path.mkdir()
        upper, work = (path.with_name(path.name + suffix) for suffix in (".upper", ".work"))
        work.mkdir()
        upper.mkdir()
        return upper

    def _put_python(self, version):
        """The one of this machine, as /usr/local: it finds its files by where it is. Unpacked inside, because of a folder that was put into
        the upper one from outside tar says when it is read that it has changed."""
        prefix = bare_root.must([own_python(version), "-c", "import sys; print(sys.base_prefix)"]).strip()
        with tempfile.TemporaryFile(dir=self.path.parent) as tar:
            bare_root.must(["tar", "-c", "--exclude=./lib/*/test", "-C", prefix, "."], stdout=tar)
            tar.seek(0)
            self._run(["tar", "-x", "--no-same-owner", "--keep-directory-symlink", "-C", "/usr/local"], stdin=tar)
        self._run(["sed", "-i", f"1s,.*,#!/usr/local/bin/python{version},", "/usr/local/bin/pip"])

    def _run(self, words, root=None, below=None, **options):
        # Debian's pip installs next to Debian's own packages only if it is told to.
        env = {**bare_root.ENV, **bare_root.configuration(), "PIP_BREAK_SYSTEM_PACKAGES": "1", **self.env}
        bare_root.must(bare_root.inside(root or self.path, words, env, below=below or f"{self._host}:{self._base}"), **options)

    def read(self, path):
        """A file of the image."""
        return next(place for place in (self._upper / path.lstrip("/"), self._base / path.lstrip("/")) if place.exists()).read_bytes()

    def put(self, files):
        with tempfile.TemporaryFile() as tar:
            tar.write(mkimage.layer(files))
            tar.seek(0)
            self._run(["tar", "-x", "--keep-directory-symlink", "-C", "/"], stdin=tar)

    def step(self, word, rest, stages):
        if "User" in self.config and word in ("RUN", "COPY"):
            raise ValueError(f"{word} after USER is not an instruction that this builder knows")
        if word == "RUN":
            self._run(["sh", "-c", rest])
        elif word == "COPY" and rest.startswith("--from="):
            option, source, target = shlex.split(rest)
            self.put({target: stages[option.removeprefix("--from=")].read(source)})
        elif word == "COPY":
            self.put(copied(rest))
        elif word == "ENV":
            self.env.update(pair.split("=", 1) for pair in shlex.split(rest))
        elif word == "USER":
            self.config["User"] = rest
        elif word == "ENTRYPOINT":
            self.config["Entrypoint"] = json.loads(rest)
        else:
            raise ValueError(f"{word} is not an instruction that this builder knows")

    def write(self, out, name):
        """The image of the whole file system, in one layer."""
        env = {"PATH": mkimage.PATH, **self.env}
        with tempfile.TemporaryFile(dir=self.path.parent) as layer:
            self._run(["tar", "-c", "--one-file-system", "--sort=name", "--numeric-owner", "--exclude=./var/lib/apt/lists/*", "-C", "/", "."],
                      below=self._base, stdout=layer)
            mkimage.write_image(out, name, layer, {**self.config, "Env": [f"{key}={value}" for key, value in env.items()]})


def build(out, name, text):
    stages = {}
    for word, rest in instructions(text):
        if word == "FROM":
            base, _, alias = rest.partition(" AS ")
            last = stages[alias] = Stage(out.with_name(f"stage{len(stages)}"), base)
        else:
            last.step(word, rest, stages)
    last.write(out, name)


def archive(name, path=None):
    """Of a profile's Dockerfile, or of the one at `path`."""
    text = (path or CONTEXT / name / "Dockerfile").read_text(encoding="utf-8")
    parts = [text, *(pathlib.Path(module.__file__).read_text(encoding="utf-8") for module in (mkimage, sys.modules[__name__]))]
    sources = [rest for word, rest in instructions(text) if word == "COPY" and not rest.startswith("--")]
    parts += [f"{file} {hashlib.sha256(data).hexdigest()}" for rest in sources for file, data in copied(rest).items()]
    return bare_root.kept(f"image-{name}", ".tar", parts, lambda out, _: build(out, mkimage.image_name(name), text))


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        print(archive(argument), flush=True)
