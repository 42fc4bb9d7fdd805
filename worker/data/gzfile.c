#include "worker/data/gzfile.h"

#include <string.h>
#include <unistd.h>

#include <zlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "worker/data/dataset.h"

#define READ_BUFFER_BYTES (256u << 10)

int gzfile_open(struct gzfile *f, const char *dir, const char *name, struct err *err)
{
    char *path = xasprintf("%s/%s", dir, name);
    if (access(path, F_OK) != 0 && errno == ENOENT) {
        free(path);
        path = xasprintf("%s/%s.gz", dir, name);
    }
    errno = 0;
    gzFile gz = gzopen(path, "rbe");
    if (gz == NULL) {
        int code = errno == 0 ? ENOMEM : errno;
        int r = code == ENOENT ? err_set(err, ENOENT,
                                         "neither '%s/%s' nor '%s.gz' exists; pass the directory "
                                         "that holds the data files",
                                         dir, name, name)
                               : err_set_errno(err, code, "open '%s'", path);
        free(path);
        return r;
    }
    (void)gzbuffer(gz, READ_BUFFER_BYTES); /* for speed: a failure does not matter */
    *f = (struct gzfile){.path = path, .gz = gz};
    return 0;
}

void gzfile_close(struct gzfile *f)
{
    if (f->gz != NULL) {
        (void)gzclose(f->gz); /* read only: gzfile_read has reported any error */
    }
    free(f->path);
    *f = (struct gzfile){0};
}

static int read_failed(struct gzfile *f, struct err *err)
{
    int code = Z_OK, saved = errno;
    const char *text = gzerror(f->gz, &code);
    size_t path_len = strlen(f->path);
    if (strncmp(text, f->path, path_len) == 0 && str_has_prefix(text + path_len, ": ")) {
        text += path_len + 2; /* the message below names the file already */
    }
    if (code == Z_ERRNO) {
        return err_set_errno(err, saved == 0 ? EIO : saved, "read '%s'", f->path);
    }
    if (code == Z_BUF_ERROR) { /* no offset: zlib reads ahead, so the end is elsewhere */
        return err_set(err, EBADMSG,
                       "'%s' is damaged: the compressed data end early; download it again",
                       f->path);
    }
    return err_set(err, EBADMSG, "'%s' is damaged: %s; download it again", f->path, text);
}

int gzfile_read(struct gzfile *f, void *out, size_t n, const char *what, struct err *err)
{
    size_t done = 0;
    while (done < n) {
        size_t left = n - done;
        unsigned chunk = left > READ_BUFFER_BYTES ? READ_BUFFER_BYTES : (unsigned)left;
        errno = 0;
        int got = gzread(f->gz, (char *)out + done, chunk);
        if (got > 0) {
            done += (size_t)got;
            f->offset += (uint64_t)got;
        }
        int code = Z_OK;
        (void)gzerror(f->gz, &code);
        if (got < 0 || code == Z_BUF_ERROR) {
            return read_failed(f, err);
        }
        if (got == 0) {
            uint64_t expected = f->offset - done + n;
            return err_set(
                err, EBADMSG,
                "'%s' is too short: it ends at byte %llu, expected %llu (%s); download it again",
                f->path, (unsigned long long)f->offset, (unsigned long long)expected, what);
        }
    }
    return 0;
}

int gzfile_expect_end(struct gzfile *f, struct err *err)
{
    char extra;
    errno = 0;
    int got = gzread(f->gz, &extra, 1), code = Z_OK;
    (void)gzerror(f->gz, &code);
    if (got < 0 || code == Z_BUF_ERROR) {
        return read_failed(f, err);
    }
    if (got > 0) {
        return err_set(err, EBADMSG,
                       "'%s' is too long: expected it to end at byte %llu; download it again",
                       f->path, (unsigned long long)f->offset);
    }
    return 0;
}

int gzfile_check_labels(const struct gzfile *f, const uint8_t *labels, size_t n, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        if (labels[i] >= DATA_CLASSES) {
            return err_set(err, EBADMSG, "'%s': label %u of sample %zu, expected 0 to %d", f->path,
                           labels[i], i, DATA_CLASSES - 1);
        }
    }
    return 0;
}
