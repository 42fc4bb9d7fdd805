/* A result by curve, see sheets.h. */
#include <math.h>

#include "base/vec_walk.h"
#include "report/layout.h"
#include "report/prose.h"
#include "report/sheets.h"
#include "result/number.h"

static void put_model_row(struct table *t, const char *name, const struct scaling_range *x)
{
    _cleanup_(buf_done) struct buf interval = BUF_INIT;
    if (isfinite(x->low) && isfinite(x->high)) {
        number_format_range(x->low, x->high, &interval);
    } else {
        buf_puts(&interval, isnan(x->low) ? "-" : "not known");
    }
    table_text(t, "MODEL", "USL");
    table_text(t, "PARAMETER", "%s", name);
    table_value(t, "VALUE", x->value);
    table_number(t, "95% INTERVAL", "%s", buf_cstr(&interval));
    table_end_row(t);
}

/* Adds no table if the model is not fitted. */
static void put_model(struct sheet *s, const struct scaling_fit *usl)
{
    struct table *t = table_new();
    for (size_t k = 0; k < usl->n_coefficients && usl->gap == SCALING_FITTED; k++) {
        put_model_row(t, usl->parameters[k].name, &usl->parameters[k].range);
    }
    if (usl->gap == SCALING_FITTED) {
        put_model_row(t, "deviation", &(struct scaling_range){usl->deviation, NAN, NAN});
    }
    sheet_table(s, NULL, t, 2); /* each part with model and parameter */
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
        put_model(s, &r->curves.list.items[i].usl);
    }
    sheet_block(s, NULL);
    put_legend(r, &text);
    sheet_put_line(s, NULL, &text);
}

/* `first`: a point of the curve. */
static void put_row(struct sheet *s, const struct result *r, const struct point *first,
                    const struct scaling_fit *f, const struct scaling_parameter *parameter)
{
    const bool is_fitted = f->gap == SCALING_FITTED;
    sheet_word(s, "run", r->def->name);
    sheet_word(s, "system", r->def->spec->systems.items[first->system].name);
    sheet_params(s, r->curves.names.items, r->curves.names.len, &first->params);
    sheet_word(s, "model", "USL");
    sheet_word(s, "state", scaling_gap_names[f->gap]);
    sheet_bool(s, "holds", scaling_fit_holds(f));
    sheet_word(s, "parameter", parameter == NULL ? NULL : parameter->name);
    sheet_number(s, "value", parameter == NULL ? NAN : parameter->range.value);
    sheet_number(s, "low", parameter == NULL ? NAN : parameter->range.low);
    sheet_number(s, "high", parameter == NULL ? NAN : parameter->range.high);
    sheet_number(s, "deviation", is_fitted ? f->deviation : NAN);
    sheet_number(s, "misfit_p", is_fitted ? f->misfit_p : NAN);
    sheet_end_row(s);
}

void sheet_curves(struct sheet *s, const struct result *r)
{
    if (s->form != SHEET_CSV) {
        put_people(s, r);
        return;
    }
    put_row(s, r, r->points[0].point, &(struct scaling_fit){0}, NULL);
    sheet_drop_rows(s);
    vec_each (const struct curve, c, &r->curves.list) {
        const struct scaling_fit *f = &c->usl;
        const bool is_fitted = f->gap == SCALING_FITTED;
        for (size_t k = 0; k < (is_fitted ? f->n_coefficients : 1); k++) {
            put_row(s, r, c->points.items[0]->point, f, is_fitted ? &f->parameters[k] : NULL);
        }
    }
}
