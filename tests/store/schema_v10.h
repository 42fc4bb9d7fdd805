/* Makes a file of version 13 one of version 11, or of version 10, without the figures of ended
 * runs, which nobody reads any more. */
#pragma once

#define BACK_TO_VERSION_11                                                                         \
    "DROP VIEW trial; ALTER TABLE attempt DROP COLUMN metrics; ALTER TABLE run DROP COLUMN lanes;" \
    "CREATE VIEW trial AS SELECT throughput FROM attempt; PRAGMA user_version = 11;"
static const char back_to_version_10[] =
    BACK_TO_VERSION_11 "DROP VIEW trial; DROP TABLE replica_figures;"
                       "ALTER TABLE attempt DROP COLUMN figures;"
                       "ALTER TABLE attempt DROP COLUMN throughput;"
                       "ALTER TABLE attempt DROP COLUMN unit;"
                       "ALTER TABLE attempt DROP COLUMN seconds;"
                       "ALTER TABLE attempt DROP COLUMN missing;"
                       "ALTER TABLE attempt DROP COLUMN details;"
                       "ALTER TABLE attempt DROP COLUMN others_share;"
                       "ALTER TABLE attempt DROP COLUMN cpus;"
                       "ALTER TABLE attempt DROP COLUMN time_to_accuracy_s;"
                       "ALTER TABLE attempt DROP COLUMN best_accuracy;"
                       "ALTER TABLE attempt DROP COLUMN accuracy_after;"
                       "ALTER TABLE attempt DROP COLUMN after_state;"
                       "ALTER TABLE attempt DROP COLUMN evaluations_k;"
                       "ALTER TABLE attempt DROP COLUMN evaluations_from;"
                       "ALTER TABLE attempt DROP COLUMN machine; DROP TABLE machine;"
                       "CREATE TABLE figures ("
                       "  run_uid TEXT NOT NULL REFERENCES run (uid) ON DELETE CASCADE,"
                       "  version TEXT NOT NULL, points BLOB NOT NULL, replicas BLOB NOT NULL,"
                       "  PRIMARY KEY (run_uid, version)) STRICT;"
                       "CREATE TRIGGER attempt_added AFTER INSERT ON attempt BEGIN"
                       "  DELETE FROM figures WHERE run_uid = new.run_uid; END;"
                       "CREATE TRIGGER replicas_added AFTER INSERT ON replicas BEGIN"
                       "  DELETE FROM figures WHERE run_uid = new.run_uid; END;"
                       "CREATE TRIGGER attempt_changed AFTER UPDATE ON attempt BEGIN"
                       "  DELETE FROM figures WHERE run_uid IN (old.run_uid, new.run_uid); END;"
                       "PRAGMA user_version = 10;";
