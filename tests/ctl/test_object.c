/* BenchmarkRun objects read and built, and the state of a run as benchd tells it. */
#include "tests/test.h"
#include "ctl/runs/object.h"
#include "ctl/runs/run_state.h"

static json_t *parse(const char *text)
{
    json_t *value = json_loads(text, 0, NULL);
    assert_non_null(value);
    return value;
}

TEST(test_status)
{
    static const struct {
        const char *status;
        enum run_phase phase;
        uint32_t done, failed, total;
        const char *reason;
    } rows[] = {
        {"null", RUN_PENDING, 0, 0, 0, ""},
        {"{\"phase\": \"Dancing\"}", RUN_PENDING, 0, 0, 0, ""},
        {"{\"phase\": \"Running\", \"succeeded\": 3, \"failed\": 2, \"total\": 12}", RUN_RUNNING, 5,
         2, 12, ""},
        {"{\"phase\": \"Running\", \"succeeded\": \"x\"}", RUN_RUNNING, 0, 0, 0, ""},
        {"{\"phase\": \"Failed\", \"conditions\": [{\"type\": \"Running\", \"status\": \"False\","
         " \"reason\": \"A\"}, {\"type\": \"Failed\", \"status\": \"True\", \"reason\": \"B\"}]}",
         RUN_FAILED, 0, 0, 0, "B"},
        {"{\"phase\": \"Failed\", \"conditions\": [{\"type\": \"Failed\", \"status\": \"False\","
         " \"reason\": \"A\"}, {\"type\": \"Accepted\", \"status\": \"False\", \"reason\": "
         "\"C\"}]}",
         RUN_FAILED, 0, 0, 0, "C"},
        {"{\"phase\": \"Running\", \"conditions\": [{\"type\": \"Running\", \"status\": \"True\","
         " \"reason\": \"Running\"}, {\"type\": \"Waiting\", \"status\": \"True\", \"reason\": "
         "\"PodsRemain\"}]}",
         RUN_RUNNING, 0, 0, 0, "PodsRemain"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_(json_decrefp) json_t *object =
            json_pack("{s:o}", "status", json_loads(rows[i].status, JSON_DECODE_ANY, NULL));
        struct run_status st;
        object_read_status(object, &st);
        if (st.phase != rows[i].phase || st.trials_done != rows[i].done ||
            st.trials_failed != rows[i].failed || st.trials_total != rows[i].total ||
            strcmp(st.reason, rows[i].reason) != 0) {
            fail_msg("%s: got %s, %u done, %u failed of %u, reason '%s'", rows[i].status,
                     run_phase_to_string(st.phase), st.trials_done, st.trials_failed,
                     st.trials_total, st.reason);
        }
    }
}

TEST(test_a_run_carries_its_definition)
{
    json_t *spec = parse("{\"definition\": {\"measure\": {\"steps\": 8}}}");
    json_t *run = object_make_run("tiny-7k3fq", "tiny", "r-1", spec);
    assert_true(json_equal(json_object_get(run, "spec"), spec));
    assert_true(object_is_of_request(run, "r-1"));
    assert_false(object_is_of_request(run, "r-2"));
    json_decref(run);
    json_decref(spec);
}

TEST(test_attempt_ids_are_a_set)
{
    _cleanup_(attempt_ids_done) struct attempt_ids ids = {0};
    const struct attempt_id some[] = {{2, 0, 0}, {0, 1, 0}, {0, 0, 3}, {0, 1, 1}, {2, 0, 0}};
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(attempt_ids_add(&ids, some[i]), i < 4);
    }
    assert_int_equal(ids.list.len, 4);
    assert_int_equal(ids.list.items[0].number, 3);
    assert_int_equal(ids.list.items[3].point, 2);
    assert_false(attempt_ids_has(&ids, (struct attempt_id){1, 0, 0}));
}

TEST(test_state)
{
    static const char text[] =
        "{\"phase\": \"Running\", \"reason\": \"\", \"message\": \"\", \"trialsDone\": 1,"
        " \"trialsFailed\": 0, \"trialsTotal\": 4, \"started\": \"2026-01-01T00:00:00Z\","
        " \"current\": {\"point\": 1, \"trial\": 2, \"attempt\": 3}, \"progress\": {\"role\":"
        " \"trainer\", \"index\": 0, \"step\": 5, \"warmup\": false, \"stepNs\": 7, \"samples\": "
        "8},"
        " \"attempts\": [{\"point\": 0, \"trial\": 0, \"attempt\": 0}]}";
    _cleanup_(json_decrefp) json_t *document = parse(text);
    struct run_state got;
    assert_int_equal(run_state_read(document, &got, NULL), 0);
    assert_true(got.has_step && got.step.id.attempt.point == 1 && got.step.id.attempt.number == 3);
    assert_int_equal(got.step.of.step, 5);
    assert_true(got.status.started_unix_ms == INT64_C(1767225600000));
    assert_int_equal(got.attempts.list.len, 1);
    attempt_ids_done(&got.attempts);

    json_t *between = json_deep_copy(document); /* two trials: a step is of neither */
    (void)json_object_del(between, "current");
    assert_int_equal(run_state_read(between, &got, NULL), 0);
    assert_false(got.status.has_current);
    assert_false(got.has_step);
    attempt_ids_done(&got.attempts);
    json_decref(between);

    struct err err;
    (void)json_object_set_new(json_object_get(document, "progress"), "role", json_string("king"));
    assert_int_equal(run_state_read(document, &got, &err), -EPROTO);
    assert_non_null(strstr(err.msg, "role 'king' is unknown"));
}
