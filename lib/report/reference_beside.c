/* Published figures next to a run's, see sheets.h: which points share a column, and what
 * may not be compared. */
#include <math.h>
#include <stdarg.h>

#include "base/str.h"
#include "base/vec_walk.h"
#include "reference/derive.h"
#include "report/layout.h"
#include "report/reference_layout.h"
#include "report/sheets.h"

/* ---- which points ---- */

/* Does the set count GPUs or nodes where the run counts replicas? */
static bool counts_other(const struct point *p, const char *name)
{
    const struct value *v = params_get(&p->params, name);
    return (v == NULL || !v->is_int) && (str_eq(name, "gpus") || str_eq(name, "nodes"));
}

/* What a point has for a coordinate of a set; NaN: the run knows no such thing. */
static double coordinate_of(const struct point *p, const char *name)
{
    const struct value *v = params_get(&p->params, name);
    if (v != NULL && v->is_int) {
        return (double)v->i;
    }
    if (str_eq(name, "batch_size")) {
        return (double)p->batch_size;
    }
    if (str_eq(name, "threads")) {
        return (double)p->threads;
    }
    if (str_eq(name, "trainers")) {
        return p->replicas[ROLE_TRAINER];
    }
    if (str_eq(name, "pservers")) {
        return p->replicas[ROLE_PSERVER];
    }
    return str_eq(name, "workers") || counts_other(p, name) ? (double)point_training_replicas(p)
                                                            : NAN;
}

/* The column of a table that a point shares; REFERENCE_NO_ROW: none. */
static size_t column_of(const struct reference_table *t, const struct point *p)
{
    const double at = coordinate_of(p, t->axis);
    return isnan(at) ? REFERENCE_NO_ROW : reference_find_column(t, at);
}

/* Does it also have what all figures of the table have: their batch size, their servers? */
static bool has_conditions(const struct reference_table *t, const struct point *p)
{
    return vec_all(&t->at, at, coordinate_of(p, at->name) == at->value);
}

/* Did the run vary what the table's columns vary? */
static bool varies(const struct result *r, const struct reference_table *t)
{
    double first = NAN;
    result_each_swept (p, r) {
        const double here = coordinate_of(p->point, t->axis);
        if (isnan(here)) {
            return false;
        }
        first = p == r->points ? here : first;
        if (here != first) {
            return true;
        }
    }
    return false;
}

/* Which points are shown next to a table: those at one of its columns with its conditions; where
 * none exist, those at a column, if the run varies it. */
enum sharing { SHARES_NOTHING, SHARES_COLUMNS, SHARES_CONDITIONS };

static enum sharing sharing_of(const struct reference_beside *b, const struct reference_table *t)
{
    enum sharing sharing = SHARES_NOTHING;
    result_each_swept (p, b->result) {
        if (column_of(t, p->point) == REFERENCE_NO_ROW) {
            continue;
        }
        if (has_conditions(t, p->point)) {
            return SHARES_CONDITIONS;
        }
        if (varies(b->result, t)) {
            sharing = SHARES_COLUMNS;
        }
    }
    return sharing;
}

static bool is_shared(const struct reference_table *t, const struct point *p, enum sharing sharing)
{
    return column_of(t, p) != REFERENCE_NO_ROW &&
           (sharing != SHARES_CONDITIONS || has_conditions(t, p));
}

/* ---- the table ---- */

static void put_own(const struct point_result *p, struct buf *out)
{
    figure_format(&p->throughput, out);
    if (p->efficiency.estimate.known) {
        buf_printf(out, " (%.2f%%)", 100 * p->efficiency.estimate.value);
    }
}

static void put_theirs(const struct reference_beside *b, const struct reference_table *t,
                       size_t row, size_t column, struct buf *out)
{
    reference_layout_put(b->reference, t, REFERENCE_VALUE, row, column, out);
    if (reference_derive(b->reference, t, REFERENCE_EFFICIENCY, row, column).known) {
        buf_puts(out, " (");
        reference_layout_put(b->reference, t, REFERENCE_EFFICIENCY, row, column, out);
        buf_putc(out, ')');
    }
}

/* A row a shared point and row of the set: "trainers 20", the run's figure, which one it is, the
 * published figure. */
static void put_shared(struct sheet *s, const struct reference_beside *b,
                       const struct reference_table *t, enum sharing sharing)
{
    _cleanup_(layout_done) struct layout l;
    layout_init(&l, b->result);
    l.is_page = s->form == SHEET_HTML;
    struct table *table = table_new();
    result_each_swept (p, b->result) {
        const size_t column = column_of(t, p->point);
        for (size_t row = 0; is_shared(t, p->point, sharing) && row < t->rows.len; row++) {
            _cleanup_(buf_done) struct buf point = BUF_INIT, own = BUF_INIT, theirs = BUF_INIT;
            layout_describe_point(&l, p->point->index, &point);
            put_own(p, &own);
            put_theirs(b, t, row, column, &theirs);
            table_text(table, "POINT", "%s", row == 0 ? buf_cstr(&point) : "");
            table_number(table, "THIS RUN", "%s", row == 0 ? buf_cstr(&own) : "");
            table_number(table, "PUBLISHED", "%s", buf_cstr(&theirs));
            table_text(table, "OF", "%s", t->rows.items[row].name);
            table_end_row(table);
        }
    }
    sheet_table(s, NULL, table, 1);
}

