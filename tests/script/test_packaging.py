"""What a release is made with: script/release, script/package, packaging/. tests/e2e/test_packages.py makes a whole one."""
import gzip
import importlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(os.environ.get("BENCHD_SOURCE_DIR", pathlib.Path(__file__).resolve().parent.parent.parent))
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "packaging"), str(ROOT / "tests" / "e2e")]
archive, krew, linked, mkimage, sbom = map(importlib.import_module, ("archive", "krew", "linked", "mkimage", "sbom"))


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()

    def script(self, name, *words, code=0, **env):
        done = subprocess.run([ROOT / "script" / name, *words], env={**os.environ, **env}, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done


class Archives(Folder):
    def make(self, mtime):
        source = self.folder / f"source-{mtime}"
        (source / "sub").mkdir(parents=True)
        for name, mode in (("sub/b", 0o700), ("a", 0o600), ("c.txt", 0o664)):
            (source / name).write_text(name, encoding="ascii")
            (source / name).chmod(mode)
            os.utime(source / name, (mtime, mtime))
        (source / "link").symlink_to("a")
        return archive.write(self.folder / f"{mtime}.tar.gz", source, 1000, prefix="top/")

    def test_the_same_bytes_whenever_it_is_made(self):
        first, second = self.make(5), self.make(7)
        self.assertEqual(first.read_bytes(), second.read_bytes())
        with gzip.open(first) as file:
            self.assertNotIn(b"source-5", file.read())

    def test_plain_files_only_with_two_modes(self):
        with tarfile.open(self.make(5)) as tar:
            got = [(info.name, info.type, oct(info.mode), info.mtime, info.uid) for info in tar]
            self.assertEqual(tar.extractfile("top/link").read(), b"a")
        self.assertEqual(got, [(f"top/{name}", tarfile.REGTYPE, mode, 1000, 0) for name, mode in
                               (("a", "0o644"), ("c.txt", "0o644"), ("link", "0o644"), ("sub/b", "0o755"))])


class Architectures(Folder):
    def test_an_index_has_the_image_of_each(self):
        for arch in ("amd64", "arm64"):
            with unittest.mock.patch.object(linked, "ARCH", arch):
                mkimage.write_image(self.folder / f"{arch}.tar", "a:1", io.BytesIO(arch.encode()), {"User": "1"})
        mkimage.join("a:1", [self.folder / f"{arch}.tar" for arch in ("amd64", "arm64")], self.folder / "both.tar")
        with tarfile.open(self.folder / "both.tar") as tar:
            def read(digest):
                return tar.extractfile(f"blobs/sha256/{digest.removeprefix('sha256:')}").read()
            top = json.load(tar.extractfile("index.json"))["manifests"]
            self.assertEqual([one["annotations"] for one in top], [{"io.containerd.image.name": "a:1"}])
            found = {}
            for image in json.loads(read(top[0]["digest"]))["manifests"]:
                manifest = json.loads(read(image["digest"]))
                found[image["platform"]["architecture"]] = (json.loads(read(manifest["config"]["digest"]))["architecture"],
                                                            read(manifest["layers"][0]["digest"]).decode())
        self.assertEqual(found, {"amd64": ("amd64", "amd64"), "arm64": ("arm64", "arm64")})

    def test_krew_finds_the_archive_of_each(self):
        paths = [self.folder / f"benchctl-1-linux-{arch}.tar.gz" for arch in ("amd64", "arm64")]
        for path in paths:
            path.write_bytes(path.name.encode())
        text = krew.manifest(paths, "https://host.example/", "1")
        self.assertEqual(re.findall(r"arch: (\w+)}\n    uri: https://host.example/benchctl-1-linux-(\w+).tar.gz\n    sha256: '\w{64}'", text),
                         [("amd64", "amd64"), ("arm64", "arm64")])

    def test_another_architecture_is_one_that_is_known(self):
        for name in ("build", "package", "release", "test"):
            self.assertIn("--arch takes arm64", self.script(name, "--arch", "sparc", code=2).stderr)
        self.assertIn("unknown architecture 'sparc'", self.script("sysroot", "sparc", code=2).stderr)


class Libraries(unittest.TestCase):
    def test_what_belongs_to_the_loader(self):
        for path in ("/lib64/ld-linux-x86-64.so.2", "/lib/x86_64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/libm.so.6",
                     "/lib/x86_64-linux-gnu/libresolv.so.2", "/lib/ld-linux-aarch64.so.1"):
            self.assertRegex(path, linked.C_LIBRARY)
        for path in ("/usr/lib/libcurl.so.4", "/usr/lib/libcrypt.so.1", "/usr/lib/libmicrohttpd.so.12", "/usr/lib/libcap.so.2"):
            self.assertNotRegex(path, linked.C_LIBRARY)

    def test_the_package_of_a_library(self):
        paths = linked.libraries(sys.executable)
        libc = next(path for path in paths if path.endswith("/libc.so.6"))
        self.assertEqual(linked.package_of(libc), "libc6")
        facts = linked.package_facts("libc6")
        self.assertRegex(facts["Version"], r"^\d")
        with self.assertRaisesRegex(RuntimeError, "of no Debian package"):
            linked.package_of("/nowhere/lib.so")

    def test_a_package_url_escapes_its_version(self):
        url = sbom.package_url({"Package": "a", "Version": "1:2+b~1", "Architecture": "amd64"})
        self.assertRegex(url, r"^pkg:deb/debian/a@1%3A2%2Bb~1\?arch=amd64&distro=\w+-\d+$")


class Scripts(Folder):
    def test_wrong_words(self):
        for name, words in (("package", ["--nonsense"]), ("package", ["a", "b"]), ("release", ["--url"]), ("release", ["--key", "/nowhere"]),
                            ("release", ["--nonsense"])):
            self.assertRegex(self.script(name, *words, code=2).stderr, "--help|--url needs a URL|--key needs a file")
        self.assertIn("script/release [--url URL] [--key FILE] [DIR]", self.script("release", "--help").stdout)
        self.assertIn("script/package [DIR]", self.script("package", "--help").stdout)

    def test_a_wrong_url(self):
        for url, word in (("ftp://host.example", "must begin with https"), ("host.example", "must begin"), ("https://", "must begin"),
                          ("https://host.example/a b", "a character"), ("https://host.example/a\nb: c", "a character")):
            self.assertIn(word, self.script("release", "--url", url, str(self.folder / "out"), code=2).stderr)
        self.assertFalse((self.folder / "out").exists())

    def test_a_release_is_not_mixed_with_other_files(self):
        (self.folder / "old").write_text("", encoding="ascii")
        self.assertIn("is not empty", self.script("release", str(self.folder), code=2).stderr)

    def copy(self, root):
        out = self.folder / "copy"
        subprocess.run(["sh", "-ec", '. "$lib"; copy_source "$out"'], env={**os.environ, "root": str(root), "out": str(out),
                                                                          "lib": str(ROOT / "script" / "lib.sh")}, check=True)
        return sorted(str(path.relative_to(out)) for path in out.rglob("*") if not path.is_dir())

    def tree(self):
        tree = self.folder / "tree"
        for name in ("a.c", "sub/b c.h", "build-test/x.o", "gone.c"):
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_text(name, encoding="ascii")
        (tree / ".gitignore").write_text("/build*/\n", encoding="ascii")
        (tree / "link").symlink_to("a.c")
        return tree

    def test_a_copy_has_what_git_knows_or_would_add(self):
        tree = self.tree()
        git = ["git", "-C", str(tree), "-c", "user.name=A", "-c", "user.email=a@example.com"]
        subprocess.run([*git, "init", "-q"], check=True)
        subprocess.run([*git, "add", "a.c", "gone.c"], check=True)
        (tree / "gone.c").unlink()
        self.assertEqual(self.copy(tree), [".gitignore", "a.c", "link", "sub/b c.h"])

    def test_a_copy_of_a_tarball_has_no_build_tree(self):
        subprocess.run(["git", "init", "-q", self.folder], check=True)   # of another project
        self.assertEqual(self.copy(self.tree()), [".gitignore", "a.c", "gone.c", "link", "sub/b c.h"])


class Debian(unittest.TestCase):
    def test_each_installed_file_is_of_one_package(self):
        lists = {path.name: path.read_text().split() for path in (ROOT / "debian").glob("*.install")}
        places = [line for lines in lists.values() for line in lines]
        self.assertEqual(len(places), len(set(places)))
        packages = re.findall(r"(?m)^Package: (\S+)$", (ROOT / "debian" / "control").read_text())
        self.assertEqual(sorted(lists), sorted(f"{name}.install" for name in packages))


class Neighbours(unittest.TestCase):
    def test_the_docs_name_the_versions_that_the_tests_run(self):
        pins = dict(re.findall(r"(?m)^(\w+)_VERSION=(\S+)$", (ROOT / "tests/e2e/kubernetes/versions.env").read_text()))
        docs = {page: (ROOT / "docs" / page).read_text() for page in ("job-objects.md", "shared-cluster.md", "install.md")}
        docs["install.md"] = re.search("Tested with Helm.*", docs["install.md"])[0]
        for name, key in (("Kueue", "KUEUE"), ("JobSet", "JOBSET"), ("Trainer", "TRAINER"), ("Kubernetes", "K8S"), ("Helm", "HELM"), ("KWOK", "KWOK")):
            named = set(re.findall(rf"{name} v?(\d[\d.]*\d)", "".join(docs.values())))
            self.assertTrue(named and all(f"{pins[key]}.".startswith(f"{version}.") for version in named), (name, named, pins[key]))


if __name__ == "__main__":
    unittest.main()
