/* Is a metric within the bounds that a definition sets? Called when a result is built. A threshold
 * that is not passed never changes a run's phase: it is a condition and exit code 7. Pure. */
#pragma once

#include "base/buf.h"
#include "result/result.h"
#include "spec/spec.h"

/* Bounds are inclusive. With a confidence the whole interval must be within them. What is not
 * measured, or has no interval then, is THRESHOLD_UNKNOWN, never a pass. */
enum threshold_verdict threshold_judge(const struct threshold *threshold,
                                       const struct estimate *estimate);
/* Of all thresholds together: Failed if one is, else Unknown if one is or if all of them are
 * skipped, else Passed. */
enum threshold_verdict threshold_judge_all(const struct result *r);
/* Whether the definition has thresholds, and this run has a point of none of them. */
bool threshold_skips_all(const struct result *r);
/* "efficiency >= 0.9 and <= 1.1 with 95% confidence" */
void threshold_format(const struct threshold *threshold, struct buf *out);
/* Of one that is skipped, why: "no such point: trainers=100" */
void threshold_format_skip(const struct threshold *threshold, struct buf *out);
