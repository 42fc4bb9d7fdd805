/* Which points a result speaks for, and how surely: what a reader wants to know first. Pure. */
#pragma once

#include "result/result.h"

/* Of the ideal; what people call "still scales". */
#define CHOICE_EFFICIENCY 0.9
/* What an interval should reach to either side of its middle, so that its point can be quoted. */
#define CHOICE_HALF_WIDTH 0.05
/* More trials a point than anybody runs. */
#define CHOICE_MAX_TRIALS 1000

struct choice {
    bool units_differ; /* of the points' throughputs: then nothing is compared */
    /* The swept point with the highest throughput; NULL: none was measured, or units differ. */
    const struct point_result *fastest;
    /* Those that are not shown to be slower: the 95% interval of their ratio to the fastest
     * holds 1. Fastest first. */
    VEC(const struct point_result *) ties;
    size_t n_slower; /* points that are shown to be */
    size_t n_unsure; /* points without such an interval: they have fewer than 3 trials */
    /* The fastest of all others, tie or not; NULL if none exists. */
    const struct point_result *second;
    /* The tie that needs fewest CPUs, of these the one with fewest replicas, if it needs fewer of
     * the one than the fastest and no more of the other; NULL if none exists. */
    const struct point_result *cheapest;
    /* Both of a run with one system and several numbers of trainers; else NULL, because
     * efficiencies of systems have different baselines. Of the points with more trainers than their
     * baseline: the one with the most trainers (of these the fastest) whose efficiency is at least
     * CHOICE_EFFICIENCY; NULL: none. */
    const struct point_result *widest;
    size_t n_as_wide;    /* such points with as many trainers, itself among them */
    bool widest_is_sure; /* so is the lower end of its interval */
    /* Where there is no such point: the one with the highest efficiency. NULL: no efficiencies. */
    const struct point_result *most_efficient;
};
void choice_init(struct choice *c, const struct result *r); /* borrows the result's points */
void choice_done(struct choice *c);

/* The throughput of p to that of the fastest; its interval is what makes p a tie. */
struct estimate choice_ratio(const struct choice *c, const struct point_result *p);
/* How many trials each of the two points, p and the fastest, would need before their difference is
 * significant, if both continue to deviate as their trials did. It is the least n with
 *   t sqrt((u + v) / n) <= |d|
 * u and v are the variances of the logs of throughput, d is the difference of the means of these
 * logs, and t is the quantile of Student for a 95% interval with 2 (n - 1) degrees of freedom.
 * Returns CHOICE_MAX_TRIALS + 1 for more than that, and 0 if the number is not known. */
uint32_t choice_trials_to_tell(const struct choice *c, const struct point_result *p);
/* Likewise until the interval of p reaches CHOICE_HALF_WIDTH: the least n with t sqrt(u / n) <=
 * ln(1 + CHOICE_HALF_WIDTH) and n - 1 degrees of freedom. */
uint32_t choice_trials_to_narrow(const struct point_result *p);
