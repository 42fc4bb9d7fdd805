/* A result by curve, see report.h: what each says of scaling, and the models
 * that were fitted to it. */
#include <math.h>

#include "report/csv.h"
#include "report/layout.h"
#include "report/marks.h"
#include "report/report.h"
#include "report/scaling_lines.h"
#include "report/table.h"
#include "report/terminal.h"
#include "result/curves.h"
#include "result/number.h"

#define ALL_PARTS (SCALING_VERDICT | SCALING_MODEL | SCALING_LOSS)

static const char no_curves[] =
    "No curve: no system was measured with two numbers of trainers and all else equal.";
static void put_number(struct table *t, double value)
{
    struct buf text = BUF_INIT;
    number_format(value, &text);
    table_cell(t, "%s", buf_cstr(&text));
    buf_done(&text);
}

static void put_row(struct table *t, enum scaling_model model, const char *name,
                    const struct scaling_range *x)
{
    struct buf text = BUF_INIT;
    table_cell(t, "%s", scaling_model_to_string(model));
    table_cell(t, "%s", name);
    put_number(t, x->value);
    if (isfinite(x->low) && isfinite(x->high)) {
        number_format(x->low, &text);
        buf_puts(&text, "..");
        number_format(x->high, &text);
    } else {
        buf_puts(&text, isnan(x->low) ? "-" : "not known");
    }
    table_cell(t, "%s", buf_cstr(&text));
    buf_done(&text);
}

static bool has_share(const struct curve *c)
{
    return c->fits[SCALING_EXCHANGE].gap == SCALING_FITTED && !isnan(c->exchange_share.value);
}

/* NULL: no model is fitted. */
static struct table *models_of(const struct curve *c)
{
    static const char *const titles[] = {"MODEL", "PARAMETER", "VALUE", "95% INTERVAL"};
    struct table *t = table_new();
    size_t n = 0;
    for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++) {
        table_column(t, titles[i], i < 2 ? TABLE_LEFT : TABLE_RIGHT);
    }
    for (int m = 0; m < SCALING_MODEL_COUNT; m++) {
        const struct scaling_fit *f = &c->fits[m];
        if (f->gap != SCALING_FITTED) {
            continue;
        }
        n++;
        for (size_t k = 0; k < f->n_coefficients; k++) {
            put_row(t, f->model, f->parameters[k].name, &f->parameters[k].range);
        }
        if (f->model == SCALING_EXCHANGE && has_share(c)) {
            put_row(t, f->model, "share", &c->exchange_share);
        }
        put_row(t, f->model, "deviation", &(struct scaling_range){f->deviation, NAN, NAN});
    }
    if (n > 0) {
        return t;
    }
    table_free(t);
    return NULL;
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
                       scaling_model_to_string(f->model));
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
                       scaling_model_to_string(f->model), scaling_gap_to_string(f->gap));
        }
    }
    buf_puts(out, n > 0 ? "." : "");
}

/* What the tables have; nothing where no curve has one. */
static void put_legend(const struct result *r, struct buf *out)
{
    bool has_model = false, share = false;
    vec_each (const struct curve, c, &r->curves.list) {
        for (int m = 0; m < SCALING_MODEL_COUNT; m++) {
            has_model = has_model || c->fits[m].gap == SCALING_FITTED;
        }
        share = share || has_share(c);
    }
    if (r->curves.list.len == 0) {
        buf_puts(out, no_curves);
    }
    if (!has_model) {
        return;
    }
    buf_printf(out,
               "Models of N trainers, x: alone = throughput of one. Amdahl: N alone / (1 + serial "
               "(N - 1)). USL: N alone / (1 + contention "
               "(N - 1) + coherency N (N - 1)). Exchange: N alone / (1 + exchange L), L: sizes of "
               "the model that the busiest link carries in a step%s. Deviation: of a trial from "
               "the model. 95%% intervals: Fieller's, of all trials.",
               share ? "; share: of a step with the most trainers" : "");
}

/* "pservers 2, 4 trainers: ..." */
static void put_line(const struct choice_line *line, struct buf *out)
{
    buf_printf(out, "%s%s%s.", line->label, line->label[0] == '\0' ? "" : ", ", line->text);
}

