"""What is in the files of a release: a CycloneDX 1.6 document. An archive or image lists the Debian packages whose libraries it
contains; a Debian package refers to those that it was built with. The versions are those of this machine, from dpkg."""
import datetime
import hashlib
import json
import platform
import urllib.parse
import uuid

import linked
import mkimage

OWN = {"name": "benchd maintainers"}
OWN_LICENSE = [{"license": {"id": "Apache-2.0"}}]


def distribution():
    release = platform.freedesktop_os_release()
    return f"{release['ID']}-{release['VERSION_ID']}"


def package_url(facts):
    version = urllib.parse.quote(facts["Version"], safe="")
    return f"pkg:deb/debian/{facts['Package']}@{version}?arch={facts['Architecture']}&distro={distribution()}"


def library(name, inside=""):
    """A Debian package; `inside` is the file that contains a copy of it."""
    facts = linked.package_facts(name)
    url = package_url(facts)
    said = linked.licenses_of(name) or [f"see /usr/share/doc/{name}/copyright"]
    return {"type": "library", "bom-ref": f"{inside}#{url}" if inside else url, "name": name, "version": facts["Version"], "purl": url,
            "supplier": {"name": facts["Maintainer"]}, "licenses": [{"license": {"name": license}} for license in said]}


def file_component(path, kind, contained=()):
    component = {"type": kind, "bom-ref": path.name, "name": path.name, "version": mkimage.VERSION, "supplier": OWN, "licenses": OWN_LICENSE,
                 "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(path.read_bytes()).hexdigest()}]}
    if contained:
        component["components"] = [library(name, path.name) for name in contained]
    return component


def image_component(path, name, programs):
    inside = [programs[program.rpartition("/")[2]] for program in mkimage.PROGRAMS[name]]
    contained = set(linked.packages(inside))
    contained |= {"ca-certificates" for program in inside if mkimage.authorities(program)}
    component = file_component(path, "container", sorted(contained))
    component["properties"] = [{"name": "oci:manifest:digest", "value": mkimage.manifest_digest(path)},
                               {"name": "oci:image:name", "value": mkimage.image_name(name)}]
    return component


def document(debs, archives, images, programs, epoch):
    """As text. debs, images: {name: path}; archives: {path: names of the programs in it}; programs: {name: path of the program}."""
    needed = {name: linked.packages([programs[name]]) for name in debs if name in programs}
    components = [file_component(path, "application") for path in debs.values()]
    components += [file_component(path, "application", linked.packages([programs[name] for name in names], bundled_only=True))
                   for path, names in archives.items()]
    components += [image_component(path, name, programs) for name, path in images.items()]
    components += [library(name) for name in sorted(set().union(*needed.values()))]
    body = {
        "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
        "metadata": {
            "timestamp": datetime.datetime.fromtimestamp(epoch, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {"type": "application", "bom-ref": "benchd", "name": "benchd", "version": mkimage.VERSION,
                          "supplier": OWN, "licenses": OWN_LICENSE},
            "tools": {"components": [{"type": "application", "name": "packaging/sbom.py", "version": mkimage.VERSION}]},
            "authors": [OWN],
            "properties": [{"name": "benchd:source", "value": mkimage.source()}],
        },
        "components": components,
        "dependencies": [{"ref": debs[name].name, "dependsOn": [package_url(linked.package_facts(package)) for package in packages]}
                         for name, packages in needed.items()],
    }
    digest = hashlib.sha256(json.dumps(body).encode()).hexdigest()
    return json.dumps({**body, "serialNumber": f"urn:uuid:{uuid.UUID(digest[:32], version=4)}"}, indent=1) + "\n"