/* ---- what may not be compared ---- */

/* Adds "; why" to a list of reasons. */
static __attribute__((format(printf, 2, 3))) void add_reason(struct buf *reasons, const char *fmt,
                                                             ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *text = xvasprintf(fmt, ap);
    va_end(ap);
    buf_printf(reasons, "%s%s", reasons->len == 0 ? "" : "; ", text);
    free(text);
}

static void add_hardware(const struct reference_beside *b, const struct reference_table *t,
                         struct buf *reasons)
{
    const char *theirs = reference_hardware(b->reference, t);
    const char *ours = NULL;
    bool is_same = b->result->hardware.len > 0;
    vec_each (const struct hardware, h, &b->result->hardware) {
        ours = h->cpu_model != NULL ? h->cpu_model : ours;
        is_same = is_same && h->cpu_model != NULL && str_eq(h->cpu_model, theirs);
    }
    if (!is_same) {
        add_reason(reasons, "other hardware (here %s%s, there %s)",
                   ours == NULL ? "not known" : ours,
                   b->result->hardware.len > 1 ? " and other" : "",
                   theirs[0] == '\0' ? "unknown" : theirs);
    }
}

static void add_model(const struct reference_beside *b, const struct reference_table *t,
                      struct buf *reasons)
{
    const char *ours = b->result->def->spec->workload.model;
    bool is_same = true;
    vec_each (const struct reference_row, row, &t->rows) {
        is_same = is_same && row->workload != NULL && str_eq(row->workload, ours);
    }
    if (is_same) {
        return;
    }
    vec_each (const struct reference_row, row, &t->rows) {
        if (row->workload != NULL && str_eq(row->workload, ours)) {
            add_reason(reasons, "another model in all rows but '%s' (here %s)", row->name, ours);
            return;
        }
    }
    const char *theirs = reference_model(b->reference, t, &t->rows.items[0]);
    add_reason(reasons, "another model (here %s, there %s)", ours,
               theirs[0] == '\0' ? "unknown" : theirs);
}

static void add_unit(const struct reference_beside *b, const struct reference_table *t,
                     struct buf *reasons)
{
    bool is_mixed;
    const char *ours = result_unit(b->result, &is_mixed);
    if (!str_eq(ours, t->unit) || is_mixed) {
        add_reason(reasons, "another unit (here %s%s, there %s)", ours,
                   is_mixed ? " and others" : "", t->unit);
    }
    if (t->scope != REFERENCE_JOB) {
        add_reason(reasons, "another scope (here the whole job, there one %s)",
                   t->scope == REFERENCE_WORKER ? "worker" : "thread");
    }
}

/* A condition that all figures of the table have: do all shared points have it, too? */
static void add_condition(const struct reference_beside *b, const struct reference_table *t,
                          const struct reference_at *at, enum sharing sharing, struct buf *reasons)
{
    for (uint32_t i = 0; i < b->result->def->matrix.n_swept; i++) {
        const struct point *p = b->result->points[i].point;
        const double here = coordinate_of(p, at->name);
        if (!is_shared(t, p, sharing)) {
            continue;
        }
        if (isnan(here)) {
            add_reason(reasons, "other %s (here unknown, there %g)", at->name, at->value);
            return;
        }
        if (here != at->value) {
            add_reason(reasons, "other %s (here %g%s, there %g)", at->name, here,
                       i + 1 < b->result->def->matrix.n_swept ? " or others" : "", at->value);
            return;
        }
    }
}

static void add_batch(const struct reference_beside *b, const struct reference_table *t,
                      struct buf *reasons)
{
    bool is_said = str_eq(t->axis, "batch_size");
    vec_each (const struct reference_at, at, &t->at) {
        is_said = is_said || str_eq(at->name, "batch_size");
    }
    if (!is_said) {
        add_reason(reasons, "the table does not give the batch size (here %lld)",
                   (long long)b->result->points[0].point->batch_size);
    }
}

static void add_counting(const struct reference_table *t, const struct point *p,
                         struct buf *reasons)
{
    if (counts_other(p, t->axis)) {
        add_reason(reasons, "there %s are counted, here %ss", t->axis,
                   role_to_string(point_training_role(p)));
    }
}

