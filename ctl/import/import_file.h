/* The bytes of an old log: a file, one that gzip or zstd has compressed, or standard
 * input. Edge: reads files. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

typedef void (*import_bytes_fn)(void *ctx, const char *data, size_t len);

struct import_file {
    uint64_t device, inode;
    int64_t modified_unix_ms; /* 0: unknown (standard input) */
    uint64_t bytes;           /* unpacked */
};

/* "-": standard input. -ENOENT and other errors of the file system; -EBADMSG: damaged, or packed in
 * a way that is not read; *ret_fix is static, or stays as it is. */
int import_file_read(const char *path, import_bytes_fn on_bytes, void *ctx, struct import_file *ret,
                     const char **ret_fix, struct err *err);
