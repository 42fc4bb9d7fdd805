/* See threshold.h. */
#include "result/threshold.h"

enum threshold_verdict threshold_judge(const struct threshold *threshold,
                                       const struct estimate *estimate)
{
    if (!estimate->known || (threshold->judges_interval && !estimate->has_interval)) {
        return THRESHOLD_UNKNOWN;
    }
    const double low = threshold->judges_interval ? estimate->low : estimate->value;
    const double high = threshold->judges_interval ? estimate->high : estimate->value;
    if (threshold->has_min && low < threshold->min) {
        return THRESHOLD_FAILED;
    }
    if (threshold->has_max && high > threshold->max) {
        return THRESHOLD_FAILED;
    }
    return THRESHOLD_PASSED;
}

enum threshold_verdict threshold_judge_all(const struct result *r)
{
    enum threshold_verdict worst = THRESHOLD_PASSED;
    vec_each (const struct threshold_result, t, &r->thresholds) {
        if (t->verdict == THRESHOLD_FAILED) {
            return THRESHOLD_FAILED;
        }
        worst = t->verdict == THRESHOLD_UNKNOWN ? THRESHOLD_UNKNOWN : worst;
    }
    return worst;
}
