/* See reference_parts.h. */
#include "report/reference_parts.h"

#include <math.h>

#include "base/str.h"
#include "result/catalogue.h"
#include "spec/profile.h"

#define BYTES_OF_ELEMENT 4 /* sets count the elements of float32 */

/* ---- columns and conditions ---- */

bool reference_counts_other(const struct point *p, const char *name)
{
    const struct value *v = params_get(&p->params, name);
    return (v == NULL || !v->is_int) && (str_eq(name, "gpus") || str_eq(name, "nodes"));
}

/* Returns the value of a coordinate of the set at the point, NaN if the run does not have it. */
static double coordinate(const struct point *p, const char *name)
{
    const struct value *v = params_get(&p->params, name);
    const struct value *bytes = params_get(&p->params, "bytes");
    const double n_training = point_training_replicas(p);
    const struct {
        const char *name;
        double value;
    } others[] = {
        {"elements", bytes != NULL && bytes->is_int ? (double)bytes->i / BYTES_OF_ELEMENT : NAN},
        {"batch_size", p->batch_size > 0 ? (double)p->batch_size : NAN},
        {"threads", (double)p->threads},
        {"trainers", p->replicas[ROLE_TRAINER]},
        {"pservers", p->replicas[ROLE_PSERVER]},
        {"workers", n_training},
        {name, reference_counts_other(p, name) ? n_training : NAN},
    };
    return v != NULL && v->is_int
               ? (double)v->i
               : array_find(others, COUNT_OF(others), it, str_eq(it->name, name))->value;
}

/* ---- tasks and families ---- */

/* Is the word the model of the run, or a text among the point's parameters? */
static bool has_word(const struct reference_beside *b, const struct point *p, const char *word)
{
    return str_eq(b->result->def->spec->workload.model, word) ||
           vec_any(&p->params.list, it, !it->value.is_int && str_eq(it->value.s, word));
}

static bool is_of(const struct node *families, const struct system *system)
{
    return array_any(families->children, families->n_children, it,
                     str_eq_nocase((*it)->s, system->name) ||
                         profile_has_family(system->profile, (*it)->s));
}

/* How a point's system is related to a row. A point is joined with the closest rows only. */
enum kinship { KINSHIP_NONE, KINSHIP_COPY, KINSHIP_FAMILY };

static enum kinship kinship_of(const struct reference_beside *b, const struct reference_table *t,
                               const struct reference_row *row, const struct point *p)
{
    const struct system *system = &b->result->def->spec->systems.items[p->system];
    const struct node *family = reference_kin_of(b->reference, t, row, family);
    return family->n_children == 0 || is_of(family, system)                   ? KINSHIP_FAMILY
           : is_of(reference_kin_of(b->reference, t, row, copied_by), system) ? KINSHIP_COPY
                                                                              : KINSHIP_NONE;
}

/* ---- the join ---- */

static bool fits(const struct reference_beside *b, const struct reference_table *t,
                 const struct reference_row *row, const struct point *p)
{
    const struct node *task = reference_kin_of(b->reference, t, row, task);
    return array_all(task->children, task->n_children, word, has_word(b, p, (*word)->s)) &&
           vec_all(&t->at, at, coordinate(p, at->name) == at->value) &&
           vec_all(&row->at, at, coordinate(p, at->name) == at->value);
}

static void join_point(const struct reference_beside *b, const struct reference_table *t,
                       const struct point_result *p, struct reference_pairs *ret)
{
    const double at = coordinate(p->point, t->axis);
    const size_t column = isnan(at) ? REFERENCE_NO_ROW : reference_find_column(t, at);
    const size_t n_before = ret->len;
    enum kinship closest = KINSHIP_COPY;
    if (column == REFERENCE_NO_ROW || isnan(reference_own(t, b->result, p))) {
        return;
    }
    vec_each (const struct reference_row, row, &t->rows) {
        const enum kinship k =
            fits(b, t, row, p->point) ? kinship_of(b, t, row, p->point) : KINSHIP_NONE;
        if (k > closest) {
            closest = k;
            ret->len = n_before;
        }
        if (k == closest && !isnan(reference_figure(row, REFERENCE_VALUE, column))) {
            *vec_push(ret) = (struct reference_pair){p, row, column, k == KINSHIP_COPY};
        }
    }
}

