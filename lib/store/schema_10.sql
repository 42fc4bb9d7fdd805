-- The tables of schema 10, which a new store gets first; docs/store.md says what each column means. Stores written by
-- that version have some more, which schema_11.sql drops.
CREATE TABLE run (
  uid TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, benchmark TEXT NOT NULL,
  definition TEXT NOT NULL, created_unix_ms INTEGER NOT NULL, cpus INTEGER NOT NULL,
  rehearsal INTEGER NOT NULL, simulated INTEGER NOT NULL,
  phase TEXT, reason TEXT, message TEXT,
  trials_done INTEGER, trials_failed INTEGER, trials_total INTEGER,
  current_point INTEGER, current_trial INTEGER, current_attempt INTEGER,
  started_unix_ms INTEGER, ended_unix_ms INTEGER, mute_trials INTEGER, thresholds TEXT,
  ttl_s INTEGER, object_ns TEXT, deleted_unix_ms INTEGER, current_cut_short INTEGER,
  incarnation INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX run_object ON run (object_ns) WHERE object_ns IS NOT NULL;
CREATE INDEX run_deleted ON run (deleted_unix_ms) WHERE deleted_unix_ms IS NOT NULL;
-- Runs that have ended for good, by age. A suspended run has an end, too.
CREATE INDEX run_finished ON run (ended_unix_ms)
  WHERE phase IN ('Succeeded', 'PartiallyFailed', 'Failed', 'Cancelled');
CREATE TABLE attempt (
  run_uid TEXT NOT NULL REFERENCES run (uid) ON DELETE CASCADE,
  point INTEGER NOT NULL, trial INTEGER NOT NULL, attempt INTEGER NOT NULL,
  outcome TEXT NOT NULL, started_unix_ms INTEGER NOT NULL, ended_unix_ms INTEGER NOT NULL,
  error TEXT, simulated INTEGER NOT NULL,
  PRIMARY KEY (run_uid, point, trial, attempt)
) STRICT, WITHOUT ROWID;
-- The replicas of an attempt in one compressed row (replica_pack.h). This table and log have a rowid: long blobs would
-- make the other kind of table slow to walk.
CREATE TABLE replicas (
  run_uid TEXT NOT NULL, point INTEGER NOT NULL, trial INTEGER NOT NULL,
  attempt INTEGER NOT NULL, zstd BLOB NOT NULL,
  PRIMARY KEY (run_uid, point, trial, attempt),
  FOREIGN KEY (run_uid, point, trial, attempt)
    REFERENCES attempt (run_uid, point, trial, attempt) ON DELETE CASCADE
) STRICT;
-- Logs of a role share a row, which is that of the first of them (packed: 2 as log_rows.h says; 1 as old_rows.h says,
-- until schema 11). packed is NULL: the bytes of one log.
CREATE TABLE log (
  run_uid TEXT NOT NULL, point INTEGER NOT NULL, trial INTEGER NOT NULL,
  attempt INTEGER NOT NULL, role TEXT NOT NULL, replica_index INTEGER NOT NULL,
  zstd BLOB NOT NULL, packed INTEGER,
  PRIMARY KEY (run_uid, point, trial, attempt, role, replica_index),
  FOREIGN KEY (run_uid, point, trial, attempt)
    REFERENCES attempt (run_uid, point, trial, attempt) ON DELETE CASCADE
) STRICT;
CREATE TABLE event (
  id INTEGER PRIMARY KEY, run_uid TEXT NOT NULL REFERENCES run (uid) ON DELETE CASCADE,
  unix_ms INTEGER NOT NULL, warning INTEGER NOT NULL, reason TEXT NOT NULL,
  note TEXT NOT NULL
) STRICT;
CREATE INDEX event_run ON event (run_uid);
