/* Which charts a result gets. Each function returns false, and makes nothing, where there is
 * nothing to show. Pure. */
#pragma once

#include "report/chart.h"
#include "report/layout.h"

/* The names of a result's charts, in the order of a page; NULL after the last one.
 *
 * time-to-accuracy-speedup, time-to-accuracy-cost: of the time to the accuracy or loss that the
 * definition asks for, over the same x as throughput; the cost where the result has a price.
 * accuracy-over-time, loss-over-time: a line a point, of the trial nearest to its median.
 * throughput, efficiency: over the number of trainers, or else over the first parameter that
 * varies; a line for each combination of the others. The ideal is what the efficiency divides by.
 * None where the system says what each parameter's value is.
 * points: the throughput of each point, a row each, with its ideal; where the above has nothing to
 * be a line over.
 * throughput-by-pservers, efficiency-by-pservers: the same over the number of servers, where that
 * varies besides: a line for each number of trainers. None where no two points differ in their
 * servers alone.
 * trials: each trial's throughput over the median of its point.
 * phases: what a step of a trainer consists of: the mean over trainers and trials. Says which
 * measured points have no phases. */
const char *charts_name(size_t i);
/* False also for another name. */
bool charts_make(const struct layout *l, const char *name, struct chart *ret);
/* In charts_steps.c. The step times of one trainer in the trial that is nearest to the point's
 * median, a spark a point. Its text says so where the first step is not one of the others'. */
struct sparks {
    VEC(struct chart) list;
};
bool charts_steps(const struct layout *l, struct sparks *ret);

/* The ratio of two runs at each common point. */
struct comparison;
bool charts_comparison(const struct comparison *c, struct chart *ret);

/* Returns the trial nearest to the median throughput of its point; NULL if no trial succeeded. */
const struct trial_result *charts_nearest_trial(const struct point_result *p);
/* "2 pservers, 4 trainers"; owned. */
char *charts_point_name(const struct layout *l, const struct point_result *p);
