/* May two runs be compared at all, which points do they share, and what else differs? The parts of
 * compare.c that look at runs; its statistics are there. Pure. */
#pragma once

#include "base/err.h"
#include "compare/comparison.h"

/* Simulated figures compare with nothing, those of a rehearsal with a rehearsal's only. As
 * comparison_new. */
int compare_check_kind(const struct result *base, const struct result *candidate,
                       const char **ret_fix, struct err *err);
/* A throughput on both sides. */
bool compare_is_measured(const struct compared_point *p);
/* The points of one side; borrowed. */
struct compare_side {
    VEC(const struct point_result *) list;
};
typedef bool compare_is_pair_fn(const struct comparison *c, const struct point *base,
                                const struct point *candidate);
/* Fills points, n_measured, only_base and only_candidate: each point of the base gets the first
 * pair that is left. */
void compare_pair(struct comparison *c, const struct compare_side *base,
                  const struct compare_side *candidate, compare_is_pair_fn *is_pair);
/* The same with all points of two runs: points of one system are the same where what ran is,
 * however the sweeps were written. */
void compare_match(struct comparison *c);
/* Fills differences: what was trained, how long, on which machines. */
void compare_differences(struct comparison *c);
/* Of these only what the start records of both sides say. */
void compare_machines(struct comparison *c);

/* Adjusts the p of n points and that of all points together, which it returns; NaN is one that was
 * not tested. One half of alpha is for the whole, one half for the points by Holm, so that a p is
 * adjusted by twice its own. A single point is the whole, which is then not tested. */
double compare_adjust(double *p, size_t n, double whole);

/* What a test of a mean difference of logs shows: `none` where p is above COMPARE_ALPHA or the
 * change below the threshold, else slower or faster where p is at most `alpha`, inconclusive
 * where it is above. */
enum change compare_judge_log(const struct comparison *c, double difference, double p_adjusted,
                              double alpha, enum change none);

/* Both in compare.c. Geometric means over the measured points. */
void compare_take_means(struct comparison *c);
/* The verdict over all points. What is known comes before what is not; a point without an answer
 * comes before the rest. A point that the candidate alone has asks nothing of the base. */
enum change compare_judge_whole(const struct comparison *c);
