/* What the step times of a summary say about the measured window, and what is kept of them. Pure;
 * called when a summary is read, because the times themselves are not kept (8 kB a replica). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/record.h"

struct step_times {
    double sum_s; /* of all measured steps; NaN: the summary has none */
    double fall;  /* ln of the median of the first half over that of the second: 0.05 if the later
                     steps were 5% faster; NaN: too few to say */
};
struct step_times step_times_of(const struct summary *s);

/* Step times of a trial, as means of `k` steps each; owned. n 0: not known. */
struct step_series {
    double *us;
    size_t n;
    uint32_t k;
};
#define STEP_SERIES_MAX 256
struct step_series step_series_of(const struct summary *s);
void step_series_done(struct step_series *m);
