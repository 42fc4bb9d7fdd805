/* Definitions of BenchmarkRun objects, and their statuses. */
#include "tests/test.h"
#include "base/str.h"
#include "daemon/cluster/bmr.h"

#define DEFINITION                                                                                 \
    "{\"systems\":[{\"name\":\"benchworker\",\"profile\":\"benchworker\"}],\"workload\":{"         \
    "\"model\":\"vgg16-fluid-fc512\",\"batchSize\":16},\"sweep\":{\"grid\":{\"pservers\":[1],"     \
    "\"trainers\":[1,2]}},\"baseline\":{\"kind\":\"Point\",\"where\":{\"trainers\":1}},"           \
    "\"local\":{\"repeats\":{\"min\":9}},\"measure\":{\"steps\":5},"                               \
    "\"roles\":{\"pserver\":{\"replicas\":{\"from\":\"pservers\"},\"template\":{\"spec\":{"        \
    "\"containers\":[{\"name\":\"m\"}]}}},\"trainer\":{\"replicas\":{\"from\":\"trainers\"},"      \
    "\"template\":{\"spec\":{\"containers\":[{\"name\":\"m\"}]}}}}}"

/* Of a system that is not ours. */
#define FOREIGN(exchange)                                                                          \
    "{\"systems\":[{\"name\":\"own\",\"profile\":\"none\",\"command\":[\"x\"]}],\"workload\":{"    \
    "\"model\":\"m\",\"batchSize\":16,\"exchange\":{\"kind\":\"" exchange                          \
    "\"}},\"sweep\":{\"grid\":{"                                                                   \
    "\"workers\":[1,2]}},\"baseline\":{\"kind\":\"Point\",\"where\":{\"workers\":1}},"             \
    "\"measure\":{\"steps\":5},\"roles\":{\"worker\":{\"replicas\":{\"from\":\"workers\"},"        \
    "\"template\":{\"spec\":{\"containers\":[{\"name\":\"m\"}]}}}}}"

static json_t *parse(const char *text)
{
    json_error_t error;
    json_t *value = json_loads(text, 0, &error);
    if (value == NULL) {
        fail_msg("%s: %s", error.text, text);
    }
    return value;
}

static json_t *make_bmr(const char *spec, const char *status)
{
    _cleanup_(freep) char *text =
        xasprintf("{\"metadata\":{\"name\":\"r1\",\"uid\":\"u1\",\"generation\":3,"
                  "\"creationTimestamp\":\"2026-01-01T00:00:00Z\"},\"spec\":%s,\"status\":%s}",
                  spec, status);
    return parse(text);
}

static const struct run_def_params params = {.name = "r1", .uid = "u1"};

