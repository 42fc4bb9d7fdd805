/* See threshold.h. */
#include "result/threshold.h"

#include "result/number.h"

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
    enum threshold_verdict worst = threshold_skips_all(r) ? THRESHOLD_UNKNOWN : THRESHOLD_PASSED;
    vec_each (const struct threshold_result, t, &r->thresholds) {
        if (t->verdict == THRESHOLD_FAILED) {
            return THRESHOLD_FAILED;
        }
        worst = t->verdict == THRESHOLD_UNKNOWN ? THRESHOLD_UNKNOWN : worst;
    }
    return worst;
}

bool threshold_skips_all(const struct result *r)
{
    return r->skipped.len > 0 && r->thresholds.len == 0;
}

void threshold_format(const struct threshold *threshold, struct buf *out)
{
    buf_puts(out, metric_names[threshold->metric]);
    if (threshold->has_min) {
        buf_puts(out, " >= ");
        number_format_exact(threshold->min, out);
    }
    if (threshold->has_max) {
        buf_puts(out, threshold->has_min ? " and <= " : " <= ");
        number_format_exact(threshold->max, out);
    }
    if (threshold->judges_interval) {
        buf_puts(out, " with 95% confidence");
    }
}

void threshold_format_skip(const struct threshold *threshold, struct buf *out)
{
    buf_puts(out, "no such point: ");
    params_format(&threshold->where, ", ", out);
}
