#!/usr/bin/env python3
"""The files of script/release. The Debian packages: no complaint of lintian, installed and run in a bare Debian, and purged
without a trace. The wheel: wheel_checks.py. The others: release_checks.py.

With --long all is compiled a second time, in another folder and without ccache: the same bytes; and for arm64, which qemu-user runs; auditwheel reads the wheel; and the
scripts of docs/own-script.md are measured with PyTorch and Keras (own_scripts.py). That takes some minutes of CPU time.
"""
import hashlib
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

import bare_root
import hardened
import mkimage
import own_scripts
import release_checks
import tap
import wheel_checks

NAMES = ["benchctl", "benchd", "benchd-benchmarks", "benchworker"]
CONTROL = (tap.ROOT / "debian" / "control").read_text()
LISTED = (tap.ROOT / "script" / "packages.txt").read_text()


def why_not():
    for program in ("dpkg-buildpackage", "dh", "lintian"):
        if shutil.which(program) is None:
            return f"{program} is not installed (script/packages.txt)"
    here = platform.freedesktop_os_release().get("VERSION_CODENAME", "without a name")
    if here != bare_root.SUITE:
        return f"packages are released from Debian {bare_root.SUITE}, into which this test installs them, and this machine is {here}"
    return bare_root.why_not()


def run(*words, **options):
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False, **options)


def build(t, what, env, *command):
    """Runs script/release or script/package; {name: path} of what it made."""
    done = run(*command, env={**os.environ, **env})
    if not t.equal(0, done.returncode, f"{pathlib.Path(command[0]).name} builds {what}"):
        print(f"# {done.stderr[-3000:]}".replace("\n", "\n# "))
        return {}
    return {path.name: path for path in map(pathlib.Path, done.stdout.splitlines())}


def other_folder(parent):
    """A copy of the tree as in a tarball: without git, and with another path."""
    copy = parent / "a-much-longer-name-of-a-folder" / "benchd-src"
    done = run("sh", "-c", f'. "$root/script/lib.sh"; copy_source "{copy}"', env={**os.environ, "root": str(tap.ROOT)})
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return copy


def check_no_path(t, paths, folder):
    """No file of a package names the folder that it was built in."""
    for path in paths:
        into = folder / f"{path.name}.unpacked"
        run("dpkg-deb", "--extract", path, into)
        found = run("grep", "-rlE", "longer-name|/tmp/tmp[.]|benchd-src", into).stdout
        t.equal("", found, f"{path.name} names no folder of its build")


def check_release(t, folder, pinned):
    """The release of this tree, {name: path}."""
    run("openssl", "genpkey", "-algorithm", "ed25519", "-out", folder / "key.pem")
    run("openssl", "pkey", "-in", folder / "key.pem", "-pubout", "-out", folder / "public.pem")
    built = build(t, "from the work tree", pinned, tap.ROOT / "script/release", "--url", release_checks.URL, "--key", folder / "key.pem", folder / "release")
    t.equal(NAMES, sorted(name.split("_")[0] for name in built if name.endswith(".deb")), "the packages")
    return built


def check_twice(t, folder, pinned, first):
    """Folder, umask and time zone make no difference."""
    os.umask(0o077)
    copy = other_folder(folder)
    second = build(t, "in another folder", {**pinned, "TZ": "Asia/Tokyo", "CCACHE_DISABLE": "1"}, copy / "script/package",
                   folder / "second")
    os.umask(0o022)
    debs = sorted(name for name in first if name.endswith(".deb"))
    for name in debs:
        digests = [hashlib.sha256(found[name].read_bytes()).hexdigest() if name in found else None for found in (first, second)]
        t.equal(digests[0], digests[1], f"{name}: the same bytes twice")
        print(f"# {name}: {first[name].stat().st_size} bytes")
    check_no_path(t, [second[name] for name in debs if name in second], folder)


def check_arm64(t, folder, pinned):
    """With --arch arm64 each file that has an architecture is there for both, and its programs run."""
    built = build(t, "for two architectures", pinned, tap.ROOT / "script/release", "--arch", "arm64", folder / "both")
    names = {re.sub(r"amd64|x86_64|sbom(?=\.)", "ARCH", name) for name in built}
    other = {re.sub(r"arm64|aarch64|sbom-arm64", "ARCH", name) for name in built if not re.search(r"amd64|x86_64|^sbom\.", name)}
    t.equal(names, other, "the same files for both")
    wheel = next((path for name, path in built.items() if name.endswith("_aarch64.whl")), None)
    sysroot = run(tap.ROOT / "script/sysroot", "arm64").stdout.strip()
    if wheel and t.equal(0, run("python3", "-m", "zipfile", "-e", wheel, folder / "wheel").returncode, "the wheel is a zip archive"):
        for program in ("benchctl", "benchworker"):
            (folder / "wheel/benchd/bin" / program).chmod(0o755)
            done = run("qemu-aarch64", "-L", sysroot, folder / "wheel/benchd/bin" / program, "--version" if program == "benchworker" else "version")
            t.match(re.escape(mkimage.VERSION), done.stdout, f"{program} of the wheel runs")
    with tarfile.open(folder / "both" / f"benchworker-image-{mkimage.VERSION}.tar") as tar:
        t.equal(1, len(json.load(tar.extractfile("index.json"))["manifests"]), "one index of the image")


