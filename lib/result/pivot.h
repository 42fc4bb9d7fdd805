/* A table of one figure over any axes of a run: what a row is, what a column is, and what divides
 * what (docs/contracts/result.md, "Pivot"). Pure.
 *
 * An axis is "system" or a swept parameter. Axes that are named nowhere and vary become rows, so a
 * cell is one point, or with a ratio two. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/vec.h"
#include "result/result.h"

enum pivot_figure {
    PIVOT_THROUGHPUT,
    PIVOT_SPEEDUP,
    PIVOT_EFFICIENCY,
    PIVOT_EFFICIENCY_PER_POD,
    PIVOT_EFFICIENCY_PER_CPU,
    PIVOT_PRICE_INDEX, /* N / S^2: by what the price of a sample rises, over what the speed does */
    PIVOT_COST,        /* of a million samples */
    PIVOT_EXCHANGE,    /* share of a trainer's step */
    PIVOT_TIME,        /* to the accuracy or loss that the definition asks for */
    PIVOT_TIME_SPEEDUP,
    PIVOT_TIME_EFFICIENCY,
    PIVOT_TIME_COST, /* of a trial until then */
};
#define PIVOT_FIGURE_COUNT 12
extern const struct pivot_words {
    const char *name, *title; /* "price-index"; "Price index N / S^2" */
    size_t offset;            /* in struct point_result; 0: it is computed */
    const char *unit;         /* of a cell; NULL: it is a ratio, or that of the throughput */
    bool is_percent, is_cost;
    bool is_of_time;     /* to the accuracy or loss that the definition asks for */
    bool is_independent; /* of other points */
} pivot_figures[PIVOT_FIGURE_COUNT];

enum pivot_price_unit { PIVOT_CPU_HOUR, PIVOT_POD_HOUR, PIVOT_GPU_HOUR };
extern const char *const pivot_price_words[3]; /* "CPU", "pod", "GPU" */
struct pivot_price {
    enum pivot_price_unit unit;
    double amount; /* of an hour; 0: none */
};
#define PIVOT_PRICE_FIX "for example --price 0.05/cpu-hour, 0.2/pod-hour or 3/gpu-hour"
/* "0.05/cpu-hour", "0.2092/pod-hour" or "3/gpu-hour", above 0. -EINVAL: anything else. */
int pivot_price_parse(const char *text, struct pivot_price *ret);
/* Sets the time_cost of all points from such a text, which is borrowed. */
int pivot_set_price(struct result *r, const char *text);

struct pivot_params {
    const char *rows, *columns; /* axes, with commas between them; NULL: not said */
    enum pivot_figure figure;
    const char *ratio; /* "AXIS=A/B": the figure at A over that at B, all else equal; NULL: none */
    struct pivot_price price; /* a cost needs it */
};

struct pivot_summary { /* over the cells that are known; n 0: none, and the rest is NaN */
    size_t n;
    double median, geomean, least, most;
};

struct pivot_side {                  /* the rows, or the columns */
    VEC(const char *) axes;          /* borrowed from the result */
    VEC(const struct point *) heads; /* a point with the values of each */
};

struct pivot {
    const struct result *result; /* borrowed */
    enum pivot_figure figure;
    struct pivot_price price;
    const char *unit; /* of a cell: "samples/s", "ratio", ...; static */
    struct pivot_side rows, columns;
    const char *ratio_axis;              /* NULL: no ratio */
    char *ratio_a, *ratio_b;             /* owned */
    struct estimate *cells;              /* row by row; owned */
    bool has_summaries;                  /* the figure has no unit, so cells may be put together */
    struct pivot_summary *row_summaries; /* owned */
    struct pivot_summary whole;
};
/* -EINVAL: an axis or a value that the run does not have, an axis twice, no price, a time to an
 * accuracy that the definition does not ask for; -ERANGE: too many cells. *ret_fix is static. */
int pivot_new(const struct result *r, const struct pivot_params *params, struct pivot **ret,
              const char **ret_fix, struct err *err);
void pivot_free(struct pivot *p); /* NULL is fine */
/* A point's value on an axis; owned. */
char *pivot_value(const struct pivot *p, const char *axis, const struct point *point);
/* The same for people: a system with its mode, where modes differ. */
char *pivot_shown(const struct pivot *p, const char *axis, const struct point *point);
