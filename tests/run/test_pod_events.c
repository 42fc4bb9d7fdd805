/* A pod that its node does not set up: what people read of it, and when it fails. */
#include <errno.h>

#include "tests/test.h"
#include "pods_world.h"

#define NOT_SET_UP                                                                                 \
    "{\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"True\"},"      \
    "{\"type\":\"PodReadyToStartContainers\",\"status\":\"False\"}],\"containerStatuses\":[{"      \
    "\"name\":\"main\",\"state\":{\"waiting\":{\"reason\":\"ContainerCreating\"}}}]}"

/* The open request for the events of a pod; NULL: none. */
static struct kube_call *events_call(void)
{
    struct kube_call *call;
    for (size_t i = 0; (call = fake_kube_open(i)) != NULL; i++) {
        if (strstr(call->req.path, "/events?") != NULL) {
            return call;
        }
    }
    return NULL;
}

/* As every pod is for a moment; a kubelet tries for ever. */
TEST(a_pod_that_is_not_set_up)
{
    _cleanup_(world_close) struct world w;
    world_open_pods(&w);
    json_object_set_new(json_object_get(w.pods[1], "spec"), "nodeName", json_string("n1"));
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[1], NOT_SET_UP);
    pass_ms(&w, 19900);
    assert_null(events_call());
    assert_string_equal(wait_of(&w).reason, "");
    pass_ms(&w, 200);
    struct kube_call *call = events_call();
    assert_non_null(call);
    assert_non_null(strstr(call->req.path, "regarding.uid%3Dtest-abcde-p0t0a0-trainer-0"));
    pass_ms(&w, 4800); /* without an answer */
    assert_string_equal(wait_of(&w).reason, "");
    pass_ms(&w, 300);
    assert_string_equal(wait_of(&w).reason, "PodNotSetUp");
    assert_string_equal(wait_of(&w).text, "trainer/0 on node 'n1': its volumes, its sandbox or its "
                                          "network are not ready");
    answer(&w, call, 0,
           "{\"items\":[{\"type\":\"Warning\",\"reason\":\"Old\",\"note\":\"x\","
           "\"deprecatedLastTimestamp\":\"2026-01-01T00:00:01Z\"},{\"type\":\"Warning\","
           "\"reason\":\"FailedMount\",\"note\":\"configmap 'a' not "
           "found\",\"deprecatedLastTimestamp\":\"2026-01-01T00:00:03Z\"},{\"type\":\"Normal\","
           "\"reason\":\"Scheduled\","
           "\"note\":\"y\",\"eventTime\":\"2026-01-01T00:00:09.5Z\"}]}");
    assert_null(events_call());
    assert_string_equal(wait_of(&w).text,
                        "trainer/0 on node 'n1': FailedMount: configmap 'a' not found");
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[1], NOT_SET_UP); /* still */
    pass_ms(&w, 30000);
    assert_string_equal(wait_of(&w).text,
                        "trainer/0 on node 'n1': FailedMount: configmap 'a' not found");
    answer(&w, events_call(), -EACCES, "HTTP 403"); /* that is all it knows */
    assert_string_equal(wait_of(&w).reason, "PodNotSetUp");
    pass_ms(&w, 244000);
    assert_int_equal(seen(&w, &ids[1])->state, REPLICA_PENDING);
    pass_ms(&w, 2000);
    assert_int_equal(seen(&w, &ids[1])->state, REPLICA_FAILED);
    assert_int_equal(seen(&w, &ids[1])->failure, FAILURE_INFRASTRUCTURE);
    assert_string_equal(seen(&w, &ids[1])->message,
                        "node 'n1' could not set up the pod: FailedMount: configmap 'a' not found");
}

TEST(a_pod_that_is_set_up_late)
{
    _cleanup_(world_close) struct world w;
    world_open_pods(&w);
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[1], NOT_SET_UP);
    pass_ms(&w, 20100);
    pass_ms(&w, 5100);
    assert_string_equal(wait_of(&w).reason, "PodNotSetUp");
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[1], RUNNING);
    assert_string_equal(wait_of(&w).reason, "");
    answer(&w, events_call(), 0, "{\"items\":[{\"reason\":\"FailedMount\",\"note\":\"late\"}]}");
    assert_null(seen(&w, &ids[1])->message);
    pass_ms(&w, 600000);
    assert_int_equal(seen(&w, &ids[1])->state, REPLICA_RUNNING);
}
