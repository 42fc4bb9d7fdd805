/* See steps.h. */
#include "result/steps.h"

#include <math.h>

#include "result/stats.h"

#define MIN_ENTRIES 6 /* three in each half, so that one odd step does not decide */

/* An entry is the mean of series_k steps; the last one may stand for fewer. */
static double sum_s(const struct summary *s)
{
    double us = 0;
    uint64_t left = s->steps;
    for (uint32_t i = 0; i < s->n_series; i++) {
        const uint64_t n = left < s->series_k ? left : s->series_k;
        us += s->series_us[i] * (double)n;
        left -= n;
    }
    return us / 1e6;
}

struct step_times step_times_of(const struct summary *s)
{
    struct step_times t = {.sum_s = NAN, .fall = NAN};
    if (s->n_series > 0) {
        t.sum_s = sum_s(s);
    }
    if (s->n_series >= MIN_ENTRIES) {
        const size_t half = s->n_series / 2; /* of an odd number, the middle one is left out */
        const double first = stats_middle(s->series_us, half);
        const double last = stats_middle(s->series_us + s->n_series - half, half);
        t.fall = log(first / last);
    }
    return t;
}
