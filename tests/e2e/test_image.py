#!/usr/bin/env python3
"""The Dockerfile and mkimage.py make the same images, and benchctl in the one of benchd speaks https. No Docker is needed: the archives and the
Dockerfile are read.

BENCHD_BUILD_DIR names the build tree. A program that is not there yet is skipped.
"""
import contextlib
import http.server
import json
import os
import pathlib
import re
import ssl
import subprocess
import sys
import tarfile
import tempfile
import threading

import hardened
import mkimage
import tap

DOCKERFILE = (tap.ROOT / "Dockerfile").read_text()
OF_BASE = {"libc6", "libgcc-s1"}   # debian:bookworm-slim holds all that is essential, and what that depends on


def stage(name):
    """The instructions of one build stage, continuation lines joined."""
    text = re.search(rf"(?ms)^FROM \S+ AS {name}$(.*?)(?=^FROM |\Z)", DOCKERFILE).group(1)
    return text.replace("\\\n", " ")


def instruction(name, word):
    return re.search(rf"(?m)^{word} (.*)$", stage(name)).group(1)


def installed_packages(name):
    words = re.search(r"apt-get install ([^&]*)", stage(name)).group(1).split()
    return {word for word in words if not word.startswith("-")}


def needed(program):
    """Names of the libraries that the program itself asks for, not those that they ask for."""
    dynamic = subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))


def owner(path):
    """The Debian package of a library, by its name in Debian 12; dpkg knows it by the path from before /lib became a link to /usr/lib."""
    real = os.path.realpath(path)
    for candidate in (path, real, real.removeprefix("/usr")):
        done = subprocess.run(["dpkg-query", "-S", candidate], capture_output=True, text=True)
        if done.returncode == 0:
            return done.stdout.split(":")[0].removesuffix("t64")   # with times of 64 bits
    return None


@contextlib.contextmanager
def opened(path):
    """(config, layer as a tar) of an OCI archive."""
    with tarfile.open(path) as tar:
        def blob(digest):
            return tar.extractfile("blobs/sha256/" + digest.removeprefix("sha256:"))
        manifest = json.load(blob(json.load(tar.extractfile("index.json"))["manifests"][0]["digest"]))
        with tarfile.open(fileobj=blob(manifest["layers"][0]["digest"])) as layer:
            yield json.load(blob(manifest["config"]["digest"])), layer


def check_image(t, name, build_dir, folder):
    with opened(mkimage.make(name, build_dir, folder)) as (config, layer):
        files = {info.name: info for info in layer}
    started = config["config"]
    t.equal(json.loads(instruction(name, "ENTRYPOINT")), started["Entrypoint"], f"{name}: entry point")
    t.equal(instruction(name, "USER"), started["User"], f"{name}: user")
    t.ok(started["User"].split(":")[0] not in ("", "0", "root"), f"{name}: not root", started["User"])
    said = dict(re.findall(r'(\S+)="([^"]*)"', instruction(name, "LABEL")))
    revision = "org.opencontainers.image.revision"
    t.equal("$BENCHD_SOURCE", said.get(revision), f"{name}: the Dockerfile gives it the source that it is made from")
    t.equal({**said, revision: started["Labels"].get(revision)}, started["Labels"], f"{name}: the same labels")
    program = started["Entrypoint"][0]
    programs = [f"/usr/bin/{pathlib.Path(path).name}" for path in mkimage.PROGRAMS[name]]
    t.equal(programs[0], program, f"{name}: the first program is the one that is started")
    copied = " ".join(f"/out{path}" for path in programs)
    t.match(rf"COPY --from=build {copied} /usr/bin/", stage(name), f"{name}: the programs are where they are started")

    regular = {file for file, info in files.items() if info.isreg()}
    others = {file for file in regular if not re.search(r"\.so(\.\d+)*$", file)}
    authorities = {mkimage.AUTHORITIES.lstrip("/")} if name == "benchd" else set()
    t.equal({path.lstrip("/") for path in programs} | {"etc/passwd"} | authorities, others,
            f"{name}: nothing but the programs, their libraries, and the authorities that libcurl trusts")
    t.ok(all(info.uid == info.gid == 0 and not info.mode & 0o6022 for info in files.values() if info.name != "tmp"),
         f"{name}: nothing that the user may change, no setuid")

    for built in mkimage.PROGRAMS[name]:
        t.equal([], hardened.missing(pathlib.Path(build_dir) / built), f"{name}: {built} is hardened")

    packages = {"ca-certificates"} if authorities else set()
    for path in mkimage.PROGRAMS[name]:
        built = pathlib.Path(build_dir) / path
        paths = {os.path.basename(path): path for path in mkimage.libraries(built)}
        packages |= {owner(path) for library, path in paths.items() if library in needed(built)} - OF_BASE
    t.equal(packages, installed_packages(name), f"{name}: the Dockerfile installs the libraries' packages")


