/* See chart_axis.h. */
#include "report/chart_axis.h"

#include <math.h>

static double nice_step(double span, unsigned n_ticks)
{
    const double raw = span / n_ticks, power = pow(10, floor(log10(raw)));
    const double factor = raw / power;
    return (factor <= 1 ? 1 : factor <= 2 ? 2 : factor <= 5 ? 5 : 10) * power;
}

struct chart_axis chart_axis_nice(double low, double high, unsigned n_ticks, double from_px,
                                  double to_px)
{
    if (!(high > low)) { /* one value: something to both sides of it */
        const double margin = low == 0 ? 1 : fabs(low) / 2;
        high = low + margin;
        low -= margin;
    }
    const double step = nice_step(high - low, n_ticks);
    const double slack = step * 1e-9; /* of a value that is a tick but for rounding */
    return (struct chart_axis){
        .low = step * floor((low + slack) / step),
        .high = step * ceil((high - slack) / step),
        .step = step,
        .from_px = from_px,
        .to_px = to_px,
    };
}

double chart_axis_px(const struct chart_axis *a, double value)
{
    return a->from_px + (value - a->low) / (a->high - a->low) * (a->to_px - a->from_px);
}

size_t chart_axis_n_ticks(const struct chart_axis *a)
{
    return (size_t)lround((a->high - a->low) / a->step) + 1;
}

double chart_axis_tick(const struct chart_axis *a, size_t i)
{
    return a->low + (double)i * a->step;
}
