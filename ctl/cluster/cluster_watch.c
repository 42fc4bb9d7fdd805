/* Follows a run of a cluster until its end: turns callbacks into events of watch_state.h, and does
 * what its machine decides. The object is watched; what only benchd knows (steps, ended attempts)
 * is asked from its API: first the run's file, with which the progress begins, then the state, and
 * a file of each ended attempt that was not shown yet.
 *
 * The API server and benchd may go away and come back during that time: of their failures only a
 * refusal to let us watch ends it. */
#include <signal.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "ctl/cluster/cluster_internal.h"
#include "ctl/runs/object.h"
#include "ctl/runs/progress.h"
#include "ctl/runs/run_state.h"
#include "ctl/runs/watch_state.h"
#include "decide/policy_wait.h"
#include "kube/informer.h"
#include "kube/json.h"

#define LAST_WAIT_MS 30000    /* without an answer after the run's end: benchd may be restarting */
#define CANCEL_GRACE_MS 30000 /* for benchd to end a run after --timeout */
#define N_SIGNALS 3

struct watch {
    struct cluster *c;
    const char *name, *uid;
    const struct run_opts *opts;
    struct watch_machine machine;
    uv_timer_t tick, timeout, patience;
    uv_signal_t signals[N_SIGNALS];
    struct kube_informer *informer;
    struct kube_call *call;         /* to benchd; NULL without one */
    struct kube_call *cancellation; /* after --timeout; NULL without one */
    uint64_t asked_ms;
    struct run_status status;   /* what the object says */
    struct loaded_run run;      /* as it was when the progress began */
    struct progress *progress;  /* NULL until benchd has accepted the run */
    struct attempt_ids known;   /* attempts that were shown */
    struct attempt_ids wanted;  /* ended attempts to be asked for and shown */
    size_t n_events;            /* shown */
    VEC(struct run_wait) waits; /* shown when the status had them; their events come later */
    struct replica_step step;   /* the last one shown */
    struct err err;             /* why the last question failed, or why we may not watch */
};

static void advance(struct watch *w, enum watch_event event);

static bool is_wait_shown(const struct watch *w, const struct event_row *event)
{
    return vec_any(&w->waits, it,
                   strcmp(it->reason, event->reason) == 0 && strcmp(it->text, event->note) == 0);
}

static void show_events(struct watch *w, const struct loaded_run *run)
{
    for (size_t i = w->n_events; i < run->n_events; i++) {
        if (!is_wait_shown(w, &run->events[i])) {
            progress_event(w->progress, run->events[i].type, run->events[i].reason,
                           run->events[i].note);
        }
    }
    w->n_events = run->n_events > w->n_events ? run->n_events : w->n_events;
}

/* Those that are not known yet. */
static int take_attempts(struct watch *w, const struct loaded_run *run, bool are_shown)
{
    struct run_walk walk = loaded_run_walk(run);
    const struct attempt_row *row;
    int r;
    while ((r = run_walk_next(&walk, &row, &w->err)) > 0) {
        if (attempt_ids_add(&w->known, row->id) && are_shown) {
            progress_attempt(w->progress, row);
        }
    }
    return r;
}

/* The whole file: the run as it was accepted. */
static int begin_progress(struct watch *w, const struct kube_response *res)
{
    int r = cluster_read_file(res->body, res->body_len, NULL, &w->run, &w->err);
    if (r < 0) {
        return r;
    }
    const struct progress_params params = {
        .mode = w->opts->mode,
        .def = w->run.def,
        .run = w->opts->is_ours ? NULL : &w->run, /* its own are shown as they are new */
        .loop = &w->c->loop,
        .ascii = w->c->backend.cli->ascii,
        .color = w->c->backend.cli->color_stderr,
    };
    if ((r = progress_new(&params, &w->progress, &w->err)) < 0) {
        loaded_run_done(&w->run);
        return r;
    }
    r = take_attempts(w, &w->run, w->opts->is_ours); /* ended before benchd could be asked */
    w->n_events = w->run.n_events;
    progress_status(w->progress, &w->run.row.status);
    return r;
}

