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
-- What start records say, once for all replicas of a run that say the same; but for host, node and
-- cpu_mhz, which most replicas have alone. Readers remember what an id was: none is given again.
CREATE TABLE environment (
  id INTEGER PRIMARY KEY AUTOINCREMENT, run_uid TEXT NOT NULL REFERENCES run (uid) ON DELETE CASCADE,
  facts TEXT NOT NULL, UNIQUE (run_uid, facts)
) STRICT;
-- This table and log have a rowid: long blobs would make the other kind of table slow to walk.
CREATE TABLE replica (
  run_uid TEXT NOT NULL, point INTEGER NOT NULL, trial INTEGER NOT NULL,
  attempt INTEGER NOT NULL, role TEXT NOT NULL, replica_index INTEGER NOT NULL,
  exit_code INTEGER NOT NULL, signal INTEGER NOT NULL, failure TEXT, log_bytes INTEGER NOT NULL,
  environment INTEGER, -- its id; NULL: no start record came
  host TEXT, node TEXT, cpu_mhz REAL,
  -- What follows from its summary: its own work in a step, or its median step time (docs/results.md);
  -- of all measured steps their sum, and how much shorter they became.
  step_ns REAL, steps_sum_s REAL, steps_fall REAL, steps_median_ns REAL,
  -- Its summary (docs/contracts/summary.md); without one all of these are NULL.
  samples INTEGER, duration_ns INTEGER, steps INTEGER,
  phase_ns_data INTEGER, phase_ns_forward INTEGER, phase_ns_backward INTEGER,
  phase_ns_send INTEGER, phase_ns_wait INTEGER, phase_ns_update INTEGER,
  phase_ns_receive INTEGER, bytes_tx INTEGER, bytes_rx INTEGER,
  loss_first REAL, loss_last REAL, throttled_ns INTEGER, throttled_periods INTEGER,
  max_rss_bytes INTEGER, cpu_ns INTEGER, environment_digest TEXT,
  log_rule TEXT, log_method TEXT, log_unit TEXT, log_scope TEXT, log_accuracy_last REAL,
  evaluations TEXT, metrics TEXT, last_trainer INTEGER, last_steps INTEGER,
  last_wait_ns INTEGER, staleness_slices INTEGER, staleness_mean REAL, staleness_max INTEGER,
  noise_before_spins_per_s INTEGER, noise_before_copy_bytes_per_s INTEGER,
  noise_before_flops_per_s INTEGER, noise_after_spins_per_s INTEGER,
  noise_after_copy_bytes_per_s INTEGER, noise_after_flops_per_s INTEGER,
  noise_busy_ns INTEGER, noise_steal_ns INTEGER, noise_cpu_run_ns INTEGER,
  noise_cpu_wait_ns INTEGER, noise_launcher INTEGER, transport TEXT,
  series_k INTEGER, series_n INTEGER, series_min INTEGER, series_data BLOB,
  reading TEXT, -- how a rule read its log (results --lines), JSON; NULL: no rule did
  PRIMARY KEY (run_uid, point, trial, attempt, role, replica_index),
  FOREIGN KEY (run_uid, point, trial, attempt)
    REFERENCES attempt (run_uid, point, trial, attempt) ON DELETE CASCADE
) STRICT;
-- Logs of a role share a row, which is that of the first of them (packed: 2). packed is NULL: the bytes of
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
-- Files that commands named, or the definition (spec.files); all of a run have 1 MiB at most.
CREATE TABLE program_file (
  run_uid TEXT NOT NULL REFERENCES run (uid) ON DELETE CASCADE, name TEXT NOT NULL,
  digest TEXT NOT NULL, executable INTEGER NOT NULL, content BLOB NOT NULL,
  PRIMARY KEY (run_uid, name)
) STRICT;
-- For people and their tools.
CREATE VIEW trial AS SELECT r.name AS run, point, trial, attempt, outcome, throughput, unit,
  seconds, others_share, a.cpus, time_to_accuracy_s, best_accuracy, accuracy_after,
  coalesce(missing, error) AS error, a.simulated, a.started_unix_ms, a.ended_unix_ms,
  m.facts AS machine, metrics
  FROM attempt a JOIN run r ON r.uid = a.run_uid LEFT JOIN machine m ON m.id = a.machine;
