/* A result by curve, see sheets.h. */
#include <math.h>

#include "report/prose.h"
#include "report/sheets.h"
#include "result/number.h"

/* `first`: a point of the curve. Programs get a row without a parameter where none is fitted. */
static void put_row(struct sheet *s, const struct result *r, const struct point *first,
                    const struct scaling_fit *f, const struct scaling_parameter *parameter)
{
    static const struct scaling_parameter none = {.name = NULL, .range = {NAN, NAN, NAN}};
    const struct scaling_parameter *p = parameter == NULL ? &none : parameter;
    const struct scaling_range *x = &p->range;
    const bool is_fitted = f->gap == SCALING_FITTED;
    struct table *t = row_people(s);
    if (t == NULL) {
        const struct words_names names = {r->curves.names.items, r->curves.names.len, 0};
        row_text(s, NULL, "run", r->def->name);
        row_system(s, &(struct point_words){.spec = r->def->spec}, first);
        row_params(s, &names, first);
    }
    row_text(s, NULL, "model", "USL");
    row_text(s, NULL, "state", scaling_gap_names[f->gap]);
    row_bool(s, "holds", scaling_fit_holds(f));
    row_text(s, "PARAMETER", "parameter", p->name);
    row_number(s, "VALUE", "value", x->value, 1);
    if (t != NULL) {
        _cleanup_(buf_done) struct buf interval = BUF_INIT;
        number_format_range(x->low, x->high, &interval);
        table_known(t, "95% INTERVAL", !isnan(x->low), "%s",
                    isfinite(x->low + x->high) ? buf_cstr(&interval) : "not known");
    }
    row_number(s, NULL, "low", x->low, 1);
    row_number(s, NULL, "high", x->high, 1);
    row_number(s, "DEVIATION", "deviation", is_fitted ? f->deviation : NAN, 1);
    row_number(s, NULL, "misfit_p", is_fitted ? f->misfit_p : NAN, 1);
    row_end(s);
}

static void put_rows(struct sheet *s, const struct result *r, const struct curve *c)
{
    const struct scaling_fit *f = &c->usl;
    for (size_t k = 0; k < f->n_coefficients && f->gap == SCALING_FITTED; k++) {
        put_row(s, r, c->points.items[0]->point, f, &f->parameters[k]);
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
    if (vec_any(&r->curves.list, c, c->usl.gap == SCALING_FITTED)) {
        buf_printf(
            out,
            "Model of N %s: N alone / (1 + contention (N - 1) + coherency N (N - 1)); alone is "
            "the throughput of one. Deviation: of a trial from the model. 95%% intervals: "
            "Fieller's, of all trials.",
            many);
    }
}

static void put_scaling(const struct curve *c, struct buf *out)
{
    const char *word = point_size_word(c->points.items[0]->point);
    if (c->scaling == SCALING_WEAK) {
        buf_printf(out, "Weak scaling: each %s has as many samples a step at all sizes.", word);
    } else if (c->scaling == SCALING_STRONG) {
        buf_printf(out,
                   "Strong scaling: all %ss together have as many samples a step at all sizes.",
                   word);
    }
}

static void put_people(struct sheet *s, const struct result *r)
{
    _cleanup_(layout_done) struct layout l;
    _cleanup_(texts_done) struct texts lines = {0};
    struct buf text = BUF_INIT;
    layout_init(&l, r);
    prose_scaling_add(&lines, &l, true);
    sheet_put_run(s, r, NULL);
    for (size_t i = 0; i < lines.list.len; i++) {
        sheet_block(s, NULL);
        sheet_line(s, &sheet_paragraph, "%s.", lines.list.items[i]);
        put_scaling(&r->curves.list.items[i], &text);
        sheet_put_line(s, &sheet_paragraph, &text);
        put_rows(s, r, &r->curves.list.items[i]);
        sheet_table(s, NULL, row_take(s), 1);
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
    put_row(s, r, r->points[0].point, &(struct scaling_fit){0}, NULL);
    row_drop_all(s);
    vec_each (const struct curve, c, &r->curves.list) {
        if (c->usl.gap == SCALING_FITTED) {
            put_rows(s, r, c);
        } else {
            put_row(s, r, c->points.items[0]->point, &c->usl, NULL);
        }
    }
}
