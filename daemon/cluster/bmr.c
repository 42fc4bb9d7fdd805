/* See bmr.h. */
#include "daemon/cluster/bmr.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "kube/request.h"
#include "base/rfc3339.h"
#include "spec/name.h"
#include "spec/spec_load.h"

static const char *text_of(const json_t *object, const char *key)
{
    const char *s = json_string_value(json_object_get(object, key));
    return s == NULL ? "" : s;
}

static void set(json_t *object, const char *key, json_t *value_take)
{
    (void)json_object_set_new(object, key, value_take); /* fails for NULL and no memory only */
}

static const char *definition_name(const json_t *metadata, const char *benchmark)
{
    const char *label = text_of(json_object_get(metadata, "labels"), "benchd.io/benchmark");
    return benchmark != NULL             ? benchmark
           : object_name_is_valid(label) ? label
                                         : text_of(metadata, "name");
}

static bool is_to_be_erased(const json_t *metadata)
{
    return str_eq(text_of(json_object_get(metadata, "annotations"), KUBE_ERASE_ANNOTATION),
                  KUBE_ERASE_NOW);
}

void bmr_read(const json_t *bmr, struct bmr_spec *ret)
{
    const json_t *metadata = json_object_get(bmr, "metadata");
    const json_t *spec = json_object_get(bmr, "spec");
    const char *benchmark =
        json_string_value(json_object_get(json_object_get(spec, "benchmarkRef"), "name"));
    *ret = (struct bmr_spec){
        .name = text_of(metadata, "name"),
        .uid = text_of(metadata, "uid"),
        .created = text_of(metadata, "creationTimestamp"),
        .benchmark = benchmark,
        .definition = definition_name(metadata, benchmark),
        .generation = json_integer_value(json_object_get(metadata, "generation")),
        .cancel = json_is_true(json_object_get(spec, "cancel")),
        .suspend = json_is_true(json_object_get(spec, "suspend")),
        .is_deleting = json_object_get(metadata, "deletionTimestamp") != NULL,
        .erase = is_to_be_erased(metadata),
        .has_definition = json_object_get(json_object_get(bmr, "status"), "definition") != NULL,
    };
}

/* ---- the definition ---- */

static json_t *document(const char *name, const json_t *spec)
{
    return json_pack("{s:s, s:s, s:{s:s}, s:o}", "apiVersion", "benchd.io/v1alpha1", "kind",
                     "Benchmark", "metadata", "name", name, "spec", json_deep_copy(spec));
}

/* The first problem as one line, and how many more there are. */
static int complain(const struct diags *diags, bool is_overridden, struct err *err)
{
    const struct diag *first = diags->list.items;
    const size_t n = diags->list.len + diags->n_dropped;
    if (first == NULL) {
        return err_set(err, EINVAL, "the definition cannot be read");
    }
    const char *path = first->path;
    const bool is_ours = is_overridden && str_has_prefix(path, "spec.local");
    char more[48] = "";
    if (n > 1) {
        (void)snprintf(more, sizeof(more), " (and %zu more)", n - 1);
    }
    return err_set(err, EINVAL, "%s%s: %s%s%s%s", is_ours ? "spec.overrides" : path,
                   is_ours ? path + strlen("spec.local") : "", first->message,
                   first->fix != NULL ? "; " : "", first->fix != NULL ? first->fix : "", more);
}

static int load(const json_t *doc, bool is_overridden, bool is_new, struct spec **ret,
                struct err *err)
{
    _cleanup_(freep) char *text = json_dumps(doc, JSON_COMPACT);
    if (text == NULL) {
        return err_set(err, EINVAL, "the definition cannot be written as JSON");
    }
    struct diags diags = {0};
    const struct spec_overrides overrides = {.local = is_overridden, .is_new = is_new};
    int r = spec_load(text, strlen(text), &overrides, ret, &diags);
    r = r < 0 ? complain(&diags, is_overridden, err) : 0;
    diags_done(&diags);
    return r;
}

