/* The driving half of a run; its object is in run_object.c. See run.h. */
#include "daemon/run.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "daemon/bmr.h"
#include "kube/rfc3339.h"
#include "run/driver.h"

bool run_is_final(const struct run *run)
{
    return run_phase_is_final(run->status.phase);
}

/* ---- what the driver tells ---- */

static void on_status(void *ctx, const struct run_status *status)
{
    struct run *run = ctx;
    run->status = *status;
    daemon_wake(run->d);
}

static void on_event(void *ctx, enum event_type type, const char *reason, const char *note)
{
    struct run *run = ctx;
    event_recorder_emit(&run->d->events, run->name, run->uid, type, reason, note);
}

/* The mean time of the trials so far, for those to come. */
static void guess_eta(struct run *run)
{
    const struct run_status *s = &run->status;
    const int64_t now_ms = clock_unix_ms();
    const uint32_t n_done = s->trials_done + 1; /* the row comes before the status */
    if (s->started_unix_ms > 0 && n_done < s->trials_total) {
        run->eta_s = (now_ms - s->started_unix_ms) / 1000 / n_done * (s->trials_total - n_done);
    }
}

static void on_attempt(void *ctx, const struct attempt_row *row)
{
    struct run *run = ctx;
    run->d->counters.attempts[row->outcome]++;
    run->progress.is_known = false;
    guess_eta(run);
    daemon_wake(run->d);
}

static void on_record(void *ctx, const struct replica_id *id, const struct record *record)
{
    struct run *run = ctx;
    if (record->type != RECORD_STEP) {
        return;
    }
    const struct record_step *step = &record->step;
    run->progress = (struct daemon_progress){
        .is_known = true,
        .id = *id,
        .step = step->step,
        .is_warmup = step->warmup,
        .step_ns = step->step_ns,
        .samples = step->samples,
        .loss = step->loss,
        .seen_unix_ms = clock_unix_ms(),
    };
}

static void on_done(void *ctx)
{
    struct run *run = ctx;
    run->is_driver_done = true;
    daemon_wake(run->d);
}

/* ---- starting and stopping ---- */

bool run_is_due(const struct run *run)
{
    if (run->def == NULL || !run->is_stored || run->is_gone || run->is_deleting ||
        run_is_final(run)) {
        return false;
    }
    return !run->suspend || run->status.phase == RUN_RUNNING; /* then its pods must go first */
}

enum pod_naming run_naming(const struct run *run, const struct run_def *def)
{
    switch (def->spec->addressing) {
    case ADDRESSING_DNS:
        return POD_BY_DNS;
    case ADDRESSING_IP:
        return POD_BY_IP;
    case ADDRESSING_AUTO:
        break;
    }
    return run->d->has_dns ? POD_BY_DNS : POD_BY_IP;
}

int run_start(struct run *run, struct err *err)
{
    struct daemon *d = run->d;
    unsigned char secret[KEY_SIZE];
    int r = key_derive(d->key, run->uid, secret, err);
    if (r < 0) {
        return r;
    }
    run->launcher = pods_new(&(struct pods_params){
        .loop = d->loop,
        .client = d->client,
        .cache = kube_informer_cache(d->watches.informers[WATCH_PODS]),
        .ns = d->ns,
        .def = run->def,
        .naming = run_naming(run, run->def),
        .secret = secret,
        .secret_len = sizeof(secret),
        .node_wait_ms = d->options->node_wait_ms,
        .image_wait_ms = d->options->image_wait_ms,
        .counters = &d->pods,
        .seed = (uint64_t)clock_monotonic_ns(),
    });
    explicit_bzero(secret, sizeof(secret));
    /* clang-format off */
    const struct driver_params params = {
        .loop = d->loop,
        .def = run->def,
        .launcher = run->launcher,
        .store = d->store,
        .clock = wall_clock_real,
        .events = {.status = on_status, .event = on_event, .attempt = on_attempt,
                   .record = on_record, .done = on_done, .ctx = run},
        .status = run->status,
    };
    /* clang-format on */
    r = driver_new(&params, &run->driver, err);
    if (r < 0) {
        run->launcher->ops->free(run->launcher);
        run->launcher = NULL;
        return r;
    }
    run->is_driver_done = false;
    log_event(LOG_LEVEL_INFO, "driving a run", "run", run->name, "addressing",
              run_naming(run, run->def) == POD_BY_DNS ? "Dns" : "Ip", NULL);
    driver_start(run->driver);
    return 0;
}

void run_detach(struct run *run)
{
    if (run->driver != NULL) {
        driver_free(run->driver);
        run->driver = NULL;
    }
    if (run->launcher != NULL) {
        run->launcher->ops->free(run->launcher);
        run->launcher = NULL;
    }
    run->progress.is_known = false;
}

