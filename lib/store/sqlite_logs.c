/* Logs in the SQLite store. The logs of a role's replicas share a row, packed (log_pack.h), as long
 * as they fit one pack: a row has a page of its own at least. A longer log has a row for itself, of
 * several packs. A row is found by its first replica. Rows of a file of version 8 or earlier are
 * one log each, as its bytes. */
#include "store/sqlite_internal.h"

#include <string.h>

#include "base/mem.h"
#include "store/log_pack.h"

#define PACKED 1 /* column `packed`: log_pack.h; NULL: plain bytes */
/* What a pack has at most: a number is 2 bytes with what separates it from the next, and takes up
 * to 10; all else is a part of the logs, or a few bytes a piece. */
#define PACK_MAX_BYTES (8 * LOG_PACK_MAX_BYTES)

static int by_role_and_index(const void *a, const void *b)
{
    const struct replica_id *x = &(*(const struct replica_log *const *)a)->id;
    const struct replica_id *y = &(*(const struct replica_log *const *)b)->id;
    const int r = strcmp(role_to_string(x->role), role_to_string(y->role));
    return r != 0 ? r : (x->index > y->index) - (x->index < y->index);
}

void logs_done(struct packed_logs *logs)
{
    vec_each (struct packed_log, row, &logs->rows) {
        free(row->zstd.data);
    }
    vec_done(&logs->rows);
}

static int append_pack(const struct log_piece *pieces, size_t n, struct packed *out,
                       struct err *err)
{
    struct log_packed pack;
    log_pack(pieces, n, &pack);
    const int r = blob_append(
        out, &(struct blob){pack.bytes.data, pack.bytes.len, pack.breaks.items, pack.breaks.len},
        err);
    log_packed_done(&pack);
    return r;
}

/* How much of a long log a pack takes: whole lines, if one ends in it. */
static size_t part_of(const char *data, size_t len)
{
    if (len <= LOG_PACK_MAX_BYTES) {
        return len;
    }
    const char *newline = memrchr(data, '\n', LOG_PACK_MAX_BYTES);
    return newline == NULL ? LOG_PACK_MAX_BYTES : (size_t)(newline - data) + 1;
}

static int pack_long(const struct replica_log *log, struct packed *out, struct err *err)
{
    const char *at = log->data, *end = at + log->len;
    int r = 0;
    while (at < end && r >= 0) {
        const size_t len = part_of(at, (size_t)(end - at));
        r = append_pack(&(struct log_piece){log->id.index, at, len}, 1, out, err);
        at += len;
    }
    return r;
}

/* One row of the first of these logs, and those of its role after it that fit. Returns how many. */
static int pack_row(const struct replica_log *const *logs, size_t n, struct packed_logs *ret,
                    struct err *err)
{
    struct packed_log *row = vec_push(&ret->rows);
    *row = (struct packed_log){.role = logs[0]->id.role, .index = logs[0]->id.index};
    if (logs[0]->len > LOG_PACK_MAX_BYTES) {
        const int r = pack_long(logs[0], &row->zstd, err);
        return r < 0 ? r : 1;
    }
    VEC(struct log_piece) pieces = {0};
    size_t total = 0;
    for (size_t i = 0; i < n && i < LOG_PACK_MAX_PIECES && logs[i]->id.role == row->role &&
                       logs[i]->len <= LOG_PACK_MAX_BYTES - total;
         i++) {
        *vec_push(&pieces) = (struct log_piece){logs[i]->id.index, logs[i]->data, logs[i]->len};
        total += logs[i]->len;
    }
    const int r = append_pack(pieces.items, pieces.len, &row->zstd, err);
    const int n_taken = (int)pieces.len;
    vec_done(&pieces);
    return r < 0 ? r : n_taken;
}

