/* What the step times of a summary say about the measured window. Pure; the store has it next to
 * them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/phase.h"
#include "core/record.h"

struct step_times step_times_of(const struct summary *s); /* NaN of NULL */

/* Step times of a trial, as means of `k` steps each; owned. n 0: not known. */
struct step_series {
    double *us;
    size_t n;
    uint32_t k;
};
#define STEP_SERIES_MAX 256
struct step_series step_series_of(const struct summary *s);
void step_series_done(struct step_series *m);
