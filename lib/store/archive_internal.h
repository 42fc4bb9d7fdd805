/* Shared by archive.c and archive_read.c. */
#pragma once

#include "store/archive.h"

#define ARCHIVE_FORMAT "benchd.io/archive"

/* In hex. -ENOSYS. */
int archive_sha256(const void *data, size_t len, char ret[static ARCHIVE_SHA256_SIZE],
                   struct err *err);
