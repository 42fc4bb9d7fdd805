/* Creates the tables of a new file, from schema.sql. Those of a released version are never edited:
 * a change is a step that upgrades older files, and one more SCHEMA_VERSION. */
#include "store/sqlite_store.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

#include "base/mem.h"

int schema_accept(struct sqlite_store *s, struct err *err)
{
    int64_t version = 0, id = 0, tables = 0;
    int r = sql_get_int(s, &version, err, "PRAGMA user_version", "");
    r = r < 0 ? r : sql_get_int(s, &id, err, "PRAGMA application_id", "");
    r = r < 0 ? r : sql_get_int(s, &tables, err, "SELECT count(*) FROM sqlite_schema", "");
    if (r < 0 || (version == 0 && id == 0 && tables == 0)) {
        return r;
    }
    if (version == 0 || id != SCHEMA_APPLICATION) {
        return sql_fail(s, err, EBADMSG, "this is another program's SQLite file",
                        "choose another file with --store sqlite:FILE");
    }
    if (version < 0) {
        return sql_damaged(s, err, "negative schema version");
    }
    if (version != SCHEMA_VERSION) {
        const bool is_newer = version > SCHEMA_VERSION;
        _cleanup_(freep) char *reason =
            xasprintf("written by a %s (schema %lld, this program reads %d)",
                      is_newer ? "newer benchd" : "benchd from before its first release",
                      (long long)version, SCHEMA_VERSION);
        return sql_fail(s, err, is_newer ? EPROTONOSUPPORT : EPROTO, reason,
                        is_newer ? "use the newer program, or another file"
                                 : "move it away, or choose another file with --store sqlite:FILE");
    }
    return 1;
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

int schema_create(struct sqlite_store *s, struct err *err)
{
    _cleanup_(freep) char *ids = xasprintf("PRAGMA application_id = %d; PRAGMA user_version = %d",
                                           SCHEMA_APPLICATION, SCHEMA_VERSION);
    const int r = sql_exec(s, schema_sql, err);
    return r < 0 ? r : sql_exec(s, ids, err);
}

/* In one transaction; another process may be faster. */
static int make_tables(struct sqlite_store *s, struct err *err)
{
    const int r = schema_accept(s, err);
    return r != 0 ? r : schema_create(s, err);
}

int schema_prepare(struct sqlite_store *s, struct err *err)
{
    int64_t n_heads = 0; /* the file of a run (run_file.h) is only read: it has a digest */
    int r = schema_accept(s, err);
    if (r > 0) {
        r = sql_get_int(s, &n_heads, err, "SELECT count(*) FROM sqlite_schema WHERE name = 'file'",
                        "");
        s->is_exported = n_heads > 0;
        return r < 0 || n_heads == 0 ? r : sql_exec(s, "PRAGMA query_only = ON", err);
    }
    if (r < 0) {
        return r;
    }
    _cleanup_(fd_close) int lock = lock_folder(s);
    (void)lock; /* held until the end of this function */
    r = sql_exec(s, "PRAGMA journal_mode = WAL", err);
    r = r < 0 ? r : sql_in_transaction(s, err, make_tables(s, err));
    return r < 0 ? r : 0;
}
