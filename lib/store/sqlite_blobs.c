/* Columns of the SQLite store that are compressed (zstd). */
#include "store/sqlite_store.h"

#include <zstd.h>

#include "base/mem.h"

#define CHECKSUM_BYTES 4 /* at the end of a frame */
#define LEVEL 3          /* 9 takes three times as long, for 8% less of step records */

static size_t compress(ZSTD_CCtx *ctx, const void *data, size_t len, void *out, size_t cap)
{
    size_t r = ZSTD_CCtx_setParameter(ctx, ZSTD_c_compressionLevel, LEVEL);
    r = ZSTD_isError(r) ? r : ZSTD_CCtx_setParameter(ctx, ZSTD_c_checksumFlag, 1);
    return ZSTD_isError(r) ? r : ZSTD_compress2(ctx, out, cap, data, len);
}

int blob_pack(const void *data, size_t len, struct packed *ret, struct err *err)
{
    const size_t cap = ZSTD_compressBound(len) + CHECKSUM_BYTES;
    ZSTD_CCtx *ctx = ZSTD_createCCtx();
    if (ctx == NULL) {
        return err_set(err, ENOMEM, "compress: no memory");
    }
    void *out = xmalloc(cap);
    const size_t got = compress(ctx, data, len, out, cap);
    ZSTD_freeCCtx(ctx);
    if (ZSTD_isError(got)) {
        free(out);
        return err_set(err, ENOTRECOVERABLE, "compress: %s", ZSTD_getErrorName(got));
    }
    *ret = (struct packed){xrealloc(out, got), got};
    return 0;
}

int blob_unpack(struct sqlite_store *s, sqlite3_stmt *q, int column, const char *what, char **ret,
                size_t *ret_len, struct err *err)
{
    _cleanup_(freep) char *fault = xasprintf("%s cannot be unpacked", what);
    const void *data = sqlite3_column_blob(q, column);
    const size_t n = (size_t)sqlite3_column_bytes(q, column);
    const size_t frame = ZSTD_findFrameCompressedSize(data, n);
    const unsigned long long len = ZSTD_getFrameContentSize(data, n);
    if (ZSTD_isError(frame) || len == ZSTD_CONTENTSIZE_ERROR || len == ZSTD_CONTENTSIZE_UNKNOWN ||
        len > BLOB_MAX_BYTES) {
        return sql_damaged(s, err, fault);
    }
    if (frame < n) {
        _cleanup_(freep) char *more = xasprintf("%s has bytes behind its end", what);
        return sql_damaged(s, err, more);
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
