/* Logs in the SQLite store, compressed (zstd). The logs of a role's replicas share a row as long as
 * they have ROW_MAX_BYTES at most; another log has a row for itself, as its bytes. A row is found
 * by its first replica. The bytes of a shared row before they are compressed:
 *
 *   u32 n; n x (index of the replica u32, length u64); the logs, one after another */
#include "store/sqlite_store.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include <zstd.h>

#include "base/mem.h"
#include "core/replica.h"

#define SHARED 2                        /* column `packed`; NULL: the bytes of one log */
#define ROW_MAX_BYTES ((size_t)4 << 20) /* of logs: one is read with all others of its row */
#define ROW_MAX_LOGS 65536

#define BLOB_MAX_BYTES ((size_t)1 << 30) /* of a log, not compressed */
#define COUNT_BYTES 4
#define PIECE_BYTES 12
#define CHECKSUM_BYTES 4 /* at the end of a frame */
#define LEVEL 3          /* 9 takes three times as long, for 8% less of step records */

static_assert(offsetof(struct replica_log, id) == 0, "rows_compare reads it there");

/* ---- compressed ---- */

/* As one frame, with a checksum, so that a byte that changes is an error and no other log. */
static int blob_pack(const void *data, size_t len, struct packed *ret, struct err *err)
{
    const size_t cap = ZSTD_compressBound(len) + CHECKSUM_BYTES;
    ZSTD_CCtx *ctx = ZSTD_createCCtx();
    if (ctx == NULL) {
        return err_set(err, ENOMEM, "compress: no memory");
    }
    (void)ZSTD_CCtx_setParameter(ctx, ZSTD_c_compressionLevel, LEVEL); /* both are in range */
    (void)ZSTD_CCtx_setParameter(ctx, ZSTD_c_checksumFlag, 1);
    void *out = xmalloc(cap);
    const size_t got = ZSTD_compress2(ctx, out, cap, data, len);
    ZSTD_freeCCtx(ctx);
    if (ZSTD_isError(got)) {
        free(out);
        return err_set(err, ENOTRECOVERABLE, "compress: %s", ZSTD_getErrorName(got));
    }
    *ret = (struct packed){xrealloc(out, got), got};
    return 0;
}

/* The first column, uncompressed, owned, with a NUL after it. */
static int blob_unpack(struct sqlite_store *s, sqlite3_stmt *q, char **ret, size_t *ret_len,
                       struct err *err)
{
    static const char fault[] = "a log cannot be unpacked";
    const void *data = sqlite3_column_blob(q, 0);
    const size_t n = (size_t)sqlite3_column_bytes(q, 0);
    const size_t frame = ZSTD_findFrameCompressedSize(data, n);
    const unsigned long long len = ZSTD_getFrameContentSize(data, n);
    if (ZSTD_isError(frame) || len == ZSTD_CONTENTSIZE_ERROR || len == ZSTD_CONTENTSIZE_UNKNOWN ||
        len > BLOB_MAX_BYTES) {
        return sql_damaged(s, err, fault);
    }
    if (frame < n) {
        return sql_damaged(s, err, "a log has bytes after its end");
    }
    char *text = xmalloc((size_t)len + 1);
    s->unpacker = s->unpacker == NULL ? ZSTD_createDCtx() : s->unpacker;
    const size_t got = s->unpacker == NULL
                           ? ZSTD_decompress(text, (size_t)len, data, n)
                           : ZSTD_decompressDCtx(s->unpacker, text, (size_t)len, data, n);
    if (ZSTD_isError(got) || got != len) {
        free(text);
        return sql_damaged(s, err, fault);
    }
    text[len] = '\0';
    *ret = text;
    *ret_len = (size_t)len;
    return 0;
}

/* ---- a row that is shared ---- */

void log_row_done(struct log_row *row)
{
    free(row->bytes);
    free(row->pieces);
    *row = (struct log_row){0};
}

static void number_write(struct buf *out, uint64_t value, size_t n_bytes)
{
    for (size_t i = 0; i < n_bytes; i++) {
        buf_putc(out, (char)(unsigned char)(value >> (8 * i)));
    }
}

