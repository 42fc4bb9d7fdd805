/* See curves.h. */
#include "result/curves.h"

#include <math.h>
#include <stdlib.h>

#include "base/parse.h"
#include "base/str.h"
#include "core/json_field.h"
#include "result/phases.h"

#define NO_RANGE ((struct scaling_range){NAN, NAN, NAN})

static uint32_t size_of(const struct point_result *p)
{
    return point_size(p->point);
}

double curve_batch(const struct point_result *p)
{
    const struct texts *said = &p->machines->values[MACHINE_BATCH];
    double batch = NAN;
    if (p->point->worker_batch > 0) {
        return (double)p->point->worker_batch * point_training_replicas(p->point);
    }
    return said->list.len == 1 && parse_f64(said->list.items[0], &batch) >= 0 ? batch : NAN;
}

static const struct estimate *speed_of(const struct point_result *p)
{
    return &p->throughput.estimate;
}

/* ---- which points make a curve ---- */

static int by_size(const void *a, const void *b)
{
    const struct point *x = (*(const struct point_result *const *)a)->point;
    const struct point *y = (*(const struct point_result *const *)b)->point;
    const int64_t size = (int64_t)point_size(x) - point_size(y);
    const int64_t order = size != 0 ? size : (int64_t)x->index - y->index;
    return (order > 0) - (order < 0);
}

/* Does the number of trainers alone say which value it has? Zipped parameters, as a global batch
 * that is divided by the trainers, belong to a curve and not to its name. All points have it. */
static bool follows_size(const struct point_result *const *by_n, uint32_t n, const char *name)
{
    for (uint32_t i = 1; i < n; i++) {
        if (size_of(by_n[i]) == size_of(by_n[i - 1]) &&
            !value_eq(params_get(&by_n[i]->point->params, name),
                      params_get(&by_n[i - 1]->point->params, name))) {
            return false;
        }
    }
    return true;
}

static void collect_names(struct result *r)
{
    const uint32_t n = r->def->matrix.n_swept;
    _cleanup_(freep) const struct point_result **by_n = xnew_array(const struct point_result *, n);
    for (uint32_t i = 0; i < n; i++) {
        by_n[i] = &r->points[i];
    }
    qsort(by_n, n, sizeof(const struct point_result *), by_size);
    vec_each (const struct param, p, &r->points[0].point->params.list) {
        if (!follows_size(by_n, n, p->name)) {
            *vec_push(&r->curves.names) = p->name;
        }
    }
}

/* What points of one curve have in common, as one text; owned. */
static char *key_of(const struct curves *c, const struct point *point)
{
    json_auto_t *key = json_pack("[I]", (json_int_t)point->system);
    vec_each (const char *const, name, &c->names) {
        json_array_append_new(key, value_to_json(params_get(&point->params, *name)));
    }
    return json_dumps(key, JSON_COMPACT);
}

/* ---- what a curve says ---- */

/* The i-th size: the single one first. NULL: there is no such. */
static const struct point_result *curve_size(const struct curve *c, size_t i)
{
    if (c->single != NULL) {
        return i == 0 ? c->single : i - 1 < c->points.len ? c->points.items[i - 1] : NULL;
    }
    return i < c->points.len ? c->points.items[i] : NULL;
}

static bool is_measured(const struct curve *c, const struct point_result *p)
{
    return speed_of(p)->known && speed_of(p)->value > 0 &&
           str_eq(p->throughput.unit, c->points.items[0]->throughput.unit);
}

/* It has a throughput with an interval, in the unit of the others. */
static bool is_trusted(const struct curve *c, const struct point_result *p)
{
    return is_measured(c, p) && speed_of(p)->logs.df > 0;
}

static void take_single(struct curve *c, const struct result *r)
{
    const struct point_result *first = c->points.items[0];
    const struct point_result *base = &r->points[first->point->baseline_index];
    if (size_of(first) > 1 && size_of(base) == 1 && base->point->system == first->point->system) {
        c->single = base;
    }
}

