/* See import_file.h. Edge file: reads files and standard input. */
#include "ctl/import/import_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>
#include <zstd.h>

#include "base/mem.h"
#include "base/str.h"
#include "ctl/import/import_args.h"

#define CHUNK 65536
#define MAGIC_SIZE 4

struct unpacking {
    const char *path;
    int fd;
    import_bytes_fn on_bytes;
    void *ctx;
    uint64_t bytes;
    struct err *err;
};

static void pass_on(struct unpacking *u, const char *data, size_t len)
{
    u->bytes += len;
    u->on_bytes(u->ctx, data, len);
}

static ssize_t read_some(const struct unpacking *u, char *data, size_t size)
{
    ssize_t n;
    do {
        n = read(u->fd, data, size);
    } while (n < 0 && errno == EINTR);
    return n < 0 ? err_set_errno(u->err, errno, "%s", u->path) : n;
}

/* A pipe may give the first bytes one by one. */
static ssize_t read_head(const struct unpacking *u, char *data)
{
    size_t len = 0;
    while (len < MAGIC_SIZE) {
        const ssize_t n = read_some(u, data + len, CHUNK - len);
        if (n <= 0) {
            return n < 0 ? n : (ssize_t)len;
        }
        len += (size_t)n;
    }
    return (ssize_t)len;
}

static bool has_magic(const char *data, ssize_t len, const char *magic, size_t size)
{
    return len >= (ssize_t)size && memcmp(data, magic, size) == 0;
}

/* ---- as it is ---- */

static int read_plain(struct unpacking *u, char *data, ssize_t len)
{
    while (len > 0) {
        pass_on(u, data, (size_t)len);
        len = read_some(u, data, CHUNK);
    }
    return (int)len;
}

/* ---- zstd ---- */

static int damaged(const struct unpacking *u, const char *program, const char *why)
{
    return err_set(u->err, EBADMSG, "%s: its %s data is damaged: %s", u->path, program, why);
}

/* Frames may follow each other; the file must end with one. */
static int unpack(struct unpacking *u, ZSTD_DStream *stream, char *data, ssize_t len, char *out)
{
    size_t left = 0;
    while (len > 0) {
        ZSTD_inBuffer in = {data, (size_t)len, 0};
        while (in.pos < in.size) {
            ZSTD_outBuffer part = {out, CHUNK, 0};
            left = ZSTD_decompressStream(stream, &part, &in);
            if (ZSTD_isError(left)) {
                return damaged(u, "zstd", ZSTD_getErrorName(left));
            }
            pass_on(u, out, part.pos);
        }
        len = read_some(u, data, CHUNK);
    }
    while (len == 0 && left > 0) { /* what the library still holds */
        ZSTD_inBuffer in = {data, 0, 0};
        ZSTD_outBuffer part = {out, CHUNK, 0};
        left = ZSTD_decompressStream(stream, &part, &in);
        if (ZSTD_isError(left) || part.pos == 0) {
            return damaged(u, "zstd",
                           ZSTD_isError(left) ? ZSTD_getErrorName(left) : "it ends too early");
        }
        pass_on(u, out, part.pos);
    }
    return (int)len;
}

static int read_zstd(struct unpacking *u, char *data, ssize_t len)
{
    ZSTD_DStream *stream = ZSTD_createDStream();
    if (stream == NULL) {
        return err_set(u->err, ENOMEM, "%s: no memory to unpack it", u->path);
    }
    _cleanup_(freep) char *out = xnew_array(char, CHUNK);
    const int r = unpack(u, stream, data, len, out);
    (void)ZSTD_freeDStream(stream); /* fails for no stream only */
    return r;
}

/* ---- gzip ---- */

#define GZIP_ONLY (15 + 16) /* the largest window, and no other header */

/* What one piece of the file holds. *is_open: the file must not end here. */
static int inflate_piece(struct unpacking *u, z_stream *stream, char *out, bool *is_open)
{
    while (stream->avail_in > 0) {
        if (!*is_open && inflateReset(stream) != Z_OK) {
            return damaged(u, "gzip", "another part cannot be read");
        }
        stream->next_out = (unsigned char *)out;
        stream->avail_out = CHUNK;
        const int r = inflate(stream, Z_NO_FLUSH);
        if (r != Z_OK && r != Z_STREAM_END) {
            return damaged(u, "gzip",
                           stream->msg != NULL ? stream->msg : "it is not what was compressed");
        }
        *is_open = r != Z_STREAM_END;
        pass_on(u, out, CHUNK - stream->avail_out);
    }
    return 0;
}

/* Parts may follow each other; the file must end with one. Each has a checksum and its length. */
static int read_gzip(struct unpacking *u, char *data, ssize_t len)
{
    z_stream stream = {0};
    if (inflateInit2(&stream, GZIP_ONLY) != Z_OK) {
        return err_set(u->err, ENOMEM, "%s: no memory to unpack it", u->path);
    }
    _cleanup_(freep) char *out = xnew_array(char, CHUNK);
    bool is_open = true;
    int r = 0;
    while (len > 0 && r == 0) {
        stream.next_in = (unsigned char *)data;
        stream.avail_in = (unsigned)len; /* at most CHUNK */
        r = inflate_piece(u, &stream, out, &is_open);
        len = r == 0 ? read_some(u, data, CHUNK) : 0;
    }
    (void)inflateEnd(&stream); /* fails for no stream only */
    if (r == 0 && len == 0 && is_open) {
        return damaged(u, "gzip", "it ends too early");
    }
    return r < 0 ? r : (int)len;
}

/* ---- which of them ---- */

static int read_any(struct unpacking *u, const char **ret_fix)
{
    _cleanup_(freep) char *data = xnew_array(char, CHUNK);
    const ssize_t len = read_head(u, data);
    if (len < 0) {
        return (int)len;
    }
    if (has_magic(data, len, "\x1f\x8b", 2)) {
        return read_gzip(u, data, len);
    }
    if (has_magic(data, len,
                  "\xfd"
                  "7zXZ",
                  5) ||
        has_magic(data, len, "BZh", 3) || has_magic(data, len, "PK\x03\x04", 4)) {
        *ret_fix = "give its text: unpack it first";
        return err_set(u->err, EBADMSG, "%s: it is compressed by another program than gzip or zstd",
                       u->path);
    }
    return has_magic(data, len, "\x28\xb5\x2f\xfd", MAGIC_SIZE) ? read_zstd(u, data, len)
                                                                : read_plain(u, data, len);
}

int import_file_read(const char *path, import_bytes_fn on_bytes, void *ctx, struct import_file *ret,
                     const char **ret_fix, struct err *err)
{
    const bool is_stdin = str_eq(path, IMPORT_STDIN);
    struct unpacking u = {.path = is_stdin ? "standard input" : path,
                          .fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC),
                          .on_bytes = on_bytes,
                          .ctx = ctx,
                          .err = err};
    struct stat st;
    if (u.fd < 0 || fstat(u.fd, &st) < 0) {
        const int r = err_set_errno(err, errno, "%s", path);
        if (u.fd > STDIN_FILENO) {
            (void)close(u.fd); /* only opened to read */
        }
        return r;
    }
    const int r = read_any(&u, ret_fix);
    const int64_t modified_ms = (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
    *ret =
        (struct import_file){st.st_dev, st.st_ino, S_ISREG(st.st_mode) ? modified_ms : 0, u.bytes};
    if (!is_stdin) {
        (void)close(u.fd); /* only read from */
    }
    return r;
}