/* By the name of the role, then by index; of pointers to what begins with its replica_id. */
static int rows_compare(const void *a, const void *b)
{
    const struct replica_id *x = *(const void *const *)a;
    const struct replica_id *y = *(const void *const *)b;
    const int r = strcmp(role_to_string(x->role), role_to_string(y->role));
    return r != 0 ? r : (x->index > y->index) - (x->index < y->index);
}

void log_row_write(const struct log_piece *pieces, size_t n, struct buf *out)
{
    number_write(out, n, COUNT_BYTES);
    for (size_t i = 0; i < n; i++) {
        number_write(out, pieces[i].index, 4);
        number_write(out, pieces[i].len, 8);
    }
    for (size_t i = 0; i < n; i++) {
        buf_append(out, pieces[i].data, pieces[i].len);
    }
}

static uint64_t number_read(const void *at, size_t n_bytes)
{
    uint64_t value = 0;
    for (size_t i = 0; i < n_bytes; i++) {
        value |= (uint64_t)((const unsigned char *)at)[i] << (8 * i);
    }
    return value;
}

int log_row_read(char *bytes_take, size_t len, struct log_row *ret, struct err *err)
{
    const uint64_t n = len < COUNT_BYTES ? UINT64_MAX : number_read(bytes_take, COUNT_BYTES);
    if (n > (len - COUNT_BYTES) / PIECE_BYTES) {
        return err_set(err, EBADMSG, "the number of logs that share a row");
    }
    struct log_piece *pieces = xnew_array(struct log_piece, n);
    size_t at = COUNT_BYTES + (size_t)n * PIECE_BYTES;
    for (size_t i = 0; i < n && at <= len; i++) {
        const char *entry = bytes_take + COUNT_BYTES + i * PIECE_BYTES;
        const uint64_t piece_len = number_read(entry + 4, 8);
        pieces[i] =
            (struct log_piece){(uint32_t)number_read(entry, 4), bytes_take + at, (size_t)piece_len};
        at = piece_len > len - at ? len + 1 : at + (size_t)piece_len;
    }
    if (at != len) {
        free(pieces);
        return err_set(err, EBADMSG, "the lengths of logs that share a row");
    }
    *ret = (struct log_row){bytes_take, pieces, (size_t)n};
    return 0;
}

/* ---- writing ---- */

void logs_free(struct packed_logs *logs)
{
    if (logs != NULL) {
        vec_each (struct packed_log, row, &logs->rows) {
            free(row->zstd.data);
        }
        vec_done(&logs->rows);
        free(logs);
    }
}

/* One row of the first of these logs, and those of its role after it that fit. Returns how many. */
static int pack_row(const struct replica_log *const *logs, size_t n, struct packed_logs *ret,
                    struct err *err)
{
    struct packed_log *row = vec_push(&ret->rows);
    *row = (struct packed_log){.role = logs[0]->id.role, .index = logs[0]->id.index};
    VEC(struct log_piece) pieces = {0};
    size_t total = 0;
    for (size_t i = 0; i < n && i < ROW_MAX_LOGS && logs[i]->id.role == row->role &&
                       logs[i]->len <= ROW_MAX_BYTES - total;
         i++) {
        *vec_push(&pieces) = (struct log_piece){logs[i]->id.index, logs[i]->data, logs[i]->len};
        total += logs[i]->len;
    }
    const int n_taken = pieces.len > 0 ? (int)pieces.len : 1;
    int r;
    if (n_taken > 1) {
        _cleanup_(buf_done) struct buf raw = BUF_INIT;
        log_row_write(pieces.items, pieces.len, &raw);
        row->is_shared = true;
        r = blob_pack(raw.data, raw.len, &row->zstd, err);
    } else {
        r = blob_pack(logs[0]->data, logs[0]->len, &row->zstd, err);
    }
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
        if (i > 0 && rows_compare(&sorted[i - 1], &sorted[i]) == 0) {
            return err_set(err, ENOTRECOVERABLE, "%s/%u has two logs", role, sorted[i]->id.index);
        }
    }
    return 0;
}

