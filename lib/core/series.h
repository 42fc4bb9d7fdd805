/* Step times in few bytes: the `series` of a summary (docs/contracts/summary.md). Pure.
 * Used by the files of record.h. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define SERIES_MAX 1000 /* entries; u16 each in base64: 2,668 characters */

struct series {
    uint32_t k;  /* steps an entry is the mean of */
    uint32_t n;  /* entries */
    int32_t min; /* smallest code, added to every entry */
};

/* Encodes n_steps step times into `max` entries at most, 1 to SERIES_MAX; appends base64 to `data`.
 * n_steps must not be 0. */
void series_encode(const int64_t *step_ns, size_t n_steps, size_t max, struct series *ret,
                   struct buf *data);

/* Decodes s->n entries into owned microseconds. -EINVAL unless `data` is exactly s->n u16. */
int series_decode(const struct series *s, const char *data, size_t len, double **ret_us);
