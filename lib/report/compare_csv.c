/* A comparison as CSV, see report.h and docs/contracts/compare.md. */
#include <math.h>

#include "report/csv.h"
#include "report/report.h"
#include "result/compare.h"
#include "result/number.h"

static const char *const before_params[] = {
    "kind", "base_run", "candidate_run", "base_point", "candidate_point", "system",
};
static const char *const after_params[] = {
    "base_samples_per_s", "base_low",       "base_high",
    "base_method",        "base_trials",    "candidate_samples_per_s",
    "candidate_low",      "candidate_high", "candidate_method",
    "candidate_trials",   "ratio",          "ratio_low",
    "ratio_high",         "ratio_method",   "p",
    "p_adjusted",         "gate_p",         "verdict",
    "rehearsal",
};
#define N(array) (sizeof(array) / sizeof((array)[0]))
static const struct csv_columns of_comparison = {before_params, N(before_params), after_params,
                                                 N(after_params)};

/* One side of a row; without its point where it has none. */
static void put_side(struct buf *out, const struct point_result *p)
{
    const struct estimate none = {0}, *x = p == NULL ? &none : &p->throughput.estimate;
    csv_interval(out, x);
    csv_method(out, x);
    buf_putc(out, ',');
    if (p != NULL) {
        buf_printf(out, "%zu", p->n_succeeded);
    }
}

static void put_index(struct buf *out, const struct point_result *p)
{
    buf_putc(out, ',');
    if (p != NULL) {
        buf_printf(out, "%u", p->point->index);
    }
}

static void put_row(struct buf *out, const struct comparison *c, const struct csv_names *names,
                    const char *kind, const struct compared_point *p)
{
    const struct result *r = p->base != NULL ? c->base : c->candidate;
    const struct point *point = (p->base != NULL ? p->base : p->candidate)->point;
    buf_printf(out, "%s,", kind);
    csv_text(out, c->base->def->name);
    buf_putc(out, ',');
    csv_text(out, c->candidate->def->name);
    put_index(out, p->base);
    put_index(out, p->candidate);
    buf_putc(out, ',');
    csv_text(out, r->def->spec->systems.items[point->system].name);
    csv_params(out, names, &point->params);
    put_side(out, p->base);
    put_side(out, p->candidate);
    csv_interval(out, &p->ratio.estimate);
    csv_method(out, &p->ratio.estimate);
    const bool is_tested = p->welch.known || p->paired.known;
    csv_number(out, p->welch.known ? p->welch.p : p->paired.known ? p->paired.p : NAN);
    csv_number(out, is_tested ? p->p_adjusted : NAN);
    csv_number(out, c->gate.known ? c->gate.p : NAN);
    const bool is_common = p->base != NULL && p->candidate != NULL;
    buf_printf(out, ",%s,%s\n", is_common ? change_to_string(p->change) : "",
               c->base->def->rehearsal ? "true" : "false");
}

void report_compare_csv(const struct comparison *c, struct buf *out)
{
    struct csv_names names = {0};
    csv_collect(&names, c->base);
    csv_collect(&names, c->candidate);
    csv_header(out, &of_comparison, &names);
    vec_each (const struct compared_point, p, &c->points) {
        put_row(out, c, &names, p->base->point->is_baseline ? "baseline" : "point", p);
    }
    vec_each (const struct point_result *, p, &c->only_base) {
        put_row(out, c, &names, "only_base", &(struct compared_point){.base = *p});
    }
    vec_each (const struct point_result *, p, &c->only_candidate) {
        put_row(out, c, &names, "only_candidate", &(struct compared_point){.candidate = *p});
    }
    vec_done(&names.list);
}
