/* A trial that lies far from the others of its point, which agree. Pure. */
#pragma once

#include <stddef.h>

#include "result/result.h"

/* So far from the median of the others at least, as a ratio, that it is worth a word. */
#define OUTLIER_MIN_CHANGE 0.05

struct outlier {
    bool found;
    uint32_t trial;
    double change; /* from the median of the other trials, 0.25: 25% above */
    double others; /* how far these differ: the highest to the lowest, less 1 */
};
/* Of the succeeded trials of a point, if there are 3 to 10 of them: outlier_side of
 * the logs of throughput. */
struct outlier outlier_find(const struct point_result *p);

/* Dixon's test (Ann. Math. Statist. 21 (1950) 488-506), r10, the distance of the extreme value from
 * its neighbour over the whole range: above the critical value, which chance exceeds in 2% of all
 * normal samples (two-sided: Rorabacher, Anal. Chem. 63 (1991) 139-146). -1: the lowest of `sorted`
 * (n) lies outside, 1: the highest; 0: neither, or n is not 3 to 10. */
int outlier_side(const double *sorted, size_t n);
