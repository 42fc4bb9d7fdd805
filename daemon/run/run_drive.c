/* See run.h. */
#include "daemon/run/run.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "daemon/cluster/key.h"
#include "decide/policy_wait.h"
#include "run/driver.h"
#include "run/prometheus.h"

/* ---- what the driver reports ---- */

static void on_status(void *ctx, const struct run_status *status)
{
    struct run *run = ctx;
    run->status = *status;
    run_wake(run);
}

static void on_event(void *ctx, enum event_type type, const char *reason, const char *note)
{
    run_emit(ctx, type, reason, note);
}

/* Assumes that the trials to come take as long as those so far on average. */
static void guess_eta(struct run *run)
{
    const struct run_status *s = &run->status;
    const int64_t now_ms = clock_steady_unix_ms();
    const uint32_t n_done = s->trials_done + 1; /* the row comes before the status */
    if (s->started_unix_ms > 0 && n_done < s->trials_total) {
        run->eta_s = (now_ms - s->started_unix_ms) / 1000 / n_done * (s->trials_total - n_done);
    }
}

static void on_attempt(void *ctx, const struct attempt_row *row)
{
    struct run *run = ctx;
    struct node_labels *labels = run->env->node_labels;
    if (labels != NULL && labels->is_denied && !labels->is_reported) {
        labels->is_reported = true;
        log_event(LOG_LEVEL_INFO,
                  "no right to get nodes, so where replicas run is known by name alone", "fix",
                  "manifests/node-reader.yaml", NULL);
    }
    run->env->counters->attempts[row->outcome]++;
    run->parking.n_times = 0;
    run->progress.is_known = false;
    run->advanced_unix_ms = clock_steady_unix_ms();
    guess_eta(run);
    run_wake(run);
}

static void on_record(void *ctx, const struct replica_id *id, const struct record *record)
{
    struct run *run = ctx;
    if (record->type != RECORD_STEP) {
        return;
    }
    run->advanced_unix_ms = clock_steady_unix_ms();
    if (run->def->options.trials > 1 && !attempt_id_eq(&id->attempt, &run->status.current)) {
        return; /* what is shown is the first lane's */
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
        .seen_unix_ms = clock_steady_unix_ms(),
    };
}

static void on_done(void *ctx)
{
    struct run *run = ctx;
    run_enter(run, LIFE_ON_DRIVER_DONE);
    run_wake(run);
}

/* ---- starting and stopping ---- */

bool run_is_due(const struct run *run)
{
    if (run->life != LIFE_ACCEPTED || run->asked.is_gone || run->asked.is_deleting ||
        run_is_parked(run)) {
        return false;
    }
    if (run->asked.suspend || run->asked.cancel) {
        return wait_is_under_way(&run->status); /* its pods must go first */
    }
    return !run->env->is_store_full;
}

static struct launcher *make_launcher(const struct run *run,
                                      const unsigned char secret[static KEY_SIZE],
                                      const struct ssh_key *ssh)
{
    const struct run_env *env = run->env;
    struct run_wait wait = {0};
    if (wait_is_in(&run->status)) {
        text_put(wait.reason, sizeof(wait.reason), "%s", run->status.reason);
        text_put(wait.text, sizeof(wait.text), "%s", run->status.message);
        wait.is_partial = run->status.phase == RUN_RUNNING && wait_is_queue(wait.reason);
    }
    return pods_new(&(struct pods_params){
        .loop = env->loop,
        .client = env->client,
        .cache = env->pods,
        .ns = env->ns,
        .def = run->def,
        .workloads = env->workloads,
        .naming = run_naming(run, run->def),
        .account = env->options.replica_account,
        .registry = env->options.registry,
        .has_policy = env->options.has_policies,
        .secret = secret,
        .secret_len = KEY_SIZE,
        .ssh = ssh,
        .image_wait_ms = env->options.image_wait_ms,
        .setup_wait_ms = env->options.setup_wait_ms,
        .log_file_bytes = (uint64_t)env->options.log_file_bytes,
        .denied_wait_ms = env->options.lease_ms * 4 / 5,
        .counters = env->pod_counters,
        .node_labels = env->node_labels,
        .wait = wait,
        .seed = (uint64_t)clock_monotonic_ns(),
    });
}

