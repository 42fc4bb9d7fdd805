#!/usr/bin/env python3
"""mkimage.py BUILD_DIR OUT_DIR [NAME...]   Makes the images of the Dockerfile without Docker, from a build tree.

The images hold the same programs at the same places, started the same way, with this machine's own libraries: those that
they are linked with, and the authorities that libcurl trusts. There is no shell in them and nothing else. OUT_DIR/NAME.tar is an OCI archive; `ctr images import` takes it.
NAME is benchd or benchworker (default: both).
"""
import argparse
import hashlib
import io
import json
import pathlib
import re
import subprocess
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "packaging"))
import linked  # noqa: E402  (its folder is known only now)

VERSION = re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text()).group(1)
PROGRAMS = {"benchd": ["daemon/benchd", "ctl/benchctl"], "benchworker": ["worker/benchworker"]}   # in the build tree
ABOUT = {"benchd": "Measures how distributed training scales; the controller", "benchworker": "Measures how distributed training scales; the native worker"}
USER = 65532
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"   # where Debian's libcurl looks for them
PASSWD = f"root:x:0:0:root:/root:/usr/sbin/nologin\nbenchd:x:{USER}:{USER}::/nonexistent:/usr/sbin/nologin\n"


def image_name(name):
    return f"benchd.local/{name}:{VERSION}"


def libraries(program):
    """Paths of all shared objects that the program is linked with, its loader included."""
    try:
        return linked.libraries(program)
    except subprocess.CalledProcessError:
        return []   # a static program


def authorities(program):
    """{path in the image: contents} of the authorities that libcurl trusts; empty for a program without libcurl. They are those of Debian's
    package ca-certificates, without what this machine trusts in addition."""
    if not any("/libcurl" in path for path in libraries(program)):
        return {}
    bundle = sorted(pathlib.Path("/usr/share/ca-certificates/mozilla").glob("*.crt"))
    return {AUTHORITIES: b"".join(path.read_bytes() for path in bundle)}


def files_of(program):
    """{path in the image: contents} for one program in /usr/bin."""
    files = {f"/usr/bin/{program.name}": program.read_bytes(), "/etc/passwd": PASSWD.encode(), **authorities(program)}
    files.update((linked.on_target(path), pathlib.Path(path).read_bytes()) for path in libraries(program))
    return files


def layer(files, links=None):
    """A tar of the files, all owned by root and executable, in a fixed order: the same input gives the same bytes."""
    out = io.BytesIO()
    folders = {str(parent) for path in [*files, *(links or {})] for parent in pathlib.PurePath(path).parents} | {"/tmp"}
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        def add(path, kind, mode, data=b"", target=""):
            info = tarfile.TarInfo(path.lstrip("/"))
            info.type, info.mode, info.size, info.linkname = kind, mode, len(data), target
            tar.addfile(info, io.BytesIO(data))
        for path in sorted(folders - {"/"}):
            add(path, tarfile.DIRTYPE, 0o1777 if path == "/tmp" else 0o755)
        for path, data in sorted(files.items()):
            add(path, tarfile.REGTYPE, 0o755, data)
        for path, target in sorted((links or {}).items()):
            add(path, tarfile.SYMTYPE, 0o777, target=target)
    return out.getvalue()


def write_image(out, name, layer_tar, config):
    """An OCI image archive of one layer: layer (a file), config, manifest and index, each named by its digest."""
    blobs = {}

    def blob(file, kind):
        file.seek(0)
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        blobs[digest] = file
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}", "size": file.seek(0, io.SEEK_END)}

    def document(tree):
        return io.BytesIO(json.dumps(tree).encode())

    packed = blob(layer_tar, "layer.v1.tar")
    config = {"architecture": linked.ARCH, "os": "linux", "created": "1970-01-01T00:00:00Z", "config": config,
              "rootfs": {"type": "layers", "diff_ids": [packed["digest"]]}}
    manifest = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
                "config": blob(document(config), "config.v1+json"), "layers": [packed]}
    index = blob(document(manifest), "manifest.v1+json")
    index |= {"annotations": {"io.containerd.image.name": name}, "platform": {"architecture": linked.ARCH, "os": "linux"}}
    write_archive(out, [index], blobs)


