/* See live_events.h. */
#include "daemon/web/live_events.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "core/attempt_json.h"
#include "core/json_field.h"
#include "daemon/web/site.h"
#include "store/run_list.h"

void live_event_done(struct live_event *e)
{
    buf_done(&e->text);
    *e = (struct live_event){0};
}

void live_figures(const struct run_status *st, char ret[static LIVE_FIGURES_SIZE])
{
    (void)snprintf(ret, LIVE_FIGURES_SIZE, "%s %u %u %u.%u.%u", run_phase_to_string(st->phase),
                   st->trials_done, st->trials_failed, st->current.point, st->current.trial,
                   st->current.number);
}

json_t *live_progress_to_json(const struct daemon_run *run)
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

/* A message is ours; what it quotes of others may be no UTF-8. */
static json_t *text_to_json(const char *text)
{
    _cleanup_(buf_done) struct buf clean = BUF_INIT;
    buf_put_utf8(&clean, text, 1024);
    return json_string(buf_cstr(&clean));
}

static bool is_over(const struct daemon_run *run)
{
    return run_phase_is_final(run->status.phase) && !run->is_active;
}

static json_t *summary_to_json(const struct daemon_run *run)
{
    const struct run_status *st = &run->status;
    return json_pack("{s:s, s:s, s:I, s:I, s:I, s:b}", "name", run->name, "phase",
                     run_phase_to_string(st->phase), "done", (json_int_t)st->trials_done, "failed",
                     (json_int_t)st->trials_failed, "total", (json_int_t)st->trials_total, "over",
                     is_over(run));
}

static json_t *run_to_json(const struct daemon_run *run)
{
    json_t *json = summary_to_json(run);
    const struct run_status *st = &run->status;
    char figures[LIVE_FIGURES_SIZE];
    live_figures(st, figures);
    JSON_ADD(json, {"message", text_to_json(st->message)}, {"wait", text_to_json(run->wait.reason)},
             {"current", attempt_id_to_json(st->has_current ? &st->current : NULL)},
             {"steps", json_integer(run->frozen.steps)}, {"progress", live_progress_to_json(run)},
             {"figures", json_string(figures)});
    return json;
}

/* The last ones, because runs that are driven or were created last are at the end. */
static json_t *list_to_json(const struct daemon_runs *runs)
{
    const size_t n = runs->list.len, from = n > LIVE_MAX_LISTED ? n - LIVE_MAX_LISTED : 0;
    json_t *items =
        JSON_ARRAY_OF(for (size_t i = from; i < n; i++), summary_to_json(runs->list.items[i]));
    return json_pack("{s:o}", "runs", items);
}

int live_event_make(const struct daemon_runs *runs, const char *run, struct live_event *ret,
                    struct err *err)
{
    const bool is_list = run[0] == '\0';
    const struct daemon_run *found = is_list ? NULL : daemon_runs_find(runs, run);
    if (!is_list && found == NULL) {
        return err_set(err, ENOENT,
                       "benchd does not drive a run '%.253s' now, so there is nothing to follow",
                       run);
    }
    json_auto_t *json = is_list ? list_to_json(runs) : run_to_json(found);
    _cleanup_(freep) char *data = json_dumps(json, JSON_COMPACT);
    if (data == NULL) { /* a bug of ours: a number that JSON cannot hold */
        return err_set(err, EINVAL, "the state of '%.253s' cannot be written as JSON", run);
    }
    (void)snprintf(ret->id, sizeof(ret->id), "%016llx",
                   (unsigned long long)str_hash(data, strlen(data)));
    ret->is_last = !is_list && is_over(found);
    buf_printf(&ret->text, "id: %s\nevent: %s\ndata: %s\n\n", ret->id, is_list ? "runs" : "run",
               data);
    return 0;
}

void live_run(struct site *site, const struct web_request *req, struct web_response *res)
{
    _cleanup_(live_event_done) struct live_event event = {0};
    struct err err = {0};
    const int r = live_event_make(site->now.runs, req->run, &event, &err);
    if (r < 0) {
        site_fail(res, r, &err);
        return;
    }
    res->content_type = LIVE_TYPE;
    buf_append(&res->body, event.text.data, event.text.len);
}
