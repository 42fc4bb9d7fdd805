/* Which charts a result gets. Each function returns false, and makes nothing, where there is
 * nothing to show. Pure. */
#pragma once

#include "report/chart.h"
#include "report/layout.h"

/* The names of the charts of a page, in its order; NULL after the last one. Each other figure of
 * the catalogue has a chart as throughput has, by its name.
 *
 * time-to-accuracy-speedup, time-to-accuracy-cost: of the time to the accuracy or loss that the
 * definition asks for, over the same x as throughput; the cost where the result has a price.
 * accuracy-over-time, loss-over-time: a line a point, of the trial nearest to its median.
 * throughput, efficiency: over the number of trainers, or else over the first parameter of
 * numbers that varies; a line for each combination of the others. The ideal is what the efficiency
 * divides by. None where the system says what each number is.
 * points: the throughput of each point, a bar each, with its ideal; where the above has nothing to
 * be a line over.
 * phases: what a step of a trainer consists of: the mean over trainers and trials. Says which
 * measured points have no phases. */
const char *charts_name(size_t i);
#define CHART_PHASES "phases"
/* False also for another name. */
bool charts_make(const struct layout *l, const char *name, struct chart *ret);