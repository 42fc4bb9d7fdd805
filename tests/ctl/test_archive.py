"""Runs as files: export, import and reproduce, with honest files and with others."""
import contextlib
import os
import shutil
import sqlite3
import subprocess
import threading

import cli
import run_file
from cluster_case import ClusterCase, RunCase
from fake_cluster import wait_until


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
        self.file = self.folder / f"{self.name}.benchd.db"

    def export(self, *args):
        """The digest."""
        out = self.ctl("export", self.name, "--store", self.store, *args).stdout
        digest, path = out.split()
        self.assertTrue((self.folder / path).exists())
        self.assertRegex(digest, r"^sha256:[0-9a-f]{64}$")
        return digest

    def changed(self, *statements, sealed=True):
        """An archive in which somebody has changed rows, and the digest with them."""
        self.export()
        run_file.edit(self.file, *statements, sealed=sealed)
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
        self.assertEqual(self.export("-f", "again.db"), digest)
        self.assertEqual((self.folder / "again.db").read_bytes(), first)
        self.assertEqual(self.export("-f", "again.zst"), digest)
        self.assertEqual(run_file.decompress((self.folder / "again.zst").read_bytes()), first)
        db = sqlite3.connect(self.file)
        self.assertEqual("sha256:" + run_file.digest(db), digest)
        self.assertEqual(db.execute("SELECT name, phase FROM run").fetchall(), [(self.name, "Succeeded")])
        n, ns = db.execute("SELECT count(*), sum(step_ns) FROM replica").fetchone()
        self.assertGreater(n, 0)
        self.assertGreater(db.execute("SELECT count(*) FROM log").fetchone()[0], 0)

    def test_it_is_a_store(self):
        """What reads a store reads the file."""
        self.export()
        for verb in (("results", "-o", "json"), ("results", "--by", "replica")):
            printed = [self.ctl(verb[0], self.name, *verb[1:], "--store", s).stdout for s in (self.store, f"sqlite:{self.file}")]
            self.assertEqual(*printed)
        log = [self.ctl("logs", self.name, "--point", "1", "--store", s).stdout for s in (self.store, f"sqlite:{self.file}")]
        self.assertEqual(*log)
        self.assertNotEqual(log[0], "")

    def test_to_stdout(self):
        """The digest's line would be a part of the file."""
        self.export()
        piped = subprocess.run([cli.BENCHCTL, "export", self.name, "--store", self.store, "-f", "/dev/stdout"],
                               env=self.env, cwd=self.folder, stdout=subprocess.PIPE, check=True).stdout
        self.assertEqual(piped, self.file.read_bytes())

    def test_without_logs(self):
        self.export("--no-logs")
        self.assertEqual(sqlite3.connect(self.file).execute("SELECT count(*) FROM log").fetchone(), (0,))
        self.ctl("import", "--dry-run", str(self.file))

    def test_a_run_that_goes_on(self):
        process = self.start_hanging()
        name = [n for n in self.ctl("get", "runs", "--store", self.store, "-o", "name").stdout.split() if self.name not in n][0]
        self.assertIn("has not ended (Running)", self.ctl("export", name, "--store", self.store, code=2).stderr)
        self.stop(process, cli.SIGKILL)
        self.assertIn("--resume", self.ctl("export", name, "--store", self.store, code=2).stderr)
        self.assertFalse(self.file.exists())

    def test_where_it_cannot_be_written(self):
        self.assertIn("cannot write no/such/folder: ", self.ctl("export", self.name, "--store", self.store, "-f", "no/such/folder", code=9).stderr)
        self.env["TMPDIR"] = f"{self.folder}/none"
        self.assertIn("set TMPDIR to a folder with room", self.ctl("export", self.name, "--store", self.store, code=9).stderr)

    def test_never_the_store_itself(self):
        (self.folder / "link.db").symlink_to(self.folder / "results.db")
        for name in ("results.db", "link.db"):
            self.assertIn("is the store that has the run", self.ctl("export", self.name, "--store", self.store, "-f", name, code=2).stderr)
        self.assertEqual(self.run_name(), self.name)

    def test_nothing_is_left_of_one_that_was_interrupted(self):
        (self.folder / "tmp").mkdir()
        self.env["TMPDIR"] = str(self.folder / "tmp")
        self.export()
        os.mkfifo(self.folder / "fifo")
        process = self.start("export", self.name, "--store", self.store, "-f", "fifo")     # it waits for a reader of its file
        wait_until(lambda: list((self.folder / "tmp").iterdir()))
        self.assertEqual(self.stop(process, cli.SIGINT)[0], -cli.SIGINT)
        self.assertEqual(list((self.folder / "tmp").iterdir()), [])

    def test_what_is_damaged_in_the_store(self):
        """No file is written of a run that cannot be read."""
        for table, column, value in (("replica", "steps", "-1"), ("replica", "environment", "77, host = NULL, node = NULL, cpu_mhz = NULL"),
                                     ("environment", "facts", "'['"), ("attempt", "outcome", "'x'"), ("event", "warning", "7"),
                                     ("log", "zstd", "x'00'"), ("run", "definition", "'{}'")):
            with self.subTest(table):
                (self.folder / "results.db").write_bytes(self.made[0])
                with contextlib.closing(sqlite3.connect(self.folder / "results.db", isolation_level=None)) as db:
                    n = db.execute(f"UPDATE {table} SET {column} = {value} WHERE {column} IS NOT NULL").rowcount
                self.assertGreater(n, 0)
                self.ctl("export", self.name, "--store", self.store, code=9)
                self.assertFalse(self.file.exists())


