/* See trial_seconds.h. */
#include "report/trial_seconds.h"

#define S_PER_MIN 60
#define S_PER_H 3600

static double seconds_of(const struct attempt_row *row)
{
    const int64_t ms = row->ended_unix_ms - row->started_unix_ms;
    return row->started_unix_ms > 0 && ms > 0 ? (double)ms / 1000 : 0;
}

double trial_seconds_sum(const struct result *r, size_t *ret_n)
{
    double sum = 0;
    size_t n = 0;
    result_each_point (p, r) {
        point_each_trial (t, p) {
            const double seconds = t->row == NULL ? 0 : seconds_of(t->row);
            sum += seconds;
            n += seconds > 0;
        }
    }
    *ret_n = n;
    return sum;
}

void trial_seconds_put(double seconds, struct buf *out)
{
    if (seconds < 2 * S_PER_MIN) {
        buf_printf(out, "%.*f s", seconds < 10, seconds);
    } else if (seconds < 2 * S_PER_H) {
        buf_printf(out, "%.0f min", seconds / S_PER_MIN);
    } else {
        buf_printf(out, "%.*f h", seconds < 10 * S_PER_H, seconds / S_PER_H);
    }
}
