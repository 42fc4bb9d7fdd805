/* The page of a run, with what `benchctl report` shows; and that of one of its points. */
#include <math.h>

#include "base/parse.h"
#include "daemon/web/live_state.h"
#include "daemon/web/page.h"
#include "daemon/web/site.h"
#include "report/chart_svg.h"
#include "report/layout.h"
#include "report/sheets.h"
#include "report/table.h"
#include "report/words.h"

/* ---- pieces ---- */

static void put_link(struct buf *out, const char *before, const char *name, const char *after,
                     const char *text)
{
    buf_printf(out, "<a href=\"%s", before);
    page_query(out, name);
    buf_printf(out, "%s\">%s</a>\n", after, text);
}

static void put_event(struct buf *out, const struct event_row *row)
{
    buf_puts(out, "<tr><td>");
    page_date(out, row->unix_ms);
    buf_puts(out, "</td>");
    page_element(out, "td", row->reason);
    page_element(out, "td", row->note);
    buf_puts(out, "</tr>\n");
}

/* The last ones. */
static void put_events(const struct site *site, struct buf *out, const struct site_run *run)
{
    struct store *s = site->store;
    _cleanup_(freep) struct event_row *rows = NULL;
    size_t n = 0;
    if (!run->item.is_stored || s->ops->list_events(s, run->item.row.uid, &rows, &n, NULL) < 0 ||
        n == 0) {
        return; /* the rest of the page is useful without them */
    }
    buf_puts(out, "<h2>Events</h2>\n");
    page_open_table(out, "Events", "<th>TIME</th><th>REASON</th><th>NOTE</th>");
    for (size_t i = n > PAGE_MAX_ROWS ? n - PAGE_MAX_ROWS : 0; i < n; i++) {
        put_event(out, &rows[i]);
    }
    page_close_table(out);
    free_each(rows, n, event_row_done);
}

/* The phase of the run. live.js writes the elements with an id anew. */
static void put_status(struct buf *out, const struct site_run *run)
{
    const struct run_status *st = &run->item.row.status;
    const bool is_bad = st->phase == RUN_FAILED || st->phase == RUN_PARTIALLY_FAILED;
    buf_printf(out, "<p><span class=\"tag%s\" id=\"phase\">%s%s</span>", is_bad ? " bad" : "",
               run_phase_to_string(st->phase), run->item.is_interrupted ? " (interrupted)" : "");
    if (run->result == NULL) { /* else the box says it, and what it means */
        buf_printf(out, "%s%s",
                   run->item.row.rehearsal ? "<span class=\"tag bad\">rehearsal</span>" : "",
                   run->item.row.simulated ? "<span class=\"tag bad\">simulated</span>" : "");
    }
    buf_printf(out, "<span id=\"trials\">%u of %u trials", st->trials_done, st->trials_total);
    if (st->trials_failed > 0) {
        buf_printf(out, ", %u failed", st->trials_failed);
    }
    buf_puts(out, "</span> <span id=\"now\">");
    if (st->has_current) {
        buf_printf(out, "point %u, trial %u, attempt %u", st->current.point, st->current.trial,
                   st->current.number);
    }
    buf_puts(out, "</span></p>\n<p id=\"message\">");
    html_escape(st->message, out);
    buf_puts(out, "</p>\n");
    if (!run_phase_is_final(st->phase)) {
        buf_printf(out,
                   "<p id=\"step\" class=\"soft\"></p>\n<progress id=\"bar\" aria-label=\"trials "
                   "decided\" max=\"%u\" value=\"%u\"></progress>\n",
                   st->trials_total > 0 ? st->trials_total : 1, st->trials_done);
    }
}

static void put_figures(const struct site *site, struct buf *out, const struct site_run *run)
{
    const char *name = run->item.row.name;
    if (run->result != NULL) {
        struct sheet sheet;
        sheet_init(&sheet, SHEET_HTML, NULL);
        sheet_run(&sheet, run->result);
        sheet_write(&sheet, out);
        buf_puts(out, "<p>");
        put_link(out, "../api/v1/runs/", name, "/results", "Results as JSON");
        buf_puts(out, "</p>\n");
    }
    page_attempts(out, "../", run, 0, run->n_rows);
    put_events(site, out, run);
}

