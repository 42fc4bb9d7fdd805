/* The same quantity in the same unit: see reference_join.h. */
#include "report/reference_join.h"

#include <math.h>

#include "base/str.h"
#include "base/vec_walk.h"
#include "result/phases.h"

/* ---- figures of a point that no field has ---- */

static struct figure exactly(double value, const char *unit)
{
    return (struct figure){.estimate = {.known = !isnan(value), .value = value}, .unit = unit};
}

/* An all-reduce of `bytes` by n ranks has the bus bandwidth bytes / time x 2 (n - 1) / n. */
static struct figure all_reduce_time(const struct point_result *p)
{
    const struct value *bytes = params_get(&p->point->params, "bytes");
    const struct estimate *e = &p->throughput.estimate;
    const double n = point_training_replicas(p->point);
    const bool is_known = bytes != NULL && bytes->is_int && e->known && e->value > 0 &&
                          str_eq(p->throughput.unit, "GB/s");
    return exactly(is_known ? (double)bytes->i * 2 * (n - 1) / n / (e->value * 1e9) : NAN, "s");
}

static struct figure exchange_share(const struct point_result *p)
{
    const struct step_means m = p->kept->steps;
    return exactly(m.n_replicas == 0 ? NAN : phases_exchange_ns(&m) / m.step_ns, "ratio");
}

/* ---- the quantities ---- */

/* What a run has of each. Offsets are 0 where it has nothing. */
static const struct quantity {
    size_t figure, efficiency;                              /* for point_figure */
    struct figure (*follows)(const struct point_result *p); /* in place of `figure` */
    enum { NO_GOAL, ACCURACY, SECONDS } goal;               /* what the table calls its goal */
    size_t cost; /* for point_figure; known with a price */
} quantities[] = {
    [REFERENCE_RATE] = {POINT_FIGURE(throughput), POINT_FIGURE(efficiency)},
    [REFERENCE_SPEEDUP_OF_RATE] = {POINT_FIGURE(speedup), POINT_FIGURE(efficiency)},
    [REFERENCE_EFFICIENCY_OF_RATE] = {POINT_FIGURE(efficiency)},
    [REFERENCE_TIME_TO_ACCURACY] = {GOAL_FIGURE(time_to_accuracy), GOAL_FIGURE(time_efficiency),
                                    .goal = ACCURACY, .cost = GOAL_FIGURE(time_cost)},
    [REFERENCE_SPEEDUP_TO_ACCURACY] = {GOAL_FIGURE(time_speedup), GOAL_FIGURE(time_efficiency),
                                       .goal = ACCURACY},
    [REFERENCE_ACCURACY_AFTER_TIME] = {GOAL_FIGURE(accuracy_after_time), .goal = SECONDS},
    [REFERENCE_ALL_REDUCE_TIME] = {.follows = all_reduce_time},
    [REFERENCE_EXCHANGE_SHARE] = {.follows = exchange_share},
};

static struct figure figure_of(const struct quantity *q, const struct point_result *p)
{
    return q->follows != NULL ? q->follows(p)
           : q->figure == 0   ? exactly(NAN, "")
                              : *point_figure(p, q->figure);
}

/* ---- units ---- */

/* Exact factors only. A sample of a task that is counted in images is an image. */
static const struct known_unit {
    const char *name, *base;
    double factor;
    bool is_of_batch; /* times the batch size */
} units[] = {
    {"s", "s", 1},
    {"ms", "s", 1e-3},
    {"min", "s", 60},
    {"samples/s", "samples/s", 1},
    {"images/s", "samples/s", 1},
    {"sequences/s", "samples/s", 1},
    {"batches/s", "samples/s", 1, true},
    {"GB/s", "GB/s", 1},
    {"MB/s", "GB/s", 1e-3},
    {"ratio", "ratio", 1},
    {"percent", "ratio", 1e-2},
};

/* Returns the factor that converts from one unit to the other, NaN if no exact one exists. */
static double factor_between(const char *from, const char *to, const struct point *p)
{
    const struct known_unit *a = array_find(units, COUNT_OF(units), it, str_eq(it->name, from));
    const struct known_unit *b = array_find(units, COUNT_OF(units), it, str_eq(it->name, to));
    if (str_eq(from, to)) {
        return 1;
    }
    if (a == NULL || b == NULL || !str_eq(a->base, b->base)) {
        return NAN;
    }
    const double batch = p->batch_size > 0 ? (double)p->batch_size : NAN;
    return a->factor * (a->is_of_batch ? batch : 1) / (b->factor * (b->is_of_batch ? batch : 1));
}

/* ---- what a point has for a table ---- */

/* Returns the number of the run that the table calls its goal; 0 if the definition asks for none
 * or for a loss. */
static double goal_of(const struct quantity *q, const struct result *r)
{
    const struct spec *spec = r->def->spec;
    return q->goal == SECONDS                                        ? spec->accuracy_after_s
           : q->goal == ACCURACY && spec->goal.kind == GOAL_ACCURACY ? spec->goal.value
                                                                     : 0;
}

static bool has_goal(const struct quantity *q, const struct reference_table *t,
                     const struct result *r)
{
    return q->goal == NO_GOAL || t->goal == goal_of(q, r);
}

double reference_own(const struct reference_table *t, const struct result *r,
                     const struct point_result *p)
{
    const struct quantity *q = &quantities[t->quantity];
    const struct figure f = figure_of(q, p);
    return f.estimate.known && has_goal(q, t, r)
               ? f.estimate.value * factor_between(f.unit, t->unit, p->point)
               : NAN;
}

double reference_own_efficiency(const struct reference_table *t, const struct point_result *p)
{
    const size_t at = quantities[t->quantity].efficiency;
    const struct estimate *e = &point_figure(p, at)->estimate;
    return at > 0 && e->known ? e->value : NAN;
}

struct figure reference_own_cost(const struct reference_table *t, const struct point_result *p)
{
    const size_t at = quantities[t->quantity].cost;
    return at > 0 ? *point_figure(p, at) : exactly(NAN, "");
}
