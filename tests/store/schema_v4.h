/* A file of version 4 as it was written, with a run of one attempt; and what version 5 added to it.
 * Kept as they were: files of those versions exist. */
#pragma once

/* clang-format off */
static const char schema_v4[] =
    "CREATE TABLE run (  uid TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, benchmark TEXT NOT NULL,  "
    "  definition TEXT NOT NULL, created_unix_ms INTEGER NOT NULL, cpus INTEGER NOT NULL,  rehearsal "
    "  INTEGER NOT NULL, simulated INTEGER NOT NULL,  phase TEXT, reason TEXT, message TEXT,  trials_done "
    "  INTEGER, trials_failed INTEGER, trials_total INTEGER,  current_point INTEGER, current_trial "
    "  INTEGER, current_attempt INTEGER,  started_unix_ms INTEGER, ended_unix_ms INTEGER, mute_trials "
    "  INTEGER, thresholds TEXT, ttl_s INTEGER, object_ns TEXT, deleted_unix_ms INTEGER) STRICT, WITHOUT "
    "  ROWID;"
    "CREATE TABLE attempt (  run_uid TEXT NOT NULL REFERENCES run (uid) ON DELETE CASCADE,  point "
    "  INTEGER NOT NULL, trial INTEGER NOT NULL, attempt INTEGER NOT NULL,  outcome TEXT NOT NULL, "
    "  started_unix_ms INTEGER NOT NULL, ended_unix_ms INTEGER NOT NULL,  error TEXT, simulated INTEGER "
    "  NOT NULL,  PRIMARY KEY (run_uid, point, trial, attempt)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE log (  run_uid TEXT NOT NULL, point INTEGER NOT NULL, trial INTEGER NOT NULL,  attempt "
    "  INTEGER NOT NULL, role TEXT NOT NULL, replica_index INTEGER NOT NULL,  zstd BLOB NOT NULL,  PRIMARY "
    "  KEY (run_uid, point, trial, attempt, role, replica_index),  FOREIGN KEY (run_uid, point, trial, "
    "  attempt)    REFERENCES attempt (run_uid, point, trial, attempt) ON DELETE CASCADE) STRICT;"
    "CREATE TABLE event (  id INTEGER PRIMARY KEY, run_uid TEXT NOT NULL REFERENCES run (uid) ON DELETE "
    "  CASCADE,  unix_ms INTEGER NOT NULL, warning INTEGER NOT NULL, reason TEXT NOT NULL,  note TEXT NOT "
    "  NULL) STRICT;"
    "CREATE INDEX event_run ON event (run_uid);"
    "CREATE INDEX run_object ON run (object_ns) WHERE object_ns IS NOT NULL;"
    "CREATE INDEX run_deleted ON run (deleted_unix_ms) WHERE deleted_unix_ms IS NOT NULL;"
    "CREATE INDEX run_finished ON run (ended_unix_ms)  WHERE phase IN ('Succeeded', 'PartiallyFailed', "
    "  'Failed', 'Cancelled');"
    "CREATE TABLE replicas (  run_uid TEXT NOT NULL, point INTEGER NOT NULL, trial INTEGER NOT NULL,  "
    "  attempt INTEGER NOT NULL, zstd BLOB NOT NULL,  PRIMARY KEY (run_uid, point, trial, attempt),  "
    "  FOREIGN KEY (run_uid, point, trial, attempt)    REFERENCES attempt (run_uid, point, trial, attempt) "
    "  ON DELETE CASCADE) STRICT;"
    "INSERT INTO run (uid, name, benchmark, definition, created_unix_ms, cpus, rehearsal, simulated,"
    "  phase, reason, message, trials_done, trials_failed, trials_total, started_unix_ms,"
    "  ended_unix_ms, mute_trials, thresholds, ttl_s, object_ns) VALUES"
    "  ('fourth', 'fourth', 'b', '{}', 8, 2, 0, 0, 'Succeeded', 'Completed', '', 1, 0, 1, 20, 30, 0, 'Passed', -1, 'ns');"
    "INSERT INTO attempt VALUES ('fourth', 0, 0, 0, 'Succeeded', 3, 4, NULL, 0);"
    "INSERT INTO replicas VALUES ('fourth', 0, 0, 0, X'"
    "28B52FFD203E550100E0010100090008000000747261696E65727B2261223A317D62223A327D05002E633203CC0C1E0C"
    "580643"
    "');"
    "PRAGMA application_id = 1651401576; PRAGMA user_version = 4;";
static const char schema_v5[] =
    "ALTER TABLE run ADD COLUMN current_cut_short INTEGER;"
    "PRAGMA user_version = 5;";
/* clang-format on */
