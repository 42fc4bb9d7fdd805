/* See curves.h. */
#include "result/curves.h"

#include <math.h>
#include <stdlib.h>

#include "base/parse.h"
#include "base/str.h"
#include "core/json_field.h"
#include "result/phases.h"

static uint32_t size_of(const struct point_result *p)
{
    return point_size(p->point);
}

const char *const curve_scaling_names[] = {NULL, "Weak", "Strong"};

double curve_batch(const struct point_result *p)
{
    const struct texts *said = &p->machines->values[MACHINE_BATCH];
    double batch = NAN;
    if (p->point->worker_batch > 0) {
        return (double)p->point->worker_batch * point_training_replicas(p->point);
    }
    return said->list.len == 1 && parse_f64(said->list.items[0], &batch) >= 0 ? batch : NAN;
}

static enum curve_scaling scaling_of(const struct curve *c)
{
    const struct point_result *first = c->points.items[0];
    const double batch = curve_batch(first);
    bool is_weak = true, is_strong = true;
    vec_each (const struct point_result *const, p, &c->points) { /* NaN is no number */
        is_strong = is_strong && curve_batch(*p) == batch;
        is_weak = is_weak && curve_batch(*p) * size_of(first) == batch * size_of(*p);
    }
    return is_strong ? SCALING_STRONG : is_weak ? SCALING_WEAK : SCALING_OF_NEITHER;
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
 * that is divided by the trainers, belong to a curve and not to its name. All swept points have
 * it. */
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

const struct point_result *curve_size(const struct curve *c, size_t i)
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

bool curve_is_trusted(const struct curve *c, const struct point_result *p)
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
    _cleanup_(freep) struct scaling_size *sizes =
        xnew_array(struct scaling_size, c->points.len + 1); /* one for c->single */
    const struct point_result *widest = NULL, *p;
    c->scaling = scaling_of(c);
    for (size_t i = 0; (p = curve_size(c, i)) != NULL; i++) {
        c->n_sizes += is_measured(c, p);
        if (curve_is_trusted(c, p)) {
            widest = p;
            sizes[c->n_trusted++] =
                (struct scaling_size){.n = size_of(p), .logs = speed_of(p)->logs};
        }
    }
    c->usl = scaling_fit_model(SCALING_USL, sizes, c->n_trusted);
    if (scaling_fit_holds(&c->usl)) {
        c->peak = scaling_find_peak(&c->usl, size_of(widest));
    }
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
        vec_done(&c->points);
    }
    vec_done(&curves->list);
    vec_done(&curves->names);
}
