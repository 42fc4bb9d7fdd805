/* Which points a result speaks for, and how surely: what a reader wants to know first. Pure. */
#pragma once

#include "result/result.h"

/* Of the ideal; what people call "still scales". */
#define CHOICE_EFFICIENCY 0.9

struct choice {
    bool units_differ; /* of the points' throughputs: then nothing is compared */
    /* The swept point with the highest throughput; NULL: none was measured, or units differ. */
    const struct point_result *fastest;
    /* Those that are not shown to be slower: the 95% interval of their ratio to the fastest
     * holds 1. Fastest first. */
    VEC(const struct point_result *) ties;
    size_t n_slower; /* points that are shown to be */
    size_t n_unsure; /* points without such an interval: they have fewer than 3 trials */
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
