"""What test_packages.py asks of the files of script/release besides the Debian packages."""
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import hardened
import mkimage
import pinned
import tap
from cluster import programs

sys.path.insert(0, str(tap.ROOT / "packaging"))
import linked

URL = "https://releases.example/benchd"
VALIDATE = """
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(sys.stdin.read())
print(str(error.data)[:1000] if error else "", end="")
"""
# The files that a provenance is about, if its signature is of the key and its form that of in-toto and SLSA.
PROVENANCE = """
import json, sys
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from google.protobuf import json_format
from in_toto_attestation.predicates.provenance.v1 import provenance_pb2
from in_toto_attestation.v1 import statement, statement_pb2
from securesystemslib import dsse, signer
said = json.load(sys.stdin)
key = signer.SSlibKey.from_crypto(load_pem_public_key(open(sys.argv[1], "rb").read()), said["signatures"][0]["keyid"])
dsse.Envelope.from_dict(said).verify([key], 1)
read = json_format.Parse(dsse.b64dec(said["payload"]), statement_pb2.Statement())
statement.Statement.copy_from_pb(read).validate()
made = json_format.ParseDict(json_format.MessageToDict(read.predicate), provenance_pb2.Provenance())
print(json.dumps([{file.name: file.digest["sha256"] for file in read.subject}, len(made.build_definition.resolved_dependencies)]))
"""


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def check_sums(t, out, public):
    lines = [line.split("  ") for line in (out / "SHA256SUMS").read_text().splitlines()]
    t.equal({path.name for path in out.iterdir()} - {"SHA256SUMS", "SHA256SUMS.sig"}, {name for _, name in lines}, "SHA256SUMS has every file")
    wrong = [name for expected, name in lines if digest(out / name) != expected]
    t.equal([], wrong, "and its digest")

    def verified(text):
        with tempfile.NamedTemporaryFile() as file:   # openssl asks how large it is
            file.write(text)
            file.flush()
            return subprocess.run(["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", public, "-rawin", "-sigfile", out / "SHA256SUMS.sig",
                                   "-in", file.name], capture_output=True, check=False).returncode == 0
    sums = (out / "SHA256SUMS").read_bytes()
    t.equal((True, False), (verified(sums), verified(sums.replace(b"0", b"1", 1))), "its signature is of the key, and of these checksums only")


