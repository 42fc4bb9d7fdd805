/* Every state of a pod, and what it means for its replica (docs/pods.md, "What a pod's status
 * means"; docs/contracts/retries.md). */
#include "tests/core/summary_fixture.h"
#include "pod/state.h"

#include "base/buf.h"
#include "base/str.h"

/* A container's status. */
#define MAIN(state)                                                                                \
    "\"containerStatuses\":[{\"name\":\"side\",\"state\":{\"running\":{}}},"                       \
    "{\"name\":\"main\",\"image\":\"r/w:1\",\"containerID\":\"containerd://1\","                   \
    "\"state\":" state "}]"
#define ENDED(code, rest) MAIN("{\"terminated\":{\"exitCode\":" #code rest "}}")
#define WAITS(reason, message)                                                                     \
    MAIN("{\"waiting\":{\"reason\":\"" reason "\",\"message\":\"" message "\"}}")
#define DISRUPTED(reason)                                                                          \
    "\"conditions\":[{\"type\":\"DisruptionTarget\",\"status\":\"True\","                          \
    "\"reason\":\"" reason "\",\"message\":\"m\"}]"

#define EVICTED(status)                                                                            \
    "\"conditions\":[{\"type\":\"TerminationTarget\",\"status\":\"" status                         \
    "\",\"reason\":\"WorkloadEvictedDueToPreempted\",\"message\":\"m\"}]"
#define QUEUE "\"labels\":{\"kueue.x-k8s.io/queue-name\":\"q\"}"

struct row {
    const char *name, *status;
    enum replica_state state;
    enum failure_class failure;
    enum pod_wait wait;
    const char *message; /* the whole of it */
};

