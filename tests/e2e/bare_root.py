#!/usr/bin/env python3
"""A bare Debian 12 (debootstrap's minbase): the machine of script/bare, the base of an image (dockerfile.py), or one to install packages in
without a network.

    with BareRoot(["libcurl4", "libjansson4"]) as root:            # they, and what they depend on, are there as .deb files
        root.run("apt-get", "install", "-y", "./benchctl.deb")

What is made from a list of packages is made once on a machine, and kept in ${XDG_CACHE_HOME:-~/.cache}/benchd/images. Commands
run in mount and PID namespaces of their own, so nothing stays mounted and nothing goes on.
"""
import fcntl
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

SUITE = "bookworm"
ENV = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"}
INSTALL_ENV = {**ENV, "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
# Where the package indexes of a machine and its user are written down, and what it trusts.
FILES = ("/etc/hosts", "/etc/resolv.conf", "/etc/apt/auth.conf", "/etc/apt/auth.conf.d", "/etc/pip.conf", "/etc/npmrc",
         "/usr/local/share/ca-certificates", "~/.config/pip", "~/.pip", "~/.npmrc", "~/.config/go/env")
VARIABLES = re.compile(r"(?i:(https?|no|all)_proxy|npm_config_.*)|NODE_EXTRA_CA_CERTS|GO(PROXY|SUMDB|PRIVATE|NO\w+)"
                       r"|PIP_(INDEX_URL|EXTRA_INDEX_URL|TRUSTED_HOST|PROXY|CERT|DEFAULT_TIMEOUT)")
# The root becomes the mount at /, because runc changes it again by pivot_root. The last shell stays: it is process 1, and reaps
# what others leave.
ENTER = """
root=$1 below=$2 cache=$3
shift 3
if [ -n "$below" ]; then
    mount -t overlay -o "lowerdir=$below,upperdir=$root.upper,workdir=$root.work" overlay "$root"
else
    mount --bind "$root" "$root"
fi
cd "$root"
mount -t proc proc proc
mount --rbind /sys sys
mount --bind /dev dev
mount -t devpts -o newinstance,ptmxmode=666,mode=620,gid=5 devpts dev/pts
mount -t tmpfs -o mode=1777 shm dev/shm
[ -z "$cache" ] || { mkdir -p root/.cache/benchd && mount --bind "$cache" root/.cache/benchd; }
pivot_root . mnt
umount -l /mnt
exec chroot . sh -c 'cd "$1" && shift && "$@"; exit $?' sh "$@"
"""


def why_not():
    missing = [program for program in ("debootstrap", "unshare") if shutil.which(program) is None]
    if missing:
        return f"{missing[0]} is not installed (script/packages.txt)"
    if os.geteuid() != 0:
        return "a bare root needs root"
    done = subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else f"no namespaces here: {done.stderr.strip()}"


def must(words, **options):
    options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    done = subprocess.run(words, text=True, check=False, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, words))}: exit code {done.returncode}\n{(done.stdout or '')[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def inside(root, words, env, cwd="/", below=None, cache=None):
    """The words that run a command inside; all of it ends with the process that starts them. below: a folder that is seen through
    the root, and is not changed; cache: a folder that is ~/.cache/benchd inside."""
    return ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-ec", ENTER, "sh", root,
            below or "", cache or "", cwd, "env", "-i", *(f"{name}={value}" for name, value in env.items()), *map(str, words)]


def first_process(process):
    """The pid of process 1 inside, as it is here; None when it has ended."""
    while process.poll() is None:
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii").split()
        if children:
            return int(children[0])
        time.sleep(0.01)
    return None


def apt_sources():
    """Debian's archives for sources.list, as this machine's apt has them; none where it is no Debian 12."""
    if not shutil.which("apt-get"):
        return []
    lines = must(["apt-get", "indextargets", "--format", "deb $(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages"]).splitlines()
    return sorted({line for line in lines if re.search(rf" {SUITE}(-updates|-security)? main$", line)})


def apt_options():
    """How this machine's apt reaches them: proxies and the like."""
    lines = must(["apt-config", "dump"]).splitlines() if shutil.which("apt-config") else []
    return [line for line in lines if re.match(r"Acquire::(https?|Retries|Check-|ForceIPv)", line) and "Auto-Detect" not in line]


def debootstrap(root, *options):
    """Unpacks a new minbase into `root`, whose apt finds packages where this machine's does."""
    sources, env = apt_sources(), dict(os.environ)
    proxy = re.search(r'(?m)^Acquire::http::Proxy "(.+)";', "\n".join(apt_options()))
    if proxy:
        env.setdefault("http_proxy", proxy[1])
    if any(line.startswith("deb https:") for line in sources):
        options += ("--include=ca-certificates",)
    mirror = [line.split()[1] for line in sources if line.split()[2] == SUITE][:1]
    must(["debootstrap", "--variant=minbase", *options, SUITE, root, *mirror], env=env)
    if sources:
        (root / "etc/apt/sources.list").write_text("\n".join(sources) + "\n", encoding="utf-8")
    (root / "etc/apt/apt.conf.d/90host").write_text("\n".join(apt_options()) + "\n", encoding="utf-8")


def configuration():
    """The variables that say where this machine's package indexes are."""
    return {name: value for name, value in os.environ.items() if VARIABLES.fullmatch(name)}


def copy_configuration(root):
    """The files that say so."""
    for name in FILES:
        source, target = pathlib.Path(name).expanduser(), root / name.replace("~", "/root").lstrip("/")
        if source.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            must(["cp", "-rLT", "--remove-destination", source, target])


def kept(kind, suffix, parts, make):
    """What make(path, parts) makes of these texts: once on a machine, and of one list at a time."""
    key = hashlib.sha256(pathlib.Path(__file__).read_bytes() + "\n".join(parts).encode()).hexdigest()[:16]
    folder = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "benchd" / "images"
    folder.mkdir(parents=True, exist_ok=True)
    out = folder / f"{kind}-{key}{suffix}"
    with open(folder / f"{kind}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not out.exists():
            work = folder / f"{kind}.part"
            shutil.rmtree(work, ignore_errors=True)   # of one that was killed
            work.mkdir()
            make(work / "new", parts)
            (work / "new").rename(out)
            shutil.rmtree(work)
            for old in set(folder.glob(f"{kind}-*{suffix}")) - {out}:
                shutil.rmtree(old) if old.is_dir() else old.unlink()
    return out


def make_installed(root, packages):
    """A Debian with these packages."""
    debootstrap(root)
    for words in (["update"], ["install", "-y", "--no-install-recommends", "-o", "Dpkg::Options::=--force-unsafe-io", *packages], ["clean"]):
        must(inside(root, ["apt-get", "-qq", *words], INSTALL_ENV))


def make_archive(out, packages):
    root = out.with_name("root")
    debootstrap(root)
    (root / "etc/apt/apt.conf.d/91keep").write_text('APT::Keep-Downloaded-Packages "true";\n', encoding="ascii")
    for words in (["apt-get", "update"], ["apt-get", "clean"], ["apt-get", "install", "-y", "--download-only", *packages],
                  ["sh", "-c", "rm -rf /etc/resolv.conf /var/lib/apt/lists/*_Translation-*"]):
        must(inside(root, words, INSTALL_ENV))
    must(["tar", "-c", "-I", "gzip -1", "--numeric-owner", "--exclude=./dev/*", "-C", root, "-f", out, "."])


class BareRoot:
    def __init__(self, packages):
        """packages: the names of all that may be installed besides .deb files at hand."""
        self._archive = kept("bare", ".tar.gz", sorted(packages), make_archive)
        self._folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self._folder.name) / "root"

    def __enter__(self):
        self.path.mkdir()
        must(["tar", "-x", "-z", "-C", self.path, "-f", self._archive])
        return self

    def __exit__(self, *_):
        self._folder.cleanup()

    def run(self, *words, cwd="/"):
        """The ended process of a command inside."""
        return subprocess.run(inside(self.path, words, INSTALL_ENV, cwd), capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)

    def files(self):
        """The paths of all files; not of what apt and dpkg know, and not of what programs write at run time."""
        skipped = ("dev", "proc", "sys", "tmp", "root", "run", "var/cache", "var/lib/apt", "var/lib/dpkg", "var/log")
        found = set()
        for folder, _, names in os.walk(self.path):
            below = os.path.relpath(folder, self.path)
            if not below.startswith(skipped):
                found |= {os.path.join(below, name) for name in names}
        return found
