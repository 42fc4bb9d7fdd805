/* Writes the Prometheus text format 0.0.4 into a buffer. Pure; metrics.c says what is written.
 * One family after another: expo_begin, then all its samples. */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/histogram.h"

enum expo_kind { EXPO_GAUGE, EXPO_COUNTER, EXPO_HISTOGRAM };

#define EXPO_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

struct expo_family {
    const char *name; /* a counter's ends in _total, no other's does */
    const char *help; /* one sentence; no quotes, backslashes, line breaks */
    enum expo_kind kind;
};

struct expo_label {
    const char *name;
    const char *value; /* any bytes; what is not UTF-8 becomes '?' */
};

struct expo {
    struct buf *out;
    const struct expo_family *family; /* the one begun */
    size_t n_series;                  /* written so far */
};

void expo_begin(struct expo *e, const struct expo_family *family);
/* NaN: no sample. */
void expo_sample(struct expo *e, const struct expo_label *labels, size_t n_labels, double value);
/* Seconds: a series for each bucket, their sum and their count. At most EXPO_MAX_LABELS labels. */
#define EXPO_MAX_LABELS 4
void expo_histogram(struct expo *e, const struct expo_label *labels, size_t n_labels,
                    const struct histogram *h);
