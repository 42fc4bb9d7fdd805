-- From schema 11 to 12: figures other than the throughput (core/metric_set.h), a JSON object; NULL: none.
ALTER TABLE attempt ADD COLUMN metrics TEXT;
DROP VIEW trial;
CREATE VIEW trial AS SELECT r.name AS run, point, trial, attempt, outcome, throughput, unit,
  seconds, others_share, a.cpus, time_to_accuracy_s, best_accuracy, accuracy_after,
  coalesce(missing, error) AS error, a.simulated, a.started_unix_ms, a.ended_unix_ms,
  m.facts AS machine, metrics
  FROM attempt a JOIN run r ON r.uid = a.run_uid LEFT JOIN machine m ON m.id = a.machine;