/* The file with one attempt. */
static int show_attempt(struct watch *w, const struct kube_response *res)
{
    _cleanup_(loaded_run_done) struct loaded_run run = {0};
    const struct attempt_id id = w->wanted.list.items[--w->wanted.list.len];
    int r = cluster_read_file(res->body, res->body_len, NULL, &run, &w->err);
    r = r < 0 ? r : take_attempts(w, &run, true);
    if (r >= 0) {
        show_events(w, &run);
        (void)attempt_ids_add(&w->known, id); /* also if it was not in the answer */
    }
    return r;
}

static void show_state(struct watch *w, const struct run_state *state)
{
    progress_status(w->progress, &state->status);
    const struct record_step *now = &state->step.of, *before = &w->step.of;
    if (state->has_step && (!replica_id_eq(&state->step.id, &w->step.id) ||
                            now->step != before->step || now->warmup != before->warmup)) {
        const struct record record = {.type = RECORD_STEP, .step = *now};
        progress_record(w->progress, &state->step.id, &record);
        w->step = state->step;
    }
}

/* Ended attempts are shown before the state that follows them: true where there are some to ask
 * for. */
static bool take_state(struct watch *w, const json_t *document)
{
    struct run_state state;
    struct err err = {0};
    if (run_state_read(document, &state, &err) < 0) {
        return false; /* the next one may be whole */
    }
    vec_each (const struct attempt_id, id, &state.attempts.list) {
        if (!attempt_ids_has(&w->known, *id)) {
            (void)attempt_ids_add(&w->wanted, *id);
        }
    }
    const bool has_more = w->wanted.list.len > 0;
    if (!has_more) {
        show_state(w, &state);
    }
    attempt_ids_done(&state.attempts);
    return has_more;
}

static bool has_object(const struct watch *w)
{
    const struct kube_object *object = kube_cache_get(kube_informer_cache(w->informer), w->name);
    return object != NULL && strcmp(object->uid, w->uid) == 0;
}

static enum watch_event failure(const struct watch *w, int http_code)
{
    if (http_code == 404) {
        return has_object(w) ? WATCH_ON_UNKNOWN_RUN : WATCH_ON_NO_RUN;
    }
    return w->err.code == EACCES ? WATCH_ON_NO_RIGHT : WATCH_ON_FAILURE;
}

/* Shows what came; *ret is what is to be asked after it. */
static int take_answer(struct watch *w, const struct kube_response *res, enum watch_event *ret)
{
    if (w->progress == NULL) {
        *ret = WATCH_ON_BEGIN;
        return begin_progress(w, res);
    }
    *ret = WATCH_ON_MORE; /* the state that named the attempt, at least */
    if (w->wanted.list.len > 0) {
        return show_attempt(w, res);
    }
    json_auto_t *document = NULL;
    const int r = kube_json_load(res->body, res->body_len, &document, &w->err);
    *ret = r >= 0 && take_state(w, document) ? WATCH_ON_MORE : WATCH_ON_ALL;
    return r;
}

static void on_answer(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    struct watch *w = ctx;
    enum watch_event event = WATCH_ON_ALL; /* not accepted (yet) */
    w->call = NULL;
    w->err = *err;
    if (r >= 0) {
        w->err = (struct err){0};
        r = take_answer(w, res, &event);
    }
    advance(w, r >= 0 || r == CLUSTER_NOT_ACCEPTED ? event : failure(w, res->http_code));
}

static void ask(struct watch *w)
{
    _cleanup_(freep) char *path = NULL;
    if (w->progress == NULL) {
        path = cluster_api_path(w->name, "/file");
    } else if (w->wanted.list.len > 0) {
        const struct attempt_id *id = &w->wanted.list.items[w->wanted.list.len - 1];
        path = cluster_api_path(w->name, "/file?point=%u&trial=%u&attempt=%u", id->point, id->trial,
                                id->number);
    } else {
        path = cluster_api_path(w->name, "%s", "");
    }
    struct kube_client *client;
    struct kube_request req;
    cluster_api_request(w->c, path, &client, &req);
    (void)uv_timer_stop(&w->tick); /* always 0 */
    w->asked_ms = uv_now(&w->c->loop);
    w->call = kube_call(client, &req, &cluster_options, on_answer, w);
}

