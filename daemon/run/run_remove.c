/* See run.h. */
#include "daemon/run/run.h"

#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "decide/policy_retention.h"

static void on_deleted(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    (void)res;
    struct run *run = ctx;
    run->expiry.state = EXPIRY_DUE;
    run->expiry.retry_ns = 0;
    if (r < 0 && r != -ENOENT && r != -ESTALE) {
        run->expiry.retry_ns = clock_monotonic_ns() + RUN_RETRY_NS;
        log_event(LOG_LEVEL_WARN, "an expired run could not be deleted, retrying", "run", run->name,
                  "err", err->msg, NULL);
    }
}

void run_expire(struct run *run)
{
    const int64_t ttl_s = run_ttl_s(run);
    if (!run->env->are_objects_known || ttl_s < 0 || !run_is_final(run) || run->asked.is_gone ||
        run->asked.is_deleting || run->asked.erase || run->status.ended_unix_ms == 0 ||
        clock_steady_unix_ms() < run->status.ended_unix_ms + ttl_s * 1000) {
        return;
    }
    if (run->expiry.state == EXPIRY_NOT_DUE) {
        run->expiry.state = EXPIRY_DUE;
        run->expiry.retry_ns = 0;
    }
    if (run->expiry.state == EXPIRY_SENT || clock_monotonic_ns() < run->expiry.retry_ns) {
        return;
    }
    struct err err;
    int r = run->env->store->ops->set_object(run->env->store, run->uid, NULL, 0, &err);
    if (r < 0 && r != -ENOENT) { /* else a benchd that starts now would find an object missing */
        run->expiry.retry_ns = clock_monotonic_ns() + RUN_RETRY_NS;
        log_event(LOG_LEVEL_WARN, "an expired run could not be deleted, retrying", "run", run->name,
                  "err", err.msg, NULL);
        return;
    }
    struct kube_request req;
    kube_request_delete(&kube_benchmark_runs, run->env->ns, run->name, run->uid, -1, &req);
    run->expiry.state = EXPIRY_SENT;
    run->expiry.call = kube_call(run->env->client, &req, NULL, on_deleted, run);
}

/* The object is gone without a decision about the results, so they are kept for a while. */
static int leave_tombstone(const struct run *run, struct err *err)
{
    struct store *store = run->env->store;
    int r = store->ops->set_object(store, run->uid, NULL, clock_steady_unix_ms(), err);
    if (r == 0) {
        char hours[24];
        (void)snprintf(hours, sizeof(hours), "%lld",
                       (long long)(run->env->options.undelete_ms / (3600 * 1000))); /* fits */
        log_event(
            LOG_LEVEL_WARN,
            "the object of a run was deleted; its results are erased later, benchctl export copies "
            "them",
            "run", run->name, "uid", run->uid, "after_hours", hours, NULL);
    }
    return r;
}

static int erase(const struct run *run, struct err *err)
{
    struct store *store = run->env->store;
    int r = store->ops->delete_run(store, run->uid, err);
    if (r == 0) {
        run->env->counters->runs_deleted++;
        log_event(LOG_LEVEL_INFO, "a run was deleted together with its results", "run", run->name,
                  NULL);
    }
    return r;
}

/* Its object went because its time to live was over: this process asked for that, or the one
 * before, which has said so in the store. */
static bool has_expired(const struct run *run)
{
    struct run_brief brief;
    struct store *store = run->env->store;
    return run->expiry.state != EXPIRY_NOT_DUE ||
           (store->ops->get_brief(store, run->uid, &brief, NULL) >= 0 && !brief.has_object &&
            brief.deleted_unix_ms == 0 && brief.verdict.is_judged && brief.verdict.ttl_s >= 0);
}

/* Rows that cannot be read are included, but not those of a run that another process drives. */
int run_drop_deleted(struct run *run, struct err *err)
{
    struct store *store = run->env->store;
    int r = 0;
    const bool is_ours =
        run_life_is_claimed(run->life) || store->ops->probe_run(store, run->uid, NULL) != -EBUSY;
    if (is_ours && (run->asked.erase || !has_expired(run))) {
        r = run->asked.erase ? erase(run, err) : leave_tombstone(run, err);
        if (r < 0 && r != -ENOENT) {
            if (run_is_driven(run)) {
                run_enter(run, LIFE_ON_DETACHED);
            }
            return r;
        }
    }
    return 0;
}

/* A tombstone of before 2020 was written while the clock was not set: its time begins now. */
static int date_tombstone(struct store *store, const char *uid, int64_t now_unix_ms,
                          struct err *err)
{
    int r = store->ops->set_object(store, uid, NULL, now_unix_ms, err);
    return r < 0 && r != -ENOENT ? r : 1;
}

int run_purge(const struct run_env *env, int64_t now_unix_ms, struct err *err)
{
    if (now_unix_ms < RETENTION_FIRST_DATE_MS) {
        return 0; /* the clock is not set: nothing has an age */
    }
    struct store *store = env->store;
    _cleanup_(freep) char *uid = NULL;
    int64_t deleted_unix_ms;
    int r = store->ops->find_deleted(store, now_unix_ms - env->options.undelete_ms, &uid,
                                     &deleted_unix_ms, err);
    if (r < 0) {
        return r == -ENOENT ? 0 : r;
    }
    if (deleted_unix_ms < RETENTION_FIRST_DATE_MS) {
        return date_tombstone(store, uid, now_unix_ms, err);
    }
    if (store->ops->probe_run(store, uid, NULL) == -EBUSY) {
        return 0; /* a benchctl goes on with it; the next ones wait so long */
    }
    r = store->ops->delete_run(store, uid, err);
    if (r < 0 && r != -ENOENT) {
        return r;
    }
    env->counters->runs_deleted++;
    log_event(LOG_LEVEL_INFO, "the results of a run were erased: its object was deleted long ago",
              "uid", uid, NULL);
    return 1;
}
