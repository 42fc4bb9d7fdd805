/* The tables and their migrations. A released step is never edited: a change is a new step at the
 * end, and SCHEMA_VERSION counts the steps. See docs/store.md for what each column means. */
#include "store/sqlite_store.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

#include "base/fd.h"
#include "base/mem.h"

/* Marks a SQLite file as a benchd store: "bnch". */
#define APPLICATION_ID 1651401576

static const char *const steps[SCHEMA_VERSION] = {
    /* 1: runs, attempts, replicas, logs, events */
    "CREATE TABLE run ("
    "  uid TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, benchmark TEXT NOT NULL,"
    "  definition TEXT NOT NULL, created_unix_ms INTEGER NOT NULL, cpus INTEGER NOT NULL,"
    "  rehearsal INTEGER NOT NULL, simulated INTEGER NOT NULL,"
    "  phase TEXT, reason TEXT, message TEXT,"
    "  trials_done INTEGER, trials_failed INTEGER, trials_total INTEGER,"
    "  current_point INTEGER, current_trial INTEGER, current_attempt INTEGER,"
    "  started_unix_ms INTEGER, ended_unix_ms INTEGER"
    ") STRICT, WITHOUT ROWID;"
    "CREATE TABLE attempt ("
    "  run_uid TEXT NOT NULL REFERENCES run (uid) ON DELETE CASCADE,"
    "  point INTEGER NOT NULL, trial INTEGER NOT NULL, attempt INTEGER NOT NULL,"
    "  outcome TEXT NOT NULL, started_unix_ms INTEGER NOT NULL, ended_unix_ms INTEGER NOT NULL,"
    "  error TEXT, simulated INTEGER NOT NULL,"
    "  PRIMARY KEY (run_uid, point, trial, attempt)"
    ") STRICT, WITHOUT ROWID;"
    "CREATE TABLE replica ("
    "  run_uid TEXT NOT NULL, point INTEGER NOT NULL, trial INTEGER NOT NULL,"
    "  attempt INTEGER NOT NULL, role TEXT NOT NULL, replica_index INTEGER NOT NULL,"
    "  exit_code INTEGER NOT NULL, signal INTEGER NOT NULL, failure TEXT, summary TEXT,"
    "  environment TEXT, log_bytes INTEGER NOT NULL,"
    "  PRIMARY KEY (run_uid, point, trial, attempt, role, replica_index),"
    "  FOREIGN KEY (run_uid, point, trial, attempt)"
    "    REFERENCES attempt (run_uid, point, trial, attempt) ON DELETE CASCADE"
    ") STRICT, WITHOUT ROWID;"
    /* With a rowid: long blobs would make the other kind of table slow to walk. */
    "CREATE TABLE log ("
    "  run_uid TEXT NOT NULL, point INTEGER NOT NULL, trial INTEGER NOT NULL,"
    "  attempt INTEGER NOT NULL, role TEXT NOT NULL, replica_index INTEGER NOT NULL,"
    "  zstd BLOB NOT NULL,"
    "  PRIMARY KEY (run_uid, point, trial, attempt, role, replica_index),"
    "  FOREIGN KEY (run_uid, point, trial, attempt)"
    "    REFERENCES attempt (run_uid, point, trial, attempt) ON DELETE CASCADE"
    ") STRICT;"
    "CREATE TABLE event ("
    "  id INTEGER PRIMARY KEY, run_uid TEXT NOT NULL REFERENCES run (uid) ON DELETE CASCADE,"
    "  unix_ms INTEGER NOT NULL, warning INTEGER NOT NULL, reason TEXT NOT NULL,"
    "  note TEXT NOT NULL"
    ") STRICT;"
    "CREATE INDEX event_run ON event (run_uid);",
    /* 2: the verdict of a run that has ended; the object that it belongs to, or its tombstone. NULL
     * in rows of version 1: not evaluated, and unknown whether it has an object. */
    "ALTER TABLE run ADD COLUMN mute_trials INTEGER;"
    "ALTER TABLE run ADD COLUMN thresholds TEXT;"
    "ALTER TABLE run ADD COLUMN ttl_s INTEGER;"
    "ALTER TABLE run ADD COLUMN object_ns TEXT;"
    "ALTER TABLE run ADD COLUMN deleted_unix_ms INTEGER;"
    "CREATE INDEX run_object ON run (object_ns) WHERE object_ns IS NOT NULL;"
    "CREATE INDEX run_deleted ON run (deleted_unix_ms) WHERE deleted_unix_ms IS NOT NULL;"
    "CREATE INDEX run_ended ON run (ended_unix_ms);",
    /* 3: runs that have ended for good, by age. A suspended run has an end, too. */
    "DROP INDEX run_ended;"
    "CREATE INDEX run_finished ON run (ended_unix_ms)"
    "  WHERE phase IN ('Succeeded', 'PartiallyFailed', 'Failed', 'Cancelled');",
    /* 4: the replicas of an attempt in one compressed row; replicas_upgrade fills it and drops the
     * old table. With a rowid, as log. */
    "CREATE TABLE replicas ("
    "  run_uid TEXT NOT NULL, point INTEGER NOT NULL, trial INTEGER NOT NULL,"
    "  attempt INTEGER NOT NULL, zstd BLOB NOT NULL,"
    "  PRIMARY KEY (run_uid, point, trial, attempt),"
    "  FOREIGN KEY (run_uid, point, trial, attempt)"
    "    REFERENCES attempt (run_uid, point, trial, attempt) ON DELETE CASCADE"
    ") STRICT;",
    /* 5: the current attempt never ends. NULL in rows of older versions: it does. */
    "ALTER TABLE run ADD COLUMN current_cut_short INTEGER;",
    /* 6: what was computed of a run's attempts when it had ended, and by which code. No row:
     * nothing yet, or what it was made of has changed since. */
    "CREATE TABLE figures ("
    "  run_uid TEXT PRIMARY KEY REFERENCES run (uid) ON DELETE CASCADE,"
    "  version TEXT NOT NULL, points BLOB NOT NULL, replicas BLOB NOT NULL"
    ") STRICT;",
    /* 7: whoever changes what figures were made of deletes them. */
    "CREATE TRIGGER attempt_added AFTER INSERT ON attempt BEGIN"
    "  DELETE FROM figures WHERE run_uid = new.run_uid; END;"
    "CREATE TRIGGER attempt_changed AFTER UPDATE ON attempt BEGIN"
    "  DELETE FROM figures WHERE run_uid IN (old.run_uid, new.run_uid); END;"
    "CREATE TRIGGER attempt_deleted AFTER DELETE ON attempt BEGIN"
    "  DELETE FROM figures WHERE run_uid = old.run_uid; END;"
    "CREATE TRIGGER replicas_changed AFTER UPDATE ON replicas BEGIN"
    "  DELETE FROM figures WHERE run_uid IN (old.run_uid, new.run_uid); END;"
    "CREATE TRIGGER replicas_deleted AFTER DELETE ON replicas BEGIN"
    "  DELETE FROM figures WHERE run_uid = old.run_uid; END;"
    "CREATE TRIGGER run_redefined AFTER UPDATE OF definition, cpus ON run BEGIN"
    "  DELETE FROM figures WHERE run_uid = old.uid; END;",
    /* 8: figures of several builds next to each other; what replaces a row of replicas
     * deletes them, too (SQLite runs no trigger for the row that goes). Those of
     * version 7 have no checksum. */
    "DROP TABLE figures;"
    "CREATE TABLE figures ("
    "  run_uid TEXT NOT NULL REFERENCES run (uid) ON DELETE CASCADE,"
    "  version TEXT NOT NULL, points BLOB NOT NULL, replicas BLOB NOT NULL,"
    "  PRIMARY KEY (run_uid, version)"
    ") STRICT;"
    "CREATE TRIGGER replicas_added AFTER INSERT ON replicas BEGIN"
    "  DELETE FROM figures WHERE run_uid = new.run_uid; END;",
    /* 9: logs of a role share a row, which is that of the first of them (1: old_rows.h). NULL:
     * the bytes of one log. */
    "ALTER TABLE log ADD COLUMN packed INTEGER;",
    /* 10: which storing of a run this is, by a random number. NULL in rows of older
     * versions: the first. */
    "ALTER TABLE run ADD COLUMN incarnation INTEGER;",
    /* 11: logs that share a row are one frame (2: log_rows.h). What the records of an attempt say
     * is in columns and in the array of its replicas, in place of what was made when a run had
     * ended. figures_upgrade fills them; where it could not, `figures` is NULL. */
    "DROP TRIGGER IF EXISTS attempt_added; DROP TRIGGER IF EXISTS attempt_changed;"
    "DROP TRIGGER IF EXISTS attempt_deleted; DROP TRIGGER IF EXISTS replicas_changed;"
    "DROP TRIGGER IF EXISTS replicas_deleted; DROP TRIGGER IF EXISTS run_redefined;"
    "DROP TRIGGER IF EXISTS replicas_added; DROP TABLE figures;"
    "ALTER TABLE attempt ADD COLUMN figures INTEGER;"
    "ALTER TABLE attempt ADD COLUMN throughput REAL;"
    "ALTER TABLE attempt ADD COLUMN unit TEXT;"
    "ALTER TABLE attempt ADD COLUMN seconds REAL;"
    "ALTER TABLE attempt ADD COLUMN missing TEXT;"
    "ALTER TABLE attempt ADD COLUMN details TEXT;"
    "ALTER TABLE attempt ADD COLUMN others_share REAL;"
    "ALTER TABLE attempt ADD COLUMN cpus REAL;"
    "ALTER TABLE attempt ADD COLUMN time_to_accuracy_s REAL;"
    "ALTER TABLE attempt ADD COLUMN best_accuracy REAL;"
    "ALTER TABLE attempt ADD COLUMN accuracy_after REAL;"
    "ALTER TABLE attempt ADD COLUMN after_state INTEGER;"
    "ALTER TABLE attempt ADD COLUMN evaluations_k INTEGER;"
    "ALTER TABLE attempt ADD COLUMN evaluations_from INTEGER;"
    "ALTER TABLE attempt ADD COLUMN machine INTEGER;"
    "CREATE TABLE machine ("
    "  id INTEGER PRIMARY KEY, run_uid TEXT NOT NULL REFERENCES run (uid) ON DELETE CASCADE,"
    "  facts TEXT NOT NULL, UNIQUE (run_uid, facts)"
    ") STRICT;"
    "CREATE TABLE replica_figures ("
    "  run_uid TEXT NOT NULL, point INTEGER NOT NULL, trial INTEGER NOT NULL,"
    "  attempt INTEGER NOT NULL, zstd BLOB NOT NULL,"
    "  PRIMARY KEY (run_uid, point, trial, attempt),"
    "  FOREIGN KEY (run_uid, point, trial, attempt)"
    "    REFERENCES attempt (run_uid, point, trial, attempt) ON DELETE CASCADE"
    ") STRICT;"
    /* For people and their tools. */
    "CREATE VIEW trial AS SELECT r.name AS run, point, trial, attempt, outcome, throughput, unit,"
    "  seconds, others_share, a.cpus, time_to_accuracy_s, best_accuracy, accuracy_after,"
    "  coalesce(missing, error) AS error, a.simulated, a.started_unix_ms, a.ended_unix_ms,"
    "  m.facts AS machine"
    "  FROM attempt a JOIN run r ON r.uid = a.run_uid LEFT JOIN machine m ON m.id = a.machine;",
};
/* What a step does beyond SQL, after it; NULL: nothing. */
static int (*const fills[SCHEMA_VERSION])(struct sqlite_store *s, struct err *err) = {
    [3] = replicas_upgrade,
    [10] = figures_upgrade,
};

