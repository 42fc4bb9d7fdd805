/* A result by curve, see sheets.h. */
#include <math.h>

#include "base/vec_walk.h"
#include "report/layout.h"
#include "report/prose.h"
#include "report/sheets.h"
#include "result/number.h"

static void put_model_row(struct table *t, enum scaling_model model, const char *name,
                          const struct scaling_range *x)
{
    _cleanup_(buf_done) struct buf interval = BUF_INIT;
    if (isfinite(x->low) && isfinite(x->high)) {
        number_format_range(x->low, x->high, &interval);
    } else {
        buf_puts(&interval, isnan(x->low) ? "-" : "not known");
    }
    table_text(t, "MODEL", "%s", scaling_model_names[model]);
    table_text(t, "PARAMETER", "%s", name);
    table_value(t, "VALUE", x->value);
    table_number(t, "95% INTERVAL", "%s", buf_cstr(&interval));
    table_end_row(t);
}

static bool has_share(const struct curve *c)
{
    return c->fits[SCALING_EXCHANGE].gap == SCALING_FITTED && !isnan(c->exchange_share.value);
}

/* No table where no model is fitted. */
static void put_models(struct sheet *s, const struct curve *c)
{
    struct table *t = table_new();
    for (int m = 0; m < SCALING_MODEL_COUNT; m++) {
        const struct scaling_fit *f = &c->fits[m];
        if (f->gap != SCALING_FITTED) {
            continue;
        }
        for (size_t k = 0; k < f->n_coefficients; k++) {
            put_model_row(t, f->model, f->parameters[k].name, &f->parameters[k].range);
        }
        if (f->model == SCALING_EXCHANGE && has_share(c)) {
            put_model_row(t, f->model, "share", &c->exchange_share);
        }
        put_model_row(t, f->model, "deviation", &(struct scaling_range){f->deviation, NAN, NAN});
    }
    sheet_table(s, NULL, t, 2); /* each part with model and parameter */
}

/* "Contradicted by the trials: Amdahl (p 0.0007), ... Not fitted: Exchange (SameLoad)." Appends
 * nothing where all hold, or where the curve's sentence says why it has no model. */
static void put_states(const struct curve *c, struct buf *out)
{
    if (c->n_trusted < SCALING_MIN_SIZES) {
        return;
    }
    size_t n = 0;
    for (int m = 0; m < SCALING_MODEL_COUNT; m++) {
        const struct scaling_fit *f = &c->fits[m];
        if (f->gap == SCALING_FITTED && !scaling_fit_holds(f)) {
            buf_printf(out, "%s%s (p ", n++ == 0 ? "Contradicted by the trials: " : ", ",
                       scaling_model_names[f->model]);
            number_format(f->misfit_p, out);
            buf_putc(out, ')');
        }
    }
    buf_puts(out, n > 0 ? ". " : "");
    n = 0;
    for (int m = 0; m < SCALING_MODEL_COUNT; m++) {
        const struct scaling_fit *f = &c->fits[m];
        if (f->gap != SCALING_FITTED) {
            buf_printf(out, "%s%s (%s)", n++ == 0 ? "Not fitted: " : ", ",
                       scaling_model_names[f->model], scaling_gap_names[f->gap]);
        }
    }
    buf_puts(out, n > 0 ? "." : "");
}

/* What the tables have; nothing where no curve has one. */
static void put_legend(const struct result *r, struct buf *out)
{
    const char *many = matrix_size_words(&r->def->matrix).many;
    bool has_model = false, share = false;
    vec_each (const struct curve, c, &r->curves.list) {
        has_model =
            has_model || array_any(c->fits, SCALING_MODEL_COUNT, fit, fit->gap == SCALING_FITTED);
        share = share || has_share(c);
    }
    if (r->curves.list.len == 0) {
        buf_printf(out,
                   "No curve: no system was measured with two numbers of %s and all else equal.",
                   many);
    }
    if (!has_model) {
        return;
    }
    buf_printf(out,
               "Models of N %s, x: alone = throughput of one. Amdahl: N alone / (1 + serial "
               "(N - 1)). USL: N alone / (1 + contention "
               "(N - 1) + coherency N (N - 1)). Exchange: N alone / (1 + exchange L), L: sizes of "
               "the model that the busiest link carries in a step%s%s. Deviation: of a trial from "
               "the model. 95%% intervals: Fieller's, of all trials.",
               many, share ? "; share: of a step with the most " : "", share ? many : "");
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
    _cleanup_(prose_verdict_done) struct prose_verdict lines = {0};
    struct buf text = BUF_INIT;
    layout_init(&l, r);
    prose_scaling_add(&lines, &l, "", true);
    sheet_put_run(s, r, NULL);
    for (size_t i = 0; i < lines.list.len; i++) {
        sheet_block(s, NULL);
        sheet_line(s, &sheet_paragraph, "%s.", lines.list.items[i].text);
        put_scaling(&r->curves.list.items[i], &text);
        sheet_put_line(s, &sheet_paragraph, &text);
        put_models(s, &r->curves.list.items[i]);
        put_states(&r->curves.list.items[i], &text);
        sheet_put_line(s, &sheet_paragraph, &text);
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
    sheet_word(s, "model", scaling_model_names[f->model]);
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
        for (int m = 0; m < SCALING_MODEL_COUNT; m++) {
            const struct scaling_fit *f = &c->fits[m];
            const bool is_fitted = f->gap == SCALING_FITTED;
            for (size_t k = 0; k < (is_fitted ? f->n_coefficients : 1); k++) {
                put_row(s, r, c->points.items[0]->point, f, is_fitted ? &f->parameters[k] : NULL);
            }
        }
    }
}