/* clang-format off */
static const struct row rows[] = {
    {"just made", "\"phase\":\"Pending\"", REPLICA_PENDING, FAILURE_NONE, POD_WAIT_NONE, ""},
    {"no status", "", REPLICA_PENDING, FAILURE_NONE, POD_WAIT_NONE, ""},
    {"container being created", "\"phase\":\"Pending\"," WAITS("ContainerCreating", ""),
     REPLICA_PENDING, FAILURE_NONE, POD_WAIT_NONE, ""},
    {"runs", "\"phase\":\"Running\"," MAIN("{\"running\":{}}"), REPLICA_RUNNING, FAILURE_NONE,
     POD_WAIT_NONE, ""},
    {"ended well", "\"phase\":\"Succeeded\"," ENDED(0, ""), REPLICA_SUCCEEDED, FAILURE_NONE,
     POD_WAIT_NONE, ""},
    {"ended well, a side container runs on", "\"phase\":\"Running\"," ENDED(0, ""),
     REPLICA_SUCCEEDED, FAILURE_NONE, POD_WAIT_NONE, ""},
    {"ended well, then drained", "\"phase\":\"Succeeded\"," ENDED(0, "") ","
     DISRUPTED("EvictionByEvictionAPI"), REPLICA_SUCCEEDED, FAILURE_NONE, POD_WAIT_NONE, ""},

    /* what comes before it */
    {"an init container fails", "\"phase\":\"Failed\"," WAITS("PodInitializing", "") ","
     "\"initContainerStatuses\":[{\"name\":\"a\",\"state\":{\"terminated\":{\"exitCode\":0}}},"
     "{\"name\":\"fetch\",\"state\":{\"terminated\":{\"exitCode\":3,\"message\":\"no data\"}}}]",
     REPLICA_FAILED, FAILURE_PERMANENT, POD_WAIT_NONE, "init container 'fetch': exit code 3: no data"},
    {"an init container out of memory", "\"phase\":\"Failed\","
     "\"initContainerStatuses\":[{\"name\":\"fetch\",\"state\":{\"terminated\":{\"exitCode\":137,"
     "\"reason\":\"OOMKilled\"}}}]", REPLICA_FAILED, FAILURE_PERMANENT, POD_WAIT_NONE,
     "init container 'fetch': out of memory, exit code 137"},

    /* how the container ended */
    {"exit 3", "\"phase\":\"Failed\"," ENDED(3, ",\"reason\":\"Error\",\"message\":\"a\\nlast\\n\""),
     REPLICA_FAILED, FAILURE_PERMANENT, POD_WAIT_NONE, "exit code 3: last"},
    {"exit 13", "\"phase\":\"Failed\"," ENDED(13, ""), REPLICA_FAILED, FAILURE_INFRASTRUCTURE,
     POD_WAIT_NONE, "exit code 13"},
    {"exit 137 without OOMKilled", "\"phase\":\"Failed\"," ENDED(137, ",\"reason\":\"Error\""),
     REPLICA_FAILED, FAILURE_INFRASTRUCTURE, POD_WAIT_NONE,
     "killed by signal 9, not by the OOM killer"},
    {"signal 11", "\"phase\":\"Failed\"," ENDED(139, ",\"signal\":11"), REPLICA_FAILED,
     FAILURE_INFRASTRUCTURE, POD_WAIT_NONE, "killed by signal 11"},
    {"OOM", "\"phase\":\"Failed\"," ENDED(137, ",\"reason\":\"OOMKilled\""), REPLICA_FAILED,
     FAILURE_PERMANENT, POD_WAIT_NONE,
     "out of memory; raise its limit of 256Mi, for example with --set memory=VALUE"},
    {"OOM behind exit 0", "\"phase\":\"Succeeded\"," ENDED(0, ",\"reason\":\"OOMKilled\""),
     REPLICA_FAILED, FAILURE_PERMANENT, POD_WAIT_NONE,
     "out of memory; raise its limit of 256Mi, for example with --set memory=VALUE"},
    {"StartError", "\"phase\":\"Failed\","
     ENDED(128, ",\"reason\":\"StartError\",\"message\":\"exec: no such file\""), REPLICA_FAILED,
     FAILURE_PERMANENT, POD_WAIT_NONE, "the container could not start: exec: no such file"},
    {"ContainerCannotRun", "\"phase\":\"Failed\"," ENDED(128, ",\"reason\":\"ContainerCannotRun\""),
     REPLICA_FAILED, FAILURE_PERMANENT, POD_WAIT_NONE, "the container could not start"},
    {"ContainerStatusUnknown", "\"phase\":\"Failed\","
     ENDED(137, ",\"reason\":\"ContainerStatusUnknown\""), REPLICA_FAILED, FAILURE_INFRASTRUCTURE,
     POD_WAIT_NONE, "the node does not know how the container ended"},

    /* what the cluster did to the pod */
    {"evicted", "\"phase\":\"Failed\",\"reason\":\"Evicted\",\"message\":\"low on memory\","
     ENDED(137, ",\"reason\":\"OOMKilled\""), REPLICA_FAILED, FAILURE_INFRASTRUCTURE,
     POD_WAIT_NONE, "evicted by the node: low on memory"},
    {"OutOfcpu, no container at all", "\"phase\":\"Failed\",\"reason\":\"OutOfcpu\","
     "\"message\":\"not enough\"", REPLICA_FAILED, FAILURE_NO_ROOM, POD_WAIT_NONE,
     "rejected by the node: OutOfcpu: not enough"},
    {"TopologyAffinityError", "\"phase\":\"Failed\",\"reason\":\"TopologyAffinityError\","
     "\"message\":\"m\"", REPLICA_FAILED, FAILURE_INFRASTRUCTURE, POD_WAIT_NONE,
     "rejected by the node: TopologyAffinityError: m"},
    {"node shutdown", "\"phase\":\"Failed\",\"reason\":\"Terminated\",\"message\":\"imminent\"",
     REPLICA_FAILED, FAILURE_INFRASTRUCTURE, POD_WAIT_NONE, "the node was shut down: imminent"},
    {"deadline", "\"phase\":\"Failed\",\"reason\":\"DeadlineExceeded\","
     ENDED(137, ",\"reason\":\"Error\""), REPLICA_FAILED, FAILURE_PERMANENT, POD_WAIT_NONE,
     "ran longer than the pod's activeDeadlineSeconds"},
    {"failed without a word", "\"phase\":\"Failed\"", REPLICA_FAILED, FAILURE_INFRASTRUCTURE,
     POD_WAIT_NONE, "failed"},
    {"preempted", "\"phase\":\"Running\"," MAIN("{\"running\":{}}") ","
     DISRUPTED("PreemptionByScheduler"), REPLICA_FAILED, FAILURE_PREEMPTED, POD_WAIT_NONE,
     "preempted on the node by a pod with higher priority; set priorityClassName in the templates: m"},
    {"preempted by its node", "\"phase\":\"Failed\",\"reason\":\"Preempting\",\"message\":\"m\"",
     REPLICA_FAILED, FAILURE_PREEMPTED, POD_WAIT_NONE, "evicted by the node: m"},
    {"preempted by its queue, and it dies of that", "\"phase\":\"Failed\"," ENDED(143, "") ","
     EVICTED("True"), REPLICA_FAILED, FAILURE_PREEMPTED, POD_WAIT_NONE,
     "preempted by queue 'q' (WorkloadEvictedDueToPreempted): m"},
    {"preempted by its queue, and nothing ran", "\"phase\":\"Pending\"," EVICTED("True"),
     REPLICA_FAILED, FAILURE_PREEMPTED, POD_WAIT_NONE,
     "preempted by queue 'q' (WorkloadEvictedDueToPreempted): m"},
    {"preempted by its queue after it ended", "\"phase\":\"Succeeded\"," ENDED(0, "") ","
     EVICTED("True"), REPLICA_SUCCEEDED, FAILURE_NONE, POD_WAIT_NONE, ""},
    {"its queue leaves it alone", "\"phase\":\"Running\"," MAIN("{\"running\":{}}") ","
     EVICTED("False"), REPLICA_RUNNING, FAILURE_NONE, POD_WAIT_NONE, ""},
    {"drained", "\"phase\":\"Failed\"," ENDED(143, "") "," DISRUPTED("EvictionByEvictionAPI"),
     REPLICA_FAILED, FAILURE_INFRASTRUCTURE, POD_WAIT_NONE, "evicted from the node through the API, as kubectl drain does: m"},
    {"node lost", "\"phase\":\"Running\"," MAIN("{\"running\":{}}") ","
     DISRUPTED("DeletionByTaintManager"), REPLICA_FAILED, FAILURE_INFRASTRUCTURE, POD_WAIT_NONE,
     "the node was lost or tainted: m"},
    {"the node is not ready", "\"phase\":\"Running\"," MAIN("{\"running\":{}}") ","
     "\"conditions\":[{\"type\":\"ContainersReady\",\"status\":\"True\"},"
     "{\"type\":\"Ready\",\"status\":\"False\"}]",
     REPLICA_RUNNING, FAILURE_NONE, POD_WAIT_NONE, "the node is not ready"},
    {"a probe of the template fails", "\"phase\":\"Running\"," MAIN("{\"running\":{}}") ","
     "\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\",\"reason\":\"ContainersNotReady\"}]",
     REPLICA_RUNNING, FAILURE_NONE, POD_WAIT_NONE, ""},
    {"not started yet", "\"phase\":\"Pending\"," WAITS("ContainerCreating", "") ","
     "\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\"}]",
     REPLICA_PENDING, FAILURE_NONE, POD_WAIT_NONE, ""},
    {"a disruption of tomorrow", "\"phase\":\"Running\"," DISRUPTED("Whatever"), REPLICA_FAILED,
     FAILURE_INFRASTRUCTURE, POD_WAIT_NONE, "disrupted on the node: m"},

    /* what it waits for */
    {"unschedulable", "\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\","
     "\"status\":\"False\",\"reason\":\"Unschedulable\",\"message\":\"0/2 nodes\"}]",
     REPLICA_PENDING, FAILURE_NONE, POD_WAIT_NODE, "no node fits the pod: 0/2 nodes"},
    {"gated", "\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\","
     "\"status\":\"False\",\"reason\":\"SchedulingGated\"}]",
     REPLICA_PENDING, FAILURE_NONE, POD_WAIT_GATE, "queue 'q' has not admitted the pod"},
    {"scheduled", "\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\","
     "\"status\":\"True\"}]", REPLICA_PENDING, FAILURE_NONE, POD_WAIT_NONE, ""},
    {"ErrImagePull", "\"phase\":\"Pending\"," WAITS("ErrImagePull", "not found"), REPLICA_PENDING,
     FAILURE_NONE, POD_WAIT_IMAGE, "image 'r/w:1': ErrImagePull: not found"},
    {"ErrImagePull, as containerd says it", "\"phase\":\"Pending\","
     WAITS("ErrImagePull", "rpc error: code = NotFound desc = failed to pull and unpack image "
           "\\\"r/w:1\\\": failed to resolve reference \\\"r/w:1\\\": r/w:1: not found"),
     REPLICA_PENDING, FAILURE_NONE, POD_WAIT_IMAGE,
     "image 'r/w:1': ErrImagePull: r/w:1: not found"},
    {"ErrImagePull, a registry that nobody finds", "\"phase\":\"Pending\","
     WAITS("ErrImagePull", "failed to do request: Head \\\"https://r/v2/w/manifests/1\\\": dial "
           "tcp: lookup r: no such host"), REPLICA_PENDING, FAILURE_NONE, POD_WAIT_IMAGE,
     "image 'r/w:1': ErrImagePull: dial tcp: lookup r: no such host"},
    {"ImagePullBackOff", "\"phase\":\"Pending\"," WAITS("ImagePullBackOff", ""), REPLICA_PENDING,
     FAILURE_NONE, POD_WAIT_IMAGE, "image 'r/w:1': ImagePullBackOff"},
    {"InvalidImageName", "\"phase\":\"Pending\"," WAITS("InvalidImageName", "bad"), REPLICA_FAILED,
     FAILURE_PERMANENT, POD_WAIT_NONE, "image 'r/w:1': InvalidImageName: bad"},
    {"ErrImageNeverPull", "\"phase\":\"Pending\"," WAITS("ErrImageNeverPull", ""), REPLICA_FAILED,
     FAILURE_PERMANENT, POD_WAIT_NONE, "image 'r/w:1': ErrImageNeverPull"},
    {"CreateContainerConfigError", "\"phase\":\"Pending\","
     WAITS("CreateContainerConfigError", "failed to sync secret cache"), REPLICA_PENDING,
     FAILURE_NONE, POD_WAIT_CONTAINER,
     "the container cannot be created: CreateContainerConfigError: failed to sync secret cache"},
    {"CreateContainerError", "\"phase\":\"Pending\","
     WAITS("CreateContainerError", "context deadline exceeded"), REPLICA_PENDING, FAILURE_NONE,
     POD_WAIT_CONTAINER,
     "the container cannot be created: CreateContainerError: context deadline exceeded"},
    {"RunContainerError", "\"phase\":\"Pending\"," WAITS("RunContainerError", "no such file"),
     REPLICA_FAILED, FAILURE_PERMANENT, POD_WAIT_NONE,
     "the container cannot be created: RunContainerError: no such file"},
    {"an init container's image", "\"phase\":\"Pending\",\"initContainerStatuses\":[{\"name\":"
     "\"i\",\"image\":\"x\",\"state\":{\"waiting\":{\"reason\":\"InvalidImageName\"}}}]",
     REPLICA_FAILED, FAILURE_PERMANENT, POD_WAIT_NONE, "image 'x': InvalidImageName"},
};
/* clang-format on */

