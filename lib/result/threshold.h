/* Is a metric within the bounds that a definition sets? Called when a result is built; a failed
 * threshold never changes a run's phase, it is a condition and exit code 7. Pure. */
#pragma once

#include "result/result.h"
#include "spec/spec.h"

/* Bounds are inclusive. NaN (not measured) is THRESHOLD_UNKNOWN, never a pass. */
enum threshold_verdict threshold_judge(const struct threshold *threshold, double value);
const char *threshold_verdict_to_string(enum threshold_verdict verdict); /* "Passed", ... */
