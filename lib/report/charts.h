/* Which charts a result gets. Each function returns false, and makes nothing, where there is
 * nothing to show. Pure. */
#pragma once

#include "report/chart.h"
#include "report/layout.h"

/* The charts of a result by name, in the order of a page; NULL after the last one. */
const char *charts_name(size_t i);
bool charts_make(const struct layout *l, size_t i, struct chart *ret);

/* Throughput and efficiency over the number of trainers, or else over the first parameter that
 * varies; a line for each combination of the others. The ideal is what the efficiency divides by.
 * False also where the system says what each parameter's value is. */
bool charts_throughput(const struct layout *l, struct line_chart *ret);
bool charts_efficiency(const struct layout *l, struct line_chart *ret);
/* The same over the number of servers, where that varies besides: a line for each number of
 * trainers. False also where no two points differ in their servers alone. */
bool charts_throughput_by_servers(const struct layout *l, struct line_chart *ret);
bool charts_efficiency_by_servers(const struct layout *l, struct line_chart *ret);
/* The throughput of each point, a row each, with its ideal; where the above has
 * nothing to be a line over. */
bool charts_points(const struct layout *l, struct dot_chart *ret);
/* Efficiency per trainer, per pod and per CPU, a row a point. */
bool charts_resources(const struct layout *l, struct dot_chart *ret);
/* Each trial's throughput over the median of its point. */
bool charts_trials(const struct layout *l, struct dot_chart *ret);
/* What a step of a trainer consists of: the mean over trainers and trials. Says which measured
 * points have no phases. */
bool charts_phases(const struct layout *l, struct bar_chart *ret);
/* In charts_steps.c. The step times of one trainer in the trial that is nearest to the point's
 * median, a spark a point. Its text says so where the first step is not one of the others'. */
struct sparks {
    VEC(struct spark) list;
};
bool charts_steps(const struct layout *l, struct sparks *ret);
void sparks_done(struct sparks *sparks);

/* The ratio of two runs at each common point. */
struct comparison;
bool charts_comparison(const struct comparison *c, struct dot_chart *ret);

/* "2 pservers, 4 trainers"; owned. */
char *charts_point_name(const struct layout *l, const struct point_result *p);