static json_t *make_pod(const char *metadata, const char *status)
{
    _cleanup_(freep) char *text =
        xasprintf("{\"metadata\":{%s},\"spec\":{\"containers\":[{\"name\":\"main\",\"resources\":"
                  "{\"limits\":{\"memory\":\"256Mi\"}}},{\"name\":\"side\"}]},"
                  "\"status\":{%s}}",
                  metadata, status);
    json_error_t error;
    json_t *pod = json_loads(text, 0, &error);
    if (pod == NULL) {
        fail_msg("%s: %s", error.text, text);
    }
    return pod;
}

static const struct replica_id trainer_1 = {{0, 0, 0}, ROLE_TRAINER, 1};

static void read_state(json_t *pod, const struct replica_id *id, struct pod_state *ret)
{
    _cleanup_(freep) struct pod_facts *facts = pod_facts_decode(pod);
    pod_state_read(facts, id, ret);
}

TEST(every_class)
{
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(json_decrefp) json_t *pod = make_pod(QUEUE, rows[i].status);
        _cleanup_(pod_state_done) struct pod_state s;
        read_state(pod, &trainer_1, &s);
        if (s.state != rows[i].state || s.failure != rows[i].failure || s.wait != rows[i].wait ||
            strcmp(pod_state_message(&s), rows[i].message) != 0) {
            fail_msg("row '%s': expected state %d class %d wait %d '%s', got %d %d %d '%s'",
                     rows[i].name, rows[i].state, rows[i].failure, rows[i].wait, rows[i].message,
                     s.state, s.failure, s.wait, pod_state_message(&s));
        }
    }
}