static void collect_reasons(const struct reference_beside *b, const struct reference_table *t,
                            enum sharing sharing, struct buf *reasons)
{
    add_hardware(b, t, reasons);
    add_model(b, t, reasons);
    add_unit(b, t, reasons);
    add_batch(b, t, reasons);
    vec_each (const struct reference_at, at, &t->at) {
        add_condition(b, t, at, sharing, reasons);
    }
    add_counting(t, b->result->points[0].point, reasons);
    if (b->year != b->reference->year) {
        add_reason(reasons, "another year (here %d, there %lld)", b->year,
                   (long long)b->reference->year);
    }
    if (b->result->simulated || b->result->def->rehearsal) {
        add_reason(reasons, "this run is %s", b->result->simulated ? "simulated" : "a rehearsal");
    }
    if (spec_is_imported(b->result->def->spec)) {
        add_reason(reasons, "this run was read from logs of an unknown machine");
    }
    if (t->quality == REFERENCE_READING) {
        add_reason(reasons, "the published figures are read off a chart, to about %g",
                   t->reading_error);
    }
}

/* What makes 100%. */
struct full_efficiency {
    double trainers, pservers; /* trainers: NAN where not said; workers count as trainers */
};

static struct full_efficiency our_baseline(const struct reference_beside *b)
{
    const struct point *p = b->result->points[b->result->points[0].point->baseline_index].point;
    return (struct full_efficiency){point_training_replicas(p), p->replicas[ROLE_PSERVER]};
}

static struct full_efficiency their_baseline(const struct reference_beside *b,
                                             const struct reference_table *t)
{
    double trainers = NAN, pservers = 0;
    if (t->base == REFERENCE_NO_BASE) {
        return (struct full_efficiency){trainers, pservers};
    }
    const struct reference_table *base = &b->reference->tables.items[t->base_table];
    vec_each (const struct reference_at, at, &base->at) {
        trainers =
            str_eq(at->name, "trainers") || str_eq(at->name, "workers") ? at->value : trainers;
        pservers = str_eq(at->name, "pservers") ? at->value : pservers;
    }
    if (t->base == REFERENCE_BASE_COLUMN &&
        (str_eq(base->axis, "trainers") || str_eq(base->axis, "workers"))) {
        trainers = base->columns[t->base_column];
    }
    return (struct full_efficiency){trainers, pservers};
}

/* "1 trainer", "2 trainers and 1 server". */
static void put_baseline(struct full_efficiency k, struct buf *out)
{
    if (isnan(k.trainers)) {
        buf_puts(out, "an unknown number of trainers");
        return;
    }
    buf_printf(out, "%g trainer%s", k.trainers, k.trainers == 1 ? "" : "s");
    if (k.pservers > 0) {
        buf_printf(out, " and %g server%s", k.pservers, k.pservers == 1 ? "" : "s");
    }
}

/* An item of a list, but a paragraph of a page. */
static const struct sheet_mark *mark_of_line(const struct sheet *s)
{
    return s->form == SHEET_HTML ? &sheet_paragraph : NULL;
}

static void put_lines(struct sheet *s, const struct reference_beside *b,
                      const struct reference_table *t, enum sharing sharing)
{
    _cleanup_(buf_done) struct buf reasons = BUF_INIT;
    collect_reasons(b, t, sharing, &reasons);
    if (reasons.len > 0) {
        sheet_line(s, mark_of_line(s), "Do not compare the %ss: %s.",
                   t->measure == REFERENCE_THROUGHPUT ? "throughput" : "figure",
                   buf_cstr(&reasons));
    }
    if (!t->has_efficiency) {
        return;
    }
    const struct full_efficiency ours = our_baseline(b), theirs = their_baseline(b, t);
    if (ours.trainers == theirs.trainers && ours.pservers == theirs.pservers) {
        sheet_line(s, mark_of_line(s),
                   "Efficiencies have the same kind of baseline, so their trends may be compared; "
                   "mind the differences above.");
    } else {
        _cleanup_(buf_done) struct buf kinds = BUF_INIT;
        put_baseline(ours, &kinds);
        buf_puts(&kinds, "; there ");
        if (isnan(theirs.trainers) && t->base == REFERENCE_BASE_COLUMN) {
            const struct reference_table *base = &b->reference->tables.items[t->base_table];
            buf_printf(&kinds, "%s %g", base->axis, base->columns[t->base_column]);
        } else {
            put_baseline(theirs, &kinds);
        }
        sheet_line(s, mark_of_line(s),
                   "Do not compare the efficiencies: their baselines differ (here %s).",
                   buf_cstr(&kinds));
    }
}

void sheet_beside(struct sheet *s, const struct reference_beside *b)
{
    sheet_block(s, NULL);
    reference_layout_title(s, b->reference, "Beside ");
    vec_each (const struct reference_table, t, &b->reference->tables) {
        const enum sharing sharing = sharing_of(b, t);
        sheet_title(s, t->name, t->title);
        if (sharing == SHARES_NOTHING) {
            sheet_line(s, mark_of_line(s),
                       "No point of this run has the conditions and the columns of this table (%s "
                       "%g to %g).",
                       t->axis, t->columns[0], t->columns[t->n_columns - 1]);
        } else {
            put_shared(s, b, t, sharing);
            sheet_block(s, NULL);
            put_lines(s, b, t, sharing);
        }
    }
    sheet_block(s, NULL);
    sheet_line(s, mark_of_line(s),
               "All of these figures, with sources and errata: benchctl results --reference %s",
               b->asked);
}
