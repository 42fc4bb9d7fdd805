/* What tables a result deserves, and their cells; text.c and markdown.c only print them. Pure. */
#pragma once

#include "report/report.h"
#include "result/result.h"

/* What varies over the swept points, and so needs columns. */
struct layout {
    const struct result *result; /* borrowed */
    VEC(const char *) names;     /* sweep names with more than one value, in byte order; borrowed */
    bool systems;                /* more than one system */
    bool own_baselines; /* every swept point divides by itself: scaling is 1, and says nothing */
};
void layout_init(struct layout *l, const struct result *r);
void layout_done(struct layout *l);

/* The seed's table: throughput (efficiency) in a grid. NULL unless one or two names vary and half of
 * its cells would hold a point. One name: a row a system. Two: a row a value of the first, the
 * second in columns. */
struct table *layout_grid(const struct layout *l);
/* The line above it, without its end; only where there is a grid. */
void layout_grid_caption(const struct layout *l, struct buf *out);

enum layout_part {
    LAYOUT_THROUGHPUT = 1,
    LAYOUT_SCALING = 2,  /* speedup and efficiency */
    LAYOUT_BY_INDEX = 4, /* the point's index instead of what varies, for narrow terminals */
};
/* One row a swept point. Columns of intervals are left out where no point has one, scaling where
 * every point is its own baseline. */
struct table *layout_points(const struct layout *l, unsigned parts);

/* "pservers 1, trainers 2", of all the point's parameters that vary; "all" if none does. */
void layout_describe_point(const struct layout *l, uint32_t point, struct buf *out);
/* "batch_size 16; threads 1; 4 points and 1 for the baseline; 3 trials each, ..." */
void layout_describe_run(const struct layout *l, struct buf *out);
