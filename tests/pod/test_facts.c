/* Each fact of a pod, from the field that says it. */
#include "tests/test.h"
#include "tests/pod/whole_pod.h"
#include "pod/facts.h"

#include "base/rfc3339.h"
#include "base/str.h"

static struct pod_facts *facts_of(const char *text)
{
    json_error_t error;
    _cleanup_(json_decrefp) json_t *pod = json_loads(text, JSON_ALLOW_NUL, &error);
    if (pod == NULL) {
        fail_msg("%s: %s", error.text, text);
    }
    return pod_facts_decode(pod);
}

static int64_t date(const char *text)
{
    int64_t unix_ns;
    assert_int_equal(rfc3339_parse(text, strlen(text), &unix_ns), 0);
    return unix_ns / 1000000;
}

TEST(each_field)
{
    _cleanup_(freep) struct pod_facts *f = facts_of(whole_pod);
    const struct {
        const char *is, *expected;
    } texts[] = {
        {f->owner_uid, "u-1"},
        {f->node, "n"},
        {f->container, "main"},
        {f->memory_limit, "1Gi"},
        {f->reason, "r"},
        {f->message, "m"},
        {f->ip, "10.0.0.7"},
        {f->disruption_reason, "dr"},
        {f->disruption_message, "dm"},
        {f->eviction_reason, "er"},
        {f->eviction_message, "em"},
        {f->queue, "q"},
        {f->unscheduled_reason, "sr"},
        {f->unscheduled_message, "sm"},
        {f->image_id, "id"},
        {f->containers[0].name, "main"},
        {f->containers[0].image, "i"},
        {f->containers[0].reason, "wr"},
        {f->containers[0].message, "wm"},
        {f->containers[2].reason, "tr"},
        {f->containers[2].message, "tm"},
    };
    for (size_t i = 0; i < N_ROWS(texts); i++) {
        assert_string_equal(texts[i].is, texts[i].expected);
    }
    const struct replica_id id = {{1, 2, 3}, ROLE_PSERVER, 4};
    assert_true(f->is_of_a_run && f->is_going && f->has_id && f->is_not_set_up);
    assert_true(f->is_unheard_of && f->has_container_id);
    assert_true(replica_id_eq(&f->id, &id));
    assert_true(f->created_unix_ms == date("2026-01-01T00:00:00Z"));
    assert_true(f->asked_to_go_unix_ms == date("2026-01-01T00:10:00Z"));
    assert_true(f->started_unix_ms == date("2026-01-01T00:01:00Z"));
    assert_true(f->finished_unix_ms == date("2026-01-01T00:02:00Z"));
    assert_int_equal(f->phase, POD_FAILED);
    assert_int_equal(f->n_restarts, 5);
    assert_int_equal(f->n_init, 1);
    assert_int_equal(f->n_containers, 3);
    assert_ptr_equal(f->main, &f->containers[2]);
    assert_int_equal(f->containers[0].step, POD_STEP_WAITING);
    assert_int_equal(f->containers[1].step, POD_STEP_RUNNING);
    assert_int_equal(f->main->step, POD_STEP_TERMINATED);
    assert_int_equal(f->main->exit_code, 137);
    assert_int_equal(f->main->signal, 9);
}

/* Of a job object's pod the labels name the run, and another label its number. */
TEST(pods_of_job_objects)
{
    static const struct {
        const char *labels;
        bool has_id;
        uint32_t index;
    } rows[] = {
        {"\"batch.kubernetes.io/job-completion-index\":\"3\"", true, 3},
        {"\"batch.kubernetes.io/job-completion-index\":\"x\"", true, POD_INDEX_ANY},
        {"\"benchd.io/replica-index\":\"3\"", true, POD_INDEX_ANY},
        {"\"benchd.io/role\":\"x\"", false, POD_INDEX_ANY},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(freep) char *text = xasprintf(
            "{\"metadata\":{\"ownerReferences\":[{\"kind\":\"Job\",\"uid\":\"j\",\"controller\":"
            "true}],\"labels\":{\"benchd.io/run-uid\":\"u-1\",\"benchd.io/index-from\":"
            "\"batch.kubernetes.io_job-completion-index\",\"benchd.io/role\":\"worker\","
            "\"benchd.io/point\":\"1\",\"benchd.io/trial\":\"2\",\"benchd.io/attempt\":\"0\",%s}}}",
            rows[i].labels);
        _cleanup_(freep) struct pod_facts *f = facts_of(text);
        assert_string_equal(f->owner_uid, "u-1");
        assert_true(f->is_of_a_job);
        assert_int_equal(f->has_id, rows[i].has_id);
        assert_int_equal(f->id.index, rows[i].index);
    }
}

/* Whoever may edit pods may leave out anything, or write something else. */
TEST(nothing_and_nonsense)
{
    static const char *const pods[] = {
        "{}",
        "{\"metadata\":7,\"spec\":[],\"status\":\"Failed\"}",
        "{\"metadata\":{\"creationTimestamp\":\"yesterday\",\"deletionTimestamp\":null,"
        "\"ownerReferences\":[7,{\"kind\":\"BenchmarkRun\",\"controller\":\"true\"}],\"labels\":{"
        "\"benchd.io/role\":\"trainer\",\"benchd.io/point\":\"-1\"}},\"spec\":{\"nodeName\":7,"
        "\"containers\":[]},\"status\":{\"phase\":\"Unknown\",\"conditions\":[7,{\"type\":"
        "\"Ready\",\"status\":\"False\",\"reason\":\"said\"},{\"type\":\"Ready\",\"status\":"
        "\"False\"},{\"type\":\"PodScheduled\",\"status\":\"True\",\"reason\":\"r\"},{\"type\":"
        "\"DisruptionTarget\",\"status\":\"False\",\"reason\":\"r\"}],\"containerStatuses\":{}}}",
    };
    for (size_t i = 0; i < N_ROWS(pods); i++) {
        _cleanup_(freep) struct pod_facts *f = facts_of(pods[i]);
        const char *const texts[] = {f->owner_uid, f->node,    f->container, f->memory_limit,
                                     f->reason,    f->message, f->ip,        f->image_id};
        for (size_t k = 0; k < N_ROWS(texts); k++) {
            assert_string_equal(texts[k], "");
        }
        assert_false(f->is_of_a_run || f->is_going || f->has_id || f->is_not_set_up);
        assert_false(f->is_unheard_of || f->has_container_id);
        assert_true(f->created_unix_ms == 0 && f->asked_to_go_unix_ms == 0);
        assert_null(f->disruption_reason);
        assert_null(f->unscheduled_reason);
        assert_null(f->main);
        assert_int_equal(f->phase, POD_GOES_ON);
        assert_int_equal(f->n_containers, 0);
    }
}
