/* See starved.h.
 *
 * A point whose replicas keep more CPUs busy than there are is slower than it would be with enough of them; the others are as
 * they would be. So more CPUs can only help the starved points, and what that may change is which of them is the fastest. */
#include "report/starved.h"

#include <inttypes.h>

#define MAX_NAMED 4

static bool is_starved(const struct run_def *def, const struct point *p)
{
    return point_busy_threads(p) > def->cpus;
}

static uint32_t count_starved(const struct run_def *def)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < def->matrix.n_swept; i++) {
        n += is_starved(def, &def->matrix.points[i]);
    }
    return n;
}

static int64_t most_busy(const struct run_def *def)
{
    int64_t most = 0;
    for (uint32_t i = 0; i < def->matrix.n_points; i++) {
        const int64_t busy = point_busy_threads(&def->matrix.points[i]);
        most = busy > most ? busy : most;
    }
    return most;
}

/* "point 0 (a, 1 pserver) with 3; point 2 (b, 1 pserver) with 3" */
static void put_starved(const struct layout *l, struct buf *out)
{
    const struct run_def *def = l->result->def;
    uint32_t n = 0;
    for (uint32_t i = 0; i < def->matrix.n_swept; i++) {
        const struct point *p = &def->matrix.points[i];
        if (is_starved(def, p) && ++n <= MAX_NAMED) {
            buf_puts(out, n == 1 ? "" : "; ");
            layout_describe_place(l, i, out);
            buf_printf(out, " with %lld", (long long)point_busy_threads(p));
        }
    }
    if (n > MAX_NAMED) {
        buf_printf(out, "; and %" PRIu32 " more", n - MAX_NAMED);
    }
}

/* Does a starved point divide by one that was starved, too? */
static bool has_starved_baseline(const struct run_def *def)
{
    for (uint32_t i = 0; i < def->matrix.n_swept; i++) {
        const struct point *p = &def->matrix.points[i];
        if (p->baseline_index != i && is_starved(def, &def->matrix.points[p->baseline_index])) {
            return true;
        }
    }
    return false;
}

static void put_bend(const struct layout *l, uint32_t n, struct buf *out)
{
    const struct run_def *def = l->result->def;
    buf_printf(out, "Their processes waited for each other, so their throughput is lower than with "
                    "enough CPUs");
    if (!l->own_baselines) {
        buf_puts(out, has_starved_baseline(def)
                          ? "; their efficiency is off, too, and nobody knows which way, because "
                            "baselines also waited"
                          : ", and so is their efficiency");
    }
    buf_puts(out, n < def->matrix.n_swept ? "; the other points had enough. " : ". ");
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
        buf_puts(out,
                 "The point with the highest throughput is the one that waited: more CPUs would "
                 "make it alone faster. ");
    } else if (n == def->matrix.n_swept) {
        buf_puts(out, "With enough CPUs, another point may be the fastest. ");
    } else if (is_one) {
        buf_puts(out, "The point with the highest throughput is one of them: with enough CPUs, "
                      "another one of them may be faster. ");
    } else {
        buf_puts(out, "With enough CPUs, one of them may be the fastest. ");
    }
}

void starved_describe(const struct layout *l, const struct point_result *fastest, struct buf *out)
{
    const struct run_def *def = l->result->def;
    const uint32_t n = count_starved(def);
    const char *cpus = def->cpus == 1 ? "CPU" : "CPUs";
    if (n == 0) { /* only a baseline that was added */
        buf_printf(out,
                   "The run had %lld %s, and a baseline keeps more busy, so efficiencies are "
                   "higher than with enough CPUs. ",
                   (long long)def->cpus, cpus);
    } else {
        buf_printf(out,
                   "%" PRIu32 " of %" PRIu32 " points keep%s more CPUs busy than the %lld of "
                   "this machine: ",
                   n, def->matrix.n_swept, n == 1 ? "s" : "", (long long)def->cpus);
        put_starved(l, out);
        buf_puts(out, ". ");
        put_bend(l, n, out);
        put_ranking(l, fastest, n, out);
    }
    buf_printf(out, "A run with %lld CPUs does not have this doubt.", (long long)most_busy(def));
}
