/* Small files: kubeconfig, certificates, tokens. Used by config.c and credentials.c. */
#pragma once

#include <stddef.h>

#include "base/err.h"

#define KUBE_FILE_MAX ((size_t)1024 * 1024)
/* The whole file as an owned, NUL-terminated text. -ENOENT, -EACCES, -E2BIG. */
int kube_file_read(const char *path, char **ret, size_t *ret_len, struct err *err);
