"""Runs as files: export, import and reproduce, with honest archives and with others."""
import collections
import ctypes
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cli
from cluster_case import ClusterCase, RunCase

ZSTD = ctypes.CDLL("libzstd.so.1")
for name in ("ZSTD_compress", "ZSTD_compressBound"):
    getattr(ZSTD, name).restype = ctypes.c_size_t


def zstd(data):
    room = ZSTD.ZSTD_compressBound(ctypes.c_size_t(len(data)))
    out = ctypes.create_string_buffer(room)
    size = ZSTD.ZSTD_compress(out, ctypes.c_size_t(room), data, ctypes.c_size_t(len(data)), 3)
    return out.raw[:size]


def unpack(path):
    """The members of an archive, as Python's tar reads what zstd unpacked."""
    data = subprocess.run(["tar", "--zstd", "-xOf", path, "manifest.json"], capture_output=True, check=True).stdout
    names = [member["name"] for member in json.loads(data)["members"]]
    members = {"manifest.json": data}
    for name in names:
        members[name] = subprocess.run(["tar", "--zstd", "-xOf", path, name], capture_output=True, check=True).stdout
    return members


def pack(members, path):
    """An archive with these members, whose manifest says the truth about them."""
    manifest = json.loads(members["manifest.json"])
    manifest["members"] = [{"name": name, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
                           for name, data in members.items() if name != "manifest.json"]
    members = {**members, "manifest.json": json.dumps(manifest).encode()}
    out = io.BytesIO()
    for name, data in members.items():
        info = tarfile.TarInfo(name)
        info.size = len(data)
        block = bytearray(info.tobuf(tarfile.USTAR_FORMAT))
        block[100:136] = b"0000644\0" b"0000000\0" b"0000000\0" + block[124:136]
        block[329:345] = bytes(16)  # Python writes device numbers
        block[148:156] = b"        "
        block[148:156] = b"%06o\0 " % sum(block)
        out.write(block + data + bytes(-len(data) % 512))
    path.write_bytes(zstd(out.getvalue() + bytes(1024)))
    return hashlib.sha256(members["manifest.json"]).hexdigest()


class Archives(cli.CliCase):
    made = None  # the one run: its store, its name

    def setUp(self):
        super().setUp()
        if Archives.made is None:
            pids, self.pids = self.pids, "/dev/null"  # its definition outlives this folder
            self.run_tiny(trainers=(1, 2))
            Archives.made = (self.folder / "results.db").read_bytes(), self.run_name()
            self.pids = pids
        (self.folder / "results.db").write_bytes(self.made[0])
        self.name = self.made[1]
        self.file = self.folder / f"{self.name}.benchd.tar.zst"

    def export(self, *args):
        """The digest."""
        out = self.ctl("export", self.name, "--store", self.store, *args).stdout
        digest, path = out.split()
        self.assertTrue((self.folder / path).exists())
        self.assertRegex(digest, r"^sha256:[0-9a-f]{64}$")
        return digest

    def changed(self, name, edit):
        """An archive one member of which is another, with a manifest that agrees."""
        self.export()
        members = unpack(self.file)
        members[name] = edit(members[name].decode()).encode()
        pack(members, self.file)
        return str(self.file)

    def refused(self, verb, *args, code=16):
        """It fails, and there is nothing afterwards that was not there before."""
        before = sorted((path, path.read_bytes()) for path in self.folder.iterdir() if path.is_file())
        done = self.ctl(*verb.split(), *args, code=code)
        after = sorted((path, path.read_bytes()) for path in self.folder.iterdir() if path.is_file())
        self.assertEqual(before, after)
        self.assertEqual(done.stdout, "")
        return done.stderr


class Export(Archives):
    def test_the_same_run_is_the_same_file(self):
        digest = self.export()
        first = self.file.read_bytes()
        self.assertEqual(self.export("-f", "again.zst"), digest)
        self.assertEqual((self.folder / "again.zst").read_bytes(), first)
        members = unpack(self.file)
        self.assertEqual(hashlib.sha256(members["manifest.json"]).hexdigest(), digest[7:])
        names = list(members)
        self.assertEqual(names[:7], ["manifest.json", "records.json", "definition.json", "environment.json", "tables/result.json",
                                     "tables/points.csv", "tables/results.md"])
        for form, member in (("json", "tables/result.json"), ("csv", "tables/points.csv"), ("markdown", "tables/results.md")):
            self.assertEqual(self.ctl("results", self.name, "--store", self.store, "-o", form).stdout, members[member].decode())
        self.assertIn("logs/p1t1a0-trainer-1.log", names)
        for name in names[7:]:
            point, rest = name[len("logs/p"):-len(".log")].split("t", 1)
            trial, rest = rest.split("a", 1)
            _, role, index = rest.split("-")
            self.assertEqual(self.ctl("logs", self.name, "--store", self.store, "--point", point, "--trial", trial, "--role", role,
                                      "--index", index).stdout, members[name].decode())
        said = collections.Counter(r["environment"] for a in json.loads(members["records.json"])["attempts"] for r in a["replicas"])
        self.assertEqual(json.loads(members["environment.json"]),
                         [{"replicas": n, "environment": json.loads(text)} for text, n in said.items()])
        (self.folder / "d.json").write_bytes(members["definition.json"])
        self.ctl("validate", "d.json")

    def test_listed_by_tar(self):
        self.export("--no-logs")
        done = subprocess.run(["tar", "--zstd", "-tvf", self.file], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout.count("-rw-r--r-- 0/0"), 7, done.stdout)
        self.assertNotIn("logs/", done.stdout)
        self.ctl("import", "--dry-run", str(self.file))
        document = json.loads(self.ctl("import", "--dry-run", str(self.file), "-o", "json").stdout)
        self.assertEqual((document["kind"], document["run"], document["file"]), ("VerifiedArchive", self.name, str(self.file)))
        self.assertEqual({m["name"]: m["bytes"] for m in document["members"]},
                         {name: len(data) for name, data in unpack(self.file).items() if name != "manifest.json"})

    def test_a_run_that_goes_on(self):
        process = self.start_hanging()
        name = [n for n in self.ctl("get", "runs", "--store", self.store, "-o", "name").stdout.split() if self.name not in n][0]
        self.assertIn("has not ended (Running)", self.ctl("export", name, "--store", self.store, code=2).stderr)
        self.stop(process, cli.SIGKILL)
        self.assertIn("--resume", self.ctl("export", name, "--store", self.store, code=2).stderr)
        self.assertFalse(self.file.exists())

    def test_where_it_cannot_be_written(self):
        self.assertIn("cannot write no/such/folder: ",
                      self.ctl("export", self.name, "--store", self.store, "-f", "no/such/folder", code=9).stderr)


class DryRun(Archives):
    def test_honest(self):
        digest = self.export()
        for words in ((), (digest,), (digest[7:15],)):
            out = self.ctl("import", "--dry-run", str(self.file), *words, "--store", f"sqlite:{self.folder}/there.db").stdout
            self.assertIn(f"{digest}  {self.file}\nrun/{self.name}: ", out)
            self.assertIn("the tables follow from the records", out)
        self.assertFalse((self.folder / "there.db").exists())

    def test_another_digest(self):
        digest = self.export()
        other = "sha256:" + ("0" if digest[7] != "0" else "1") * 64
        self.assertIn(f"its digest is {digest}, not {other}", self.refused("import --dry-run", str(self.file), other))
        self.assertIn("'sha256:12' is not a digest", self.refused("import --dry-run", str(self.file), "sha256:12", code=2))

    def test_what_only_an_import_takes(self):
        self.export()
        for words in (("--rules", "torch-ddp"), ("sha256:12345678", "c.log")):
            self.assertIn("--dry-run checks one archive", self.refused("import --dry-run", str(self.file), *words, code=2))
        self.assertIn("--dry-run has no -o csv", self.refused("import --dry-run", str(self.file), "-o", "csv", code=2))

    def test_tables_that_do_not_follow(self):
        """Each member by itself, also where the manifest was changed with it."""
        edits = {
            "tables/points.csv": lambda text: text.replace(",true,", ",false,").replace("Succeeded", "Failed"),
            "tables/result.json": lambda text: re.sub(r'("createdUnixMs": )(\d+)', lambda m: m[1] + str(int(m[2]) + 1), text),
            "tables/results.md": lambda text: text + "And it is the fastest.\n",
            "definition.json": lambda text: text.replace('"seed": 1', '"seed": 2'),
            "environment.json": lambda text: text.replace('"replicas": ', '"replicas": 1', 1),
        }
        for name, edit in edits.items():
            with self.subTest(name):
                err = self.refused("import --dry-run", self.changed(name, edit))
                self.assertIn(f"member '{name}' does not follow from records.json", err)

    def test_a_figure_of_the_records(self):
        """Who makes the records better has to make the tables better, too."""
        def faster(text):
            return re.sub(r'\\"samples\\": ?([1-9]\d*)', lambda m: m[0] + "0", text)
        self.assertIn("member 'tables/result.json' does not follow", self.refused("import --dry-run", self.changed("records.json", faster)))

    def test_the_last_digit_of_a_figure(self):
        """Another machine's logarithm may differ there."""
        def last_digit(text):
            document = json.loads(text)
            point = document["points"][0]["throughput"]
            point["value"] *= 1 + 1e-13
            return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
        self.export()
        same = json.loads(unpack(self.file)["tables/result.json"])
        self.ctl("import", "--dry-run", self.changed("tables/result.json", last_digit))
        self.assertTrue(same["points"][0]["throughput"]["value"] > 0)

    def test_records_that_are_none(self):
        edits = {
            "line 1: ": lambda text: "{",
            "it is not a BenchmarkRunAttempts": lambda text: "{}",
            "the run has not ended (Running)": lambda text: text.replace('"phase": "Succeeded"', '"phase": "Running"'),
            "the manifest says": lambda text: text.replace(self.name, "other-12345", 1),
            "a name or a uid that no run has": lambda text: text.replace('"uid": "', '"uid": "../'),
            "the run is of 'x', its definition is 'tiny'": lambda text: text.replace('"benchmark": "tiny"', '"benchmark": "x"'),
            "stored definition cannot be read": lambda text: text.replace('"kind": "Benchmark"', '"kind": "B"'),
            "the run has no definition": lambda text: json.dumps({**json.loads(text), "run": {**json.loads(text)["run"],
                                                                                              "definition": None}}),
        }
        for what, edit in edits.items():
            with self.subTest(what):
                err = self.refused("import --dry-run", self.changed("records.json", edit))
                self.assertIn("member 'records.json': ", err)
                self.assertIn(what, err)

    def test_members_of_no_run(self):
        self.export()
        honest = unpack(self.file)
        for change, what in (
                ({"logs/p9t0a0-trainer-0.log": b"x"}, "member 'logs/p9t0a0-trainer-0.log' belongs to no replica"),
                ({"../notes.txt": b"x"}, "member '../notes.txt' has a name that leads out of the archive")):
            pack({**honest, **change}, self.file)
            self.assertIn(what, self.refused("import --dry-run", str(self.file)))
        for name in honest:
            if not name.startswith("logs/") and name != "manifest.json":
                pack({k: v for k, v in honest.items() if k != name}, self.file)
                self.assertIn(f"'{name}' is missing", self.refused("import --dry-run", str(self.file)))

    def test_a_newer_version(self):
        self.export()
        members = unpack(self.file)
        members["manifest.json"] = members["manifest.json"].replace(b'"version": 1', b'"version": 2')
        pack(members, self.file)
        err = self.refused("import --dry-run", str(self.file))
        self.assertIn("it has version 2, this benchctl reads up to version 1", err)
        self.assertIn("install a newer benchctl", err)


class Import(Archives):
    def there(self, *args, code=0):
        return self.ctl(*args, "--store", f"sqlite:{self.folder}/there.db", code=code)

    def test_the_same_run_elsewhere(self):
        digest = self.export()
        done = self.there("import", str(self.file))
        self.assertEqual(done.stdout, self.ctl("results", self.name, "--store", self.store).stdout)
        self.assertIn(f"run/{self.name} imported into sqlite:", done.stderr)
        for verb in (("results", self.name, "-o", "json"), ("logs", self.name, "--point", "1"), ("compare", self.name, self.name)):
            self.assertEqual(self.there(*verb, code=15 if verb[0] == "compare" else 0).stdout,
                             self.ctl(*verb, "--store", self.store, code=15 if verb[0] == "compare" else 0).stdout)
        self.assertIn(digest, self.there("export", self.name, "-f", "again.zst").stdout)
        self.assertEqual((self.folder / "again.zst").read_bytes(), self.file.read_bytes())

    def test_a_digest_is_checked_first(self):
        digest = self.export()
        other = "sha256:" + ("0" if digest[7] != "0" else "1") * 64
        there = f"sqlite:{self.folder}/there.db"
        self.assertIn(f"its digest is {digest}, not {other}", self.refused("import", str(self.file), other, "--store", there))
        self.assertFalse((self.folder / "there.db").exists())
        self.there("import", str(self.file), digest[7:15])
        self.there("results", self.name)

    def test_twice(self):
        self.export()
        self.there("import", str(self.file))
        err = self.refused("import", str(self.file), "--store", f"sqlite:{self.folder}/there.db", code=2)
        self.assertIn(f"run '{self.name}' already exists", err)
        self.there("results", self.name)

    def test_nothing_of_a_wrong_one(self):
        for name, edit in (("tables/points.csv", lambda text: text + "x"), ("records.json", lambda text: text[:-3])):
            path = self.changed(name, edit)
            self.assertIn(f"member '{name}'", self.refused("import", path, "--store", f"sqlite:{self.folder}/there.db"))
            self.assertFalse((self.folder / "there.db").exists())
        self.export()
        self.file.write_bytes(self.file.read_bytes()[:-9])
        self.refused("import", str(self.file), "--store", self.store)
        self.assertEqual(self.run_name(), self.name)


class Reproduce(Archives):
    def reproduce(self, what, *args, code=0):
        return self.ctl("reproduce", what, "--store", f"sqlite:{self.folder}/there.db", *args, code=code)

    def test_again(self):
        """Two runs of the same thing; what says how far they may differ is not there, so the comparison is open."""
        digest = self.export()
        out = self.reproduce(str(self.file), "--dry-run").stdout
        self.assertIn(f"run/{self.name} of 20", out)
        self.assertIn(digest, out)
        self.assertRegex(out, r"\nsame     benchctl: benchctl \d")
        self.assertRegex(out, r"\nsame     CPUs: \d+\n")
        self.assertRegex(out, r"\nunknown  source: not known -> not known\n")  # the fake replica names none
        self.assertRegex(out, r"\nunknown  kernel: not known -> \d")
        self.assertRegex(out, r"\ndiffers  cpu model: none -> ")
        self.assertIn("Figures may differ for these reasons alone.", out)
        self.assertFalse((self.folder / "there.db").exists())
        out = self.reproduce(str(self.file), code=15).stdout
        new = self.ctl("get", "runs", "--store", f"sqlite:{self.folder}/there.db", "-o", "name").stdout.strip().split("/")[1]
        self.assertNotEqual(new, self.name)
        self.assertIn(f"\n{new}   Succeeded", out)
        self.assertIn(f"{new} compared with {self.name}: 5 of 5 points with too few", out)
        self.assertEqual([p for p in (self.folder / "tmp").glob("*")], [])

    def setUp(self):
        super().setUp()
        (self.folder / "tmp").mkdir()
        self.env["TMPDIR"] = str(self.folder / "tmp")

    def test_where_it_fails(self):
        """The run's exit code says more than the comparison's."""
        self.export()
        members = unpack(self.file)
        self.assertIn("FAKE_PIDS", members["definition.json"].decode())
        self.env["BENCHWORKER"] = "/bin/false"
        out = self.reproduce(str(self.file), code=1)
        self.assertIn("Failed", out.stdout)


class Cluster(ClusterCase):
    def test_the_same_file_as_from_the_local_store(self):
        name = self.serve_local_run()
        self.ctl("export", name, "--no-logs", "--store", self.store, "-f", "local.zst")
        self.ctl("export", name, "--no-logs", "-f", "cluster.zst")
        self.assertEqual(unpack(self.folder / "cluster.zst"), unpack(self.folder / "local.zst"))
        self.assertEqual((self.folder / "cluster.zst").read_bytes(), (self.folder / "local.zst").read_bytes())
        self.ctl("export", name, "-f", "cluster.zst")
        self.ctl("import", "--dry-run", "cluster.zst")
        self.assertIn(b"point=0", unpack(self.folder / "cluster.zst")["logs/p0t0a0-trainer-0.log"])

    def test_an_attempt_that_the_store_refuses(self):
        """A replica twice: tables do not mind, the store does. Nothing stays of the run."""
        name = self.serve_local_run()
        replicas = self.fake.documents[name]["attempts"][-1]["replicas"]
        replicas.append(replicas[-1])
        self.ctl("export", name, "--no-logs", "-f", "twice.zst")
        self.ctl("import", "--dry-run", "twice.zst")
        there = ("--store", f"sqlite:{self.folder}/there.db")
        self.assertIn("is there twice", self.ctl("import", "twice.zst", *there, code=9).stderr)
        self.assertEqual(self.ctl("get", "runs", *there, "-o", "name").stdout, "")

    def test_what_differs_is_known_later(self):
        name = self.serve_local_run()
        self.ctl("export", name, "-f", "cluster.zst")
        out = self.ctl("reproduce", "cluster.zst", "--dry-run").stdout
        self.assertIn("later    kernel: not known -> known when the replicas of the cluster have reported", out)


class ClusterReproduce(RunCase):
    def test_again(self):
        name = self.run_name()
        self.ctl("export", name, "--store", self.store, "-f", "run.zst")
        self.play(self.document)
        out = self.ctl("reproduce", "run.zst", code=15).stdout
        sent = self.sent("POST", "/benchmarkruns")[0][1]
        self.assertEqual(sent["spec"]["definition"], self.document["run"]["definition"]["spec"])
        self.assertIn(f"{sent['metadata']['name']} compared with {name}: 3 of 3 points with too few", out)


if __name__ == "__main__":
    cli.main()
