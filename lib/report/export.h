/* A result in a format of another program (docs/export.md); sheets.h has those of benchd. Pure
 * writers into a buffer. */
#pragma once

#include "base/buf.h"
#include "result/result.h"

/* OpenMetrics text: openmetrics.c. */
void openmetrics_write(const struct result *r, struct buf *out);
/* The label of values that have none of their own: "cpu=400m memory=1Gi". Owned. */
char *openmetrics_other_values(const struct params *params);