TEST(deleted_by_somebody)
{
    const char *deleted = "\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"";
    static const struct {
        const char *status, *message;
        enum replica_state state;
    } cases[] = {
        {"\"phase\":\"Running\"," MAIN("{\"running\":{}}"),
         "the pod is being deleted from the node", REPLICA_FAILED},
        {"\"phase\":\"Succeeded\"," ENDED(0, ""), "", REPLICA_SUCCEEDED},
        {"\"phase\":\"Failed\"," ENDED(2, ""), "exit code 2", REPLICA_FAILED},
    };
    for (size_t i = 0; i < N_ROWS(cases); i++) {
        _cleanup_(json_decrefp) json_t *pod = make_pod(deleted, cases[i].status);
        _cleanup_(pod_state_done) struct pod_state s;
        read_state(pod, &trainer_1, &s);
        assert_int_equal(s.state, cases[i].state);
        assert_string_equal(pod_state_message(&s), cases[i].message);
    }
}

#define ALONE(state) "\"containerStatuses\":[{\"name\":\"main\",\"state\":" state "}]"

/* What nothing of runs any more, and what is about to be so. */
TEST(over_and_stopped)
{
    /* clang-format off */
    static const struct {
        const char *name, *status;
        bool is_over, has_stopped;
    } cases[] = {
        {"no status", "", false, false},
        {"runs", "\"phase\":\"Running\"," ALONE("{\"running\":{}}"), false, false},
        {"ended, its phase to come", "\"phase\":\"Running\"," ALONE("{\"terminated\":{}}"), false, true},
        {"ended well", "\"phase\":\"Succeeded\"," ALONE("{\"terminated\":{}}"), true, true},
        {"ended badly", "\"phase\":\"Failed\"," ALONE("{\"terminated\":{\"exitCode\":2}}"), true, true},
        {"rejected by the node", "\"phase\":\"Failed\",\"reason\":\"OutOfcpu\"", true, false},
        {"another container runs", "\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"main\","
         "\"state\":{\"terminated\":{}}},{\"name\":\"side\",\"state\":{\"running\":{}}}]", false,
         false},
        {"an init container that goes on", "\"phase\":\"Running\",\"initContainerStatuses\":[{"
         "\"name\":\"i\",\"state\":{\"running\":{}}}]," ALONE("{\"terminated\":{}}"), false, false},
    };
    /* clang-format on */
    for (size_t i = 0; i < N_ROWS(cases); i++) {
        _cleanup_(json_decrefp) json_t *pod = make_pod("", cases[i].status);
        _cleanup_(freep) struct pod_facts *f = pod_facts_decode(pod);
        if (pod_is_over(f) != cases[i].is_over || pod_has_stopped(f) != cases[i].has_stopped) {
            fail_msg("%s: over %d, stopped %d", cases[i].name, pod_is_over(f), pod_has_stopped(f));
        }
    }
}

