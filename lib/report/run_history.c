/* See run_history.h. */
#include "report/run_history.h"

#include <math.h>
#include <string.h>

#include "base/str.h"
#include "base/text.h"
#include "report/chart_svg.h"
#include "report/csv.h"
#include "report/json_text.h"
#include "report/layout.h"
#include "report/marks.h"
#include "report/table.h"
#include "report/terminal.h"
#include "result/number.h"

/* The change that begins at an entry; NULL: none does. */
static const struct run_history_change *change_at(const struct run_history *h, size_t at)
{
    vec_each (const struct run_history_change, c, &h->changes) {
        if (c->at == at) {
            return c;
        }
    }
    return NULL;
}

static struct table *runs_table(const struct report_history *r)
{
    const struct run_history *h = r->history;
    struct table *t = table_new();
    struct buf marks = BUF_INIT;
    marks_put(h->newest, &marks); /* those of all: others are skipped */
    table_column(t, "CREATED", TABLE_LEFT);
    table_column(t, "RUN", TABLE_LEFT);
    table_column(t, "THROUGHPUT", TABLE_RIGHT);
    table_column(t, "CHANGE", TABLE_RIGHT);
    if (marks.len > 0) {
        table_column(t, "", TABLE_LEFT);
    }
    for (size_t i = 0; i < h->entries.len; i++) {
        const struct run_history_change *c = change_at(h, i);
        struct buf value = BUF_INIT;
        number_format(h->entries.items[i].value, &value);
        table_cell(t, "%s", r->dates[i]);
        table_cell(t, "%s", h->entries.items[i].name);
        table_cell(t, "%s", buf_cstr(&value));
        if (c != NULL) {
            table_cell(t, "%+.1f%%", 100 * (c->ratio - 1));
        } else {
            table_cell(t, "%s", "");
        }
        if (marks.len > 0) { /* every row carries the words */
            table_cell(t, "%s", buf_cstr(&marks));
        }
        buf_done(&value);
    }
    buf_done(&marks);
    return t;
}

/* "samples/s of point 2 (pservers 1)", "samples/s, geometric mean of 4 points". */
static void put_what(const struct run_history *h, struct buf *out)
{
    if (!h->has_point) {
        const uint32_t n = h->newest->def->matrix.n_points;
        buf_printf(out, "%s, geometric mean of %u point%s, baselines among them", h->unit, n,
                   n == 1 ? "" : "s");
        return;
    }
    buf_printf(out, "%s of point %u", h->unit, h->point);
    if (h->point < h->newest->def->matrix.n_swept) {
        struct layout l;
        layout_init(&l, h->newest);
        buf_puts(out, " (");
        layout_describe_point(&l, h->point, out);
        buf_putc(out, ')');
        layout_done(&l);
    }
}

static void put_change(const struct run_history *h, const struct run_history_change *c,
                       struct buf *out)
{
    buf_printf(out, "%s: %s by %.1f%% (p %.3f); ", h->entries.items[c->at].name,
               c->ratio < 1 ? "slower" : "faster",
               100 * (c->ratio < 1 ? 1 - c->ratio : c->ratio - 1), c->p);
    if (c->differences.len == 0) {
        buf_puts(out, "nothing that is recorded differs from the run before");
        return;
    }
    buf_puts(out, "from the run before differs: ");
    vec_each (const struct difference, d, &c->differences) {
        buf_printf(out, "%s%s %s -> %s", d == c->differences.items ? "" : ", ", d->what, d->base,
                   d->candidate);
    }
}

/* Start records are written by replicas: what a terminal would obey becomes '?'. */
static void put_plain(struct buf *out)
{
    if (out->len > 0) {
        out->len = text_replace_control(out->data, "", '?');
    }
}

typedef void put_line_fn(void *ctx, const char *text);

