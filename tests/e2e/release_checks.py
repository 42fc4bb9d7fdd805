"""What test_packages.py asks of the files of script/release besides the Debian packages."""
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import venv

import mkimage
import tap

sys.path.insert(0, str(tap.ROOT / "packaging"))
import linked

URL = "https://releases.example/benchd"
# What krew reads of a manifest; it refuses other values of these, and it unpacks plain files only.
KREW = {
    r"^apiVersion: krew\.googlecontainertools\.github\.com/v1alpha2$": "krew's apiVersion",
    r"^kind: Plugin$": "its kind",
    r"^  name: bench$": "the name of the plugin is that of the file",
    rf"^  version: v{re.escape(mkimage.VERSION)}$": "a semantic version with a v",
    r"^  shortDescription: \S[^\n]*$": "a short description of one line",
    r"^      matchLabels: \{os: linux, arch: (amd64|arm64)\}$": "a platform",
    r"^    bin: bin/kubectl-bench$": "the program",
}
PINS = pathlib.Path(__file__).with_name("cyclonedx-requirements.txt")
VALIDATE = """
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(sys.stdin.read())
print(str(error.data)[:1000] if error else "", end="")
"""


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def check_sums(t, out):
    lines = [line.split("  ") for line in (out / "SHA256SUMS").read_text().splitlines()]
    t.equal({path.name for path in out.iterdir()} - {"SHA256SUMS"}, {name for _, name in lines}, "SHA256SUMS has every file")
    wrong = [name for expected, name in lines if digest(out / name) != expected]
    t.equal([], wrong, "and its digest")


def check_plugin(t, out, root):
    """The archive in a Debian without any library of it, laid out as krew does: unpacked, and a link in a folder of the PATH."""
    path = next(out.glob("benchctl-*-linux-*.tar.gz"))
    text = (out / "bench.yaml").read_text()
    for pattern, what in KREW.items():
        t.match(re.compile(pattern, re.M), text, f"bench.yaml: {what}")
    t.match(rf"(?m)^    uri: {re.escape(URL)}/{re.escape(path.name)}$", text, "bench.yaml: where the archive is")
    t.match(rf"(?m)^    sha256: {digest(path)}$", text, "bench.yaml: its digest")
    store = root.path / "opt" / "krew" / "store" / "bench"
    with tarfile.open(path) as tar:
        members = tar.getmembers()
        t.equal([], [info.name for info in members if not info.isreg()], "the archive has plain files only")
        t.equal([], [info.name for info in members if info.name.startswith(("/", ".")) or ".." in info.name], "below its folder")
        store.mkdir(parents=True)
        tar.extractall(store, filter="data")
    (root.path / "usr/local/bin/kubectl-bench").symlink_to("/opt/krew/store/bench/bin/kubectl-bench")
    done = root.run("/usr/local/bin/kubectl-bench", "version")
    t.match(rf"^benchctl {re.escape(mkimage.VERSION)}\n", done.stdout, "kubectl-bench version, in a bare Debian")
    done = root.run("/usr/local/bin/kubectl-bench", "plan", "vgg16-pserver-sweep")
    t.equal(0, done.returncode, "it finds its definitions")
    bundled = {info.name.removeprefix("lib/") for info in members if info.name.startswith("lib/")}
    t.ok({"libcurl.so.4", "libjansson.so.4"} <= bundled, "it brings its libraries", bundled)
    t.equal([], [name for name in bundled if linked.C_LIBRARY.search("/" + name)], "but no C library")
    licenses = {info.name.removeprefix("licenses/") for info in members if info.name.startswith("licenses/")}
    t.ok(len(licenses) > 10 and "libcurl4" in licenses, "and the licence of each", licenses)
    for place in (store.parents[1], root.path / "usr/local/bin/kubectl-bench"):
        subprocess.run(["rm", "-rf", place], check=True)


def references(document):
    """(all bom-refs, all refs that something points to) of a CycloneDX document."""
    found = [document["metadata"]["component"]["bom-ref"]]

    def walk(components):
        for component in components:
            found.append(component["bom-ref"])
            walk(component.get("components", []))
    walk(document["components"])
    pointed = {ref for row in document["dependencies"] for ref in [row["ref"], *row["dependsOn"]]}
    return found, pointed


def check_sbom(t, out):
    document = json.loads((out / "sbom.cdx.json").read_text())
    found, pointed = references(document)
    t.equal(len(found), len(set(found)), "sbom.cdx.json: each thing once")
    t.equal(set(), pointed - set(found), "each reference leads to one of them")
    hashes = {component["name"]: component["hashes"][0]["content"] for component in document["components"] if "hashes" in component}
    packed = {path.name for path in out.iterdir() if path.name.endswith((".deb", ".tar", ".tar.gz"))}
    t.equal({name: digest(out / name) for name in packed}, hashes, "the digests of packages, archive and images")
    for component in document["components"]:
        if component["type"] == "container":
            listed = {part["name"] for part in component["components"]}
            program = "libopenblas0-pthread" if "benchworker" in component["name"] else "libmicrohttpd12"
            t.ok({"libc6", program} <= listed, f"{component['name']}: the packages of its libraries", listed)
            said = {row["name"]: row["value"] for row in component["properties"]}["oci:manifest:digest"]
            t.equal(mkimage.manifest_digest(out / component["name"]), said, f"{component['name']}: the digest of its manifest")


def schema_python():
    """A Python that knows the schema of CycloneDX; made once on a machine."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "benchd"
    folder = cache / f"cyclonedx-{digest(PINS)[:16]}"
    if not folder.exists():
        work = pathlib.Path(f"{folder}.{os.getpid()}.work")
        venv.create(work, with_pip=False, clear=True)
        subprocess.run([sys.executable, "-m", "pip", "--python", work / "bin/python3", "install", "--quiet", "--no-deps", "-r", PINS], check=True)
        try:
            work.rename(folder)
        except OSError:   # another one was faster
            shutil.rmtree(work)
    return folder / "bin" / "python3"


def check_schema(t, out):
    def findings(text):
        done = subprocess.run([schema_python(), "-c", VALIDATE], input=text, capture_output=True, text=True, check=True)
        return done.stdout
    text = (out / "sbom.cdx.json").read_text()
    t.equal("", findings(text), "sbom.cdx.json is as the schema of CycloneDX 1.6 wants it")
    t.ok(findings(text.replace('"library"', '"librarian"', 1)) != "", "which refuses another one")
