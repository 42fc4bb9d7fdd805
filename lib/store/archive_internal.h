/* Shared by archive.c and archive_read.c. */
#pragma once

#include "store/archive.h"

#define ARCHIVE_FORMAT "benchd.io/archive"

/* -E2BIG: the member of that name may not have so many bytes. */
int archive_check_size(const char *name, size_t len, struct err *err);
/* In hex. -ENOSYS. */
int archive_sha256(const void *data, size_t len, char ret[static ARCHIVE_SHA256_SIZE],
                   struct err *err);
