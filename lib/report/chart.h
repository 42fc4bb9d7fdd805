/* Charts as data: what is to be drawn, before any pixel. charts.h makes them from a result,
 * chart_svg.h draws them. All strings are owned. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/vec.h"

#define CHART_MAX_SERIES 8 /* colours and shapes that can be distinguished */

enum chart_unit {
    CHART_NUMBER,  /* 263.3 */
    CHART_PERCENT, /* a ratio, shown as 72.4% */
    CHART_CHANGE,  /* a ratio to 1, shown as -2.1% */
};

/* A value, at an x of a line or of a series in a row. */
struct chart_mark {
    double x;        /* of a line */
    unsigned series; /* of a row: index into dot_chart.series */
    double value;
    double low, high; /* its 95% interval; NaN: none */
    double ideal;     /* of a line; NaN: not known */
    char *text;       /* what it is, in words: "2 pservers, 4 trainers: 120.7 samples/s (...)" */
};

/* A line, or a row. */
struct chart_series {
    char *name;                   /* "2 pservers, 4 trainers" */
    VEC(struct chart_mark) marks; /* of a line by x */
};

/* y over x, a line a series. */
struct line_chart {
    char *y_title;
    enum chart_unit y_unit;
    VEC(char *) x_names; /* x is an index into these; empty: x is a number */
    VEC(struct chart_series) series;
    size_t n_left_out; /* series that would be too many */
    bool x_is_time;    /* x begins at 0, and marks stay where they are */
    double reference;  /* a line at this y; NaN: none */
};

/* A row a point, values along x. */
struct dot_chart {
    enum chart_unit unit;
    VEC(char *) series; /* one: no legend; of more, those with a dot */
    VEC(struct chart_series) rows;
    double reference; /* a line at this x; NaN: none */
};

/* A row a point, parts of a whole after each other. */
struct bar_chart {
    VEC(char *) parts; /* at most CHART_MAX_SERIES */
    VEC(struct bar_row {
        char *name;
        double parts[CHART_MAX_SERIES];
        double whole; /* marked with a line; NaN: not known */
    })
    rows;
    const char *subtitle; /* static */
    char *missing;        /* a sentence: which points have no row; NULL: none */
};

/* The course of the time of a step, small. */
struct spark {
    char *name, *text;
    VEC(double) values; /* ms a step; the means of neighbours where there are many steps */
    unsigned n_steps, steps_each; /* of all values; of each but the last */
};

/* Any of them. */
struct chart {
    enum chart_kind { CHART_NONE, CHART_LINES, CHART_DOTS, CHART_BARS, CHART_SPARK } kind;
    const char *id; /* a word, unique in a page; static; a spark has none of these three */
    char *title, *x_title;
    union {
        struct line_chart lines;
        struct dot_chart dots;
        struct bar_chart bars;
        struct spark spark;
    };
};

void chart_done(struct chart *c);
void chart_series_done(struct chart_series *s);
