/* See steps.h. */
#include "result/steps.h"

#include <math.h>

#include "base/mem.h"
#include "stats/stats.h"

#define MIN_ENTRIES 6 /* three in each half, so that one odd step does not decide */

/* An entry is the mean of k steps; the last one may stand for fewer. */
static double sum_s(const struct summary *s, const double *us)
{
    double sum = 0;
    uint64_t left = s->steps;
    for (uint32_t i = 0; i < s->series.n; i++) {
        const uint64_t n = left < s->series.k ? left : s->series.k;
        sum += us[i] * (double)n;
        left -= n;
    }
    return sum / 1e6;
}

struct step_times step_times_of(const struct summary *s)
{
    struct step_times t = {.sum_s = NAN, .fall = NAN, .median_ns = NAN};
    if (s == NULL || s->series.n == 0) {
        return t;
    }
    const size_t n = s->series.n, half = n / 2; /* of an odd number, the middle one is left out */
    _cleanup_(freep) double *us = series_decode(&s->series);
    t.sum_s = sum_s(s, us);
    t.median_ns = stats_middle(us, n) * 1e3;
    if (n >= MIN_ENTRIES) {
        t.fall = log(stats_middle(us, half) / stats_middle(us + n - half, half));
    }
    return t;
}

struct step_series step_series_of(const struct summary *s)
{
    struct step_series m = {.k = s->series.k};
    const size_t n = s->series.n, group = (n + STEP_SERIES_MAX - 1) / STEP_SERIES_MAX;
    if (n == 0) {
        return m;
    }
    m.us = series_decode(&s->series);
    m.k *= (uint32_t)group;
    for (size_t i = 0; i < n; i += group) {
        const size_t end = i + group < n ? i + group : n;
        m.us[m.n++] = array_sum(m.us + i, end - i, us, *us) / (double)(end - i);
    }
    return m;
}

void step_series_done(struct step_series *m)
{
    free(m->us);
    *m = (struct step_series){0};
}
