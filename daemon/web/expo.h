/* Writes the Prometheus text format 0.0.4 and OpenMetrics 1.0 into a buffer. Pure; metrics.c says
 * what is written. One family after another: expo_begin, then all its samples. */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/histogram.h"

enum expo_format { EXPO_TEXT, EXPO_OPENMETRICS };
enum expo_kind { EXPO_GAUGE, EXPO_COUNTER, EXPO_HISTOGRAM };

/* The format for a scraper with this Accept header (NULL: none was sent): OpenMetrics only if the
 * header asks for it, and prefers it at least as much as plain text. */
enum expo_format expo_negotiate(const char *accept);
const char *expo_content_type(enum expo_format format);

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
    enum expo_format format;
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
/* Writes the end mark of OpenMetrics. */
void expo_end(struct expo *e);
