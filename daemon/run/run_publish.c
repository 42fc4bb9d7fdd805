/* See run.h. */
#include "daemon/run/run.h"

#include <errno.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/cluster/bmr.h"

#define WRITE_EVERY_NS INT64_C(1000000000)

/* ---- the verdict ---- */

static void on_summarized(void *ctx, int r, const struct run_verdict *verdict,
                          const struct err *why)
{
    struct run *run = ctx;
    run->summarizing.call = NULL;
    if (r >= 0) {
        run->verdict = *verdict;
    } else if (r == -EBADMSG) { /* nothing would change that */
        run->verdict.is_judged = true;
        run->verdict.thresholds = THRESHOLD_UNKNOWN; /* the object's time to live stays */
    }
    if (r < 0) {
        run->summarizing.retry_ns = clock_monotonic_ns() + RUN_RETRY_NS;
        log_event(LOG_LEVEL_WARN, "the results of a finished run cannot be read", "run", run->name,
                  "err", why->msg, NULL);
    }
    run->summarizing.must_store = run->verdict.is_judged;
    run_wake(run);
}

/* Not where the answer comes in: many answers may come in one turn of the loop, and each takes a
 * transaction. If it fails, this process knows the verdict, and the next one asks again. */
static void store_verdict(struct run *run)
{
    struct store *store = run->env->store;
    struct err err;
    run->summarizing.must_store = false;
    if (store->ops->put_verdict(store, run->uid, &run->verdict, &err) < 0) {
        log_event(LOG_LEVEL_WARN, "the verdict of a run could not be stored", "run", run->name,
                  "err", err.msg, NULL);
    }
}

/* True: the verdict exists, or will never exist. Else it is asked for, once: the
 * answer wakes the daemon. */
static bool is_judged(struct run *run)
{
    if (run_life_is_claimed(run->life)) { /* a driver's last status comes just before its end */
        return !run_is_final(run);
    }
    if (run->summarizing.must_store) {
        store_verdict(run);
    }
    if (run->life != LIFE_ENDED || run->verdict.is_judged) {
        return true;
    }
    if (run->summarizing.call == NULL && clock_monotonic_ns() >= run->summarizing.retry_ns) {
        run->summarizing.call = summarize_run_start(run->env->loop, run->env->options.store,
                                                    run->uid, on_summarized, run);
    }
    return false;
}

/* ---- the status ---- */

/* The object holds all that is to be said of a final run: its JSON goes. */
static void settle(struct run *run, enum run_phase phase, int64_t generation)
{
    struct run_publication *p = &run->publication;
    p->is_settled = true;
    p->settled_phase = phase;
    p->settled_generation = generation;
    json_decref(p->written);
    p->written = NULL;
    p->conditions = (struct bmr_conditions){0};
}

static void on_status_written(void *ctx, int r, const struct kube_response *res,
                              const struct err *err)
{
    (void)res;
    struct run *run = ctx;
    run->publication.call = NULL;
    if (r == 0) {
        if (run->publication.sent_final) {
            settle(run, run->status.phase, run->publication.sent_generation);
        }
        return;
    }
    json_decref(run->publication.written);
    run->publication.written = NULL; /* written again later: a refusal may last */
    run->publication.next_ns = clock_monotonic_ns() + RUN_RETRY_NS;
    if (r != -ESTALE && r != -ENOENT) { /* then the object is gone: the watch reports it */
        log_event(LOG_LEVEL_WARN, "a status could not be written, retrying", "run", run->name,
                  "err", err->msg, NULL);
    }
}

static json_t *make_status(struct run *run)
{
    const struct bmr_status status = {
        .run = &run->status,
        .generation = run->asked.generation,
        .is_accepted = run_life_is_stored(run->life),
        .refusal = run->refusal.reason == NULL ? "Pending" : run->refusal.reason,
        .refusal_text = run->refusal.text == NULL ? "" : run->refusal.text,
        .is_final = run_is_final(run),
        .is_store_full = run->env->is_store_full,
        .has_mute_trials = run->verdict.has_mute_trials,
        .thresholds = run->verdict.thresholds,
        .eta_s = run->eta_s,
        .now_unix_ms = clock_steady_unix_ms(),
    };
    return bmr_status_json(&status, &run->publication.conditions);
}

bool run_publish(struct run *run)
{
    const int64_t now_ns = clock_monotonic_ns();
    if (run->publication.call != NULL || run->life == LIFE_PAST || run->asked.is_gone ||
        run->asked.is_deleting || now_ns < run->publication.next_ns || !is_judged(run) ||
        run_is_settled(run)) {
        return false;
    }
    json_t *status = make_status(run);
    if (run->publication.written != NULL && json_equal(run->publication.written, status)) {
        json_decref(status);
        return false;
    }
    json_decref(run->publication.written);
    run->publication.written = json_incref(status);
    run->publication.next_ns = now_ns + WRITE_EVERY_NS;
    run->publication.sent_final = run_is_final(run);
    run->publication.sent_generation = run->asked.generation;
    json_auto_t *body = bmr_apply_body(run->name, run->uid, status);
    struct kube_request req;
    kube_request_apply(&kube_benchmark_runs, run->env->ns, "status", "benchd", body, &req);
    run->publication.call = kube_call(run->env->client, &req, NULL, on_status_written, run);
    return true;
}
