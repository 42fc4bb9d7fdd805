/* /api/v1: runs, their results and logs. docs/api.md. */
#include <errno.h>
#include <string.h>

#include <jansson.h>

#include "base/mem.h"
#include "core/attempt_json.h"
#include "core/json_field.h"
#include "core/json_lists.h"
#include "daemon/web/live_state.h"
#include "daemon/web/site.h"
#include "result/result_json.h"
#include "store/run_document.h"
#include "store/run_list.h"

#define API_VERSION "benchd.io/v1alpha1"

void api_runs(struct site *site, const struct web_request *req, struct web_response *res)
{
    (void)req;
    _cleanup_(site_list_done) struct site_list list = {0};
    struct err err = {0};
    int r = site_list_runs(site, &list, &err);
    if (r < 0) {
        site_fail(res, r, &err);
        return;
    }
    json_t *items = JSON_ARRAY_OF(vec_each (struct site_item, item, &list.items),
                                  run_item_to_json(&item->row, item->is_interrupted));
    web_put_json(res, document_list(RUN_LIST_KIND, items));
}

/* Which attempts have ended, by id alone: a watcher fetches those that it does not know yet, and
 * asks every second, so their rows are not read. */
void api_run(struct site *site, const struct web_request *req, struct web_response *res)
{
    _cleanup_(site_run_done) struct site_run run = {0};
    struct err err = {0};
    _cleanup_(freep) struct attempt_id *ids = NULL;
    size_t n_ids = 0;
    if (!site_run_open(site, req->run, SITE_ITEM, &run, res)) {
        return;
    }
    int r = 0;
    if (run.item.is_stored) {
        r = site->store->ops->list_attempt_ids(site->store, run.item.row.uid, &ids, &n_ids, &err);
    }
    if (r < 0) {
        site_fail(res, r, &err);
        return;
    }
    const struct run_status *st = &run.item.row.status;
    json_t *document = run_item_to_json(&run.item.row, run.item.is_interrupted);
    JSON_ADD(document, {"apiVersion", json_string(API_VERSION)},
             {"kind", json_string("BenchmarkRunSummary")},
             {"current", attempt_id_to_json(st->has_current ? &st->current : NULL)},
             {"progress", run.live == NULL ? json_null() : live_progress_to_json(run.live)}, {
                 "attempts",
                     JSON_ARRAY_OF(for (size_t i = 0; i < n_ids; i++), attempt_id_to_json(&ids[i]))
             });
    web_put_json(res, document);
}

/* ---- attempts ---- */

/* The rows that match, of one point at a time. */
static int put_rows(const struct site *site, const struct site_run *run,
                    const struct attempt_wanted *wanted, struct json_lists *w, struct err *err)
{
    struct store *s = site->store;
    _cleanup_(freep) struct attempt_row *rows = NULL;
    size_t n_rows = 0;
    const int r = s->ops->list_wanted(s, run->item.row.uid, wanted, &rows, &n_rows, err);
    for (size_t i = 0; r >= 0 && i < n_rows; i++) {
        json_lists_add(w, attempt_row_to_json(&rows[i]));
        attempt_row_done(&rows[i]);
    }
    return r;
}

static int put_all_rows(const struct site *site, const struct site_run *run,
                        const struct attempt_wanted *wanted, struct json_lists *w, struct err *err)
{
    if (!run->item.is_stored || run->def == NULL || wanted->point >= 0) {
        return run->item.is_stored ? put_rows(site, run, wanted, w, err) : 0;
    }
    int r = 0;
    for (uint32_t p = 0; p < run->def->matrix.n_points && r >= 0; p++) {
        const struct attempt_wanted of_point = {p, wanted->trial, wanted->number};
        r = put_rows(site, run, &of_point, w, err);
    }
    return r;
}

/* docs/contracts/attempts.md: the document from which benchctl builds its tables. */
static int put_attempts(const struct site *site, const struct site_run *run,
                        const struct attempt_wanted *wanted, struct web_response *res,
                        struct err *err)
{
    struct store *s = site->store;
    _cleanup_(freep) struct event_row *events = NULL;
    size_t n_events = 0;
    int r = !run->item.is_stored
                ? 0
                : s->ops->list_events(s, run->item.row.uid, &events, &n_events, err);
    json_t *document =
        r < 0 ? NULL : run_document_to_json(&run->item.row, NULL, 0, events, n_events);
    if (r >= 0 && document == NULL) {
        r = err_set(err, EBADMSG, "run '%s': its definition cannot be read", run->item.row.name);
    }
    if (r >= 0) {
        struct json_lists w;
        json_lists_begin(&w, document, 2, web_long_body(res));
        json_lists_open(&w, "attempts");
        r = put_all_rows(site, run, wanted, &w, err);
        json_lists_end(&w);
        res->content_type = WEB_JSON;
    }
    free_each(events, n_events, event_row_done);
    return r;
}

void api_attempts(struct site *site, const struct web_request *req, struct web_response *res)
{
    struct attempt_wanted wanted;
    _cleanup_(site_run_done) struct site_run run = {0};
    struct err err = {0};
    if (!site_take_attempts(req, &wanted, res) ||
        !site_run_open(site, req->run, SITE_DEFINITION, &run, res)) {
        return;
    }
    const int r = put_attempts(site, &run, &wanted, res, &err);
    if (r < 0) {
        site_fail(res, r, &err);
    }
}

/* ---- results ---- */

void api_results(struct site *site, const struct web_request *req, struct web_response *res)
{
    _cleanup_(site_run_done) struct site_run run = {0};
    if (!site_run_open(site, req->run, SITE_TABLES, &run, res)) {
        return;
    }
    if (run.result == NULL) {
        web_fail(res, 409, "run '%s' is not accepted, so it has no results: %s", run.item.row.name,
                 run.item.row.status.message);
        return;
    }
    result_json_put(run.result, web_long_body(res));
    res->content_type = WEB_JSON;
    const struct result_source *source = run.result->source;
    if (source != NULL && source->fault.code != 0) {
        site_fail(res, -source->fault.code, &source->fault);
    }
}

void api_logs(struct site *site, const struct web_request *req, struct web_response *res)
{
    struct site_log log;
    if (site_log_load(site, req, &log, res)) {
        res->content_type = WEB_TEXT;
        buf_append(&res->body, log.text, log.len);
        site_log_done(&log);
    }
}
