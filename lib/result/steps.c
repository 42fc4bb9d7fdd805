/* See steps.h. */
#include "result/steps.h"

#include <math.h>

#include "base/mem.h"
#include "base/vec_walk.h"
#include "stats/stats.h"

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

struct step_series step_series_of(const struct summary *s)
{
    struct step_series m = {.k = s->series_k};
    if (s->n_series == 0) {
        return m;
    }
    const size_t group = (s->n_series + STEP_SERIES_MAX - 1) / STEP_SERIES_MAX;
    m.us = xnew_array(double, s->n_series / group + 1);
    m.k = s->series_k * (uint32_t)group;
    for (size_t i = 0; i < s->n_series; i += group) {
        const size_t end = i + group < s->n_series ? i + group : s->n_series;
        m.us[m.n++] = array_sum(s->series_us + i, end - i, us, *us) / (double)(end - i);
    }
    return m;
}

void step_series_done(struct step_series *m)
{
    free(m->us);
    *m = (struct step_series){0};
}