def write_archive(out, manifests, blobs):
    """An OCI archive: the descriptors of its index, and {digest: file}."""
    with tarfile.open(out, "w") as tar:
        def add(path, file):
            info = tarfile.TarInfo(path)
            info.size = file.seek(0, io.SEEK_END)
            file.seek(0)
            tar.addfile(info, file)
        add("oci-layout", io.BytesIO(b'{"imageLayoutVersion": "1.0.0"}'))
        add("index.json", io.BytesIO(json.dumps({"schemaVersion": 2, "manifests": manifests}).encode()))
        for digest, file in blobs.items():
            add(f"blobs/sha256/{digest}", file)


def join(name, paths, out):
    """One archive of the same image for several architectures: an index, of which a node takes what fits it."""
    manifests, blobs = [], {}
    for path in paths:
        with tarfile.open(path) as tar:
            manifests += json.load(tar.extractfile("index.json"))["manifests"]
            blobs |= {pathlib.PurePath(info.name).name: io.BytesIO(tar.extractfile(info).read()) for info in tar if info.name.startswith("blobs/")}
    for manifest in manifests:
        del manifest["annotations"]
    kind = "application/vnd.oci.image.index.v1+json"
    index = json.dumps({"schemaVersion": 2, "mediaType": kind, "manifests": manifests}).encode()
    digest = hashlib.sha256(index).hexdigest()
    top = {"mediaType": kind, "digest": f"sha256:{digest}", "size": len(index), "annotations": {"io.containerd.image.name": name}}
    write_archive(out, [top], {**blobs, digest: io.BytesIO(index)})
    return out


def manifest_digest(path):
    """By which a registry names the image of an archive."""
    with tarfile.open(path) as tar:
        return json.load(tar.extractfile("index.json"))["manifests"][0]["digest"]


def source():
    return subprocess.run([ROOT / "script" / "source-id"], capture_output=True, text=True, check=True).stdout.strip()


def labels(name):
    """What the image says about itself. The libraries have licences of their own, which sbom.cdx.json of a release lists."""
    about = {"title": name, "version": VERSION, "revision": source(), "licenses": "Apache-2.0", "description": ABOUT[name]}
    return {f"org.opencontainers.image.{key}": value for key, value in about.items()}


def make(name, build_dir, out_dir):
    """Writes OUT_DIR/NAME.tar and returns its path."""
    out = pathlib.Path(out_dir) / f"{name}.tar"
    files = {}
    for program in PROGRAMS[name]:
        files.update(files_of(pathlib.Path(build_dir) / program))
    write_image(out, image_name(name), io.BytesIO(layer(files)),
                {"User": f"{USER}:{USER}", "Env": [f"PATH={PATH}"], "Entrypoint": [f"/usr/bin/{name}"], "Labels": labels(name)})
    return out


def make_busybox(name, out, entrypoint, files=None):
    """A shell for the tests (Debian's static busybox with its applets as links), and the "pause" of each pod. files: what else is in it."""
    program = pathlib.Path("/bin/busybox")
    applets = subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout.split()
    links = {f"/bin/{applet}": "busybox" for applet in applets if applet != "busybox"}
    write_image(out, name, io.BytesIO(layer({"/bin/busybox": program.read_bytes(), **(files or {})}, links)),
                {"Env": ["PATH=/bin"], "Entrypoint": entrypoint})
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("build_dir")
    parser.add_argument("out_dir")
    parser.add_argument("name", nargs="*", default=list(PROGRAMS), help=f"of {', '.join(PROGRAMS)}")
    args = parser.parse_args()
    for name in args.name:
        print(make(name, args.build_dir, args.out_dir))


if __name__ == "__main__":
    main()
