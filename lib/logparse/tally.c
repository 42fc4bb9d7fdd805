/* See tally.h. */
#include "logparse/tally.h"

#include <math.h>
#include <string.h>

#define NS_PER_S 1e9
#define DAY_NS (INT64_C(86400) * 1000000000)
#define CLOCK_SET_S 1 /* a clock that is set goes back by less */
#define LONG_GAP 3    /* medians; a longer gap has other work in it */

void log_tally_done(struct log_tally *t)
{
    vec_done(&t->rates);
    vec_done(&t->step_ns);
    log_pace_done(&t->pace);
}

void log_tally_reset(struct log_tally *t)
{
    log_tally_done(t);
    *t = (struct log_tally){.next = t->next, .total = t->total};
}

double log_tally_covered(struct log_tally *t, double step, double said)
{
    if (isnan(step)) {
        t->steps_ahead = said;
        return said;
    }
    const double from_start = step == 0 ? 1 : step; /* programs count from 0 or from 1 */
    const bool goes_on = t->has_step && step > t->last_step;
    const double gap = goes_on ? step - t->last_step : fmin(from_start, fmax(t->last_gap, 1));
    t->steps_ahead = goes_on ? gap : from_start; /* else an epoch begins, or the log */
    t->has_new_epoch = t->has_step && !goes_on;
    t->last_gap = goes_on ? gap : t->last_gap;
    t->has_step = true;
    t->last_step = step;
    return gap;
}

int64_t log_tally_time_ns(struct log_tally *t, const struct log_stamp *stamp)
{
    int64_t ns = stamp->ns;
    if (t->has_begin && !stamp->has_date) {
        const int64_t back_ns = t->now_ns - DAY_NS / 2 - ns;
        ns += back_ns > 0 ? (back_ns / DAY_NS + 1) * DAY_NS : 0; /* a little: a clock was set */
    }
    if (!t->has_begin) {
        t->has_begin = true;
        t->begin_ns = ns;
    }
    t->now_ns = ns;
    return ns;
}

bool log_tally_is_warmup(const struct log_tally *t, const struct log_skip *skip)
{
    return skip->kind == LOG_SKIP_LINES ? t->n_seen < (uint64_t)skip->n
                                        : t->steps_seen < (double)skip->n;
}

static void count(struct log_tally *t)
{
    t->n_seen++;
    t->steps_seen += t->steps_ahead;
}

static void begin(struct log_tally *t, const struct log_figure *f)
{
    t->has_first = true;
    t->first_ns = t->last_ns = f->t_ns;
    t->seen_paused_s = f->paused_s;
}

/* What the line covers took so long, by the line itself; NaN: it does not say. */
static double stated_of(const struct log_figure *f)
{
    return !isnan(f->step_s)  ? f->steps * f->step_s
           : !isnan(f->units) ? f->units / f->rate
                              : fmax(f->steps, 1) / f->rate;
}

static void begin_pace(struct log_tally *t, const struct log_figure *f)
{
    log_pace_begin(&t->pace, f->arrival_ns);
    t->pace_paused_s = f->paused_s;
    t->mean_steps = t->mean_s = 0;
}

void log_tally_skip(struct log_tally *t, const struct log_figure *f)
{
    count(t);
    begin(t, f);
    begin_pace(t, f);
}

/* Half of what is kept goes, evenly, and half as many come from now on. */
static void thin_out(struct log_tally *t)
{
    for (size_t i = 0; i < t->rates.len / 2; i++) {
        t->rates.items[i] = t->rates.items[2 * i];
    }
    t->rates.len /= 2;
    t->stride *= 2;
}

static void keep_rate(struct log_tally *t, double rate)
{
    t->stride = t->stride == 0 ? 1 : t->stride;
    if (t->n % t->stride != 0) {
        return;
    }
    if (t->rates.len == LOG_TALLY_MAX_RATES) {
        thin_out(t);
    }
    *vec_push(&t->rates) = rate;
}

static void keep_steps(struct log_tally *t, double steps, double step_s)
{
    const double left = LOG_TALLY_MAX_STEPS - (double)t->step_ns.len;
    if (isnan(step_s) || steps < 1 || t->has_too_many_steps) {
        return;
    }
    if (steps > left || step_s > 1e9) { /* a series with a hole would be a wrong one */
        t->has_too_many_steps = true;
        vec_done(&t->step_ns);
        return;
    }
    for (size_t i = 0; i < (size_t)steps; i++) {
        *vec_push(&t->step_ns) = (int64_t)(step_s * NS_PER_S);
    }
}

/* Its lines have rates, or times between them. */
static struct log_part whole_of(const struct log_tally *t)
{
    return (struct log_part){t->n, t->weight + t->stamped_units, t->weighted_s + t->stamped_s};
}

double log_tally_part_rate(const struct log_tally *t)
{
    const struct log_part all = whole_of(t), old = t->before;
    return all.n - old.n < LOG_PACE_MIN_LINES ? NAN : (all.units - old.units) / (all.s - old.s);
}

void log_tally_end_part(struct log_tally *t, uint64_t line)
{
    const double rate = log_tally_part_rate(t);
    t->least_part = t->anew == 0 ? rate : fmin(t->least_part, rate);
    t->most_part = t->anew == 0 ? rate : fmax(t->most_part, rate);
    t->before = whole_of(t);
    t->anew = line;
}

