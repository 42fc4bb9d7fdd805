/* Attempts, their replicas and logs in the SQLite store. An attempt is written once, completely; a
 * log is compressed before the transaction begins, so that the write lock is held only to write. */
#include "store/sqlite_internal.h"

#include <string.h>

#include <zstd.h>

#include "base/mem.h"

#define ZSTD_LEVEL 3
#define LOG_MAX_BYTES ((size_t)1 << 30) /* limit for the length that a stored log claims */

#define KEY "run_uid = ?1 AND point = ?2 AND trial = ?3 AND attempt = ?4"

static int insert_attempt(struct sqlite_store *s, const char *uid, const struct attempt_row *row,
                          struct err *err)
{
    int64_t n = 0;
    int r = sql_count_runs(s, uid, &n, err);
    if (r < 0) {
        return r;
    }
    if (n == 0) {
        return err_set(err, ENOENT, "store '%s': there is no run '%s'", s->path, uid);
    }
    return sql_run(s, err,
                   "INSERT INTO attempt (run_uid, point, trial, attempt, outcome, started_unix_ms, "
                   "ended_unix_ms, error, simulated) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) "
                   "ON CONFLICT DO NOTHING",
                   "siiisiisi", uid, (int64_t)row->id.point, (int64_t)row->id.trial,
                   (int64_t)row->id.number, attempt_outcome_to_string(row->outcome),
                   row->started_unix_ms, row->ended_unix_ms, row->error, (int64_t)row->simulated);
}

static int insert_replica(struct sqlite_store *s, const char *uid, const struct attempt_row *row,
                          const struct replica_row *rep, struct err *err)
{
    return sql_run(s, err,
                   "INSERT INTO replica (run_uid, point, trial, attempt, role, replica_index, "
                   "exit_code, signal, failure, summary, environment, log_bytes) "
                   "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                   "siiisiiisssi", uid, (int64_t)row->id.point, (int64_t)row->id.trial,
                   (int64_t)row->id.number, role_to_string(rep->id.role), (int64_t)rep->id.index,
                   (int64_t)rep->exit_code, (int64_t)rep->signal, rep->failure, rep->summary_json,
                   rep->environment_json, (int64_t)rep->log_bytes);
}

struct packed_log {
    void *data;
    size_t len;
};

static int pack_log(const struct replica_log *log, struct packed_log *ret, struct err *err)
{
    if (log->len > LOG_MAX_BYTES) {
        return err_set(err, E2BIG, "log of %s/%u: %zu bytes are more than %zu",
                       role_to_string(log->id.role), log->id.index, log->len, LOG_MAX_BYTES);
    }
    size_t cap = ZSTD_compressBound(log->len);
    void *data = xmalloc(cap);
    size_t len = ZSTD_compress(data, cap, log->data, log->len, ZSTD_LEVEL);
    if (ZSTD_isError(len)) {
        free(data);
        return err_set(err, ENOTRECOVERABLE, "log of %s/%u: compress: %s",
                       role_to_string(log->id.role), log->id.index, ZSTD_getErrorName(len));
    }
    *ret = (struct packed_log){data, len};
    return 0;
}

static int write_attempt(struct sqlite_store *s, const char *uid, const struct attempt_row *row,
                         const struct replica_log *logs, const struct packed_log *packed,
                         size_t n_logs, struct err *err)
{
    int r = insert_attempt(s, uid, row, err);
    if (r <= 0) {
        return r; /* 0: it is stored already */
    }
    if (row->simulated) {
        r = sql_run(s, err, "UPDATE run SET simulated = 1 WHERE uid = ?", "s", uid);
    }
    for (size_t i = 0; i < row->replicas.len && r >= 0; i++) {
        r = insert_replica(s, uid, row, &row->replicas.items[i], err);
    }
    for (size_t i = 0; i < n_logs && r >= 0; i++) {
        r = sql_run(s, err,
                    "INSERT INTO log (run_uid, point, trial, attempt, role, replica_index, zstd) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?)",
                    "siiisib", uid, (int64_t)row->id.point, (int64_t)row->id.trial,
                    (int64_t)row->id.number, role_to_string(logs[i].id.role),
                    (int64_t)logs[i].id.index, packed[i].data, packed[i].len);
    }
    return r;
}

