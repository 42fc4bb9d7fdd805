"""Archives that have the same bytes each time: benchctl for any Linux with a C library as new as ours, and the chart."""
import gzip
import io
import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile

import linked

OWN = [pathlib.Path(__file__).resolve().parent.parent / name for name in ("LICENSE", "NOTICE")]


def entries(folder):
    """(name, contents, mode) of each file below a folder; links become what they point to, which is all that pip, krew and Helm take."""
    for path in sorted(folder.rglob("*")):
        if not path.is_dir():
            yield str(path.relative_to(folder)), path.read_bytes(), 0o755 if path.stat().st_mode & 0o100 else 0o644


def write(out, folder, epoch, prefix=""):
    """A .tar.gz of the files below a folder."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, data, mode in entries(folder):
            info = tarfile.TarInfo(prefix + name)
            info.size, info.mtime, info.mode = len(data), epoch, mode
            tar.addfile(info, io.BytesIO(data))
    with open(out, "wb") as file, gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=epoch) as packed:
        packed.write(buffer.getvalue())
    return out


def licenses(packages, into):
    """The copyright of Debian packages, and the licences that these refer to."""
    into.mkdir(parents=True)
    common = pathlib.Path("/usr/share/common-licenses")
    for package in packages:
        text = pathlib.Path(f"{linked.SYSROOT}/usr/share/doc/{package}/copyright").read_bytes()
        (into / package).write_bytes(text)
        for path in {common / found.decode() for found in re.findall(rb"common-licenses/([\w.-]*\w)", text)}:
            if path.exists():
                shutil.copy(path, into / path.name)


def add_programs(folder, programs):
    """{name in bin: program} with their libraries in lib. Returns the Debian packages of these."""
    (folder / "bin").mkdir()
    (folder / "lib").mkdir()
    for path in linked.bundled(programs.values()):
        shutil.copy(path, folder / "lib" / pathlib.Path(path).name)
    for name, program in programs.items():
        shutil.copy(program, folder / "bin" / name)
        # RPATH, not RUNPATH: it also holds for the libraries of the libraries.
        subprocess.run(["patchelf", "--force-rpath", "--set-rpath", "$ORIGIN/../lib", folder / "bin" / name], check=True)
    return linked.packages(programs.values(), bundled_only=True)


def make_plugin(root, out, epoch):
    """bin/kubectl-bench with its libraries in lib, the definitions where it looks for them, and the licence of each library."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        licenses(add_programs(folder, {"kubectl-bench": root / "usr/bin/benchctl"}), folder / "licenses")
        shutil.copytree(root / "usr/share/benchd/benchmarks", folder / "share/benchd/benchmarks")
        for path in OWN:
            shutil.copy(path, folder)
        return write(out, folder, epoch)


def make_chart(folder, out, epoch):
    return write(out, folder, epoch, prefix=f"{folder.name}/")