TEST(killed_for_memory_without_a_limit)
{
    _cleanup_(json_decrefp) json_t *pod =
        make_pod("", "\"phase\":\"Failed\"," ENDED(137, ",\"reason\":\"OOMKilled\""));
    json_object_del(json_array_get(json_object_get(json_object_get(pod, "spec"), "containers"), 0),
                    "resources");
    _cleanup_(pod_state_done) struct pod_state s;
    read_state(pod, &trainer_1, &s);
    assert_int_equal(s.failure, FAILURE_PERMANENT);
    assert_string_equal(
        pod_state_message(&s),
        "out of memory; the container has no limit, so its node has too little memory");
}

/* A webhook puts its own container in front. Ours has the contract's variables or, as a watch shows
 * it, none, but the run's key. */
static void check_container_in_front(const char *mark)
{
    _cleanup_(freep) char *text = xasprintf(
        "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":["
        "{\"name\":\"proxy\",\"env\":[{\"name\":\"BENCHD\"}],\"resources\":{\"limits\":{\"memory\":"
        "\"1Mi\"}}},"
        "{\"name\":\"work\",%s,"
        "\"resources\":{\"limits\":{\"memory\":\"5Gi\"}}}]},\"status\":{\"phase\":\"Failed\","
        "\"containerStatuses\":[{\"name\":\"proxy\",\"containerID\":\"c://"
        "0\",\"state\":{\"running\":{}}},"
        "{\"name\":\"work\",\"containerID\":\"c://1\",\"restartCount\":2,\"state\":{\"terminated\":"
        "{\"exitCode\":137,\"reason\":\"OOMKilled\"}}}]}}",
        mark);
    _cleanup_(json_decrefp) json_t *pod = json_loads(text, 0, NULL);
    assert_non_null(pod);
    _cleanup_(pod_state_done) struct pod_state s;
    read_state(pod, &trainer_1, &s);
    assert_int_equal(s.state, REPLICA_FAILED);
    assert_int_equal(s.n_restarts, 2); /* how it ended at last says more */
    assert_string_equal(pod_state_message(&s), "out of memory; raise its limit of 5Gi, for example "
                                               "with --set memory=VALUE");
    assert_string_equal(json_string_value(json_object_get(pod_main_container(pod), "name")),
                        "work");
}

/* By a restartPolicy of the container's own. */
TEST(a_container_that_was_started_again)
{
    static const char *const states[] = {"{\"running\":{}}", "{\"terminated\":{\"exitCode\":0}}"};
    for (size_t i = 0; i < N_ROWS(states); i++) {
        _cleanup_(freep) char *text = xasprintf(
            "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"main\"}]},"
            "\"status\":{\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"main\","
            "\"containerID\":\"c://1\",\"restartCount\":1,\"state\":%s}]}}",
            states[i]);
        _cleanup_(json_decrefp) json_t *pod = json_loads(text, 0, NULL);
        _cleanup_(pod_state_done) struct pod_state s;
        read_state(pod, &trainer_1, &s);
        assert_int_equal(s.state, REPLICA_FAILED);
        assert_int_equal(s.failure, FAILURE_INFRASTRUCTURE);
        assert_string_equal(pod_state_message(&s),
                            "its container was started 2 times; a measurement is one start");
    }
}

TEST(another_container_in_front)
{
    check_container_in_front("\"env\":[{\"name\":\"A\"},{\"name\":\"BENCHD_ROLE\"}]");
    check_container_in_front(
        "\"env\":[],\"volumeMounts\":[{\"name\":\"tmp\"},{\"name\":\"benchd-key\"}]");
}

/* A pod of trainer/1 that ended with `code` and this termination message. */
static json_t *make_ended(int code, const char *message)
{
    json_t *pod = make_pod("", "\"phase\":\"Running\"," ENDED(0, ""));
    json_t *list = json_object_get(json_object_get(pod, "status"), "containerStatuses");
    json_t *ended =
        json_object_get(json_object_get(json_array_get(list, 1), "state"), "terminated");
    json_object_set_new(ended, "exitCode", json_integer(code));
    json_object_set_new(ended, "message", json_string(message));
    return pod;
}

TEST(summary_in_message)
{
    _cleanup_(buf_done) struct buf line = BUF_INIT;
    const struct record_who who = {ROLE_TRAINER, 1, 0};
    const struct summary summary = {
        .samples = 128, .duration_ns = 1000000000, .steps = 8, .noise = {{5, 6}, {7, 8}, 10, 9}};
    record_write_summary(&line, &who, &summary);
    _cleanup_(json_decrefp) json_t *pod = make_ended(0, buf_cstr(&line));
    struct pod_state s;
    read_state(pod, &trainer_1, &s);
    assert_int_equal(s.state, REPLICA_SUCCEEDED);
    assert_summary_equal(s.summary, &summary, &trainer_1);
    pod_state_done(&s);

    static const struct replica_id others[] = {
        {{0, 0, 0}, ROLE_TRAINER, 2}, {{0, 0, 0}, ROLE_PSERVER, 1}, {{0, 0, 1}, ROLE_TRAINER, 1}};
    for (size_t i = 0; i < N_ROWS(others); i++) { /* what it says is not theirs */
        read_state(pod, &others[i], &s);
        assert_null(s.summary);
        pod_state_done(&s);
    }
}

TEST(why_a_summary_cannot_be_used)
{
#define HEAD "{\"benchd\":1,\"type\":\"summary\",\"role\":\"trainer\",\"index\":1,\"attempt\":0,"
    static const struct {
        const char *text, *message;
    } messages[] = {
        {HEAD "\"samples\":5,\"duration_ns\":5,\"steps\":1}", ""},
        {HEAD "\"samples\":0,\"duration_ns\":5,\"steps\":1}", ""},
        {HEAD "\"duration_ns\":5,\"steps\":1}", "damaged record: record: 'samples' is missing"},
        {"done", ""},
    };
    for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
        _cleanup_(json_decrefp) json_t *pod = make_ended(0, messages[i].text);
        _cleanup_(pod_state_done) struct pod_state s;
        read_state(pod, &trainer_1, &s);
        assert_int_equal(s.state, REPLICA_SUCCEEDED);
        assert_int_equal(s.summary != NULL, i < 2);
        assert_int_equal(summary_is_usable(s.summary), i == 0);
        assert_string_equal(pod_state_message(&s), messages[i].message);
    }
}

