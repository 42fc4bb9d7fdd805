/* CRC-32C (Castagnoli, reflected, as in iSCSI): guards the payload of a frame against damage, not
 * against an attacker. ISA-L computes it with the instructions that the CPU has. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <isa-l/crc.h>

/* Continues `crc` (0 to start) over n bytes: crc32c(crc32c(0, a), b) is the CRC of a then b. ISA-L
 * takes an int for the length, and the state where CRC-32C has its complement. */
static inline uint32_t crc32c(uint32_t crc, const void *data, size_t n)
{
    const size_t max = (size_t)1 << 30;
    unsigned char *at = (unsigned char *)data; /* which ISA-L does not write */
    for (; n > max; at += max, n -= max) {
        crc = ~crc32_iscsi(at, (int)max, ~crc);
    }
    return ~crc32_iscsi(at, (int)n, ~crc);
}
