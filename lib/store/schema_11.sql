-- From schema 10 to 11. What the records of an attempt say is in columns and in the array of its replicas, in place of
-- what was made when a run had ended. figures_upgrade fills them; where it could not, attempt.figures is NULL.
DROP TRIGGER IF EXISTS attempt_added;
DROP TRIGGER IF EXISTS attempt_changed;
DROP TRIGGER IF EXISTS attempt_deleted;
DROP TRIGGER IF EXISTS replicas_added;
DROP TRIGGER IF EXISTS replicas_changed;
DROP TRIGGER IF EXISTS replicas_deleted;
DROP TRIGGER IF EXISTS run_redefined;
DROP TABLE IF EXISTS figures;
ALTER TABLE attempt ADD COLUMN figures INTEGER;
ALTER TABLE attempt ADD COLUMN throughput REAL;
ALTER TABLE attempt ADD COLUMN unit TEXT;
ALTER TABLE attempt ADD COLUMN seconds REAL;
ALTER TABLE attempt ADD COLUMN missing TEXT;
ALTER TABLE attempt ADD COLUMN details TEXT;
ALTER TABLE attempt ADD COLUMN others_share REAL;
ALTER TABLE attempt ADD COLUMN cpus REAL;
ALTER TABLE attempt ADD COLUMN time_to_accuracy_s REAL;
ALTER TABLE attempt ADD COLUMN best_accuracy REAL;
ALTER TABLE attempt ADD COLUMN accuracy_after REAL;
ALTER TABLE attempt ADD COLUMN after_state INTEGER;
ALTER TABLE attempt ADD COLUMN evaluations_k INTEGER;
ALTER TABLE attempt ADD COLUMN evaluations_from INTEGER;
ALTER TABLE attempt ADD COLUMN machine INTEGER;
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
-- For people and their tools.
CREATE VIEW trial AS SELECT r.name AS run, point, trial, attempt, outcome, throughput, unit,
  seconds, others_share, a.cpus, time_to_accuracy_s, best_accuracy, accuracy_after,
  coalesce(missing, error) AS error, a.simulated, a.started_unix_ms, a.ended_unix_ms,
  m.facts AS machine
  FROM attempt a JOIN run r ON r.uid = a.run_uid LEFT JOIN machine m ON m.id = a.machine;
