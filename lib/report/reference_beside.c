/* Published figures next to a run's, see sheets.h: the pairs of reference_parts.h, and what may not
 * be compared. */
#include <math.h>

#include "base/str.h"
#include "report/layout.h"
#include "report/reference_parts.h"
#include "report/sheets.h"
#include "result/number.h"

/* A table of the set and what the run has for it. */
struct beside {
    const struct reference_beside *b;
    const struct reference_table *t;
    struct reference_pairs pairs; /* owned */
};

/* An item of a list, but a paragraph of a page. */
#define say(s, ...) sheet_line(s, (s)->form == SHEET_HTML ? &sheet_paragraph : NULL, __VA_ARGS__)

/* ---- the table ---- */

/* A row a pair: "trainers 20", the run's figure, the published one, which one it is. */
static void put_pairs(struct sheet *s, const struct beside *x)
{
    _cleanup_(layout_done) struct layout l;
    layout_init(&l, x->b->result);
    struct table *table = table_new();
    const struct point_result *last = NULL;
    vec_each (const struct reference_pair, pair, &x->pairs) {
        _cleanup_(buf_done) struct buf point = BUF_INIT, own = BUF_INIT, theirs = BUF_INIT;
        const double efficiency = reference_own_efficiency(x->t, pair->point);
        if (pair->point != last) {
            layout_describe_point(&l, pair->point->point->index, &point);
            number_format(reference_own(x->t, x->b->result, pair->point), &own);
        }
        if (own.len > 0 && reference_has(x->t, REFERENCE_EFFICIENCY) && !isnan(efficiency)) {
            buf_printf(&own, " (%.2f%%)", 100 * efficiency);
        }
        reference_layout_put(x->t, REFERENCE_VALUE, pair->row, pair->column, &theirs);
        if (!isnan(reference_figure(pair->row, REFERENCE_EFFICIENCY, pair->column))) {
            buf_puts(&theirs, " (");
            reference_layout_put(x->t, REFERENCE_EFFICIENCY, pair->row, pair->column, &theirs);
            buf_putc(&theirs, ')');
        }
        table_text(table, "POINT", "%s", buf_cstr(&point));
        if (x->b->is_bound) {
            table_number(table, "AT MOST", "%s", buf_cstr(&own));
        } else {
            table_number(table, "THIS RUN", "%s", buf_cstr(&own));
        }
        table_number(table, "PUBLISHED", "%s", buf_cstr(&theirs));
        table_text(table, "OF", "%s", pair->row->name);
        table_end_row(table);
        last = pair->point;
    }
    struct buf caption = BUF_INIT;
    reference_layout_caption(x->t, REFERENCE_VALUE, &caption);
    sheet_table(s, &caption, table, 1);
}

/* ---- what may not be compared ---- */

/* Adds "; why" to a list of reasons. */
static __attribute__((format(printf, 2, 3))) void add_reason(struct buf *reasons, const char *fmt,
                                                             ...)
{
    _cleanup_(freep) char *text = xasprintf_rest(fmt);
    buf_printf(reasons, "%s%s", reasons->len == 0 ? "" : "; ", text);
}

static void add_hardware(const struct reference_beside *b, const struct reference_table *t,
                         struct buf *reasons)
{
    const char *theirs = reference_hardware(b->reference, t);
    const char *ours = NULL; /* builds and kernels may differ on it */
    bool is_same = b->result->hardware.len > 0, is_mixed = false;
    vec_each (const struct hardware, h, &b->result->hardware) {
        is_mixed |= ours != NULL && h->cpu_model != NULL && !str_eq(h->cpu_model, ours);
        ours = ours == NULL ? h->cpu_model : ours;
        is_same = is_same && h->cpu_model != NULL && str_eq(h->cpu_model, theirs);
    }
    if (!is_same) {
        add_reason(reasons, "other hardware (here %s%s, there %s)",
                   ours == NULL ? "not known" : ours, is_mixed ? " and other" : "",
                   theirs[0] == '\0' ? "unknown" : theirs);
    }
}

/* Says which rows in pairs train another network than the run. */
static void add_model(const struct beside *x, struct buf *reasons)
{
    const char *ours = x->b->result->def->spec->workload.model;
    const struct reference_row *same = NULL, *other = NULL;
    vec_each (const struct reference_pair, pair, &x->pairs) {
        const bool is_same = pair->row->workload != NULL && str_eq(pair->row->workload, ours);
        same = is_same ? pair->row : same;
        other = is_same ? other : pair->row;
    }
    if (other != NULL && same != NULL) {
        add_reason(reasons, "another model in all rows but '%s' (here %s)", same->name, ours);
    } else if (other != NULL) {
        const char *theirs = reference_model(x->b->reference, x->t, other);
        add_reason(reasons, "another model (here %s, there %s)", ours,
                   theirs[0] == '\0' ? "unknown" : theirs);
    }
}

static void add_copies(const struct beside *x, struct buf *reasons)
{
    vec_each (const struct reference_row, row, &x->t->rows) {
        const struct reference_pair *pair = vec_find(&x->pairs, it, it->row == row && it->is_copy);
        if (pair != NULL) {
            const uint32_t system = pair->point->point->system;
            add_reason(reasons, "%s reimplements '%s'",
                       x->b->result->def->spec->systems.items[system].name, row->name);
        }
    }
}

