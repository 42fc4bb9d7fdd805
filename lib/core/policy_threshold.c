/* See policy_threshold.h. */
#include "core/policy_threshold.h"

#include <math.h>

enum threshold_verdict threshold_judge(const struct threshold *threshold, double value)
{
    if (isnan(value)) {
        return THRESHOLD_UNKNOWN;
    }
    if (threshold->has_min && value < threshold->min) {
        return THRESHOLD_FAILED;
    }
    if (threshold->has_max && value > threshold->max) {
        return THRESHOLD_FAILED;
    }
    return THRESHOLD_PASSED;
}