TEST(error_record_in_message)
{
    _cleanup_(buf_done) struct buf line = BUF_INIT;
    const struct record_who who = {ROLE_TRAINER, 1, 0};
    buf_puts(&line, "loading\n");
    record_write_error(&line, &who, 11, "pserver/0", "pserver/0 was silent for 6.0 s");
    _cleanup_(json_decrefp) json_t *pod = make_ended(11, buf_cstr(&line));
    _cleanup_(pod_state_done) struct pod_state s;
    read_state(pod, &trainer_1, &s);
    assert_int_equal(s.failure, FAILURE_CONSEQUENCE);
    assert_string_equal(pod_state_message(&s), "pserver/0 was silent for 6.0 s");
    assert_true(s.has_blamed);
    assert_int_equal(s.blamed_role, ROLE_PSERVER);
    assert_int_equal(s.blamed_index, 0);
}

TEST(without_container_it_is_simulated)
{
    static const struct {
        const char *status;
        bool is_simulated, has_started;
    } cases[] = {
        {MAIN("{\"running\":{}}"), false, true},
        {ENDED(0, ""), false, true},
        {"\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"running\":{}}}]", true, true},
        {"\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"terminated\":{\"exitCode\":0}}}]",
         true, true},
        {"\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"waiting\":{}}}]", false, false},
        {"\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"terminated\":{\"exitCode\":137,"
         "\"reason\":\"ContainerStatusUnknown\"}}}]",
         false, true},
    };
    for (size_t i = 0; i < N_ROWS(cases); i++) {
        _cleanup_(json_decrefp) json_t *pod = make_pod("", cases[i].status);
        _cleanup_(pod_state_done) struct pod_state s;
        read_state(pod, &trainer_1, &s);
        assert_int_equal(s.is_simulated, cases[i].is_simulated);
        assert_int_equal(s.has_started, cases[i].has_started);
    }
}

