#!/usr/bin/env python3
"""What benchctl prints of a run is of one moment: another process changes the run between two reads of benchctl, which waits because
nobody takes what it prints."""
import fcntl
import os
import sqlite3
import subprocess

import cli

FROZEN = cli.ROOT / "tests" / "ctl" / "frozen" / "store.sql"
RUN = "vgg16"
UID = f"(SELECT uid FROM run WHERE name = '{RUN}')"
LAST = f"run_uid = {UID} AND point = (SELECT max(point) FROM attempt WHERE run_uid = {UID})"
PIPE_BYTES = 4096
# The failures of replicas, which the document has, make it as long as that of a large run: benchctl writes a megabyte at a time.
LONG = "UPDATE replica SET failure = printf('%.*c', 60000, 'x')"
WRITE_BYTES = 1 << 20
CHANGES = {
    "nothing": "SELECT 1",
    "an attempt is measured again": f"UPDATE replica SET duration_ns = duration_ns / 2, exit_code = 7 WHERE {LAST}",
    "an attempt is saved": f"CREATE TEMP TABLE more AS SELECT * FROM attempt WHERE {LAST}; UPDATE more SET trial = trial + 100; "
                           f"INSERT INTO attempt SELECT * FROM more; UPDATE run SET phase = 'Running' WHERE name = '{RUN}'",
    "attempts are removed": f"DELETE FROM attempt WHERE {LAST}",
    "the run is removed": f"DELETE FROM run WHERE name = '{RUN}'",
}


class Moment(cli.CliCase):
    def change(self, sql):
        """By a connection of another process than benchctl's; it waits for no reader."""
        db = sqlite3.connect(self.folder / "results.db", timeout=0)
        db.executescript(f"PRAGMA foreign_keys = ON; BEGIN IMMEDIATE; {sql}; COMMIT")
        db.close()

    def read(self, sql):
        """The document, of which a part was printed when the change was committed."""
        reader, writer = os.pipe()
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        with subprocess.Popen([cli.BENCHCTL, "results", RUN, "-o", "json", "--store", self.store], env=self.env, cwd=self.folder,
                              stdin=subprocess.DEVNULL, stdout=writer, stderr=subprocess.PIPE, text=True) as process:
            os.close(writer)
            with open(reader, "rb", buffering=0) as document:
                data = document.read(1)
                self.change(sql)
                data += document.read()
            said = process.stderr.read()
        self.assertEqual((process.returncode, said), (0, ""))
        return data

    def test_what_is_printed_is_of_one_moment(self):
        db = sqlite3.connect(self.folder / "results.db")
        db.executescript("PRAGMA journal_mode = WAL;" + FROZEN.read_text(encoding="utf-8") + LONG)   # as benchctl makes it
        db.close()
        good = (self.folder / "results.db").read_bytes()
        whole = self.ctl("results", RUN, "-o", "json", "--store", self.store).stdout.encode()
        self.assertGreater(whole.rindex(b'"point":'), WRITE_BYTES + PIPE_BYTES)
        for name, sql in CHANGES.items():
            (self.folder / "results.db").write_bytes(good)
            with self.subTest(name):
                self.assertEqual(self.read(sql), whole)


if __name__ == "__main__":
    cli.main()
