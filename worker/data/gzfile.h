/* One data file, gzip or plain (zlib reads both), read from front to back, with an error text for
 * everything that can be wrong with it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct gzfile {
    char *path;      /* owned */
    void *gz;        /* gzFile */
    uint64_t offset; /* of the next byte, after decompression */
};

/* Opens DIR/NAME, or DIR/NAME.gz if DIR/NAME does not exist. -ENOENT names both. */
int gzfile_open(struct gzfile *f, const char *dir, const char *name, struct err *err);
void gzfile_close(struct gzfile *f);
/* Reads exactly n bytes. -EBADMSG says where the file ends and that `what` was expected. */
int gzfile_read(struct gzfile *f, void *out, size_t n, const char *what, struct err *err);
/* -EBADMSG unless the file ends here and its gzip checksum is right. */
int gzfile_expect_end(struct gzfile *f, struct err *err);
/* -EBADMSG with the first of the n labels, which were read from f, that is not a class. */
int gzfile_check_labels(const struct gzfile *f, const uint8_t *labels, size_t n, struct err *err);