void html_run(struct site *site, const struct web_request *req, struct web_response *res)
{
    _cleanup_(site_run_done) struct site_run run = {0};
    if (!site_run_open(site, req->run, SITE_TABLES, &run, res)) {
        return;
    }
    struct buf *out = &res->body;
    _cleanup_(buf_done) struct buf live = BUF_INIT;
    res->content_type = WEB_HTML;
    if (page_is_part(req)) {
        put_figures(site, out, &run);
        return;
    }
    const bool is_live = run.live != NULL && !run_phase_is_final(run.item.row.status.phase);
    buf_printf(&live, "%s/live", run.item.row.name);
    const struct page page = {.title = run.item.row.name,
                              .up = "../",
                              .live = is_live ? buf_cstr(&live) : NULL,
                              .has_charts = true};
    page_open(out, &page);
    buf_puts(out, "<nav>");
    put_link(out, "../", "", "", "Runs");
    put_link(out, "../benchmarks/", run.item.row.benchmark, "", "History of this benchmark");
    buf_puts(out, "</nav>\n");
    page_element(out, "h1", run.item.row.name);
    buf_putc(out, '\n');
    put_status(out, &run);
    char figures[LIVE_FIGURES_SIZE];
    live_figures(&run.item.row.status, figures);
    buf_printf(out, "<main id=\"part\" data-figures=\"%s\">\n", figures);
    put_figures(site, out, &run);
    buf_puts(out, "</main>\n");
    page_close(out, &page);
}

/* ---- a point ---- */

/* "<dt>Throughput</dt><dd>120.7 samples/s (95%: 118.1..122.9)</dd>"; without a
 * unit as a percentage. */
static void put_figure(struct buf *out, const char *name, const struct estimate *e,
                       const char *unit)
{
    if (!e->known) {
        return;
    }
    buf_printf(out, "<dt>%s</dt><dd>", name);
    if (unit == NULL) {
        words_put_percent(e, out);
    } else {
        words_put_estimate(e, unit, out);
    }
    buf_puts(out, "</dd>\n");
}

/* Each trial next to the median. */
static void put_trials_chart(struct buf *out, const struct point_result *p)
{
    _cleanup_(chart_done) struct chart chart = {
        CHART_DOTS,
        .id = "trials",
        .title = xstrdup("Throughput by trial"),
        .x_title = xstrdup(figure_shown(&p->throughput).unit),
        .dots.reference =
            p->throughput.estimate.known ? figure_shown(&p->throughput).estimate.value : NAN,
    };
    struct dot_chart *dots = &chart.dots;
    *vec_push(&dots->series) = xstrdup("throughput");
    for (size_t i = 0; i < p->n_trials && i < PAGE_MAX_ROWS; i++) {
        const struct trial_result *t = &p->trials[i];
        const struct figure f = trial_throughput(t);
        if (!f.estimate.known) {
            continue;
        }
        _cleanup_(buf_done) struct buf value = BUF_INIT;
        figure_format(&f, &value);
        struct chart_series *row = vec_push(&dots->rows);
        *row = (struct chart_series){.name = xasprintf("trial %u", t->trial)};
        *vec_push(&row->marks) =
            (struct chart_mark){.value = figure_shown(&f).estimate.value,
                                .low = NAN,
                                .high = NAN,
                                .ideal = NAN,
                                .text = xasprintf("trial %u: %s %s", t->trial, buf_cstr(&value),
                                                  figure_shown(&f).unit)};
    }
    if (dots->rows.len > 0) {
        buf_puts(out, "<h2>Trials</h2>\n<div class=\"charts\"><figure><figcaption><span "
                      "class=\"soft\">dashed: their median</span></figcaption>\n");
        chart_svg(&chart, false, out);
        buf_puts(out, "</figure></div>\n");
    }
}

