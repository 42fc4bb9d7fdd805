"""What test_packages.py asks of the wheel: pip installs it in bare Debians 12 and 13 with Python, without a network and without any library
of its programs. They run there, and the module reads what they stored."""
import csv
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest.mock
import zipfile

import bare_root
import mkimage
import pinned
import release_checks
import tap

sys.path.insert(0, str(tap.ROOT / "packaging"))
import release
import wheel

NEWER = "trixie"   # Debian 13
PINS = pathlib.Path(__file__).with_name("wheel-requirements.txt")
COMMANDS = (
    ("benchctl", "version", rf"^benchctl {mkimage.VERSION}\n"),
    ("benchworker", "--version", rf"^benchworker {mkimage.VERSION}\n"),
    ("kubectl-bench", "version", rf"^benchctl {mkimage.VERSION}\n"),
    ("kubectl_complete-bench", "ver", r"^version\b"),
)
FAILING = """\
apiVersion: benchd.io/v1alpha1
kind: Benchmark
metadata: {name: failing}
spec:
  systems: [{name: own, profile: torchrun, image: registry/own:1, command: [sh, -c, 'exit 3']}]
  workload: {model: own, batchSize: 32, exchange: {kind: AllReduce}}
  sweep: {grid: {workers: [1], unit: [a]}}
  parameters: [{name: unit, targets: [{roles: [worker], args: [--unit=]}]}]
  roles: {worker: {replicas: {from: workers}}}
  measure: {steps: 1}
  repeats: {min: 1}
"""
LOAD = """
import json, sys, benchd
table = benchd.load(sys.argv[1])
print(json.dumps([list(table.columns), str(table.throughput.dtype), json.loads(table.to_json(orient="records"))]))
"""