static int check_logs(const struct replica_log *const *sorted, size_t n, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        const char *role = role_to_string(sorted[i]->id.role);
        if (sorted[i]->len > BLOB_MAX_BYTES) {
            return err_set(err, E2BIG, "log of %s/%u: %zu bytes are more than %zu", role,
                           sorted[i]->id.index, sorted[i]->len, BLOB_MAX_BYTES);
        }
        if (i > 0 && by_role_and_index(&sorted[i - 1], &sorted[i]) == 0) {
            return err_set(err, ENOTRECOVERABLE, "%s/%u has two logs", role, sorted[i]->id.index);
        }
    }
    return 0;
}

int logs_pack(const struct replica_log *logs, size_t n, struct packed_logs *ret, struct err *err)
{
    _cleanup_(freep) const struct replica_log **sorted =
        xnew_array(const struct replica_log *, n + 1);
    for (size_t i = 0; i < n; i++) {
        sorted[i] = &logs[i];
    }
    qsort(sorted, n, sizeof(sorted[0]), by_role_and_index);
    struct packed_logs packed = {0};
    int r = check_logs(sorted, n, err);
    for (size_t i = 0; i < n && r >= 0; i += (size_t)(r < 0 ? 0 : r)) {
        r = pack_row(&sorted[i], n - i, &packed, err);
    }
    if (r < 0) {
        logs_done(&packed);
        return r;
    }
    *ret = packed;
    return 0;
}

int logs_insert(struct sqlite_store *s, const char *uid, const struct attempt_id *id,
                const struct packed_logs *logs, struct err *err)
{
    int r = 0;
    for (size_t i = 0; i < logs->rows.len && r >= 0; i++) {
        const struct packed_log *row = &logs->rows.items[i];
        r = sql_run(s, err,
                    "INSERT INTO log (run_uid, point, trial, attempt, role, replica_index, zstd, "
                    "packed) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    "siiisibi", uid, (int64_t)id->point, (int64_t)id->trial, (int64_t)id->number,
                    role_to_string(row->role), (int64_t)row->index, row->zstd.data, row->zstd.len,
                    (int64_t)PACKED);
    }
    return r;
}

/* ---- and back ---- */

void log_cache_done(struct log_cache *cache)
{
    free(cache->packed.data);
    log_unpacked_done(&cache->logs);
    *cache = (struct log_cache){0};
}

/* Adds what a pack has of the log of `index`. Returns whether there was any. */
static bool take_pieces(const struct log_unpacked *logs, uint32_t index, struct buf *out)
{
    bool is_there = false;
    for (size_t i = 0; i < logs->n_pieces; i++) {
        if (logs->pieces[i].index == index) {
            buf_append(out, logs->pieces[i].data, logs->pieces[i].len);
            is_there = true;
        }
    }
    return is_there;
}

static int next_pack(struct sqlite_store *s, struct packed_part *rest, struct log_unpacked *ret,
                     struct err *err)
{
    char *bytes = NULL;
    size_t len = 0;
    int r = blob_next(s, rest, PACK_MAX_BYTES, "a log", &bytes, &len, err);
    if (r < 0) {
        return r;
    }
    struct err fault = {0};
    r = log_unpack(bytes, len, ret, &fault);
    free(bytes);
    return r < 0 ? sql_damaged(s, err, fault.msg) : 0;
}

/* A pack of few bytes can hold 4 MiB, and a row many packs: they have as much as a log may have,
 * and each has some of it. */
static int check_growth(struct sqlite_store *s, const struct log_unpacked *logs, bool is_only_pack,
                        size_t *total, struct err *err)
{
    const size_t before = *total;
    for (size_t i = 0; i < logs->n_pieces; i++) {
        *total += logs->pieces[i].len;
    }
    if (*total > BLOB_MAX_BYTES || (*total == before && !is_only_pack)) {
        return sql_damaged(s, err, "a log has too many packs");
    }
    return 0;
}