static int check_version(struct sqlite_store *s, int64_t version, struct err *err)
{
    if (version > SCHEMA_VERSION) {
        return err_set(err, EPROTO,
                       "store '%s': written by a newer benchd (schema %lld, this "
                       "program knows %d); use the newer program, or another file",
                       s->path, (long long)version, SCHEMA_VERSION);
    }
    if (version < 0) {
        return sql_damaged(s, err, "negative schema version");
    }
    int64_t id = 0, tables = 0;
    int r = sql_get_int(s, &id, err, "PRAGMA application_id", "");
    if (r >= 0) {
        r = sql_get_int(s, &tables, err, "SELECT count(*) FROM sqlite_schema", "");
    }
    bool is_new = version == 0 && id == 0 && tables == 0;
    bool is_ours = version > 0 && id == APPLICATION_ID;
    if (r >= 0 && !is_new && !is_ours) {
        return err_set(err, EBADMSG,
                       "store '%s': this is another program's SQLite file; choose "
                       "another file with --store sqlite:FILE",
                       s->path);
    }
    return r;
}

static int probe_runs(struct sqlite_store *s, struct err *err)
{
    _cleanup_(sql_finalizep) sqlite3_stmt *q = NULL;
    int r = sql_prepare(s, &q, err, "SELECT uid FROM run", "");
    while (r >= 0 && (r = sql_step(s, q, err)) > 0) {
        struct err fault;
        const char *uid = (const char *)sqlite3_column_text(q, 0);
        if ((r = claim_probe(&s->base, uid, &fault)) < 0) {
            r = err_set(err, -r, "run %s: %s", uid, fault.msg);
        }
    }
    return r;
}

