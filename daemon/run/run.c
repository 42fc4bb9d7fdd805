/* See run.h. */
#include "daemon/run/run.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "daemon/cluster/template_check.h"
#include "decide/policy_wait.h"
#include "doc/tree.h"
#include "base/rfc3339.h"
#include "run/driver.h"
#include "run/prometheus.h"
#include "spec/schemas.h"

bool run_is_final(const struct run *run)
{
    return run_phase_is_final(run->status.phase);
}

bool run_is_driven(const struct run *run)
{
    return run_life_is_driven(run->life);
}

int64_t run_ttl_s(const struct run *run)
{
    return run->def != NULL ? run->def->spec->run_policy.ttl_s : run->verdict.ttl_s;
}

bool run_ended_lately(const struct run *run)
{
    return clock_steady_unix_ms() - run->status.ended_unix_ms <= DAEMON_ENDED_MS;
}

bool run_is_settled(const struct run *run)
{
    const struct run_publication *p = &run->publication;
    return p->is_settled && run_is_final(run) && p->settled_phase == run->status.phase &&
           p->settled_generation == run->asked.generation;
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
    return run->env->has_dns ? POD_BY_DNS : POD_BY_IP;
}

void run_emit(const struct run *run, enum event_type type, const char *reason, const char *note)
{
    event_recorder_emit(run->env->events, run->name, run->uid, type, reason, note);
}

void run_hold_off(struct run *run, const char *reason, const char *text)
{
    run->refusal.reason = reason;
    free(run->refusal.text);
    run->refusal.text = xstrdup(text);
}

void run_park(struct run *run, const struct err *why)
{
    const unsigned n = run->parking.n_times++;
    const int64_t wait_ns = RUN_RETRY_NS
                            << (n < RUN_PARK_DOUBLINGS_MAX ? n : RUN_PARK_DOUBLINGS_MAX);
    run->parking.until_ns = clock_monotonic_ns() + wait_ns;
    _cleanup_(freep) char *note =
        xasprintf("%s; tried again in %d s", why->msg, (int)(wait_ns / 1000000000));
    if (!run_life_is_stored(run->life)) {
        run_hold_off(run, "RunParked", why->msg);
    } else if (!run_is_final(run)) {          /* for the condition; the store keeps what it has */
        if (run->status.ended_unix_ms == 0) { /* its deadline is not nearer now */
            run->status.ended_unix_ms = clock_steady_unix_ms();
        }
        text_put(run->status.reason, sizeof(run->status.reason), "RunParked");
        text_put(run->status.message, sizeof(run->status.message), "%s", note);
    }
    run_emit(run, EVENT_WARNING, "RunParked", note);
    log_event(LOG_LEVEL_ERROR, "a run is parked, the others go on", "run", run->name, "err", note,
              NULL);
}

bool run_is_parked(const struct run *run)
{
    return clock_monotonic_ns() < run->parking.until_ns;
}

void run_wake(const struct run *run)
{
    run->env->wake(run->env->ctx);
}

/* ---- states ---- */

static void leave(struct run *run)
{
    switch (run->life) {
    case LIFE_READING:
        kube_call_cancel(run->at.reading.call);
        free(run->at.reading.object);
        json_decref(run->at.reading.benchmark);
        break;
    case LIFE_FREEZING:
        kube_call_cancel(run->at.freezing.call);
        run_def_free(run->at.freezing.def);
        break;
    case LIFE_CHECKING:
        template_check_free(run->at.checking.check);
        run_def_free(run->at.checking.def);
        break;
    case LIFE_DRIVEN:
    case LIFE_DONE:
        driver_free(run->at.driven.driver);
        run->at.driven.launcher->ops->free(run->at.driven.launcher);
        prometheus_free(run->at.driven.prometheus);
        run->progress.is_known = false;
        break;
    case LIFE_WAITING:
    case LIFE_ACCEPTED:
    case LIFE_ENDED:
    case LIFE_REFUSED:
    case LIFE_PAST:
        break;
    }
    run->at = (union run_at){0};
}

