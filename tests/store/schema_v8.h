/* What versions 6 to 8 added to a file of version 5 (schema_v4.h), with logs as they were written
 * until then: a row and a frame each. Kept as they were: files of those versions exist. */
#pragma once

/* clang-format off */
static const char schema_v8[] =
    "CREATE TABLE figures (  run_uid TEXT PRIMARY KEY REFERENCES run (uid) ON DELETE CASCADE,  version "
    "TEXT NOT NULL, points BLOB NOT NULL, replicas BLOB NOT NULL) STRICT;CREATE TRIGGER attempt_added "
    "AFTER INSERT ON attempt BEGIN  DELETE FROM figures WHERE run_uid = new.run_uid; END;CREATE TRIGGER "
    "attempt_changed AFTER UPDATE ON attempt BEGIN  DELETE FROM figures WHERE run_uid IN (old.run_uid, "
    "new.run_uid); END;CREATE TRIGGER attempt_deleted AFTER DELETE ON attempt BEGIN  DELETE FROM figures "
    "WHERE run_uid = old.run_uid; END;CREATE TRIGGER replicas_changed AFTER UPDATE ON replicas BEGIN  "
    "DELETE FROM figures WHERE run_uid IN (old.run_uid, new.run_uid); END;CREATE TRIGGER replicas_deleted"
    " AFTER DELETE ON replicas BEGIN  DELETE FROM figures WHERE run_uid = old.run_uid; END;CREATE TRIGGER"
    " run_redefined AFTER UPDATE OF definition, cpus ON run BEGIN  DELETE FROM figures WHERE run_uid = "
    "old.uid; END;DROP TABLE figures;CREATE TABLE figures (  run_uid TEXT NOT NULL REFERENCES run (uid) "
    "ON DELETE CASCADE,  version TEXT NOT NULL, points BLOB NOT NULL, replicas BLOB NOT NULL,  PRIMARY "
    "KEY (run_uid, version)) STRICT;CREATE TRIGGER replicas_added AFTER INSERT ON replicas BEGIN  DELETE "
    "FROM figures WHERE run_uid = new.run_uid; END;"
    "INSERT INTO log VALUES ('fourth', 0, 0, 0, 'trainer', 0, X'28B52FFD240E7100007374657020310A7374657020320A50718481');"
    "INSERT INTO log VALUES ('fourth', 0, 0, 0, 'trainer', 2, X'28B52FFD240001000099E9D851');"
    "INSERT INTO log VALUES ('fourth', 0, 0, 0, 'pserver', 1, X'28B52FFD240E710000610062206E6F206E65776C696E6591FDC574');"
    "PRAGMA user_version = 8;";
/* clang-format on */
