/* See text.h. */
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>

static size_t utf8_length(unsigned char lead)
{
    return lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

void text_put(char *dst, size_t size, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const int wanted = vsnprintf(dst, size, fmt, ap);
    va_end(ap);
    if (wanted < 0) {
        dst[0] = '\0';
        return;
    }
    size_t len = (size_t)wanted;
    if (len >= size) {
        len = size - 1;
        size_t lead = len;
        while (lead > 0 && ((unsigned char)dst[lead - 1] & 0xC0) == 0x80) {
            lead--;
        }
        if (lead > 0 && lead - 1 + utf8_length((unsigned char)dst[lead - 1]) > len) {
            len = lead - 1;
        }
        dst[len] = '\0';
    }
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)dst[i] < 0x20 || dst[i] == 0x7F) {
            dst[i] = ' ';
        }
    }
}
