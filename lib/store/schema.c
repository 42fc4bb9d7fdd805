/* Creates the tables of a new file and upgrades those of an older one, from the .sql files of this
 * folder. A released step is never edited: a change is a new one, and one more SCHEMA_VERSION. */
#include "store/sqlite_store.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

#include "base/fd.h"
#include "base/mem.h"

/* Marks a SQLite file as a benchd store: "bnch". */
#define APPLICATION_ID 1651401576

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
    if (version > 0 && version < OLDEST_VERSION) {
        return err_set(err, EPROTO,
                       "store '%s': written by a benchd from before its first release (schema "
                       "%lld, this program reads %d to %d); choose another file with --store "
                       "sqlite:FILE",
                       s->path, (long long)version, OLDEST_VERSION, SCHEMA_VERSION);
    }
    int64_t id = 0, tables = 0;
    int r = sql_get_int(s, &id, err, "PRAGMA application_id", "");
    r = r < 0 ? r : sql_get_int(s, &tables, err, "SELECT count(*) FROM sqlite_schema", "");
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
    r = r < 0 ? r : check_version(s, version, err);
    if (r < 0 || version == SCHEMA_VERSION) { /* another process was faster */
        return r;
    }
    r = version > 0 ? check_unused(s, version, err) : sql_exec(s, schema_10_sql, err);
    r = r < 0 || version > 10 ? r : sql_exec(s, schema_11_sql, err);
    r = r < 0 || version > 11 ? r : sql_exec(s, schema_12_sql, err);
    r = r < 0 ? r : sql_exec(s, schema_13_sql, err);
    r = r < 0 || version > 10 ? r : figures_upgrade(s, err);
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
    if (version >= OLDEST_VERSION && sqlite3_db_readonly(s->db, "main") == 1) {
        s->version = version;
        /* What reads a run finds all columns. */
        return version > 12 ? 0
                            : sql_exec(s,
                                       "CREATE TEMP VIEW run AS SELECT *, NULL AS lanes "
                                       "FROM main.run",
                                       err);
    }
    r = upgrade(s, version, err);
    s->version = SCHEMA_VERSION;
    return r;
}
