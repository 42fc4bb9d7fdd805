/* See run_file.h: a run's file as it travels. */
#include <errno.h>
#include <string.h>

#include <zstd.h>

#include "base/mem.h"
#include "store/run_file.h"

#define LEVEL 3
#define CHUNK_BYTES ((size_t)1 << 17)
#define MAX_WINDOW_LOG 27 /* what a reader of it must have in memory: 128 MiB */

static const char zstd_magic[] = "\x28\xb5\x2f\xfd";
static const char sqlite_magic[] = "SQLite format 3";

static void close_file(FILE **f)
{
    if (*f != NULL) {
        (void)fclose(*f); /* it was read, or its end was checked */
    }
}

static int zstd_error(size_t code, const char *what, struct err *err)
{
    return err_set(err, EPROTO, "%s: %s", what, ZSTD_getErrorName(code));
}

/* Compresses one chunk, or the end. */
static int pack_chunk(ZSTD_CCtx *ctx, const void *data, size_t len, bool is_end, struct buf *out,
                      struct err *err)
{
    _cleanup_(freep) char *chunk = xmalloc(CHUNK_BYTES);
    ZSTD_inBuffer in = {data, len, 0};
    size_t left;
    do {
        ZSTD_outBuffer packed = {chunk, CHUNK_BYTES, 0};
        left = ZSTD_compressStream2(ctx, &packed, &in, is_end ? ZSTD_e_end : ZSTD_e_continue);
        if (ZSTD_isError(left)) {
            return zstd_error(left, "compress", err);
        }
        buf_append(out, chunk, packed.pos);
        buf_spill(out);
    } while (is_end ? left > 0 : in.pos < in.size);
    return 0;
}

int run_file_send(const char *path, bool is_packed, struct buf *out, struct err *err)
{
    _cleanup_(close_file) FILE *in = fopen(path, "rbe");
    _cleanup_(freep) char *chunk = xmalloc(CHUNK_BYTES);
    ZSTD_CCtx *ctx = ZSTD_createCCtx();
    int r = in == NULL || ctx == NULL ? err_set_errno(err, errno, "cannot read '%s'", path) : 0;
    if (r >= 0) { /* both are in range */
        (void)ZSTD_CCtx_setParameter(ctx, ZSTD_c_compressionLevel, LEVEL);
        (void)ZSTD_CCtx_setParameter(ctx, ZSTD_c_checksumFlag, 1);
    }
    for (size_t n = 1; r >= 0 && n > 0;) {
        n = fread(chunk, 1, CHUNK_BYTES, in);
        if (ferror(in)) {
            r = err_set_errno(err, errno, "cannot read '%s'", path);
        } else if (is_packed) {
            r = pack_chunk(ctx, chunk, n, n == 0, out, err);
        } else {
            buf_append(out, chunk, n);
            buf_spill(out);
        }
    }
    ZSTD_freeCCtx(ctx); /* NULL is fine */
    return r;
}

/* What is written, and how much of it there may be. */
struct target {
    FILE *file;
    const char *path;
    size_t left;
};

static int put(struct target *t, const void *data, size_t len, struct err *err)
{
    if (len > t->left) {
        return err_set(err, E2BIG, "it has more bytes, unpacked, than are read");
    }
    t->left -= len;
    return fwrite(data, 1, len, t->file) == len
               ? 0
               : err_set_errno(err, errno, "cannot write '%s'", t->path);
}

/* A frame from the bytes that are read, of which `chunk` has the first `n`; nothing follows it. */
static int unpack(FILE *in, char *chunk, size_t n, struct target *t, struct err *err)
{
    _cleanup_(freep) char *out = xmalloc(CHUNK_BYTES);
    ZSTD_DCtx *ctx = ZSTD_createDCtx();
    size_t left = 1;
    int r = ctx == NULL ? err_set(err, ENOMEM, "no memory to unpack it") : 0;
    if (r >= 0) {
        (void)ZSTD_DCtx_setParameter(ctx, ZSTD_d_windowLogMax, MAX_WINDOW_LOG); /* in range */
    }
    while (n > 0 && r >= 0) {
        ZSTD_inBuffer packed = {chunk, n, 0};
        ZSTD_outBuffer room = {out, CHUNK_BYTES, CHUNK_BYTES};
        /* A full room may not be all: what is left comes without more input. */
        while (left > 0 && (packed.pos < packed.size || room.pos == room.size) && r >= 0) {
            room.pos = 0;
            left = ZSTD_decompressStream(ctx, &room, &packed);
            r = ZSTD_isError(left) ? zstd_error(left, "it cannot be unpacked", err)
                                   : put(t, out, room.pos, err);
        }
        const size_t n_left = packed.size - packed.pos;
        if (r >= 0 && n_left > 0) {
            r = err_set(err, EPROTO, "it has bytes behind its end");
        }
        n = fread(chunk, 1, CHUNK_BYTES, in);
    }
    ZSTD_freeDCtx(ctx); /* NULL is fine */
    return r < 0 || left == 0 ? r : err_set(err, EPROTO, "it is cut off");
}

static int copy(FILE *in, char *chunk, size_t n, struct target *t, struct err *err)
{
    int r = 0;
    while (n > 0 && r >= 0) {
        r = put(t, chunk, n, err);
        n = fread(chunk, 1, CHUNK_BYTES, in);
    }
    return r;
}

int run_file_unpack(FILE *in, const char *path, size_t max_bytes, struct err *err)
{
    _cleanup_(freep) char *chunk = xmalloc(CHUNK_BYTES);
    _cleanup_(close_file) FILE *out = fopen(path, "wbe");
    struct target t = {out, path, max_bytes};
    const size_t n = fread(chunk, 1, CHUNK_BYTES, in);
    int r = out == NULL ? err_set_errno(err, errno, "cannot write '%s'", path)
            : n >= strlen(zstd_magic) && memcmp(chunk, zstd_magic, strlen(zstd_magic)) == 0
                ? unpack(in, chunk, n, &t, err)
            : n >= sizeof(sqlite_magic) && memcmp(chunk, sqlite_magic, sizeof(sqlite_magic)) == 0
                ? copy(in, chunk, n, &t, err)
                : err_set(err, EPROTO, "it is no run that was exported");
    if (r >= 0 && (ferror(in) || fflush(out) != 0)) {
        r = err_set_errno(err, errno, ferror(in) ? "cannot read it" : "cannot write '%s'", path);
    }
    return r;
}
