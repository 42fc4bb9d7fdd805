/* Differences of pairs that were measured side by side: Student's t test on them, and what several
 * tests together may say (docs/contracts/compare.md, "One run"). Values are logs of
 * ratios. Then the spread between runs of the same thing ("Between runs"). Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "stats/stats.h"

#define PAIRED_MIN_N 3 /* pairs, for an interval and a verdict */

/* Logs that differ by less are the same: sums of the same numbers differ in the last digits. */
#define PAIRED_SAME 1e-12

/* What data show of a mean difference of logs; also that of a run from others, see below. */
struct paired {
    bool known; /* PAIRED_MIN_N pairs or more */
    size_t n;
    double mean, sd; /* of the differences, sd with n - 1 */
    double error;    /* the standard error of `mean`: sd / sqrt(n) of pairs */
    double t, df, p; /* against a mean of 0, two-sided; t infinite where they do not vary */
};
/* A stop rule may have chosen the number of pairs by the first `n_first` trials of each side
 * (spec/stop_rule.h): then only these say how the differences vary, and `mean` is the median, as
 * that of such a point. With n_first pairs or fewer, all pairs say both. */
struct paired paired_test_staged(const double *differences, size_t n, size_t n_first);

/* exp(mean) with its 95% interval: the ratio of both sides. Unknown without pairs; no interval
 * under PAIRED_MIN_N. */
struct estimate paired_ratio(const struct paired *p);

double paired_p(const struct paired *p); /* NaN: not known */
/* P under a mean of `bound` or less for a mean as large as this one, one-sided: small where the
 * mean is above. 1 if not known. */
double paired_p_above(const struct paired *p, double bound);
/* The mean's lower limit with one-sided 95%. */
double paired_low_95(const struct paired *p);
/* The loss, as a log, that these data can exclude: with a mean of 0 the one-sided 95% limit is
 * above its negative in 9 of 10 cases. */
double paired_resolution(const struct paired *p);
/* How many pairs that vary so bring the resolution to `loss`; 0: no number under 1,000 does. */
size_t paired_n_resolving(const struct paired *p, double loss);

/* Holm, Scand. J. Statist. 6 (1979) 65-70: ret[i] <= q exactly where p[i] is rejected with
 * a probability of at most q to reject any true hypothesis, however they depend on each
 * other. ret may be p. */
void paired_adjust(const double *p, size_t n, double *ret);

/* ---- between runs ---- */

#define RUN_SPREAD_MIN_RUNS 3 /* of the same thing, to say how far two of them differ */

/* Is the difference of another run from the mean of n runs of the same thing more than one more run
 * of it would have? The trials of a run share the hour and the machine, so they do not show it.
 * Values are means of logs of throughput, one for each run. A prediction: difference / (sd sqrt(1 +
 * 1 / n)) is Student's t with n - 1 degrees of freedom if the other run is one more of the same
 * kind. `known` from RUN_SPREAD_MIN_RUNS runs on. */
struct paired run_spread_test(const double *same, size_t n, double other);
/* The mean of the other run is less certain than theirs, as its trials vary more: by this variance,
 * which has these degrees of freedom (Satterthwaite). */
void run_spread_widen(struct paired *b, double variance, double df);
