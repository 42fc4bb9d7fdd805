/* The bytes of an old log. Edge file: reads files and standard input. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <zlib.h>
#include <zstd.h>

#include "base/str.h"
#include "ctl/import/import.h"
#include "ctl/runs/find.h"

#define CHUNK 65536

struct unpacking {
    const char *path;
    FILE *file;
    import_bytes_fn on_bytes;
    void *ctx;
    uint64_t bytes;
    struct err *err;
};

enum exit_code import_file_explain(int r, const char *path, const struct err *err)
{
    _cleanup_(freep) char *fix = file_fix(r, path, "name a file that exists, or - for stdin");
    return cli_error(r == -ENOENT    ? EXIT_NOT_FOUND
                     : r == -EBADMSG ? EXIT_USAGE
                                     : EXIT_LOCAL_RESOURCE,
                     fix, "%s", err->msg);
}

static void pass_on(struct unpacking *u, const char *data, size_t len)
{
    u->bytes += len;
    u->on_bytes(u->ctx, data, len);
}

static ssize_t read_some(const struct unpacking *u, char *data)
{
    const size_t n = fread(data, 1, CHUNK, u->file);
    return n == 0 && ferror(u->file) ? err_set_errno(u->err, errno, "%s", u->path) : (ssize_t)n;
}

static int read_plain(struct unpacking *u, char *data, ssize_t len)
{
    while (len > 0) {
        pass_on(u, data, (size_t)len);
        len = read_some(u, data);
    }
    return (int)len;
}

/* ---- compressed ---- */

#define GZIP_ONLY (15 + 16) /* the largest window, and no other header */

/* Unpacks a part of `in` into `out`. *is_open: the file must not end after it. NULL, or what is
 * wrong (static). */
typedef const char *(*unpack_fn)(void *stream, ZSTD_inBuffer *in, ZSTD_outBuffer *out,
                                 bool *is_open);

static const char *unpack_zstd(void *stream, ZSTD_inBuffer *in, ZSTD_outBuffer *out, bool *is_open)
{
    const size_t left = ZSTD_decompressStream(stream, out, in);
    *is_open = left > 0;
    return ZSTD_isError(left) ? ZSTD_getErrorName(left) : NULL;
}

static const char *unpack_gzip(void *stream, ZSTD_inBuffer *in, ZSTD_outBuffer *out, bool *is_open)
{
    z_stream *z = stream;
    if (!*is_open && inflateReset(z) != Z_OK) {
        return "another part cannot be read";
    }
    z->next_in = (unsigned char *)in->src + in->pos; /* only read */
    z->avail_in = (unsigned)(in->size - in->pos);    /* at most CHUNK, as is the room */
    z->next_out = out->dst;
    z->avail_out = (unsigned)out->size;
    const int r = inflate(z, Z_NO_FLUSH);
    in->pos = in->size - z->avail_in;
    out->pos = out->size - z->avail_out;
    *is_open = r != Z_STREAM_END;
    return r == Z_OK || r == Z_STREAM_END || r == Z_BUF_ERROR /* nothing more to unpack */
               ? NULL
               : z->msg != NULL ? z->msg : "it is not what was compressed";
}

/* Parts may follow each other; the file must end with one. */
static int read_packed(struct unpacking *u, const char *program, unpack_fn unpack, void *stream,
                       char *data, ssize_t len)
{
    _cleanup_(freep) char *out = xnew_array(char, CHUNK);
    const char *why = NULL;
    bool is_open = true;
    while (len > 0 && why == NULL) {
        ZSTD_inBuffer in = {data, (size_t)len, 0};
        ZSTD_outBuffer part;
        do {
            part = (ZSTD_outBuffer){out, CHUNK, 0};
            why = unpack(stream, &in, &part, &is_open);
            pass_on(u, out, part.pos);
        } while (why == NULL && (in.pos < in.size || (is_open && part.pos == CHUNK)));
        len = why == NULL ? read_some(u, data) : 0;
    }
    if (why == NULL && len == 0 && is_open) {
        why = "it ends too early";
    }
    return why == NULL
               ? (int)len
               : err_set(u->err, EBADMSG, "%s: its %s data is damaged: %s", u->path, program, why);
}

static int read_zstd(struct unpacking *u, char *data, ssize_t len)
{
    ZSTD_DStream *stream = ZSTD_createDStream();
    const int r = stream == NULL ? err_set(u->err, ENOMEM, "%s: no memory to unpack it", u->path)
                                 : read_packed(u, "zstd", unpack_zstd, stream, data, len);
    (void)ZSTD_freeDStream(stream); /* NULL is fine */
    return r;
}

static int read_gzip(struct unpacking *u, char *data, ssize_t len)
{
    z_stream stream = {0};
    if (inflateInit2(&stream, GZIP_ONLY) != Z_OK) {
        return err_set(u->err, ENOMEM, "%s: no memory to unpack it", u->path);
    }
    const int r = read_packed(u, "gzip", unpack_gzip, &stream, data, len);
    (void)inflateEnd(&stream); /* fails for no stream only */
    return r;
}

/* ---- which of them ---- */

#define HAS_MAGIC(data, len, magic)                                                                \
    ((size_t)(len) >= sizeof(magic) - 1 && memcmp(data, magic, sizeof(magic) - 1) == 0)

static int read_any(struct unpacking *u)
{
    _cleanup_(freep) char *data = xnew_array(char, CHUNK);
    const ssize_t len = read_some(u, data);
    if (len < 0) {
        return (int)len;
    }
    if (HAS_MAGIC(data, len, "\xfd\x37zX") || HAS_MAGIC(data, len, "BZh") ||
        HAS_MAGIC(data, len, "PK\x03\x04")) {
        return err_set(u->err, EBADMSG,
                       "%s: it is compressed by another program than gzip or zstd; unpack it first",
                       u->path);
    }
    return HAS_MAGIC(data, len, "\x1f\x8b")           ? read_gzip(u, data, len)
           : HAS_MAGIC(data, len, "\x28\xb5\x2f\xfd") ? read_zstd(u, data, len)
                                                      : read_plain(u, data, len);
}

int import_file_read(const char *path, import_bytes_fn on_bytes, void *ctx, struct import_file *ret,
                     struct err *err)
{
    const bool is_stdin = str_eq(path, IMPORT_STDIN);
    struct unpacking u = {.path = is_stdin ? "standard input" : path,
                          .file = is_stdin ? stdin : fopen(path, "rbe"),
                          .on_bytes = on_bytes,
                          .ctx = ctx,
                          .err = err};
    struct stat st;
    if (u.file == NULL || fstat(fileno(u.file), &st) < 0) {
        return err_set_errno(err, errno, "%s", path); /* a file that fopen opened has an fstat */
    }
    const int r = read_any(&u);
    const int64_t ms = (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
    *ret = (struct import_file){st.st_dev, st.st_ino, S_ISREG(st.st_mode) ? ms : 0, u.bytes};
    if (!is_stdin) {
        (void)fclose(u.file); /* it was only read */
    }
    return r;
}
