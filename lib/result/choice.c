/* See choice.h. */
#include "result/choice.h"

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

static void compare_with_fastest(struct choice *c, const struct result *r)
{
    result_each_swept (p, r) {
        if (c->fastest == NULL || p == c->fastest || !is_measured(p)) {
            continue;
        }
        const struct estimate ratio =
            stats_ratio(&p->throughput.estimate, &c->fastest->throughput.estimate, 1);
        if (!ratio.has_interval) {
            c->n_unsure++;
        } else if (ratio.high >= 1) {
            c->n_ties++;
        } else {
            c->n_slower++;
        }
    }
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
    return point_figure(p, FIGURE_EFFICIENCY)->estimate.known &&
           point_size(p->point) > point_size(base);
}

static bool is_wider(const struct point_result *p, const struct point_result *than)
{
    const uint32_t a = point_size(p->point), b = point_size(than->point);
    return a > b || (a == b && value_of(&p->throughput) > value_of(&than->throughput));
}

static void find_widest(struct choice *c, const struct result *r)
{
    result_each_swept (p, r) {
        if (is_scaled(r, p) && value_of(point_figure(p, FIGURE_EFFICIENCY)) >= CHOICE_EFFICIENCY &&
            (c->widest == NULL || is_wider(p, c->widest))) {
            c->widest = p;
        }
    }
    if (c->widest != NULL) {
        const struct estimate *e = &point_figure(c->widest, FIGURE_EFFICIENCY)->estimate;
        c->widest_is_sure = e->has_interval && e->low >= CHOICE_EFFICIENCY;
    }
}

void choice_init(struct choice *c, const struct result *r)
{
    *c = (struct choice){0};
    find_fastest(c, r);
    compare_with_fastest(c, r);
    if (ranks_trainers(r)) {
        find_widest(c, r);
    }
}
