/* Characters of ASCII, alike in every locale. <ctype.h> follows LC_CTYPE, which benchctl takes from
 * its user: in Turkish the capital of 'i' is not 'I'. Bytes of other characters belong to no class
 * and have no other case; both signs of char are right. */
#pragma once

#include <stdbool.h>

static inline bool ascii_is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static inline bool ascii_is_letter(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline bool ascii_is_alnum(int c)
{
    return ascii_is_letter(c) || ascii_is_digit(c);
}

/* From ' ' to '~'. */
static inline bool ascii_is_print(int c)
{
    return c >= ' ' && c < 0x7F;
}

static inline bool ascii_is_control(int c)
{
    return (c >= 0 && c < ' ') || c == 0x7F;
}

static inline char ascii_lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

static inline char ascii_upper(char c)
{
    return (char)(c >= 'a' && c <= 'z' ? c - ('a' - 'A') : c);
}
