/* Is a metric within the bounds that a definition sets? Called when a result is built. A threshold
 * that is not passed never changes a run's phase: it is a condition and exit code 7. Pure. */
#pragma once

#include "result/result.h"
#include "spec/spec.h"

/* Bounds are inclusive. With a confidence the whole interval must be within them. What is not
 * measured, or has no interval then, is THRESHOLD_UNKNOWN, never a pass. */
enum threshold_verdict threshold_judge(const struct threshold *threshold,
                                       const struct estimate *estimate);
/* Of all thresholds together: Failed if one is, else Unknown if one is, else Passed. */
enum threshold_verdict threshold_judge_all(const struct result *r);
