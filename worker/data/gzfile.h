/* One data file, gzip or plain (zlib reads both), read front to back with a text for everything
 * that can be wrong with it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct gzfile {
    char *path;      /* owned */
    void *gz;        /* gzFile */
    uint64_t offset; /* of what is read next, after decompression */
};

/* Opens DIR/NAME, or DIR/NAME.gz if there is no such file. -ENOENT names both. */
int gzfile_open(struct gzfile *f, const char *dir, const char *name, struct err *err);
void gzfile_close(struct gzfile *f);
/* n bytes or an error: -EBADMSG names the place where the file ends and `what` was expected. */
int gzfile_read(struct gzfile *f, void *out, size_t n, const char *what, struct err *err);
/* -EBADMSG unless the file ends here, its gzip checksum included. */
int gzfile_expect_end(struct gzfile *f, struct err *err);
