/* /api/v1: runs, their results and logs. docs/api.md. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include <jansson.h>

#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "core/attempt_json.h"
#include "core/json_field.h"
#include "daemon/web/site.h"
#include "result/result_json.h"
#include "store/run_document.h"

#define API_VERSION "benchd.io/v1alpha1"
#define NOT_GIVEN (-1)

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

/* The last step of trainer 0; null if no step of the current attempt was seen. */
static json_t *progress_to_json(const struct daemon_run *run)
{
    if (!run->progress.is_known) {
        return json_null();
    }
    const struct daemon_progress *p = &run->progress;
    return json_pack("{s:s, s:I, s:I, s:b, s:I, s:I, s:o, s:o}", "role", role_to_string(p->id.role),
                     "index", (json_int_t)p->id.index, "step", (json_int_t)p->step, "warmup",
                     p->is_warmup, "stepNs", (json_int_t)p->step_ns, "samples",
                     (json_int_t)p->samples, "loss",
                     isfinite(p->loss) ? json_real(p->loss) : json_null(), "seen",
                     run_time_to_json(p->seen_unix_ms));
}

/* Lists the attempts that have ended by id alone: a watcher asks every second and fetches those
 * that it does not know yet. */
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
             {"progress", run.live == NULL ? json_null() : progress_to_json(run.live)}, {
                 "attempts",
                     JSON_ARRAY_OF(for (size_t i = 0; i < n_ids; i++), attempt_id_to_json(&ids[i]))
             });
    web_put_json(res, document);
}

/* ---- attempts ---- */

static bool take_number(const struct web_request *req, const char *name, int64_t *ret,
                        struct web_response *res)
{
    const char *text = web_request_arg(req, name);
    *ret = NOT_GIVEN;
    if (text != NULL && parse_i64_in(text, 0, UINT32_MAX, ret) < 0) {
        web_fail(res, 400, "%s '%.64s': expected a whole number from 0", name, text);
        return false;
    }
    return true;
}

static bool take_attempts(const struct web_request *req, struct attempt_wanted *ret,
                          struct web_response *res)
{
    return take_number(req, "point", &ret->point, res) &&
           take_number(req, "trial", &ret->trial, res) &&
           take_number(req, "attempt", &ret->number, res);
}

/* Adds the rows that match. */
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
    if (!take_attempts(req, &wanted, res) ||
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
    site_run_check(&run, res);
}

/* ---- logs ---- */

/* The arguments, which are the options of `benchctl logs` with the same defaults. */
struct wanted {
    struct attempt_wanted attempt;
    int64_t index;
    int role;
};

/* The log of one replica. */
struct chosen_log {
    struct site_run run; /* with the attempts that match */
    const struct attempt_row *row;
    const struct replica_row *replica;
    char *text; /* owned; NULL if the replica printed nothing */
    size_t len;
};

static bool take_wanted(const struct web_request *req, struct wanted *ret, struct web_response *res)
{
    static const char *const names[] = {"point", "trial", "attempt", "role", "index"};
    const char *role = web_request_arg(req, "role");
    ret->role = role == NULL ? NOT_GIVEN : role_from_string(role);
    for (size_t i = 0; i < req->n_args; i++) {
        if (str_index(req->args[i].name, names, COUNT_OF(names)) < 0) {
            web_fail(res, 400, "unknown argument '%.64s'; use point, trial, attempt, role or index",
                     req->args[i].name);
            return false;
        }
    }
    if (role != NULL && ret->role < 0) {
        web_fail(res, 400, "unknown role '%.64s'; use pserver, trainer, worker or launcher", role);
        return false;
    }
    return take_attempts(req, &ret->attempt, res) && take_number(req, "index", &ret->index, res);
}

/* A replica that printed nothing has no log. */
static int read_log(const struct site *site, struct chosen_log *log, struct err *err)
{
    struct store *s = site->store;
    const int r =
        s->ops->get_log(s, log->run.item.row.uid, &log->replica->id, &log->text, &log->len, err);
    return r == -ENOENT ? 0 : r;
}

static void chosen_log_done(struct chosen_log *log)
{
    free(log->text);
    site_run_done(&log->run);
}

/* Finds the attempt and the replica. Returns false after answering with an error. */
static bool choose(struct chosen_log *log, struct wanted *w, struct web_response *res)
{
    const struct site_run *run = &log->run;
    if (w->attempt.point == NOT_GIVEN && run->def != NULL && run->def->matrix.n_points == 1) {
        w->attempt.point = 0;
    }
    log->row = attempt_rows_find(run->rows, run->n_rows, &w->attempt);
    log->replica = log->row == NULL ? NULL : attempt_row_find_replica(log->row, w->role, w->index);
    if (w->attempt.point == NOT_GIVEN) {
        web_fail(res, 400, "run '%s' has several points; choose one with point=N",
                 run->item.row.name);
    } else if (log->row == NULL) {
        web_fail(res, 404, "run '%s': no finished attempt matches", run->item.row.name);
    } else if (log->replica == NULL) {
        web_fail(res, 404, "run '%s': the attempt has no such replica", run->item.row.name);
    } else {
        return true;
    }
    return false;
}

void api_logs(struct site *site, const struct web_request *req, struct web_response *res)
{
    struct wanted w;
    struct err err = {0};
    _cleanup_(chosen_log_done) struct chosen_log log = {0};
    struct site_run *run = &log.run;
    struct store *s = site->store;
    if (!take_wanted(req, &w, res) || !site_run_open(site, req->run, SITE_DEFINITION, run, res)) {
        return;
    }
    int r = 0;
    if (run->item.is_stored) {
        r = s->ops->list_wanted(s, run->item.row.uid, &w.attempt, &run->rows, &run->n_rows, &err);
    }
    if (r >= 0 && !choose(&log, &w, res)) {
        return;
    }
    r = r < 0 ? r : read_log(site, &log, &err);
    if (r < 0) {
        site_fail(res, r, &err);
        return;
    }
    res->content_type = WEB_TEXT;
    if (log.text != NULL) {
        buf_append(&res->body, log.text, log.len);
    }
}