/* The logs of a row that is one pack are kept: whoever reads one of them reads the others next. */
static int read_packs(struct sqlite_store *s, struct packed_part row, uint32_t index,
                      struct buf *out, bool *ret_is_there, struct err *err)
{
    struct log_cache *cache = &s->logs;
    if (cache->packed.len == row.len && row.len > 0 &&
        memcmp(cache->packed.data, row.data, row.len) == 0) {
        *ret_is_there = take_pieces(&cache->logs, index, out);
        return 0;
    }
    log_cache_done(cache);
    struct packed_part rest = row;
    size_t total = 0;
    bool is_there = false, is_only_pack = true;
    do {
        struct log_unpacked logs;
        int r = next_pack(s, &rest, &logs, err);
        if (r < 0) {
            return r;
        }
        r = check_growth(s, &logs, is_only_pack && rest.len == 0, &total, err);
        if (r < 0) {
            log_unpacked_done(&logs);
            return r;
        }
        is_there |= take_pieces(&logs, index, out);
        if (is_only_pack && rest.len == 0) {
            cache->packed = (struct packed){xmalloc(row.len), row.len};
            memcpy(cache->packed.data, row.data, row.len);
            cache->logs = logs;
        } else {
            log_unpacked_done(&logs);
            is_only_pack = false;
        }
    } while (rest.len > 0);
    *ret_is_there = is_there;
    return 0;
}

/* The row that may have it: the last one that begins at that replica, or before it. */
static int find_row(struct sqlite_store *s, const char *uid, const struct replica_id *id,
                    sqlite3_stmt **q, struct err *err)
{
#define OF_ROW                                                                                     \
    "replica_index FROM log WHERE run_uid = ?1 AND point = ?2 AND trial = ?3 AND attempt = ?4 "    \
    "AND role = ?5 AND replica_index <= ?6 ORDER BY replica_index DESC LIMIT 1"
    const bool has_packs = s->version >= LOG_PACKS_SINCE_VERSION;
    const int r = sql_prepare(
        s, q, err, has_packs ? "SELECT zstd, packed, " OF_ROW : "SELECT zstd, NULL, " OF_ROW,
        "siiisi", uid, (int64_t)id->attempt.point, (int64_t)id->attempt.trial,
        (int64_t)id->attempt.number, role_to_string(id->role), (int64_t)id->index);
    return r < 0 ? r : sql_step(s, *q, err);
}

/* 1: it is there; 0: it is not. */
static int read_row(struct sqlite_store *s, sqlite3_stmt *q, uint32_t index, char **ret,
                    size_t *ret_len, struct err *err)
{
    if (sqlite3_column_type(q, 1) == SQLITE_NULL) {
        if (sqlite3_column_int64(q, 2) != (int64_t)index) {
            return 0;
        }
        const int r = blob_unpack(s, q, 0, "a log", ret, ret_len, err);
        return r < 0 ? r : 1;
    }
    if (sqlite3_column_int64(q, 1) != PACKED) {
        return sql_damaged(s, err, "a log is packed in an unknown way");
    }
    struct buf out = BUF_INIT;
    bool is_there = false;
    const struct packed_part row = {sqlite3_column_blob(q, 0), (size_t)sqlite3_column_bytes(q, 0)};
    const int r = read_packs(s, row, index, &out, &is_there, err);
    if (r < 0 || !is_there) {
        buf_done(&out);
        return r;
    }
    *ret_len = out.len;
    *ret = buf_take(&out);
    return 1;
}

int logs_get(struct store *base, const char *uid, const struct replica_id *id, char **ret,
             size_t *ret_len, struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(base);
    _cleanup_(sql_finalizep) sqlite3_stmt *q = NULL;
    int r = find_row(s, uid, id, &q, err);
    r = r <= 0 ? r : read_row(s, q, id->index, ret, ret_len, err);
    if (r == 0) {
        return err_set(err, ENOENT,
                       "store '%s': there is no log of %s/%u of point %u, trial %u, "
                       "attempt %u",
                       s->path, role_to_string(id->role), id->index, id->attempt.point,
                       id->attempt.trial, id->attempt.number);
    }
    return r < 0 ? r : 0;
}
