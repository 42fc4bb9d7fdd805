/* See str.h. */
#include "base/str.h"

size_t utf8_length(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    size_t len = s[0] < 0x80   ? 1
                 : s[0] < 0xc2 ? 0
                 : s[0] < 0xe0 ? 2
                 : s[0] < 0xf0 ? 3
                 : s[0] < 0xf5 ? 4
                               : 0;
    for (size_t i = 1; i < len; i++) {
        if ((s[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f)) {
        return 0; /* overlong, surrogate, beyond U+10FFFF */
    }
    return len;
}

void utf8_mend(char *text)
{
    while (text != NULL && *text != '\0') {
        const size_t len = utf8_length(text);
        *text = len == 0 ? '?' : *text;
        text += len == 0 ? 1 : len;
    }
}

/* What a character that begins so should have. */
static size_t length_by_lead(unsigned char lead)
{
    return lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

size_t utf8_cut(const char *text, size_t len)
{
    for (size_t n = 1; n <= 3 && n <= len; n++) {
        const unsigned char c = (unsigned char)text[len - n];
        if ((c & 0xc0) != 0x80) {
            return length_by_lead(c) > n ? len - n : len;
        }
    }
    return len;
}
