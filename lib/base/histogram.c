/* See histogram.h. */
#include "base/histogram.h"

#include <stddef.h>

#include "base/vec.h"

#define MS INT64_C(1000000)

const int64_t histogram_bounds_ns[HISTOGRAM_N_BOUNDS] = {
    1 * MS,    5 * MS,    25 * MS,   100 * MS,   250 * MS,   500 * MS,  1000 * MS,
    2000 * MS, 4000 * MS, 8000 * MS, 15000 * MS, 30000 * MS, 60000 * MS};

void histogram_add(struct histogram *h, int64_t took_ns)
{
    const int64_t ns = took_ns < 0 ? 0 : took_ns;
    size_t i = 0;
    while (i < HISTOGRAM_N_BOUNDS && ns > histogram_bounds_ns[i]) {
        i++;
    }
    h->counts[i]++;
    h->sum_ns += ns;
    h->longest_ns = ns > h->longest_ns ? ns : h->longest_ns;
}

uint64_t histogram_count(const struct histogram *h)
{
    return array_sum(h->counts, HISTOGRAM_N_BOUNDS + 1, it, *it);
}
