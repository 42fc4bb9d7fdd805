/* See log_bytes.h. */
#include "store/log_bytes.h"

#define LEAST_BLOCK 1024 /* bytes from one break to the next */

void log_break(struct log_packed *p)
{
    const size_t last = p->breaks.len == 0 ? 0 : p->breaks.items[p->breaks.len - 1];
    if (p->bytes.len - last >= LEAST_BLOCK) {
        *vec_push(&p->breaks) = p->bytes.len;
    }
}

bool log_get_byte(struct log_bytes *in, uint8_t *ret)
{
    if (in->at == in->end) {
        return false;
    }
    *ret = *in->at++;
    return true;
}

bool log_get_bytes(struct log_bytes *in, size_t n, const unsigned char **ret)
{
    if ((size_t)(in->end - in->at) < n) {
        return false;
    }
    *ret = in->at;
    in->at += n;
    return true;
}

bool log_get_varint(struct log_bytes *in, uint64_t *ret)
{
    uint64_t value = 0;
    uint8_t byte = 0x80;
    for (unsigned shift = 0; byte & 0x80; shift += 7) {
        if (shift > 63 || !log_get_byte(in, &byte) || (shift == 63 && byte > 1)) {
            return false;
        }
        value |= (uint64_t)(byte & 0x7f) << shift;
    }
    *ret = value;
    return true;
}
