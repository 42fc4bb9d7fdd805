/* The replicas of an attempt in the SQLite store: one row, packed
 * (replica_pack.h) and compressed. */
#include "store/sqlite_store.h"

#include <string.h>

#include "base/mem.h"
#include "store/replica_pack.h"

int replicas_pack(const struct attempt_row *row, struct packed *ret, struct err *err)
{
    _cleanup_(buf_done) struct buf raw = BUF_INIT;
    int r = replica_pack(row, &raw, err);
    if (r >= 0 && raw.len > BLOB_MAX_BYTES) {
        r = err_set(err, E2BIG, "its replicas: %zu bytes are more than %zu", raw.len,
                    BLOB_MAX_BYTES);
    }
    return r < 0 ? r : blob_pack(raw.data, raw.len, ret, err);
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
