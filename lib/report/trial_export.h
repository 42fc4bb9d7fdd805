/* What the formats for other programs (gobench.c, openmetrics.c) read of a trial. Pure. */
#pragma once

#include "result/result.h"

/* "measured", or what it is instead: "rehearsal", "rehearsal, emulated", ... */
void trial_put_mode(const struct result *r, struct buf *out);
/* Values without a field of their own in struct point: "cpu=400m memory=1Gi". Owned. */
char *trial_other_values(const struct params *params);
