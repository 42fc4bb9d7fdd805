#!/usr/bin/env python3
"""A store of which a column was overwritten: what benchctl prints is what it prints of the whole one, as it does not need the column,
or an error alone, before anything is printed or written."""
import pathlib
import sqlite3

import cli

FROZEN = cli.ROOT / "tests" / "ctl" / "frozen" / "store.sql"
BYTES = "CAST(x'ff' AS TEXT)"
# Of the last replica of each run: output of those before it would be on its way.
LAST = " WHERE rowid IN (SELECT max(rowid) FROM replica GROUP BY run_uid)"
DAMAGE = [
    *(f"UPDATE replica SET {change}{where}" for where in ("", LAST)
      for change in ("series_data = x'00'", "environment = -1", "samples = NULL", "steps = -1", f"host = {BYTES}", "loss_last = 9e999", "reading = '{'",
                     "log_unit = iif(log_unit IS NULL, NULL, 'x')", "evaluations = iif(evaluations IS NULL, NULL, '{}')")),
    "UPDATE replica SET reading = '[1]' WHERE reading IS NOT NULL",
    "UPDATE OR IGNORE replica SET role = 'x'", "UPDATE replica SET attempt = 7" + LAST, "UPDATE replica SET steps_sum_s = -1",
    "UPDATE environment SET facts = '[1]' || id", "DELETE FROM environment", "UPDATE machine SET facts = '{' || id", "DELETE FROM machine",
    *(f"UPDATE OR IGNORE attempt SET {change}" for change in (
        "outcome = 'x'", "unit = 'miles'", "throughput = 9e999", "throughput = -1", "metrics = '{'", "figures = NULL", "machine = 77",
        "after_state = 77", "point = -1", "simulated = 7", "started_unix_ms = -1")),
    "UPDATE event SET warning = 7", "UPDATE event SET unix_ms = -1", "UPDATE log SET zstd = x'00112233'", "UPDATE log SET packed = 7",
    "UPDATE log SET packed = 2",
    *(f"UPDATE run SET {change}" for change in (
        "definition = '{'", "definition = '{}'", "phase = 'x'", "cpus = -1", "trials_done = -1", "lanes = 'x'", "rehearsal = 7", "ended_unix_ms = -1")),
]
ALL = "text", "markdown", "csv", "json"
# Arguments, formats.
READ = [
    *(("results vgg16" + more, formats) for more, formats in (
        ("", (*ALL, "wide")), (" --by phase", ("text", "csv")), (" --by replica", ("text", "csv")), (" --by curve", ("text",)),
        (" --rows trainers --cells efficiency", ("text",)))),
    ("results accuracy", ("text",)), ("results tiny-nodes --by node", ("text", "csv")), ("results logs --by line", ("text", "csv", "json")),
    ("describe vgg16", ("text",)), ("describe accuracy", ("text",)),
    ("report vgg16", ("html", "svg")), ("report accuracy", ("html",)), ("compare tiny-a tiny-d", ALL), ("compare tiny-axis --axis pservers", ("text",)),
    ("history tiny", ("text", "csv")), ("gate tiny-d", ("text", "json", "junit")), ("gate tiny-c --base tiny-a", ("text",)),
    ("export vgg16 -f out", ("text",)), ("export logs -f out", ("text",)), ("logs logs", ("text",)),
]


class Damage(cli.CliCase):
    def read(self, args, form):
        """The exit code, and all that is printed and written."""
        file = pathlib.Path(self.folder / "out")
        file.unlink(missing_ok=True)
        form = () if args.split()[0] in ("export", "logs") else ("-o", form)
        done = cli.subprocess.run([cli.BENCHCTL, *args.split(), *form, "--store", self.store], env=self.env, cwd=self.folder,
                                  capture_output=True, stdin=cli.subprocess.DEVNULL, timeout=60, check=False)
        return done.returncode, cli.without_ages(done.stdout.decode("latin-1")).encode("latin-1") + (file.read_bytes() if file.exists() else b"")

    def change(self, sql):
        db = sqlite3.connect(self.folder / "results.db")
        db.executescript(f"PRAGMA foreign_keys = OFF; {sql}")
        db.close()

    def test_no_part_is_taken_for_the_whole(self):
        self.change(FROZEN.read_text(encoding="utf-8"))
        self.env["TZ"] = "UTC"
        (self.folder / "a.log").write_text("".join(f"Epoch[0] Batch [{20 * i}]\tSpeed: {80 + i % 3} samples/sec\n" for i in range(9)), encoding="utf-8")
        self.ctl("import", "--rules", "mxnet", "--batch", "32", "--name", "logs", "--store", self.store, "a.log")
        self.change("UPDATE run SET name = 'logs' WHERE benchmark = 'logs'")
        whole = {(args, form): self.read(args, form) for args, forms in READ for form in forms}
        self.assertEqual({key: code for key, (code, _) in whole.items() if code not in (0, 6)}, {})
        good = (self.folder / "results.db").read_bytes()
        n_found = 0
        for sql in DAMAGE:
            (self.folder / "results.db").write_bytes(good)
            self.change(sql)
            for (args, form), expected in whole.items():
                with self.subTest(f"{sql}: {args} -o {form}"):
                    found = self.read(args, form)
                    n_found += found == (9, b"")
                    self.assertTrue(found in ((9, b""), expected), (found[0], found[1][:200]))
        self.assertGreater(n_found, 500)


if __name__ == "__main__":
    cli.main()