int bmr_load_spec(const json_t *bmr, const json_t *benchmark, struct spec **ret, struct err *err)
{
    struct bmr_spec s;
    bmr_read(bmr, &s);
    const json_t *spec = json_object_get(bmr, "spec");
    const json_t *definition = json_object_get(json_object_get(bmr, "status"), "definition");
    const json_t *overrides = json_object_get(spec, "overrides");
    const bool is_new = definition == NULL;
    bool is_overridden = false;
    if (definition == NULL) {
        definition = json_object_get(spec, "definition");
    }
    if (definition == NULL) {
        definition = json_object_get(benchmark, "spec");
        is_overridden = overrides != NULL;
    }
    if (definition == NULL) {
        return err_set(err, ENOENT, "there is no Benchmark '%s' in this namespace",
                       s.benchmark == NULL ? "" : s.benchmark);
    }
    json_t *doc = document(s.definition, definition);
    if (is_overridden) {
        /* Overrides have the fields of `local` and are merged by the same code. */
        (void)json_object_set(json_object_get(doc, "spec"), "local", (json_t *)overrides);
    }
    int r = load(doc, is_overridden, is_new, ret, err);
    json_decref(doc);
    return r;
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

static int64_t read_date(const json_t *object, const char *key)
{
    const char *text = text_of(object, key);
    int64_t ns;
    return rfc3339_parse(text, strlen(text), &ns) < 0 ? 0 : ns / 1000000;
}

void bmr_read_status(const json_t *bmr, struct run_status *ret)
{
    const json_t *status = json_object_get(bmr, "status");
    const int phase = run_phase_from_string(text_of(status, "phase"));
    *ret = (struct run_status){
        .phase = phase < 0 ? RUN_PENDING : (enum run_phase)phase,
        .trials_failed = (uint32_t)json_integer_value(json_object_get(status, "failed")),
        .started_unix_ms = read_date(status, "startTime"),
        .ended_unix_ms = read_date(status, "completionTime"),
    };
    const char *completions = text_of(status, "completions");
    const char *slash = strchr(completions, '/');
    int64_t done = 0, total = 0;
    if (slash != NULL) {
        _cleanup_(freep) char *left = xstrndup(completions, (size_t)(slash - completions));
        (void)parse_i64_in(left, 0, UINT32_MAX, &done); /* stays 0 */
        (void)parse_i64_in(slash + 1, 0, UINT32_MAX, &total);
    }
    ret->trials_done = (uint32_t)done + ret->trials_failed;
    ret->trials_total = (uint32_t)total;
}

int64_t bmr_read_ttl_s(const json_t *bmr)
{
    const json_t *definition = json_object_get(json_object_get(bmr, "status"), "definition");
    if (definition == NULL) {
        definition = json_object_get(json_object_get(bmr, "spec"), "definition");
    }
    const json_t *ttl =
        json_object_get(json_object_get(definition, "runPolicy"), "ttlSecondsAfterFinished");
    return json_is_integer(ttl) ? json_integer_value(ttl) : -1;
}

bool bmr_is_settled(const json_t *bmr)
{
    const json_t *metadata = json_object_get(bmr, "metadata");
    const json_t *status = json_object_get(bmr, "status");
    const json_t *observed = json_object_get(status, "observedGeneration");
    const int phase = run_phase_from_string(text_of(status, "phase"));
    return phase >= 0 && run_phase_is_final((enum run_phase)phase) && json_is_integer(observed) &&
           json_integer_value(observed) ==
               json_integer_value(json_object_get(metadata, "generation")) &&
           json_object_get(metadata, "deletionTimestamp") == NULL && !is_to_be_erased(metadata);
}

bool bmr_ended_before(const json_t *bmr, int64_t unix_ms)
{
    struct run_status status;
    bmr_read_status(bmr, &status);
    return bmr_is_settled(bmr) && status.ended_unix_ms < unix_ms;
}

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

/* Removes all members but those of `keys`. */
static void keep_only(json_t *object, const char *const *keys, size_t n)
{
    const char *key;
    json_t *value;
    void *next;
    json_object_foreach_safe(object, next, key, value)
    {
        size_t i = 0;
        while (i < n && !str_eq(keys[i], key)) {
            i++;
        }
        if (i == n) {
            (void)json_object_del(object, key);
        }
    }
}

void bmr_prune(json_t *bmr)
{
    static const char *const of_object[] = {"metadata", "spec", "status"};
    static const char *const of_metadata[] = {"name",       "uid",    "creationTimestamp",
                                              "generation", "labels", "resourceVersion"};
    static const char *const of_spec[] = {"benchmarkRef"};
    static const char *const of_status[] = {"phase",       "observedGeneration", "startTime",
                                            "completions", "completionTime",     "failed"};
    if (!bmr_is_settled(bmr)) {
        return;
    }
    const int64_t ttl_s = bmr_read_ttl_s(bmr);
    json_t *status = json_object_get(bmr, "status");
    keep_only(bmr, of_object, 3);
    keep_only(json_object_get(bmr, "metadata"), of_metadata, 6);
    keep_only(json_object_get(bmr, "spec"), of_spec, 1);
    keep_only(status, of_status, 6);
    if (ttl_s >= 0) {
        set(status, "definition",
            json_pack("{s:{s:I}}", "runPolicy", "ttlSecondsAfterFinished", (json_int_t)ttl_s));
    }
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
    const char *type;
    enum condition_status { COND_FALSE, COND_TRUE, COND_UNKNOWN } status;
    const char *reason, *message;
};

static const json_t *find_condition(const json_t *list, const char *type)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (str_eq(text_of(json_array_get(list, i), "type"), type)) {
            return json_array_get(list, i);
        }
    }
    return NULL;
}

