/* The replicas of an attempt in the SQLite store: one row, packed
 * (replica_pack.h) and compressed. */
#include "store/sqlite_internal.h"

#include <string.h>

#include "base/mem.h"
#include "store/replica_pack.h"

int replicas_pack(const struct attempt_row *row, struct packed *ret, struct err *err)
{
    struct buf raw = BUF_INIT;
    int r = replica_pack(row, &raw, err);
    if (r >= 0 && raw.len > BLOB_MAX_BYTES) {
        r = err_set(err, E2BIG, "its replicas: %zu bytes are more than %zu", raw.len,
                    BLOB_MAX_BYTES);
    }
    r = r < 0 ? r : blob_pack(raw.data, raw.len, ret, err);
    buf_done(&raw);
    return r;
}

int replicas_insert(struct sqlite_store *s, const char *uid, const struct attempt_id *id,
                    const struct packed *packed, struct err *err)
{
    return sql_run(s, err,
                   "INSERT INTO replicas (run_uid, point, trial, attempt, zstd) "
                   "VALUES (?, ?, ?, ?, ?)",
                   "siiib", uid, (int64_t)id->point, (int64_t)id->trial, (int64_t)id->number,
                   packed->data, packed->len);
}

int replicas_read(struct sqlite_store *s, sqlite3_stmt *q, int column, struct attempt_row *row,
                  struct err *err)
{
    char *raw = NULL;
    size_t len = 0;
    int r = blob_unpack(s, q, column, "the replicas of an attempt", &raw, &len, err);
    if (r < 0) {
        return r;
    }
    struct err fault = {0};
    r = replica_unpack(raw, len, row, &fault);
    free(raw);
    return r < 0 ? sql_damaged(s, err, fault.msg) : 0;
}

/* ---- from schema 3, which had a row each ---- */

/* Rows without their attempt belong to nothing: somebody deleted it with foreign keys off. */
#define DROP_ORPHANS                                                                               \
    "DELETE FROM replica WHERE NOT EXISTS (SELECT 1 FROM attempt a WHERE "                         \
    "a.run_uid = replica.run_uid AND a.point = replica.point AND a.trial = replica.trial AND "     \
    "a.attempt = replica.attempt)"
/* Leaves the rows of attempts that cannot be read. */
#define DROP_MOVED                                                                                 \
    "DELETE FROM replica WHERE EXISTS (SELECT 1 FROM replicas n WHERE "                            \
    "n.run_uid = replica.run_uid AND n.point = replica.point AND n.trial = replica.trial AND "     \
    "n.attempt = replica.attempt AND length(n.zstd) > 0)"

struct old_attempt {
    char *uid; /* owned; NULL: none yet */
    struct attempt_row row;
    bool is_damaged;
};

static void old_attempt_done(struct old_attempt *old)
{
    free(old->uid);
    attempt_row_done(&old->row);
    *old = (struct old_attempt){0};
}

/* One that is damaged becomes a row that cannot be unpacked: the results of its run cannot be read,
 * as before, and the attempt is not mistaken for one without replicas. */
static int write_old(struct sqlite_store *s, struct old_attempt *old, struct err *err)
{
    static const struct packed nothing = {"", 0};
    struct packed packed = {0};
    int r = 0;
    if (old->uid != NULL && old->is_damaged) {
        r = replicas_insert(s, old->uid, &old->row.id, &nothing, err);
    } else if (old->uid != NULL && (r = replicas_pack(&old->row, &packed, err)) >= 0) {
        r = replicas_insert(s, old->uid, &old->row.id, &packed, err);
    }
    free(packed.data);
    old_attempt_done(old);
    return r;
}

static int read_old_id(struct sqlite_store *s, sqlite3_stmt *q, struct attempt_id *ret,
                       struct err *err)
{
    int r = sql_u32(s, q, 1, &ret->point, err);
    r = r < 0 ? r : sql_u32(s, q, 2, &ret->trial, err);
    return r < 0 ? r : sql_u32(s, q, 3, &ret->number, err);
}

/* False: the row is damaged. */
static bool read_old(struct sqlite_store *s, sqlite3_stmt *q, const struct attempt_id *id,
                     struct replica_row *ret)
{
    struct replica_row row = {.id.attempt = *id};
    const char *text = (const char *)sqlite3_column_text(q, 4);
    const int role = text == NULL ? -1 : role_from_string(text);
    if (role < 0 || sql_u32(s, q, 5, &row.id.index, NULL) < 0) {
        return false;
    }
    row.id.role = (enum role)role;
    row.exit_code = sqlite3_column_int(q, 6);
    row.signal = sqlite3_column_int(q, 7);
    row.failure = sql_text_dup(q, 8);
    row.summary_json = sql_text_dup(q, 9);
    row.environment_json = sql_text_dup(q, 10);
    row.log_bytes = (uint64_t)sqlite3_column_int64(q, 11);
    *ret = row;
    return true;
}

/* Adds the row to `old`, or writes that one first if the row is another attempt's. */
static int move_old(struct sqlite_store *s, sqlite3_stmt *q, struct old_attempt *old,
                    bool *ret_is_damaged, struct err *err)
{
    const char *uid = (const char *)sqlite3_column_text(q, 0);
    struct attempt_id id;
    if (read_old_id(s, q, &id, NULL) < 0) {
        *ret_is_damaged = true; /* as its attempt: nothing to write, list_attempts finds out */
        return 0;
    }
    int r = 0;
    if (old->uid == NULL || strcmp(old->uid, uid) != 0 || !attempt_id_eq(&old->row.id, &id)) {
        r = write_old(s, old, err);
        *old = (struct old_attempt){.uid = xstrdup(uid), .row = {.id = id}};
    }
    struct replica_row rep;
    if (read_old(s, q, &id, &rep)) {
        *vec_push(&old->row.replicas) = rep;
    } else {
        old->is_damaged = *ret_is_damaged = true;
    }
    return r;
}

int replicas_upgrade(struct sqlite_store *s, struct err *err)
{
    sqlite3_stmt *q = NULL;
    int r = sql_exec(s, DROP_ORPHANS, err);
    r = r < 0 ? r
              : sql_prepare(s, &q, err,
                            "SELECT run_uid, point, trial, attempt, role, replica_index, "
                            "exit_code, signal, failure, summary, environment, log_bytes "
                            "FROM replica "
                            "ORDER BY run_uid, point, trial, attempt, role, replica_index",
                            "");
    struct old_attempt old = {0};
    bool is_damaged = false;
    while (r >= 0 && (r = sql_step(s, q, err)) > 0) {
        r = move_old(s, q, &old, &is_damaged, err);
    }
    r = r < 0 ? r : write_old(s, &old, err);
    old_attempt_done(&old);
    (void)sqlite3_finalize(q); /* before its table goes; repeats the last step's error */
    return r < 0 ? r : sql_exec(s, is_damaged ? DROP_MOVED : "DROP TABLE replica", err);
}
