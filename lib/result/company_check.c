/* See company_check.h. */
#include "result/company_check.h"

#include <math.h>

#include "base/mem.h"
#include "base/vec_walk.h"
#include "core/json_field.h"
#include "result/figure_json.h"
#include "stats/paired.h"

#define ALONE_MOST 0.05 /* other trials, in the mean: clocks of nodes differ */

/* How many other trials of the run were measured during this one, in the mean; NaN: not known. */
static double count_others(const struct result *r, const struct trial_result *own)
{
    double ms = 0;
    result_each_point (p, r) {
        point_each_trial (t, p) {
            const int64_t from = t->from_ms > own->from_ms ? t->from_ms : own->from_ms;
            const int64_t to = t->to_ms < own->to_ms ? t->to_ms : own->to_ms;
            ms += t != own && to > from ? (double)(to - from) : 0;
        }
    }
    return ms / (double)(own->to_ms - own->from_ms); /* 0 / 0 is NaN */
}

/* The log of the ratio of pair i; NaN: the pair does not count. */
static double log_of_pair(const struct result *r, uint32_t i, double *ret_others)
{
    const uint32_t point = r->def->company_point;
    const struct trial_result *alone = &r->points[point].trials[2 * i], *in_company = alone + 1;
    if (!company_is_alone(r->def, point, 2 * i)) {
        in_company = alone++;
    }
    *ret_others = count_others(r, in_company);
    const bool counts = alone->phase == TRIAL_SUCCEEDED && in_company->phase == TRIAL_SUCCEEDED &&
                        *ret_others >= (r->def->scheduling.trials - 1) / 2.0 &&
                        count_others(r, alone) <= ALONE_MOST;
    return counts ? log(in_company->throughput / alone->throughput) : NAN;
}

void company_check_conclude(struct result *r)
{
    struct company_result *c = &r->company;
    const uint32_t n_pairs = r->def->scheduling.check;
    _cleanup_(freep) double *logs = xnew_array(double, (size_t)n_pairs + 1);
    for (uint32_t i = 0; i < n_pairs; i++) {
        double n_others;
        logs[c->n_pairs] = log_of_pair(r, i, &n_others);
        if (isfinite(logs[c->n_pairs])) {
            c->n_pairs++;
            c->n_others += (n_others - c->n_others) / (double)c->n_pairs;
        }
    }
    const struct paired test = paired_test_staged(logs, c->n_pairs, 0);
    const struct estimate e = paired_ratio(&test);
    c->ratio = (struct figure){.estimate = e, .unit = "ratio", .scope = "job"};
    c->is_independent =
        e.has_interval && e.low >= 1 - COMPANY_TOLERANCE && e.high <= 1 + COMPANY_TOLERANCE &&
        array_all(r->points[r->def->company_point].trials, 2 * n_pairs, it, trial_is_decided(it));
}

uint32_t result_lanes(const struct result *r)
{
    const struct scheduling *s = &r->def->scheduling;
    return s->trials < 2 || r->company.is_independent ? 1 : s->trials + s->check * LANES_MAX;
}

void company_check_put(const struct result *r, const char *before, struct buf *out)
{
    const struct company_result *c = &r->company;
    const struct estimate *e = &c->ratio.estimate;
    if (e->has_interval) {
        buf_printf(out,
                   "%s%sin company, point %u has %.1f%% of its throughput alone (95%%: "
                   "%.1f..%.1f%%; %zu pairs of trials, %.1f other trials at a time)",
                   before, c->is_independent ? "shown independent: " : "", r->def->company_point,
                   100 * e->value, 100 * e->low, 100 * e->high, c->n_pairs, c->n_others);
    } else if (r->def->scheduling.check > 0) {
        buf_printf(out, "%sthe company check of point %u has %zu pairs of trials, and needs %d",
                   before, r->def->company_point, c->n_pairs, PAIRED_MIN_N);
    }
}

json_t *company_check_to_json(const struct result *r)
{
    const struct company_result *c = &r->company;
    return r->def->scheduling.check == 0
               ? NULL
               : JSON_OBJECT_OF({"point", json_integer(r->def->company_point)},
                                {"pairs", json_count(c->n_pairs)},
                                {"ratio", figure_to_json(&c->ratio)},
                                {"otherTrials", json_real(c->n_others)},
                                {"independent", json_boolean(c->is_independent)});
}
