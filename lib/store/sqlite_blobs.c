/* Columns of the SQLite store that are compressed (zstd). */
#include "store/sqlite_internal.h"

#include <zstd.h>

#include "base/mem.h"

#define LEVEL 3
#define CHECKSUM_BYTES 4 /* at the end of a frame */
#define BLOCK_BYTES 32   /* that a block adds to what is compressed, and more */

/* With a checksum, and with blocks that begin where `blob` says so. */
static size_t compress(ZSTD_CCtx *ctx, const struct blob *blob, ZSTD_outBuffer *out)
{
    size_t r = ZSTD_CCtx_setParameter(ctx, ZSTD_c_compressionLevel, LEVEL);
    r = ZSTD_isError(r) ? r : ZSTD_CCtx_setParameter(ctx, ZSTD_c_checksumFlag, 1);
    r = ZSTD_isError(r) ? r : ZSTD_CCtx_setPledgedSrcSize(ctx, blob->len);
    size_t at = 0;
    for (size_t i = 0; i <= blob->n_breaks && !ZSTD_isError(r); i++) {
        const size_t end = i < blob->n_breaks ? blob->breaks[i] : blob->len;
        ZSTD_inBuffer in = {(const char *)blob->data + at, end - at, 0};
        /* There is room for all, so one call does it. */
        r = ZSTD_compressStream2(ctx, out, &in, i < blob->n_breaks ? ZSTD_e_flush : ZSTD_e_end);
        at = end;
    }
    return r;
}

int blob_append(struct packed *packed, const struct blob *blob, struct err *err)
{
    const size_t cap =
        ZSTD_compressBound(blob->len) + CHECKSUM_BYTES + BLOCK_BYTES * (blob->n_breaks + 1);
    ZSTD_CCtx *ctx = ZSTD_createCCtx();
    if (ctx == NULL) {
        return err_set(err, ENOMEM, "compress: no memory");
    }
    packed->data = xrealloc(packed->data, packed->len + cap);
    ZSTD_outBuffer out = {(char *)packed->data + packed->len, cap, 0};
    const size_t left = compress(ctx, blob, &out);
    ZSTD_freeCCtx(ctx);
    if (left != 0) {
        return err_set(err, ENOTRECOVERABLE, "compress: %s",
                       ZSTD_isError(left) ? ZSTD_getErrorName(left) : "it needs more room");
    }
    packed->len += out.pos;
    packed->data = xrealloc(packed->data, packed->len);
    return 0;
}

int blob_pack(const void *data, size_t len, struct packed *ret, struct err *err)
{
    struct packed packed = {0};
    const int r = blob_append(&packed, &(struct blob){.data = data, .len = len}, err);
    if (r < 0) {
        free(packed.data);
        return r;
    }
    *ret = packed;
    return 0;
}

int blob_next(struct sqlite_store *s, struct packed_part *rest, size_t max_bytes, const char *what,
              char **ret, size_t *ret_len, struct err *err)
{
    _cleanup_(freep) char *fault = xasprintf("%s cannot be unpacked", what);
    const size_t frame = ZSTD_findFrameCompressedSize(rest->data, rest->len);
    const unsigned long long len = ZSTD_getFrameContentSize(rest->data, rest->len);
    if (ZSTD_isError(frame) || len == ZSTD_CONTENTSIZE_ERROR || len == ZSTD_CONTENTSIZE_UNKNOWN ||
        len > max_bytes) {
        return sql_damaged(s, err, fault);
    }
    char *text = xmalloc((size_t)len + 1);
    s->unpacker = s->unpacker == NULL ? ZSTD_createDCtx() : s->unpacker;
    const size_t got = s->unpacker == NULL
                           ? ZSTD_decompress(text, (size_t)len, rest->data, frame)
                           : ZSTD_decompressDCtx(s->unpacker, text, (size_t)len, rest->data, frame);
    if (ZSTD_isError(got) || got != len) {
        free(text);
        return sql_damaged(s, err, fault);
    }
    text[len] = '\0';
    rest->data += frame;
    rest->len -= frame;
    *ret = text;
    *ret_len = (size_t)len;
    return 0;
}

int blob_unpack(struct sqlite_store *s, sqlite3_stmt *q, int column, const char *what, char **ret,
                size_t *ret_len, struct err *err)
{
    struct packed_part rest = {sqlite3_column_blob(q, column),
                               (size_t)sqlite3_column_bytes(q, column)};
    char *text = NULL;
    size_t len = 0;
    const int r = blob_next(s, &rest, BLOB_MAX_BYTES, what, &text, &len, err);
    if (r < 0) {
        return r;
    }
    if (rest.len > 0) {
        free(text);
        _cleanup_(freep) char *fault = xasprintf("%s has bytes behind its end", what);
        return sql_damaged(s, err, fault);
    }
    *ret = text;
    *ret_len = len;
    return 0;
}
