/* See ranked.h. */
#include "stats/ranked.h"

#include <stdlib.h>

#include "base/vec.h"

struct ranked *ranked_sort(const double *values, size_t n)
{
    struct ranked *ranked = xnew_array(struct ranked, n);
    for (size_t i = 0; i < n; i++) {
        ranked[i] = (struct ranked){values[i], i};
    }
    qsort(ranked, n, sizeof(*ranked), by_double);
    return ranked;
}
