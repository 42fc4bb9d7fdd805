/* See catalogue.h. */
#include "result/catalogue.h"

#include <math.h>
#include <string.h>

#include "base/str.h"
#include "result/phases.h"

#define S_PER_HOUR 3600
#define COST_SAMPLES 1e6

/* Offsets in struct point_result, then in its goal. */
#define OF_GOAL sizeof(struct point_result)
#define POINT(member) offsetof(struct point_result, member)
#define GOAL(member) (OF_GOAL + offsetof(struct point_goal, member))

/* ---- what is computed ---- */

/* factor / x^power, as exact as x; power is not 0. */
static struct estimate inverse_of(const struct estimate *x, double factor, double power)
{
    if (!x->known || !(x->value > 0) || !isfinite(factor)) {
        return (struct estimate){0};
    }
    struct estimate e = {.known = true, .value = factor / pow(x->value, power)};
    if (x->has_interval && x->low > 0) {
        e.has_interval = true;
        const double a = factor / pow(x->high, power), b = factor / pow(x->low, power);
        e.low = fmin(a, b);
        e.high = fmax(a, b);
        e.method = x->method;
    }
    return e;
}

static const struct point_result *base_of(const struct point_result *p)
{
    return &p->of->points[p->point->baseline_index];
}

static struct estimate price_index(const struct point_result *p, const struct pivot_price *price)
{
    const double n = point_size(p->point), n_base = point_size(base_of(p)->point);
    (void)price;
    return inverse_of(&p->speedup.estimate, n / n_base, 2);
}

static struct estimate efficiency_per_pod(const struct point_result *p,
                                          const struct pivot_price *price)
{
    const double n = point_pods(p->point), n_base = point_pods(base_of(p)->point);
    (void)price;
    return inverse_of(&p->speedup.estimate, n_base / n, -1);
}

static struct estimate efficiency_per_cpu(const struct point_result *p,
                                          const struct pivot_price *price)
{
    (void)price;
    return inverse_of(&p->speedup.estimate, base_of(p)->cpus / p->cpus, -1);
}

/* Of all its CPUs, pods or devices; NaN: they are not known. */
static double price_of_second(const struct pivot_price *price, const struct point_result *p)
{
    const double n = price->unit == PIVOT_CPU_HOUR   ? p->cpus
                     : price->unit == PIVOT_POD_HOUR ? (double)point_pods(p->point)
                     : p->point->devices > 0         ? (double)p->point->devices
                                                     : NAN;
    return price->amount * n / S_PER_HOUR;
}

static struct estimate cost(const struct point_result *p, const struct pivot_price *price)
{
    return inverse_of(&p->throughput.estimate, price_of_second(price, p) * COST_SAMPLES, 1);
}

static struct estimate time_cost(const struct point_result *p, const struct pivot_price *price)
{
    return inverse_of(&p->goal->time_to_accuracy.estimate, price_of_second(price, p), -1);
}

static struct estimate exchange_share(const struct point_result *p, const struct pivot_price *price)
{
    const struct step_means *m = phases_of_leading(p);
    const bool known = m->n_replicas > 0 && m->step_ns > 0;
    (void)price;
    return (struct estimate){.known = known, .value = known ? m->exposed_ns / m->step_ns : 0};
}

/* ---- the rows ---- */

#define ROW(id, form, name, title, heading, column, json, metric, meaning, ...)                    \
    [FIGURE_##id] = {name,       title,  heading, column,                                          \
                     json,       metric, meaning, .is_percent = FORM_##form,                       \
                     __VA_ARGS__},
enum { FORM_NUMBER, FORM_PERCENT };
const struct figure_kind figure_kinds[] = {FIGURES_KEYED(ROW) FIGURES_MADE(ROW)};
const size_t n_figure_kinds = COUNT_OF(figure_kinds);

const struct figure_unit figure_units[] = {
    {"samples/s", "samples_per_second", 1},
    {"steps/s", "steps_per_second", 1},
    {"words/s", "words_per_second", 1},
    {"tokens/s", "tokens_per_second", 1},
    {"GB/s", "bytes_per_second", 1e9},
    {"runs/s", "runs_per_second", 1},
    {"images/s", "images_per_second", 1},
    {"sequences/s", "sequences_per_second", 1},
    {"ratio", "ratio", 1},
    {"s", "seconds", 1},
    {"MiB", "bytes", 1 << 20},
};

