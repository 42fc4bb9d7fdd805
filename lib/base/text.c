/* See str.h. */
#include "base/str.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

#define ESC '\033'

/* *ret_step: the number of bytes of the character, or of the invalid sequence. */
static bool is_control(const char *s, size_t *ret_step)
{
    const unsigned char c = (unsigned char)s[0];
    const size_t len = utf8_length(s);
    *ret_step = len == 0 ? 1 : len;
    return c < ' ' || c == 0x7F || (len == 0 && c < 0xA0) ||
           (c == 0xC2 && len == 2 && (unsigned char)s[1] < 0xA0);
}

char *text_capitals(const char *text)
{
    char *capitals = xstrdup(text);
    for (char *c = capitals; *c != '\0'; c++) {
        *c = ascii_upper(*c);
    }
    return capitals;
}

size_t text_replace_control(char *text, const char *kept, char by)
{
    size_t to = 0;
    for (size_t at = 0, step; text[at] != '\0'; at += step) {
        if (is_control(text + at, &step) && strchr(kept, text[at]) == NULL) {
            text[to++] = by;
        } else {
            memmove(text + to, text + at, step);
            to += step;
        }
    }
    text[to] = '\0';
    return to;
}

char *text_without_control(const char *text, const char *kept, char by)
{
    char *copy = xstrdup(text);
    (void)text_replace_control(copy, kept, by); /* its length is not needed */
    return copy;
}

/* Bytes of the colour that begins at `s`, such as ESC [ 1 ; 31 m; 0: none does. */
static size_t colour_length(const char *s)
{
    if (s[0] != ESC || s[1] != '[') {
        return 0;
    }
    const size_t end = 2 + strspn(s + 2, "0123456789;:");
    return s[end] == 'm' ? end + 1 : 0;
}

void text_put_shown(struct buf *out, const char *text, size_t len)
{
    for (size_t at = 0, step; at < len; at += step) {
        const char *s = text + at;
        const bool is_obeyed = is_control(s, &step) && *s != '\n' && *s != '\r' && *s != '\t';
        const size_t colour = is_obeyed ? colour_length(s) : 0;
        if (is_obeyed && colour == 0) {
            buf_putc(out, '?');
            continue;
        }
        step = colour > 0 ? colour : step;
        buf_append(out, s, step);
    }
}

void text_vput(char *dst, size_t size, const char *fmt, va_list ap)
{
    const int wanted = vsnprintf(dst, size, fmt, ap);
    if (wanted < 0) {
        dst[0] = '\0';
        return;
    }
    if ((size_t)wanted >= size) {
        dst[utf8_cut(dst, size - 1)] = '\0';
    }
    (void)text_replace_control(dst, "", ' '); /* its length is not needed */
}

void text_put(char *dst, size_t size, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    text_vput(dst, size, fmt, ap);
    va_end(ap);
}
