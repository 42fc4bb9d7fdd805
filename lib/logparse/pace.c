/* See pace.h. */
#include "logparse/pace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define NS_PER_S 1e9
#define LEAST_OBSERVED_S 1.0 /* a machine that stalls moves lines by tenths of a second */
#define LEAST_TICKS 20       /* of a clock that counts seconds */
#define BURST_PART 20        /* a gap of less than this part of the mean one is of a burst */
#define RATE_ERROR 5e-4      /* of a printed rate, as a part of it */
#define MEAN_LINES 4         /* fewer may fit by chance */
#define MEAN_CHANGE 1.05     /* of the rate: else it does not matter which it is */
#define BURST_SHARE 0.25     /* of the gaps: the lines come in bursts */

const char *const log_witness_names[LOG_WITNESS_COUNT] = {
    "None", "NoTime", "FewLines", "Bursts", "NoCount", "NoBatch", "Agrees", "Disagrees"};

const char *const log_witness_reasons[LOG_WITNESS_COUNT] = {
    [LOG_WITNESS_NONE] = "its lines are no steps",
    [LOG_WITNESS_NO_TIME] = "its lines have no time",
    [LOG_WITNESS_FEW] = "its lines are too few, or too close together",
    [LOG_WITNESS_BURSTS] = "its lines came in bursts",
    [LOG_WITNESS_NO_COUNT] = "its lines do not say how many steps they cover",
    [LOG_WITNESS_NO_BATCH] = "the batch is unknown",
};

void log_pace_done(struct log_pace *p)
{
    free(p->gaps);
    *p = (struct log_pace){0};
}

static void note_time(struct log_pace *p, int64_t t_ns)
{
    p->last_ns = t_ns;
    p->has_fraction = p->has_fraction || t_ns % INT64_C(1000000000) != 0;
}

void log_pace_begin(struct log_pace *p, int64_t t_ns)
{
    const bool has_fraction = p->has_fraction;
    log_pace_done(p);
    p->has_begin = true;
    p->has_fraction = has_fraction;
    note_time(p, t_ns);
}

/* Half of the sample goes, evenly, and half as many gaps join it from now on. */
static void keep_gap(struct log_pace *p, struct log_gap gap)
{
    p->stride = p->stride == 0 ? 1 : p->stride;
    if (p->n % p->stride != 0) {
        return;
    }
    if (p->gaps == NULL) {
        p->gaps = xnew_array(struct log_gap, LOG_PACE_MAX_GAPS);
    }
    if (p->n_gaps == LOG_PACE_MAX_GAPS) {
        for (uint32_t i = 0; i < LOG_PACE_MAX_GAPS / 2; i++) {
            p->gaps[i] = p->gaps[2 * i];
        }
        p->n_gaps /= 2;
        p->stride *= 2;
    }
    p->gaps[p->n_gaps++] = gap;
}

void log_pace_add(struct log_pace *p, int64_t t_ns, double paused_s, double stated_s,
                  bool has_batch, bool is_counted)
{
    if (!p->has_begin) {
        log_pace_begin(p, t_ns);
        return;
    }
    const double between_s = (double)(t_ns - p->last_ns) / NS_PER_S;
    const struct log_gap gap = {fmax(between_s - paused_s, 0), stated_s};
    note_time(p, t_ns);
    keep_gap(p, gap);
    p->n++;
    p->observed_s += gap.observed_s;
    p->stated_s += gap.stated_s;
    p->has_no_batch = p->has_no_batch || !has_batch;
    p->is_uncounted = p->is_uncounted || !is_counted;
}

static bool is_bursty(const struct log_pace *p)
{
    const double mean_s = p->observed_s / (double)p->n;
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n_gaps; i++) {
        n += p->gaps[i].observed_s < mean_s / BURST_PART;
    }
    return n > BURST_SHARE * p->n_gaps;
}

double log_median(const double *values, size_t n)
{
    if (n == 0) {
        return NAN;
    }
    _cleanup_(freep) double *sorted = xnew_array(double, n);
    (void)memcpy(sorted, values, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), by_double);
    return n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

