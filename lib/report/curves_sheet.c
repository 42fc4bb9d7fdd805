/* A result by curve, see sheets.h. */
#include <math.h>

#include "report/prose.h"
#include "report/sheets.h"
#include "result/curves.h"
#include "result/number.h"

#define MS_PER_S 1e3

static const struct curve_term no_term = {.share = NAN, .seconds = {NAN, NAN, NAN}};

/* `first`: a point of the curve. */
static void put_row(struct sheet *s, const struct result *r, const struct point *first,
                    const char *state, const struct curve_term *term)
{
    _cleanup_(buf_done) struct buf interval = BUF_INIT;
    struct table *t = row_people(s);
    if (t == NULL) {
        const struct words_names names = {r->curves.names.items, r->curves.names.len, 0};
        row_text(s, NULL, "run", r->def->name);
        row_system(s, &(struct point_words){.spec = r->def->spec}, first);
        row_params(s, &names, first);
    }
    row_text(s, NULL, "state", state);
    row_text(s, "TERM", "term", term->name);
    row_text(s, "OF", "of", term->of);
    row_percent(s, "SHARE", "share", term->share, false);
    row_number(s, "MS", "seconds", term->seconds.value, MS_PER_S);
    number_format_range(MS_PER_S * term->seconds.low, MS_PER_S * term->seconds.high, &interval);
    table_known(t, "95% INTERVAL", !isnan(term->seconds.low), "%s", buf_cstr(&interval));
    row_number(s, NULL, "low", term->seconds.low, 1);
    row_number(s, NULL, "high", term->seconds.high, 1);
    row_end(s);
}

/* Programs get a row without a term where no law is fitted. */
static void put_rows(struct sheet *s, const struct result *r, const struct curve *c)
{
    const char *state = scaling_state_names[c->law.state];
    const bool is_fitted = c->law.state == SCALING_FITTED;
    for (int i = 0; i < SCALING_TERMS && is_fitted; i++) {
        const struct curve_term term = curve_term(c, (enum scaling_term)i);
        put_row(s, r, c->points.items[0]->point, state, &term);
    }
    if (!is_fitted && row_people(s) == NULL) {
        put_row(s, r, c->points.items[0]->point, state, &no_term);
    }
}

/* Explains the tables; says nothing if no curve has one. */
static void put_legend(const struct result *r, struct buf *out)
{
    const char *many = matrix_size_words(&r->def->matrix).many;
    if (r->curves.list.len == 0) {
        buf_printf(out,
                   "No curve: no system was measured with two numbers of %s and all else equal.",
                   many);
    }
    if (vec_any(&r->curves.list, c, c->law.state == SCALING_FITTED)) {
        buf_printf(out,
                   "Law of N %s that share a batch of B samples: the terms of Ernest (NSDI 2016) "
                   "that the trials support, none of them negative. Share and ms: in a step with "
                   "the most %s. 95%%: of all combinations of terms that fit about as well.",
                   many, many);
    }
}

static void put_scaling(const struct curve *c, struct buf *out)
{
    const char *scaling = curve_scaling(c);
    if (scaling != NULL) {
        buf_printf(out, "%s scaling: %s %s%s as many samples a step at all sizes.", scaling,
                   c->law.is_strong ? "all" : "each", point_size_word(c->points.items[0]->point),
                   c->law.is_strong ? "s together have" : " has");
    }
}

static void put_people(struct sheet *s, const struct result *r)
{
    _cleanup_(layout_done) struct layout l;
    struct buf text = BUF_INIT;
    layout_init(&l, r);
    sheet_put_run(s, r, NULL);
    vec_each (const struct curve, c, &r->curves.list) {
        sheet_block(s, NULL);
        prose_curve_say(&l, c, true, &text);
        sheet_put_line(s, &sheet_paragraph, &text);
        put_scaling(c, &text);
        sheet_put_line(s, &sheet_paragraph, &text);
        put_rows(s, r, c);
        sheet_table(s, NULL, row_take(s), 1);
        if (c->law.state == SCALING_FITTED) {
            prose_residuals_put(c, &text);
            sheet_put_line(s, &sheet_paragraph, &text);
        }
    }
    sheet_block(s, NULL);
    put_legend(r, &text);
    sheet_put_line(s, NULL, &text);
}

void sheet_curves(struct sheet *s, const struct result *r)
{
    if (s->form != SHEET_CSV) {
        put_people(s, r);
        return;
    }
    put_row(s, r, r->points[0].point, NULL, &no_term);
    row_drop_all(s);
    vec_each (const struct curve, c, &r->curves.list) {
        put_rows(s, r, c);
    }
}
