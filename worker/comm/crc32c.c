/* CRC-32C, see crc32c.h.
 *
 * The CPU's instruction has a latency of 3 cycles for 8 bytes but can start every cycle, so three
 * ranges of BLOCK bytes are computed in parallel and then combined: the CRC of "a then b" is the
 * CRC of a, advanced over as many zero bytes as b has, xor the CRC of b. Advancing is linear over
 * GF(2), so for the one length that is needed it takes four table look-ups. The tables are written
 * once, before anyone reads them. */
#include "worker/comm/crc32c.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#define POLYNOMIAL 0x82f63b78u /* reflected 0x1edc6f41 */
#define BLOCK 8192             /* bytes of each of the three ranges */

static uint32_t byte_table[256];    /* one byte */
static uint32_t skip_table[4][256]; /* BLOCK zero bytes, by byte of the state */
static bool has_sse42;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static uint32_t advance_by_zeros(uint32_t state, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        state = byte_table[state & 0xff] ^ (state >> 8);
    }
    return state;
}

static void fill_tables(void)
{
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t state = b;
        for (int bit = 0; bit < 8; bit++) {
            state = (state >> 1) ^ ((state & 1) != 0 ? POLYNOMIAL : 0);
        }
        byte_table[b] = state;
    }
    for (int byte = 0; byte < 4; byte++) {
        for (int bit = 0; bit < 8; bit++) {
            skip_table[byte][1 << bit] = advance_by_zeros(1u << (8 * byte + bit), BLOCK);
        }
        for (uint32_t v = 1; v < 256; v++) {
            skip_table[byte][v] = skip_table[byte][v & (v - 1)] ^ skip_table[byte][v & -v];
        }
    }
#if defined(__x86_64__)
    has_sse42 = __builtin_cpu_supports("sse4.2") != 0;
#endif
}

static uint32_t by_table(uint32_t state, const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        state = byte_table[(state ^ p[i]) & 0xff] ^ (state >> 8);
    }
    return state;
}

#if defined(__x86_64__)

static uint32_t skip_block(uint32_t state)
{
    return skip_table[0][state & 0xff] ^ skip_table[1][(state >> 8) & 0xff] ^
           skip_table[2][(state >> 16) & 0xff] ^ skip_table[3][state >> 24];
}

static uint64_t load64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t state, const uint8_t *p,
                                                                 size_t n)
{
    while (n >= 3 * BLOCK) {
        uint64_t a = state, b = 0, c = 0;
        for (size_t i = 0; i < BLOCK; i += 8) {
            a = __builtin_ia32_crc32di(a, load64(p + i));
            b = __builtin_ia32_crc32di(b, load64(p + BLOCK + i));
            c = __builtin_ia32_crc32di(c, load64(p + 2 * BLOCK + i));
        }
        state = skip_block(skip_block((uint32_t)a) ^ (uint32_t)b) ^ (uint32_t)c;
        p += 3 * BLOCK;
        n -= 3 * BLOCK;
    }
    uint64_t wide = state;
    for (; n >= 8; p += 8, n -= 8) {
        wide = __builtin_ia32_crc32di(wide, load64(p));
    }
    state = (uint32_t)wide;
    for (; n > 0; p++, n--) {
        state = __builtin_ia32_crc32qi(state, *p);
    }
    return state;
}

#endif

uint32_t crc32c_portable(uint32_t crc, const void *data, size_t n)
{
    (void)pthread_once(&once, fill_tables); /* fails only for a broken `once` */
    return ~by_table(~crc, data, n);
}

uint32_t crc32c(uint32_t crc, const void *data, size_t n)
{
    (void)pthread_once(&once, fill_tables);
#if defined(__x86_64__)
    if (has_sse42) {
        return ~by_instruction(~crc, data, n);
    }
#endif
    return ~by_table(~crc, data, n);
}
