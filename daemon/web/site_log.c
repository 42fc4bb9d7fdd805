/* One replica's log as a request asks for it: for the API and for pages. */

#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "daemon/web/site.h"

#define NOT_GIVEN (-1)

/* The options of `benchctl logs`, with the same defaults. */
struct wanted {
    struct attempt_wanted attempt;
    int64_t index;
    int role;
};

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

bool site_take_attempts(const struct web_request *req, struct attempt_wanted *ret,
                        struct web_response *res)
{
    return take_number(req, "point", &ret->point, res) &&
           take_number(req, "trial", &ret->trial, res) &&
           take_number(req, "attempt", &ret->number, res);
}

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
    return site_take_attempts(req, &ret->attempt, res) &&
           take_number(req, "index", &ret->index, res);
}

/* Fills text and length; no log: it printed nothing. */
static int read_log(const struct site *site, struct site_log *log, struct err *err)
{
    struct store *s = site->store;
    const int r =
        s->ops->get_log(s, log->run.item.row.uid, &log->replica->id, &log->text, &log->len, err);
    if (r == -ENOENT || log->text == NULL) {
        log->text = r == -ENOENT || r >= 0 ? xstrdup("") : NULL;
        log->len = 0;
    }
    return r == -ENOENT ? 0 : r;
}

void site_log_done(struct site_log *log)
{
    free(log->text);
    site_run_done(&log->run);
}

/* The attempt and the replica; false: it was answered. */
static bool choose(struct site_log *log, struct wanted *w, struct web_response *res)
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

bool site_log_load(const struct site *site, const struct web_request *req, struct site_log *ret,
                   struct web_response *res)
{
    struct wanted w;
    struct err err = {0};
    struct site_log log = {0};
    if (!take_wanted(req, &w, res)) {
        return false;
    }
    int r = site_run_load(site, req->run, SITE_ROWS, &w.attempt, &log.run, &err);
    if (r >= 0 && !choose(&log, &w, res)) {
        site_log_done(&log);
        return false;
    }
    r = r < 0 ? r : read_log(site, &log, &err);
    if (r < 0) {
        site_fail(res, r, &err);
        site_log_done(&log);
        return false;
    }
    *ret = log;
    return true;
}
