/* Base64 with the alphabet of RFC 4648 and padding. */
#pragma once

#include <stddef.h>

/* Owned. */
char *base64_dup(const void *data, size_t len);
