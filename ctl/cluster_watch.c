/* Looking on while a run goes on, see cluster_internal.h: the object is watched, and what only benchd knows
 * (steps, ended attempts) is asked from its API, once a second and slower when answers are slow.
 *
 *   object changes ---> on_change --final--> last questions, for as long as LAST_WAIT_MS --> over
 *   timer -----------> ask --> run? --> its document (definition, attempts so far): progress begins
 *                          '-> state and steps --> each attempt that is new: its rows
 *
 * The API server and benchd may go away and come back meanwhile: only our own right to watch ends
 * it. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ctl/cluster_internal.h"
#include "ctl/object.h"
#include "ctl/progress.h"
#include "ctl/run_state.h"
#include "kube/informer.h"
#include "kube/json.h"

#define TICK_MS 1000
#define SLOWNESS 20        /* at most this part of the time is spent on asking */
#define BACK_OFF_MAX 2     /* doublings of TICK_MS, while nothing is answered */
#define LAST_WAIT_MS 30000 /* without an answer, when the run has ended: benchd may be restarting */
#define CANCEL_GRACE_MS 30000 /* for benchd to end a run after --timeout */

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
#define N_SIGNALS (sizeof(signals) / sizeof(signals[0]))

struct watch {
    struct cluster *c;
    const char *name, *uid;
    const struct run_opts *opts;
    uv_timer_t tick, timeout, patience;
    uv_signal_t signals[N_SIGNALS];
    struct kube_informer *informer;
    struct kube_call *call; /* the question under way, NULL: none */
    struct {
        bool is_begun;          /* --timeout has passed */
        struct kube_call *call; /* NULL: answered */
    } cancelling;
    uint64_t asked_ms;
    struct run_status status;  /* of the object */
    struct loaded_run run;     /* as it was when the progress began */
    struct progress *progress; /* NULL: benchd has not accepted the run yet */
    struct attempt_ids known;  /* attempts that were shown */
    struct attempt_ids wanted; /* new ones, to be asked for */
    bool is_behind;            /* the last state is not shown: these come first */
    size_t n_events;           /* shown */
    struct replica_step step;  /* the last one shown */
    bool is_lost;              /* benchd is not where it was: its Lease is asked */
    struct err lost;           /* how that was seen */
    bool is_silent;            /* benchd did not answer, and it was said */
    unsigned n_unanswered;     /* questions since the last answer */
    bool is_last;              /* the run is over: what is asked now is the last */
    bool is_last_asked;        /* and the one under way was asked since */
    bool is_wait_told;         /* that the last ones get no answer */
    bool is_gone;              /* its object, since then */
    bool is_over;
    enum watch_end end;
    struct err err; /* why nothing is answered, or why we may not watch */
};

static void ask(struct watch *w);

static void over(struct watch *w, enum watch_end end)
{
    if (!w->is_over) {
        w->is_over = true;
        const bool has_ended = end == WATCH_ENDED || end == WATCH_UNTOLD;
        w->end = has_ended && w->cancelling.is_begun ? WATCH_TIMEOUT : end;
    }
}

static void show_events(struct watch *w, const struct loaded_run *run)
{
    for (size_t i = w->n_events; i < run->n_events; i++) {
        progress_event(w->progress, run->events[i].type, run->events[i].reason,
                       run->events[i].note);
    }
    w->n_events = run->n_events > w->n_events ? run->n_events : w->n_events;
}

/* The whole document: the run as it was accepted. */
static void begin_progress(struct watch *w, const json_t *document)
{
    struct err err = {0};
    if (cluster_take_document(document, NULL, &w->run, &err) < 0 || w->run.def == NULL) {
        loaded_run_done(&w->run); /* asked again at the next tick */
        return;
    }
    const struct progress_params params = {
        .mode = w->opts->mode,
        .def = w->run.def,
        .rows = w->run.rows,
        .n_rows = w->opts->is_ours ? 0 : w->run.n_rows, /* else they are told */
        .loop = &w->c->loop,
        .ascii = w->c->backend.cli->ascii,
        .color = w->c->backend.cli->color_stderr,
    };
    w->progress = progress_new(&params);
    for (size_t i = 0; i < w->run.n_rows; i++) {
        const struct attempt_row *row = &w->run.rows[i];
        (void)attempt_ids_add(&w->known, row->id);
    }
    w->n_events = w->run.n_events;
    for (size_t i = 0; w->opts->is_ours && i < w->run.n_rows; i++) {
        progress_attempt(w->progress, &w->run.rows[i]); /* benchd was away while it ran */
    }
    progress_status(w->progress, &w->run.row.status);
}