static void collect_reasons(const struct beside *x, struct buf *reasons)
{
    const struct reference_beside *b = x->b;
    const struct reference_table *t = x->t;
    const struct point *first = b->result->points[0].point;
    add_hardware(b, t, reasons);
    add_copies(x, reasons);
    add_model(x, reasons);
    if (!str_eq(t->axis, "batch_size") && !vec_any(&t->at, at, str_eq(at->name, "batch_size"))) {
        _cleanup_(freep) char *size = xasprintf("%lld", (long long)first->batch_size);
        add_reason(reasons, "the table does not give the batch size (here %s)",
                   first->batch_size > 0 ? size : "unknown");
    }
    if (reference_counts_other(first, t->axis)) {
        add_reason(reasons, "there %s are counted, here %ss", t->axis,
                   role_to_string(point_training_role(first)));
    }
    if (b->year != b->reference->year) {
        add_reason(reasons, "another year (here %d, there %lld)", b->year,
                   (long long)b->reference->year);
    }
    if (b->is_bound) {
        add_reason(reasons, "the figures here are bounds, not measured");
    } else if (b->result->simulated || b->result->def->rehearsal) {
        add_reason(reasons, "this run is %s", b->result->simulated ? "simulated" : "a rehearsal");
    }
    _cleanup_(buf_done) struct buf modes = BUF_INIT;
    spec_put_modes(b->result->def->spec, &modes);
    if (modes.len > 0) {
        add_reason(reasons, "here %s, there the mode is not given", buf_cstr(&modes));
    }
    if (spec_is_imported(b->result->def->spec)) {
        add_reason(reasons, "this run was read from logs of an unknown machine");
    }
    if (t->quality == REFERENCE_READING) {
        add_reason(reasons, "the published figures are read off a chart, to about %g",
                   t->reading_error);
    }
}

/* ---- sentences ---- */

/* Whether the pairs may be compared. */
static void put_caveats(struct sheet *s, const struct beside *x)
{
    const struct result *r = x->b->result;
    _cleanup_(buf_done) struct buf reasons = BUF_INIT, here = BUF_INIT;
    collect_reasons(x, &reasons);
    if (reasons.len > 0) {
        say(s, "Do not compare the %ss: %s.",
            x->t->measure == REFERENCE_THROUGHPUT ? "throughput" : "figure", buf_cstr(&reasons));
    }
    if (!reference_has(x->t, REFERENCE_EFFICIENCY) ||
        vec_all(&x->pairs, it, isnan(reference_own_efficiency(x->t, it->point)))) {
        return;
    }
    const char *there = x->t->baseline != NULL ? x->t->baseline : "an unknown number of trainers";
    /* What makes 100%: "1 trainer", "2 trainers and 1 server". Workers count as trainers. */
    const struct point *base = r->points[r->points[0].point->baseline_index].point;
    const uint32_t trainers = point_training_replicas(base);
    const uint32_t pservers = base->replicas[ROLE_PSERVER];
    buf_printf(&here, "%u trainer%s", trainers, plural(trainers));
    if (pservers > 0) {
        buf_printf(&here, " and %u server%s", pservers, plural(pservers));
    }
    if (str_eq(buf_cstr(&here), there)) {
        say(s, "Efficiencies have the same kind of baseline, so their trends may be compared; "
               "mind the differences above.");
    } else {
        say(s, "Do not compare the efficiencies: their baselines differ (here %s; there %s).",
            buf_cstr(&here), there);
    }
}

/* Is a marked cell of the erratum in a pair? */
static bool shows_erratum(const struct beside *x, const struct reference_erratum *e)
{
    const bool is_shown = e->figure == REFERENCE_VALUE || e->figure == REFERENCE_EFFICIENCY;
    return is_shown &&
           vec_any(&x->pairs, it,
                   reference_erratum_names(x->t, e, it->row, it->column) &&
                       reference_layout_is_marked(x->t, e->figure, it->row, it->column));
}

/* ---- all tables ---- */

static void put_table(struct sheet *s, const struct beside *x)
{
    sheet_title(s, x->t->name, x->t->title);
    put_pairs(s, x);
    sheet_block(s, NULL);
    put_caveats(s, x);
    vec_each (const struct reference_erratum, e, &x->t->errata) {
        if (shows_erratum(x, e)) {
            reference_layout_erratum(s, x->t, e);
        }
    }
}

void sheet_beside(struct sheet *s, const struct reference_beside *b)
{
    size_t n_left_out = 0;
    _cleanup_(buf_done) struct buf left_out = BUF_INIT;
    sheet_block(s, NULL);
    reference_layout_title(s, b->reference, b->is_bound ? "Bounds, beside " : "Beside ");
    vec_each (const struct reference_table, t, &b->reference->tables) {
        struct beside x = {.b = b, .t = t, .pairs = reference_join(b, t)};
        if (x.pairs.len > 0) {
            put_table(s, &x);
        }
        n_left_out += x.pairs.len == 0;
        vec_done(&x.pairs);
    }
    if (n_left_out > 0) {
        buf_printf(&left_out, "%zu of %zu tables have no figure for a point of %s. ", n_left_out,
                   b->reference->tables.len, b->is_bound ? "these bounds" : "this run");
    }
    sheet_block(s, NULL);
    say(s, "%sAll of these figures, with sources and errata: benchctl results --reference %s",
        buf_cstr(&left_out), b->asked);
}