TEST(definitions)
{
    static const struct {
        const char *name, *spec, *status, *benchmark;
        int r;
        int64_t steps, repeats;
        const char *of;      /* the definition's name */
        const char *message; /* of the error */
    } rows[] = {
        {"inline", "{\"definition\":" DEFINITION "}", "{}", NULL, 0, 5, 5, "r1", NULL},
        {"by name", "{\"benchmarkRef\":{\"name\":\"b\"}}", "{}", DEFINITION, 0, 5, 5, "b", NULL},
        {"overridden",
         "{\"benchmarkRef\":{\"name\":\"b\"},\"overrides\":{\"measure\":{\"steps\":7}}}", "{}",
         DEFINITION, 0, 7, 5, "b", NULL},
        {"kept before, the Benchmark has changed",
         "{\"benchmarkRef\":{\"name\":\"b\"},\"overrides\":{\"measure\":{\"steps\":7}}}",
         "{\"definition\":" DEFINITION "}", "{}", 0, 5, 5, "b", NULL},
        {"kept before, another one beside it", "{\"definition\":{\"systems\":[]}}",
         "{\"definition\":" DEFINITION "}", NULL, 0, 5, 5, "r1", NULL},
        {"no Benchmark", "{\"benchmarkRef\":{\"name\":\"b\"}}", "{}", NULL, -ENOENT, 0, 0, NULL,
         "it has no definition of its own"},
        {"a wrong override",
         "{\"benchmarkRef\":{\"name\":\"b\"},\"overrides\":{\"measure\":{\"steps\":0}}}", "{}",
         DEFINITION, -EINVAL, 0, 0, NULL, "measure.steps"},
        {"an exchange of ours", "{\"definition\":" FOREIGN("AllReduce") "}", "{}", NULL, 0, 5, 5,
         "r1", NULL},
        {"in other letters", "{\"definition\":" FOREIGN("Allreduce") "}", "{}", NULL, -EINVAL, 0, 0,
         NULL, "unknown value 'Allreduce'; did you mean 'AllReduce'?"},
        {"in other letters, by name", "{\"benchmarkRef\":{\"name\":\"b\"}}", "{}",
         FOREIGN("Allreduce"), -EINVAL, 0, 0, NULL, "did you mean 'AllReduce'?"},
        {"in other letters, kept before", "{\"definition\":" FOREIGN("AllReduce") "}",
         "{\"definition\":" FOREIGN("Allreduce") "}", NULL, 0, 5, 5, "r1", NULL},
        {"neither", "{}", "{}", DEFINITION, -EINVAL, 0, 0, NULL, "spec: exactly one of"},
        {"both", "{\"benchmarkRef\":{\"name\":\"b\"},\"definition\":" DEFINITION "}", "{}",
         DEFINITION, -EINVAL, 0, 0, NULL, "spec: exactly one of"},
        {"overrides of its own", "{\"overrides\":{},\"definition\":" DEFINITION "}", "{}", NULL,
         -EINVAL, 0, 0, NULL, "spec.overrides: they go with benchmarkRef"},
        {"no overrides", "{\"benchmarkRef\":{\"name\":\"b\"},\"overrides\":{}}", "{}", DEFINITION,
         -EINVAL, 0, 0, NULL, "spec.overrides: the map is empty"},
        {"no name", "{\"benchmarkRef\":\"b\"}", "{}", DEFINITION, -EINVAL, 0, 0, NULL,
         "spec.benchmarkRef: must be a map"},
        {"another field", "{\"benchmarkRef\":{\"name\":\"b\"},\"Suspend\":true}", "{}", DEFINITION,
         -EINVAL, 0, 0, NULL, "spec.Suspend: unknown field 'Suspend'"},
        {"no truth", "{\"benchmarkRef\":{\"name\":\"b\"},\"cancel\":\"no\"}", "{}", DEFINITION,
         -EINVAL, 0, 0, NULL, "spec.cancel: must be true or false"},
        {"too many", "{\"benchmarkRef\":{\"name\":\"b\"},\"parallelism\":{\"trials\":99}}", "{}",
         DEFINITION, -EINVAL, 0, 0, NULL, "spec.parallelism.trials: 99 is out of range"},
        {"nothing", "[]", "{}", DEFINITION, -EINVAL, 0, 0, NULL, "spec: exactly one of"},
        {"a wrong definition", "{\"definition\":{\"systems\":[]}}", "{}", NULL, -EINVAL, 0, 0, NULL,
         "more)"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(json_decrefp) json_t *bmr = make_bmr(rows[i].spec, rows[i].status);
        _cleanup_(run_def_freep) struct run_def *def = NULL;
        struct err err = {0};
        _cleanup_(json_decrefp) json_t *benchmark =
            rows[i].benchmark == NULL ? NULL : parse(rows[i].benchmark);
        const int r = bmr_load_run(bmr, benchmark, NULL, &params, &def, &err);
        if (r != rows[i].r || (r < 0 && strstr(err.msg, rows[i].message) == NULL)) {
            fail_msg("row '%s': expected %d, got %d: %s", rows[i].name, rows[i].r, r, err.msg);
        }
        if (r == 0) {
            assert_int_equal(def->spec->steps, rows[i].steps);
            assert_int_equal(def->spec->repeats, rows[i].repeats);
            assert_string_equal(def->spec->name, rows[i].of);
            _cleanup_(freep) char *stored =
                run_def_text(def); /* names the definition by having it */
            assert_null(strstr(stored, "benchmarkRef"));
        }
    }
}

TEST(a_definition_has_a_limit)
{
    _cleanup_(json_decrefp) json_t *bmr = make_bmr("{\"definition\":" DEFINITION "}", "{}");
    _cleanup_(run_def_freep) struct run_def *def = NULL;
    json_t *definition = NULL;
    struct err err = {0};
    assert_int_equal(bmr_load_run(bmr, NULL, NULL, &params, &def, &err), 0);
    const struct spec *spec = def->spec;
    assert_int_equal(bmr_definition(spec, &definition, &err), 0);
    assert_non_null(json_object_get(definition, "sweep"));
    json_decref(definition);
    char *long_text = xmalloc(BMR_DEFINITION_MAX + 1);
    memset(long_text, 'x', BMR_DEFINITION_MAX);
    long_text[BMR_DEFINITION_MAX] = '\0';
    json_object_set_new(json_object_get(spec->definition, "spec"), "description",
                        json_string(long_text));
    free(long_text);
    assert_int_equal(bmr_definition(spec, &definition, &err), -E2BIG);
}

static const json_t *condition(const json_t *status, const char *type)
{
    const json_t *list = json_object_get(status, "conditions");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        if (str_eq(json_string_value(json_object_get(item, "type")), type)) {
            return item;
        }
    }
    return NULL;
}