/* The document with one attempt. */
static void show_attempt(struct watch *w, const json_t *document)
{
    struct loaded_run run;
    struct err err = {0};
    if (cluster_take_document(document, NULL, &run, &err) >= 0) {
        for (size_t i = 0; i < run.n_rows; i++) {
            const struct attempt_row *row = &run.rows[i];
            const struct attempt_id id = {row->id.point, row->id.trial, row->id.number};
            if (attempt_ids_add(&w->known, id)) {
                progress_attempt(w->progress, row);
            }
        }
        show_events(w, &run);
    }
    loaded_run_done(&run);
}

static void show_state(struct watch *w, const struct run_state *state)
{
    progress_status(w->progress, &state->status);
    if (state->has_step && !replica_step_eq(&state->step, &w->step)) {
        const struct record record = {
            .type = RECORD_STEP,
            .step = {.step = state->step.step,
                     .warmup = state->step.is_warmup,
                     .step_ns = state->step.step_ns,
                     .samples = state->step.samples},
        };
        progress_record(w->progress, &state->step.id, &record);
        w->step = state->step;
    }
}

/* What has ended is shown before what is so since then. */
static void take_state(struct watch *w, const json_t *document)
{
    struct run_state state;
    struct err err = {0};
    w->is_behind = false;
    if (run_state_read(document, &state, &err) < 0) {
        return; /* the next one may be whole */
    }
    vec_each (const struct attempt_id, id, &state.attempts.list) {
        if (!attempt_ids_has(&w->known, *id)) {
            (void)attempt_ids_add(&w->wanted, *id);
        }
    }
    w->is_behind = w->wanted.list.len > 0;
    if (!w->is_behind) {
        show_state(w, &state);
    }
    attempt_ids_done(&state.attempts);
}

static void no_last_answer(struct watch *w, int http_code, const struct err *err)
{
    if (http_code == 404 && w->is_gone) {
        over(w, WATCH_GONE);
    } else if (err->code == EACCES) {
        over(w, WATCH_UNTOLD);
    } else if (!w->is_wait_told) {
        w->is_wait_told = true;
        cli_note(w->c->backend.cli,
                 "run/%s has ended: %s; benchd does not answer, asking again: %s", w->name,
                 run_phase_to_string(w->status.phase), err->msg);
    }
}

static void no_answer(struct watch *w, int http_code, const struct err *err)
{
    w->wanted.list.len = 0; /* the next state names them again */
    w->n_unanswered++;
    w->err = *err;
    if (w->is_last) {
        no_last_answer(w, http_code, err);
    } else if (http_code != 404 && !w->is_silent) { /* 404: benchd is about to see the run */
        w->is_silent = true;
        cli_note(w->c->backend.cli, "benchd does not answer, the run goes on: %s", err->msg);
    }
}

/* Slower for a benchd that is slow to answer; less and less often for one that does not. */
static void ask_later(struct watch *w)
{
    const uint64_t slow_ms = (uv_now(&w->c->loop) - w->asked_ms) * SLOWNESS;
    const unsigned n = w->n_unanswered;
    uint64_t wait_ms = slow_ms > TICK_MS ? slow_ms : TICK_MS;
    if (n > 0) {
        wait_ms = (uint64_t)TICK_MS << (n - 1 < BACK_OFF_MAX ? n - 1 : BACK_OFF_MAX);
    }
    if (!w->is_over) {
        (void)uv_timer_start(&w->tick, w->tick.timer_cb, wait_ms, 0); /* it is initialised */
    }
}

