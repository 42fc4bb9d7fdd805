/* See run_remove.h. */
#include "daemon/run_remove.h"

#include <errno.h>

#include "base/clock.h"
#include "base/log.h"

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
    if (ttl_s < 0 || !run_is_final(run) || run->asked.is_gone || run->asked.is_deleting ||
        run->status.ended_unix_ms == 0 ||
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
    struct kube_request req;
    kube_request_delete(&kube_benchmark_runs, run->env->ns, run->name, run->uid, -1, &req);
    run->expiry.state = EXPIRY_SENT;
    run->expiry.call = kube_call(run->env->client, &req, NULL, on_deleted, run);
}

/* Deletes rows that cannot be read too, but not those of a run that another process drives. */
int run_bury(struct run *run, struct err *err)
{
    struct store *store = run->env->store;
    int r = 0;
    const bool is_ours =
        run_life_is_claimed(run->life) || store->ops->probe_run(store, run->uid, NULL) != -EBUSY;
    if (is_ours && run->expiry.state == EXPIRY_NOT_DUE) {
        r = store->ops->delete_run(store, run->uid, err);
        if (r == 0) {
            log_event(LOG_LEVEL_INFO, "a run was deleted together with its results", "run",
                      run->name, NULL);
        }
        if (r < 0 && r != -ENOENT) {
            if (run_is_driven(run)) {
                run_enter(run, LIFE_ON_DETACHED);
            }
            return r;
        }
    }
    return 0;
}
