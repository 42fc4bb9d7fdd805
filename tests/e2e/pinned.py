"""A Python with packages of pinned versions, made once on a machine."""
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import venv


def cache():
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "benchd"


def python(name, with_theirs=False):
    """Of tests/e2e/NAME-requirements.txt; with_theirs: and with what these need, of any version. Each interpreter has its own: a bare root
    reads this machine's cache, and not its Python."""
    pins = pathlib.Path(__file__).with_name(f"{name}-requirements.txt")
    key = hashlib.sha256(pins.read_bytes() + f"{sys.base_prefix} {sys.version}".encode()).hexdigest()
    folder = cache() / f"{name}-{key[:16]}"
    if not folder.exists():
        work = pathlib.Path(f"{folder}.{os.getpid()}.work")
        venv.create(work, with_pip=False, clear=True)
        subprocess.run([sys.executable, "-m", "pip", "--python", work / "bin/python3", "install", "--quiet", *([] if with_theirs else ["--no-deps"]), "-r", pins], check=True)
        try:
            work.rename(folder)
        except OSError:   # another one was faster
            shutil.rmtree(work)
    return folder / "bin" / "python3"