int attempts_save(struct store *base, const char *uid, const struct attempt_row *row,
                  const struct replica_log *logs, size_t n_logs, struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(base);
    struct packed_log *packed = xnew_array(struct packed_log, n_logs + 1);
    int r = 0;
    for (size_t i = 0; i < n_logs && r >= 0; i++) {
        r = pack_log(&logs[i], &packed[i], err);
    }
    if (r >= 0 && (r = sql_begin(s, err)) >= 0) {
        r = sql_end(s, write_attempt(s, uid, row, logs, packed, n_logs, err), err);
    }
    for (size_t i = 0; i < n_logs; i++) {
        free(packed[i].data);
    }
    free(packed);
    return r < 0 ? err_wrap(err, r, "save point %u trial %u attempt %u", row->id.point,
                            row->id.trial, row->id.number)
                 : 0;
}

/* Columns 0..2 of every query below: point, trial, attempt. */
static int read_key(struct sqlite_store *s, sqlite3_stmt *q, uint32_t *point, uint32_t *trial,
                    uint32_t *attempt, struct err *err)
{
    int r = sql_u32(s, q, 0, point, err);
    if (r < 0 || (r = sql_u32(s, q, 1, trial, err)) < 0) {
        return r;
    }
    return sql_u32(s, q, 2, attempt, err);
}

static int read_attempt(struct sqlite_store *s, sqlite3_stmt *q, struct attempt_row *ret,
                        struct err *err)
{
    struct attempt_row row = {0};
    int r = read_key(s, q, &row.id.point, &row.id.trial, &row.id.number, err);
    if (r < 0) {
        return r;
    }
    const char *text = (const char *)sqlite3_column_text(q, 3);
    int outcome = text == NULL ? -EINVAL : attempt_outcome_from_string(text);
    if (outcome < 0) {
        return sql_damaged(s, err, "unknown outcome of an attempt");
    }
    row.outcome = (enum attempt_outcome)outcome;
    row.started_unix_ms = sqlite3_column_int64(q, 4);
    row.ended_unix_ms = sqlite3_column_int64(q, 5);
    row.error = sql_text_dup(q, 6);
    row.simulated = sqlite3_column_int64(q, 7) != 0;
    *ret = row;
    return 0;
}

static int read_replica(struct sqlite_store *s, sqlite3_stmt *q, struct replica_row *ret,
                        struct err *err)
{
    struct replica_row row = {0};
    int r =
        read_key(s, q, &row.id.attempt.point, &row.id.attempt.trial, &row.id.attempt.number, err);
    if (r < 0 || (r = sql_u32(s, q, 4, &row.id.index, err)) < 0) {
        return r;
    }
    const char *text = (const char *)sqlite3_column_text(q, 3);
    int role = text == NULL ? -EINVAL : role_from_string(text);
    if (role < 0) {
        return sql_damaged(s, err, "unknown role of a replica");
    }
    row.id.role = (enum role)role;
    row.exit_code = sqlite3_column_int(q, 5);
    row.signal = sqlite3_column_int(q, 6);
    row.failure = sql_text_dup(q, 7);
    row.summary_json = sql_text_dup(q, 8);
    row.environment_json = sql_text_dup(q, 9);
    row.log_bytes = (uint64_t)sqlite3_column_int64(q, 10);
    *ret = row;
    return 0;
}

struct attempts {
    VEC(struct attempt_row) list;
};

static int list_attempt_rows(struct sqlite_store *s, const char *uid, struct attempts *rows,
                             struct err *err)
{
    _cleanup_(sql_finalizep) sqlite3_stmt *q = NULL;
    int r = sql_prepare(s, &q, err,
                        "SELECT point, trial, attempt, outcome, started_unix_ms, ended_unix_ms, "
                        "error, simulated FROM attempt WHERE run_uid = ? "
                        "ORDER BY point, trial, attempt",
                        "s", uid);
    while (r >= 0 && (r = sql_step(s, q, err)) > 0) {
        struct attempt_row row;
        if ((r = read_attempt(s, q, &row, err)) >= 0) {
            *vec_push(&rows->list) = row;
        }
    }
    return r;
}

static bool same_attempt(const struct attempt_row *a, const struct replica_id *id)
{
    return attempt_id_eq(&a->id, &id->attempt);
}

