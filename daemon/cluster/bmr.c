/* See bmr.h. */
#include "daemon/cluster/bmr.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/json_field.h"
#include "decide/policy_wait.h"
#include "doc/tree.h"
#include "spec/run_options.h"
#include "spec/spec_load.h"

static void set(json_t *object, const char *key, json_t *value_take)
{
    (void)json_object_set_new(object, key, value_take); /* fails for NULL and no memory only */
}

/* ---- the definition ---- */

/* The first problem as one line, with its field in the object, and how many more there are. */
static int complain(const struct diags *diags, bool is_overridden, struct err *err)
{
    const struct diag *first = diags->list.items;
    const size_t n = diags->list.len + diags->n_dropped;
    if (first == NULL) {
        return err_set(err, EINVAL, "the definition cannot be read");
    }
    const char *path = first->path, *head = "";
    if (str_has_prefix(path, "run")) {
        head = "spec";
        path += strlen("run");
    } else if (is_overridden && str_has_prefix(path, "spec.local")) {
        head = "spec.overrides";
        path += strlen("spec.local");
    }
    char more[48] = "";
    if (n > 1) {
        (void)snprintf(more, sizeof(more), " (and %zu more)", n - 1);
    }
    return err_set(err, EINVAL, "%s%s%s%s%s%s%s", head, path,
                   *head == '\0' && *path == '\0' ? "" : ": ", first->message,
                   first->fix != NULL ? "; " : "", first->fix != NULL ? first->fix : "", more);
}

/* The fields of the run itself, with benchd's own queue where they name none. Owned. */
static json_t *fields_of(const json_t *bmr, const char *queue)
{
    json_t *fields = json_copy(json_object_get(bmr, "spec"));
    (void)json_object_del(fields, "definition"); /* it may be absent */
    (void)json_object_del(fields, "overrides");  /* likewise */
    const json_t *scheduling = json_object_get(fields, "scheduling");
    if (queue != NULL && json_object_get(scheduling, "queueName") == NULL &&
        !str_eq(fact_text(scheduling, "gang"), "None")) {
        json_t *copy = scheduling == NULL ? json_object() : json_copy((json_t *)scheduling);
        set(copy, "queueName", json_string(queue)); /* fails if it is no object: refused later */
        set(fields, "scheduling", copy);
    }
    return fields;
}

int bmr_load_run(const json_t *bmr, const json_t *benchmark, const char *queue,
                 const struct run_def_params *params, struct run_def **ret, struct err *err)
{
    const json_t *asked = json_object_get(bmr, "spec");
    json_t *overrides = json_object_get(asked, "overrides"), *own = bmr_definition_of(bmr);
    const bool has_own = json_object_get(asked, "definition") != NULL;
    if (has_own == (json_object_get(asked, "benchmarkRef") != NULL)) {
        return err_set(err, EINVAL, "spec: exactly one of benchmarkRef and definition is required");
    }
    if (has_own && overrides != NULL) {
        return err_set(err, EINVAL, "spec.overrides: they go with benchmarkRef only; remove them");
    }
    json_auto_t *spec = own != NULL ? json_incref(own) : json_copy((json_t *)benchmark);
    if (spec == NULL) {
        return err_set(err, ENOENT, "it has no definition of its own");
    }
    const bool is_overridden = own == NULL && overrides != NULL;
    if (is_overridden) { /* they have the fields of `local` and are merged by the same code */
        (void)json_object_set(spec, "local", overrides); /* fails if it is no object: refused */
    }
    json_auto_t *document = json_pack(
        "{s:s, s:s, s:{s:s}, s:O, s:o*}", "apiVersion", "benchd.io/v1alpha1", "kind", "Benchmark",
        "metadata", "name", bmr_definition_name(bmr), "spec", spec, "run", fields_of(bmr, queue));
    _cleanup_(freep) char *text = json_dumps(document, JSON_COMPACT);
    _cleanup_(diags_done) struct diags diags = {0};
    const bool is_new = json_object_get(json_object_get(bmr, "status"), "definition") == NULL;
    const struct spec_overrides how = {.local = is_overridden, .is_new = is_new};
    const int r = run_def_load(text, &how, params, ret, &diags);
    return r < 0 ? complain(&diags, is_overridden, err) : 0;
}

