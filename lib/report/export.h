/* A result in formats of other programs (docs/export.md); sheets.h has those of benchd. Pure
 * writers into a buffer. */
#pragma once

#include "base/buf.h"
#include "result/result.h"

/* Go's benchmark format, a line a trial: gobench.c. OpenMetrics text: openmetrics.c. */
void gobench_write(const struct result *r, struct buf *out);
void openmetrics_write(const struct result *r, struct buf *out);
/* The label of values that have none of their own: "cpu=400m memory=1Gi". Owned. */
char *openmetrics_other_values(const struct params *params);
