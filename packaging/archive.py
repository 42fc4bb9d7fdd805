"""Archives that have the same bytes each time: benchctl for any Linux with a C library as new as ours, and the chart."""
import gzip
import io
import pathlib
import shutil
import subprocess
import tarfile
import tempfile

import linked

LICENSE = pathlib.Path(__file__).resolve().parent.parent / "LICENSE"


def write(out, folder, epoch, prefix=""):
    """A .tar.gz of the files below a folder; links become what they point to, which is all that krew and Helm take."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path in sorted(folder.rglob("*")):
            if path.is_dir():
                continue
            info = tarfile.TarInfo(prefix + str(path.relative_to(folder)))
            data = path.read_bytes()
            info.size, info.mtime, info.mode = len(data), epoch, 0o755 if path.stat().st_mode & 0o100 else 0o644
            tar.addfile(info, io.BytesIO(data))
    with open(out, "wb") as file, gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=epoch) as packed:
        packed.write(buffer.getvalue())
    return out


def make_plugin(root, out, epoch):
    """bin/kubectl-bench with its libraries in lib, the definitions where it looks for them, and the licence of each library."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for inside in ("bin", "lib", "licenses", "share/benchd"):
            (folder / inside).mkdir(parents=True)
        program = folder / "bin" / "kubectl-bench"
        shutil.copy(root / "usr/bin/benchctl", program)
        bundled = [pathlib.Path(path) for path in linked.libraries(program) if not linked.C_LIBRARY.search(path)]
        for path in bundled:
            shutil.copy(path, folder / "lib" / path.name)
            package = linked.package_of(str(path))
            shutil.copy(f"/usr/share/doc/{package}/copyright", folder / "licenses" / package)
        # RPATH, not RUNPATH: it also holds for the libraries of the libraries.
        subprocess.run(["patchelf", "--force-rpath", "--set-rpath", "$ORIGIN/../lib", program], check=True)
        shutil.copytree(root / "usr/share/benchd/benchmarks", folder / "share/benchd/benchmarks")
        shutil.copy(LICENSE, folder / "LICENSE")
        return write(out, folder, epoch)


def make_chart(folder, out, epoch):
    return write(out, folder, epoch, prefix=f"{folder.name}/")
