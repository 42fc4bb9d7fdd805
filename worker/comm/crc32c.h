/* CRC-32C (Castagnoli, reflected, as in iSCSI): guards the payload of a frame against damage, not
 * against an attacker. Runs at memory speed where the CPU has SSE 4.2. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Continues `crc` (0 to start) over n bytes: crc32c(crc32c(0, a), b) is the CRC of a then b. */
uint32_t crc32c(uint32_t crc, const void *data, size_t n);
/* The same with a table, on any CPU. Tests compare crc32c with it. */
uint32_t crc32c_portable(uint32_t crc, const void *data, size_t n);
