/* The check of class labels that every file format shares. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* -EBADMSG naming the first label that is not a class; `path` is the file that it came from. */
int labels_check(const char *path, const uint8_t *labels, size_t n, struct err *err);
