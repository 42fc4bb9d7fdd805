"""What a program is linked with, and which Debian packages that comes from."""
import functools
import os
import pathlib
import platform
import re
import subprocess

# The folder of script/sysroot, if the programs are for another architecture; else "".
SYSROOT = os.environ.get("BENCHD_SYSROOT", "")
MACHINE = "aarch64" if SYSROOT else platform.machine()
ARCH = {"x86_64": "amd64", "aarch64": "arm64"}[MACHINE]
GLIBC = (2, 34)   # the newest whose symbols a wheel and an archive may need: RHEL 9, Ubuntu 22.04, Debian 12
# The C library. It belongs to the loader of the machine, so an archive has none of it, and a program needs one at least as new.
C_LIBRARY = re.compile(r"/(ld-linux[^/]*|lib(c|m|dl|rt|pthread|resolv|util|anl|nsl))\.so[.\d]*$")


def on_target(path):
    """The path of a file where the programs run."""
    return str(path).removeprefix(SYSROOT)


def foreign_libraries(program):
    """As libraries(), by what the files say: the loader here does not load them."""
    found, left = set(), [program]
    while left:
        done = subprocess.run(["readelf", "--dynamic", "--program-headers", "--wide", left.pop()], capture_output=True, text=True, check=True)
        names = re.findall(r"\(NEEDED\).*\[(.*)\]", done.stdout) + re.findall(r"interpreter: /lib/(.*)\]", done.stdout)
        paths = {next((str(path) for path in (pathlib.Path(SYSROOT, "lib", name), pathlib.Path(SYSROOT, "lib", f"{MACHINE}-linux-gnu", name))
                       if path.exists()), name) for name in names}
        left += paths - found
        found |= paths
    missing = [path for path in found if not path.startswith(SYSROOT)]
    if missing:
        raise RuntimeError(f"{program}: a library is missing: {' '.join(missing)}")
    return sorted(found)


def libraries(program):
    """Paths of the shared objects that the loader takes at the start, itself included."""
    if SYSROOT:
        return foreign_libraries(program)
    done = subprocess.run(["ldd", program], capture_output=True, text=True, check=True)
    if "not found" in done.stdout:
        raise RuntimeError(f"{program}: a library is missing:\n{done.stdout}")
    return sorted(set(re.findall(r"(/\S+) \(0x", done.stdout)))


def bundled(programs):
    """Paths of the libraries that an archive of these programs has to contain."""
    return sorted({path for program in programs for path in libraries(program) if not C_LIBRARY.search(path)})


def glibc(paths):
    """The oldest release of glibc, as (2, 34), with every symbol that these programs and libraries take from it."""
    done = subprocess.run(["readelf", "--version-info", "--wide", *paths], capture_output=True, text=True, check=True)
    return max((tuple(map(int, found.split(".")[:2])) for found in re.findall(r"Name: GLIBC_([\d.]+) ", done.stdout)), default=(0, 0))


def dpkg_query(*words):
    return ["dpkg-query", f"--admindir={SYSROOT}/var/lib/dpkg", *words]


@functools.cache
def package_of(path):
    """The Debian package of a file; dpkg knows some by the path from before /lib became a link to /usr/lib."""
    real = on_target(os.path.realpath(path))
    for candidate in (on_target(path), real, real.removeprefix("/usr"), f"/usr{on_target(path)}"):
        done = subprocess.run(dpkg_query("-S", candidate), capture_output=True, text=True, check=False)
        found = re.search(r"(?m)^(?!diversion by )[^:]+", done.stdout)   # Debian 13 diverts the linker's path
        if found:
            return found[0]
    raise RuntimeError(f"{path} is of no Debian package")


@functools.cache
def package_facts(name):
    """{field: value} of an installed package."""
    fields = ["Package", "Version", "Architecture", "source:Package", "source:Version", "Homepage", "Maintainer"]
    words = ["-W", "-f", "\n".join(f"${{{field}}}" for field in fields) + "\n--\n", name]
    done = subprocess.run(dpkg_query(*words), capture_output=True, text=True, check=False)
    if done.returncode != 0:   # a package for all architectures, of this machine
        done = subprocess.run(["dpkg-query", *words], capture_output=True, text=True, check=True)
    return dict(zip(fields, done.stdout.split("--\n")[0].split("\n")))


@functools.cache
def licenses_of(name):
    """The licences that the copyright of an installed package names, in Debian's words; none where it is plain text."""
    path = f"/usr/share/doc/{name}/copyright"   # what has no architecture is of this machine
    text = next(at for at in (pathlib.Path(SYSROOT + path), pathlib.Path(path)) if at.exists()).read_text(encoding="utf-8")
    return sorted(set(re.findall(r"(?m)^License: *(\S.*?) *$", text)))


def packages(programs, bundled_only=False):
    """The Debian packages of the libraries of these programs, also of those inside: OpenBLAS, by the text of its configuration."""
    paths = bundled(programs) if bundled_only else [path for program in programs for path in libraries(program)]
    has_openblas = any(re.search(rb"OpenBLAS \d", pathlib.Path(program).read_bytes()) for program in programs)
    return sorted({package_of(path) for path in paths} | ({"libopenblas-pthread-dev"} if has_openblas else set()))
