/* /api/v1: runs, their results and logs. docs/api.md. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include <jansson.h>

#include "base/mem.h"
#include "core/attempt_json.h"
#include "core/json_field.h"
#include "daemon/web/live_events.h"
#include "daemon/web/site.h"
#include "result/figure_json.h"
#include "result/result_build.h"
#include "result/result_json.h"
#include "store/run_document.h"
#include "store/run_list.h"

#define API_VERSION "benchd.io/v1alpha1"

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
    put_json(res, document_list(RUN_LIST_KIND, items));
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
    put_json(res, document);
}

/* ---- long documents: a list of their top level is filled piece by piece ---- */

/* Puts what is before the empty list `name` of an indented document, and opens it. Returns what
 * comes after. */
static const char *open_list(const char *text, const char *name, struct buf *out)
{
    _cleanup_(freep) char *empty = xasprintf("\n  \"%s\": []", name);
    const char *at = strstr(text, empty); /* what is deeper has more blanks, and texts no newline */
    assert(at != NULL);
    const char *end = at + strlen(empty);
    buf_append(out, text, (size_t)(end - text) - 1);
    return end;
}

/* The next item, as if the document had been written with it. `*n`: how many it has. */
static void put_item(struct web_response *res, json_t *item_take, size_t *n)
{
    _cleanup_(freep) char *text = json_dumps(item_take, JSON_INDENT(2));
    json_decref(item_take);
    assert(text != NULL);
    buf_puts(&res->body, (*n)++ == 0 ? "\n    " : ",\n    ");
    for (const char *line = text; *line != '\0';) {
        const size_t len = strcspn(line, "\n");
        buf_append(&res->body, line, len);
        line += len;
        if (*line == '\n') {
            buf_puts(&res->body, "\n    ");
            line++;
        }
    }
    web_spill(res);
}

static void close_list(struct buf *out, size_t n)
{
    buf_puts(out, n > 0 ? "\n  ]" : "]");
}

/* ---- attempts ---- */

/* The rows that match, of one point at a time. */
static int put_rows(const struct site *site, const struct site_run *run,
                    const struct attempt_wanted *wanted, struct web_response *res, size_t *n,
                    struct err *err)
{
    struct store *s = site->store;
    _cleanup_(freep) struct attempt_row *rows = NULL;
    size_t n_rows = 0;
    const int r = s->ops->list_wanted(s, run->item.row.uid, wanted, &rows, &n_rows, err);
    for (size_t i = 0; r >= 0 && i < n_rows; i++) {
        put_item(res, attempt_row_to_json(&rows[i]), n);
        attempt_row_done(&rows[i]);
    }
    return r;
}

static int put_all_rows(const struct site *site, const struct site_run *run,
                        const struct attempt_wanted *wanted, struct web_response *res, size_t *n,
                        struct err *err)
{
    if (!run->item.is_stored || run->def == NULL || wanted->point >= 0) {
        return run->item.is_stored ? put_rows(site, run, wanted, res, n, err) : 0;
    }
    int r = 0;
    for (uint32_t p = 0; p < run->def->matrix.n_points && r >= 0; p++) {
        const struct attempt_wanted of_point = {p, wanted->trial, wanted->number};
        r = put_rows(site, run, &of_point, res, n, err);
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
    size_t n_events = 0, n = 0;
    int r = !run->item.is_stored
                ? 0
                : s->ops->list_events(s, run->item.row.uid, &events, &n_events, err);
    json_auto_t *document =
        r < 0 ? NULL : run_document_to_json(&run->item.row, NULL, 0, events, n_events);
    if (r >= 0 && document == NULL) {
        r = err_set(err, EBADMSG, "run '%s': its definition cannot be read", run->item.row.name);
    }
    if (r >= 0) {
        _cleanup_(freep) char *text = json_dumps(document, JSON_INDENT(2));
        const char *rest = open_list(text, "attempts", &res->body);
        r = put_all_rows(site, run, wanted, res, &n, err);
        close_list(&res->body, n);
        buf_printf(&res->body, "%s\n", rest);
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

/* What single replicas of a point say is in the texts of its rows alone. */
static int put_point(const struct site *site, const struct site_run *run, uint32_t p,
                     struct web_response *res, size_t *n, struct err *err)
{
    struct store *s = site->store;
    _cleanup_(freep) struct attempt_row *rows = NULL;
    size_t n_rows = 0;
    const struct attempt_wanted wanted = {p, -1, -1};
    const int r = !run->item.is_stored
                      ? 0
                      : s->ops->list_wanted(s, run->item.row.uid, &wanted, &rows, &n_rows, err);
    if (r >= 0) {
        result_recall_point(run->result, p, rows, n_rows);
        put_item(res, result_point_to_json(run->result, p), n);
        result_forget_point(run->result, p);
    }
    free_each(rows, n_rows, attempt_row_done);
    return r;
}

static int put_result(const struct site *site, struct site_run *run, struct web_response *res,
                      struct err *err)
{
    const struct matrix *m = &run->def->matrix;
    json_t *frame = result_frame_to_json(run->result);
    _cleanup_(freep) char *text = json_dumps(frame, JSON_INDENT(2));
    json_decref(frame);
    site_run_forget_replicas(run);
    const char *rest = open_list(text, "points", &res->body);
    size_t n = 0;
    int r = 0;
    for (uint32_t p = 0; p < m->n_points && r >= 0; p++) {
        if (p == m->n_swept) {
            close_list(&res->body, n);
            rest = open_list(rest, "baselines", &res->body);
            n = 0;
        }
        r = put_point(site, run, p, res, &n, err);
    }
    close_list(&res->body, n);
    rest = open_list(rest, "curves", &res->body);
    n = 0;
    vec_each (const struct curve, c, &run->result->curves.list) {
        put_item(res, curve_to_json(run->result, c), &n);
    }
    close_list(&res->body, n);
    buf_printf(&res->body, "%s\n", rest);
    res->content_type = WEB_JSON;
    return r;
}

void api_results(struct site *site, const struct web_request *req, struct web_response *res)
{
    _cleanup_(site_run_done) struct site_run run = {0};
    struct err err = {0};
    int r;
    if (!site_run_open(site, req->run, SITE_TABLES, &run, res)) {
        return;
    }
    if (run.result == NULL) {
        web_fail(res, 409, "run '%s' is not accepted, so it has no results: %s", run.item.row.name,
                 run.item.row.status.message);
    } else if ((r = put_result(site, &run, res, &err)) < 0) {
        site_fail(res, r, &err);
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