void report_curves_text(const struct result *r, const struct report_opts *opts, struct buf *out)
{
    const struct terminal term = terminal_of(opts);
    struct layout l;
    struct choice_lines lines;
    layout_init(&l, r);
    scaling_lines_init(&lines, &l, ALL_PARTS, 0);
    terminal_colored(out, &term, TERMINAL_BOLD, r->def->name);
    buf_printf(out, "   %s", run_phase_to_string(r->phase));
    marks_put_text(r, &term, out);
    buf_putc(out, '\n');
    for (size_t i = 0; i < lines.list.len; i++) {
        const struct curve *c = &r->curves.list.items[i];
        struct buf text = BUF_INIT;
        put_line(&lines.list.items[i], &text);
        buf_putc(out, '\n');
        terminal_wrapped(out, &term, buf_cstr(&text), 0, 2);
        struct table *t = models_of(c);
        if (t != NULL) {
            /* each with model and parameter */
            terminal_parts(out, &term, t, 2, TERMINAL_TIGHT_GAP);
        }
        table_free(t);
        buf_clear(&text);
        put_states(c, &text);
        if (text.len > 0) {
            terminal_wrapped(out, &term, buf_cstr(&text), 0, 2);
        }
        buf_done(&text);
    }
    struct buf legend = BUF_INIT;
    put_legend(r, &legend);
    if (legend.len > 0) {
        buf_putc(out, '\n');
        terminal_wrapped(out, &term, buf_cstr(&legend), 0, 2);
    }
    buf_done(&legend);
    choice_lines_done(&lines);
    layout_done(&l);
}

void report_curves_markdown(const struct result *r, struct buf *out)
{
    struct layout l;
    struct choice_lines lines;
    layout_init(&l, r);
    scaling_lines_init(&lines, &l, ALL_PARTS, 0);
    buf_puts(out, "## ");
    markdown_escape(r->def->name, out);
    buf_printf(out, "\n\n%s", run_phase_to_string(r->phase));
    marks_put_markdown(r, out);
    buf_puts(out, "\n");
    for (size_t i = 0; i < lines.list.len; i++) {
        const struct curve *c = &r->curves.list.items[i];
        struct buf text = BUF_INIT;
        put_line(&lines.list.items[i], &text);
        buf_putc(out, '\n');
        markdown_escape(buf_cstr(&text), out);
        buf_puts(out, "\n\n");
        struct table *t = models_of(c);
        if (t != NULL) {
            table_format_markdown(t, out);
        }
        table_free(t);
        buf_clear(&text);
        put_states(c, &text);
        markdown_escape(buf_cstr(&text), out);
        buf_puts(out, text.len > 0 ? "\n" : "");
        buf_done(&text);
    }
    struct buf legend = BUF_INIT;
    put_legend(r, &legend);
    if (legend.len > 0) {
        buf_printf(out, "\n- %s\n", buf_cstr(&legend));
    }
    buf_done(&legend);
    choice_lines_done(&lines);
    layout_done(&l);
}

static void put_csv_row(struct buf *out, const struct result *r, const struct csv_names *names,
                        const struct curve *c, const struct scaling_fit *f,
                        const struct scaling_parameter *parameter)
{
    const struct point *first = c->points.items[0]->point;
    csv_text(out, r->def->name);
    buf_putc(out, ',');
    csv_text(out, r->def->spec->systems.items[first->system].name);
    csv_params(out, names, &first->params);
    buf_printf(out, ",%s,%s,%s,%s", scaling_model_to_string(f->model),
               scaling_gap_to_string(f->gap), scaling_fit_holds(f) ? "true" : "false",
               parameter == NULL ? "" : parameter->name);
    csv_number(out, parameter == NULL ? NAN : parameter->range.value);
    csv_number(out, parameter == NULL ? NAN : parameter->range.low);
    csv_number(out, parameter == NULL ? NAN : parameter->range.high);
    const bool is_fitted = f->gap == SCALING_FITTED;
    csv_number(out, is_fitted ? f->deviation : NAN);
    csv_number(out, is_fitted ? f->misfit_p : NAN);
    buf_putc(out, '\n');
}

void report_curves_csv(const struct result *r, struct buf *out)
{
    static const char *const before[] = {"run", "system"};
    static const char *const after[] = {"model", "state", "holds",     "parameter", "value",
                                        "low",   "high",  "deviation", "misfit_p"};
    static const struct csv_columns columns = {before, 2, after, 9};
    struct csv_names names = {0};
    vec_each (const char *const, name, &r->curves.names) {
        *vec_push(&names.list) = *name;
    }
    csv_header(out, &columns, &names);
    vec_each (const struct curve, c, &r->curves.list) {
        for (int m = 0; m < SCALING_MODEL_COUNT; m++) {
            const struct scaling_fit *f = &c->fits[m];
            for (size_t k = 0; k < f->n_coefficients && f->gap == SCALING_FITTED; k++) {
                put_csv_row(out, r, &names, c, f, &f->parameters[k]);
            }
            if (f->gap != SCALING_FITTED) {
                put_csv_row(out, r, &names, c, f, NULL);
            }
        }
    }
    vec_done(&names.list);
}