static void on_tick(uv_timer_t *timer)
{
    struct watch *w = timer->data;
    const struct err *err = kube_reflector_error(kube_informer_reflector(w->informer));
    if (err != NULL && (err->code == EACCES || err->code == ENOENT)) {
        w->err = *err;
        advance(w, WATCH_ON_FORBIDDEN);
    } else {
        advance(w, WATCH_ON_TICK);
    }
}

static void ask_later(struct watch *w)
{
    const uint64_t took_ms = uv_now(&w->c->loop) - w->asked_ms;
    if (w->machine.n_unanswered > 0) {
        w->wanted.list.len = 0; /* the next state names them again */
    }
    (void)uv_timer_start(&w->tick, on_tick, watch_wait_ms(&w->machine, took_ms), 0);
}

static void on_timeout(uv_timer_t *timer)
{
    advance(timer->data, WATCH_ON_TIMEOUT);
}

static void on_cancelled(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    (void)res;
    struct watch *w = ctx;
    w->cancellation = NULL;
    if (r < 0) {
        cli_note(w->c->backend.cli, "%s", err->msg);
        advance(w, WATCH_ON_NO_CANCEL);
    }
}

static void cancel(struct watch *w)
{
    cli_note(w->c->backend.cli, "--timeout expired: cancelling run/%s", w->name);
    json_auto_t *patch = json_pack("{s:{s:b}}", "spec", "cancel", 1);
    struct kube_request req;
    kube_request_merge_patch(&kube_benchmark_runs, w->c->ns, w->name, w->uid, patch, &req);
    w->cancellation = kube_call(w->c->client, &req, &cluster_options, on_cancelled, w);
    (void)uv_timer_start(&w->timeout, on_timeout, CANCEL_GRACE_MS, 0); /* always 0 */
}

static void on_patience(uv_timer_t *timer)
{
    advance(timer->data, WATCH_ON_PATIENCE);
}

static void show_note(const struct watch *w, enum watch_note note)
{
    if (note == WATCH_NOTE_SILENT) {
        cli_note(w->c->backend.cli, "benchd does not answer; the run continues: %s", w->err.msg);
    } else if (note == WATCH_NOTE_LATE) {
        cli_note(w->c->backend.cli,
                 "run/%s has ended (%s), but benchd does not answer; retrying: %s", w->name,
                 run_phase_to_string(w->status.phase), w->err.msg);
    }
}

static void advance(struct watch *w, enum watch_event event)
{
    static void (*const acts[])(struct watch *) = {[WATCH_DO_NOTHING] = NULL,
                                                   [WATCH_DO_ASK] = ask,
                                                   [WATCH_DO_WAIT] = ask_later,
                                                   [WATCH_DO_CANCEL] = cancel};
    const struct watch_todo todo = watch_step(&w->machine, event);
    show_note(w, todo.note);
    if (todo.is_patience_renewed) {
        (void)uv_timer_start(&w->patience, on_patience, LAST_WAIT_MS, 0); /* always 0 */
    }
    if (acts[todo.act] != NULL) {
        acts[todo.act](w);
    }
}

static void show_phase(struct watch *w, const struct run_status *status)
{
    const bool is_news =
        status->phase != w->status.phase || strcmp(status->message, w->status.message) != 0;
    if (is_news && w->progress != NULL && wait_is_in(status)) { /* benchd's events come late */
        progress_event(w->progress, EVENT_WARNING, status->reason, status->message);
        struct run_wait *shown = vec_push(&w->waits);
        text_put(shown->reason, sizeof(shown->reason), "%s", status->reason);
        text_put(shown->text, sizeof(shown->text), "%s", status->message);
    }
    if (is_news && w->progress == NULL && w->opts->mode != PROGRESS_NONE) {
        cli_note(w->c->backend.cli, "run/%s: %s%s%s", w->name, run_phase_to_string(status->phase),
                 status->message[0] == '\0' ? "" : ": ", status->message);
    }
}