static void on_lease(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    (void)err; /* what counts is that benchd did not answer */
    struct watch *w = ctx;
    w->call = NULL;
    if (r >= 0 && cluster_learn_address(w->c, res)) {
        ask(w);
        return;
    }
    w->is_lost = false; /* sought again with the next failure */
    no_answer(w, 0, &w->lost);
    ask_later(w);
}

/* A benchd outside the cluster has another port with each start. True: its Lease is asked first. */
static bool seek(struct watch *w, const struct kube_response *res, const struct err *err)
{
    if (w->c->direct == NULL || res->failure == KUBE_ANSWERED || w->is_lost) {
        return false;
    }
    w->is_lost = true;
    w->lost = *err;
    struct kube_request req;
    cluster_lease_request(w->c, &req);
    w->call = kube_call(w->c->client, &req, &cluster_options, on_lease, w);
    return true;
}

static void on_patience(uv_timer_t *timer)
{
    over(timer->data, WATCH_UNTOLD);
}

/* From now on, or from now on again. */
static void be_patient(struct watch *w)
{
    (void)uv_timer_start(&w->patience, on_patience, LAST_WAIT_MS, 0); /* always 0 */
}

static void take_document(struct watch *w, const json_t *document)
{
    w->n_unanswered = 0;
    w->err = (struct err){0};
    if (w->progress == NULL) {
        w->is_silent = false;
        begin_progress(w, document);
        if (w->is_last_asked && w->progress == NULL) {
            over(w, WATCH_ENDED); /* it was never accepted */
        }
    } else if (w->wanted.list.len > 0) {
        const struct attempt_id id = w->wanted.list.items[--w->wanted.list.len];
        show_attempt(w, document);
        (void)attempt_ids_add(&w->known, id); /* also if it was not in the answer */
    } else {
        w->is_silent = false;
        take_state(w, document);
        if (w->is_last_asked && w->wanted.list.len == 0) {
            over(w, WATCH_ENDED);
        }
    }
}

static void on_answer(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    struct watch *w = ctx;
    w->call = NULL;
    json_t *document = NULL;
    struct err wrong = *err;
    if (r >= 0) {
        r = kube_json_load(res->body, res->body_len, &document, &wrong);
    }
    if (r < 0 && seek(w, res, &wrong)) {
        return;
    }
    w->is_lost = false;
    if (r < 0) {
        no_answer(w, res->http_code, &wrong);
        ask_later(w);
        return;
    }
    take_document(w, document);
    json_decref(document);
    if (w->is_last) {
        be_patient(w);
    }
    if (w->is_last || w->is_behind) {
        ask(w);
    } else {
        ask_later(w);
    }
}

static void ask(struct watch *w)
{
    if (w->call != NULL || w->is_over) {
        return;
    }
    _cleanup_(freep) char *path = NULL;
    if (w->progress == NULL) {
        path = cluster_api_path(w->name, "/attempts");
    } else if (w->wanted.list.len > 0) {
        const struct attempt_id *id = &w->wanted.list.items[w->wanted.list.len - 1];
        path = cluster_api_path(w->name, "/attempts?point=%u&trial=%u&attempt=%u", id->point,
                                id->trial, id->number);
    } else {
        path = cluster_api_path(w->name, "%s", "");
    }
    struct kube_client *client;
    struct kube_request req;
    cluster_api_request(w->c, path, &client, &req);
    (void)uv_timer_stop(&w->tick); /* always 0 */
    w->is_last_asked = w->is_last;
    w->asked_ms = uv_now(&w->c->loop);
    w->call = kube_call(client, &req, &cluster_options, on_answer, w);
}

static void on_tick(uv_timer_t *timer)
{
    struct watch *w = timer->data;
    const struct err *err = kube_reflector_error(kube_informer_reflector(w->informer));
    if (err != NULL && (err->code == EACCES || err->code == ENOENT)) {
        w->err = *err;
        over(w, WATCH_FAILED);
        return;
    }
    ask(w);
}

