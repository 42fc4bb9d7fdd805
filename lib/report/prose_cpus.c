/* See prose.h.
 *
 * A point whose replicas keep more CPUs busy than there are is slower than it would be with enough
 * of them; the others are as they would be. So more CPUs can only help the starved points, and
 * what that may change is which of them is the fastest. */
#include "report/prose.h"

#include <inttypes.h>

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

/* What more CPUs could change; n: starved points. */
static void put_ranking(const struct run_def *def, const struct point_result *fastest, uint32_t n,
                        struct buf *out)
{
    if (fastest != NULL) {
        buf_puts(out, n == 1 && is_starved(def, fastest->point)
                          ? "Only the point with the highest throughput lacked CPUs, so more CPUs "
                            "would make no other point faster. "
                          : "With enough CPUs, another point may be the fastest. ");
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
        put_ranking(def, fastest, n, out);
    }
    buf_printf(out, "With %lld CPUs, each thread would have one.",
               (long long)point_busy_threads(matrix_busiest(&def->matrix)));
}
