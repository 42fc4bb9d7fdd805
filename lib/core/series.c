/* Logarithmic u16 codes in base64, see record_members.h. */
#include "core/record_members.h"

#include <errno.h>
#include <math.h>

#include "base/base64.h"
#include "base/mem.h"
#include "base/vec_walk.h"

#define CODES_PER_OCTAVE 2048.0

/* Exactly `want` bytes, in the one spelling that base64_dup has for them, or -EINVAL. */
static int base64_decode(const char *text, size_t len, uint8_t *bytes, size_t want)
{
    if (len != (want + 2) / 3 * 4) {
        return -EINVAL;
    }
    for (size_t i = 0, at = 0; i < len; i += 4, at += 3) {
        size_t rest = want - at; /* at least 1 */
        size_t n_chars = rest >= 3 ? 4 : rest + 1;
        uint32_t bits = 0;
        for (size_t j = 0; j < 4; j++) {
            int v = j < n_chars ? base64_value(text[i + j]) : text[i + j] == '=' ? 0 : -1;
            if (v < 0) {
                return -EINVAL;
            }
            bits = bits << 6 | (uint32_t)v;
        }
        for (size_t j = 0; j < 3; j++) {
            uint8_t byte = (uint8_t)(bits >> (16 - 8 * j) & 255);
            if (j < rest) {
                bytes[at + j] = byte;
            } else if (byte != 0) {
                return -EINVAL; /* bits set after the end: another encoding of the same bytes */
            }
        }
    }
    return 0;
}

static int32_t to_code(double us)
{
    double shortest_us = 0.001; /* the clock's resolution; log2(0) is no number */
    return (int32_t)lrint(CODES_PER_OCTAVE * log2(us < shortest_us ? shortest_us : us));
}

static double mean_us(const int64_t *step_ns, size_t n)
{
    return array_sum(step_ns, n, it, (double)*it) / (double)n / 1e3;
}

void series_encode(const int64_t *step_ns, size_t n_steps, size_t max, struct series *ret,
                   struct buf *data)
{
    size_t k = (n_steps + max - 1) / max;
    size_t n = (n_steps + k - 1) / k;
    int32_t codes[SERIES_MAX];
    int32_t min = INT32_MAX;
    for (size_t i = 0; i < n; i++) {
        size_t group = n_steps - i * k < k ? n_steps - i * k : k;
        codes[i] = to_code(mean_us(step_ns + i * k, group));
        min = codes[i] < min ? codes[i] : min;
    }
    uint8_t bytes[2 * SERIES_MAX];
    for (size_t i = 0; i < n; i++) {
        int32_t entry = codes[i] - min;
        entry = entry > UINT16_MAX ? UINT16_MAX : entry;
        bytes[2 * i] = (uint8_t)(entry & 255);
        bytes[2 * i + 1] = (uint8_t)(entry >> 8);
    }
    _cleanup_(freep) char *text = base64_dup(bytes, 2 * n);
    buf_puts(data, text);
    *ret = (struct series){.k = (uint32_t)k, .n = (uint32_t)n, .min = min};
}

int series_decode(const struct series *s, const char *data, size_t len, double **ret_us)
{
    uint8_t bytes[2 * SERIES_MAX];
    if (s->n == 0 || s->n > SERIES_MAX || base64_decode(data, len, bytes, 2 * (size_t)s->n) < 0) {
        return -EINVAL;
    }
    double *us = xnew_array(double, s->n);
    for (size_t i = 0; i < s->n; i++) {
        int32_t entry = bytes[2 * i] | bytes[2 * i + 1] << 8;
        us[i] = exp2((entry + s->min) / CODES_PER_OCTAVE);
    }
    *ret_us = us;
    return 0;
}