class DryRun(Archives):
    def test_honest(self):
        digest = self.export()
        for words in ((), (digest,), (digest[7:15],)):
            out = self.ctl("import", "--dry-run", str(self.file), *words, "--store", f"sqlite:{self.folder}/there.db").stdout
            self.assertIn(f"{digest}  {self.file}\nrun/{self.name} is whole, and all of it follows from its records; written by benchctl ", out)
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
        self.assertIn("--dry-run has no -o json", self.refused("import --dry-run", str(self.file), "-o", "json", code=2))

    def test_rows_that_are_changed(self):
        """The digest is of all rows, of each table."""
        for table, column in (("run", "cpus"), ("attempt", "throughput"), ("replica", "samples"), ("machine", "facts"),
                              ("environment", "facts"), ("event", "note"), ("log", "packed")):
            path = self.changed(f"UPDATE {table} SET {column} = coalesce({column}, 0) || '1'", sealed=False)
            self.assertIn("its rows are not those of its digest", self.refused("import --dry-run", path))
        path = self.changed("DELETE FROM event", sealed=False)
        self.assertIn("its rows are not those of its digest", self.refused("import --dry-run", path))

    def test_what_is_no_run(self):
        other = "INSERT INTO run (uid, name, benchmark, definition, created_unix_ms, cpus, rehearsal, simulated, phase) " \
                "SELECT 'a', 'a', benchmark, definition, 1, 1, 0, 0, phase FROM run"
        edits = {
            "the run has not ended (Running)": "UPDATE run SET phase = 'Running'",
            "a name or a uid that no run has": "UPDATE run SET name = '../' || name",
            "the run is of 'x', its definition is 'tiny'": "UPDATE run SET benchmark = 'x'",
            "stored definition cannot be read": "UPDATE run SET definition = '{\"kind\": 1}'",
            "it has 2 runs, not one": other,
            "rows of nothing": "UPDATE attempt SET run_uid = 'x' WHERE point = 0",
            "the file is damaged (the summary of a replica: 'steps' is -1": "UPDATE replica SET steps = -1",
            "the file is damaged (unknown outcome of an attempt)": "UPDATE attempt SET outcome = 'Lucky'",
            "its table file has not one row": "INSERT INTO file SELECT * FROM file",
            "its index more is not as benchd makes it": "CREATE INDEX more ON replica (node)",
            "its table more is not as benchd makes it": "CREATE TABLE more (a)",
            "its trigger more is not as benchd makes it": "CREATE TRIGGER more AFTER INSERT ON run BEGIN SELECT 1; END",
            "its view trial is not as benchd makes it": "DROP VIEW trial; CREATE VIEW trial AS SELECT 1",
            "its index run_finished is not as benchd makes it": "DROP INDEX run_deleted",
            "this is another program's SQLite file": "PRAGMA application_id = 7",
        }
        for what, statement in edits.items():
            with self.subTest(what):
                self.assertIn(what, self.refused("import --dry-run", self.changed(*statement.split("; ", 1) if "VIEW" in statement else (statement,))))

    def test_another_version(self):
        version = sqlite3.connect(self.folder / "results.db").execute("PRAGMA user_version").fetchone()[0]
        err = self.refused("import --dry-run", self.changed(f"PRAGMA user_version = {version + 1}"))
        self.assertIn(f"written by a newer benchd (schema {version + 1}, this program reads {version})", err)
        self.assertIn("install a newer benchctl", err)
        self.assertIn("from before its first release", self.refused("import --dry-run", self.changed("PRAGMA user_version = 1")))

    def test_what_is_no_archive(self):
        self.export("-f", "good.zst")
        good = (self.folder / "good.zst").read_bytes()
        for data, what in ((good[:-9], "it is cut off"), (good + b"x", "it has bytes behind its end"),
                           (run_file.compress(b"x" * 5000), "not a SQLite file"),
                           (b"SQLite format 3\0" + b"x" * 5000, "not a SQLite file"), (self.made[0], "it is a store, and no exported run"), (b"", "it is no run that was exported")):
            self.file.write_bytes(data)
            self.assertIn(what, self.refused("import --dry-run", str(self.file)))


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
        self.assertIn(digest, self.there("export", self.name, "-f", "again.db").stdout)
        self.assertEqual((self.folder / "again.db").read_bytes(), self.file.read_bytes())

    def test_points_of_other_machines(self):
        """The one that ran first is not the first by name, as it is in the file."""
        self.name = self.run_tiny(trainers=(1, 2), env={"FAKE_CPU": "0=znver3"})["run"]
        self.export()
        with contextlib.closing(sqlite3.connect(self.folder / f"{self.name}.benchd.db")) as db:
            self.assertEqual(db.execute("SELECT count(*) FROM machine").fetchone(), (2,))
            self.assertEqual(db.execute("SELECT count(*) FROM environment").fetchone(), (2,))
        self.there("import", f"{self.name}.benchd.db")
        self.assertEqual(self.there("results", self.name, "-o", "json").stdout,
                         self.ctl("results", self.name, "-o", "json", "--store", self.store).stdout)

    def test_figures_follow_from_records(self):
        """Whoever makes a figure better has to make the records better, too; a logarithm may have other last digits elsewhere."""
        for change, what in (("UPDATE attempt SET throughput = 10 * throughput", "attempt.throughput"),
                             ("UPDATE attempt SET unit = 'tokens/s' WHERE point = 1", "attempt.unit"),
                             ("UPDATE replica SET step_ns = 1.0 WHERE role = 'trainer'", "replica.step_ns"),
                             ("UPDATE attempt SET machine = NULL", "attempt.machine"),
                             ("UPDATE machine SET facts = facts || ' '", "attempt.machine"),
                             ("INSERT INTO machine (run_uid, facts) SELECT run_uid, '{}' FROM machine LIMIT 1",
                              "its table machine has rows of nothing"),
                             ("INSERT INTO environment (run_uid, facts) SELECT run_uid, '{}' FROM environment LIMIT 1",
                              "its table environment has rows of nothing"),
                             ("UPDATE replica SET environment = NULL, host = NULL, node = NULL, cpu_mhz = NULL WHERE point = 0", ""),
                             ("INSERT INTO log SELECT run_uid, point, trial, attempt, role, 77, zstd, packed FROM log LIMIT 1",
                              "its table log has rows of nothing")):
            with self.subTest(change):
                err = self.refused("import --dry-run", self.changed(change))
                self.assertIn(what, err)
        self.ctl("import", "--dry-run", self.changed("UPDATE attempt SET throughput = throughput * (1 + 1e-13)"))

    def test_a_point_that_is_not_there(self):
        extra = "INSERT INTO attempt SELECT run_uid, 99, trial, attempt, outcome, started_unix_ms, ended_unix_ms, error, simulated, NULL, NULL, " \
                "NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM attempt LIMIT 1"
        self.assertIn("its definition has no point 99", self.refused("import --dry-run", self.changed(extra)))

    def test_a_digest_is_checked_first(self):
        digest = self.export()
        other = "sha256:" + ("0" if digest[7] != "0" else "1") * 64
        there = f"sqlite:{self.folder}/there.db"
        self.assertIn(f"its digest is {digest}, not {other}", self.refused("import", str(self.file), other, "--store", there))
        self.assertFalse((self.folder / "there.db").exists())
        self.there("import", str(self.file), digest[7:15])
        self.there("results", self.name)

    def test_from_a_pipe(self):
        self.export("-f", "good.zst")
        for data, code in (((self.folder / "good.zst").read_bytes(), 0), (b"epoch 1 loss 2\n" * 9, 16)):
            os.mkfifo(self.folder / "fifo")
            writer = threading.Thread(target=(self.folder / "fifo").write_bytes, args=(data,))
            writer.start()
            done = self.there("import", "fifo", code=code)
            writer.join()
            os.unlink(self.folder / "fifo")
            self.assertIn("it is no run that was exported" if code else f"run/{self.name} imported", done.stderr)

    def test_twice(self):
        self.export()
        self.there("import", str(self.file))
        err = self.refused("import", str(self.file), "--store", f"sqlite:{self.folder}/there.db", code=2)
        self.assertIn(f"run '{self.name}' already exists", err)
        self.there("results", self.name)

    def test_nothing_of_a_wrong_one(self):
        path = self.changed("UPDATE replica SET steps = -1 WHERE point = 1 AND trial = 1")
        self.refused("import", path, "--store", f"sqlite:{self.folder}/there.db")
        self.assertFalse((self.folder / "there.db").exists())
        self.refused("import", path, "--store", self.store)
        self.assertEqual(self.run_name(), self.name)

    def test_a_folder_of_archives(self):
        self.export("-f", "place.benchd.db.zst")
        (self.folder / "place").mkdir()
        shutil.move(self.folder / "place.benchd.db.zst", self.folder / "place" / "a.benchd.db.zst")
        self.assertIn(f"run/{self.name} imported", self.there("import", str(self.folder / "place")).stderr)
        self.assertIn(f"run/{self.name} is already stored", self.there("import", str(self.folder / "place")).stderr)
        self.assertIn("name one of its archives", self.there("import", str(self.folder / "place"), "--dry-run", code=2).stderr)


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
        self.assertRegex(" ".join(out.split()), rf"{new} compared with {self.name}: .* of 5 points 5 TooFewTrials")
        self.assertEqual([p for p in (self.folder / "tmp").glob("*")], [])

    def setUp(self):
        super().setUp()
        (self.folder / "tmp").mkdir()
        self.env["TMPDIR"] = str(self.folder / "tmp")

    def test_where_it_fails(self):
        """The run's exit code says more than the comparison's."""
        self.export()
        self.env["BENCHWORKER"] = "/bin/false"
        out = self.reproduce(str(self.file), code=1)
        self.assertIn("Failed", out.stdout)


