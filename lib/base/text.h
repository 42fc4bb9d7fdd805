/* Texts for people: one line for a field of fixed size, and foreign text without what
 * a terminal obeys. Pure.
 *
 * Control characters are here those of C0, DEL and C1 (ECMA-48): terminals obey U+0080 to U+009F,
 * too, which are two bytes in UTF-8, and some obey the single bytes 0x80 to 0x9f where they are no
 * part of a character. */
#pragma once

#include <stdarg.h>
#include <stddef.h>

struct buf;

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