int logs_pack(const struct replica_log *logs, size_t n, struct packed_logs **ret, struct err *err)
{
    _cleanup_(freep) const struct replica_log **sorted = xnew_array(const struct replica_log *, n);
    for (size_t i = 0; i < n; i++) {
        sorted[i] = &logs[i];
    }
    qsort(sorted, n, sizeof(sorted[0]), rows_compare);
    struct packed_logs *packed = xnew(struct packed_logs);
    int r = check_logs(sorted, n, err);
    for (size_t i = 0; i < n && r >= 0; i += (size_t)(r < 0 ? 0 : r)) {
        r = pack_row(&sorted[i], n - i, packed, err);
    }
    if (r < 0) {
        logs_free(packed);
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
                    "packed) VALUES (?, ?, ?, ?, ?, ?, ?, nullif(?, 0))",
                    "siiisibi", uid, (int64_t)id->point, (int64_t)id->trial, (int64_t)id->number,
                    role_to_string(row->role), (int64_t)row->index, row->zstd.data, row->zstd.len,
                    (int64_t)(row->is_shared ? SHARED : 0));
    }
    return r;
}

/* ---- and back ---- */

void log_cache_done(struct log_cache *cache)
{
    free(cache->packed.data);
    log_row_done(&cache->logs);
    *cache = (struct log_cache){0};
}

/* The logs of the row that was read last are kept: whoever reads one of them reads the others. */
static int read_shared(struct sqlite_store *s, sqlite3_stmt *q, struct err *err)
{
    const void *data = sqlite3_column_blob(q, 0);
    const size_t n = (size_t)sqlite3_column_bytes(q, 0);
    struct log_cache *cache = &s->logs;
    if (n > 0 && cache->packed.len == n && memcmp(cache->packed.data, data, n) == 0) {
        return 0;
    }
    log_cache_done(cache);
    char *bytes = NULL;
    size_t len = 0;
    struct err fault = {0};
    int r = blob_unpack(s, q, &bytes, &len, err);
    if (r < 0) {
        return r;
    }
    if (log_row_read(bytes, len, &cache->logs, &fault) < 0) {
        free(bytes);
        return sql_damaged(s, err, fault.msg);
    }
    cache->packed = (struct packed){xmalloc(n), n};
    memcpy(cache->packed.data, data, n);
    return 0;
}

/* 1: it is there; 0: it is not. */
static int read_row(struct sqlite_store *s, sqlite3_stmt *q, uint32_t index, char **ret,
                    size_t *ret_len, struct err *err)
{
    if (sqlite3_column_type(q, 1) == SQLITE_NULL) {
        if (sqlite3_column_int64(q, 2) != (int64_t)index) {
            return 0;
        }
        const int r = blob_unpack(s, q, ret, ret_len, err);
        return r < 0 ? r : 1;
    }
    if (sqlite3_column_int64(q, 1) != SHARED) {
        return sql_damaged(s, err, "a log is packed in an unknown way");
    }
    const int r = read_shared(s, q, err);
    struct buf out = BUF_INIT;
    bool is_there = false;
    for (size_t i = 0; r >= 0 && i < s->logs.logs.n_pieces; i++) {
        const struct log_piece *piece = &s->logs.logs.pieces[i];
        if (piece->index == index) {
            buf_append(&out, piece->data, piece->len);
            is_there = true;
        }
    }
    if (is_there) {
        *ret_len = out.len;
        *ret = buf_take(&out);
    }
    return is_there ? 1 : r;
}

int logs_get(struct store *base, const char *uid, const struct replica_id *id, char **ret,
             size_t *ret_len, struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(base);
    _cleanup_(sql_finalizep) sqlite3_stmt *q = NULL;
    /* The row that may have it: the last one that begins at that replica, or before it. */
    int r = sql_first(
        s, &q, err,
        "SELECT zstd, packed, replica_index FROM log WHERE run_uid = ?1 AND point = ?2 AND "
        "trial = ?3 AND attempt = ?4 AND role = ?5 AND replica_index <= ?6 "
        "ORDER BY replica_index DESC LIMIT 1",
        "siiisi", uid, (int64_t)id->attempt.point, (int64_t)id->attempt.trial,
        (int64_t)id->attempt.number, role_to_string(id->role), (int64_t)id->index);
    r = r <= 0 ? r : read_row(s, q, id->index, ret, ret_len, err);
    if (r == 0) {
        return err_set(err, ENOENT,
                       "store '%s': there is no log of %s/%u of point %u, trial %u, attempt %u",
                       s->path, role_to_string(id->role), id->index, id->attempt.point,
                       id->attempt.trial, id->attempt.number);
    }
    return r < 0 ? r : 0;
}
