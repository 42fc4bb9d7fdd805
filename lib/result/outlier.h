/* A trial that lies far from the others of its point, which agree. Pure. */
#pragma once

#include "result/result.h"

/* So far from the median of the others at least, as a ratio, that it is worth a word. */
#define OUTLIER_MIN_CHANGE 0.05

struct outlier {
    bool found;
    uint32_t trial;
    double change; /* from the median of the other trials, 0.25: 25% above */
    double others; /* how far these differ: the highest to the lowest, less 1 */
};
/* Of the succeeded trials of a point, if there are 3 to 10 of them: Dixon's test
 * of the logs of throughput. */
struct outlier outlier_find(const struct point_result *p);
