/* Statements, transactions and error texts of the SQLite store, see sqlite_store.h. */
#include "store/sqlite_store.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

int sql_fail(struct sqlite_store *s, struct err *err, int code, const char *reason, const char *fix)
{
    if (s->is_file) { /* whoever reads it has its name, and other words for what to do */
        return err_set(err, code, "%s", reason);
    }
    return err_set(err, code, "store '%s': %s%s%s", s->path, reason, fix[0] == '\0' ? "" : "; ",
                   fix);
}

#define FREE_SOME "free some space, then try again"
#define ANOTHER_FILE "choose another file with --store sqlite:FILE"

static int error_io(struct sqlite_store *s, struct err *err)
{
    int system = sqlite3_system_errno(s->db);
    if (system == ENOSPC || system == EDQUOT) {
        s->is_full = true;
        return sql_fail(s, err, ENOSPC, "disk full", FREE_SOME);
    }
    if (system == EROFS || system == EACCES || system == EPERM) {
        return sql_fail(s, err, system, strerror(system), ANOTHER_FILE);
    }
    /* ENOENT is about a file next to the store; the store itself was found before. */
    if (system == 0 || system == ENOENT) {
        return sql_fail(s, err, EIO, sqlite3_errmsg(s->db), "");
    }
    return err_set_errno(err, system, "store '%s': %s", s->path, sqlite3_errmsg(s->db));
}

int sql_error(struct sqlite_store *s, int rc, struct err *err)
{
    static const struct {
        int rc, code;
        const char *reason, *fix;
    } rows[] = {
        {SQLITE_FULL, ENOSPC, "disk full", FREE_SOME},
        {SQLITE_CORRUPT, EBADMSG, "the file is damaged", "move it away or restore a copy"},
        {SQLITE_NOTADB, EBADMSG, "not a benchd store (not a SQLite file)", ANOTHER_FILE},
        {SQLITE_READONLY, EROFS, "the file is read-only", ANOTHER_FILE},
        {SQLITE_BUSY, EBUSY, "another process holds the write lock", "try again"},
        {SQLITE_LOCKED, EBUSY, "another process holds the write lock", "try again"},
        {SQLITE_INTERRUPT, ECANCELED, "reading took too long", "try again later"},
        {SQLITE_NOMEM, ENOMEM, "out of memory", ""},
        {SQLITE_TOOBIG, E2BIG, "a string or log is too long for SQLite", ""},
    };
    const int primary = rc & 0xff; /* of an extended one */
    if (primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN || primary == SQLITE_PERM) {
        return error_io(s, err);
    }
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (primary == rows[i].rc) {
            s->is_full |= primary == SQLITE_FULL;
            const bool is_run = primary == SQLITE_READONLY && s->is_exported;
            return sql_fail(s, err, rows[i].code,
                            is_run ? "an exported run is only read" : rows[i].reason, rows[i].fix);
        }
    }
    /* A statement that fails in itself, for one run: the disk has nothing to do with it. */
    return sql_fail(s, err, ENOTRECOVERABLE, sqlite3_errmsg(s->db), "");
}

int sql_damaged(struct sqlite_store *s, struct err *err, const char *what)
{
    _cleanup_(freep) char *reason = xasprintf("the file is damaged (%s)", what);
    return sql_fail(s, err, EBADMSG, reason, "move it away or restore a copy");
}

int sql_exec(struct sqlite_store *s, const char *sql, struct err *err)
{
    const int64_t started_ns = clock_monotonic_ns();
    int rc = sqlite3_exec(s->db, sql, NULL, NULL, NULL);
    histogram_add(&s->times, clock_monotonic_ns() - started_ns);
    return rc == SQLITE_OK ? 0 : sql_error(s, rc, err);
}

/* `texts`: SQLITE_TRANSIENT copies them. */
static int bind_all(sqlite3_stmt *stmt, sqlite3_destructor_type texts, const char *types,
                    va_list ap)
{
    int rc = SQLITE_OK;
    for (int i = 1; types[i - 1] != '\0' && rc == SQLITE_OK; i++) {
        switch (types[i - 1]) {
        case 's':
            rc = sqlite3_bind_text(stmt, i, va_arg(ap, const char *), -1, texts);
            break;
        case 'i':
            rc = sqlite3_bind_int64(stmt, i, va_arg(ap, int64_t));
            break;
        case 'r':
            rc = sqlite3_bind_double(stmt, i, va_arg(ap, double));
            break;
        case 'b': {
            const void *data = va_arg(ap, const void *);
            size_t len = va_arg(ap, size_t);
            /* The caller keeps the bytes until the statement has run: no second copy of a log. */
            rc = sqlite3_bind_blob64(stmt, i, data, len, SQLITE_STATIC);
            break;
        }
        default:
            return SQLITE_MISUSE;
        }
    }
    return rc;
}

int sql_bind(struct sqlite_store *s, sqlite3_stmt *stmt, struct err *err, const char *types, ...)
{
    va_list ap;
    va_start(ap, types);
    const int rc = bind_all(stmt, SQLITE_STATIC, types, ap);
    va_end(ap);
    return rc == SQLITE_OK ? 0 : sql_error(s, rc, err);
}

void sql_rest(sqlite3_stmt *stmt)
{
    (void)sqlite3_reset(stmt); /* repeats the error of the last step, which was reported there */
    (void)sqlite3_clear_bindings(stmt);
}

