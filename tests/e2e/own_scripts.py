"""What test_packages.py asks of docs/own-script.md: its three scripts as their users would measure them. PyTorch (Debian's) and Keras with
JAX train in a bare Debian, in which only pip installed benchd; each block of commands is typed, and prints what the page says. The figures of
each run are those that a reader of its logs computes."""
import itertools
import json
import pathlib
import re
import shutil
import socket
import statistics
import sys
import tempfile
import time

import bare_root
import tap

sys.path.insert(0, str(tap.ROOT / "tests" / "docs"))
import typed

PACKAGES = ["gcc", "libc6-dev", "python3-torch", "python3-venv"]
PINS = (pathlib.Path(__file__).with_name("keras-requirements.txt"), tap.ROOT / "benchmarks" / "profiles" / "jax-cpu" / "requirements.txt")
PAGE = (tap.ROOT / "docs" / "own-script.md").read_text(encoding="utf-8")


def measured(pattern, log):
    """What the lines after the first ten steps say."""
    found = [(int(step), float(figure)) for step, figure in re.findall(pattern, log)]
    return [figure for _, figure in itertools.dropwhile(lambda line: line[0] <= 10, found)]


def rate_of_ddp(log):
    return 32 * 1000 / statistics.mean(measured(r"\bit 0*(\d+)/.* took ([\d.]+)ms/it", log))


def rate_of_keras(log):
    """The bar has the mean of the epoch so far, and the first epoch compiles: the last bar of fit counts, and evaluate begins at 1 again."""
    bars = re.findall(r"(\d+)/60\x1b\[0m [^\r\n]* (\d+)ms/step", log.split("Epoch 2/2\n")[1])
    last = next((i for i, (before, now) in enumerate(itertools.pairwise(bars)) if int(now[0]) < int(before[0])), len(bars) - 1)
    return 1000 / float(bars[last][1])


def rate_of_rows(log):
    return statistics.harmonic_mean(measured(r"\[(\d+)/20\].* ([\d.]+) rows/s", log))


# The environment that pip installs benchd into; the rate that one worker printed (steps/s of Keras); does the first speak for all?
SCRIPTS = {"train": ("torch", rate_of_ddp, True), "fit": ("keras", rate_of_keras, False), "passes-sh": ("torch", rate_of_rows, False)}


def make(root, _):
    """A Debian with the compiler, PyTorch and Keras, the latter two as environments of a user."""
    bare_root.make_installed(root, PACKAGES)
    wheels = root / "wheels"
    files = [word for path in PINS for word in ("-r", path)]
    bare_root.must([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--python-version=3.11", *files, "-d", wheels])
    for words in (["python3", "-m", "venv", "--system-site-packages", "/opt/torch"], ["python3", "-m", "venv", "/opt/keras"],
                  ["sh", "-c", "/opt/keras/bin/pip install -q --no-index --no-deps /wheels/*.whl"]):
        bare_root.must(bare_root.inside(root, words, bare_root.INSTALL_ENV))
    shutil.rmtree(wheels)


class Root:
    """A machine with the frameworks; what is written in it is in `files`."""

    def __init__(self, folder):
        self._below = bare_root.kept("frameworks", "", [*PACKAGES, *(path.read_text() for path in PINS)], make)
        self._root, self.files = folder / "root", folder / "root.upper"
        for path in (self._root, self.files, folder / "root.work"):
            path.mkdir()
        (self.files / "etc").mkdir()   # a machine finds its own name
        (self.files / "etc" / "hosts").write_text(f"127.0.0.1 localhost {socket.gethostname()}\n", encoding="utf-8")

    def inside(self, venv, *words):
        env = {**bare_root.INSTALL_ENV, "PATH": f"/opt/{venv}/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
        return bare_root.inside(self._root, words, env, "/home", below=self._below)


def check_figures(t, ctl, name):
    """The throughput of each point, and what its logs say."""
    for point in json.loads(ctl("results", "latest", "-o", "json"))["points"]:
        workers = point["replicas"]["worker"]
        _, rate, speaks_for_all = SCRIPTS[name]

        def of_trial(trial):
            logs = (ctl("logs", "latest", "--point", str(point["point"]), "--trial", str(trial), "--index", str(index)) for index in range(workers))
            rates = [rate(log) for log in ([next(logs)] * workers if speaks_for_all else logs)]
            return sum(rates)
        expected = statistics.median(of_trial(trial) for trial in range(3))
        got = point["throughput"]["value"]
        t.ok(abs(got / expected - 1) < 0.005, f"{name} with {workers} worker(s): the figure is that of its logs", (got, expected))


def walk(t, root, section):
    """Types the commands of one section."""
    name = next(name for name in SCRIPTS if f"$ benchctl try {name[:6]}" in section)
    venv = SCRIPTS[name][0]
    for file, text in re.findall(r"`([a-z.]+)`:\n\n```\w+\n(.*?)```", section, flags=re.S):
        (root.files / "home").mkdir(exist_ok=True)
        (root.files / "home" / file).write_text(text, encoding="utf-8")
    began, verbs = time.monotonic(), []
    with typed.Shell(root.inside(venv)) as shell:
        for step in typed.steps(section):
            shell.type(step.command)
            printed = list(shell.lines())
            t.ok(shell.code == 0 and typed.is_like(step.told, printed), step.command, typed.difference(step.told, printed))
            verbs += re.findall(r"^benchctl (\w+)", step.command)
    t.equal(["init", "try", "run"], verbs, f"{name}: three commands to its first table")
    print(f"# {name}: first table after {time.monotonic() - began:.0f} s")
    check_figures(t, lambda *words: bare_root.must(root.inside(venv, "benchctl", *words, "--local", "-q")), name)


def check(t, wheel):
    sections = [section for section in PAGE.split("\n## ") if "$ benchctl run" in section]
    if not t.equal(len(SCRIPTS), len(sections), "docs/own-script.md has a section for each script"):
        return
    with tempfile.TemporaryDirectory() as name:
        root = Root(pathlib.Path(name))
        shutil.copy(wheel, root.files)
        for venv in ("torch", "keras"):
            bare_root.must(root.inside(venv, "pip", "install", "-q", "--no-index", f"/{wheel.name}"))
        for section in sections:
            walk(t, root, section)


if __name__ == "__main__":
    tests = tap.Tap()
    check(tests, pathlib.Path(sys.argv[1]))
    sys.exit(tests.done())
