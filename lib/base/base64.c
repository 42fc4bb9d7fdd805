/* See base64.h. */
#include "base/base64.h"

#include <string.h>

#include "base/buf.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int base64_value(char c)
{
    const char *at = memchr(digits, c, sizeof(digits) - 1);
    return at == NULL ? -1 : (int)(at - digits);
}

char *base64_dup(const void *data, size_t len)
{
    const unsigned char *bytes = data;
    struct buf out = BUF_INIT;
    for (size_t i = 0; i < len; i += 3) {
        const size_t n = len - i < 3 ? len - i : 3;
        const unsigned b = (unsigned)bytes[i] << 16 | (n > 1 ? (unsigned)bytes[i + 1] << 8 : 0) |
                           (n > 2 ? bytes[i + 2] : 0);
        buf_putc(&out, digits[b >> 18]);
        buf_putc(&out, digits[b >> 12 & 63]);
        buf_putc(&out, n > 1 ? digits[b >> 6 & 63] : '=');
        buf_putc(&out, n > 2 ? digits[b & 63] : '=');
    }
    return buf_take(&out);
}
