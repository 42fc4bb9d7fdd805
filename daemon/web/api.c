/* /api/v1: runs, their results and logs. docs/api.md. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "base/whole_file.h"
#include "config.h"
#include "core/attempt_json.h"
#include "core/json_field.h"
#include "daemon/web/site.h"
#include "store/run_document.h"
#include "store/run_file.h"

#define API_VERSION "benchd.io/v1alpha1"
#define NOT_GIVEN (-1)
#define MEMORY_ROOM "/dev/shm/benchd" /* a file system that has a limit of its own */

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
    if (!site_run_open(site, req->run, SITE_ITEM, &run, res)) {
        return;
    }
    int r = 0;
    if (run.item.is_stored) {
        r = site->store->ops->list_outcomes(site->store, run.item.row.uid, &run.rows, &run.n_rows,
                                            &err);
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
                 "attempts", JSON_ARRAY_OF(for (size_t i = 0; i < run.n_rows; i++),
                                           attempt_id_to_json(&run.rows[i].id))
             });
    web_put_json(res, document);
}

/* ---- arguments ---- */

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

/* The names of all arguments are in the list, which an error prints as `all`. */
static bool check_names(const struct web_request *req, const char *const *names, size_t n,
                        const char *all, struct web_response *res)
{
    for (size_t i = 0; i < req->n_args; i++) {
        if (str_index(req->args[i].name, names, n) < 0) {
            web_fail(res, 400, "unknown argument '%.64s'; use %s", req->args[i].name, all);
            return false;
        }
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

/* ---- answers that are files ---- */

/* Appends a body of any length with buf_spill. */
typedef int (*body_fn)(const struct site *site, const struct site_run *run, const void *ctx,
                       const char *near, struct buf *out, struct err *err);

/* Makes the body in a file next to `near`, which is open and has no name any more. */
static int fill_file(const struct site *site, const struct site_run *run, body_fn put,
                     const void *ctx, const char *near, int *ret, struct err *err)
{
    _cleanup_(freep) char *path = NULL;
    int r = run_file_room(near, &path, err);
    if (r < 0) {
        return r;
    }
    struct file_parts file = {.fd = open(path, O_RDWR | O_CLOEXEC)};
    r = file.fd < 0 ? err_set_errno(err, errno, "'%s'", path) : 0;
    (void)unlink(path); /* run_file_sweep unlinks what stays */
    struct buf out = {.take = file_part_put, .ctx = &file};
    r = r < 0 ? r : put(site, run, ctx, near, &out, err);
    buf_spill_all(&out);
    buf_done(&out);
    r = r < 0 || file.r >= 0 ? r : err_set_errno(err, -file.r, "no room for the run");
    r = r < 0 || lseek(file.fd, 0, SEEK_SET) == 0 ? r : err_set_errno(err, errno, "'%s'", path);
    if (r < 0) {
        fd_close(&file.fd);
        return r;
    }
    *ret = file.fd;
    return 0;
}

/* Large bodies are files: the results of 10,000 points have 100 MB, and benchd may have 128 MB. */
static void answer_file(const struct site *site, const struct site_run *run, body_fn put,
                        const void *ctx, const char *content_type, struct web_response *res)
{
    struct err err = {0};
    int fd = -1;
    int r = fill_file(site, run, put, ctx, site->store_path, &fd, &err);
    if (r == -ENOSPC || r == -EROFS) { /* results can be read on a full disk */
        r = fill_file(site, run, put, ctx, MEMORY_ROOM, &fd, &err);
    }
    if (r < 0) {
        site_fail(res, r, &err);
        return;
    }
    web_put_file(res, fd, content_type);
}

/* `ctx`: struct run_file_parts. */
static int put_run_file(const struct site *site, const struct site_run *run, const void *ctx,
                        const char *near, struct buf *out, struct err *err)
{
    char digest[RUN_FILE_DIGEST_SIZE];
    _cleanup_(freep) char *path = NULL;
    int r = run_file_room(near, &path, err);
    if (r < 0) {
        return r;
    }
    r = run_file_make(site->store, run->item.row.uid, ctx, "benchd " BENCHD_VERSION, path, digest,
                      err);
    r = r < 0 ? r : run_file_send(path, true, out, err);
    (void)unlink(path); /* as in fill_file() */
    return r;
}

/* docs/contracts/run-file.md: the file from which benchctl builds its tables. */
void api_file(struct site *site, const struct web_request *req, struct web_response *res)
{
    static const char *const names[] = {"point", "trial", "attempt", "logs"};
    const char *logs = web_request_arg(req, "logs");
    struct run_file_parts parts = {.without_logs = logs == NULL || !str_eq(logs, "true")};
    _cleanup_(site_run_done) struct site_run run = {0};
    if (!check_names(req, names, COUNT_OF(names), "point, trial, attempt or logs", res) ||
        !take_attempts(req, &parts.attempts, res) ||
        !site_run_open(site, req->run, SITE_ITEM, &run, res)) {
        return;
    }
    if (!run.item.is_stored) {
        web_fail(res, 409, "run '%s' is not accepted, so it has no file: %s", run.item.row.name,
                 run.item.row.status.message);
        return;
    }
    answer_file(site, &run, put_run_file, &parts, WEB_ZSTD, res);
}

/* ---- results ---- */

static int put_results(const struct site *site, const struct site_run *run, const void *ctx,
                       const char *near, struct buf *out, struct err *err)
{
    (void)ctx, (void)near;
    struct run_walk walk = site_run_walk(site, run);
    const int r = run_walk_put_json(&walk, run->result, out, err);
    run_walk_done(&walk);
    return r;
}

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
    answer_file(site, &run, put_results, NULL, WEB_JSON, res);
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
    if (!check_names(req, names, COUNT_OF(names), "point, trial, attempt, role or index", res)) {
        return false;
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
