/* See prose.h.
 *
 * A point whose replicas keep more CPUs busy than there are is slower than it would be with enough
 * of them; the others are as they would be. So more CPUs can only help the starved points, and
 * what that may change is which of them is the fastest. With n times the CPUs a point computes at
 * most n times as fast. */
#include "report/prose.h"

#include <inttypes.h>
#include <math.h>

#include "base/str.h"

#define MAX_NAMED 4

static bool is_starved(const struct run_def *def, const struct point *p)
{
    return point_busy_threads(p) > def->cpus;
}

/* Of the swept points that were starved: their number, how many divide by another point (their own
 * figure is 1 in any case), and by one that was starved, too. */
struct starved {
    uint32_t n, n_divided, n_by_starved;
};

static struct starved count_starved(const struct run_def *def)
{
    struct starved s = {0};
    for (uint32_t i = 0; i < def->matrix.n_swept; i++) {
        const struct point *p = &def->matrix.points[i];
        if (is_starved(def, p)) {
            s.n++;
            s.n_divided += p->baseline_index != i;
            s.n_by_starved +=
                p->baseline_index != i && is_starved(def, &def->matrix.points[p->baseline_index]);
        }
    }
    return s;
}

bool prose_cpus_any(const struct run_def *def)
{
    return def->cpus > 0 && count_starved(def).n > 0;
}

/* Of all replicas of a trial, while they measured; NaN: one does not say. */
static double used_cpus(const struct trial_result *t)
{
    double used = 0;
    trial_each_replica (r, t) {
        const struct summary *s = &r->summary;
        if (!r->has_summary || s->cpu_ns <= 0 || s->duration_ns <= 0) {
            return NAN;
        }
        used += (double)s->cpu_ns / (double)s->duration_ns;
    }
    return t->n_replicas > 0 ? used : NAN;
}

/* "point 0 (a, 1 pserver) with 3 threads, which used 1.70 CPUs": threads are
 * counted, CPUs are measured. */
static void put_used(const struct layout *l, const struct point_result *p, struct buf *out)
{
    _cleanup_(freep) double *used = xnew_array(double, p->n_trials);
    size_t n = 0;
    point_open(p);
    point_each_trial (t, p) {
        const double x = t->phase == TRIAL_SUCCEEDED ? used_cpus(t) : NAN;
        if (!isnan(x)) {
            used[n++] = x;
        }
    }
    layout_describe_place(l, p->point->index, out);
    buf_printf(out, " with %lld threads", (long long)point_busy_threads(p->point));
    if (n > 0) {
        buf_printf(out, ", which used %.2f CPUs", stats_middle(used, n));
    }
}

void prose_cpus_list(const struct layout *l, struct buf *out)
{
    const struct run_def *def = l->result->def;
    uint32_t n = 0;
    result_each_swept (p, l->result) {
        if (is_starved(def, p->point) && ++n <= MAX_NAMED) {
            buf_puts(out, n == 1 ? "" : "; ");
            put_used(l, p, out);
        }
    }
    if (n > MAX_NAMED) {
        buf_printf(out, "; and %" PRIu32 " more", n - MAX_NAMED);
    }
}

/* ", but point 0 (1 trainer); point 1 (2 trainers) have baselines that lacked CPUs, so ...": the
 * points that had enough CPUs themselves. Nothing if there is no such point. */
static void put_lifted(const struct layout *l, struct buf *out)
{
    const struct run_def *def = l->result->def;
    uint32_t n = 0;
    for (uint32_t i = 0; i < def->matrix.n_swept; i++) {
        const struct point *p = &def->matrix.points[i];
        if (is_starved(def, p) || !is_starved(def, &def->matrix.points[p->baseline_index])) {
            continue;
        }
        if (++n <= MAX_NAMED) {
            buf_puts(out, n == 1 ? ", but " : "; ");
            layout_describe_place(l, i, out);
        }
    }
    if (n > MAX_NAMED) {
        buf_printf(out, "; and %" PRIu32 " more", n - MAX_NAMED);
    }
    if (n > 0) {
        buf_printf(out, " %s that lacked CPUs, so %s efficiency is too high",
                   n == 1 ? "has a baseline" : "have baselines", n == 1 ? "its" : "their");
    }
}