static void add_condition(const struct bmr_status *s, json_t *list, const struct condition *c)
{
    static const char *const statuses[] = {
        [COND_FALSE] = "False", [COND_TRUE] = "True", [COND_UNKNOWN] = "Unknown"};
    const char *status = statuses[c->status];
    const json_t *last = find_condition(s->conditions, c->type);
    char now[CLOCK_RFC3339_SIZE];
    clock_format_rfc3339(s->now_unix_ms, now);
    const bool is_same = last != NULL && str_eq(text_of(last, "status"), status);
    const char *since = is_same ? text_of(last, "lastTransitionTime") : now;
    struct buf message = BUF_INIT; /* it may quote what somebody wrote */
    buf_put_utf8(&message, c->message, SIZE_MAX);
    (void)json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s, s:s, s:I}", "type", c->type,
                                                "status", status, "lastTransitionTime", since,
                                                "reason", c->reason, "message", buf_cstr(&message),
                                                "observedGeneration", (json_int_t)s->generation));
    buf_done(&message);
}

/* What could not be judged is not "False": `kubectl wait` for that must not end. */
static const struct condition of_thresholds[] = {
    [THRESHOLD_PASSED] = {"ThresholdFailed", COND_FALSE, "NoneFailed", ""},
    [THRESHOLD_FAILED] = {"ThresholdFailed", COND_TRUE, "BelowThreshold",
                          "a threshold was not met; see benchctl results"},
    [THRESHOLD_UNKNOWN] = {"ThresholdFailed", COND_UNKNOWN, "NotJudged",
                           "a threshold could not be judged; see benchctl results"},
};

static json_t *conditions(const struct bmr_status *s)
{
    const struct run_status *run = s->run;
    const bool is_complete = run->phase == RUN_SUCCEEDED || run->phase == RUN_PARTIALLY_FAILED;
    const bool is_failed = run->phase == RUN_FAILED || run->phase == RUN_CANCELLED;
    const bool is_running = run->phase == RUN_RUNNING;
    const bool is_suspended = run->phase == RUN_SUSPENDED;
    const bool is_waiting = wait_is_in(run);
    const char *phase = run_phase_to_string(run->phase);
    const char *reason = run->reason[0] != '\0' ? run->reason : phase;
    const char *words = run->message;
    json_t *list = json_array();
    const struct condition always[] = {
        {"Accepted", s->is_accepted ? COND_TRUE : COND_FALSE,
         s->is_accepted ? "Accepted" : s->refusal, s->is_accepted ? "" : s->refusal_text},
        {"Suspended", is_suspended ? COND_TRUE : COND_FALSE, is_suspended ? reason : phase, ""},
        {"Running", is_running ? COND_TRUE : COND_FALSE, phase, is_running ? words : ""},
        {"Waiting", is_waiting ? COND_TRUE : COND_FALSE, is_waiting ? reason : phase,
         is_waiting ? words : ""},
        {"Complete", is_complete ? COND_TRUE : COND_FALSE, is_complete ? reason : phase,
         is_complete ? words : ""},
        {"Failed", is_failed ? COND_TRUE : COND_FALSE, is_failed ? reason : phase,
         is_failed ? words : ""},
    };
    for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++) {
        add_condition(s, list, &always[i]);
    }
    if (s->is_store_full && !s->is_final) { /* only while it is so */
        add_condition(
            s, list,
            &(struct condition){
                "StoreFull", COND_TRUE, "NoSpace",
                "the disk of benchd's store is full; the run continues when there is space"});
    }
    if (s->is_final && s->is_accepted) { /* known only at the end */
        const bool is_mute = s->has_mute_trials;
        add_condition(
            s, list,
            &(struct condition){"MetricsUnavailable", is_mute ? COND_TRUE : COND_FALSE,
                                is_mute ? "NoSummary" : "AllMeasured",
                                is_mute ? "some trials succeeded but left no usable summary" : ""});
        add_condition(s, list, &of_thresholds[s->thresholds]);
    }
    return list;
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

json_t *bmr_status_json(const struct bmr_status *s)
{
    const struct run_status *run = s->run;
    json_t *status = json_pack("{s:s, s:I, s:I, s:o}", "phase", run_phase_to_string(run->phase),
                               "failed", (json_int_t)run->trials_failed, "observedGeneration",
                               (json_int_t)s->generation, "conditions", conditions(s));
    char text[64];
    if (run->trials_total > 0) {
        (void)snprintf(text, sizeof(text), "%u/%u", run->trials_done - run->trials_failed,
                       run->trials_total);
        set(status, "completions", json_string(text));
    }
    if (run->has_current && run->phase == RUN_RUNNING) {
        (void)snprintf(text, sizeof(text), "p%u t%u a%u", run->current.point, run->current.trial,
                       run->current.number);
        set(status, "current", json_string(text));
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
