/* The numbers of a pack as bytes. Used by log_pack.c, log_unpack.c and log_column.c. Pure. A varint
 * has 7 bits a byte, the lowest first; all but its last byte have the bit 0x80. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "store/log_pack.h"

struct log_bytes {
    const unsigned char *at, *end; /* borrowed */
};

static inline void log_put_varint(struct buf *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7) {
        buf_putc(out, (char)(unsigned char)(0x80 | (value & 0x7f)));
    }
    buf_putc(out, (char)(unsigned char)value);
}

/* False if none exists, or it has more than 64 bits. */
bool log_get_varint(struct log_bytes *in, uint64_t *ret);
bool log_get_byte(struct log_bytes *in, uint8_t *ret);
/* `n` bytes, borrowed. */
bool log_get_bytes(struct log_bytes *in, size_t n, const unsigned char **ret);

/* Small differences of either sign as small numbers: 0, -1, 1, -2 are 0, 1, 2, 3. */
static inline uint64_t log_fold(uint64_t difference)
{
    return (difference << 1) ^ (0 - (difference >> 63));
}

static inline uint64_t log_unfold(uint64_t folded)
{
    return (folded >> 1) ^ (0 - (folded & 1));
}

/* Other statistics begin here, unless so little has come since they did last that a
 * block would not pay. */
void log_break(struct log_packed *p);
