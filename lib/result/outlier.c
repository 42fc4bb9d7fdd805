/* See outlier.h. */
#include "result/outlier.h"

#include <math.h>
#include <stdlib.h>

#include "stats/stats.h"

#define MIN_TRIALS 3
#define MAX_TRIALS 10

/* Of 3 to 10 values. */
static const double critical[MAX_TRIALS - MIN_TRIALS + 1] = {0.988, 0.889, 0.780, 0.698,
                                                             0.637, 0.590, 0.555, 0.527};

struct logged {
    double log;
    uint32_t trial;
};

static int by_log(const void *a, const void *b)
{
    const struct logged *x = a, *y = b;
    return (x->log > y->log) - (x->log < y->log);
}

/* Sorted. Returns their number, at most MAX_TRIALS; 0: there are more. */
static size_t collect(const struct point_result *p, struct logged ret[static MAX_TRIALS])
{
    size_t n = 0;
    point_each_trial (t, p) {
        if (t->phase != TRIAL_SUCCEEDED || isnan(t->throughput)) {
            continue;
        }
        if (n == MAX_TRIALS) {
            return 0;
        }
        ret[n++] = (struct logged){log(t->throughput), t->trial};
    }
    qsort(ret, n, sizeof(*ret), by_log);
    return n;
}

/* Dixon's test (Ann. Math. Statist. 21 (1950) 488-506), r10, the distance of the extreme value from
 * its neighbour over the whole range: above the critical value, which chance exceeds in 2% of all
 * normal samples (two-sided: Rorabacher, Anal. Chem. 63 (1991) 139-146). -1: the lowest of `sorted`
 * lies outside, 1: the highest; 0: neither. */
static int side_of(const double sorted[static MIN_TRIALS], size_t n)
{
    const double below = sorted[1] - sorted[0], above = sorted[n - 1] - sorted[n - 2];
    if (!(fmax(below, above) > critical[n - MIN_TRIALS] * (sorted[n - 1] - sorted[0]))) {
        return 0;
    }
    return below > above ? -1 : 1;
}

struct outlier outlier_find(const struct point_result *p)
{
    struct logged values[MAX_TRIALS];
    const size_t n = collect(p, values);
    if (n < MIN_TRIALS) {
        return (struct outlier){0};
    }
    double sorted[MAX_TRIALS];
    for (size_t i = 0; i < n; i++) {
        sorted[i] = values[i].log;
    }
    const int side = side_of(sorted, n);
    if (side == 0) {
        return (struct outlier){0};
    }
    const bool is_low = side < 0;
    const double *logs = is_low ? sorted + 1 : sorted; /* of the others */
    const double change = expm1(values[is_low ? 0 : n - 1].log - stats_middle(logs, n - 1));
    return (struct outlier){
        .found = fabs(change) >= OUTLIER_MIN_CHANGE,
        .trial = values[is_low ? 0 : n - 1].trial,
        .change = change,
        .others = expm1(logs[n - 2] - logs[0]),
    };
}
