/* The parts of compare.c besides its statistics. Pure.
 *
 * Those that look at runs, in compare_runs.c: may two be compared at all, which points do they
 * share, and what else differs? */
#pragma once

#include "base/err.h"
#include "compare/comparison.h"

/* Simulated figures compare with nothing, those of a rehearsal with a rehearsal's only. As
 * comparison_new. */
int compare_check_kind(const struct result *base, const struct result *candidate,
                       const char **ret_fix, struct err *err);
/* NCCL and TCP are two experiments, as two wires are. The check ignores replicas that did not
 * report their transport. As comparison_new. */
int compare_check_transports(const struct comparison *c, const char **ret_fix, struct err *err);
/* A throughput on both sides. */
bool compare_is_measured(const struct compared_point *p);
/* Fills points, n_measured, only_base and only_candidate: each point of the base gets the first
 * pair that is left. Points of one system are the same where what ran is, however the sweeps were
 * written; by an axis, which is set then, where they differ in that alone. */
void compare_match(struct comparison *c);
/* Two runs with the points that they share, and nothing tested. For comparison_free. */
struct comparison *compare_begin(const struct result *base, const struct result *candidate);
/* Fills differences: what was trained, how long, on which machines. */
void compare_differences(struct comparison *c);
/* Of these only what the start records of both sides say. */
void compare_machines(struct comparison *c);

/* Adjusts the p that each point has at an offset and that of all points together, which it returns;
 * NaN is one that was not tested. Four fifths of alpha are for the whole, one fifth for the points
 * by Holm. A single point is the whole, which is then not tested. */
double compare_adjust(const struct comparison *c, size_t offset, double whole);

/* What a test of a mean difference of logs shows: `none` where p is above COMPARE_ALPHA or the
 * change below the threshold, else slower or faster where p is at most `alpha`, inconclusive
 * where it is above. */
enum change compare_judge_log(const struct comparison *c, double difference, double p_adjusted,
                              double alpha, enum change none);

/* The rest is in compare.c. Evaluates what is `shown` of the points and of the whole. */
void compare_judge(struct comparison *c);

/* ---- with other runs of the base: compare_history.c ----
 *
 * Is the difference of two runs more than that between any two runs of the same thing? And if other
 * programs of the machine took different shares of the two, is it the machine's doing? */

/* The mean over the measured points of `of`, or one of them (NULL: all), of the logs of the
 * throughput of `r`. NaN: it lacks one, has another unit, or the two cannot be compared. */
double compare_mean_log(const struct result *of, const struct result *r, const uint32_t *point);
/* The level of a run: itself and those of `runs`, in any order, that are of the same thing and were
 * as fast. Fills ret (n + 1), the oldest first; returns their number. */
size_t compare_level_of(const struct result *base, const struct result *const *runs, size_t n,
                        const struct result **ret);
/* Is a run slower than those of a level, so that it has another? */
bool compare_leaves_level(const struct result *const *level, size_t n, const struct result *run);
/* Fills n_base_runs, `busy`, and what is `shown` of each point and of the whole. */
void compare_history_test(struct comparison *c, const struct result *const *history, size_t n);

/* ---- a busy machine ----
 *
 * docs/contracts/compare.md, "A busy machine", has the rule. It is not asked inside one run, where
 * load falls on both sides of a block by chance, which the test allows for. */

/* Fills `explained` from both tests; `lost`: the mean of -ln(1 - s) of the candidate. */
void compare_busy_explain(struct compared_busy *busy, const struct paired *shown, double lost);
/* Is a change that `shown` names the machine's doing? */
bool compare_busy_is_cause(const struct compared_busy *busy, const struct paired *shown,
                           double threshold_ratio);