int sql_prepare(struct sqlite_store *s, sqlite3_stmt **ret, struct err *err, const char *sql,
                const char *types, ...)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(s->db, sql, -1, &stmt, NULL);
    va_list ap;
    va_start(ap, types);
    rc = rc != SQLITE_OK ? rc : bind_all(stmt, SQLITE_TRANSIENT, types, ap);
    va_end(ap);
    if (rc != SQLITE_OK) {
        int r = sql_error(s, rc, err);
        sqlite3_finalize(stmt);
        return r;
    }
    *ret = stmt;
    return 0;
}

int sql_step(struct sqlite_store *s, sqlite3_stmt *stmt, struct err *err)
{
    const bool is_first = !sqlite3_stmt_busy(stmt);
    const int64_t started_ns = is_first ? clock_monotonic_ns() : 0;
    int rc = sqlite3_step(stmt);
    if (is_first) {
        histogram_add(&s->times, clock_monotonic_ns() - started_ns);
    }
    if (rc == SQLITE_ROW) {
        return 1;
    }
    return rc == SQLITE_DONE ? 0 : sql_error(s, rc, err);
}

int sql_finish(struct sqlite_store *s, int r, sqlite3_stmt *stmt, struct err *err)
{
    while (r >= 0 && (r = sql_step(s, stmt, err)) > 0) {
    }
    sql_finalizep(&stmt);
    return r < 0 ? r : sqlite3_changes(s->db);
}

int sql_take_int(int r, sqlite3_stmt *stmt, int64_t *ret)
{
    if (r >= 0) {
        *ret = r > 0 ? sqlite3_column_int64(stmt, 0) : 0;
    }
    sql_finalizep(&stmt);
    return r < 0 ? r : 0;
}

int sql_no_run(const struct sqlite_store *s, const char *uid, struct err *err)
{
    return err_set(err, ENOENT, "store '%s': there is no run '%s'", s->path, uid);
}

int sql_changed_run(const struct sqlite_store *s, const char *uid, int r, struct err *err)
{
    return r < 0 ? r : r == 0 ? sql_no_run(s, uid, err) : 0;
}

int sql_count_runs(struct sqlite_store *s, const char *uid, int64_t *ret, struct err *err)
{
    return sql_get_int(s, ret, err, "SELECT count(*) FROM run WHERE uid = ?", "s", uid);
}

static bool is_utf8(const char *text)
{
    size_t n = 1;
    for (const char *at = text; at != NULL && *at != '\0' && n > 0; at += n) {
        n = utf8_length(at);
    }
    return n > 0;
}

static bool read_text(sqlite3_stmt *q, int column, char type, void *to)
{
    const char *text = (const char *)sqlite3_column_text(q, column);
    if (type == 'b') {
        *(const char **)to = text;
    } else {
        *(char **)to = xstrdup_or_null(text);
    }
    return (type != 's' || text != NULL) && (type != 't' || is_utf8(text));
}

static bool read_real(sqlite3_stmt *q, int column, char type, double *to)
{
    const bool is_null = sqlite3_column_type(q, column) == SQLITE_NULL;
    *to = is_null ? NAN : sqlite3_column_double(q, column);
    return is_null || (isfinite(*to) && (type == 'r' || *to > 0));
}

static bool read_whole(sqlite3_stmt *q, int column, char type, void *to)
{
    const int64_t value = sqlite3_column_int64(q, column);
    switch (type) {
    case 'f':
        *(bool *)to = value != 0;
        return value == 0 || value == 1;
    case 'i':
        *(int32_t *)to = (int32_t)value;
        return value == (int32_t)value;
    case 'u':
        *(uint32_t *)to = (uint32_t)value;
        return value == (uint32_t)value;
    default:
        *(int64_t *)to = value;
        return type == 'l' || value >= 0;
    }
}

int sql_read(struct sqlite_store *s, sqlite3_stmt *q, int first, struct err *err, const char *types,
             ...)
{
    int column = first;
    bool is_good = true;
    va_list ap;
    va_start(ap, types);
    for (const char *type = types; *type != '\0' && is_good; type++, column++) {
        void *to = va_arg(ap, void *); /* all pointers to objects are passed alike */
        is_good = strchr("sntb", *type) != NULL ? read_text(q, column, *type, to)
                  : strchr("rp", *type) != NULL ? read_real(q, column, *type, to)
                                                : read_whole(q, column, *type, to);
    }
    va_end(ap);
    return is_good ? 0 : sql_damaged(s, err, sqlite3_column_name(q, column - 1));
}

int sql_begin(struct sqlite_store *s, struct err *err)
{
    if (s->is_outer) {
        return 0;
    }
    /* IMMEDIATE takes the write lock here, where waiting for it is safe; a transaction that begins
     * as a reader could fail half-way when another process writes first. */
    int r = sql_exec(s, "BEGIN IMMEDIATE", err);
    s->is_writing = r >= 0;
    return r;
}

int sql_end(struct sqlite_store *s, int r, struct err *err)
{
    if (s->is_outer) {
        return r;
    }
    if (r >= 0) {
        int committed = sql_exec(s, "COMMIT", err);
        if (committed >= 0) {
            s->is_full = s->is_full && !s->is_writing;
            s->is_writing = false;
            return r;
        }
        r = committed;
    }
    if (!sqlite3_get_autocommit(s->db)) { /* some errors have rolled back already */
        (void)sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL); /* r has the reason */
    }
    s->is_writing = false;
    return r;
}

int sql_begin_all(struct store *base, struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(base);
    const int r = sql_begin(s, err);
    s->is_outer = r >= 0;
    return r;
}

int sql_end_all(struct store *base, int r, struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(base);
    s->is_outer = false;
    return sql_end(s, r, err);
}
