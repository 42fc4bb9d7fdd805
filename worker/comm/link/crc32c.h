/* CRC-32C (Castagnoli, reflected, as in iSCSI): guards the payload of a frame against damage, not
 * against an attacker. Runs at memory speed where the CPU has SSE 4.2, up to twice as fast where it
 * also has AVX2 and VPCLMULQDQ, at that of the first-level cache where it has
 * AVX-512 and VPCLMULQDQ. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Continues `crc` (0 to start) over n bytes: crc32c(crc32c(0, a), b) is the CRC of a then b. */
uint32_t crc32c(uint32_t crc, const void *data, size_t n);

/* The same by one way of computing it. False: this CPU cannot, and *ret is as it was. */
enum crc32c_way { CRC32C_TABLE, CRC32C_SSE42, CRC32C_AVX2, CRC32C_AVX512 };
bool crc32c_by(enum crc32c_way way, uint32_t crc, const void *data, size_t n, uint32_t *ret);
