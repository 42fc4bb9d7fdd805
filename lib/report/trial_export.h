/* What the formats for other programs (gobench.c, openmetrics.c, mllog.c) read of a trial. Pure. */
#pragma once

#include <stdint.h>

#include "result/result.h"

/* Of the replicas whose figures are the point's: those that train, or the launcher. */
struct trial_work {
    uint32_t steps;                  /* measured, of the replica that took longest; 0: unknown */
    uint64_t samples;                /* of all of them, of the trial's unit; 0: unknown */
    int64_t duration_ns;             /* of the one that took longest; 0: unknown */
    double loss_last, accuracy_last; /* of the first that says one; NaN: none does */
};
struct trial_work trial_work_of(const struct point *point, const struct trial_result *trial);

/* "measured", or what it is instead: "rehearsal", "rehearsal, emulated", ... */
void trial_put_mode(const struct result *r, struct buf *out);
/* Values without a field of their own in struct point: "cpu=400m memory=1Gi". Owned. */
char *trial_other_values(const struct params *params);
