#!/usr/bin/env python3
"""provenance.py --epoch SECONDS --key FILE [--url URL] [--arch ARCH] DIR   writes DIR/provenance.intoto.jsonl: which source and which
packages of this machine the files in DIR were made of, and how (SLSA 1.0 in an in-toto statement), in an envelope (DSSE) that the key
signs. script/release calls this; it says what the holder of the key says, and no service vouches for it."""
import argparse
import base64
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests" / "e2e")]

import linked
import mkimage
import sbom

PAYLOAD = "application/vnd.in-toto+json"
FILE = "provenance.intoto.jsonl"
THIS = "urn:benchd:script/release"


def source():
    """The commit, if no tracked file differs from it; else the name of the state alone."""
    name = mkimage.source()
    if not re.fullmatch("[0-9a-f]+", name):
        return {"name": f"source {name}"}
    commit = subprocess.run(["git", "-C", HERE, "rev-parse", name], capture_output=True, text=True, check=True).stdout.strip()
    return {"name": "source", "digest": {"gitCommit": commit}}


def packages():
    """Those of script/packages.txt that a release needs."""
    names = re.findall(r"(?m)^(?:build|package) +(\S+)", (HERE.parent / "script" / "packages.txt").read_text(encoding="utf-8"))
    return [{"uri": sbom.package_url(linked.package_facts(name))} for name in sorted(set(names))]


def statement(out, parameters, epoch):
    files = sorted(path for path in out.iterdir() if path.name != FILE)
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": path.name, "digest": {"sha256": hashlib.sha256(path.read_bytes()).hexdigest()}} for path in files],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {"buildType": THIS, "externalParameters": parameters, "internalParameters": {"SOURCE_DATE_EPOCH": str(epoch)},
                                "resolvedDependencies": [source(), *packages()]},
            "runDetails": {"builder": {"id": THIS, "version": {"benchd": mkimage.VERSION, "distribution": sbom.distribution()}}}}}


def sign(text, key):
    with tempfile.NamedTemporaryFile() as file:   # openssl asks how large it is
        file.write(text)
        file.flush()
        return subprocess.run(["openssl", "pkeyutl", "-sign", "-inkey", key, "-rawin", "-in", file.name], capture_output=True, check=True).stdout


def envelope(body, key):
    public = subprocess.run(["openssl", "pkey", "-in", key, "-pubout", "-outform", "DER"], capture_output=True, check=True).stdout
    signature = sign(b"DSSEv1 %d %b %d %b" % (len(PAYLOAD), PAYLOAD.encode(), len(body), body), key)
    return {"payload": base64.b64encode(body).decode(), "payloadType": PAYLOAD,
            "signatures": [{"keyid": hashlib.sha256(public).hexdigest(), "sig": base64.b64encode(signature).decode()}]}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epoch", type=int, required=True)
    parser.add_argument("--key", required=True)
    parser.add_argument("--url", default="")
    parser.add_argument("--arch", default="")
    parser.add_argument("dir", type=pathlib.Path)
    args = parser.parse_args()
    parameters = {name: value for name, value in (("url", args.url), ("arch", args.arch)) if value}
    body = json.dumps(statement(args.dir, parameters, args.epoch)).encode()
    (args.dir / FILE).write_text(json.dumps(envelope(body, args.key)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