struct reference_pairs reference_join(const struct reference_beside *b,
                                      const struct reference_table *t)
{
    struct reference_pairs pairs = {0};
    result_each_swept (p, b->result) {
        join_point(b, t, p, &pairs);
    }
    return pairs;
}

/* ---- figures of a point that no field has ---- */

/* An all-reduce of `bytes` by n ranks has the bus bandwidth bytes / time x 2 (n - 1) / n. */
static struct figure all_reduce_time(const struct point_result *p)
{
    const struct value *bytes = params_get(&p->point->params, "bytes");
    const struct estimate *e = &p->throughput.estimate;
    const double n = point_training_replicas(p->point);
    const bool is_known = bytes != NULL && bytes->is_int && e->known && e->value > 0 &&
                          str_eq(p->throughput.unit, "GB/s");
    const double s = is_known ? (double)bytes->i * 2 * (n - 1) / n / (e->value * 1e9) : 0;
    return (struct figure){.estimate = {.known = is_known, .value = s}, .unit = "s"};
}

/* ---- the quantities ---- */

#define KIND(id) (&figure_kinds[FIGURE_##id])

/* What a run has of each. */
static const struct quantity {
    const struct figure_kind *figure, *scaling;             /* NULL: it has none */
    struct figure (*follows)(const struct point_result *p); /* in place of `figure` */
} quantities[] = {
    [REFERENCE_RATE] = {KIND(THROUGHPUT), KIND(EFFICIENCY)},
    [REFERENCE_SPEEDUP_OF_RATE] = {KIND(SPEEDUP), KIND(EFFICIENCY)},
    [REFERENCE_EFFICIENCY_OF_RATE] = {KIND(EFFICIENCY)},
    [REFERENCE_TIME_TO_ACCURACY] = {KIND(TIME_TO_ACCURACY), KIND(TIME_EFFICIENCY)},
    [REFERENCE_SPEEDUP_TO_ACCURACY] = {KIND(TIME_SPEEDUP), KIND(TIME_EFFICIENCY)},
    [REFERENCE_ACCURACY_AFTER_TIME] = {KIND(ACCURACY_AFTER_TIME)},
    [REFERENCE_ALL_REDUCE_TIME] = {.follows = all_reduce_time},
    [REFERENCE_EXCHANGE_SHARE] = {KIND(EXCHANGE_SHARE)},
};

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

/* Has the run the goal of the table, if its quantity needs one? No table has a loss. */
static bool has_goal(const struct quantity *q, const struct reference_table *t,
                     const struct result *r)
{
    const struct spec *spec = r->def->spec;
    const enum figure_needs needs = q->figure == NULL ? NEEDS_NOTHING : q->figure->needs;
    return needs == NEEDS_NOTHING ||
           t->goal == (needs == NEEDS_TIME                ? spec->accuracy_after_s
                       : spec->goal.kind == GOAL_ACCURACY ? spec->goal.value
                                                          : 0);
}

double reference_own(const struct reference_table *t, const struct result *r,
                     const struct point_result *p)
{
    static const struct figure none = {.unit = ""};
    const struct quantity *q = &quantities[t->quantity];
    const struct figure f = q->follows != NULL  ? q->follows(p)
                            : q->figure == NULL ? none
                                                : figure_of(p, q->figure);
    return f.estimate.known && has_goal(q, t, r)
               ? f.estimate.value * factor_between(f.unit, t->unit, p->point)
               : NAN;
}

double reference_own_efficiency(const struct reference_table *t, const struct point_result *p)
{
    const struct figure_kind *kind = quantities[t->quantity].scaling;
    const struct estimate e = kind == NULL ? (struct estimate){0} : figure_of(p, kind).estimate;
    return e.known ? e.value : NAN;
}