static const char *field(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text == NULL ? "" : text;
}

/* Of a run that has no status yet. */
static json_t *first_status(const struct bmr_status *in)
{
    struct bmr_conditions none = {0};
    return bmr_status_json(in, &none);
}

TEST(statuses)
{
    static const struct {
        enum run_phase phase;
        const char *complete, *failed, *running, *suspended;
    } rows[] = {
        {RUN_QUEUED, "False", "False", "False", "False"},
        {RUN_RUNNING, "False", "False", "True", "False"},
        {RUN_SUSPENDED, "False", "False", "False", "True"},
        {RUN_SUCCEEDED, "True", "False", "False", "False"},
        {RUN_PARTIALLY_FAILED, "True", "False", "False", "False"},
        {RUN_FAILED, "False", "True", "False", "False"},
        {RUN_CANCELLED, "False", "True", "False", "False"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const struct run_status run = {.phase = rows[i].phase,
                                       .trials_done = 7,
                                       .trials_failed = 1,
                                       .trials_total = 12,
                                       .has_current = true,
                                       .current.point = 2,
                                       .started_unix_ms = 1000,
                                       .ended_unix_ms = 5000};
        const bool is_final = run_phase_is_final(run.phase);
        _cleanup_(json_decrefp) json_t *s =
            first_status(&(struct bmr_status){.run = &run,
                                              .generation = 3,
                                              .is_accepted = true,
                                              .is_final = is_final,
                                              .eta_s = 250,
                                              .thresholds = THRESHOLD_FAILED,
                                              .now_unix_ms = 9000});
        assert_string_equal(field(s, "phase"), run_phase_to_string(rows[i].phase));
        assert_string_equal(field(s, "completions"), "6/12");
        assert_int_equal(json_integer_value(json_object_get(s, "succeeded")), 6);
        assert_int_equal(json_integer_value(json_object_get(s, "failed")), 1);
        assert_int_equal(json_integer_value(json_object_get(s, "total")), 12);
        assert_string_equal(field(condition(s, "Complete"), "status"), rows[i].complete);
        assert_string_equal(field(condition(s, "Failed"), "status"), rows[i].failed);
        assert_string_equal(field(condition(s, "Running"), "status"), rows[i].running);
        assert_string_equal(field(condition(s, "Suspended"), "status"), rows[i].suspended);
        assert_string_equal(field(condition(s, "Accepted"), "status"), "True");
        assert_string_equal(field(condition(s, "Complete"), "lastTransitionTime"),
                            "1970-01-01T00:00:09Z");
        assert_string_equal(field(s, "startTime"), "1970-01-01T00:00:01Z");
        assert_string_equal(field(s, "completionTime"), is_final ? "1970-01-01T00:00:05Z" : "");
        const bool is_running = rows[i].phase == RUN_RUNNING;
        const bool is_queued = rows[i].phase == RUN_QUEUED; /* its turn has come */
        assert_string_equal(field(s, "current"), is_running || is_queued ? "p2 t0 a0" : "");
        assert_string_equal(field(s, "eta"), is_running ? "4m10s" : "");
        assert_null(json_object_get(s, "lanes"));
        assert_string_equal(field(condition(s, "ThresholdFailed"), "status"),
                            is_final ? "True" : "");
        assert_string_equal(field(condition(s, "MetricsUnavailable"), "status"),
                            is_final ? "False" : "");
    }
}

/* `current` is the first, also where the first lane has nothing to do. */
TEST(lanes_are_listed)
{
    struct run_status run = {.phase = RUN_RUNNING, .trials_total = 12};
    run.lanes[1] = (struct run_lane){true, {2, 0, 1}, false};
    run.lanes[15] = (struct run_lane){true, {3, 1, 0}, false};
    _cleanup_(json_decrefp) json_t *s =
        first_status(&(struct bmr_status){.run = &run, .is_accepted = true, .eta_s = -1});
    assert_string_equal(field(s, "current"), "p2 t0 a1");
    _cleanup_(freep) char *lanes = json_dumps(json_object_get(s, "lanes"), JSON_COMPACT);
    assert_string_equal(lanes, "[\"p2 t0 a1\",\"p3 t1 a0\"]");
}

/* A run that is held back is still Running, or Queued if it has no place in the cluster, and a
 * condition of its own says why. One that waits for its turn was never started. */
TEST(a_wait_is_a_condition)
{
    static const struct {
        enum run_phase phase;
        int64_t started_unix_ms;
        const char *reason, *status, *shown;
    } rows[] = {
        {RUN_RUNNING, 1000, "PodsRemain", "True", "PodsRemain"},
        {RUN_QUEUED, 1000, "WaitsForNodes", "True", "WaitsForNodes"},
        {RUN_QUEUED, 1000, "Queued", "True", "Queued"},
        {RUN_QUEUED, 0, "Queued", "False", "Queued"},
        {RUN_QUEUED, 0, "RunParked", "True", "RunParked"},
        {RUN_RUNNING, 1000, "Running", "False", "Running"},
        {RUN_RUNNING, 1000, "", "False", "Running"},
        {RUN_FAILED, 1000, "DeadlineExceeded", "False", "Failed"},
        {RUN_SUSPENDED, 1000, "SuspendRequested", "False", "Suspended"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct run_status run = {
            .phase = rows[i].phase, .started_unix_ms = rows[i].started_unix_ms, .message = "words"};
        snprintf(run.reason, sizeof(run.reason), "%s", rows[i].reason);
        json_t *s = first_status(&(struct bmr_status){.run = &run, .is_accepted = true});
        const json_t *waiting = condition(s, "Waiting");
        assert_string_equal(field(waiting, "status"), rows[i].status);
        assert_string_equal(field(waiting, "reason"), rows[i].shown);
        const bool is_wait = str_eq(rows[i].status, "True");
        assert_string_equal(field(waiting, "message"), is_wait ? "words" : "");
        const bool is_running = rows[i].phase == RUN_RUNNING;
        assert_string_equal(field(condition(s, "Running"), "status"),
                            is_running ? "True" : "False");
        json_decref(s);
    }
}

TEST(a_full_store_is_a_condition_while_it_lasts)
{
    static const struct {
        enum run_phase phase;
        bool is_full, is_told;
    } rows[] = {{RUN_RUNNING, true, true},
                {RUN_QUEUED, true, true},
                {RUN_RUNNING, false, false},
                {RUN_SUCCEEDED, true, false}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const struct run_status run = {.phase = rows[i].phase};
        _cleanup_(json_decrefp) json_t *s =
            first_status(&(struct bmr_status){.run = &run,
                                              .is_accepted = true,
                                              .is_final = run_phase_is_final(run.phase),
                                              .is_store_full = rows[i].is_full,
                                              .now_unix_ms = 9000});
        assert_string_equal(field(condition(s, "StoreFull"), "status"),
                            rows[i].is_told ? "True" : "");
    }
}

TEST(what_could_not_be_judged_is_unknown)
{
    static const struct {
        enum threshold_verdict verdict;
        const char *status, *reason;
    } expected[] = {
        {THRESHOLD_PASSED, "False", "NoneFailed"},
        {THRESHOLD_FAILED, "True", "BelowThreshold"},
        {THRESHOLD_UNKNOWN, "Unknown", "NotJudged"},
    };
    for (size_t i = 0; i < N_ROWS(expected); i++) {
        const struct run_status run = {.phase = RUN_SUCCEEDED};
        _cleanup_(json_decrefp) json_t *s = first_status(&(struct bmr_status){
            .run = &run, .is_accepted = true, .is_final = true, .thresholds = expected[i].verdict});
        assert_string_equal(field(condition(s, "ThresholdFailed"), "status"), expected[i].status);
        assert_string_equal(field(condition(s, "ThresholdFailed"), "reason"), expected[i].reason);
    }
}

/* A date changes with the condition's status only; what was written can be read back. */
TEST(dates_stay)
{
    struct run_status run = {.phase = RUN_RUNNING,
                             .trials_done = 3,
                             .trials_failed = 1,
                             .trials_total = 4,
                             .started_unix_ms = 1000};
    struct bmr_status in = {.run = &run, .is_accepted = true, .eta_s = -1, .now_unix_ms = 9000};
    struct bmr_conditions dates = {0};
    _cleanup_(json_decrefp) json_t *first = bmr_status_json(&in, &dates);
    in.now_unix_ms = 20000;
    _cleanup_(json_decrefp) json_t *same = bmr_status_json(&in, &dates);
    assert_true(json_equal(first, same));
    run.phase = RUN_SUCCEEDED;
    run.ended_unix_ms = 20000;
    in.is_final = true;
    _cleanup_(json_decrefp) json_t *second = bmr_status_json(&in, &dates);
    assert_string_equal(field(condition(second, "Running"), "lastTransitionTime"),
                        "1970-01-01T00:00:20Z");
    assert_string_equal(field(condition(second, "Failed"), "lastTransitionTime"),
                        "1970-01-01T00:00:09Z");
    json_t *bmr = json_pack("{s:{s:i}, s:O}", "metadata", "generation", 7, "status", second);
    _cleanup_(freep) struct bmr_facts *facts = bmr_facts_decode(bmr);
    const struct run_status back = bmr_run_status(facts);
    assert_int_equal(back.phase, RUN_SUCCEEDED);
    assert_int_equal(back.trials_done, 3);
    assert_int_equal(back.trials_total, 4);
    assert_int_equal(back.trials_failed, 1);
    assert_int_equal(back.started_unix_ms, 1000);
    assert_int_equal(back.ended_unix_ms, 20000);
    for (unsigned i = 0; i < BMR_CONDITION_COUNT; i++) {
        assert_int_equal(facts->conditions->of[i].status, dates.of[i].status);
        assert_int_equal(facts->conditions->of[i].since_unix_ms, dates.of[i].since_unix_ms);
    }
    json_decref(bmr);
}

/* The server compares texts, so these must be the phases of ended runs, and no others. */
TEST(open_runs_are_selected)
{
    _cleanup_(freep) char *selector = bmr_open_selector();
    assert_string_equal(selector, "status.phase!=Succeeded,status.phase!=PartiallyFailed,"
                                  "status.phase!=Failed,status.phase!=Cancelled");
}

/* A condition without which `kubectl wait` would not end. */
TEST(a_message_that_is_not_utf8_is_reported)
{
    const struct run_status run = {.phase = RUN_PENDING};
    _cleanup_(json_decrefp) json_t *s =
        first_status(&(struct bmr_status){.run = &run,
                                          .refusal = "InvalidTemplate",
                                          .refusal_text = "caf\xc3 \xc3\xa9",
                                          .eta_s = -1});
    assert_string_equal(field(condition(s, "Accepted"), "status"), "False");
    assert_string_equal(field(condition(s, "Accepted"), "message"), "caf? \xc3\xa9");
}

TEST(a_refusal_is_reported)
{
    const struct run_status run = {.phase = RUN_PENDING};
    json_t *s = first_status(&(struct bmr_status){
        .run = &run, .refusal = "BenchmarkNotFound", .refusal_text = "there is none", .eta_s = -1});
    assert_string_equal(field(condition(s, "Accepted"), "status"), "False");
    assert_string_equal(field(condition(s, "Accepted"), "reason"), "BenchmarkNotFound");
    assert_string_equal(field(condition(s, "Accepted"), "message"), "there is none");
    _cleanup_(json_decrefp) json_t *body = bmr_apply_body("r1", "u1", s);
    assert_string_equal(field(json_object_get(body, "metadata"), "uid"), "u1");
}