bool run_enter(struct run *run, enum run_life_event event)
{
    enum run_life next;
    if (run_life_next(run->life, event, &next) < 0) {
        log_event(LOG_LEVEL_ERROR, "bug: an event that cannot happen in this state", "run",
                  run->name, "state", run_life_to_string(run->life), "event",
                  run_life_event_to_string(event), NULL);
        return false;
    }
    if (!(run_life_is_driven(run->life) && run_life_is_driven(next))) {
        leave(run);
    }
    if (run_life_is_claimed(run->life) && !run_life_is_claimed(next)) {
        run->env->store->ops->release_run(run->env->store, run->uid);
    }
    run->life = next;
    return true;
}

/* ---- life ---- */

struct run *run_new(const struct run_env *env, const struct bmr_facts *facts)
{
    struct run *run = xnew(struct run);
    run->env = env;
    run->name = xstrdup(facts->name);
    run->uid = xstrdup(facts->uid);
    run->created = xstrdup(facts->created);
    run->benchmark = xstrdup(facts->definition_name);
    run->eta_s = -1;
    run->verdict.ttl_s = -1;
    run->progress.loss = NAN;
    run_update(run, facts);
    if (facts->is_settled) {
        run->publication.is_settled = true;
        run->publication.settled_phase = facts->phase;
        run->publication.settled_generation = facts->generation;
    }
    return run;
}

/* It may be changed after the run was accepted, which is when the other options were checked. */
static void take_wait(struct run *run, const struct bmr_facts *facts)
{
    const struct node *field = schema_run_field("scheduling.waitSeconds");
    const int64_t max = tree_get(field, "maximum")->i;
    if (facts->wait_s >= 0 && facts->wait_s <= max) {
        run->asked.wait_s = facts->wait_s;
    } else if (facts->generation != run->asked.generation) {
        _cleanup_(freep) char *note = xasprintf(
            "spec.scheduling.waitSeconds must be 1 to %lld; the run waits as long as before",
            (long long)max);
        run_emit(run, EVENT_WARNING, "InvalidWaitSeconds", note);
    }
}

void run_update(struct run *run, const struct bmr_facts *facts)
{
    struct run_publication *p = &run->publication;
    if (facts->generation != run->asked.generation) {
        run->parking.until_ns = 0;
    }
    take_wait(run, facts);
    run->asked.generation = facts->generation;
    run->asked.cancel = facts->cancel;
    run->asked.suspend = facts->suspend;
    run->asked.is_deleting = facts->is_deleting;
    run->asked.erase = facts->erase;
    if (facts->is_deleting && run_life_is_read(run->life)) { /* it may stay so for long */
        run_enter(run, LIFE_ON_SET_BACK);
    }
    if (!run_phase_is_final(facts->phase)) { /* the cluster's state may have been restored */
        p->is_settled = false;
    }
    if (p->conditions.of[BMR_ACCEPTED].status == COND_NONE && facts->conditions != NULL) {
        p->conditions = *facts->conditions;
    }
}

void run_free(struct run *run)
{
    daemon_run_unref(run->shown);
    const bool is_claimed = run_life_is_claimed(run->life);
    leave(run);
    kube_call_cancel(run->publication.call);
    if (run->expiry.state == EXPIRY_SENT) {
        kube_call_cancel(run->expiry.call);
    }
    if (run->summarizing.call != NULL) {
        summarize_run_abandon(run->summarizing.call);
    }
    if (is_claimed) {
        run->env->store->ops->release_run(run->env->store, run->uid);
    }
    run_def_free(run->def);
    json_decref(run->publication.written);
    free(run->name);
    free(run->uid);
    free(run->created);
    free(run->benchmark);
    free(run->refusal.text);
    free(run);
}

/* ---- readers ---- */

static int64_t created_unix_ms(const struct run *run)
{
    int64_t unix_ns;
    if (run->def != NULL) {
        return run->def->created_unix_ms;
    }
    if (run->shown != NULL && run->shown->frozen.is_known) {
        return run->shown->created_unix_ms;
    }
    const int r = rfc3339_parse(run->created, strlen(run->created), &unix_ns);
    return r < 0 ? 0 : unix_ns / 1000000; /* 0: unknown */
}

/* The store has all of it, and nothing that /metrics shows changes. */
static bool is_history(const struct run *run, int64_t now_unix_ms)
{
    return run_is_final(run) && !run_is_driven(run) && run_life_is_stored(run->life) &&
           now_unix_ms - run->status.ended_unix_ms > DAEMON_ENDED_MS;
}

