/* Published figures next to a run's, see sheets.h: the same quantity in the same unit of each pair
 * of a point and a row (reference_pairs.h), the published figures that have no such point, and what
 * may not be compared. */
#include <math.h>

#include "base/str.h"
#include "base/vec_walk.h"
#include "core/environment.h"
#include "reference/derive.h"
#include "report/layout.h"
#include "report/reference_layout.h"
#include "report/reference_pairs.h"
#include "report/sheets.h"
#include "result/number.h"

/* A table of the set and what the run has for it. */
struct beside {
    const struct reference_beside *b;
    const struct reference_table *t;
    struct reference_pairs pairs; /* owned */
    /* By row: it is in a pair; it is, or no point has its task. The others are printed alone. */
    bool is_paired[REFERENCE_MAX_ROWS], is_done[REFERENCE_MAX_ROWS];
};

/* An item of a list, but a paragraph of a page. */
#define say(s, ...) sheet_line(s, (s)->form == SHEET_HTML ? &sheet_paragraph : NULL, __VA_ARGS__)

/* ---- the table ---- */

static void put_own(const struct beside *x, const struct point_result *p, struct buf *out)
{
    const double efficiency = reference_own_efficiency(x->t, p);
    number_format(reference_own(x->t, x->b->result, p), out);
    if (x->t->has_efficiency && !isnan(efficiency)) {
        buf_printf(out, " (%.2f%%)", 100 * efficiency);
    }
}

static void put_theirs(const struct beside *x, const struct reference_pair *pair, struct buf *out)
{
    const struct reference *r = x->b->reference;
    reference_layout_put(r, x->t, REFERENCE_VALUE, pair->row, pair->column, out);
    if (reference_derive(r, x->t, REFERENCE_EFFICIENCY, pair->row, pair->column).known) {
        buf_puts(out, " (");
        reference_layout_put(r, x->t, REFERENCE_EFFICIENCY, pair->row, pair->column, out);
        buf_putc(out, ')');
    }
}

static bool has_costs(const struct beside *x)
{
    return x->b->result->price != NULL && reference_has(x->b->reference, x->t, REFERENCE_COST);
}

static void put_costs(const struct beside *x, const struct reference_pair *pair,
                      struct table *table)
{
    _cleanup_(buf_done) struct buf theirs = BUF_INIT;
    const struct figure own = reference_own_cost(x->t, pair->point);
    reference_layout_put(x->b->reference, x->t, REFERENCE_COST, pair->row, pair->column, &theirs);
    table_figure(table, "COST", &own);
    table_number(table, "PUBLISHED COST", "%s", buf_cstr(&theirs));
}