TEST(address)
{
    _cleanup_(json_decrefp) json_t *pod =
        make_pod("", "\"phase\":\"Running\",\"podIP\":\"10.0.0.7\"");
    _cleanup_(pod_state_done) struct pod_state s;
    read_state(pod, &trainer_1, &s);
    assert_string_equal(s.ip, "10.0.0.7");
}

TEST(image)
{
    static const struct {
        const char *name, *container, *image_id;
    } cases[] = {
        {"not pulled yet", "\"imageID\":\"\"", NULL},
        {"older runtimes say nothing", "\"ready\":true", NULL},
        {"a digest", "\"imageID\":\"r/w@sha256:1f\"", "r/w@sha256:1f"},
    };
    for (size_t i = 0; i < N_ROWS(cases); i++) {
        print_message("# case '%s'\n", cases[i].name);
        _cleanup_(freep) char *status =
            xasprintf("\"containerStatuses\":[{\"name\":\"side\",\"imageID\":\"other@sha256:00\"},"
                      "{\"name\":\"main\",%s,\"state\":{\"running\":{}}}]",
                      cases[i].container);
        _cleanup_(json_decrefp) json_t *pod = make_pod("", status);
        _cleanup_(pod_state_done) struct pod_state s;
        read_state(pod, &trainer_1, &s);
        assert_int_equal(s.image_id == NULL, cases[i].image_id == NULL);
        assert_string_equal(s.image_id == NULL ? "" : s.image_id,
                            cases[i].image_id == NULL ? "" : cases[i].image_id);
    }
}

