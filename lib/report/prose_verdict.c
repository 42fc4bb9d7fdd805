/* See prose.h. */
#include "report/prose.h"

#include <math.h>

#include "result/catalogue.h"
#include "result/choice.h"
#include "result/curves.h"
#include "result/number.h"

#define ONLY_POINT "the only point"
#define PRINTS_AS_1 1.0005 /* below it, four digits say 1.000 */

/* ---- how sure it is ---- */

/* A reader of the answer alone must not pay for replicas without a proven benefit. A baseline that
 * was swept is a point like the others, and is compared with them. A speedup that is printed as
 * 1.000 is not shown to be more. */
static void put_baseline(const struct layout *l, const struct choice *c, struct buf *out)
{
    const struct point *point = c->fastest->point;
    const struct estimate *speedup = &point_figure(c->fastest, FIGURE_SPEEDUP)->estimate;
    if (!speedup->known || point->baseline_index == point->index) {
        return;
    }
    if (speedup->value < 1) {
        buf_printf(out, "; the baseline %s faster",
                   speedup->has_interval && speedup->high < 1 ? "is" : "may be");
    } else if (l->result->points[point->baseline_index].point->is_baseline &&
               speedup->has_interval && speedup->low < PRINTS_AS_1) {
        buf_puts(out, "; the baseline may be as fast");
    }
}

/* Some of the other points are not shown to be slower. */
static void put_doubt(const struct choice *c, struct buf *out)
{
    const size_t n = c->n_ties + c->n_unsure;
    if (c->n_slower == 0 && n == 1) {
        buf_puts(out, "no clear winner: the other point is not significantly slower");
    } else if (c->n_slower == 0) {
        buf_printf(out, "no clear winner: none of the other %zu points is significantly slower", n);
    } else {
        buf_printf(out, "%zu of %zu points may be the fastest, the other%s %s slower", n + 1,
                   n + 1 + c->n_slower, plural(c->n_slower), c->n_slower == 1 ? "is" : "are");
    }
    buf_puts(out, c->n_unsure == 0 ? "; more repeats may separate them"
                                   : "; to decide, each point needs 3 trials or more");
}

/* ---- the answer ---- */

/* Which point comes to the accuracy or loss of the definition in the least time. */
static void put_goal(const struct layout *l, struct buf *out)
{
    const struct figure_kind *time = &figure_kinds[FIGURE_TIME_TO_ACCURACY];
    const struct point_result *best = NULL;
    struct figure least = {.estimate.value = INFINITY};
    result_each_swept (p, l->result) {
        const struct figure f = figure_of(p, time);
        if (f.estimate.known && f.estimate.value < least.estimate.value) {
            least = f;
            best = p;
        }
    }
    if (best != NULL) {
        buf_puts(out, "The least time to ");
        goal_format(&l->result->def->spec->goal, out);
        buf_puts(out, " is that of ");
        words_put_point(&l->words, best->point, ONLY_POINT, out);
        buf_puts(out, ": ");
        words_put_figure(&least, out);
        buf_puts(out, ". ");
    }
}

static void put_scaling(const struct point_result *p, struct buf *out)
{
    const struct figure *speedup = point_figure(p, FIGURE_SPEEDUP);
    if (speedup->estimate.known && p->point->baseline_index != p->point->index) {
        buf_puts(out, ", ");
        number_format(speedup->estimate.value, out);
        buf_puts(out, " times the baseline, an efficiency of ");
        words_put_percent(&point_figure(p, FIGURE_EFFICIENCY)->estimate, out);
    }
}

void prose_answer_put(const struct layout *l, struct buf *out)
{
    struct choice c;
    choice_init(&c, l->result);
    const struct point_result *p = c.fastest;
    const size_t n_others = c.n_ties + c.n_unsure + c.n_slower;
    put_goal(l, out);
    if (p == NULL) {
        buf_puts(out, c.units_differ ? "The points have throughputs of different units, so none is "
                                       "the fastest."
                                     : "Nothing has been measured.");
        return;
    }
    vec_each (const struct curve, curve, &l->result->curves.list) {
        const struct point_result *widest = curve_widest(curve);
        if (widest != NULL && prose_is_copies(l, widest)) {
            prose_curve_put(l, curve, ": ", out);
            prose_copies_put(l, widest, out);
            buf_putc(out, '.');
            return;
        }
    }
    if (n_others > 0) {
        buf_printf(out, "The %s of %zu %spoints is ",
                   c.n_slower == n_others ? "fastest" : "highest throughput", n_others + 1,
                   n_others + 1 < l->result->def->matrix.n_swept ? "measured " : "");
    }
    if (n_others > 0 || layout_has_words(l)) {
        buf_puts(out, n_others > 0 && c.n_slower < n_others ? "that of " : "");
        words_put_point(&l->words, p->point, ONLY_POINT, out);
        buf_puts(out, ": ");
    }
    words_put_figure(&p->throughput, out);
    put_scaling(p, out);
    if (n_others > c.n_slower) {
        buf_puts(out, "; ");
        put_doubt(&c, out);
    }
    put_baseline(l, &c, out);
    buf_putc(out, '.');
}
