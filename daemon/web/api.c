/* /api/v1: runs, their results and logs. docs/api.md. */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/parse.h"
#include "base/str.h"
#include "daemon/web/run_json.h"
#include "daemon/web/site.h"
#include "report/report.h"
#include "store/run_document.h"
#include "store/run_list.h"

#define API_VERSION "benchd.io/v1alpha1"
#define NOT_GIVEN (-1)

static void put_json(struct web_response *res, json_t *document_take)
{
    _cleanup_(freep) char *text = json_dumps(document_take, JSON_INDENT(2));
    json_decref(document_take);
    if (text == NULL) { /* a bug of ours: a key or number that JSON cannot hold */
        web_fail(res, 500, "the response cannot be written as JSON");
        return;
    }
    res->content_type = WEB_JSON;
    buf_printf(&res->body, "%s\n", text);
}

void api_runs(struct site *site, const struct web_request *req, const char *run,
              struct web_response *res)
{
    (void)req, (void)run;
    struct site_list list;
    struct err err = {0};
    int r = site_list_runs(site, &list, &err);
    if (r < 0) {
        site_fail(res, r, &err);
        return;
    }
    json_t *items = json_array();
    vec_each (struct site_item, item, &list.items) {
        json_t *one = run_item_to_json(&item->row, item->is_interrupted);
        (void)json_array_append_new(items, one); /* grows in memory only */
    }
    site_list_done(&list);
    put_json(res, run_list_to_json(items));
}

static json_t *ids_to_json(const struct attempt_id *ids, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        json_t *id = json_pack("{s:I, s:I, s:I}", "point", (json_int_t)ids[i].point, "trial",
                               (json_int_t)ids[i].trial, "attempt", (json_int_t)ids[i].number);
        (void)json_array_append_new(list, id); /* grows in memory only */
    }
    return list;
}

/* Which attempts have ended, by id alone: a watcher fetches those that it does not know yet, and
 * asks every second, so their rows are not read. */
void api_run(struct site *site, const struct web_request *req, const char *name,
             struct web_response *res)
{
    (void)req;
    struct site_run run;
    struct err err = {0};
    _cleanup_(freep) struct attempt_id *ids = NULL;
    size_t n_ids = 0;
    int r = site_run_load(site, name, SITE_ITEM, &run, &err);
    if (r < 0) {
        site_fail(res, r, &err);
        return;
    }
    if (run.item.is_stored) {
        r = site->store->ops->list_attempt_ids(site->store, run.item.row.uid, &ids, &n_ids, &err);
    }
    if (r < 0) {
        site_fail(res, r, &err);
        site_run_done(&run);
        return;
    }
    json_t *document = run_item_to_json(&run.item.row, run.item.is_interrupted);
    json_object_set_new(document, "apiVersion", json_string(API_VERSION));
    json_object_set_new(document, "kind", json_string("BenchmarkRunSummary"));
    json_object_set_new(document, "current", run_json_current(&run.item.row.status));
    json_object_set_new(document, "progress",
                        run.live == NULL ? json_null() : run_json_progress(run.live));
    json_object_set_new(document, "attempts", ids_to_json(ids, n_ids));
    site_run_done(&run);
    put_json(res, document);
}

/* The attempts that the request asks for. False: it was answered. */
static bool take_attempts(const struct web_request *req, struct attempt_wanted *ret,
                          struct web_response *res)
{
    *ret = (struct attempt_wanted){NOT_GIVEN, NOT_GIVEN, NOT_GIVEN};
    const struct {
        const char *name;
        int64_t *ret;
    } numbers[] = {{"point", &ret->point}, {"trial", &ret->trial}, {"attempt", &ret->number}};
    for (size_t i = 0; i < 3; i++) {
        const char *text = web_request_arg(req, numbers[i].name);
        if (text != NULL && parse_i64_in(text, 0, UINT32_MAX, numbers[i].ret) < 0) {
            web_fail(res, 400, "%s '%.64s': expected a whole number from 0", numbers[i].name, text);
            return false;
        }
    }
    return true;
}

/* docs/contracts/attempts.md: the document from which benchctl builds its tables. */
static int put_attempts(const struct site *site, const struct site_run *run,
                        struct web_response *res, struct err *err)
{
    struct store *s = site->store;
    struct event_row *events = NULL;
    size_t n_events = 0;
    int r = !run->item.is_stored
                ? 0
                : s->ops->list_events(s, run->item.row.uid, &events, &n_events, err);
    if (r >= 0) {
        json_t *document =
            run_document_to_json(&run->item.row, run->rows, run->n_rows, events, n_events);
        if (document == NULL) {
            r = err_set(err, EBADMSG, "run '%s': its definition cannot be read",
                        run->item.row.name);
        } else {
            put_json(res, document);
        }
    }
    for (size_t i = 0; i < n_events; i++) {
        event_row_done(&events[i]);
    }
    free(events);
    return r;
}

void api_attempts(struct site *site, const struct web_request *req, const char *name,
                  struct web_response *res)
{
    struct attempt_wanted wanted;
    struct site_run run;
    struct err err = {0};
    if (!take_attempts(req, &wanted, res)) {
        return;
    }
    int r = site_run_load_wanted(site, name, &wanted, &run, &err);
    if (r >= 0) {
        r = put_attempts(site, &run, res, &err);
        site_run_done(&run);
    }
    if (r < 0) {
        site_fail(res, r, &err);
    }
}

void api_results(struct site *site, const struct web_request *req, const char *name,
                 struct web_response *res)
{
    (void)req;
    struct site_run run;
    struct err err = {0};
    int r = site_run_load(site, name, SITE_RESULT, &run, &err);
    if (r < 0) {
        site_fail(res, r, &err);
        return;
    }
    if (run.result == NULL) {
        web_fail(res, 409, "run '%s' is not accepted, so it has no results: %s", run.item.row.name,
                 run.item.row.status.message);
    } else {
        res->content_type = WEB_JSON;
        report_json(run.result, &res->body);
    }
    site_run_done(&run);
}

void api_logs(struct site *site, const struct web_request *req, const char *name,
              struct web_response *res)
{
    struct site_log log;
    if (site_log_load(site, req, name, &log, res)) {
        res->content_type = WEB_TEXT;
        buf_append(&res->body, log.text, log.len);
        site_log_done(&log);
    }
}