def download(out, _):
    """The packages of the list, for the Python of Debian 12."""
    bare_root.must([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--python-version=3.11", "-r", PINS, "-d", out])


def check_bytes(t, out, path, epoch):
    """Made again of the same packages with another umask and in another folder."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        before = os.umask(0o077)
        release.unpack(out, folder / "root")
        second = wheel.make(folder / "root", folder, mkimage.VERSION, epoch)
        os.umask(before)
        t.equal((path.name, release_checks.digest(path)), (second.name, release_checks.digest(second)), "the wheel has the same bytes twice")


def check_load(t, run):
    """The table of a run has what `results` prints of it, and an error is benchctl's."""
    done = run("python", "-c", LOAD, "latest")
    t.match("ImportError: benchd.load needs pandas: pip install 'benchd.pandas.'", done.stderr, "load without pandas")
    done = run("pip", "install", "--no-index", "--find-links=/wheels", "benchd[pandas]")
    t.ok(done.returncode == 0, "pip install benchd[pandas]", done.stdout + done.stderr)
    points = list(csv.DictReader(io.StringIO(run("benchctl", "results", "latest", "--local", "-o", "csv").stdout)))
    columns, kind, rows = json.loads(run("python", "-c", LOAD, "latest").stdout or '[[], "", []]')
    t.equal(["kind", "run", "benchmark", "point", "system", "batch_size", "trial", "attempt", "outcome", "throughput", "unit", "error",
             "rehearsal", "simulated", "imported", "others_share"], columns, "the columns of load")
    t.equal(("float64", [(points[0]["run"], 0, 2, trial, "Succeeded", "samples/s") for trial in range(3)]),
            (kind, [tuple(row[name] for name in ("run", "point", "batch_size", "trial", "outcome", "unit")) for row in rows]), "its rows")
    median = sorted(row["throughput"] or 0 for row in rows)[1:2]
    t.ok(median and abs(median[0] / float(points[0]["throughput"]) - 1) < 1e-9, "their median is the throughput of results", (median, points))
    done = run("benchctl", "run", "/failing.yaml", "--local")
    t.equal(1, done.returncode, "a run that fails")
    [row] = json.loads(run("python", "-c", LOAD, "latest").stdout or "[0, 0, [{}]]")[2]
    t.equal(("Failed", None, "a", True), tuple(row.get(name) for name in ("outcome", "throughput", "param_unit")) + ("exit" in str(row.get("error")),),
            "its row has no figure but a reason, and a parameter keeps clear of a column")
    t.match("RuntimeError: error: store .*: there is no run 'nosuch'", run("python", "-c", LOAD, "nosuch").stderr, "an unknown run")


def check_tag(t, run, path):
    done = run("sh", "-c", f"pip install -q --no-index --find-links=/wheels auditwheel && auditwheel show --json /wheels/{path.name}")
    found = json.loads(done.stdout or "{}")
    t.equal(path.stem.rpartition("-")[2], found.get("overall_tag"), "auditwheel finds that its tag holds, and no older one")


def check_programs(t, run, path, where):
    """pip installs it there, and its programs run."""
    done = run("pip", "install", "--no-index", f"/wheels/{path.name}")
    t.ok(done.returncode == 0, f"{where}: pip install ./benchd-*.whl", done.stdout + done.stderr)
    for command, word, expected in COMMANDS:
        done = run(command, word)
        t.match(expected, done.stdout, f"{command} {word}")
        t.equal("", done.stderr, "without a word on stderr")
    t.equal(f"{mkimage.VERSION}\n", run("python", "-c", "import benchd; print(benchd.__version__)").stdout, "benchd.__version__")
    done = run("benchctl", "run", "vgg16-single-node", "--local", "--systems", "benchworker", "--set", "batch_size=2", "--steps", "2", "--repeats", "3")
    t.ok(done.returncode == 0, f"{where}: benchctl run vgg16-single-node --local", done.stdout + done.stderr)


def make_newer(root, packages):
    sources = [line.replace(bare_root.SUITE, NEWER) for line in bare_root.apt_sources()]
    with unittest.mock.patch.multiple(bare_root, SUITE=NEWER, apt_sources=lambda: sources):
        bare_root.make_installed(root, packages)


def check_newer(t, path):
    """In a bare Debian 13, with the Python of that."""
    below = bare_root.kept(NEWER, "", ["python3-venv"], make_newer)
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name) / "root"
        for folder in (root, root.with_suffix(".work"), root.with_suffix(".upper") / "wheels"):
            folder.mkdir(parents=True)
        shutil.copy(path, root.with_suffix(".upper") / "wheels")

        def run(*words):
            inside = bare_root.inside(root, words, {**bare_root.INSTALL_ENV, "PATH": "/opt/venv/bin:/usr/bin:/bin"}, below=below)
            return subprocess.run(inside, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
        t.equal(0, run("python3", "-m", "venv", "/opt/venv").returncode, "Debian 13: a Python with pip")
        check_programs(t, run, path, "Debian 13")


def check(t, out, root, epoch, is_long):
    path = next(iter(out.glob("benchd-*.whl")), None)
    if not t.ok(path, "a release has a wheel"):
        return
    check_bytes(t, out, path, epoch)
    done = subprocess.run([pinned.python("linters", with_theirs=True), "-m", "twine", "check", "--strict", path], capture_output=True, text=True, check=False)
    t.ok(done.returncode == 0, "twine, which would upload it, has no complaint", done.stdout)
    with zipfile.ZipFile(path) as packed:
        names = packed.namelist()
        packed.extractall(root.path / "unpacked")
    release_checks.check_files(t, root.path / "unpacked")
    info = f"benchd-{mkimage.VERSION}.dist-info/"
    release_checks.check_archive(t, [name.removeprefix("benchd/").removeprefix(info) for name in names])
    shutil.copytree(bare_root.kept("wheels", "", [PINS.read_text()], download), root.path / "wheels")
    shutil.copy(path, root.path / "wheels")
    (root.path / "failing.yaml").write_text(FAILING, encoding="utf-8")
    done = root.run("apt-get", "install", "-y", "--no-install-recommends", "python3-venv")
    before = root.files()
    done = done if done.returncode else root.run("python3", "-m", "venv", "/opt/venv")
    t.ok(done.returncode == 0, "a Python with pip", done.stdout + done.stderr)

    def run(*words):
        return root.run("env", "PATH=/opt/venv/bin:/usr/bin:/bin", *words)
    check_programs(t, run, path, "Debian 12")
    check_load(t, run)
    if is_long:
        check_tag(t, run, path)
    run("pip", "uninstall", "-y", "benchd")
    t.equal([], sorted(name for name in root.files() - before if "bench" in name and "venv/lib" in name), "pip uninstall leaves nothing")
    check_newer(t, path)
