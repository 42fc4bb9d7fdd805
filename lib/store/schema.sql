-- The tables of a store; docs/store.md explains the view trial.
CREATE TABLE run (
  uid TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, benchmark TEXT NOT NULL,
  definition TEXT NOT NULL, created_unix_ms INTEGER NOT NULL, cpus INTEGER NOT NULL,
  rehearsal INTEGER NOT NULL, simulated INTEGER NOT NULL,
  phase TEXT, reason TEXT, message TEXT,
  trials_done INTEGER, trials_failed INTEGER, trials_total INTEGER,
  current_point INTEGER, current_trial INTEGER, current_attempt INTEGER,
  started_unix_ms INTEGER, ended_unix_ms INTEGER, mute_trials INTEGER, thresholds TEXT,
  ttl_s INTEGER, object_ns TEXT, deleted_unix_ms INTEGER, current_cut_short INTEGER,
  incarnation INTEGER,
  -- After the first, those that name an attempt: [[lane, point, trial, attempt, 1 if cut short], ...]; or NULL.
  lanes TEXT
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
  -- What its records say (sqlite_figures.c); where that is not known, figures is NULL.
  figures INTEGER, throughput REAL, unit TEXT, seconds REAL, missing TEXT, details TEXT,
  others_share REAL, cpus REAL, time_to_accuracy_s REAL, best_accuracy REAL,
  accuracy_after REAL, after_state INTEGER, evaluations_k INTEGER, evaluations_from INTEGER,
  machine INTEGER,
  metrics TEXT, -- figures other than the throughput (core/metric_set.h), a JSON object; NULL: none
  PRIMARY KEY (run_uid, point, trial, attempt)
) STRICT, WITHOUT ROWID;
CREATE TABLE machine (
  id INTEGER PRIMARY KEY, run_uid TEXT NOT NULL REFERENCES run (uid) ON DELETE CASCADE,
  facts TEXT NOT NULL, UNIQUE (run_uid, facts)
) STRICT;
CREATE TABLE replica_figures (
  run_uid TEXT NOT NULL, point INTEGER NOT NULL, trial INTEGER NOT NULL,
  attempt INTEGER NOT NULL, zstd BLOB NOT NULL,
  PRIMARY KEY (run_uid, point, trial, attempt),
  FOREIGN KEY (run_uid, point, trial, attempt)
    REFERENCES attempt (run_uid, point, trial, attempt) ON DELETE CASCADE
) STRICT;
-- The replicas of an attempt in one compressed row (replica_pack.c). This table and log have a rowid: long blobs would
-- make the other kind of table slow to walk.
CREATE TABLE replicas (
  run_uid TEXT NOT NULL, point INTEGER NOT NULL, trial INTEGER NOT NULL,
  attempt INTEGER NOT NULL, zstd BLOB NOT NULL,
  PRIMARY KEY (run_uid, point, trial, attempt),
  FOREIGN KEY (run_uid, point, trial, attempt)
    REFERENCES attempt (run_uid, point, trial, attempt) ON DELETE CASCADE
) STRICT;
-- Logs of a role share a row, which is that of the first of them (packed: 2, log_rows.c). packed is NULL: the bytes of
-- one log.
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
-- For people and their tools.
CREATE VIEW trial AS SELECT r.name AS run, point, trial, attempt, outcome, throughput, unit,
  seconds, others_share, a.cpus, time_to_accuracy_s, best_accuracy, accuracy_after,
  coalesce(missing, error) AS error, a.simulated, a.started_unix_ms, a.ended_unix_ms,
  m.facts AS machine, metrics
  FROM attempt a JOIN run r ON r.uid = a.run_uid LEFT JOIN machine m ON m.id = a.machine;
