/* An axis: from values to pixels, and where its ticks are. Pure. */
#pragma once

#include <stddef.h>

struct chart_axis {
    double low, high; /* the values at its ends, high > low */
    double step;      /* between ticks: 1, 2 or 5 times a power of ten */
    double from_px, to_px;
};

/* Holds low..high, ends at ticks, and has about n_ticks of them. Values may be equal. */
struct chart_axis chart_axis_nice(double low, double high, unsigned n_ticks, double from_px,
                                  double to_px);
double chart_axis_px(const struct chart_axis *a, double value);
/* Ticks are low, low + step, ..., high. */
size_t chart_axis_n_ticks(const struct chart_axis *a);
double chart_axis_tick(const struct chart_axis *a, size_t i);