static void show_phase(struct watch *w, const struct run_status *status)
{
    const bool is_news =
        status->phase != w->status.phase || strcmp(status->message, w->status.message) != 0;
    if (is_news && w->progress == NULL && w->opts->mode != PROGRESS_NONE) {
        cli_note(w->c->backend.cli, "run/%s: %s%s%s", w->name, run_phase_to_string(status->phase),
                 status->message[0] == '\0' ? "" : ": ", status->message);
    }
}

static void on_change(void *ctx, enum kube_change change, const struct kube_object *object)
{
    struct watch *w = ctx;
    if (strcmp(object->uid, w->uid) != 0) {
        return; /* another run of that name, later */
    }
    if (change == KUBE_CHANGE_REMOVED) {
        w->is_gone = true;
        if (!w->is_last) { /* else its time to live may be over: the results outlive it */
            over(w, WATCH_GONE);
        }
        return;
    }
    struct run_status status;
    object_read_status(object->json, &status);
    show_phase(w, &status);
    w->status = status;
    if (run_phase_is_final(status.phase) && !w->is_last) {
        w->is_last = true;
        be_patient(w);
    }
    ask(w);
}

/* What was gone before the first list is in none, and no watch tells that it went. */
static void on_synced(void *ctx)
{
    struct watch *w = ctx;
    const struct kube_object *object = kube_cache_get(kube_informer_cache(w->informer), w->name);
    if (object == NULL || strcmp(object->uid, w->uid) != 0) {
        over(w, WATCH_GONE);
    }
}

static void on_signal(uv_signal_t *handle, int signum)
{
    (void)signum;
    over(handle->data, WATCH_DETACHED);
}

static void on_grace(uv_timer_t *timer)
{
    over(timer->data, WATCH_TIMEOUT);
}

static void on_cancelled(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    (void)res;
    struct watch *w = ctx;
    w->cancelling.call = NULL;
    if (r < 0) {
        cli_note(w->c->backend.cli, "%s", err->msg);
        over(w, WATCH_TIMEOUT);
    }
}

static void on_timeout(uv_timer_t *timer)
{
    struct watch *w = timer->data;
    if (w->is_last) {
        return;
    }
    w->cancelling.is_begun = true;
    cli_note(w->c->backend.cli, "--timeout has passed: cancelling run/%s", w->name);
    json_t *patch = json_pack("{s:{s:b}}", "spec", "cancel", 1);
    struct kube_request req;
    kube_request_merge_patch(&kube_benchmark_runs, w->c->ns, w->name, patch, &req);
    json_decref(patch);
    w->cancelling.call = kube_call(w->c->client, &req, &cluster_options, on_cancelled, w);
    (void)uv_timer_start(&w->timeout, on_grace, CANCEL_GRACE_MS, 0);
}

static void start_handles(struct watch *w)
{
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

/* No callback comes any more; the memory of handles goes with the turns of the loop. */
static void end_handles(struct watch *w)
{
    if (w->call != NULL) {
        kube_call_cancel(w->call);
    }
    if (w->cancelling.call != NULL) {
        kube_call_cancel(w->cancelling.call);
    }
    kube_informer_free(w->informer);
    if (w->progress != NULL) {
        progress_end(w->progress);
    }
    for (size_t i = 0; i < N_SIGNALS; i++) {
        uv_close((uv_handle_t *)&w->signals[i], NULL);
    }
    uv_close((uv_handle_t *)&w->tick, NULL);
    uv_close((uv_handle_t *)&w->timeout, NULL);
    uv_close((uv_handle_t *)&w->patience, NULL);
    (void)uv_run(&w->c->loop, UV_RUN_NOWAIT); /* the close callbacks */
    (void)uv_run(&w->c->loop, UV_RUN_NOWAIT);
}

enum watch_end cluster_watch(struct cluster *c, const char *name, const char *uid,
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
    while (!w->is_over) {
        (void)uv_run(&c->loop, UV_RUN_ONCE);
    }
    end_handles(w);
    const enum watch_end end = w->end;
    *ret_status = w->status;
    *err = w->err;
    progress_free(w->progress);
    loaded_run_done(&w->run);
    attempt_ids_done(&w->known);
    attempt_ids_done(&w->wanted);
    free(w);
    return end;
}