def check_provenance(t, out, public):
    def read(text):
        done = subprocess.run([pinned.python("provenance", with_theirs=True), "-c", PROVENANCE, public], input=text, capture_output=True, text=True, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else done.stderr.splitlines()[-1]
    text = (out / "provenance.intoto.jsonl").read_text()
    files = {path.name: digest(path) for path in out.iterdir() if not path.name.startswith(("SHA256SUMS", "provenance"))}
    found = read(text)
    t.equal((files, True), (found[0], found[1] > 20), "provenance.intoto.jsonl, as in-toto reads it: the digest of every file, and what they were made of")
    t.match("VerificationError", read(text.replace('"payload": "e', '"payload": "f', 1)), "its signature is of these words only")


def check_manifest(t, out, path):
    """What bench.yaml says, as read; krew checks its form."""
    read = subprocess.run([os.environ["YAML_JSON"], out / "bench.yaml"], capture_output=True, text=True, check=True)
    manifest = json.loads(read.stdout)
    t.equal(("bench", f"v{mkimage.VERSION}"), (manifest["metadata"]["name"], manifest["spec"]["version"]), "bench.yaml: which plugin it is")
    t.equal([(f"{URL}/{path.name}", digest(path))], [(platform["uri"], platform["sha256"]) for platform in manifest["spec"]["platforms"]],
            "bench.yaml: where the archive is, and its digest")


def check_files(t, folder):
    """Of a package, the plugin or the wheel: each program is hardened, and no file needs a newer glibc than all of them may."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]
    t.equal({}, {path.name: version for path in files if (version := linked.glibc([path])) > linked.GLIBC}, "no symbol of a newer glibc")
    lacking = {path.name: hardened.missing(path) for path in files if path.parent.name == "bin"}
    t.equal({name: [] for name in lacking or ["none"]}, lacking, "its programs are hardened")


def check_archive(t, files):
    """Of the plugin or the wheel, its paths."""
    bundled = {name.removeprefix("lib/") for name in files if name.startswith("lib/")}
    t.ok({"libcurl.so.4", "libjansson.so.4"} <= bundled, "it brings its libraries", bundled)
    t.equal([], [name for name in bundled if linked.C_LIBRARY.search("/" + name)], "but no C library")
    licenses = {name.removeprefix("licenses/") for name in files if name.startswith("licenses/")}
    t.ok(len(licenses) > 10 and "libcurl4" in licenses, "and the licence of each", licenses)


def check_plugin(t, out, root):
    """`kubectl krew install --manifest` in a Debian without any library of the archive: kubectl finds the plugin and runs it."""
    path = next(out.glob("benchctl-*-linux-*.tar.gz"))
    check_manifest(t, out, path)
    place, home = root.path / "opt" / "krew-test", root.path / "opt" / "krew"
    place.mkdir()
    found = programs("kube", "krew")
    for source, name in ((found["kubectl"], "kubectl"), (found["krew"], "kubectl-krew"), (out / "bench.yaml", "bench.yaml"), (path, "bench.tar.gz")):
        shutil.copy(source, place / name)
    (place / "other.tar.gz").write_bytes(path.read_bytes() + b"x")

    def run(*words):
        return root.run("env", "PATH=/opt/krew/bin:/opt/krew-test:/usr/bin:/bin", "KREW_ROOT=/opt/krew", "KREW_NO_UPGRADE_CHECK=1", *words, cwd="/opt/krew-test")
    done = run("kubectl", "krew", "install", "--manifest=bench.yaml", "--archive=other.tar.gz")
    t.ok(done.returncode != 0 and not (home / "bin" / "kubectl-bench").exists(), "krew refuses an archive with another digest", done.stderr)
    t.match("checksum does not match", done.stderr, "and says so")
    done = run("kubectl", "krew", "install", "--manifest=bench.yaml", "--archive=bench.tar.gz")
    t.ok(done.returncode == 0, "kubectl krew install --manifest=bench.yaml --archive=bench.tar.gz", done.stdout + done.stderr)
    (home / "index" / "default" / ".git").mkdir(parents=True)   # `list` and `uninstall` want an index, and read nothing of it
    t.equal("detached/bench\n", run("kubectl", "krew", "list").stdout, "krew lists it")
    t.match("(?m)^/opt/krew/bin/kubectl-bench$", run("kubectl", "plugin", "list").stdout, "kubectl finds it")
    done = run("kubectl", "bench", "version")
    t.match(rf"^benchctl {re.escape(mkimage.VERSION)}\n", done.stdout, "kubectl bench version, in a bare Debian")
    t.equal("", done.stderr, "without a word on stderr")
    t.equal(0, run("kubectl", "bench", "plan", "vgg16-pserver-sweep").returncode, "it finds its definitions")
    store = home / "store" / "bench" / f"v{mkimage.VERSION}"
    check_archive(t, [str(file.relative_to(store)) for file in store.rglob("*")])
    check_files(t, store)
    done = run("kubectl", "krew", "uninstall", "bench")
    t.equal((0, []), (done.returncode, [str(file) for file in home.rglob("*bench*")]), "kubectl krew uninstall leaves nothing")
    shutil.rmtree(place)
    shutil.rmtree(home)


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
    parts = [part for component in document["components"] for part in (component, *component.get("components", []))]
    t.equal([], [part["name"] for part in parts if not part.get("supplier", {}).get("name") or not part.get("licenses")], "each has a supplier and licences")
    hashes = {component["name"]: component["hashes"][0]["content"] for component in document["components"] if "hashes" in component}
    packed = {path.name for path in out.iterdir() if path.name.endswith((".deb", ".tar", ".tar.gz", ".whl"))}
    t.equal({name: digest(out / name) for name in packed}, hashes, "the digests of packages, archive, wheel and images")
    for component in document["components"]:
        if component["type"] == "container":
            listed = {part["name"] for part in component["components"]}
            needed = {"libopenblas-pthread-dev"} if "benchworker" in component["name"] else {"libmicrohttpd12", "ca-certificates"}
            t.ok({"libc6", *needed} <= listed, f"{component['name']}: the packages of its files", listed)
            said = {row["name"]: row["value"] for row in component["properties"]}["oci:manifest:digest"]
            t.equal(mkimage.manifest_digest(out / component["name"]), said, f"{component['name']}: the digest of its manifest")


def check_schema(t, out):
    def findings(text):
        done = subprocess.run([pinned.python("cyclonedx"), "-c", VALIDATE], input=text, capture_output=True, text=True, check=True)
        return done.stdout
    text = (out / "sbom.cdx.json").read_text()
    t.equal("", findings(text), "sbom.cdx.json is as the schema of CycloneDX 1.6 wants it")
    t.ok(findings(text.replace('"library"', '"librarian"', 1)) != "", "which refuses another one")
