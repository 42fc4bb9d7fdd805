/* Strings: what they are, what their bytes are, and texts for people. Pure. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

bool str_eq(const char *a, const char *b);
bool str_eq_or_null(const char *a, const char *b); /* also if both are NULL */
bool str_has_prefix(const char *s, const char *prefix);
bool str_has_suffix(const char *s, const char *suffix);
/* The letters of ASCII are equal to their capitals, in every locale. */
bool str_eq_nocase(const char *a, const char *b);
bool str_eq_nocase_n(const char *a, const char *b, size_t n);      /* at most their first n bytes */
const char *str_find_nocase(const char *text, const char *wanted); /* NULL if it is not there */
/* `list` ends with NULL. */
bool str_is_one_of(const char *s, const char *const *list);
/* Which of n texts it is; -EINVAL: none. */
int str_index(const char *s, const char *const *list, size_t n);
/* The same of a text that does not end after its len bytes. */
int str_index_n(const char *s, size_t len, const char *const *list, size_t n);

/* An enum and its names from one list: #define CARS(X) X(CAR_RED, "Red") X(CAR_BLUE, "Blue"),
 * enum car { CARS(ENUM_ID) }; and names[] = {CARS(ENUM_NAME)}. */
#define ENUM_ID(id, name) id,
#define ENUM_NAME(id, name) [id] = (name),

/* FNV-1a: for names of what differs, not against attacks. */
uint64_t str_hash(const char *data, size_t len);
/* Edit distance with neighbour swaps (optimal string alignment); SIZE_MAX if a string is
 * longer than 64 bytes. */
size_t str_distance(const char *a, const char *b);

/* The only closest candidate within distance 2 of `word`, or NULL. */
const char *str_suggest(const char *word, const char *const *candidates, size_t n);

/* ---- characters of ASCII ----
 *
 * They are alike in all locales. <ctype.h> follows LC_CTYPE, which benchctl takes from its user: in
 * Turkish the capital of 'i' is not 'I'. Bytes of other characters belong to no class and have no
 * other case; both signs of char are right. */

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

/* ---- utf8.c: which bytes are a character ---- */

/* Bytes of the UTF-8 character (RFC 3629) at `text`, or 0 if it is not one. A NUL is a character of
 * one byte, and ends every look ahead. */
size_t utf8_length(const char *text);
/* '?' in the place of each byte that is no part of a character. NULL is fine. */
void utf8_mend(char *text);
/* Of the first `len` bytes of a longer text, how many can stay: without a part of a character at
 * their end. */
size_t utf8_cut(const char *text, size_t len);

/* ---- text.c: texts for people ----
 *
 * One line for a field of fixed size, and foreign text without what a terminal obeys. Control
 * characters are here those of C0, DEL and C1 (ECMA-48): terminals obey U+0080 to U+009F too, which
 * are two bytes in UTF-8, and some obey the single bytes 0x80 to 0x9f where they are no part of a
 * character. */

/* printf into dst. What does not fit is cut between two UTF-8 characters; control characters of
 * foreign messages become spaces, so that a text stays one line. */
void text_put(char *dst, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void text_vput(char *dst, size_t size, const char *fmt, va_list ap)
    __attribute__((format(printf, 3, 0)));
char *text_capitals(const char *text); /* of ASCII; owned */
/* Puts `by` in the place of each control character but those of C0 in `kept` ("": of none). Returns
 * the text's length: one character of two bytes makes it shorter. */
size_t text_replace_control(char *text, const char *kept, char by);
/* A copy without them; owned. */
char *text_without_control(const char *text, const char *kept, char by);
/* Adds text[0..len) as it may go to a terminal: \n, \r, tabs and colours (SGR) stay, '?' is in the
 * place of all else that a terminal would obey, and of NULs. text[len] is a NUL, too. */
void text_put_shown(struct buf *out, const char *text, size_t len);
