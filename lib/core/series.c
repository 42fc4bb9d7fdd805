/* Logarithmic u16 codes in base64, see record_members.h. */
#include "core/record_members.h"

#include <errno.h>
#include <math.h>

#include "base/base64.h"
#include "base/mem.h"
#include "base/str.h"

#define CODES_PER_OCTAVE 2048.0

static int32_t to_code(double us)
{
    double shortest_us = 0.001; /* the clock's resolution; log2(0) is no number */
    return (int32_t)lrint(CODES_PER_OCTAVE * log2(us < shortest_us ? shortest_us : us));
}

static double mean_us(const int64_t *step_ns, size_t n)
{
    return array_sum(step_ns, n, it, (double)*it) / (double)n / 1e3;
}

struct series series_of(const int64_t *step_ns, size_t n_steps, size_t max)
{
    const size_t k = (n_steps + max - 1) / max, n = (n_steps + k - 1) / k;
    struct series s = {(uint32_t)k, (uint32_t)n, INT32_MAX, xmalloc(SERIES_BYTES(n))};
    _cleanup_(freep) int32_t *codes = xnew_array(int32_t, n);
    for (size_t i = 0; i < n; i++) {
        const size_t group = n_steps - i * k < k ? n_steps - i * k : k;
        codes[i] = to_code(mean_us(step_ns + i * k, group));
        s.min = codes[i] < s.min ? codes[i] : s.min;
    }
    for (size_t i = 0; i < n; i++) {
        const int32_t entry = codes[i] - s.min, cut = entry > UINT16_MAX ? UINT16_MAX : entry;
        s.data[2 * i] = (uint8_t)(cut & 255);
        s.data[2 * i + 1] = (uint8_t)(cut >> 8);
    }
    return s;
}

/* Bytes have one spelling: other texts are not what is written of what they were read as. */
int series_read(const char *base64, struct series *s, struct err *err)
{
    const size_t len = SERIES_BYTES(s->n);
    const char *text = base64 == NULL ? "" : base64;
    s->data = xcalloc(len, 1);
    uint32_t bits = 0;
    for (size_t i = 0, at = 0; text[i] != '\0' && at < len; i++) {
        bits = bits << 6 | ((uint32_t)base64_value(text[i]) & 63);
        if (i % 4 > 0) {
            s->data[at++] = (uint8_t)(bits >> (6 - 2 * (i % 4)));
        }
    }
    _cleanup_(freep) char *written = base64_dup(s->data, len);
    return str_eq(written, text)
               ? 0
               : err_set(err, EPROTO, "'data' is not base64 of %u numbers of 16 bits", s->n);
}

double *series_decode(const struct series *s)
{
    double *us = xnew_array(double, s->n);
    for (size_t i = 0; i < s->n; i++) {
        const int32_t entry = s->data[2 * i] | s->data[2 * i + 1] << 8;
        us[i] = exp2((entry + s->min) / CODES_PER_OCTAVE);
    }
    return us;
}