static int64_t advanced_unix_ms(const struct run *run)
{
    return run_is_driven(run) ? run->advanced_unix_ms : 0;
}

/* What it waits for although it could go on; "": for nothing but its turn. */
static const char *wait_reason(const struct run *run)
{
    if (run_is_final(run)) {
        return "";
    }
    if (run->env->is_store_full) {
        return "StoreFull";
    }
    if (!run_life_is_stored(run->life)) {
        return run->refusal.reason == NULL ? "" : run->refusal.reason;
    }
    return wait_is_in(&run->status) ? run->status.reason : "";
}

static void refresh_wait(struct run *run, int64_t now_unix_ms)
{
    const char *reason = wait_reason(run);
    if (str_eq(run->wait.reason, reason)) {
        return;
    }
    text_put(run->wait.reason, sizeof(run->wait.reason), "%s", reason);
    run->wait.since_unix_ms = now_unix_ms;
}

static bool is_shown_as_it_is(const struct run *run)
{
    const struct daemon_run *shown = run->shown;
    return shown->is_active == run_is_driven(run) &&
           shown->is_stored == run_life_is_stored(run->life) &&
           (shown->frozen.is_known || run->def == NULL) &&
           run_status_eq(&shown->status, &run->status) &&
           shown->progress.is_known == run->progress.is_known &&
           shown->progress.step == run->progress.step &&
           shown->progress.seen_unix_ms == run->progress.seen_unix_ms &&
           shown->advanced_unix_ms == advanced_unix_ms(run) &&
           str_eq(shown->wait.reason, run->wait.reason) && str_eq(shown->benchmark, run->benchmark);
}

/* A run that has ended has no definition any more, but what was shown of it is still true. */
static struct daemon_frozen frozen_of(const struct run_def *def, const struct daemon_run *before)
{
    return def == NULL ? (before == NULL ? (struct daemon_frozen){0} : before->frozen)
                       : (struct daemon_frozen){.is_known = true,
                                                .is_rehearsal = def->rehearsal,
                                                .cpus = def->cpus,
                                                .created_unix_ms = def->created_unix_ms,
                                                .n_points = def->matrix.n_swept,
                                                .steps = def->spec->steps,
                                                .baseline = def->spec->baseline.kind};
}

void run_refresh_shown(struct run *run, int64_t now_unix_ms)
{
    struct daemon_run *before = run->shown;
    refresh_wait(run, now_unix_ms);
    if (is_history(run, now_unix_ms)) {
        run->shown = NULL;
        daemon_run_unref(before);
        return;
    }
    if (before != NULL && is_shown_as_it_is(run)) {
        return;
    }
    struct daemon_run *shown = daemon_run_new(run->name, run->uid, run->benchmark);
    shown->created_unix_ms = created_unix_ms(run);
    shown->frozen = frozen_of(run->def, before);
    shown->status = run->status;
    shown->is_active = run_is_driven(run);
    shown->is_stored = run_life_is_stored(run->life);
    shown->progress = run->progress;
    shown->wait = run->wait;
    shown->advanced_unix_ms = advanced_unix_ms(run);
    run->shown = shown;
    daemon_run_unref(before);
}

int run_load_def(struct run *run, struct err *err)
{
    struct store *store = run->env->store;
    _cleanup_(run_row_done) struct run_row row = {0};
    struct run_def *def;
    int r = store->ops->get_run(store, run->uid, &row, err);
    r = r < 0 ? r : store_load_run_def(&row, &def, err);
    if (r >= 0) {
        run_def_free(run->def);
        run->def = def;
    }
    return r;
}

void run_drop_def(struct run *run)
{
    const bool is_shown = run->shown != NULL && run->shown->frozen.is_known;
    const bool is_judged = run->life == LIFE_ENDED && run->verdict.is_judged;
    if (run->def != NULL && is_shown && (is_judged || run->life == LIFE_ACCEPTED)) {
        run->verdict.ttl_s = run->def->spec->run_policy.ttl_s;
        run_def_free(run->def);
        run->def = NULL;
    }
}
