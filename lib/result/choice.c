/* See choice.h. */
#include "result/choice.h"

static const struct estimate *speed_of(const struct point_result *p)
{
    return &p->throughput.estimate;
}

static const struct estimate *efficiency_of(const struct point_result *p)
{
    return &point_figure(p, FIGURE_EFFICIENCY)->estimate;
}

static void compare_with_fastest(struct choice *c, const struct result *r)
{
    result_each_swept (p, r) {
        if (p == c->fastest || !speed_of(p)->known) {
            continue;
        }
        const struct estimate ratio = stats_ratio(speed_of(p), speed_of(c->fastest), 1);
        c->n_unsure += !ratio.has_interval;
        c->n_ties += ratio.has_interval && ratio.high >= 1;
        c->n_slower += ratio.has_interval && ratio.high < 1;
    }
}

/* Has p more trainers than what it divides by, and an efficiency that is high enough? */
static bool scales(const struct result *r, const struct point_result *p)
{
    return efficiency_of(p)->known && efficiency_of(p)->value >= CHOICE_EFFICIENCY &&
           point_size(p->point) > point_size(r->points[p->point->baseline_index].point);
}

static bool is_wider(const struct point_result *p, const struct point_result *than)
{
    const uint32_t a = point_size(p->point), b = point_size(than->point);
    return a > b || (a == b && speed_of(p)->value > speed_of(than)->value);
}

void choice_init(struct choice *c, const struct result *r)
{
    *c = (struct choice){0};
    const uint32_t n = r->def->matrix.n_swept;
    const struct point *first = r->points[0].point;
    const bool ranks_trainers = /* and not systems */
        array_all(r->points, n, p, p->point->system == first->system) &&
        array_any(r->points, n, p, point_size(p->point) != point_size(first));
    (void)result_unit(r, &c->units_differ);
    result_each_swept (p, r) {
        if (!c->units_differ && speed_of(p)->known &&
            (c->fastest == NULL || speed_of(p)->value > speed_of(c->fastest)->value)) {
            c->fastest = p;
        }
        if (ranks_trainers && scales(r, p) && (c->widest == NULL || is_wider(p, c->widest))) {
            c->widest = p;
        }
    }
    if (c->fastest != NULL) {
        compare_with_fastest(c, r);
    }
    if (c->widest != NULL) {
        const struct estimate *e = efficiency_of(c->widest);
        c->widest_is_sure = e->has_interval && e->low >= CHOICE_EFFICIENCY;
    }
}
