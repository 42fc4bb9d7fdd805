/* See run_publish.h. */
#include "daemon/run_publish.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/bmr.h"
#include "result/threshold.h"

#define WRITE_EVERY_NS INT64_C(1000000000)

/* What only the results say; computed once, when the run has ended. */
static void judge(struct run *run)
{
    struct store *store = run->env->store;
    struct attempt_row *rows = NULL;
    size_t n = 0;
    if (run->judgement.is_made || !run_life_is_stored(run->life) || !run_is_final(run)) {
        return;
    }
    run->judgement.is_made = true;
    if (store->ops->list_attempts(store, run->uid, &rows, &n, NULL) < 0) {
        run->judgement.thresholds = THRESHOLD_UNKNOWN;
        return; /* the conditions stay; a broken store shows at its next write */
    }
    struct result *result = result_build(run->def, run->status.phase, rows, n);
    for (uint32_t p = 0; p < run->def->matrix.n_points; p++) {
        for (size_t t = 0; t < result->points[p].n_trials; t++) {
            run->judgement.has_mute_trials |=
                result->points[p].trials[t].phase == TRIAL_METRICS_UNAVAILABLE;
        }
    }
    run->judgement.thresholds = threshold_judge_all(result);
    result_free(result);
    for (size_t i = 0; i < n; i++) {
        attempt_row_done(&rows[i]);
    }
    free(rows);
}

static void on_status_written(void *ctx, int r, const struct kube_response *res,
                              const struct err *err)
{
    (void)res;
    struct run *run = ctx;
    run->publication.call = NULL;
    if (r == 0) {
        run->env->counters->status_writes++;
        return;
    }
    json_decref(run->publication.written);
    run->publication.written = NULL; /* written again later: a refusal may last */
    run->publication.next_ns = clock_monotonic_ns() + RUN_RETRY_NS;
    run->env->counters->status_failures++;
    if (r != -ESTALE && r != -ENOENT) { /* then the object is gone: the watch reports it */
        log_event(LOG_LEVEL_WARN, "a status could not be written, retrying", "run", run->name,
                  "err", err->msg, NULL);
    }
}

void run_publish(struct run *run)
{
    const int64_t now_ns = clock_monotonic_ns();
    if (run->publication.call != NULL || run->life == LIFE_PAST || run->asked.is_gone ||
        run->asked.is_deleting || now_ns < run->publication.next_ns) {
        return;
    }
    judge(run);
    json_t *status = bmr_status_json(&(struct bmr_status){
        .run = &run->status,
        .generation = run->asked.generation,
        .is_accepted = run_life_is_stored(run->life),
        .refusal = run->refusal.reason == NULL ? "Pending" : run->refusal.reason,
        .refusal_text = run->refusal.text == NULL ? "" : run->refusal.text,
        .is_final = run_is_final(run),
        .has_mute_trials = run->judgement.has_mute_trials,
        .thresholds = run->judgement.thresholds,
        .eta_s = run->eta_s,
        .conditions = run->publication.conditions,
        .now_unix_ms = clock_unix_ms(),
    });
    if (run->publication.written != NULL && json_equal(run->publication.written, status)) {
        json_decref(status);
        return;
    }
    json_decref(run->publication.written);
    run->publication.written = json_incref(status);
    json_decref(run->publication.conditions);
    run->publication.conditions = json_incref(json_object_get(status, "conditions"));
    run->publication.next_ns = now_ns + WRITE_EVERY_NS;
    json_t *body = bmr_apply_body(run->name, run->uid, status);
    struct kube_request req;
    kube_request_apply(&kube_benchmark_runs, run->env->ns, "status", "benchd", body, &req);
    json_decref(body);
    run->publication.call = kube_call(run->env->client, &req, NULL, on_status_written, run);
}
