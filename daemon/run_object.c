/* A run's object: its definition frozen and kept, its status written, its end. See run.h. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "daemon/bmr.h"
#include "daemon/run.h"
#include "result/result.h"

#define WRITE_EVERY_NS INT64_C(1000000000)

/* ---- acceptance ---- */

static void end_unaccepted(struct run *run, enum run_phase phase, const char *reason, bool is_final,
                           const char *text)
{
    const bool was_cancelled = phase == RUN_CANCELLED;
    run->refusal = reason;
    run->is_refused = is_final;
    free(run->refusal_text);
    run->refusal_text = xstrdup(text);
    if (is_final) {
        run->status.phase = phase;
        run->status.ended_unix_ms = clock_unix_ms();
        text_put(run->status.reason, sizeof(run->status.reason), "%s", reason);
        text_put(run->status.message, sizeof(run->status.message), "%s", text);
        log_event(was_cancelled ? LOG_LEVEL_INFO : LOG_LEVEL_WARN, "a run was not accepted", "run",
                  run->name, "phase", run_phase_to_string(phase), "reason", reason, "err", text,
                  NULL);
        event_recorder_emit(&run->d->events, run->name, run->uid,
                            was_cancelled ? EVENT_NORMAL : EVENT_WARNING, reason, text);
    }
}

void run_refuse(struct run *run, const char *reason, bool is_final, const char *text)
{
    end_unaccepted(run, RUN_FAILED, reason, is_final, text);
}

/* 1: the store has it; 0: it does not, or cannot be used. */
static int load_stored(struct run *run, struct err *err)
{
    struct store *store = run->d->store;
    struct run_row row;
    struct err why;
    int r = store->ops->get_run(store, run->uid, &row, err);
    if (r == -ENOENT) {
        return 0;
    }
    if (r < 0) {
        return r;
    }
    run_def_free(run->def);
    run->def = NULL;
    r = store_load_run_def(&row, &run->def, &why);
    run->status = row.status;
    run_row_done(&row);
    if (r < 0 && run_is_final(run)) { /* of no interest to others: it stands as it is */
        log_event(LOG_LEVEL_WARN, "an ended run cannot be read", "run", run->name, "err", why.msg,
                  NULL);
        run->is_past = true;
    } else if (r < 0) {
        run_refuse(run, "StoredRunUnreadable", true, why.msg);
    }
    return r < 0 ? 0 : 1;
}

/* Results outlive their object: a run of another uid that has the name gets one of its own. */
static int free_name(struct run *run, struct err *err)
{
    struct store *store = run->d->store;
    struct run_row row;
    int r = store->ops->get_run(store, run->name, &row, err);
    if (r < 0) {
        return r;
    }
    _cleanup_(freep) char *name = xasprintf("%s-%.8s", run->name, row.uid);
    r = store->ops->rename_run(store, row.uid, name, err);
    if (r == 0) {
        _cleanup_(freep) char *note =
            xasprintf("results of an earlier run of this name are kept as '%s'", name);
        event_recorder_emit(&run->d->events, run->name, run->uid, EVENT_NORMAL, "EarlierResults",
                            note);
        log_event(LOG_LEVEL_INFO, "an earlier run was renamed", "run", run->name, "to", name, NULL);
    }
    run_row_done(&row);
    return r;
}

static int put(struct run *run, struct err *err)
{
    struct store *store = run->d->store;
    const struct run_def *def = run->def;
    _cleanup_(freep) char *definition = json_dumps(def->spec->definition, JSON_COMPACT);
    struct run_row row = {
        .uid = def->uid,
        .name = def->name,
        .benchmark = def->spec->name,
        .definition_json = definition,
        .created_unix_ms = def->created_unix_ms,
    };
    int r = store->ops->put_run(store, &row, err);
    if (r == -EEXIST && (r = free_name(run, err)) == 0) {
        r = store->ops->put_run(store, &row, err);
    }
    return r;
}

static void on_definition_kept(void *ctx, int r, const struct kube_response *res,
                               const struct err *err)
{
    (void)res;
    struct run *run = ctx;
    run->definition_call = NULL;
    if (r == 0) {
        run->is_definition_kept = true; /* the watch brings it: what was kept is what runs */
    } else if (r == -EINVAL) {
        run_refuse(run, "DefinitionRefused", true, err->msg);
    } else {
        run->retry_ns = clock_monotonic_ns() + RUN_RETRY_NS;
        log_event(LOG_LEVEL_WARN, "the definition could not be kept, retrying", "run", run->name,
                  "err", err->msg, NULL);
    }
    daemon_wake(run->d);
}

