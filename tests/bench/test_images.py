#!/usr/bin/env python3
"""The Dockerfiles beside the profiles, without building them (tests/e2e/test_main_table.py does): they are held against the files that they
copy, the pins that they install and the commands that a definition runs in them."""
import pathlib
import re
import shlex
import sys
import tempfile
import unittest

import bench_case

sys.path.insert(0, str(bench_case.ROOT / "tests" / "e2e"))
import dockerfile  # noqa: E402  (its folder is known only now)

CONTEXT = dockerfile.CONTEXT
SHIPPED = sorted((bench_case.ROOT / "benchmarks").glob("*.yaml"))
FILES = sorted(CONTEXT.glob("*/Dockerfile"))


def problems(path, context):
    """What is wrong with a Dockerfile, in words."""
    found, copied, stages = [], {}, set()
    parsed = dockerfile.instructions(path.read_text(encoding="utf-8"))
    for word, rest in parsed:
        words = shlex.split(rest) if word in ("COPY", "RUN", "FROM") else []
        if word not in ("FROM", "RUN", "COPY", "ENV", "USER", "ENTRYPOINT"):
            found.append(f"{word} is not known to dockerfile.py")
        if word == "FROM":
            if words[0] not in dockerfile.BASES:
                found.append(f"{words[0]} is not a base of dockerfile.py")
            stages |= {words[2]} if len(words) == 3 else set()
        if word == "COPY" and words[0].startswith("--from="):
            if words[0][len("--from="):] not in stages:
                found.append(f"{words[0]}: no such stage")
        elif word == "COPY":
            *sources, target = words
            for source in sources:
                if not (context / source).exists() or ".." in pathlib.PurePath(source).parts:
                    found.append(f"COPY {source}: it is not in the context")
                copied[target] = context / source
        if word == "RUN" and "pip install" in rest:
            if "--no-deps" not in words or "-r" not in words:
                found.append("pip installs more than the pins")
            elif words[words.index("-r") + 1] not in copied:
                found.append("pip reads a file that is not copied")
            else:
                pins = copied[words[words.index("-r") + 1]].read_text(encoding="utf-8").splitlines()
                found += [f"{pin}: no pin" for pin in pins if not re.fullmatch(r"\s*(#.*)?|[\w.\[\]-]+==[\w.+!-]+", pin)]
    if parsed[0][0] != "FROM":
        found.append("it begins without a base")
    return found


def start_of(path):
    """Target folder of each COPY, and the words of ENTRYPOINT: after those of a CMD no argument of a parameter could come."""
    parsed = dockerfile.instructions(path.read_text(encoding="utf-8"))
    command = next((re.findall(r'"([^"]*)"', rest) for word, rest in parsed if word == "ENTRYPOINT"), None)
    return {rest.split()[-1]: rest.split()[0] for word, rest in parsed if word == "COPY"}, command


class Images(unittest.TestCase):
    def test_every_profile_with_an_environment_has_one(self):
        wanted = {p.parent.name for p in CONTEXT.glob("*/requirements.txt")} | {"open-mpi"}
        self.assertEqual(wanted, {p.parent.name for p in FILES})

    def test_each_is_right(self):
        self.assertEqual({}, {path.parent.name: found for path in FILES if (found := problems(path, CONTEXT))})

    def test_the_scripts_lie_as_in_the_tree(self):
        """A script finds benchd_replica.py in the folder above its own; ENTRYPOINT starts a file that is copied, as an ordinary user."""
        for path in FILES:
            name = path.parent.name
            targets, command = start_of(path)
            with self.subTest(name):
                self.assertIn("USER 65532:65532", path.read_text(encoding="utf-8"))
                if name == "open-mpi":
                    programs = [part.split()[0] for part in path.read_text(encoding="utf-8").split("--from=build ")[1:]]
                    self.assertEqual(["/mlbench-logistic", "/mpi-allreduce"], programs)
                    continue
                self.assertEqual(f"{name}/", targets[f"/profiles/{name}/"])
                self.assertEqual("benchd_replica.py", targets["/profiles/benchd_replica.py"])
                self.assertEqual(["python3", f"/profiles/{name}/train.py"], command)

    def test_the_namespace_of_the_manifests_takes_every_template(self):
        """It enforces the Pod Security Standard `restricted`."""
        for path in sorted((bench_case.ROOT / "benchmarks" / "templates").glob("*.yaml")):
            for words in ("runAsNonRoot: true", "seccompProfile: {type: RuntimeDefault}", "allowPrivilegeEscalation: false", "capabilities: {drop: [ALL]}"):
                self.assertIn(words, path.read_text(encoding="utf-8"), path.name)

    def test_every_system_of_a_framework_has_the_image_of_its_profile(self):
        """The image starts the program: a pod of such a system has no command."""
        texts = "".join(path.read_text(encoding="utf-8") for path in SHIPPED)
        rows = re.findall(r"(?m)^  - (?:\{|name: [\w-]+\n    )(?:name: [\w-]+, )?profile: ([\w-]+)(.*(?:\n    .*)*)$", texts)
        images = {(profile, *re.findall(r"image: (\S+?)[,}\n ]", rest + "\n")) for profile, rest in rows if profile not in ("benchworker", "none")}
        own = {(path.parent.name, f"benchd.local/{path.parent.name}:0.1.0") for path in FILES}
        self.assertEqual(own | {("open-mpi", "benchd.local/pytorch:0.1.0")}, images)  # the row pytorch-open-mpi
        for path in FILES:
            self.assertIn(f" -t benchd.local/{path.parent.name}:0.1.0 ", path.read_text(encoding="utf-8").splitlines()[2])

    def test_one_argument_pins_the_base(self):
        for path in (bench_case.ROOT / "Dockerfile", *FILES):
            stages = [rest.split() for word, rest in dockerfile.instructions(path.read_text(encoding="utf-8"), "debian@sha256:0") if word == "FROM"]
            self.assertEqual({"debian@sha256:0"}, {words[0] for words in stages} - {words[2] for words in stages if len(words) == 3}, path)

    def test_what_is_wrong_is_found(self):
        good = (CONTEXT / "pytorch" / "Dockerfile").read_text(encoding="utf-8")
        for change, says in (
                (("BASE=python:3.11-slim-bookworm", "BASE=python:latest"), "python:latest is not a base of dockerfile.py"),
                (("COPY pytorch/ ", "COPY torch/ "), "COPY torch/: it is not in the context"),
                (("COPY pytorch/ ", "COPY ../../bench/ "), "COPY ../../bench/: it is not in the context"),
                (("--no-deps ", ""), "pip installs more than the pins"),
                (("-r /tmp/requirements.txt", "-r /requirements.txt"), "pip reads a file that is not copied"),
                (("COPY pytorch/requirements.txt", "COPY pytorch/profile.yaml"), "name: pytorch: no pin")):
            with self.subTest(says):
                self.assertIn(change[0], good)
                path = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "Dockerfile"
                path.write_text(good.replace(change[0], change[1]), encoding="utf-8")
                self.assertIn(says, problems(path, CONTEXT))


if __name__ == "__main__":
    bench_case.main()
