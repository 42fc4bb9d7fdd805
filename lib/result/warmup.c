/* See warmup.h. */
#include "result/warmup.h"

#include <math.h>

#include "base/mem.h"
#include "stats/warmup_test.h"

#define WARMUP_TEST_ALPHA 0.01
#define WARMUP_TEST_MIN_CHANGE 0.02

const char *const warmup_state_names[] = {WARMUP_STATES(ENUM_NAME)};

/* Its trials whose steps are stored alike, as those of one definition are. */
static size_t gather(const struct point_result *p, const double **ret_trials, size_t *ret_n_entries,
                     uint32_t *ret_k)
{
    size_t n = 0;
    point_each_success (t, p) {
        const struct step_series *m = &t->steps;
        if (n == 0 && m->n > 0) {
            *ret_n_entries = m->n;
            *ret_k = m->k;
        }
        if (m->n > 0 && m->n == *ret_n_entries && m->k == *ret_k) {
            ret_trials[n++] = m->us;
        }
    }
    return n;
}

static struct warmup find(const struct point_result *p, uint32_t n_points)
{
    _cleanup_(freep) const double **trials = xnew_array(const double *, p->n_trials);
    size_t n_entries = 0;
    uint32_t k = 1;
    const size_t n = gather(p, trials, &n_entries, &k);
    if (n < WARMUP_TEST_MIN_TRIALS || n_entries < WARMUP_TEST_MIN_ENTRIES) {
        return (struct warmup){.state = WARMUP_UNKNOWN};
    }
    const struct warmup_change s = warmup_test_find(
        trials, n, n_entries, WARMUP_TEST_ALPHA / n_points, WARMUP_TEST_MIN_CHANGE);
    if (!s.has_change) {
        return (struct warmup){.state = WARMUP_ENOUGH};
    }
    return (struct warmup){.state = s.at <= n_entries / 2 ? WARMUP_SHORT : WARMUP_NEVER,
                           .steps = s.at * k,
                           .change = s.change};
}

void warmup_find(const struct result *r, struct point_result *p)
{
    p->kept->warmup = find(p, r->def->matrix.n_points);
}

int64_t warmup_found(const struct result *r, const struct point_result *p)
{
    return p->kept->warmup.state == WARMUP_ENOUGH || p->kept->warmup.state == WARMUP_SHORT
               ? r->def->spec->warmup_steps + (int64_t)p->kept->warmup.steps
               : -1;
}

void warmup_format(const struct result *r, const struct point_result *p, struct buf *out)
{
    const enum warmup_state state = p->kept->warmup.state;
    buf_printf(out, "%lld", (long long)r->def->spec->warmup_steps);
    if (state == WARMUP_NEVER) {
        buf_puts(out, " (found: none)");
    } else if (state != WARMUP_UNKNOWN) {
        buf_printf(out, " (found: %s%lld)", state == WARMUP_ENOUGH ? "at most " : "",
                   (long long)warmup_found(r, p));
    }
}

/* The mean over a trial's trainers or workers; NaN: one did not say. */
static double fall_of(const struct point *point, const struct trial_result *t)
{
    double sum = 0;
    size_t n = 0;
    trial_each_replica (r, t) {
        if (role_leads(r->id.role, point->replicas)) {
            sum += replica_steps(r).fall;
            n++;
        }
    }
    return sum / (double)n;
}

double warmup_p_of_fall(const struct point_result *p)
{
    _cleanup_(freep) double *falls = xnew_array(double, p->n_trials);
    size_t n = 0;
    point_each_success (t, p) {
        falls[n++] = fall_of(p->point, t);
    }
    const struct contrast c = significance_mean(&(struct sample){falls, n});
    if (n < 3 || isnan(c.value) || c.value < WARMUP_FALL_MIN) {
        return 1;
    }
    return c.variance > 0 ? student_two_sided(c.value / sqrt(c.variance), c.df) : 0;
}