static void put_lines(const struct run_history *h, put_line_fn *put, void *ctx)
{
    struct buf text = BUF_INIT;
    vec_each (const struct run_history_change, c, &h->changes) {
        buf_clear(&text);
        put_change(h, c, &text);
        put_plain(&text);
        put(ctx, buf_cstr(&text));
    }
    if (h->changes.len == 0) {
        buf_clear(&text);
        buf_printf(&text, "No change is shown in %zu run%s%s.", h->entries.len,
                   h->entries.len == 1 ? "" : "s",
                   h->entries.len < 10 ? "; few runs show large changes only, under 10 hardly any"
                                       : "");
        put(ctx, buf_cstr(&text));
    }
    if (h->skipped.len > 0) {
        buf_clear(&text);
        buf_printf(&text,
                   "%zu run%s left out: a rehearsal or old logs beside others, another unit, or "
                   "without one of the "
                   "points of %s.",
                   h->skipped.len, h->skipped.len == 1 ? " is" : "s are", h->newest->def->name);
        put(ctx, buf_cstr(&text));
    }
    buf_done(&text);
    put(ctx, "Changes: E-divisive means with a permutation test, p at most 0.01, at least 3 runs "
             "on each "
             "side; a level is the geometric mean of its runs.");
}

struct text_out {
    struct buf *out;
    struct terminal term;
};

static void put_text_line(void *ctx, const char *text)
{
    struct text_out *o = ctx;
    terminal_wrapped(o->out, &o->term, text, 0, 2);
}

void report_history_text(const struct report_history *h, const struct report_opts *opts,
                         struct buf *out)
{
    struct text_out o = {out, terminal_of(opts)};
    struct buf what = BUF_INIT;
    put_what(h->history, &what);
    terminal_colored(out, &o.term, TERMINAL_BOLD, h->history->newest->def->spec->name);
    buf_puts(out, "   ");
    terminal_wrapped(out, &o.term, buf_cstr(&what), strlen(h->history->newest->def->spec->name) + 3,
                     2);
    buf_putc(out, '\n');
    struct table *t = runs_table(h);
    if (o.term.wide || table_width(t) <= o.term.columns) {
        table_format(t, true, out);
    } else {
        table_set_gap(t, TERMINAL_TIGHT_GAP);
        table_format_parts(t, 1, o.term.columns, out);
    }
    table_free(t);
    buf_putc(out, '\n');
    put_lines(h->history, put_text_line, &o);
    buf_done(&what);
}

static void put_markdown_line(void *ctx, const char *text)
{
    buf_puts(ctx, "- ");
    markdown_escape(text, ctx);
    buf_putc(ctx, '\n');
}

void report_history_markdown(const struct report_history *h, struct buf *out)
{
    struct buf what = BUF_INIT;
    put_what(h->history, &what);
    buf_puts(out, "## ");
    markdown_escape(h->history->newest->def->spec->name, out);
    buf_puts(out, "\n\n");
    markdown_escape(buf_cstr(&what), out);
    buf_puts(out, "\n\n");
    struct table *t = runs_table(h);
    table_format_markdown(t, out);
    table_free(t);
    buf_putc(out, '\n');
    put_lines(h->history, put_markdown_line, out);
    buf_done(&what);
}

static void put_html_line(void *ctx, const char *text)
{
    struct buf *out = ctx;
    buf_puts(out, "<li>");
    html_escape(text, out);
    buf_puts(out, "</li>\n");
}

static void put_history_chart(const struct report_history *r, struct buf *out)
{
    const struct run_history *h = r->history;
    struct line_chart chart = {
        .id = "history",
        .title = xstrdup("Throughput by run"),
        .x_title = xstrdup("run, the oldest is 1"),
        .y_title = xstrdup(h->unit),
        .reference = NAN,
    };
    struct chart_series series = {.name = xstrdup("throughput")};
    for (size_t i = 0; i < h->entries.len; i++) {
        struct buf value = BUF_INIT;
        number_format(h->entries.items[i].value, &value);
        *vec_push(&series.marks) =
            (struct chart_mark){(double)(i + 1),
                                h->entries.items[i].value,
                                NAN,
                                NAN,
                                NAN,
                                xasprintf("%s, %s: %s %s", h->entries.items[i].name, r->dates[i],
                                          buf_cstr(&value), h->unit)};
        buf_done(&value);
    }
    *vec_push(&chart.series) = series;
    buf_puts(out, "<h2>Throughput by run</h2>\n<div class=\"charts\"><figure><figcaption><span "
                  "class=\"soft\">");
    html_escape(h->unit, out);
    buf_puts(out, "</span></figcaption>\n");
    chart_svg_lines(&chart, false, out);
    buf_puts(out, "</figure></div>\n");
    line_chart_done(&chart);
}