int bmr_definition(const struct spec *spec, json_t **ret, struct err *err)
{
    json_t *definition = json_object_get(spec->definition, "spec");
    const size_t size = json_dumpb(definition, NULL, 0, JSON_COMPACT);
    if (size > BMR_DEFINITION_MAX) {
        return err_set(err, E2BIG,
                       "the definition has %zu bytes, but only %d fit into the object's "
                       "status; shorten its templates or the sweep",
                       size, BMR_DEFINITION_MAX);
    }
    *ret = json_incref(definition);
    return 0;
}

/* ---- the status ---- */

char *bmr_open_selector(void)
{
    struct buf text = BUF_INIT;
    for (enum run_phase phase = RUN_PENDING; phase <= RUN_SUSPENDED; phase++) {
        if (run_phase_is_final(phase)) {
            buf_printf(&text, "%sstatus.phase!=%s", text.len > 0 ? "," : "",
                       run_phase_to_string(phase));
        }
    }
    return buf_take(&text);
}

static void set_date(json_t *object, const char *key, int64_t unix_ms)
{
    char text[CLOCK_RFC3339_SIZE];
    if (unix_ms > 0) {
        clock_format_rfc3339(unix_ms, text);
        set(object, key, json_string(text));
    }
}

struct condition {
    enum bmr_condition type;
    enum condition_status status;
    const char *reason, *message;
};

static struct condition either(enum bmr_condition type, bool is_true, const char *reason,
                               const char *other_reason, const char *message)
{
    return (struct condition){type, is_true ? COND_TRUE : COND_FALSE,
                              is_true ? reason : other_reason, is_true ? message : ""};
}

/* What could not be judged is not "False": `kubectl wait` for that must not end. */
static const struct condition of_thresholds[] = {
    [THRESHOLD_PASSED] = {BMR_THRESHOLD_FAILED, COND_FALSE, "NoneFailed", ""},
    [THRESHOLD_FAILED] = {BMR_THRESHOLD_FAILED, COND_TRUE, "BelowThreshold",
                          "a threshold was not met; see benchctl results"},
    [THRESHOLD_UNKNOWN] = {BMR_THRESHOLD_FAILED, COND_UNKNOWN, "NotJudged",
                           "a threshold could not be judged; see benchctl results"},
};

static json_t *condition_json(const struct condition *c, int64_t since_unix_ms, int64_t generation)
{
    char since[CLOCK_RFC3339_SIZE];
    _cleanup_(buf_done) struct buf message = BUF_INIT; /* it may quote what somebody wrote */
    clock_format_rfc3339(since_unix_ms, since);
    buf_put_utf8(&message, c->message, SIZE_MAX);
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:I}", "type", bmr_condition_to_string(c->type),
                     "status", condition_status_to_string(c->status), "lastTransitionTime", since,
                     "reason", c->reason, "message", buf_cstr(&message), "observedGeneration",
                     (json_int_t)generation);
}

