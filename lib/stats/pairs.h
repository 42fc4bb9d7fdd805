/* Which of n items lower the values of the pairs that they are in, such as nodes the throughput of
 * a transfer between two of them (docs/contracts/result.md, "Pairs of nodes"). Used by
 * result/nodes.c. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "stats/stats.h"

#define PAIRS_MAX_N 256 /* items; the time grows with the cube */

struct pair_effect {
    size_t n_pairs;        /* that it is in */
    struct estimate ratio; /* of its pairs' values, with it over with the median item */
    double p; /* one-sided, of "it lowers them no more than the others do"; adjusted by Holm for the
                 number of items */
};
/* values: (n, n), at [i * n + j] with i < j the log of the value of that pair, NaN: not measured.
 * Least squares of log = b_i + b_j, where all deviate alike; Student's t on b_i less the median
 * of all b. ret: (n), zero before. n is at most PAIRS_MAX_N. False: there are no more pairs than
 * items, or they do not determine each b, as where the items are two sides that only meet each
 * other. */
bool pairs_fit(const double *values, size_t n, struct pair_effect *ret);
