/* A result in formats of other programs (docs/export.md); sheets.h has those of benchd. Pure
 * writers into a buffer. */
#pragma once

#include "base/buf.h"
#include "result/result.h"

/* Go's benchmark format, a line a trial: gobench.c. OpenMetrics text: openmetrics.c. */
void gobench_write(const struct result *r, struct buf *out);
void openmetrics_write(const struct result *r, struct buf *out);

/* What they say of a trial, in trial_export.c. "measured", or what it is instead: "rehearsal",
 * "rehearsal, emulated", ... */
void trial_put_mode(const struct result *r, struct buf *out);
/* Values without a field of their own in struct point: "cpu=400m memory=1Gi". Owned. */
char *trial_other_values(const struct params *params);
