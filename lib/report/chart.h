/* Charts as data: what is to be drawn, before any pixel. charts.c makes them from a result,
 * chart_svg draws them. All strings are owned. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/vec.h"

#define CHART_MAX_SERIES 8 /* colours and shapes that can be distinguished */

enum chart_unit {
    CHART_NUMBER,  /* 263.3 */
    CHART_PERCENT, /* a ratio, shown as 72.4% */
};

/* A value, at an x of a line or in a row. */
struct chart_mark {
    double x;         /* of a line */
    unsigned series;  /* of a bar: which part, an index into chart.names */
    double value;     /* NaN: the point failed, and text says why */
    double low, high; /* its 95% interval; NaN: none */
    double ideal;     /* of a line; NaN: not known */
    char *text;       /* what it is, in words: "pservers 2, trainers 4: 120.7 samples/s (...)" */
};

/* A line, or a bar. */
struct chart_series {
    char *name;                   /* "pservers 2, trainers 4" */
    VEC(struct chart_mark) marks; /* of a line by x */
    double whole;                 /* of a bar: marked with a line; NaN: not known */
};

struct chart {
    enum chart_kind {
        CHART_NONE,
        CHART_LINES, /* y over x, a line a series */
        CHART_BARS,  /* a bar a series, parts after each other */
    } kind;
    const char *id; /* a word, unique in a page; static */
    char *title, *subtitle, *x_title;
    enum chart_unit unit;            /* of values */
    VEC(struct chart_series) series; /* at most CHART_MAX_SERIES lines */
    VEC(char *) names;               /* of bars: the parts, at most CHART_MAX_SERIES */
    char *whole;                     /* of bars: what the line at each is; NULL: no bar has one */
    double reference;                /* of lines: one at this value; NaN: none */
    bool x_is_time;                  /* of lines: x begins at 0, and marks stay where they are */
    bool has_failed;                 /* a mark of a line has no value */
    char *missing;                   /* a sentence: what it does not show; NULL: nothing */
};

void chart_done(struct chart *c);

/* From values to pixels, and where its ticks are (chart_svg.c). */
struct chart_axis {
    double low, high; /* the values at its ends, high > low */
    double step;      /* between ticks: 1, 2, 2.5 or 5 times a power of ten */
    double from_px, to_px;
};

/* Holds low..high, ends at ticks, and has about n_ticks of them. Values may be equal. */
struct chart_axis chart_axis_nice(double low, double high, unsigned n_ticks, double from_px,
                                  double to_px);
double chart_axis_px(const struct chart_axis *a, double value);
/* Ticks are low, low + step, ..., high. */
size_t chart_axis_n_ticks(const struct chart_axis *a);
double chart_axis_tick(const struct chart_axis *a, size_t i);

/* As SVG (chart_svg.c). `is_file`: a document of its own, with its style; else an element of an
 * HTML page. Colours come from classes: s0 to s7 for series; chart_style (style.h) has them for
 * light and dark. A series differs by its shape, too. Each mark says what it is in a <title>,
 * which browsers show under the pointer and screen readers read. */
void chart_svg(const struct chart *c, bool is_file, struct buf *out);
