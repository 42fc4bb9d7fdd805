/* The replicas of an attempt in the SQLite store: one row, packed (replica_pack.h) and compressed. */
#include "store/sqlite_internal.h"

#include <string.h>

#include <zstd.h>

#include "base/mem.h"
#include "store/replica_pack.h"

int blob_pack(const void *data, size_t len, struct packed *ret, struct err *err)
{
    const size_t cap = ZSTD_compressBound(len);
    void *packed = xmalloc(cap);
    const size_t packed_len = ZSTD_compress(packed, cap, data, len, BLOB_ZSTD_LEVEL);
    if (ZSTD_isError(packed_len)) {
        free(packed);
        return err_set(err, ENOTRECOVERABLE, "compress: %s", ZSTD_getErrorName(packed_len));
    }
    *ret = (struct packed){packed, packed_len};
    return 0;
}

int blob_unpack(struct sqlite_store *s, sqlite3_stmt *q, int column, const char *what, char **ret,
                size_t *ret_len, struct err *err)
{
    const void *packed = sqlite3_column_blob(q, column);
    const size_t packed_len = (size_t)sqlite3_column_bytes(q, column);
    const unsigned long long len = ZSTD_getFrameContentSize(packed, packed_len);
    _cleanup_(freep) char *fault = xasprintf("%s cannot be unpacked", what);
    if (len == ZSTD_CONTENTSIZE_ERROR || len == ZSTD_CONTENTSIZE_UNKNOWN || len > BLOB_MAX_BYTES) {
        return sql_damaged(s, err, fault);
    }
    char *text = xmalloc((size_t)len + 1);
    const size_t got = ZSTD_decompress(text, (size_t)len, packed, packed_len);
    if (ZSTD_isError(got) || got != len) {
        free(text);
        return sql_damaged(s, err, fault);
    }
    text[len] = '\0';
    *ret = text;
    *ret_len = (size_t)len;
    return 0;
}

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

static int write_old(struct sqlite_store *s, const char *uid, struct attempt_row *row,
                     struct err *err)
{
    struct packed packed = {0};
    int r = uid == NULL ? 0 : replicas_pack(row, &packed, err);
    r = r < 0 || uid == NULL ? r : replicas_insert(s, uid, &row->id, &packed, err);
    free(packed.data);
    attempt_row_done(row);
    return r;
}

static int read_old(struct sqlite_store *s, sqlite3_stmt *q, struct replica_row *ret,
                    struct err *err)
{
    struct replica_row row = {0};
    int r = sql_u32(s, q, 1, &row.id.attempt.point, err);
    r = r < 0 ? r : sql_u32(s, q, 2, &row.id.attempt.trial, err);
    r = r < 0 ? r : sql_u32(s, q, 3, &row.id.attempt.number, err);
    r = r < 0 ? r : sql_u32(s, q, 5, &row.id.index, err);
    const char *text = (const char *)sqlite3_column_text(q, 4);
    const int role = text == NULL ? -1 : role_from_string(text);
    if (r < 0 || role < 0) {
        return r < 0 ? r : sql_damaged(s, err, "unknown role of a replica");
    }
    row.id.role = (enum role)role;
    row.exit_code = sqlite3_column_int(q, 6);
    row.signal = sqlite3_column_int(q, 7);
    row.failure = sql_text_dup(q, 8);
    row.summary_json = sql_text_dup(q, 9);
    row.environment_json = sql_text_dup(q, 10);
    row.log_bytes = (uint64_t)sqlite3_column_int64(q, 11);
    *ret = row;
    return 0;
}

int replicas_upgrade(struct sqlite_store *s, struct err *err)
{
    sqlite3_stmt *q = NULL;
    int r = sql_prepare(s, &q, err,
                        "SELECT run_uid, point, trial, attempt, role, replica_index, exit_code, "
                        "signal, failure, summary, environment, log_bytes FROM replica "
                        "ORDER BY run_uid, point, trial, attempt, role, replica_index",
                        "");
    char *uid = NULL; /* of the attempt whose replicas are collected; NULL: none yet */
    struct attempt_row row = {0};
    while (r >= 0 && (r = sql_step(s, q, err)) > 0) {
        struct replica_row rep;
        const char *next_uid = (const char *)sqlite3_column_text(q, 0);
        if ((r = read_old(s, q, &rep, err)) < 0) {
            break;
        }
        if (uid == NULL || strcmp(uid, next_uid) != 0 || !attempt_id_eq(&row.id, &rep.id.attempt)) {
            r = write_old(s, uid, &row, err);
            free(uid);
            uid = xstrdup(next_uid);
            row = (struct attempt_row){.id = rep.id.attempt};
        }
        *vec_push(&row.replicas) = rep;
    }
    r = r < 0 ? r : write_old(s, uid, &row, err);
    attempt_row_done(&row);
    free(uid);
    (void)sqlite3_finalize(q); /* before its table goes; repeats the last step's error */
    return r < 0 ? r : sql_exec(s, "DROP TABLE replica", err);
}
