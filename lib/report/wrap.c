/* See wrap.h. */
#include "report/wrap.h"

#include <stdbool.h>
#include <string.h>

size_t wrap_width(const char *text, size_t bytes)
{
    size_t n = 0;
    for (size_t i = 0; i < bytes; i++) {
        n += ((unsigned char)text[i] & 0xc0) != 0x80;
    }
    return n;
}

void wrap_text(struct buf *out, const char *text, size_t columns, size_t used, size_t indent)
{
    size_t at = used;
    bool first_word = true;
    while (*text != '\0') {
        const size_t bytes = strcspn(text, " ");
        const size_t width = wrap_width(text, bytes);
        if (!first_word && at + 1 + width > columns) {
            buf_printf(out, "\n%*s", (int)indent, "");
            at = indent;
        } else if (!first_word) {
            buf_putc(out, ' ');
            at++;
        }
        buf_append(out, text, bytes);
        at += width;
        text += bytes;
        text += strspn(text, " ");
        first_word = false;
    }
    buf_putc(out, '\n');
}