/* Both lists have the same order: one walk puts every replica into its attempt. */
static int list_replica_rows(struct sqlite_store *s, const char *uid, struct attempts *rows,
                             struct err *err)
{
    _cleanup_(sql_finalizep) sqlite3_stmt *q = NULL;
    int r = sql_prepare(s, &q, err,
                        "SELECT point, trial, attempt, role, replica_index, exit_code, signal, "
                        "failure, summary, environment, log_bytes FROM replica WHERE run_uid = ? "
                        "ORDER BY point, trial, attempt, role, replica_index",
                        "s", uid);
    size_t i = 0;
    while (r >= 0 && (r = sql_step(s, q, err)) > 0) {
        struct replica_row row;
        if ((r = read_replica(s, q, &row, err)) < 0) {
            break;
        }
        while (i < rows->list.len && !same_attempt(&rows->list.items[i], &row.id)) {
            i++;
        }
        if (i == rows->list.len) {
            free(row.failure);
            free(row.summary_json);
            free(row.environment_json);
            return sql_damaged(s, err, "a replica without its attempt");
        }
        *vec_push(&rows->list.items[i].replicas) = row;
    }
    return r;
}

int attempts_list(struct store *base, const char *uid, struct attempt_row **ret, size_t *ret_n,
                  struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(base);
    struct attempts rows = {0};
    /* One read transaction, which may be the caller's: both queries see the same moment. */
    const bool is_own = sqlite3_get_autocommit(s->db) != 0;
    int r = is_own ? sql_exec(s, "BEGIN", err) : 0;
    if (r < 0) {
        return r;
    }
    r = list_attempt_rows(s, uid, &rows, err);
    if (r >= 0) {
        r = list_replica_rows(s, uid, &rows, err);
    }
    r = is_own ? sql_end(s, r, err) : r;
    if (r < 0) {
        vec_each (struct attempt_row, row, &rows.list) {
            attempt_row_done(row);
        }
        vec_done(&rows.list);
        return r;
    }
    *ret = rows.list.items;
    *ret_n = rows.list.len;
    return 0;
}

int attempts_list_ids(struct store *base, const char *uid, struct attempt_id **ret, size_t *ret_n,
                      struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(base);
    _cleanup_(sql_finalizep) sqlite3_stmt *q = NULL;
    VEC(struct attempt_id) ids = {0};
    int r = sql_prepare(s, &q, err,
                        "SELECT point, trial, attempt FROM attempt WHERE run_uid = ? "
                        "ORDER BY point, trial, attempt",
                        "s", uid);
    while (r >= 0 && (r = sql_step(s, q, err)) > 0) {
        struct attempt_id *id = vec_push(&ids);
        r = read_key(s, q, &id->point, &id->trial, &id->number, err);
    }
    if (r < 0) {
        vec_done(&ids);
        return r;
    }
    *ret = ids.items;
    *ret_n = ids.len;
    return 0;
}

static int unpack_log(struct sqlite_store *s, const void *packed, size_t packed_len, char **ret,
                      size_t *ret_len, struct err *err)
{
    unsigned long long len = ZSTD_getFrameContentSize(packed, packed_len);
    if (len == ZSTD_CONTENTSIZE_ERROR || len == ZSTD_CONTENTSIZE_UNKNOWN || len > LOG_MAX_BYTES) {
        return sql_damaged(s, err, "a log's length");
    }
    char *text = xmalloc((size_t)len + 1);
    size_t got = ZSTD_decompress(text, (size_t)len, packed, packed_len);
    if (ZSTD_isError(got) || got != len) {
        free(text);
        return sql_damaged(s, err, "a log does not unpack");
    }
    text[len] = '\0';
    *ret = text;
    *ret_len = (size_t)len;
    return 0;
}

int attempts_get_log(struct store *base, const char *uid, const struct replica_id *id, char **ret,
                     size_t *ret_len, struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(base);
    _cleanup_(sql_finalizep) sqlite3_stmt *q = NULL;
    int r = sql_prepare(s, &q, err,
                        "SELECT zstd FROM log WHERE " KEY " AND role = ?5 AND replica_index = ?6",
                        "siiisi", uid, (int64_t)id->attempt.point, (int64_t)id->attempt.trial,
                        (int64_t)id->attempt.number, role_to_string(id->role), (int64_t)id->index);
    if (r < 0 || (r = sql_step(s, q, err)) < 0) {
        return r;
    }
    if (r == 0) {
        return err_set(err, ENOENT,
                       "store '%s': there is no log of %s/%u of point %u, trial %u, "
                       "attempt %u",
                       s->path, role_to_string(id->role), id->index, id->attempt.point,
                       id->attempt.trial, id->attempt.number);
    }
    return unpack_log(s, sqlite3_column_blob(q, 0), (size_t)sqlite3_column_bytes(q, 0), ret,
                      ret_len, err);
}