int run_stop(struct run *run, struct err *err)
{
    struct run_status status;
    int r = run->is_driver_done ? driver_finish(run->driver, &status, err) : 0;
    if (r == 0 && run->is_driver_done) {
        run->status = status;
        log_event(LOG_LEVEL_INFO, "a run has ended", "run", run->name, "phase",
                  run_phase_to_string(status.phase), "reason", status.reason, NULL);
        run->d->counters.runs_finished += run_phase_is_final(status.phase);
    }
    run_detach(run);
    return r;
}

/* A run that nobody drives has no pods: what is asked for is true at once. */
static int decide(struct run *run, enum run_phase phase, const char *reason, struct err *err)
{
    struct run_status status = run->status;
    status.phase = phase;
    text_put(status.reason, sizeof(status.reason), "%s", reason);
    text_put(status.message, sizeof(status.message), "%u of %u trials done, %u failed",
             status.trials_done, status.trials_total, status.trials_failed);
    status.has_current = false;
    status.ended_unix_ms = clock_unix_ms();
    int r = run->d->store->ops->put_status(run->d->store, run->uid, &status, err);
    if (r == 0) {
        run->status = status;
        run->d->counters.runs_finished += run_phase_is_final(phase);
        event_recorder_emit(&run->d->events, run->name, run->uid, EVENT_NORMAL, reason,
                            status.message);
    }
    return r;
}

int run_steer(struct run *run, struct err *err)
{
    if (run->driver != NULL) {
        if (run->cancel || run->is_deleting) { /* whoever waits for its end gets no new pods */
            driver_cancel(run->driver);
        } else if (run->suspend) {
            driver_suspend(run->driver);
        }
        return 0;
    }
    if (!run->is_stored || run_is_final(run) || run->status.phase == RUN_RUNNING) {
        return 0;
    }
    if (run->cancel) {
        return decide(run, RUN_CANCELLED, "CancelRequested", err);
    }
    if (run->status.started_unix_ms == 0) { /* never driven: nothing to keep in the store */
        run->status.phase = run->suspend ? RUN_SUSPENDED : RUN_QUEUED;
        text_put(run->status.reason, sizeof(run->status.reason), "%s",
                 run->suspend ? "SuspendRequested" : "Queued");
    }
    return 0;
}

/* ---- life ---- */

struct run *run_new(struct daemon *d, const json_t *bmr)
{
    struct bmr_spec spec;
    bmr_read(bmr, &spec);
    struct run *run = xnew(struct run);
    run->d = d;
    run->name = xstrdup(spec.name);
    run->uid = xstrdup(spec.uid);
    run->created = xstrdup(spec.created);
    run->benchmark = xstrdup(spec.definition);
    run->eta_s = -1;
    run->progress.loss = NAN;
    const json_t *status = json_object_get(bmr, "status");
    run->conditions = json_incref(json_object_get(status, "conditions"));
    run_update(run, bmr);
    return run;
}

void run_update(struct run *run, const json_t *bmr)
{
    struct bmr_spec spec;
    bmr_read(bmr, &spec);
    run->generation = spec.generation;
    run->cancel = spec.cancel;
    run->suspend = spec.suspend;
    run->is_deleting = spec.is_deleting;
    run->is_definition_kept = run->is_definition_kept || spec.has_definition;
}

void run_free(struct run *run)
{
    run_detach(run);
    run_drop_checks(run);
    struct kube_call *calls[] = {run->definition_call, run->status_call, run->delete_call};
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        if (calls[i] != NULL) {
            kube_call_cancel(calls[i]);
        }
    }
    if (run->is_stored) {
        run->d->store->ops->release_run(run->d->store, run->uid);
    }
    run_def_free(run->def);
    json_decref(run->conditions);
    json_decref(run->written);
    free(run->name);
    free(run->uid);
    free(run->created);
    free(run->benchmark);
    free(run->refusal_text);
    free(run);
}

static int64_t created_unix_ms(const struct run *run)
{
    int64_t unix_ns = 0;
    if (run->def != NULL) {
        return run->def->created_unix_ms;
    }
    (void)kube_time_parse(run->created, strlen(run->created), &unix_ns); /* else it stays unknown */
    return unix_ns / 1000000;
}

void run_inspect(const struct run *run, struct daemon_run *ret)
{
    *ret = (struct daemon_run){
        .name = run->name,
        .uid = run->uid,
        .benchmark = run->benchmark,
        .def = run->def,
        .created_unix_ms = created_unix_ms(run),
        .status = &run->status,
        .is_active = run->driver != NULL,
        .is_stored = run->is_stored,
        .progress = run->progress,
    };
}
