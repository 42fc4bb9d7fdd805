/* The tar inside an archive (archive.h): plain files, one canonical header for each name and size.
 * Pure; called by archive.c. */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

#define TAR_BLOCK 512

/* One file with its header and padding; and what is before and after its data. */
void tar_put(struct buf *out, const char *name, const void *data, size_t len);
void tar_put_header(struct buf *out, const char *name, size_t len);
void tar_put_padding(struct buf *out, size_t len);
/* How many bytes that appends. */
size_t tar_size(size_t len);
/* The two empty blocks. */
void tar_put_end(struct buf *out);

struct tar_reader {
    const char *at;
    size_t left;
};
struct tar_file { /* borrowed from what is read */
    char name[100];
    const char *data;
    size_t len;
};
/* 1: a file; 0: the end, and nothing follows it; -EPROTO: not as tar_put writes it. */
int tar_next(struct tar_reader *r, struct tar_file *ret, struct err *err);
