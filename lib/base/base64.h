/* Base64 with the alphabet of RFC 4648 and padding. */
#pragma once

#include <stddef.h>

extern const signed char base64_values[128]; /* of ASCII characters, or -1 */

/* The value of one character, or -1. */
static inline int base64_value(char c)
{
    const unsigned char at = (unsigned char)c;
    return at < sizeof(base64_values) ? base64_values[at] : -1;
}

/* Owned. */
char *base64_dup(const void *data, size_t len);
