/* Which bytes are a character. Pure. */
#pragma once

#include <stddef.h>

/* Bytes of the UTF-8 character (RFC 3629) at `text`, or 0 if it is not one. A NUL is a character of
 * one byte, and ends every look ahead. */
size_t utf8_length(const char *text);
