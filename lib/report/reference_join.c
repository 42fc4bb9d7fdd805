/* See reference_join.h. */
#include "report/reference_join.h"

#include <math.h>

#include "base/str.h"
#include "base/vec_walk.h"
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

/* Returns the column of the table that the point is at, or REFERENCE_NO_ROW. */
static size_t column_of(const struct reference_table *t, const struct point *p)
{
    const double at = coordinate(p, t->axis);
    return isnan(at) ? REFERENCE_NO_ROW : reference_find_column(t, at);
}

/* ---- tasks and families ---- */

/* Is the word the model of the run, or a text among the point's parameters? */
static bool has_word(const struct reference_beside *b, const struct point *p, const char *word)
{
    return str_eq(b->result->def->spec->workload.model, word) ||
           vec_any(&p->params.list, it, !it->value.is_int && str_eq(it->value.s, word));
}

static bool does_task(const struct reference_beside *b, const struct reference_table *t,
                      const struct reference_row *row, const struct point *p)
{
    const struct node *task = reference_kin_of(b->reference, t, row, task);
    return array_all(task->children, task->n_children, word, has_word(b, p, (*word)->s));
}

static const struct system *system_of(const struct reference_beside *b, const struct point *p)
{
    return &b->result->def->spec->systems.items[p->system];
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
    const struct node *family = reference_kin_of(b->reference, t, row, family);
    if (family->n_children == 0 || is_of(family, system_of(b, p))) {
        return KINSHIP_FAMILY;
    }
    return is_of(reference_kin_of(b->reference, t, row, copied_by), system_of(b, p)) ? KINSHIP_COPY
                                                                                     : KINSHIP_NONE;
}

/* ---- the join ---- */

static bool fits(const struct reference_beside *b, const struct reference_table *t,
                 const struct reference_row *row, const struct point *p)
{
    return does_task(b, t, row, p) && vec_all(&t->at, at, coordinate(p, at->name) == at->value) &&
           vec_all(&row->at, at, coordinate(p, at->name) == at->value);
}

static void join_point(const struct reference_beside *b, const struct reference_table *t,
                       const struct point_result *p, struct reference_pairs *ret)
{
    const size_t column = column_of(t, p->point), n_before = ret->len;
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