def check_same_bytes(t, name, build_dir, folder):
    first = mkimage.make(name, build_dir, folder).read_bytes()
    t.ok(first == mkimage.make(name, build_dir, folder).read_bytes(), f"{name}: the same bytes again")


def serve_https(folder):
    """(its port, the file of its certificate, which is its own authority)"""
    certificate, key = tap.make_certificate(folder, "server")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)   # answers 501
    server.handle_error = lambda *_: None   # a client that does not trust it
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port, certificate


def check_https(t, build_dir, folder):
    """benchctl inside the unpacked image asks a bucket by https."""
    if os.geteuid() != 0:
        t.count += 1
        print(f"ok {t.count} - benchd: https # SKIP chroot needs root")
        return
    root = folder / "root"
    with opened(mkimage.make("benchd", build_dir, folder)) as (_, layer):
        layer.extraction_filter = lambda member, _: member   # the argument `filter` is newer than Python 3.11.2 of Debian 12
        layer.extractall(root)
    port, certificate = serve_https(folder)
    (root / "tmp/own.pem").write_bytes(certificate.read_bytes())

    def ask(**env):
        env = {"PATH": mkimage.PATH, "AWS_ENDPOINT_URL": f"https://127.0.0.1:{port}", "AWS_ACCESS_KEY_ID": "id",
               "AWS_SECRET_ACCESS_KEY": "secret", **env}
        done = subprocess.run(["chroot", f"--userspec={mkimage.USER}", root, "/usr/bin/benchctl", "import", "s3://runs/a.benchd.db.zst",
                               "--store", "sqlite:/tmp/store.db"], capture_output=True, text=True, env=env, check=False, timeout=60)
        return done.stderr
    bundle = root / mkimage.AUTHORITIES.lstrip("/")
    authorities = bundle.read_bytes() if bundle.exists() else b""
    t.ok(authorities.count(b"BEGIN CERTIFICATE") > 50, "benchd: the image has authorities")
    t.match("SSL certificate problem: self-signed certificate", ask(), "https: a server that none of them has signed is refused")
    for name in ("AWS_CA_BUNDLE", "SSL_CERT_FILE"):
        t.match("the server answered 501", ask(**{name: "/tmp/own.pem"}), f"https: {name} names another authority")
    bundle.parent.mkdir(parents=True, exist_ok=True)
    bundle.write_bytes(authorities + certificate.read_bytes())
    t.match("the server answered 501", ask(), "https: the authorities of the image are those that are trusted")


def main():
    t = tap.Tap()
    build_dir = os.environ["BENCHD_BUILD_DIR"]
    with tempfile.TemporaryDirectory() as folder:
        for name, programs in mkimage.PROGRAMS.items():
            missing = [program for program in programs if not (pathlib.Path(build_dir) / program).exists()]
            if not missing:
                check_image(t, name, build_dir, folder)
                check_same_bytes(t, name, build_dir, folder)
                if name == "benchd":
                    check_https(t, build_dir, pathlib.Path(folder))
            else:
                t.count += 1
                print(f"ok {t.count} - {name} # SKIP there is no {missing[0]} in the build tree")
    versions = re.findall(r"benchd\.local/\w+:(\S+)", DOCKERFILE)
    t.equal({mkimage.VERSION}, set(versions), "the Dockerfile names this version")
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
