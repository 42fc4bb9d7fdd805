/* The page of one benchmark over time. */
#include "base/mem.h"
#include "base/str.h"
#include "daemon/web/page.h"
#include "daemon/web/site.h"
#include "report/sheets.h"
#include "compare/run_history.h"

/* Each request reads so many runs from the store. */
#define MAX_RUNS 20

/* Results of runs, without what is known of single replicas. */
struct results {
    VEC(struct site_run) runs;
    VEC(const struct result *) list;
};

static void results_done(struct results *r)
{
    vec_done_each(&r->runs, site_run_done);
    vec_done(&r->list);
}

/* Results of simulated nodes are not comparable. */
static bool is_usable(const struct run_row *row, const char *benchmark)
{
    return str_eq(row->benchmark, benchmark) && row->status.phase == RUN_SUCCEEDED &&
           !row->simulated;
}

/* Loads the newest MAX_RUNS runs of the benchmark that succeeded, the oldest first. */
static int results_load(const struct site *site, const char *benchmark, struct results *ret,
                        struct err *err)
{
    _cleanup_(site_list_done) struct site_list list = {0};
    int r = site_list_runs(site, &list, err);
    if (r < 0) {
        return r;
    }
    size_t end = 0, n = 0;
    while (end < list.items.len && n < MAX_RUNS) {
        n += is_usable(&list.items.items[end++].row, benchmark);
    }
    for (size_t i = end; i > 0 && r >= 0; i--) {
        const struct run_row *row = &list.items.items[i - 1].row;
        struct site_run run;
        if (is_usable(row, benchmark) &&
            (r = site_run_load(site, row->uid, SITE_FIGURES, &run, err)) >= 0) {
            *vec_push(&ret->runs) = run;
        }
    }
    vec_each (const struct site_run, run, &ret->runs) {
        if (run->result != NULL) {
            *vec_push(&ret->list) = run->result;
        }
    }
    return r < 0 ? r : 0;
}

static void put_history(struct buf *out, const char *benchmark, const struct run_history *h)
{
    page_open(out, &(struct page){.title = benchmark, .up = "../"});
    struct sheet sheet;
    sheet_init(&sheet, SHEET_HTML, NULL);
    sheet.run_href = "../runs/";
    sheet_history(&sheet, h);
    sheet_line(&sheet, &sheet_soft,
               "This page reads the newest %d runs that succeeded. To read more, use ", MAX_RUNS);
    sheet_span(&sheet, SHEET_CODE, "benchctl history %s", benchmark);
    sheet_write(&sheet, out);
    html_end_page(out);
}

void html_history(struct site *site, const struct web_request *req, struct web_response *res)
{
    _cleanup_(results_done) struct results results = {0};
    struct err err = {0};
    const int r = results_load(site, req->run, &results, &err);
    if (r < 0) {
        site_fail(res, r, &err);
    } else if (results.list.len == 0) {
        web_fail(res, 404, "no run of benchmark '%s' succeeded", req->run);
    } else {
        _cleanup_(run_history_done) struct run_history history = {0};
        run_history_init(&history, results.list.items, results.list.len, NULL);
        res->content_type = WEB_HTML;
        put_history(&res->body, req->run, &history);
    }
}