static void on_change(void *ctx, enum kube_change change, const struct kube_object *object)
{
    struct watch *w = ctx;
    if (strcmp(object->uid, w->uid) != 0) {
        return; /* a later run of the same name */
    }
    if (change == KUBE_CHANGE_REMOVED) {
        advance(w, WATCH_ON_DELETE);
        return;
    }
    struct run_status status;
    json_auto_t *run = kube_json_kept(object->facts);
    object_read_status(run, &status);
    show_phase(w, &status);
    w->status = status;
    advance(w, run_phase_is_final(status.phase) ? WATCH_ON_END : WATCH_ON_CHANGE);
}

/* A run that was deleted before a list is not in it, and no watch reports its deletion. */
static void on_synced(void *ctx)
{
    struct watch *w = ctx;
    if (!has_object(w)) {
        advance(w, WATCH_ON_DELETE);
    }
}

static void on_signal(uv_signal_t *handle, int signum)
{
    (void)signum;
    advance(handle->data, WATCH_ON_SIGNAL);
}

static void start_handles(struct watch *w)
{
    static const int signals[N_SIGNALS] = {SIGINT, SIGTERM, SIGHUP};
    uv_loop_t *loop = &w->c->loop;
    for (size_t i = 0; i < N_SIGNALS; i++) {
        (void)uv_signal_init(loop, &w->signals[i]); /* fails only without a signal pipe */
        w->signals[i].data = w;
        (void)uv_signal_start(&w->signals[i], on_signal, signals[i]);
    }
    (void)uv_timer_init(loop, &w->tick); /* always 0, as all of these */
    (void)uv_timer_init(loop, &w->timeout);
    (void)uv_timer_init(loop, &w->patience);
    w->tick.data = w->timeout.data = w->patience.data = w;
    (void)uv_timer_start(&w->tick, on_tick, 0, 0);
    if (w->opts->timeout_ms > 0) {
        (void)uv_timer_start(&w->timeout, on_timeout, (uint64_t)w->opts->timeout_ms, 0);
    }
}

/* After this no callback comes. */
static void end_handles(struct watch *w)
{
    kube_call_cancel(w->call);
    kube_call_cancel(w->cancellation);
    kube_informer_free(w->informer);
    if (w->progress != NULL) {
        progress_end(w->progress);
    }
    uv_close((uv_handle_t *)&w->tick, NULL);
    uv_close((uv_handle_t *)&w->timeout, NULL);
    uv_close((uv_handle_t *)&w->patience, NULL);
    for (size_t i = 0; i < N_SIGNALS; i++) {
        uv_close((uv_handle_t *)&w->signals[i], NULL);
    }
    (void)uv_run(&w->c->loop, UV_RUN_NOWAIT); /* the close callbacks need two turns */
    (void)uv_run(&w->c->loop, UV_RUN_NOWAIT);
}

enum watch_state cluster_watch(struct cluster *c, const char *name, const char *uid,
                               const struct run_opts *opts, struct run_status *ret_status,
                               struct err *err)
{
    struct watch *w = xnew(struct watch);
    w->c = c;
    w->name = name;
    w->uid = uid;
    w->opts = opts;
    _cleanup_(freep) char *selector = xasprintf("metadata.name=%s", name);
    const struct kube_reflector_params params = {.resource = &kube_benchmark_runs,
                                                 .ns = c->ns,
                                                 .field_selector = selector,
                                                 .on_change = on_change,
                                                 .on_synced = on_synced,
                                                 .ctx = w};
    w->informer = kube_informer_new(c->client, &params);
    start_handles(w);
    while (!watch_is_over(&w->machine)) {
        (void)uv_run(&c->loop, UV_RUN_ONCE);
    }
    end_handles(w);
    const enum watch_state end = w->machine.state;
    *ret_status = w->status;
    *err = w->err;
    progress_free(w->progress);
    loaded_run_done(&w->run);
    attempt_ids_done(&w->known);
    attempt_ids_done(&w->wanted);
    vec_done(&w->waits);
    free(w);
    return end;
}
