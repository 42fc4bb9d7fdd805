/* See ranked.h. */
#include "stats/ranked.h"

#include <stdlib.h>

#include "base/mem.h"

int ranked_compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct ranked *ranked_sort(const double *values, size_t n)
{
    struct ranked *ranked = xnew_array(struct ranked, n);
    for (size_t i = 0; i < n; i++) {
        ranked[i] = (struct ranked){values[i], i};
    }
    qsort(ranked, n, sizeof(*ranked), ranked_compare);
    return ranked;
}