static json_t *conditions(const struct bmr_status *s, struct bmr_conditions *dates)
{
    const enum run_phase phase = s->run->phase;
    const bool is_complete = phase == RUN_SUCCEEDED || phase == RUN_PARTIALLY_FAILED;
    const bool is_failed = phase == RUN_FAILED || phase == RUN_CANCELLED;
    const char *name = run_phase_to_string(phase);
    const char *reason = s->run->reason[0] != '\0' ? s->run->reason : name;
    const char *words = s->run->message;
    struct condition list[BMR_CONDITION_COUNT] = {
        {BMR_ACCEPTED, s->is_accepted ? COND_TRUE : COND_FALSE,
         s->is_accepted ? "Accepted" : s->refusal, s->is_accepted ? "" : s->refusal_text},
        either(BMR_SUSPENDED, phase == RUN_SUSPENDED, reason, name, ""),
        either(BMR_RUNNING, phase == RUN_RUNNING, name, name, words),
        either(BMR_WAITING, wait_is_in(s->run), reason, name, words),
        either(BMR_COMPLETE, is_complete, reason, name, words),
        either(BMR_FAILED, is_failed, reason, name, words),
    };
    size_t n = 6;
    if (s->is_store_full && !s->is_final) { /* only while it is so */
        list[n++] = (struct condition){
            BMR_STORE_FULL, COND_TRUE, "NoSpace",
            "the disk of benchd's store is full; the run continues when there is space"};
    }
    if (s->is_final && s->is_accepted) { /* known only at the end */
        list[n++] = either(BMR_METRICS_UNAVAILABLE, s->has_mute_trials, "NoSummary", "AllMeasured",
                           "some trials succeeded but left no usable summary");
        list[n++] = of_thresholds[s->thresholds];
    }
    const struct bmr_conditions last = *dates;
    json_t *array = json_array();
    *dates = (struct bmr_conditions){0};
    for (size_t i = 0; i < n; i++) {
        const enum bmr_condition type = list[i].type;
        const bool is_same = last.of[type].status == list[i].status;
        dates->of[type].status = list[i].status;
        dates->of[type].since_unix_ms = is_same ? last.of[type].since_unix_ms : s->now_unix_ms;
        (void)json_array_append_new(
            array, condition_json(&list[i], dates->of[type].since_unix_ms, s->generation));
    }
    return array;
}

static void set_eta(json_t *status, int64_t eta_s)
{
    char text[32];
    if (eta_s < 60) {
        (void)snprintf(text, sizeof(text), "%" PRId64 "s", eta_s);
    } else if (eta_s < 3600) {
        (void)snprintf(text, sizeof(text), "%" PRId64 "m%02" PRId64 "s", eta_s / 60, eta_s % 60);
    } else {
        (void)snprintf(text, sizeof(text), "%" PRId64 "h%02" PRId64 "m", eta_s / 3600,
                       eta_s / 60 % 60);
    }
    set(status, "eta", json_string(text));
}

/* `current` is the first of them: all that a run has which measures one trial at a time. */
static void set_lanes(json_t *status, const struct run_status *run)
{
    json_auto_t *lanes = json_array();
    for (size_t i = 0; i < LANES_MAX; i++) {
        const struct attempt_id *id = &run->lanes[i].current;
        if (run->lanes[i].has_current) {
            (void)json_array_append_new(/* fails without memory only */
                                        lanes, json_sprintf("p%u t%u a%u", id->point, id->trial,
                                                            id->number));
        }
    }
    (void)json_object_set(status, "current", json_array_get(lanes, 0)); /* NULL is not set */
    (void)json_object_set(status, "lanes", json_array_size(lanes) > 1 ? lanes : NULL);
}

json_t *bmr_status_json(const struct bmr_status *s, struct bmr_conditions *dates)
{
    const struct run_status *run = s->run;
    const unsigned succeeded = run->trials_done - run->trials_failed;
    json_t *status = json_pack("{s:s, s:I, s:I, s:I, s:o}", "phase",
                               run_phase_to_string(run->phase), "succeeded", (json_int_t)succeeded,
                               "failed", (json_int_t)run->trials_failed, "observedGeneration",
                               (json_int_t)s->generation, "conditions", conditions(s, dates));
    char text[64];
    if (run->trials_total > 0) {
        (void)snprintf(text, sizeof(text), "%u/%u", succeeded, run->trials_total);
        set(status, "completions", json_string(text));
        set(status, "total", json_integer(run->trials_total));
    }
    if (wait_is_under_way(run)) {
        set_lanes(status, run);
    }
    if (s->eta_s >= 0 && run->phase == RUN_RUNNING) {
        set_eta(status, s->eta_s);
    }
    set_date(status, "startTime", run->started_unix_ms);
    if (s->is_final) {
        set_date(status, "completionTime", run->ended_unix_ms);
    }
    return status;
}

json_t *bmr_apply_body(const char *name, const char *uid, json_t *status_take)
{
    return json_pack("{s:s, s:s, s:{s:s, s:s}, s:o}", "apiVersion", "benchd.io/v1alpha1", "kind",
                     "BenchmarkRun", "metadata", "name", name, "uid", uid, "status", status_take);
}
