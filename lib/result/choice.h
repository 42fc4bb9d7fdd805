/* Which points a result speaks for, and how surely: what a reader wants to know first. Pure. */
#pragma once

#include "result/result.h"

struct choice {
    bool units_differ; /* of the points' throughputs: then nothing is compared */
    /* The swept point with the highest throughput; NULL: none was measured, or units differ. */
    const struct point_result *fastest;
    /* The other measured points, by the 95% interval of their ratio to the fastest. */
    size_t n_ties;   /* the interval contains 1: they are not shown to be slower */
    size_t n_slower; /* they are shown to be slower */
    size_t n_unsure; /* they have no such interval, because they have fewer than 3 trials */
};
void choice_init(struct choice *c, const struct result *r); /* borrows the result's points */