int run_start(struct run *run, struct err *err)
{
    unsigned char secret[KEY_SIZE];
    int r = run->def != NULL ? 0 : run_load_def(run, err);
    r = r < 0 ? r : key_derive(run->env->key, run->uid, secret, err);
    if (r < 0) {
        return r;
    }
    const bool has_launcher = run->def->spec->roles[ROLE_LAUNCHER].present;
    struct ssh_key ssh;
    r = has_launcher ? key_derive_ssh(secret, &ssh, err) : 0;
    if (r < 0) {
        explicit_bzero(secret, sizeof(secret));
        return r;
    }
    struct launcher *launcher = make_launcher(run, secret, has_launcher ? &ssh : NULL);
    explicit_bzero(secret, sizeof(secret));
    explicit_bzero(&ssh, sizeof(ssh));
    struct prometheus *prometheus = NULL;
    r = prometheus_new(run->env->loop, run->env->options.prometheus, launcher, run->env->ns,
                       &prometheus, err);
    /* clang-format off */
    const struct driver_params params = {
        .loop = run->env->loop,
        .def = run->def,
        .launcher = launcher,
        .store = run->env->store,
        .events = {.status = on_status, .event = on_event, .attempt = on_attempt,
                   .record = on_record, .done = on_done, .ctx = run},
        .status = run->status,
        .prometheus = prometheus,
        .waits_for_space = true,
    };
    /* clang-format on */
    struct driver *driver;
    r = r < 0 ? r : driver_new(&params, &driver, err);
    if (r < 0) {
        launcher->ops->free(launcher);
        prometheus_free(prometheus);
        return r;
    }
    run_enter(run, LIFE_ON_STARTED);
    run->at.driven.launcher = launcher;
    run->at.driven.driver = driver;
    run->at.driven.prometheus = prometheus;
    run->advanced_unix_ms = clock_steady_unix_ms();
    log_event(LOG_LEVEL_INFO, "driving a run", "run", run->name, "addressing",
              run_naming(run, run->def) == POD_BY_DNS ? "DNS" : "IP", NULL);
    driver_start(driver);
    return 0;
}

void run_detach(struct run *run)
{
    if (run_is_driven(run)) {
        run_enter(run, LIFE_ON_DETACHED);
    }
}

int run_stop(struct run *run, struct err *err)
{
    struct run_status status;
    int r = driver_finish(run->at.driven.driver, &status, err);
    if (r < 0) {
        run_detach(run);
        return r;
    }
    const bool is_final = run_phase_is_final(status.phase);
    run->status = status;
    log_event(LOG_LEVEL_INFO, "a run has ended", "run", run->name, "phase",
              run_phase_to_string(status.phase), "reason", status.reason, NULL);
    run->env->counters->runs_finished[status.phase] += is_final;
    run_enter(run, is_final ? LIFE_ON_STOPPED_FINAL : LIFE_ON_STOPPED_EARLY);
    return r;
}

/* ---- cancel and suspend ---- */

/* A run that is not driven has no pods, so this takes effect at once. */
static int end_queued(struct run *run, enum run_phase phase, const char *reason, const char *why,
                      struct err *err)
{
    struct store *store = run->env->store;
    struct run_status status = run->status;
    status.phase = phase;
    text_put(status.reason, sizeof(status.reason), "%s", reason);
    text_put(status.message, sizeof(status.message), "%u of %u trials done, %u failed%s%s",
             status.trials_done, status.trials_total, status.trials_failed, why == NULL ? "" : "; ",
             why == NULL ? "" : why);
    memset(status.lanes, 0, sizeof(status.lanes));
    status.ended_unix_ms = clock_steady_unix_ms();
    int r = store->ops->put_status(store, run->uid, &status, err);
    if (r == 0) {
        run->status = status;
        run->env->counters->runs_finished[phase] += run_phase_is_final(phase);
        run_emit(run, phase == RUN_FAILED ? EVENT_WARNING : EVENT_NORMAL, reason, status.message);
        run_enter(run, LIFE_ON_ENDED_QUEUED);
    }
    return r;
}

void run_give_up(struct run *run, const struct err *why)
{
    struct err err;
    if (run->life == LIFE_ACCEPTED && !run->asked.is_gone &&
        end_queued(run, RUN_FAILED, "DriverFailed", why->msg, &err) < 0) {
        log_event(LOG_LEVEL_WARN, "the end of a run could not be stored, it stays parked", "run",
                  run->name, "err", err.msg, NULL);
    }
}

int run_steer(struct run *run, struct err *err)
{
    const struct run_asked *asked = &run->asked;
    if (run_is_driven(run)) {
        struct driver *driver = run->at.driven.driver;
        if (asked->is_gone && asked->erase && run->env->is_store_full) {
            driver_abandon(driver); /* it may wait for the very space that its deletion frees */
        } else if (asked->cancel || asked->is_deleting || asked->is_gone) {
            driver_cancel(driver); /* it gets no new pods */
        } else if (asked->suspend) {
            driver_suspend(driver);
        }
        pods_limit_wait(run->at.driven.launcher,
                        asked->wait_s > 0 ? asked->wait_s * 1000 : run->env->options.wait_ms);
        return 0;
    }
    if (run->life != LIFE_ACCEPTED || wait_is_under_way(&run->status)) {
        return 0;
    }
    if (asked->cancel) {
        return end_queued(run, RUN_CANCELLED, "CancelRequested", NULL, err);
    }
    if (run->status.started_unix_ms == 0) { /* never driven: nothing to keep in the store */
        run->status.phase = asked->suspend ? RUN_SUSPENDED : RUN_QUEUED;
        text_put(run->status.reason, sizeof(run->status.reason), "%s",
                 asked->suspend ? "SuspendRequested" : "Queued");
    }
    return 0;
}
