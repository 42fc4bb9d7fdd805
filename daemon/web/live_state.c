/* See live_state.h. */
#include "daemon/web/live_state.h"

#include <math.h>
#include <stdio.h>

#include "core/attempt_json.h"
#include "core/json_field.h"
#include "daemon/web/site.h"
#include "store/run_list.h"

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

void live_state(struct site *site, const struct web_request *req, struct web_response *res)
{
    const struct daemon_runs *runs = site->now.runs;
    const bool is_list = req->run[0] == '\0';
    const struct daemon_run *run = is_list ? NULL : daemon_runs_find(runs, req->run);
    if (!is_list && run == NULL) {
        web_fail(res, 404, "benchd does not drive a run '%s' now, so there is nothing to follow",
                 req->run);
        return;
    }
    web_put_json(res, is_list ? list_to_json(runs) : run_to_json(run));
}