const struct figure_unit *figure_units_of(const struct figure_kind *k, size_t *ret_n)
{
    const bool is_rate = k == &figure_kinds[FIGURE_THROUGHPUT];
    *ret_n = is_rate ? SUMMARY_UNIT_COUNT : 1;
    return is_rate ? figure_units
                   : array_find(figure_units, COUNT_OF(figure_units), it,
                                str_eq(it->unit, k->unit == NULL ? "ratio" : k->unit));
}

const struct figure_kind *figure_find(const char *name)
{
    return array_find(figure_kinds, n_figure_kinds, it, str_eq(it->name, name));
}

/* ---- their values ---- */

const struct figure *point_figure(const struct point_result *p, enum figure_id id)
{
    static const struct figure unknown = {.unit = "", .scope = "job"};
    const size_t at = figure_kinds[id].offset;
    return at == 0        ? &unknown
           : at < OF_GOAL ? (const struct figure *)((const char *)p + at)
                          : (const struct figure *)((const char *)p->goal + at - OF_GOAL);
}

bool figure_is_asked(const struct figure_kind *k, const struct spec *spec)
{
    return k->needs == NEEDS_GOAL   ? spec->goal.kind != GOAL_NONE
           : k->needs == NEEDS_TIME ? spec->accuracy_after_s > 0
                                    : true;
}

/* Of those that are collected. */
static size_t index_of(const struct figure_kind *end)
{
    size_t n = 0;
    for (const struct figure_kind *k = figure_kinds; k < end; k++) {
        n += k->of_trial != NULL;
    }
    return n;
}

bool figures_judge_replicas(const struct spec *spec)
{
    return vec_any(&spec->thresholds, t, figure_kinds[t->metric].offset == 0);
}

size_t figures_n_metrics(void)
{
    return array_sum(figure_kinds, n_figure_kinds, k, (size_t)(k->metric != NULL));
}

size_t figures_n_collected(void)
{
    return index_of(figure_kinds + n_figure_kinds);
}

struct estimate figure_at_price(const struct point_result *p, const struct figure_kind *k,
                                const struct pivot_price *price)
{
    if (k->offset > 0 && (k->compute == NULL || price == NULL)) {
        return point_figure(p, (enum figure_id)(k - figure_kinds))->estimate;
    }
    if (p->kept == NULL || (k->is_cost && price == NULL)) {
        return (struct estimate){0};
    }
    return k->of_trial != NULL ? p->kept->collected[index_of(k)] : k->compute(p, price);
}

struct figure figure_of(const struct point_result *p, const struct figure_kind *k)
{
    return k->offset > 0 ? *point_figure(p, (enum figure_id)(k - figure_kinds))
                         : (struct figure){.estimate = figure_at_price(p, k, NULL),
                                           .unit = k->unit == NULL ? "ratio" : k->unit,
                                           .scope = "job"};
}

void figures_collect(struct point_result *p)
{
    size_t n = 0, n_known;
    figure_each_kind (k) {
        if (k->of_trial != NULL) {
            p->kept->collected[n++] = point_median(p, k->of_trial, &n_known);
        }
    }
}

struct json_value figure_json(const struct figure *f, struct json_out_member members[7])
{
    const struct figure shown = figure_shown(f);
    const struct estimate *e = &shown.estimate;
    const bool has_interval = e->known && e->has_interval;
    const struct json_out_member all[] = {
        {"value", out_known(e->known, out_number(e->value))},
        {"low", out_known(has_interval, out_number(e->low))},
        {"high", out_known(has_interval, out_number(e->high))},
        {"method", out_text(has_interval ? interval_method_names[e->method] : NULL)},
        {"unit", out_text(shown.unit)},
        {"scope", out_text(f->scope)},
        {.key = NULL}};
    memcpy(members, all, sizeof(all));
    return out_object(members);
}

json_t *figure_to_json(const struct figure *f)
{
    return json_value_tree(OUT_FIGURE(f));
}