/* A pause, such as an evaluation that no line names, moves the mean but not the median. */
static double median_ratio(const struct log_pace *p)
{
    _cleanup_(freep) double *ratios = xnew_array(double, p->n_gaps);
    for (uint32_t i = 0; i < p->n_gaps; i++) {
        ratios[i] = p->gaps[i].observed_s / p->gaps[i].stated_s;
    }
    return log_median(ratios, p->n_gaps);
}

static bool is_near(double ratio, double tolerance)
{
    return ratio <= tolerance && ratio >= 1 / tolerance;
}

enum log_witness log_pace_ask(const struct log_pace *p, double *ret_ratio)
{
    const double tick_s = p->has_fraction ? 1e-3 : 1;
    *ret_ratio = NAN;
    if (p->n == 0) {
        return p->has_begin ? LOG_WITNESS_FEW : LOG_WITNESS_NONE;
    }
    if (!(p->observed_s > 0)) {
        return LOG_WITNESS_NO_TIME;
    }
    if (p->n < LOG_PACE_MIN_LINES || p->observed_s < LEAST_OBSERVED_S ||
        p->observed_s < LEAST_TICKS * tick_s) {
        return LOG_WITNESS_FEW;
    }
    const bool has_fine_gaps = !p->is_mean && p->observed_s / (double)p->n >= LEAST_TICKS * tick_s;
    if (p->has_fraction && is_bursty(p)) {
        return LOG_WITNESS_BURSTS;
    }
    const double whole = p->observed_s / p->stated_s;
    const double median = has_fine_gaps ? median_ratio(p) : whole;
    *ret_ratio = is_near(whole / median, LOG_PACE_TOLERANCE) ? whole : median;
    if (p->has_no_batch) { /* a step has at least one sample */
        return *ret_ratio < 1 / LOG_PACE_TOLERANCE && !p->is_uncounted ? LOG_WITNESS_DISAGREES
                                                                       : LOG_WITNESS_NO_BATCH;
    }
    if (is_near(whole, LOG_PACE_TOLERANCE) || is_near(median, LOG_PACE_TOLERANCE)) {
        return LOG_WITNESS_AGREES;
    }
    return p->is_uncounted ? LOG_WITNESS_NO_COUNT : LOG_WITNESS_DISAGREES;
}

double log_pace_error(const struct log_pace *p)
{
    const double ratio = p->observed_s / p->stated_s, n = p->n_gaps;
    double squares = 0, stated_s = 0;
    for (uint32_t i = 0; i < p->n_gaps; i++) {
        const double distance_s = p->gaps[i].observed_s - ratio * p->gaps[i].stated_s;
        squares += distance_s * distance_s;
        stated_s += p->gaps[i].stated_s;
    }
    return n < 2 ? NAN : sqrt(squares * n / (n - 1)) / (ratio * stated_s);
}

void log_mean_add(struct log_mean *m, double rate, double elapsed, double tick, double step)
{
    if (elapsed < LOG_EXACT_TICKS * tick) {
        return;
    }
    const double units = rate * elapsed, error = units * (0.55 * tick / elapsed + RATE_ERROR);
    if (m->n == 0 || step <= m->first_step || elapsed < m->elapsed) { /* a clock began again */
        *m = (struct log_mean){0, rate, rate, step, units, error, 0, -INFINITY, INFINITY};
    } else {
        const double steps = step - m->first_step;
        const double one = (units - m->first_units) / steps, off = (error + m->first_error) / steps;
        m->least = fmax(m->least, one - off);
        m->most = fmin(m->most, one + off);
    }
    m->n++;
    m->elapsed = elapsed;
    m->least_rate = fmin(m->least_rate, rate);
    m->most_rate = fmax(m->most_rate, rate);
}

bool log_mean_is_so(const struct log_mean *m)
{
    return m->n >= MEAN_LINES && m->most_rate > MEAN_CHANGE * m->least_rate && m->least <= m->most;
}
