/* See compare_busy.h. */
#include "compare/compare_busy.h"

#include <math.h>

#include "compare/compare_history.h"

void compare_busy_explain(struct compared_busy *busy, const struct run_spread *between, double lost)
{
    busy->explained = between->difference - busy->alone.difference;
    busy->candidate_share = -expm1(-lost);
    busy->base_share = fmax(0, -expm1(-(lost + busy->explained))); /* rounding may go below */
}

bool compare_busy_is_cause(const struct compared_busy *busy, const struct run_spread *between,
                           double threshold_ratio)
{
    const double least = log1p(threshold_ratio);
    const double change = between->difference, rest = busy->alone.difference;
    if (!busy->alone.known || busy->explained * change <= 0 || fabs(busy->explained) < least) {
        return false;
    }
    const bool is_shown =
        rest * change > 0 && fabs(rest) >= least && busy->p_adjusted <= COMPARE_HISTORY_ALPHA;
    return !is_shown || fabs(rest) < fabs(busy->explained);
}