/* status.definition, once: from then on the Benchmark may change as it likes. */
static void keep_definition(struct run *run, const struct spec *spec)
{
    json_t *definition;
    struct err err;
    if (bmr_definition(spec, &definition, &err) < 0) {
        run_refuse(run, "DefinitionTooLarge", true, err.msg);
        return;
    }
    json_t *body =
        bmr_apply_body(run->name, run->uid, json_pack("{s:o}", "definition", definition));
    struct kube_request req;
    kube_request_apply(&kube_benchmark_runs, run->d->ns, "status", "benchd-definition", body, &req);
    json_decref(body);
    run->definition_call = kube_call(run->d->client, &req, NULL, on_definition_kept, run);
}

static int freeze(const struct run *run, struct spec *spec_take, struct run_def **ret,
                  struct err *err)
{
    struct diags diags = {0};
    const struct run_def_params params = {
        .name = run->name, .uid = run->uid, .created_unix_ms = clock_unix_ms()};
    int r = run_def_new(spec_take, &params, ret, &diags);
    diags_done(&diags);
    return r < 0 ? err_set(err, EINVAL, "the definition has no points") : 0;
}

/* The object's own words on how far it was, for a store that knows nothing of the run. One that has
 * ended stays as it is; another starts again, and reconcile() tells what was lost. */
static void take_status_over(struct run *run, const json_t *bmr)
{
    bmr_read_status(bmr, &run->status);
    run->is_past = run_is_final(run);
    if (!run->is_past) {
        run->status.ended_unix_ms = 0;
        run->status.phase = RUN_PENDING;
    }
}

static int claim(struct run *run, struct err *err)
{
    struct store *store = run->d->store;
    struct err why;
    int r = store->ops->claim_run(store, run->uid, &why);
    if (r == 0) {
        run->is_stored = true;
        return 1;
    }
    if (r == -EBUSY) { /* a benchctl with --store, say */
        run_def_free(run->def);
        run->def = NULL;
        run_refuse(run, "HeldByAnother", false, why.msg);
        run->retry_ns = clock_monotonic_ns() + RUN_RETRY_NS;
        return 0;
    }
    return err_set(err, -r, "%s", why.msg);
}

/* Nothing was made of it yet: the cancellation is true at once. */
static void cancel_unaccepted(struct run *run)
{
    end_unaccepted(run, RUN_CANCELLED, "CancelRequested", true, "cancelled before it was accepted");
}

int run_accept(struct run *run, const json_t *bmr, const json_t *benchmark, struct err *err)
{
    if (run->is_stored || run->is_refused || run->is_past || run->definition_call != NULL ||
        run->is_deleting || clock_monotonic_ns() < run->retry_ns) {
        return run->is_stored;
    }
    int r = load_stored(run, err);
    if (r != 0) {
        return r < 0 ? r : claim(run, err);
    }
    if (run->is_refused || run->is_past) {
        return 0; /* stored, and not to be read */
    }
    struct spec *spec;
    struct err why;
    take_status_over(run, bmr);
    if (run->cancel && !run->is_past) {
        cancel_unaccepted(run);
        return 0;
    }
    r = bmr_load_spec(bmr, benchmark, &spec, &why);
    if (run->is_past) { /* only its time to live is of interest */
        if (r == 0) {
            (void)freeze(run, spec, &run->def, &why); /* without it there is no time to live */
        }
        return 0;
    }
    if (r < 0) {
        const bool is_missing = r == -ENOENT;
        run_refuse(run, is_missing ? "BenchmarkNotFound" : "InvalidDefinition", !is_missing,
                   why.msg);
        return 0;
    }
    struct bmr_spec asked;
    bmr_read(bmr, &asked);
    if (asked.benchmark != NULL && !asked.has_definition) {
        if (!run->is_definition_kept) {
            keep_definition(run, spec);
        }
        spec_free(spec);
        return 0;
    }
    struct run_def *def = NULL;
    if (freeze(run, spec, &def, &why) < 0) {
        run_refuse(run, "InvalidDefinition", true, why.msg);
        return 0;
    }
    if (!run_check_templates(run, def)) {
        run_def_free(def);
        return 0;
    }
    run->def = def;
    r = put(run, err);
    return r < 0 ? r : claim(run, err);
}

/* ---- the status ---- */