void report_history_html(const struct report_history *r, const char *run_href, struct buf *out)
{
    const struct run_history *h = r->history;
    struct buf what = BUF_INIT;
    put_what(h, &what);
    buf_puts(out, "<p>");
    html_escape(buf_cstr(&what), out);
    buf_puts(out, "</p>\n");
    put_history_chart(r, out);
    buf_puts(out, "<ul>\n");
    put_lines(h, put_html_line, out);
    buf_puts(out,
             "</ul>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
             "aria-label=\"Runs\">\n<table>\n<thead><tr>"
             "<th>CREATED</th><th>RUN</th><th class=\"r\">THROUGHPUT</th><th class=\"r\">CHANGE"
             "</th></tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < h->entries.len; i++) {
        const struct run_history_change *c = change_at(h, i);
        buf_clear(&what);
        html_escape(h->entries.items[i].name, &what);
        buf_printf(out, "<tr><td>%s</td><td><a href=\"%s%s\">%s</a></td><td class=\"r\">",
                   r->dates[i], run_href, buf_cstr(&what), buf_cstr(&what));
        number_format(h->entries.items[i].value, out);
        buf_puts(out, "</td><td class=\"r\">");
        if (c != NULL) {
            buf_printf(out, "%+.1f%%", 100 * (c->ratio - 1));
        }
        buf_puts(out, "</td></tr>\n");
    }
    buf_puts(out, "</tbody>\n</table>\n</div>\n");
    buf_done(&what);
}

void report_history_csv(const struct report_history *h, struct buf *out)
{
    const struct run_history *history = h->history;
    buf_puts(out, "benchmark,run,created,point,unit,throughput,level,change_ratio,change_p,"
                  "rehearsal,imported\n");
    for (size_t i = 0; i < history->entries.len; i++) {
        const struct run_history_entry *e = &history->entries.items[i];
        const struct run_history_change *c = change_at(history, i);
        csv_text(out, e->benchmark);
        buf_putc(out, ',');
        csv_text(out, e->name);
        buf_printf(out, ",%s,", h->dates[i]);
        if (history->has_point) {
            buf_printf(out, "%u", history->point);
        }
        buf_printf(out, ",%s", history->unit);
        csv_number(out, e->value);
        buf_printf(out, ",%zu,", e->level);
        if (c != NULL) {
            number_format_exact(c->ratio, out);
        }
        buf_putc(out, ',');
        if (c != NULL) {
            number_format_exact(c->p, out);
        }
        buf_printf(out, ",%s,%s\n", e->is_rehearsal ? "true" : "false",
                   e->is_imported ? "true" : "false");
    }
}

static json_t *change_to_json(const struct run_history *h, const struct run_history_change *c)
{
    json_t *differs = json_array();
    vec_each (const struct difference, d, &c->differences) {
        (void)json_array_append_new(/* grows in memory only */
                                    differs, json_pack("{s:s, s:s, s:s}", "what", d->what, "base",
                                                       d->base, "candidate", d->candidate));
    }
    return json_pack("{s:s, s:s, s:f, s:f, s:o}", "run", h->entries.items[c->at].name, "before",
                     h->entries.items[c->at - 1].name, "ratio", c->ratio, "p", c->p, "differs",
                     differs);
}

void report_history_json(const struct report_history *h, struct buf *out)
{
    const struct run_history *history = h->history;
    json_t *runs = json_array(), *changes = json_array(), *skipped = json_array();
    for (size_t i = 0; i < history->entries.len; i++) {
        const struct run_history_entry *e = &history->entries.items[i];
        (void)json_array_append_new(runs,
                                    json_pack("{s:s, s:s, s:s, s:f, s:I, s:b, s:b}", "run", e->name,
                                              "uid", e->uid, "created", h->dates[i], "value",
                                              e->value, "level", (json_int_t)e->level, "rehearsal",
                                              e->is_rehearsal, "imported", e->is_imported));
    }
    vec_each (const struct run_history_change, c, &history->changes) {
        (void)json_array_append_new(changes, change_to_json(history, c));
    }
    vec_each (char *const, name, &history->skipped) {
        (void)json_array_append_new(skipped, json_string(*name));
    }
    json_text_put(json_pack("{s:s, s:s, s:s, s:s, s:o, s:f, s:o, s:o, s:o}", "apiVersion",
                            "benchd.io/v1alpha1", "kind", "History", "benchmark",
                            history->newest->def->spec->name, "unit", history->unit, "point",
                            history->has_point ? json_integer(history->point) : json_null(),
                            "alpha", CHANGE_POINTS_ALPHA, "runs", runs, "changes", changes,
                            "skipped", skipped),
                  out);
}
