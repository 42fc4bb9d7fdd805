/* What an Event of a run has. */
#include "tests/test.h"
#include "daemon/cluster/event_recorder.h"
#include "fake_kube.h"

TEST(an_event_has_a_reason_and_an_action)
{
    struct event_recorder r;
    fake_kube_reset();
    event_recorder_init(&r, NULL, "ns", "me");
    event_recorder_emit(&r, "run", "uid", EVENT_WARNING, "QuotaExceeded", "full");
    assert_int_equal(fake_kube_n_open(), 1);
    assert_non_null(strstr(fake_kube_open(0)->req.body, "\"reason\":\"QuotaExceeded\""));
    assert_non_null(strstr(fake_kube_open(0)->req.body, "\"action\":\"QuotaExceeded\""));
    fake_kube_reset();
}
