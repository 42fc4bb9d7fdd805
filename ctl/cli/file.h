/* Whole files: those that verbs write for people, and archives that they read. */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

/* A file of that name is replaced as a whole, or stays as it is; -Exxx. Where a link leads, the
 * file is there. What is no file, such as /dev/stdout, is written to. */
int file_replace(const char *link, const struct buf *data);
/* -Exxx with the path in the text; -E2BIG. */
int file_read(const char *path, size_t max_bytes, struct buf *ret, struct err *err);
