/* See stop_rule.h. */
#include "spec/stop_rule.h"

#include <math.h>

#include "stats/stats.h"

#define ALPHA 0.05    /* of a 95% interval */
#define ROUNDING 1e-9 /* a number of trials that is whole but for rounding is that number */

struct first_stage stop_rule_first_stage(const struct spec *spec, const double *values, size_t n)
{
    const size_t first = (size_t)spec->min_repeats;
    if (!spec->stop.is_set || n < first) {
        return (struct first_stage){0};
    }
    const double mean = array_sum(values, first, it, log(*it)) / (double)first;
    const double squares = array_sum(values, first, it, (log(*it) - mean) * (log(*it) - mean));
    return (struct first_stage){(uint32_t)first, squares / (double)(first - 1)};
}

uint32_t stop_rule_needed(const struct spec *spec, const double *values, size_t n)
{
    const struct first_stage stage = stop_rule_first_stage(spec, values, n);
    const uint32_t most = (uint32_t)spec->repeats;
    if (stage.n == 0) {
        return most;
    }
    const double t = student_quantile(stage.n - 1, ALPHA),
                 half = log1p(spec->stop.half_width_ratio);
    const double squares =
        t * t * stage.variance / (half * half); /* what the mean of the logs needs */
    if (squares <= stage.n + ROUNDING) {
        return stage.n;
    }
    const double needed = ceil((M_PI * squares + 2 - M_PI) / 2 - ROUNDING);
    return needed < most ? (uint32_t)needed : most; /* also where it is not finite */
}

uint32_t stop_rule_trials(const struct spec *spec, uint32_t needed, uint32_t n_decided,
                          uint32_t n_values)
{
    const uint32_t most = (uint32_t)spec->repeats;
    const uint32_t missing = needed > n_values ? needed - n_values : 0;
    return n_decided + missing < most ? n_decided + missing : most;
}
