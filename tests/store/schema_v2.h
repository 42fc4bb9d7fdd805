/* What version 2 added to version 1's file, and rows of its own: two runs, an attempt without
 * replicas, and all that a text can be. Kept as it was: files of that version exist. */
#pragma once

/* clang-format off */
static const char schema_v2[] =
    "ALTER TABLE run ADD COLUMN mute_trials INTEGER;"
    "ALTER TABLE run ADD COLUMN thresholds TEXT;"
    "ALTER TABLE run ADD COLUMN ttl_s INTEGER;"
    "ALTER TABLE run ADD COLUMN object_ns TEXT;"
    "ALTER TABLE run ADD COLUMN deleted_unix_ms INTEGER;"
    "CREATE INDEX run_object ON run (object_ns) WHERE object_ns IS NOT NULL;"
    "CREATE INDEX run_deleted ON run (deleted_unix_ms) WHERE deleted_unix_ms IS NOT NULL;"
    "CREATE INDEX run_ended ON run (ended_unix_ms);"
    "PRAGMA user_version = 2;"
    "INSERT INTO run (uid, name, benchmark, definition, created_unix_ms, cpus, rehearsal, simulated,"
    "  phase, reason, message, trials_done, trials_failed, trials_total, started_unix_ms,"
    "  ended_unix_ms, mute_trials, thresholds, ttl_s, object_ns) VALUES"
    "  ('second', 'second', 'b', '{}', 8, 2, 0, 0, 'Succeeded', 'Completed', '', 2, 0, 2, 20, 30, 0, 'Passed', -1, 'ns');"
    "INSERT INTO attempt VALUES ('second', 0, 0, 0, 'Void', 1, 2, 'e', 0), ('second', 0, 0, 1, 'Succeeded', 3, 4, NULL, 0),"
    "  ('second', 1, 0, 0, 'Failed', 5, 6, 'no pods', 0);"
    "INSERT INTO replica VALUES"
    "  ('second', 0, 0, 1, 'trainer', 10, 0, 0, NULL, '{\"a\":10}', '{\"h\":10}', 1),"
    "  ('second', 0, 0, 1, 'trainer', 9, 0, 0, NULL, '{\"a\":9}', '', 4294967296),"
    "  ('second', 0, 0, 1, 'pserver', 0, -1, 9, 'killed', NULL, NULL, 0),"
    "  ('second', 0, 0, 0, 'trainer', 0, 11, 0, 'lost', NULL, NULL, 5);";
/* clang-format on */