TEST(node)
{
    _cleanup_(json_decrefp) json_t *pod =
        json_loads("{\"metadata\":{},\"spec\":{\"nodeName\":\"n4\"},\"status\":{"
                   "\"phase\":\"Pending\"}}",
                   0, NULL);
    _cleanup_(pod_state_done) struct pod_state s;
    read_state(pod, &trainer_1, &s);
    assert_string_equal(s.node, "n4");
    assert_int_equal(s.wait, POD_WAIT_SETUP); /* its kubelet has said nothing yet */
}

/* People look for the node first. */
TEST(failures_name_the_node)
{
#define READY_FALSE "\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\"}]"
    static const struct {
        const char *metadata, *status, *message;
        bool is_node_lost;
    } cases[] = {
        {"", "\"phase\":\"Running\"," MAIN("{\"running\":{}}") "," READY_FALSE,
         "node 'n4' is not ready", true},
        {"\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"",
         "\"phase\":\"Running\"," MAIN("{\"running\":{}}") "," READY_FALSE,
         "node 'n4' is not ready, and the pod is being deleted", false},
        {"\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"",
         "\"phase\":\"Running\"," MAIN("{\"running\":{}}"),
         "the pod is being deleted from node 'n4'", false},
        {"", DISRUPTED("DeletionByTaintManager"), "node 'n4' was lost or tainted: m", false},
        {"", DISRUPTED("DeletionByPodGC"), "node 'n4' no longer exists: m", false},
        {"",
         "\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":"
         "\"False\",\"reason\":\"SchedulingGated\"}]",
         "a scheduling gate holds the pod", false},
        {"", DISRUPTED("TerminationByKubelet"), "evicted by node 'n4': m", false},
        {"", "\"phase\":\"Failed\",\"reason\":\"OutOfcpu\",\"message\":\"m\"",
         "rejected by node 'n4': OutOfcpu: m", false},
        {"", "\"phase\":\"Failed\",\"reason\":\"NodeLost\",\"message\":\"m\"",
         "node 'n4' was shut down: m", false},
        {"", "\"phase\":\"Failed\"," ENDED(137, ",\"reason\":\"ContainerStatusUnknown\""),
         "node 'n4' does not know how the container ended", false},
    };
    for (size_t i = 0; i < N_ROWS(cases); i++) {
        print_message("# case '%s'\n", cases[i].message);
        _cleanup_(json_decrefp) json_t *pod = make_pod(cases[i].metadata, cases[i].status);
        (void)json_object_set_new(json_object_get(pod, "spec"), "nodeName", json_string("n4"));
        _cleanup_(pod_state_done) struct pod_state s;
        read_state(pod, &trainer_1, &s);
        assert_string_equal(pod_state_message(&s), cases[i].message);
        assert_int_equal(s.is_node_lost, cases[i].is_node_lost);
        assert_true(s.failure == FAILURE_INFRASTRUCTURE || s.failure == FAILURE_NO_ROOM ||
                    s.wait == POD_WAIT_GATE || cases[i].is_node_lost);
    }
}
