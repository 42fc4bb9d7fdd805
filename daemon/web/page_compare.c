/* Pages over several runs: two side by side, and one benchmark over time. */
#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "daemon/web/page.h"
#include "daemon/web/site.h"
#include "report/report.h"
#include "report/table.h"
#include "result/compare.h"
#include "result/run_history.h"

/* Runs that are read to learn how far runs of the same thing differ, and of a
 * history: each is read anew. */
#define MAX_RUNS 20

/* Results of earlier runs, without what is known of single replicas. */
struct results {
    VEC(struct site_run) runs;
    VEC(const struct result *) list;
};

static void results_done(struct results *r)
{
    vec_each (struct site_run, run, &r->runs) {
        site_run_done(run);
    }
    vec_done(&r->runs);
    vec_done(&r->list);
}

/* The newest MAX_RUNS of the benchmark that succeeded, the oldest first; those of
 * simulated nodes say nothing. */
static int results_load(const struct site *site, const char *benchmark, struct results *ret,
                        struct err *err)
{
    struct site_list list;
    int r = site_list_runs(site, &list, err);
    if (r < 0) {
        return r;
    }
    size_t end = 0, n = 0;
    while (end < list.items.len && n < MAX_RUNS) {
        const struct run_row *row = &list.items.items[end++].row;
        n += str_eq(row->benchmark, benchmark) && row->status.phase == RUN_SUCCEEDED &&
             !row->simulated;
    }
    for (size_t i = end; i > 0 && r >= 0; i--) {
        const struct run_row *row = &list.items.items[i - 1].row;
        if (!str_eq(row->benchmark, benchmark) || row->status.phase != RUN_SUCCEEDED ||
            row->simulated) {
            continue;
        }
        struct site_run run;
        r = site_run_load(site, row->uid, SITE_FIGURES, &run, err);
        if (r >= 0) {
            *vec_push(&ret->runs) = run;
        }
    }
    vec_each (const struct site_run, run, &ret->runs) {
        if (run->result != NULL) {
            *vec_push(&ret->list) = run->result;
        }
    }
    site_list_done(&list);
    return r < 0 ? r : 0;
}

/* ---- two runs ---- */

/* "base" and "candidate", or two of "run": then the older one is the base.
 * False: it was answered. */
static bool take_names(const struct web_request *req, const char *ret[2], bool *ret_is_ordered,
                       struct web_response *res)
{
    const char *ticked[2] = {NULL, NULL};
    size_t n = 0;
    ret[0] = web_request_arg(req, "base");
    ret[1] = web_request_arg(req, "candidate");
    *ret_is_ordered = ret[0] != NULL && ret[1] != NULL;
    if (*ret_is_ordered) {
        return true;
    }
    for (size_t i = 0; i < req->n_args; i++) {
        if (str_eq(req->args[i].name, "run")) {
            if (n < 2) {
                ticked[n] = req->args[i].value;
            }
            n++;
        }
    }
    if (n != 2) {
        web_fail(res, 400, "%zu %s ticked; go back and tick two", n,
                 n == 1 ? "run is" : "runs are");
        return false;
    }
    ret[0] = ticked[0];
    ret[1] = ticked[1];
    return true;
}

static void put_side(struct buf *out, const char *before, const struct site_run *run)
{
    buf_printf(out, "%s<a href=\"runs/", before);
    page_query(out, run->item.row.name);
    buf_puts(out, "\">");
    html_escape(run->item.row.name, out);
    buf_puts(out, "</a>");
}

