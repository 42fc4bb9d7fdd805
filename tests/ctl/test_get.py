"""Lists of runs and benchmarks of a store: order, `latest`."""
import json
import sqlite3
import subprocess

import cli


class Local(cli.CliCase):
    def make_runs(self, **days_old):
        """The run that is there, under more names, created so many days ago."""
        first = self.run_tiny(repeats=1)["run"]
        with sqlite3.connect(self.folder / "results.db") as db:
            columns = [row[1] for row in db.execute("PRAGMA table_info(run)")]
            created, = db.execute("SELECT created_unix_ms FROM run").fetchone()
            for name, days in days_old.items():
                values = {"uid": name, "name": name, "created_unix_ms": created - int(days * 86400000)}
                db.execute(f"INSERT INTO run ({','.join(columns)}) SELECT "
                           + ",".join(f":{c}" if c in values else c for c in columns) + " FROM run WHERE name = :first",
                           {**values, "first": first})
        db.close()
        return first

    def names(self, *args):
        done = self.ctl("get", "runs", "--store", self.store, "--no-headers", *args)
        return [line.split()[0] for line in done.stdout.splitlines()]

    def test_the_latest_run(self):
        where = ("--store", self.store)
        self.ctl("run", self.define(), *where, "-q")
        name = self.run_name()
        self.make_runs(old=2)
        rows = [("results", "latest"), ("describe", "latest"), ("logs", "latest", "--point", "0"), ("get", "runs", "latest"),
                ("export", "latest"), ("report", "latest"), ("run", "--resume", "latest")]
        newest = self.names()[0]
        for args in rows:
            done = self.ctl(*args, *where)
            self.assertIn(f"the latest run is {newest}\n", done.stderr, args)
        self.assertIn(f"{newest} (base) and {name}", self.ctl("compare", "run/latest", name, *where, code=15).stdout)
        self.assertNotIn("the latest", self.ctl("results", "latest", "-q", *where).stderr)
        self.assertEqual(self.ctl("delete", "latest", *where).stdout, f"run/{newest} deleted\n")
        self.assertNotIn(newest, self.names())
        with sqlite3.connect(self.folder / "results.db") as db:   # its own name comes first
            db.execute("UPDATE run SET name = 'latest' WHERE name = 'old'")
        db.close()
        self.assertEqual(self.ctl("delete", "latest", *where).stdout, "run/latest deleted\n")
        self.ctl("delete", name, *where)
        done = self.ctl("results", "latest", *where, code=3)
        self.assertIn("error: there are no runs yet", done.stderr)
        self.assertIn(f"fix: start one with: benchctl run NAME --store {self.store}", done.stderr)

    def test_kinds_and_names_as_o_name_prints_them(self):
        first = self.make_runs(old=1, older=2)
        where = ("--store", self.store)
        printed = self.ctl("get", "runs", *where, "-o", "name").stdout.split()
        self.assertEqual(printed[0], f"benchmarkrun.benchd.io/{first}")
        rows = [(printed, [first, "old", "older"]), (["run/old"], ["old"]), (["runs/old", "bmr/older"], ["old", "older"]),
                (["benchmarkruns.benchd.io", "old"], ["old"]), (["bm/vgg16-single-node", "--local"], ["vgg16-single-node"]),
                (["benchmark.benchd.io/vgg16-single-node", "--local"], ["vgg16-single-node"])]
        for words, names in rows:
            with self.subTest(words):
                done = self.ctl("get", *words, *(() if "--local" in words else where), "--no-headers")
                self.assertEqual(sorted(line.split()[0] for line in done.stdout.splitlines()), sorted(names))
        for words, said in ((["pods/a"], "cannot list 'pods/a'"), (["/a"], "cannot list '/a'"),
                            (["run/old", "bm/x"], "'run/old' and 'bm/x' are of different kinds\nfix: list one kind at a time")):
            self.assertIn(said, self.ctl("get", *words, *where, code=2).stderr)

    def test_what_ships(self):
        """Each with its name and what it is."""
        for kind, place, item in (("profiles", "profiles/*/profile.yaml", "fluid"), ("rules", "rules/*.yaml", "nccl-tests"), ("references", "reference/*.yaml", "tf-sheet-2017")):
            rows = self.ctl("get", kind, "--no-headers").stdout.splitlines()
            self.assertEqual(len(list((cli.ROOT / "benchmarks").glob(place))), len(rows))
            self.assertEqual([], [row for row in rows if len(row.split(None, 1)) < 2])
            self.assertIn(item, [row.split()[0] for row in rows])
        for more in (("-o", "json"), ("jax",)):
            done = self.ctl("get", "profiles", *more, code=2)
            self.assertIn("get profiles prints one table of all", done.stderr)

    def test_nothing_is_no_error(self):
        for args in ((), ("-o", "name"), ("-o", "wide")):
            done = self.ctl("get", "runs", "--local", *args)
            self.assertEqual((done.stdout, done.stderr), ("", "No resources found in the local store.\n"))
        self.assertEqual(json.loads(self.ctl("get", "--local", "-o", "json").stdout)["items"], [])
        self.assertIn("fix: the first run creates it", self.ctl("get", "runs", "x", "--local", code=3).stderr)
        self.assertIn("fix: the first run creates it", self.ctl("get", "runs", "--store", self.store, code=3).stderr)

    def test_order(self):
        first = self.make_runs(zeta=1, alpha=3, beta=2)
        self.assertEqual(self.names(), [first, "zeta", "beta", "alpha"])
        self.assertEqual(self.names("beta", "zeta"), ["beta", "zeta"])
        shipped = self.ctl("get", "benchmarks", "--local", "-o", "name").stdout.splitlines()
        self.assertEqual(shipped, sorted(shipped))


if __name__ == "__main__":
    cli.main()
