/* See threshold.h. */
#include "result/threshold.h"

#include <math.h>

static const char *const threshold_verdicts[] = {
    [THRESHOLD_PASSED] = "Passed",
    [THRESHOLD_FAILED] = "Failed",
    [THRESHOLD_UNKNOWN] = "Unknown",
};

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

const char *threshold_verdict_to_string(enum threshold_verdict verdict)
{
    return threshold_verdicts[verdict];
}
