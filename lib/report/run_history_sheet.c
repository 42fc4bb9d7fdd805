/* One benchmark over time, see sheets.h. */
#include "compare/run_history.h"

#include <math.h>

#include "base/rfc3339.h"
#include "core/json_field.h"
#include "report/layout.h"
#include "report/sheets.h"

/* "2026-11-20T08:52:51Z"; owned. */
static char *date_of(const struct run_history_entry *e)
{
    char text[RFC3339_MICRO_SIZE];
    rfc3339_format_micro(e->created_unix_ms, text);
    return xasprintf("%.19sZ", text);
}

static void put_row(struct sheet *s, const struct run_history *h, const struct run_history_entry *e,
                    const struct run_history_change *c)
{
    struct table *t = row_people(s);
    _cleanup_(freep) char *date = date_of(e);
    row_text(s, NULL, "benchmark", e->benchmark);
    row_text(s, "CREATED", "created", date);
    row_text(s, "RUN", "run", e->name);
    row_number(s, NULL, "point", h->has_point ? h->point : NAN, 1);
    row_text(s, NULL, "unit", h->unit);
    row_number(s, "THROUGHPUT", "throughput", e->value, 1);
    row_count(s, NULL, "level", e->level);
    if (t != NULL && c == NULL) {
        table_number(t, "CHANGE", "%s", "");
    } else if (t != NULL) {
        table_percent(t, "CHANGE", c->ratio - 1, true);
    }
    row_number(s, NULL, "change_ratio", c == NULL ? NAN : c->ratio, 1);
    row_number(s, NULL, "change_p", c == NULL ? NAN : c->p, 1);
    row_bool(s, "rehearsal", e->is_rehearsal);
    row_bool(s, "imported", e->is_imported);
    row_end(s);
}

static void put_rows(struct sheet *s, const struct run_history *h)
{
    put_row(s, h, &(struct run_history_entry){0}, NULL);
    row_drop_all(s);
    for (size_t i = 0; i < h->entries.len; i++) {
        put_row(s, h, &h->entries.items[i], vec_find(&h->changes, c, c->at == i));
    }
}

/* "samples/s of point 2 (pservers 1)", "samples/s, geometric mean of 4 points". */
static void put_what(const struct run_history *h, struct buf *out)
{
    if (!h->has_point) {
        const uint32_t n = h->newest->def->matrix.n_points;
        buf_printf(out, "%s, geometric mean of %u point%s, including baselines", h->unit, n,
                   plural(n));
        return;
    }
    buf_printf(out, "%s of point %u", h->unit, h->point);
    if (h->point < h->newest->def->matrix.n_swept) {
        _cleanup_(layout_done) struct layout l;
        layout_init(&l, h->newest);
        buf_puts(out, " (");
        layout_describe_point(&l, h->point, out);
        buf_putc(out, ')');
    }
}

static void put_change(const struct run_history *h, const struct run_history_change *c,
                       struct buf *out)
{
    buf_printf(out, "%s: %s by %.1f%% (p %.3f); ", h->entries.items[c->at].name,
               c->ratio < 1 ? "slower" : "faster",
               100 * (c->ratio < 1 ? 1 - c->ratio : c->ratio - 1), c->p);
    if (c->differences.len == 0) {
        buf_puts(out, "nothing recorded differs from the previous run");
        return;
    }
    buf_puts(out, "differences from the previous run: ");
    vec_each (const struct difference, d, &c->differences) {
        buf_printf(out, "%s%s %s -> %s", d == c->differences.items ? "" : ", ", d->what, d->base,
                   d->candidate);
    }
}

static void put_lines(struct sheet *s, const struct run_history *h)
{
    struct buf text = BUF_INIT;
    vec_each (const struct run_history_change, c, &h->changes) {
        put_change(h, c, &text);
        sheet_put_line(s, NULL, &text);
    }
    if (h->changes.len == 0) {
        sheet_line(
            s, NULL, "No change is shown in %zu run%s%s.", h->entries.len, plural(h->entries.len),
            h->entries.len < 10 ? "; few runs show large changes only, fewer than 10 hardly any"
                                : "");
    }
    if (h->skipped.len > 0) {
        sheet_line(
            s, NULL,
            "%zu run%s left out: a rehearsal, parallel or old logs among other runs, another "
            "unit, or a point of %s is missing.",
            h->skipped.len, h->skipped.len == 1 ? " is" : "s are", h->newest->def->name);
    }
    sheet_line(s, NULL,
               "Changes: E-divisive means with a permutation test, p at most %g, at least %d "
               "runs on each side; a level is the geometric mean of its runs.",
               CHANGE_POINTS_ALPHA, CHANGE_POINTS_MIN_SIZE);
}

static void put_people(struct sheet *s, const struct run_history *h)
{
    struct buf what = BUF_INIT;
    put_what(h, &what);
    sheet_put_head(s, &(struct sheet_head){.name = xstrdup(h->newest->def->spec->name),
                                           .status = buf_take(&what),
                                           .marked = h->newest}); /* others were skipped */
    put_rows(s, h);
    sheet_table(s, NULL, row_take(s), 1);
    sheet_block(s, NULL);
    put_lines(s, h);
}

static json_t *change_to_json(const struct run_history *h, const struct run_history_change *c)
{
    json_t *differs = JSON_ARRAY_OF(
        vec_each (const struct difference, d, &c->differences),
        json_pack("{s:s, s:s, s:s}", "what", d->what, "base", d->base, "candidate", d->candidate));
    return json_pack("{s:s, s:s, s:f, s:f, s:o}", "run", h->entries.items[c->at].name, "before",
                     h->entries.items[c->at - 1].name, "ratio", c->ratio, "p", c->p, "differs",
                     differs);
}

static json_t *entry_to_json(const struct run_history_entry *e)
{
    _cleanup_(freep) char *date = date_of(e);
    return json_pack("{s:s, s:s, s:s, s:f, s:I, s:b, s:b}", "run", e->name, "uid", e->uid,
                     "created", date, "value", e->value, "level", (json_int_t)e->level, "rehearsal",
                     e->is_rehearsal, "imported", e->is_imported);
}

static json_t *history_to_json(const struct run_history *h)
{
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:o, s:f, s:o, s:o, s:o}", "apiVersion", "benchd.io/v1alpha1", "kind",
        "History", "benchmark", h->newest->def->spec->name, "unit", h->unit, "point",
        h->has_point ? json_integer(h->point) : json_null(), "alpha", CHANGE_POINTS_ALPHA, "runs",
        JSON_ARRAY_OF(vec_each (const struct run_history_entry, e, &h->entries), entry_to_json(e)),
        "changes",
        JSON_ARRAY_OF(vec_each (const struct run_history_change, c, &h->changes),
                      change_to_json(h, c)),
        "skipped", JSON_ARRAY_OF(vec_each (char *const, name, &h->skipped), json_string(*name)));
}

void sheet_history(struct sheet *s, const struct run_history *h)
{
    if (s->form == SHEET_JSON) {
        s->document = history_to_json(h);
    } else if (s->form == SHEET_CSV) {
        put_rows(s, h);
    } else {
        put_people(s, h);
    }
}