/* A row a pair: "trainers 20", the run's figure, the published one, which one it is. */
static void put_pairs(struct sheet *s, const struct beside *x)
{
    _cleanup_(layout_done) struct layout l;
    layout_init(&l, x->b->result);
    l.is_page = s->form == SHEET_HTML;
    struct table *table = table_new();
    const struct point_result *last = NULL;
    vec_each (const struct reference_pair, pair, &x->pairs.list) {
        _cleanup_(buf_done) struct buf point = BUF_INIT, own = BUF_INIT, theirs = BUF_INIT;
        if (pair->point != last) {
            layout_describe_point(&l, pair->point->point->index, &point);
            put_own(x, pair->point, &own);
        }
        put_theirs(x, pair, &theirs);
        table_text(table, "POINT", "%s", buf_cstr(&point));
        if (x->b->is_bound) {
            table_number(table, "AT MOST", "%s", buf_cstr(&own));
        } else {
            table_number(table, "THIS RUN", "%s", buf_cstr(&own));
        }
        table_number(table, "PUBLISHED", "%s", buf_cstr(&theirs));
        if (has_costs(x)) {
            put_costs(x, pair, table);
        }
        table_text(table, "OF", "%s", x->t->rows.items[pair->row].name);
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

/* Of the rows in pairs, whether they train our network. */
static void add_model(const struct beside *x, struct buf *reasons)
{
    const char *ours = x->b->result->def->spec->workload.model;
    const struct reference_row *same = NULL, *other = NULL;
    vec_each (const struct reference_row, row, &x->t->rows) {
        if (x->is_paired[row - x->t->rows.items]) {
            const bool is_same = row->workload != NULL && str_eq(row->workload, ours);
            same = is_same ? row : same;
            other = is_same ? other : row;
        }
    }
    if (other != NULL && same != NULL) {
        add_reason(reasons, "another model in all rows but '%s' (here %s)", same->name, ours);
    } else if (other != NULL) {
        const char *theirs = reference_model(x->b->reference, x->t, other);
        add_reason(reasons, "another model (here %s, there %s)", ours,
                   theirs[0] == '\0' ? "unknown" : theirs);
    }
}

static void add_batch(const struct reference_beside *b, const struct reference_table *t,
                      struct buf *reasons)
{
    if (!str_eq(t->axis, "batch_size") && !vec_any(&t->at, at, str_eq(at->name, "batch_size"))) {
        const int64_t here = b->result->points[0].point->batch_size;
        _cleanup_(freep) char *size =
            here > 0 ? xasprintf("%lld", (long long)here) : xstrdup("unknown");
        add_reason(reasons, "the table does not give the batch size (here %s)", size);
    }
}

static void add_counting(const struct reference_table *t, const struct point *p,
                         struct buf *reasons)
{
    if (reference_counts_other(p, t->axis)) {
        add_reason(reasons, "there %s are counted, here %ss", t->axis,
                   role_to_string(point_training_role(p)));
    }
}

static void collect_reasons(const struct beside *x, struct buf *reasons)
{
    const struct reference_beside *b = x->b;
    const struct reference_table *t = x->t;
    add_hardware(b, t, reasons);
    add_model(x, reasons);
    add_batch(b, t, reasons);
    add_counting(t, b->result->points[0].point, reasons);
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

/* What makes 100%: "1 trainer", "2 trainers and 1 server". Workers count as trainers. */
static void put_baseline(double trainers, double pservers, struct buf *out)
{
    buf_printf(out, "%g trainer%s", trainers, trainers == 1 ? "" : "s");
    if (pservers > 0) {
        buf_printf(out, " and %g server%s", pservers, pservers == 1 ? "" : "s");
    }
}

static void put_their_baseline(const struct reference *r, const struct reference_table *t,
                               struct buf *out)
{
    const struct reference_table *base = &r->tables.items[t->base_table];
    double trainers = NAN, pservers = 0;
    struct reference_at column = {"", NAN};
    if (t->base == REFERENCE_BASE_COLUMN) {
        column = (struct reference_at){base->axis, base->columns[t->base_column]};
    }
    for (size_t i = 0; t->base != REFERENCE_NO_BASE && i <= base->at.len; i++) {
        const struct reference_at at = i < base->at.len ? base->at.items[i] : column;
        const bool is_counted = str_eq(at.name, "trainers") || str_eq(at.name, "workers");
        trainers = is_counted ? at.value : trainers;
        pservers = str_eq(at.name, "pservers") ? at.value : pservers;
    }
    if (!isnan(trainers)) {
        put_baseline(trainers, pservers, out);
    } else if (!isnan(column.value)) {
        buf_printf(out, "%s %g", column.name, column.value);
    } else {
        buf_puts(out, "an unknown number of trainers");
    }
}

/* Whether the pairs may be compared. */
static void put_caveats(struct sheet *s, const struct beside *x)
{
    const struct result *r = x->b->result;
    _cleanup_(buf_done) struct buf reasons = BUF_INIT, here = BUF_INIT, there = BUF_INIT;
    collect_reasons(x, &reasons);
    if (reasons.len > 0) {
        say(s, "Do not compare the %ss: %s.",
            x->t->measure == REFERENCE_THROUGHPUT ? "throughput" : "figure", buf_cstr(&reasons));
    }
    if (!x->t->has_efficiency ||
        vec_all(&x->pairs.list, it, isnan(reference_own_efficiency(x->t, it->point)))) {
        return;
    }
    const struct point *base = r->points[r->points[0].point->baseline_index].point;
    put_baseline(point_training_replicas(base), base->replicas[ROLE_PSERVER], &here);
    put_their_baseline(x->b->reference, x->t, &there);
    if (str_eq(buf_cstr(&here), buf_cstr(&there))) {
        say(s, "Efficiencies have the same kind of baseline, so their trends may be compared; "
               "mind the differences above.");
    } else {
        say(s, "Do not compare the efficiencies: their baselines differ (here %s; there %s).",
            buf_cstr(&here), buf_cstr(&there));
    }
}

/* Is a marked cell of the erratum printed: in a pair, or in a row alone, which has values only? */
static bool shows_erratum(const struct beside *x, const struct reference_erratum *e)
{
    for (size_t i = 0; i < x->t->rows.len * x->t->n_columns; i++) {
        const size_t row = i / x->t->n_columns, c = i % x->t->n_columns;
        const bool is_value = e->figure == REFERENCE_VALUE;
        const bool is_shown =
            x->is_paired[row] ? (is_value || e->figure == REFERENCE_EFFICIENCY ||
                                 (e->figure == REFERENCE_COST && has_costs(x))) &&
                                    vec_any(&x->pairs.list, it, it->row == row && it->column == c)
                              : is_value && !x->is_done[row];
        if (is_shown && (e->row == row || e->row == REFERENCE_NO_ROW) &&
            (e->column == c || e->column == REFERENCE_NO_ROW) &&
            reference_layout_is_marked(x->b->reference, x->t, e->figure, row, c)) {
            return true;
        }
    }
    return false;
}

/* Why systems have no neighbour, what the reader must know of those that have one, and errata. */
static void put_lines(struct sheet *s, const struct beside *x)
{
    const char *ours = x->b->result->def->spec->workload.model;
    sheet_block(s, NULL);
    if (x->pairs.alone != NULL) {
        say(s, "Systems without a row of their family, such as %s, have no neighbour.",
            x->pairs.alone->name);
    }
    vec_each (const struct reference_row, row, &x->t->rows) {
        const struct reference_pair *pair =
            vec_find(&x->pairs.list, it, &x->t->rows.items[it->row] == row);
        const struct system *copy = pair == NULL ? NULL : reference_copy(x->b, x->t, pair);
        if (copy != NULL) {
            const bool is_same = row->workload != NULL && str_eq(row->workload, ours);
            say(s, "%s is next to '%s' because it reimplements that program%s%s.", copy->name,
                row->name, is_same ? ", which trains " : "", is_same ? ours : "");
        }
    }
    if (has_costs(x)) {
        say(s, "Costs are in dollars there, and here at %s.", x->b->result->price);
    }
    if (x->pairs.list.len > 0) {
        put_caveats(s, x);
    }
    vec_each (const struct reference_erratum, e, &x->t->errata) {
        if (shows_erratum(x, e)) {
            reference_layout_erratum(s, x->t, e);
        }
    }
}

/* ---- all tables ---- */

static void put_table(struct sheet *s, const struct reference_beside *b,
                      const struct reference_table *t)
{
    const char *ours = b->is_bound ? "these bounds" : "this run";
    struct beside x = {.b = b, .t = t, .pairs = reference_pairs_of(b, t)};
    bool is_some_alone = false;
    sheet_title(s, t->name, t->title);
    if (x.pairs.list.len == 0 && x.pairs.alone == NULL) {
        _cleanup_(buf_done) struct buf at = BUF_INIT;
        vec_each (const struct reference_at, it, &t->at) {
            buf_printf(&at, ", %s %g", it->name, it->value);
        }
        say(s, "No point of %s has the conditions and the columns of this table (%s %g to %g%s).",
            ours, t->axis, t->columns[0], t->columns[t->n_columns - 1], buf_cstr(&at));
        return;
    }
    const struct point_result *first =
        x.pairs.list.len > 0 ? x.pairs.list.items[0].point : b->result->points;
    if (isnan(reference_own(t, b->result, first)) &&
        vec_all(&x.pairs.list, it, isnan(reference_own(t, b->result, it->point)))) {
        _cleanup_(buf_done) struct buf why = BUF_INIT;
        reference_own_why(t, b->result, first, &why);
        say(s, "No figure of %s can be compared: %s.", ours, buf_cstr(&why));
        x.pairs.list.len = 0;
    }
    vec_each (const struct reference_pair, it, &x.pairs.list) {
        x.is_paired[it->row] = true;
    }
    for (size_t row = 0; row < t->rows.len; row++) {
        x.is_done[row] = x.is_paired[row] || !reference_has_task(b, t, &t->rows.items[row]);
        is_some_alone = is_some_alone || !x.is_done[row];
    }
    if (x.pairs.list.len > 0) {
        put_pairs(s, &x);
    }
    if (is_some_alone) {
        reference_layout_figure(s, b->reference, t, REFERENCE_VALUE, x.is_done);
    }
    put_lines(s, &x);
    vec_done(&x.pairs.list);
}

/* What a name of hardware does not say: clock and caches, where the source has them. */
static void put_cpus(struct sheet *s, const struct reference_beside *b)
{
    struct machines here = {0};
    if (b->reference->cpu[0] == '\0' || b->is_bound) {
        return;
    }
    result_each_point (p, b->result) {
        point_each_replica (it, p) {
            json_auto_t *environment = environment_parse(it->row->environment_json);
            machines_add(&here, environment, true);
        }
    }
    _cleanup_(freep) char *model = machines_join(&here, MACHINE_CPU);
    _cleanup_(freep) char *mhz = machines_join(&here, MACHINE_CPU_MHZ);
    _cleanup_(freep) char *caches = machines_join(&here, MACHINE_CACHES);
    machines_done(&here);
    say(s, "CPU here: %s, cpu MHz %s, caches %s; there: %s, %s.", model, mhz, caches,
        b->reference->hardware, b->reference->cpu);
}

void sheet_beside(struct sheet *s, const struct reference_beside *b)
{
    size_t n_left_out = 0;
    _cleanup_(buf_done) struct buf left_out = BUF_INIT;
    sheet_block(s, NULL);
    reference_layout_title(s, b->reference, b->is_bound ? "Bounds, beside " : "Beside ");
    put_cpus(s, b);
    vec_each (const struct reference_table, t, &b->reference->tables) {
        if (vec_any(&t->rows, row, reference_has_task(b, t, row))) {
            put_table(s, b, t);
        } else {
            n_left_out++;
        }
    }
    if (n_left_out > 0) {
        buf_printf(&left_out, "%zu of %zu tables are of other tasks and left out. ", n_left_out,
                   b->reference->tables.len);
    }
    sheet_block(s, NULL);
    say(s, "%sAll of these figures, with sources and errata: benchctl results --reference %s",
        buf_cstr(&left_out), b->asked);
}
