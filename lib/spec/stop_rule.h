/* How many trials a point needs (repeats.stopWhen; docs/contracts/order.md, "Points that stop
 * early"). Asked by lib/decide, which ends a point's repeats, by lib/result, which makes its
 * interval, and by the live view. Pure.
 *
 * The rule is Stein's in two stages (Ann. Math. Statist. 16 (1945) 243-258), on the logs of
 * throughput. The first repeats.min trials give a deviation s; once, and from it alone, follows how
 * many trials make the interval narrow enough: the least n with t s stats_two_stage_deviation(n) <=
 * ln(1 + half width), t of Student with min - 1 degrees of freedom. The interval keeps that s and
 * that t. So it holds the truth in 95% of the cases however often one looks: n depends on s only,
 * and the middle of the trials does not. An interval that were made anew after each trial, until
 * one is narrow enough, would stop where s is small by chance.
 *
 * With a second stage the interval is around the median, which is what is printed; around the mean
 * of the logs it would miss the median of skewed noise the more often the more trials there are. */
#pragma once

#include <stdint.h>

#include "spec/spec.h"

#define STOP_RULE_MIN_TRIALS 3 /* of the first stage; fewer have no interval */

/* Of the first stage. `values`: throughputs of the trials that have one, by the
 * number of the trial. */
struct first_stage {
    uint32_t n;      /* 0: there are not enough values yet */
    double variance; /* of one log; n - 1 degrees of freedom */
};
struct first_stage stop_rule_first_stage(const struct spec *spec, const double *values, size_t n);

/* How many throughputs the point needs: from spec->min_repeats to spec->repeats. It is
 * spec->repeats without a rule, or while the number is not known yet. */
uint32_t stop_rule_needed(const struct spec *spec, const double *values, size_t n);

/* How many trials of the point are decided in the end if no other fails: `n_decided` of them are,
 * of which `n_values` have a throughput. `needed` is that of stop_rule_needed. */
uint32_t stop_rule_trials(const struct spec *spec, uint32_t needed, uint32_t n_decided,
                          uint32_t n_values);
