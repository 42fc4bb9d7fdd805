/* A table of one figure over any axes of a run: what a row is, what a column is, and what divides
 * what (docs/contracts/result.md, "Pivot"). Pure.
 *
 * An axis is "system" or a swept parameter. Axes that are named nowhere and vary become rows, so a
 * cell is one point, or with a ratio two. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/texts.h"
#include "result/result.h"

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

struct figure_kind; /* catalogue.h */
struct pivot_params {
    const char *rows, *columns;       /* axes, with commas between them; NULL: not said */
    const struct figure_kind *figure; /* NULL: the throughput */
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
    const struct figure_kind *figure;
    struct pivot_price price;
    const char *unit; /* of a cell: "samples/s", "ratio", ...; static */
    struct pivot_side rows, columns;
    const char *ratio_axis;             /* NULL: no ratio */
    char *ratio_a, *ratio_b;            /* owned */
    struct estimate *cells;             /* row by row; owned */
    const struct point_result **points; /* of each cell, or that at A; NULL: none; owned */
    bool has_summaries;                 /* the figure has no unit, so cells may be put together */
};
/* -EINVAL: an axis or a value that the run does not have, an axis twice, no price, a time to an
 * accuracy that the definition does not ask for; -ERANGE: too many cells. *ret_fix is static. */
int pivot_new(const struct result *r, const struct pivot_params *params, struct pivot **ret,
              const char **ret_fix, struct err *err);
void pivot_free(struct pivot *p); /* NULL is fine */
/* Of n cells from one on. */
struct pivot_summary pivot_summarise(const struct pivot *p, size_t from, size_t n);

/* "system", or a name of the sweep, of `len` characters; borrowed from the result. NULL: none. */
const char *axis_find(const struct result *r, const char *name, size_t len);
/* -EINVAL: the run has no such axis; it says which it has. */
int axis_refuse(const struct result *r, const char *name, size_t len, struct err *err);
bool axis_is_system(const char *axis);
/* What a point has on an axis, owned; NULL: nothing. */
char *axis_value(const struct result *r, const char *axis, const struct point *point);
/* The same for people: a system with its mode, where modes differ. */
char *axis_shown(const struct result *r, const char *axis, const struct point *point);
/* Each value of the swept points once, in their order: a baseline may have one of its own. */
void axis_values(const struct result *r, const char *axis, struct texts *ret);
