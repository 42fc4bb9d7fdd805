/* See prose.h. */
#include "report/prose.h"

#include <stdlib.h>

#include "base/str.h"
#include "result/choice.h"

#define PRINTS_AS_1 1.0005 /* below it, four digits say 1.000 */

static void put_point(const struct layout *l, const struct point_result *p, struct buf *out)
{
    words_put_point(&l->words, p->point, "the only point", out);
}

/* ---- which point to choose ---- */

/* A reader of the box alone must not pay for replicas without a proven benefit. A baseline that was
 * swept is a point like the others, and is compared with them. A speedup that is printed as 1.000
 * is not shown to be more. */
static void put_baseline(const struct layout *l, const struct choice *c, size_t n_others,
                         struct buf *out)
{
    const struct point *point = c->fastest->point;
    const struct estimate *speedup = &point_figure(c->fastest, FIGURE_SPEEDUP)->estimate;
    if (!speedup->known || point->baseline_index == point->index) {
        return;
    }
    if (speedup->value < 1) {
        buf_printf(out, "%sthe baseline %s faster than %s", n_others > 0 ? "; " : "",
                   speedup->has_interval && speedup->high < 1 ? "is" : "may be",
                   n_others > 0 ? "all of them" : "the only point");
    } else if (l->result->points[point->baseline_index].point->is_baseline &&
               speedup->has_interval && speedup->low < PRINTS_AS_1) {
        buf_printf(out, "%s may be as fast",
                   n_others == 0 ? "the baseline" : "; but the baseline of the fastest");
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
    buf_puts(out, c->n_unsure == 0 ? "; more repeats may tell them apart"
                                   : "; to decide, each point needs 3 trials or more");
}

static void put_choice(struct sheet *s, const struct layout *l, const struct choice *c)
{
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    const size_t n_others = c->n_ties + c->n_unsure + c->n_slower;
    if (n_others > 0 && c->n_slower == n_others) {
        put_point(l, c->fastest, &text);
        buf_printf(&text, " is the fastest of the %zu points compared%s: %s", n_others + 1,
                   l->result->def->cpus > 0 ? ", on this machine" : "",
                   n_others == 1 ? "the other one is slower, with 95% confidence"
                                 : "every other one is slower, each with 95% confidence");
    } else if (n_others > 0) {
        put_doubt(c, &text);
    }
    put_baseline(l, c, n_others, &text);
    if (text.len > 0) {
        sheet_term(s, SHEET_PLAIN, "Choice", "%s", buf_cstr(&text));
    }
}

static void put_widest(struct sheet *s, const struct layout *l, const struct choice *c)
{
    const struct point_result *p = c->widest;
    if (p == NULL || prose_doubts_job(p) ||
        system_is_copies(&l->result->def->spec->systems.items[p->point->system])) {
        return;
    }
    const struct estimate *e = &point_figure(p, FIGURE_EFFICIENCY)->estimate;
    _cleanup_(buf_done) struct buf text = BUF_INIT, label = BUF_INIT;
    put_point(l, p, &text);
    buf_puts(&text, " at ");
    words_put_percent(e, &text);
    if (!c->widest_is_sure) {
        buf_puts(&text, e->has_interval ? "; not certain, because the interval reaches below"
                                        : "; not certain, because there is no interval");
    }
    buf_printf(&label, "Most %ss at %.0f%% efficiency or more", point_size_word(p->point),
               100 * CHOICE_EFFICIENCY);
    sheet_term(s, SHEET_PLAIN, buf_cstr(&label), "%s", buf_cstr(&text));
}

void prose_verdict_put(struct sheet *s, const struct layout *l)
{
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    _cleanup_(texts_done) struct texts lines = {0};
    struct choice c;
    choice_init(&c, l->result);
    if (!layout_has_systems_alone(l)) { /* else a system is chosen, and nothing is scaled */
        prose_scaling_add(&lines, l, false);
        vec_each (char *, line, &lines.list) {
            sheet_term(s, SHEET_PLAIN, "Scaling", "%s", *line);
        }
        put_widest(s, l, &c);
    }
    if (c.units_differ) {
        sheet_term(s, SHEET_PLAIN, "Choice", "%s",
                   "unknown, because the points' throughputs have different units");
    } else if (c.fastest == NULL) {
        sheet_term(s, SHEET_PLAIN, "Result", "%s", "Nothing has been measured.");
    } else {
        put_choice(s, l, &c);
        put_point(l, c.fastest, &text);
        buf_puts(&text, " with ");
        words_put_figure(&c.fastest->throughput, &text);
        sheet_term(s, SHEET_PLAIN, "Highest throughput", "%s", buf_cstr(&text));
    }
}
