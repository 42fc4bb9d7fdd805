/* Which bytes are a character. Pure. */
#pragma once

#include <stddef.h>

/* Bytes of the UTF-8 character (RFC 3629) at `text`, or 0 if it is not one. A NUL is a character of
 * one byte, and ends every look ahead. */
size_t utf8_length(const char *text);
/* '?' in the place of each byte that is no part of a character. NULL is fine. */
void utf8_mend(char *text);
/* Of the first `len` bytes of a longer text, how many can stay: without a part of a character at
 * their end. */
size_t utf8_cut(const char *text, size_t len);