class Cluster(ClusterCase):
    def test_the_same_file_as_from_the_local_store(self):
        name = self.serve_local_run()
        for args in ((), ("--no-logs",)):
            self.ctl("export", name, *args, "--store", self.store, "-f", "local.db")
            self.ctl("export", name, *args, "-f", "cluster.db")
            local, cluster = (sqlite3.connect(self.folder / f) for f in ("local.db", "cluster.db"))
            for table in run_file.ORDER:
                self.assertEqual(local.execute(f"SELECT * FROM {table}").fetchall(), cluster.execute(f"SELECT * FROM {table}").fetchall())
        self.ctl("import", "--dry-run", "cluster.db")

    def test_what_differs_is_known_later(self):
        name = self.serve_local_run()
        self.ctl("export", name, "-f", "cluster.db")
        out = self.ctl("reproduce", "cluster.db", "--dry-run").stdout
        self.assertIn("later    kernel: not known -> known when the replicas of the cluster have reported", out)


class ClusterReproduce(RunCase):
    def test_again(self):
        name = self.run_name()
        self.ctl("export", name, "--store", self.store, "-f", "run.db")
        self.play(self.document)
        out = self.ctl("reproduce", "run.db", code=15).stdout
        sent = self.sent("POST", "/benchmarkruns")[0][1]
        self.assertEqual(sent["spec"]["definition"], self.document["run"]["definition"]["spec"])
        self.assertRegex(" ".join(out.split()), rf"{sent['metadata']['name']} compared with {name}: .* of 3 points 3 TooFewTrials")


if __name__ == "__main__":
    cli.main()
