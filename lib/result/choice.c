/* See choice.h. */
#include "result/choice.h"

static const struct estimate *speed_of(const struct point_result *p)
{
    return &p->throughput.estimate;
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

void choice_init(struct choice *c, const struct result *r)
{
    *c = (struct choice){0};
    (void)result_unit(r, &c->units_differ);
    result_each_swept (p, r) {
        if (!c->units_differ && speed_of(p)->known &&
            (c->fastest == NULL || speed_of(p)->value > speed_of(c->fastest)->value)) {
            c->fastest = p;
        }
    }
    if (c->fastest != NULL) {
        compare_with_fastest(c, r);
    }
}