/* What only the results tell: made once, when the run has ended. */
static void judge(struct run *run)
{
    struct store *store = run->d->store;
    struct attempt_row *rows = NULL;
    size_t n = 0;
    if (run->is_judged || !run->is_stored || !run_is_final(run)) {
        return;
    }
    run->is_judged = true;
    if (store->ops->list_attempts(store, run->uid, &rows, &n, NULL) < 0) {
        return; /* the conditions stay as they are; the next write of the store tells */
    }
    struct result *result = result_build(run->def, run->status.phase, rows, n);
    for (uint32_t p = 0; p < run->def->matrix.n_points; p++) {
        for (size_t t = 0; t < result->points[p].n_trials; t++) {
            run->has_mute_trials |= result->points[p].trials[t].phase == TRIAL_METRICS_UNAVAILABLE;
        }
    }
    vec_each (struct threshold_result, t, &result->thresholds) {
        run->has_failed_threshold |= t->verdict == THRESHOLD_FAILED;
    }
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
    run->status_call = NULL;
    if (r == 0) {
        run->d->counters.status_writes++;
        return;
    }
    json_decref(run->written);
    run->written = NULL; /* again, after a while: what is refused now may be so for long */
    run->written_ns = clock_monotonic_ns() + RUN_RETRY_NS - WRITE_EVERY_NS;
    run->d->counters.status_failures++;
    if (r != -ESTALE && r != -ENOENT) { /* those: the object is gone, the watch tells */
        log_event(LOG_LEVEL_WARN, "a status could not be written, retrying", "run", run->name,
                  "err", err->msg, NULL);
    }
}

void run_publish(struct run *run)
{
    const int64_t now_ns = clock_monotonic_ns();
    if (run->status_call != NULL || run->is_past || run->is_gone || run->is_deleting ||
        (run->written_ns != 0 && now_ns - run->written_ns < WRITE_EVERY_NS)) {
        return;
    }
    judge(run);
    json_t *status = bmr_status_json(&(struct bmr_status){
        .run = &run->status,
        .generation = run->generation,
        .is_accepted = run->is_stored && !run->is_refused,
        .refusal = run->refusal == NULL ? "Pending" : run->refusal,
        .refusal_text = run->refusal_text == NULL ? "" : run->refusal_text,
        .is_final = run_is_final(run),
        .has_mute_trials = run->has_mute_trials,
        .has_failed_threshold = run->has_failed_threshold,
        .eta_s = run->eta_s,
        .conditions = run->conditions,
        .now_unix_ms = clock_unix_ms(),
    });
    if (run->written != NULL && json_equal(run->written, status)) {
        json_decref(status);
        return;
    }
    json_decref(run->written);
    run->written = json_incref(status);
    json_decref(run->conditions);
    run->conditions = json_incref(json_object_get(status, "conditions"));
    run->written_ns = now_ns;
    json_t *body = bmr_apply_body(run->name, run->uid, status);
    struct kube_request req;
    kube_request_apply(&kube_benchmark_runs, run->d->ns, "status", "benchd", body, &req);
    json_decref(body);
    run->status_call = kube_call(run->d->client, &req, NULL, on_status_written, run);
}

/* ---- the end ---- */

static void on_deleted(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    (void)res;
    struct run *run = ctx;
    run->delete_call = NULL;
    if (r < 0 && r != -ENOENT && r != -ESTALE) {
        run->retry_ns = clock_monotonic_ns() + RUN_RETRY_NS;
        log_event(LOG_LEVEL_WARN, "an expired run could not be removed, retrying", "run", run->name,
                  "err", err->msg, NULL);
    }
}

void run_expire(struct run *run)
{
    const int64_t ttl_s = run->def == NULL ? -1 : run->def->spec->run_policy.ttl_s;
    if (ttl_s < 0 || !run_is_final(run) || run->is_gone || run->is_deleting ||
        run->status.ended_unix_ms == 0 ||
        clock_unix_ms() < run->status.ended_unix_ms + ttl_s * 1000) {
        return;
    }
    run->is_expired = true;
    if (run->delete_call != NULL || clock_monotonic_ns() < run->retry_ns) {
        return;
    }
    struct kube_request req;
    kube_request_delete(&kube_benchmark_runs, run->d->ns, run->name, run->uid, -1, &req);
    run->delete_call = kube_call(run->d->client, &req, NULL, on_deleted, run);
}

/* Rows that are ours to delete: also those that cannot be read, but not what another process drives. */
int run_bury(struct run *run, struct err *err)
{
    struct store *store = run->d->store;
    int r = 0;
    if (!run->is_expired && (run->is_stored || run->is_refused || run->is_past)) {
        r = store->ops->delete_run(store, run->uid, err);
        if (r == 0) {
            log_event(LOG_LEVEL_INFO, "a run was deleted, its results too", "run", run->name, NULL);
        }
        r = r == -ENOENT ? 0 : r;
    }
    run_free(run);
    return r;
}