/* A process that has opened the file knows the tables as they were: after an upgrade it
 * could save nothing more. */
static int check_unused(struct sqlite_store *s, int64_t version, struct err *err)
{
    struct err fault;
    int r = claim_probe_benchd(s, &fault);
    r = r < 0 ? r : probe_runs(s, &fault);
    if (r == -EBUSY) {
        return err_set(err, EBUSY,
                       "store '%s': another process of an older version works with this store "
                       "(%s); end it first: this program upgrades the file from schema %lld to %d",
                       s->path, fault.msg, (long long)version, SCHEMA_VERSION);
    }
    return r < 0 ? err_set(err, -r, "store '%s': %s", s->path, fault.msg) : 0;
}

static int apply_steps(struct sqlite_store *s, struct err *err)
{
    int64_t version = 0;
    int r = sql_get_int(s, &version, err, "PRAGMA user_version", "");
    if (r >= 0) {
        r = check_version(s, version, err);
    }
    if (r >= 0 && version > 0 && version < SCHEMA_VERSION) {
        r = check_unused(s, version, err);
    }
    for (int64_t i = version; r >= 0 && i < SCHEMA_VERSION; i++) {
        r = sql_exec(s, steps[i], err);
        r = r < 0 || fills[i] == NULL ? r : fills[i](s, err);
    }
    if (r >= 0) {
        _cleanup_(freep) char *sql = xasprintf("PRAGMA application_id = %d"
                                               "; PRAGMA user_version = %d",
                                               APPLICATION_ID, SCHEMA_VERSION);
        r = sql_exec(s, sql, err);
    }
    return r;
}

