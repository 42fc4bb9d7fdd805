/* Base64 with the alphabet of RFC 4648 and padding. */
#pragma once

#include <stddef.h>

/* The value of one character, or -1. */
int base64_value(char c);
/* Owned. */
char *base64_dup(const void *data, size_t len);