static void fit(struct curve *c)
{
    static const char *const without_batch[] = {"steps/s", "GB/s", "runs/s", NULL};
    static const char *const timed[] = {"samples/s", "images/s", "sequences/s", NULL};
    const char *unit = c->points.items[0]->throughput.unit;
    const struct point_result *p;
    for (size_t i = 0; (p = curve_size(c, i)) != NULL; i++) {
        c->n_sizes += is_measured(c, p);
        c->has_batch = c->has_batch || (is_trusted(c, p) && !isnan(curve_batch(p)));
    }
    c->has_batch = c->has_batch && !str_is_one_of(unit, without_batch);
    c->is_timed = c->has_batch && str_is_one_of(unit, timed);
    for (size_t i = 0; (p = curve_size(c, i)) != NULL; i++) {
        const double batch = c->has_batch ? curve_batch(p) : size_of(p);
        if (is_trusted(c, p) && !isnan(batch)) {
            *vec_push(&c->sizes) = (struct scaling_size){size_of(p), batch, speed_of(p)->logs};
        }
    }
    c->law = scaling_fit(c->sizes.items, c->sizes.len);
}

struct curve_term curve_term(const struct curve *c, enum scaling_term term)
{
    static const char *const names[][2] = {{"Computation", "B / N"},    {"Constant", "1"},
                                           {"Logarithm", "log2 N"},     {"Linear", "N"},
                                           {"Computation", "B / N, 1"}, {"Ring", "1 - 1/N"}};
    const struct scaling_size *s = &c->law.largest;
    const bool is_other = c->law.is_weak && term <= SCALING_CONSTANT;
    const char *const *name = names[term + (is_other ? SCALING_TERMS : 0)];
    struct curve_term t = {name[0], name[1], NAN, NO_RANGE};
    if (c->law.state != SCALING_FEW_SIZES) {
        const struct scaling_range part = scaling_part(&c->law, term, s->n, s->batch);
        t.share = part.value / scaling_time(&c->law, s->n, s->batch);
        t.seconds = c->is_timed ? part : t.seconds;
    }
    return t;
}

const char *curve_scaling(const struct curve *c)
{
    const struct scaling_law *law = &c->law;
    return !c->has_batch || law->n_sizes < 2   ? NULL
           : law->is_strong                    ? "Strong"
           : law->least_each == law->most_each ? "Weak"
                                               : NULL;
}

double curve_residual(const struct curve *c, const struct scaling_size *s)
{
    return s->batch / exp(s->logs.value) / scaling_time(&c->law, s->n, s->batch) - 1;
}

struct scaling_range curve_peak(const struct curve *c)
{
    const bool has_peak = c->law.is_strong && c->law.state == SCALING_FITTED;
    return has_peak ? scaling_peak(&c->law) : NO_RANGE;
}

struct scaling_range curve_ceiling(const struct curve *c)
{
    if (c->law.state != SCALING_FITTED || !c->law.is_weak) {
        return NO_RANGE;
    }
    const double batch = c->law.largest.batch / c->law.largest.n;
    const struct scaling_range each = scaling_part(&c->law, SCALING_LINEAR, 1, batch);
    return each.low > 0
               ? (struct scaling_range){batch / each.value, batch / each.high, batch / each.low}
               : NO_RANGE;
}

/* What is infinite or not known is null. */
static json_t *range_to_json(struct scaling_range x)
{
    return JSON_OBJECT_OR_NULL(!isnan(x.value), {"value", json_number_or_null(x.value)},
                               {"low", json_number_or_null(x.low)},
                               {"high", json_number_or_null(x.high)});
}

static json_t *term_to_json(struct curve_term t)
{
    return JSON_OBJECT_OF({"term", json_string(t.name)}, {"of", json_string(t.of)},
                          {"share", json_number_or_null(t.share)},
                          {"seconds", range_to_json(t.seconds)});
}