static void put_comparison(struct buf *out, const struct site_run runs[2],
                           const struct comparison *c)
{
    const struct page page = {.title = "Comparison", .up = "", .has_charts = true};
    page_open(out, &page);
    buf_puts(out, "<nav><a href=\"./\">Runs</a></nav>\n<h1>Comparison</h1>\n<p>");
    put_side(out, "Base ", &runs[0]);
    put_side(out, ", candidate ", &runs[1]);
    buf_puts(out, ". <a href=\"compare?base=");
    page_query(out, runs[1].item.row.name);
    buf_puts(out, "&amp;candidate=");
    page_query(out, runs[0].item.row.name);
    buf_puts(out, "\">The other way round</a></p>\n");
    report_html_comparison(c, out);
    page_close(out, &page);
}

static void compare(const struct site *site, const struct site_run runs[2],
                    struct web_response *res)
{
    for (size_t i = 0; i < 2; i++) {
        if (runs[i].result == NULL) {
            web_fail(res, 409, "run '%s' is not accepted, so it has no results",
                     runs[i].item.row.name);
            return;
        }
    }
    struct results others = {0};
    struct comparison *comparison = NULL;
    struct err err = {0};
    const char *fix = NULL;
    int r = results_load(site, runs[0].item.row.benchmark, &others, &err);
    if (r < 0) {
        site_fail(res, r, &err);
        results_done(&others);
        return;
    }
    const struct compare_params params = {
        .threshold_ratio = COMPARE_THRESHOLD_RATIO,
        .history = others.list.items,
        .n_history = others.list.len,
    };
    r = comparison_new(runs[0].result, runs[1].result, &params, &comparison, &fix, &err);
    if (r < 0) {
        web_fail(res, 409, "%s; %s", err.msg, fix == NULL ? "choose another pair" : fix);
    } else {
        res->content_type = WEB_HTML;
        put_comparison(&res->body, runs, comparison);
    }
    comparison_free(comparison);
    results_done(&others);
}

void html_compare(struct site *site, const struct web_request *req, const char *run,
                  struct web_response *res)
{
    (void)run;
    const char *names[2];
    bool is_ordered = false;
    struct site_run runs[2] = {0};
    struct err err = {0};
    int r = 0;
    if (!take_names(req, names, &is_ordered, res)) {
        return;
    }
    for (size_t i = 0; i < 2 && r >= 0; i++) {
        r = site_run_load(site, names[i], SITE_RESULT, &runs[i], &err);
    }
    if (r < 0) {
        site_fail(res, r, &err);
    } else {
        if (!is_ordered && runs[0].item.row.created_unix_ms > runs[1].item.row.created_unix_ms) {
            const struct site_run first = runs[0];
            runs[0] = runs[1];
            runs[1] = first;
        }
        compare(site, runs, res);
    }
    site_run_done(&runs[0]);
    site_run_done(&runs[1]);
}

/* ---- one benchmark ---- */

static void put_history(struct buf *out, const char *benchmark, const struct run_history *h)
{
    const struct page page = {.title = benchmark, .up = "../", .has_charts = true};
    page_open(out, &page);
    buf_puts(out, "<nav><a href=\"../\">Runs</a></nav>\n");
    page_element(out, "h1", benchmark);
    report_html_history(h, "../runs/", out);
    buf_printf(
        out,
        "<p class=\"soft\">The newest %d runs that succeeded at most; <code>benchctl history "
        "%s</code> reads more.</p>\n",
        MAX_RUNS, benchmark); /* a name of the path: it has nothing to escape */
    page_close(out, &page);
}

void html_history(struct site *site, const struct web_request *req, const char *benchmark,
                  struct web_response *res)
{
    (void)req;
    struct results results = {0};
    struct err err = {0};
    const int r = results_load(site, benchmark, &results, &err);
    if (r < 0) {
        site_fail(res, r, &err);
    } else if (results.list.len == 0) {
        web_fail(res, 404, "no run of benchmark '%s' succeeded", benchmark);
    } else {
        struct run_history history;
        run_history_init(&history, results.list.items, results.list.len, NULL);
        res->content_type = WEB_HTML;
        put_history(&res->body, benchmark, &history);
        run_history_done(&history);
    }
    results_done(&results);
}
