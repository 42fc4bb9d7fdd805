"""The wheel of benchctl and benchworker with a Python module: for any Linux with a C library as new as the programs need."""
import base64
import hashlib
import pathlib
import shutil
import tempfile
import time
import zipfile

import archive
import linked

PROGRAMS = ("benchctl", "benchworker")
COMMANDS = (*PROGRAMS, "kubectl-bench", "kubectl_complete-bench")
MODULE = pathlib.Path(__file__).resolve().parent / "python" / "benchd"
# There is no License-Expression, because the bundled libraries have licences of their own.
METADATA = """\
Metadata-Version: 2.4
Name: benchd
Version: {version}
Summary: Measure how distributed training scales
Author: benchd maintainers
Keywords: benchmark,distributed training,kubernetes
Classifier: Environment :: Console
Classifier: Intended Audience :: Science/Research
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: C
Classifier: Programming Language :: Python :: 3
Classifier: Topic :: System :: Benchmark
Description-Content-Type: text/plain; charset=UTF-8
Requires-Python: >=3.8
Provides-Extra: pandas
Requires-Dist: pandas; extra == 'pandas'
{licenses}
benchctl runs a benchmark that one YAML file defines, and prints throughput, speedup and efficiency with 95% intervals.
benchworker is its native worker. benchd.load(run) gives the trials of a run as a pandas DataFrame.

benchd has the licence Apache-2.0. The programs bring their libraries; dist-info/licenses has the licence of each.
"""
WHEEL = """\
Wheel-Version: 1.0
Generator: benchd {version}
Root-Is-Purelib: false
Tag: {tag}
"""


def platform_tag(folder):
    """manylinux_2_34_x86_64: by the C library that the files of bin and lib need (PEP 600)."""
    major, minor = linked.glibc([path for inside in ("bin", "lib") for path in (folder / inside).iterdir()])
    return f"manylinux_{major}_{minor}_{linked.MACHINE}"


def write(out, folder, info, epoch):
    """A wheel of the files below a folder, with the list of their digests in dist-info."""
    record = f"{info}/RECORD"
    lines = []
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        def add(name, data, mode):
            entry = zipfile.ZipInfo(name, time.gmtime(epoch)[:6])
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, (0o100000 | mode) << 16
            packed.writestr(entry, data)
        for name, data, mode in archive.entries(folder):
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
            lines.append(f"{name},sha256={digest},{len(data)}\n")
            add(name, data, mode)
        add(record, "".join([*lines, f"{record},,\n"]).encode(), 0o644)
    return out


def make(root, out, version, epoch):
    """Writes the wheel of the files that are installed below root into the folder out; returns its path."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        package, info = folder / "benchd", folder / f"benchd-{version}.dist-info"
        package.mkdir()
        for path in MODULE.glob("*.py"):
            shutil.copy(path, package)
        packages = archive.add_programs(package, {program: root / "usr/bin" / program for program in PROGRAMS})
        for inside in ("benchmarks", "bench"):
            shutil.copytree(root / "usr/share/benchd" / inside, package / "share/benchd" / inside)
        archive.licenses(packages, info / "licenses")
        for path in archive.OWN:
            shutil.copy(path, info / "licenses")
        listed = "".join(f"License-File: {path.name}\n" for path in sorted((info / "licenses").iterdir()))
        tag = f"py3-none-{platform_tag(package)}"
        (info / "METADATA").write_text(METADATA.format(version=version, licenses=listed), encoding="utf-8")
        (info / "WHEEL").write_text(WHEEL.format(version=version, tag=tag), encoding="utf-8")
        (info / "entry_points.txt").write_text("[console_scripts]\n" + "".join(f"{command} = benchd:main\n" for command in COMMANDS),
                                               encoding="utf-8")
        return write(out / f"benchd-{version}-{tag}.whl", folder, info.name, epoch)