static void add_rate(struct log_tally *t, const struct log_line_rule *line,
                     const struct log_figure *f)
{
    /* Of lines that do not say how much they cover, each counts like its steps. */
    const double weight = isnan(f->units) ? fmax(f->steps, 1) : f->units;
    t->weight += weight;
    t->weighted_s += weight / f->rate;
    t->last_rate = f->rate;
    t->max_rate = t->n == 0 ? f->rate : fmax(t->max_rate, f->rate);
    if (line->aggregate == LOG_MEDIAN) {
        keep_rate(t, f->rate);
    }
    if (line->aggregate != LOG_LAST) { /* a last one is the mean of all before */
        keep_steps(t, f->steps, f->step_s);
    }
    t->steps += f->steps;
    t->steps_s += f->steps * f->step_s;
    if (!t->has_first) {
        begin(t, f);
    }
    t->last_ns = f->t_ns;
    t->has_unknown_units = t->has_unknown_units || isnan(f->units);
    t->units += isnan(f->units) ? 0 : f->units;
}

/* The time between this line and the one before is that of what this line covers. A clock that
 * was started again says nothing of this line. */
static void add_stamped(struct log_tally *t, const struct log_line_rule *line,
                        const struct log_figure *f)
{
    const double between_s = (double)(f->t_ns - t->last_ns) / NS_PER_S;
    t->has_fraction = t->has_fraction || f->t_ns % INT64_C(1000000000) != 0;
    if (!t->has_first || between_s < -CLOCK_SET_S) {
        begin(t, f);
        return;
    }
    /* What took longer than the time between two lines went on next to training. */
    const double said_s = f->paused_s - t->seen_paused_s;
    const double s = between_s - (said_s <= between_s ? said_s : 0);
    t->stamped_s += s;
    t->stamped_units += f->units;
    t->last_ns = f->t_ns;
    t->seen_paused_s = f->paused_s;
    t->steps += f->steps;
    t->units += f->units;
    if (s > 0) {
        t->last_rate = f->units / s;
        t->max_rate = fmax(t->max_rate, t->last_rate);
        if (line->aggregate == LOG_MEDIAN) {
            keep_rate(t, t->last_rate);
        }
        keep_steps(t, f->steps, s / f->steps);
    }
}

static void add_pace(struct log_tally *t, const struct log_line_rule *line,
                     const struct log_figure *f)
{
    const bool is_mean = line->aggregate == LOG_LAST;
    const bool has_batch = !isnan(f->step_s) || !isnan(f->units);
    double stated_s = stated_of(f);
    if (is_mean && t->has_new_epoch) { /* its lines are means since then */
        begin_pace(t, f);
    } else if (!isnan(stated_s) && !t->pace.has_begin) {
        begin_pace(t, f);
    } else if (!isnan(stated_s)) {
        const double paused_s = fmax(f->paused_s - t->pace_paused_s, 0);
        if (is_mean) { /* the figure is the latest mean: by it all steps since the first line */
            const double steps = fmax(f->steps, 1), before_s = t->mean_s;
            t->mean_steps += steps;
            t->mean_s = t->mean_steps * stated_s / steps;
            stated_s = t->mean_s - before_s;
        }
        t->pace.is_mean = is_mean;
        log_pace_add(&t->pace, f->arrival_ns, paused_s, stated_s, has_batch, f->is_counted);
        t->pace_paused_s = f->paused_s;
    }
}

void log_tally_add(struct log_tally *t, const struct log_line_rule *line,
                   const struct log_figure *f)
{
    count(t);
    add_pace(t, line, f);
    if (line->source == LOG_FROM_STAMPS) {
        add_stamped(t, line, f);
    } else {
        add_rate(t, line, f);
    }
    for (int k = 0; k < PHASE_COUNT; k++) {
        t->phase_s[k] += isnan(f->phase_s[k]) ? 0 : f->phase_s[k];
    }
    t->n++;
}

double log_tally_least_s(const struct log_tally *t)
{
    const double between_s = (double)(t->last_ns - t->first_ns) / NS_PER_S;
    return fmax(isnan(t->steps_s) ? between_s : t->steps_s, 1);
}

/* Of gaps, the mean of those that have nothing else in them, if the clock is good enough for it. */
static double median_rate(const struct log_tally *t, bool is_stamped)
{
    const double median = log_median(t->rates.items, t->rates.len),
                 tick_s = t->has_fraction ? 1e-3 : 1;
    double n = 0, s = 0;
    vec_each (const double, rate, &t->rates) {
        const bool is_short = *rate > median / LONG_GAP;
        n += is_short;
        s += is_short ? 1 / *rate : 0;
    }
    const bool is_fine = t->stamped_s >= LOG_EXACT_TICKS * tick_s * (double)t->n;
    return !is_stamped ? median : is_fine ? n / s : t->stamped_units / t->stamped_s;
}

double log_tally_rate(const struct log_tally *t, const struct log_line_rule *line)
{
    const bool is_stamped = line->source == LOG_FROM_STAMPS;
    if (t->n == 0 || (is_stamped && !(t->stamped_s > 0))) {
        return NAN;
    }
    return line->aggregate == LOG_MEDIAN ? median_rate(t, is_stamped)
           : line->aggregate == LOG_LAST ? t->last_rate
           : line->aggregate == LOG_MAX  ? t->max_rate
           : is_stamped                  ? t->stamped_units / t->stamped_s
                                         : t->weight / t->weighted_s;
}

const struct log_tally *log_tally_training(const struct log_tally *first)
{
    const struct log_tally *best = first;
    for (const struct log_tally *t = first; t != NULL; t = t->next) {
        best = t->steps_seen > best->steps_seen ? t : best;
    }
    return best;
}
