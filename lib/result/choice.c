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
    result_each_swept (p, r) {
        if (!c->units_differ && is_measured(p) &&
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

struct estimate choice_ratio(const struct choice *c, const struct point_result *p)
{
    return stats_ratio(&p->throughput.estimate, &c->fastest->throughput.estimate, 1);
}

static void find_ties(struct choice *c, const struct result *r)
{
    result_each_swept (p, r) {
        if (c->fastest == NULL || p == c->fastest || !is_measured(p)) {
            continue;
        }
        const struct estimate ratio = choice_ratio(c, p);
        if (!ratio.has_interval) {
            c->n_unsure++;
        } else if (ratio.high >= 1) {
            *vec_push(&c->ties) = p;
        } else {
            c->n_slower++;
        }
    }
    array_sort(c->ties.items, c->ties.len, sizeof(*c->ties.items), compare_speed);
}

/* Do efficiencies of the swept points rank numbers of trainers, and not systems? */
static bool ranks_trainers(const struct result *r)
{
    const struct point *first = r->points[0].point;
    bool varies = false;
    result_each_swept (p, r) {
        if (p->point->system != first->system) {
            return false;
        }
        varies = varies || point_size(p->point) != point_size(first);
    }
    return varies;
}

/* Has p more trainers than what it divides by, and an efficiency? */
static bool is_scaled(const struct result *r, const struct point_result *p)
{
    const struct point *base = r->points[p->point->baseline_index].point;
    return p->efficiency.estimate.known && point_size(p->point) > point_size(base);
}

static bool is_wider(const struct point_result *p, const struct point_result *than)
{
    const uint32_t a = point_size(p->point), b = point_size(than->point);
    return a > b || (a == b && value_of(&p->throughput) > value_of(&than->throughput));
}

static void take_wide(struct choice *c, const struct point_result *p)
{
    const uint32_t n = point_size(p->point);
    const uint32_t most = c->widest == NULL ? 0 : point_size(c->widest->point);
    c->n_as_wide = n > most ? 1 : c->n_as_wide + (n == most);
    if (c->widest == NULL || is_wider(p, c->widest)) {
        c->widest = p;
    }
}

static void find_widest(struct choice *c, const struct result *r)
{
    const struct point_result *best = NULL;
    result_each_swept (p, r) {
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
    if (ranks_trainers(r)) {
        find_widest(c, r);
    }
}

void choice_done(struct choice *c)
{
    vec_done(&c->ties);
}