def check_control(t):
    """What cannot be seen in the packages: they are of this version, and need what a build by hand needs."""
    head = (tap.ROOT / "debian" / "changelog").read_text().splitlines()[0]
    t.match(rf"^benchd \({re.escape(mkimage.VERSION)}\) ", head, "debian/changelog begins with this version")
    needs = set(re.findall(r"^\s*(?:Build-Depends:)?\s+([a-z0-9.+-]+)", re.search(r"(?ms)^Build-Depends:.*?\n(?=\S)", CONTROL).group(0), re.M))
    by_hand = set(re.findall(r"(?m)^build +(\S+)", LISTED)) - {"gcc", "libc6-dev"}   # build-essential
    t.equal(by_hand, needs - {"debhelper-compat"}, "Build-Depends is the list of script/packages.txt")


def check_lintian(t, debs):
    done = run("lintian", "--allow-root", "--fail-on", "error,warning", "--tag-display-limit", "0", *debs)
    t.ok(done.returncode == 0, "lintian finds no error and no warning", done.stdout + done.stderr)
    shown = [line for line in done.stdout.splitlines() if re.match(r"[EWO]:", line)]
    t.equal([], shown, "nor is one overridden")


def field(path, name):
    return run("dpkg-deb", "--field", path, name).stdout.strip()


def dependencies(debs):
    """What the packages depend on besides each other."""
    names = {re.split(r"[ (|:]", entry.strip())[0] for path in debs.values() for entry in field(path, "Depends").split(",")}
    return sorted(names - {"", *NAMES})


def check_benchctl_alone(t, root):
    done = root.run("apt-get", "install", "-y", "./benchctl.deb", cwd="/debs")
    t.ok(done.returncode == 0, "apt-get install ./benchctl.deb", done.stdout + done.stderr)
    done = root.run("benchctl", "version")
    t.match(rf"^benchctl {re.escape(mkimage.VERSION)}\n", done.stdout, "benchctl version")
    t.equal("", done.stderr, "without a word on stderr")
    t.equal(done.stdout, root.run("kubectl-bench", "version").stdout, "the plugin of kubectl is the same program")
    t.match("version", root.run("kubectl_complete-bench", "ver").stdout, "kubectl completes its verbs")
    for path in ("usr/share/man/man1/benchctl.1.gz", "usr/share/man/man1/benchctl-run.1.gz",
                 "usr/share/bash-completion/completions/benchctl.bash", "usr/share/zsh/vendor-completions/_benchctl",
                 "usr/share/fish/vendor_completions.d/benchctl.fish"):
        t.ok((root.path / path).is_file(), f"{path} is there")
    done = root.run("benchctl", "plan", "vgg16-single-node")
    t.match("benchmark 'vgg16-single-node' not found", done.stderr, "without benchd-benchmarks a definition is not found")


def check_all(t, root):
    done = root.run("sh", "-c", "apt-get install -y ./*.deb", cwd="/debs")
    t.ok(done.returncode == 0, "apt-get install of the others", done.stdout + done.stderr)
    t.match(rf"^benchd {re.escape(mkimage.VERSION)}\n", root.run("benchd", "--version").stdout, "benchd --version")
    for program in ("benchctl", "benchd", "benchworker"):
        t.equal([], hardened.missing(root.path / "usr/bin" / program), f"{program} is hardened")
    done = root.run("benchctl", "run", "vgg16-single-node", "--local", "--systems", "benchworker", "--set", "batch_size=2", "--steps", "2",
                    "--repeats", "1")
    t.ok(done.returncode == 0, "benchctl run vgg16-single-node --local", done.stdout + done.stderr)
    t.match(r"Succeeded", done.stdout, "its table")
    t.equal(0, root.run("dpkg", "--audit").returncode, "dpkg finds nothing wrong")
    done = root.run("sh", "-c", "dpkg --verify " + " ".join(NAMES))
    t.equal((0, ""), (done.returncode, done.stdout), "the files are those of the packages")


def check_purge(t, root, before):
    done = root.run("apt-get", "purge", "-y", "--autoremove", *NAMES)
    t.ok(done.returncode == 0, "apt-get purge", done.stdout + done.stderr)
    left = sorted(path for path in root.files() - before if "bench" in path)
    t.equal([], left, "nothing of the packages is left")
    packages = root.run("dpkg-query", "-W", "-f", "${Package} ${db:Status-Abbrev}\n").stdout
    t.ok(not re.search(r"^bench", packages, re.M), "dpkg knows none of them", packages)


def main():
    tap.skip_if(why_not())
    t, is_long = tap.Tap(), "--long" in sys.argv[1:]
    check_control(t)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        pinned = {"BENCHD_SOURCE": run(tap.ROOT / "script" / "source-id").stdout.strip(), "SOURCE_DATE_EPOCH": "1790000000"}
        built = check_release(t, folder, pinned)
        debs = {path.name.split("_")[0]: path for path in built.values() if path.suffix == ".deb"}
        if sorted(debs) != NAMES:
            return t.done()
        if is_long:
            check_twice(t, folder, pinned, built)
            check_arm64(t, folder, pinned)
        check_lintian(t, debs.values())
        out = pathlib.Path(name) / "release"
        release_checks.check_sums(t, out, folder / "public.pem")
        release_checks.check_provenance(t, out, folder / "public.pem")
        release_checks.check_sbom(t, out)
        release_checks.check_schema(t, out)
        available = [*dependencies(debs), "python3-venv"]
        with bare_root.BareRoot(available) as root:
            wheel_checks.check(t, out, root, int(pinned["SOURCE_DATE_EPOCH"]), is_long)
        if is_long:
            own_scripts.check(t, next(out.glob("benchd-*.whl")))
        with bare_root.BareRoot(available) as root:
            release_checks.check_plugin(t, out, root)
            (root.path / "debs").mkdir()
            for package, path in debs.items():
                shutil.copy(path, root.path / "debs" / f"{package}.deb")
            before = root.files()
            check_benchctl_alone(t, root)
            check_all(t, root)
            check_purge(t, root, before)
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