static void put_bend(const struct layout *l, const struct starved *s, struct buf *out)
{
    const char *whose = s->n == 1 ? "its" : "their";
    buf_printf(out, ", so %s throughput is lower than with enough CPUs", whose);
    if (!l->own_baselines && s->n_by_starved > 0) {
        buf_printf(out, "; %s efficiency is unreliable too, because baselines also lacked CPUs",
                   whose);
    } else if (!l->own_baselines && s->n_divided > 0) {
        buf_printf(out, ", and so is %s efficiency", whose);
    }
    buf_puts(out,
             s->n < l->result->def->matrix.n_swept ? "; the other points had enough CPUs" : "");
    put_lifted(l, out);
    buf_puts(out, ". ");
}

/* The fastest other point that waited; NULL: none that was measured. */
static const struct point_result *next_starved(const struct layout *l,
                                               const struct point_result *fastest)
{
    const struct run_def *def = l->result->def;
    const struct point_result *next = NULL;
    result_each_swept (p, l->result) {
        if (p != fastest && is_starved(def, p->point) && p->throughput.estimate.known &&
            (next == NULL || p->throughput.estimate.value > next->throughput.estimate.value)) {
            next = p;
        }
    }
    return next;
}

/* False: with all the CPUs it wants, the next one might be as fast. */
static bool put_out_of_reach(const struct layout *l, const struct point_result *fastest,
                             const char *who, struct buf *out)
{
    const struct point_result *next = next_starved(l, fastest);
    if (next == NULL || !str_eq(next->throughput.unit, fastest->throughput.unit)) {
        return false;
    }
    const double need = fastest->throughput.estimate.value / next->throughput.estimate.value;
    const double more = (double)point_busy_threads(next->point) / (double)l->result->def->cpus;
    if (!(need > more)) {
        return false;
    }
    buf_printf(out, "%s, ", who);
    layout_describe_place(l, next->point->index, out);
    buf_printf(out,
               ", would have to be %.3g times as fast to reach it, but would get only %.3g times "
               "the CPUs. ",
               need, more);
    return true;
}

/* What more CPUs could change; n: starved points. */
static void put_ranking(const struct layout *l, const struct point_result *fastest, uint32_t n,
                        struct buf *out)
{
    const struct run_def *def = l->result->def;
    if (fastest == NULL) {
        return;
    }
    const bool is_one = is_starved(def, fastest->point);
    if (is_one && n == 1) {
        buf_puts(out, "Only the point with the highest throughput lacked CPUs, so more CPUs would "
                      "make no other point faster. ");
    } else if (n == def->matrix.n_swept) {
        buf_puts(out, "With enough CPUs, another point may be the fastest. ");
    } else if (is_one) {
        buf_puts(out, "The point with the highest throughput lacked CPUs. ");
        if (!put_out_of_reach(l, fastest, "The next point that lacked them", out)) {
            buf_puts(out, "With enough CPUs, another point that lacked them may be faster. ");
        }
    } else if (!put_out_of_reach(l, fastest, "The fastest point that lacked CPUs", out)) {
        buf_puts(out, "With enough CPUs, one of the points that lacked them may be the fastest. ");
    }
}

void prose_cpus_describe(const struct layout *l, const struct point_result *fastest,
                         struct buf *out)
{
    const struct run_def *def = l->result->def;
    const struct starved starved = count_starved(def);
    const uint32_t n = starved.n;
    const char *cpus = def->cpus == 1 ? "CPU" : "CPUs";
    if (n == 0) { /* only a baseline that was added */
        buf_printf(out,
                   "The run had %lld %s, and a baseline keeps more busy, so efficiencies are "
                   "higher than with enough CPUs. ",
                   (long long)def->cpus, cpus);
    } else {
        buf_printf(out,
                   "%" PRIu32 " of %" PRIu32
                   " points had more computing threads than the %lld %s of this machine",
                   n, def->matrix.n_swept, (long long)def->cpus, cpus);
        put_bend(l, &starved, out);
        put_ranking(l, fastest, n, out);
    }
    buf_printf(out, "With %lld CPUs, each thread would have one.",
               (long long)point_busy_threads(matrix_busiest(&def->matrix)));
}