json_t *curve_law_to_json(const struct curve *c)
{
    return JSON_OBJECT_OF(
        {"state", json_string(scaling_state_names[c->law.state])},
        {"size", json_count((uint64_t)c->law.largest.n)},
        {
            "terms", JSON_ARRAY_OF(for (int i = 0; i < SCALING_TERMS; i++),
                                   term_to_json(curve_term(c, (enum scaling_term)i)))
        },
        {"residuals",
         JSON_ARRAY_OF(vec_each (const struct scaling_size, s, &c->sizes),
                       JSON_OBJECT_OF({"size", json_count((uint64_t)s->n)},
                                      {"ratio", json_number_or_null(curve_residual(c, s))}))},
        {"peak", range_to_json(curve_peak(c))}, {"ceiling", range_to_json(curve_ceiling(c))});
}

static double computation_ns(const struct step_means *m)
{
    return m->phase_ns[PHASE_FORWARD] + m->phase_ns[PHASE_BACKWARD] + m->phase_ns[PHASE_UPDATE];
}

static void explain(struct curve_loss *loss)
{
    const struct step_means from = *phases_of_leading(loss->from),
                            to = *phases_of_leading(loss->to);
    if (from.n_replicas == 0 || to.n_replicas == 0) {
        return;
    }
    /* Sums: one phase of the computation cannot be compared with the whole exchange. */
    const struct {
        const char *name;
        double grown_ns;
    } groups[] = {
        {"exchange", to.exposed_ns - from.exposed_ns},
        {"computation", computation_ns(&to) - computation_ns(&from)},
        {"data", to.phase_ns[PHASE_DATA] - from.phase_ns[PHASE_DATA]},
    };
    loss->has_phases = true;
    loss->step_ns = to.step_ns - from.step_ns;
    for (size_t i = 0; i < COUNT_OF(groups); i++) {
        if (i == 0 || groups[i].grown_ns > loss->phase_ns) {
            loss->phase = groups[i].name;
            loss->phase_ns = groups[i].grown_ns;
        }
    }
}

static void find_loss(struct curve *c)
{
    const struct point_result *before = NULL, *p;
    double least = 1;
    for (size_t i = 0; (p = curve_size(c, i)) != NULL; i++) {
        if (!is_measured(c, p)) {
            continue;
        }
        if (before != NULL) {
            const struct estimate kept =
                stats_ratio(speed_of(p), speed_of(before), (double)size_of(before) / size_of(p));
            if (kept.value < least) {
                least = kept.value;
                c->loss = (struct curve_loss){.from = before, .to = p, .kept = kept};
            }
        }
        before = p;
    }
    if (c->loss.from != NULL) {
        explain(&c->loss);
    }
}

const struct point_result *curve_widest(const struct curve *c)
{
    for (size_t i = c->points.len; i-- > 0;) {
        if (speed_of(c->points.items[i])->known) {
            return c->points.items[i];
        }
    }
    return NULL;
}

/* Takes it if it has two sizes. */
static void end_curve(struct result *r, struct curve *c)
{
    take_single(c, r);
    fit(c);
    if (c->n_sizes < 2) {
        vec_done(&c->sizes);
        vec_done(&c->points);
        return;
    }
    find_loss(c);
    *vec_push(&r->curves.list) = *c;
}

void curves_collect(struct result *r)
{
    VEC(struct curve) all = {0}; /* by their first point */
    json_auto_t *places = json_object();
    collect_names(r);
    result_each_swept (p, r) {
        _cleanup_(freep) char *key = key_of(&r->curves, p->point);
        const json_t *known = json_object_get(places, key);
        const size_t at = known == NULL ? all.len : (size_t)json_integer_value(known);
        if (known == NULL) {
            *vec_push(&all) = (struct curve){0};
            json_object_set_new(places, key, json_count(at));
        }
        *vec_push(&all.items[at].points) = p;
    }
    vec_each (struct curve, c, &all) {
        qsort(c->points.items, c->points.len, sizeof(const struct point_result *), by_size);
        end_curve(r, c);
    }
    vec_done(&all);
}

void curves_done(struct curves *curves)
{
    vec_each (struct curve, c, &curves->list) {
        vec_done(&c->sizes);
        vec_done(&c->points);
    }
    vec_done(&curves->list);
    vec_done(&curves->names);
}
