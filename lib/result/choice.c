/* See choice.h. */
#include "result/choice.h"

#include <stdlib.h>

static bool is_measured(const struct point_result *p)
{
    return p->throughput.estimate.known;
}

static double value_of(const struct figure *f)
{
    return f->estimate.value;
}

static void find_fastest(struct choice *c, const struct result *r)
{
    (void)result_unit(r, &c->units_differ);
    for (uint32_t i = 0; i < r->def->matrix.n_swept && !c->units_differ; i++) {
        const struct point_result *p = &r->points[i];
        if (is_measured(p) &&
            (c->fastest == NULL || value_of(&p->throughput) > value_of(&c->fastest->throughput))) {
            c->fastest = p;
        }
    }
}

static int compare_speed(const void *a, const void *b)
{
    const double x = value_of(&(*(const struct point_result *const *)a)->throughput);
    const double y = value_of(&(*(const struct point_result *const *)b)->throughput);
    return (x < y) - (x > y);
}

static void find_ties(struct choice *c, const struct result *r)
{
    for (uint32_t i = 0; c->fastest != NULL && i < r->def->matrix.n_swept; i++) {
        const struct point_result *p = &r->points[i];
        if (p == c->fastest || !is_measured(p)) {
            continue;
        }
        const struct estimate ratio =
            stats_ratio(&p->throughput.estimate, &c->fastest->throughput.estimate, 1);
        if (!ratio.has_interval) {
            c->n_unsure++;
        } else if (ratio.high >= 1) {
            *vec_push(&c->ties) = p;
        } else {
            c->n_slower++;
        }
    }
    if (c->ties.len > 1) {
        qsort(c->ties.items, c->ties.len, sizeof(*c->ties.items), compare_speed);
    }
}

/* Has p more trainers than what it divides by, and an efficiency? */
static bool is_scaled(const struct result *r, const struct point_result *p)
{
    const struct point *base = r->points[p->point->baseline_index].point;
    return p->efficiency.estimate.known &&
           point_training_replicas(p->point) > point_training_replicas(base);
}

static bool is_wider(const struct point_result *p, const struct point_result *than)
{
    const uint32_t a = point_training_replicas(p->point), b = point_training_replicas(than->point);
    return a > b || (a == b && value_of(&p->throughput) > value_of(&than->throughput));
}

static void take_wide(struct choice *c, const struct point_result *p)
{
    const uint32_t n = point_training_replicas(p->point);
    const uint32_t most = c->widest == NULL ? 0 : point_training_replicas(c->widest->point);
    c->n_as_wide = n > most ? 1 : c->n_as_wide + (n == most);
    if (c->widest == NULL || is_wider(p, c->widest)) {
        c->widest = p;
    }
}

static void find_widest(struct choice *c, const struct result *r)
{
    const struct point_result *best = NULL;
    for (uint32_t i = 0; i < r->def->matrix.n_swept; i++) {
        const struct point_result *p = &r->points[i];
        if (!is_scaled(r, p)) {
            continue;
        }
        if (best == NULL || value_of(&p->efficiency) > value_of(&best->efficiency)) {
            best = p;
        }
        if (value_of(&p->efficiency) >= CHOICE_EFFICIENCY) {
            take_wide(c, p);
        }
    }
    if (c->widest == NULL) {
        c->most_efficient = best;
        return;
    }
    const struct estimate *e = &c->widest->efficiency.estimate;
    c->widest_is_sure = e->has_interval && e->low >= CHOICE_EFFICIENCY;
}

void choice_init(struct choice *c, const struct result *r)
{
    *c = (struct choice){0};
    find_fastest(c, r);
    find_ties(c, r);
    find_widest(c, r);
}

void choice_done(struct choice *c)
{
    vec_done(&c->ties);
}
