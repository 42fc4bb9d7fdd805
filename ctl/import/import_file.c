/* The bytes of an old log. Edge file: reads files and standard input. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/str.h"
#include "ctl/import/import.h"

#define CHUNK 65536

#define HAS_MAGIC(data, len, magic)                                                                \
    ((size_t)(len) >= sizeof(magic) - 1 && memcmp(data, magic, sizeof(magic) - 1) == 0)

static bool is_compressed(const char *data, size_t len)
{
    return HAS_MAGIC(data, len, "\x1f\x8b") || HAS_MAGIC(data, len, "\x28\xb5\x2f\xfd") ||
           HAS_MAGIC(data, len, "\xfd\x37zX") || HAS_MAGIC(data, len, "BZh") ||
           HAS_MAGIC(data, len, "PK\x03\x04");
}

static int read_all(FILE *file, const char *path, import_bytes_fn on_bytes, void *ctx,
                    uint64_t *ret_bytes, struct err *err)
{
    _cleanup_(freep) char *data = xnew_array(char, CHUNK);
    uint64_t bytes = 0;
    for (size_t n; (n = fread(data, 1, CHUNK, file)) > 0; bytes += n) {
        if (bytes == 0 && is_compressed(data, n)) {
            return err_set(err, EBADMSG, "%s: it is compressed; unpack it first", path);
        }
        on_bytes(ctx, data, n);
    }
    *ret_bytes = bytes;
    return ferror(file) ? err_set_errno(err, errno, "%s", path) : 0;
}

int import_file_read(const char *path, import_bytes_fn on_bytes, void *ctx, struct import_file *ret,
                     struct err *err)
{
    const bool is_stdin = str_eq(path, IMPORT_STDIN);
    FILE *file = is_stdin ? stdin : fopen(path, "rbe");
    struct stat st;
    uint64_t bytes = 0;
    if (file == NULL || fstat(fileno(file), &st) < 0) {
        return err_set_errno(err, errno, "%s", path); /* a file that fopen opened has an fstat */
    }
    const int r = read_all(file, is_stdin ? "standard input" : path, on_bytes, ctx, &bytes, err);
    const int64_t ms = (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
    *ret = (struct import_file){st.st_dev, st.st_ino, S_ISREG(st.st_mode) ? ms : 0, bytes};
    if (!is_stdin) {
        (void)fclose(file); /* it was only read */
    }
    return r;
}