/* Locks the folder while a file is created: SQLite does not wait for others when a
 * new file becomes WAL. */
static int lock_folder(const struct sqlite_store *s)
{
    _cleanup_(freep) char *folder = xstrdup(s->path);
    char *slash = strrchr(folder, '/');
    slash[slash == folder ? 1 : 0] = '\0';
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        /* Without the lock the file is still created correctly, or SQLITE_BUSY is reported. */
        (void)flock(fd, LOCK_EX);
    }
    return fd;
}

static int upgrade(struct sqlite_store *s, int64_t version, struct err *err)
{
    if (version == SCHEMA_VERSION) {
        return 0;
    }
    _cleanup_(fd_close) int lock = lock_folder(s);
    (void)lock; /* held until the end of this function */
    int r = sql_exec(s, "PRAGMA journal_mode = WAL", err);
    if (r >= 0 && (r = sql_begin(s, err)) >= 0) {
        r = sql_end(s, apply_steps(s, err), err);
    }
    return r < 0 ? r : 0;
}

int schema_prepare(struct sqlite_store *s, struct err *err)
{
    int64_t version = 0;
    int r = sql_get_int(s, &version, err, "PRAGMA user_version", "");
    r = r < 0 ? r : check_version(s, version, err);
    if (r < 0) {
        return r;
    }
    if (version >= READABLE_SINCE_VERSION && sqlite3_db_readonly(s->db, "main") == 1) {
        s->version = version;
        return 0;
    }
    r = upgrade(s, version, err);
    s->version = SCHEMA_VERSION;
    return r;
}