static void put_trial(struct buf *out, const struct trial_result *t)
{
    _cleanup_(buf_done) struct buf value = BUF_INIT;
    const struct figure f = trial_throughput(t);
    figure_format(&f, &value);
    buf_printf(out, "<tr><td class=\"r\">%u</td><td>%s</td><td class=\"r\">%s</td><td>", t->trial,
               trial_phase_to_string(t->phase), buf_cstr(&value));
    page_date(out, t->row == NULL ? 0 : t->row->started_unix_ms);
    buf_puts(out, "</td>");
    page_element(out, "td", t->error == NULL ? "" : t->error);
    buf_puts(out, "</tr>\n");
}

static void put_point(struct buf *out, const struct site_run *run, uint32_t point)
{
    const struct point_result *p = &run->result->points[point];
    const bool is_swept = point < run->def->matrix.n_swept;
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    if (is_swept) {
        _cleanup_(layout_done) struct layout layout = {0};
        layout_init(&layout, run->result);
        layout.is_page = true;
        layout_describe_point(&layout, point, &text);
    } else {
        buf_puts(&text, "a baseline that others divide by");
    }
    page_element(out, "p", buf_cstr(&text));
    buf_puts(out, "\n<section class=\"verdict\" aria-label=\"Figures\">\n<dl>\n");
    const struct figure x = figure_shown(&p->throughput);
    put_figure(out, "Throughput", &x.estimate, x.unit);
    put_figure(out, "Speedup", &p->speedup.estimate, "times its baseline");
    put_figure(out, "Efficiency", &p->efficiency.estimate, NULL);
    buf_printf(out, "<dt>Trials</dt><dd>%zu of %zu succeeded</dd>\n</dl>\n</section>\n",
               p->n_succeeded, p->n_trials);
    put_trials_chart(out, p);
    page_open_table(out, "Trials",
                    "<th class=\"r\">TRIAL</th><th>PHASE</th><th class=\"r\">THROUGHPUT</th>"
                    "<th>STARTED</th><th>ERROR</th>");
    for (size_t i = 0; i < p->n_trials && i < PAGE_MAX_ROWS; i++) {
        put_trial(out, &p->trials[i]);
    }
    page_close_table(out);
}

static void put_point_page(struct buf *out, const struct site_run *run, uint32_t point)
{
    const char *name = run->item.row.name;
    _cleanup_(freep) char *title = xasprintf("Point %u of %s", point, name);
    const struct page page = {.title = title, .up = "../../", .has_charts = true};
    const struct attempt_row *rows = run->rows;
    size_t first = 0, n = 0;
    while (first < run->n_rows && rows[first].id.point < point) {
        first++;
    }
    while (first + n < run->n_rows && rows[first + n].id.point == point) {
        n++;
    }
    page_open(out, &page);
    buf_puts(out, "<nav>");
    put_link(out, "../../", "", "", "Runs");
    put_link(out, "../", name, "", "The run");
    if (point > 0) {
        buf_printf(out, "<a href=\"point?point=%u\">Point before</a>\n", point - 1);
    }
    if (point + 1 < run->def->matrix.n_points) {
        buf_printf(out, "<a href=\"point?point=%u\">Next point</a>\n", point + 1);
    }
    buf_puts(out, "</nav>\n");
    page_element(out, "h1", title);
    put_point(out, run, point);
    page_attempts(out, "../../", run, first, n);
    page_close(out, &page);
}

void html_point(struct site *site, const struct web_request *req, struct web_response *res)
{
    const char *text = web_request_arg(req, "point");
    int64_t point = 0;
    if (text == NULL || parse_i64_in(text, 0, UINT32_MAX, &point) < 0) {
        web_fail(res, 400, "point '%.64s': expected a whole number from 0",
                 text == NULL ? "" : text);
        return;
    }
    _cleanup_(site_run_done) struct site_run run = {0};
    if (!site_run_open(site, req->run, SITE_TABLES, &run, res)) {
        return;
    }
    if (run.result == NULL) {
        web_fail(res, 409, "run '%s' is not accepted, so it has no points: %s", run.item.row.name,
                 run.item.row.status.message);
    } else if (point >= run.def->matrix.n_points) {
        web_fail(res, 404, "run '%s' has the points 0 to %u", run.item.row.name,
                 run.def->matrix.n_points - 1);
    } else {
        res->content_type = WEB_HTML;
        put_point_page(&res->body, &run, (uint32_t)point);
    }
}
