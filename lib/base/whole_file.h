/* Whole files, those that verbs write for people and read, and folders. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/texts.h"

/* A file of that name is replaced as a whole, or stays as it is; -Exxx. Where a link leads, the
 * file is there. What is no file, such as /dev/stdout, is written to. */
int file_replace(const char *link, const struct buf *data);
/* The same of a file in parts: as long as its `r` is not below 0, file_part_put adds one (`take` of
 * a buf, with the file as its `ctx`); file_parts_end, for all that were begun, returns `r`. */
struct file_parts {
    char *path, *aside; /* owned; aside NULL: what is no file */
    int fd, r;
};
void file_parts_begin(struct file_parts *f, const char *link);
bool file_part_put(void *f, const void *data, size_t len);
int file_parts_end(struct file_parts *f);
/* -Exxx with the path in the text; -E2BIG. */
int file_read(const char *path, size_t max_bytes, struct buf *ret, struct err *err);
/* The same of an open file, which stays open. */
int file_read_fd(int fd, const char *path, size_t max_bytes, struct buf *ret, struct err *err);
/* The names in a folder, in no order; none where it cannot be read. */
void file_names(const char *folder, struct texts *ret);
/* What follows the last slash. */
const char *file_last_part(const char *path);
