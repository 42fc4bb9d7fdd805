/* What the first pod of an attempt waits for: pods of ours that may run in the namespace, whatever
 * run or launcher they are of, and what people are told meanwhile. */
#include <errno.h>

#include "tests/test.h"
#include "base/str.h"
#include "kube/json.h"
#include "pods_world.h"
#include "run/pods/pod_gang.h"

#define OF_A_RUN                                                                                   \
    ",\"ownerReferences\":[{\"kind\":\"BenchmarkRun\",\"uid\":\"other\",\"controller\":true}]"
#define GOING ",\"deletionTimestamp\":\"2026-01-01T00:00:30Z\",\"deletionGracePeriodSeconds\":30"

/* A pod of another run in the cache; owned. */
static json_t *put_pod(struct world *w, const char *name, const char *more, const char *status)
{
    _cleanup_(freep) char *text =
        xasprintf("{\"metadata\":{\"name\":\"%s\",\"uid\":\"uid-%s\",\"creationTimestamp\":"
                  "\"2025-12-31T00:00:00Z\"%s},\"spec\":{\"nodeName\":\"n1\"},\"status\":%s}",
                  name, name, more, status);
    json_t *pod = json_loads(text, 0, NULL);
    assert_non_null(pod);
    assert_true(kube_cache_put(&w->cache, pod));
    return pod;
}

static void remove_pod(struct world *w, json_t *pod)
{
    _cleanup_(json_decrefp) json_t *kept = json_incref(pod);
    kube_cache_remove(&w->cache, pod);
    notify(w, KUBE_CHANGE_REMOVED, kept, NULL);
    json_decref(pod);
}

TEST(a_terminating_pod_of_a_deleted_run_is_waited_for)
{
    _cleanup_(world_close) struct world w;
    world_open(&w, POD_BY_DNS);
    json_t *pod = put_pod(&w, "old-1", OF_A_RUN GOING, RUNNING);
    json_t *second = put_pod(&w, "old-2", OF_A_RUN GOING, "{\"phase\":\"Pending\"}");
    create_gang(&w, 0);
    assert_int_equal(fake_kube_n_open(), 0); /* no POST, and no DELETE: it is going */
    const unsigned n_changes = w.n_changes;
    pass_ms(&w, 4900);
    assert_string_equal(wait_of(&w).reason, ""); /* that is usual */
    assert_int_equal(w.n_changes, n_changes);
    pass_ms(&w, 200);
    assert_string_equal(wait_of(&w).reason, "PodsRemain");
    assert_string_equal(
        wait_of(&w).text,
        "pod 'old-1' on node 'n1', terminating since 2026-01-01T00:00:00Z, and 1 more");
    assert_int_equal(w.n_changes, n_changes + 1);
    assert_in_range(wait_of(&w).before_ms, 5000, 5100); /* so that all of it can be left out */
    pass_ms(&w, 24 * 3600 * 1000); /* its node is lost: no attempt is lost with it */
    assert_in_range(wait_of(&w).before_ms, 5000, 5100);
    assert_int_equal(fake_kube_n_open(), 0);
    assert_int_equal(seen(&w, &ids[0])->state, REPLICA_PENDING);
    assert_int_equal(w.n_changes, n_changes + 1);
    remove_pod(&w, pod);
    assert_string_equal(wait_of(&w).text,
                        "pod 'old-2' on node 'n1', terminating since 2026-01-01T00:00:00Z");
    remove_pod(&w, second);
    assert_string_equal(wait_of(&w).reason, "");
    open_gates(&w);
    assert_int_equal(fake_kube_open(0)->req.method, KUBE_POST);
}

/* What the status says first is one reason of two: all of the time was a wait. */
TEST(a_wait_for_two_reasons_is_one_wait)
{
    _cleanup_(world_close) struct world w;
    world_open_lanes(&w, 1);
    json_t *pod = put_pod(&w, "old", OF_A_RUN GOING, RUNNING);
    create_server(&w, 0, 0);
    pass_ms(&w, 3000);
    remove_pod(&w, pod);
    answer(&w, fake_kube_open(0), -EDQUOT, "exceeded quota");
    assert_string_equal(wait_of(&w).reason, "");
    pass_ms(&w, 5500);
    assert_string_equal(wait_of(&w).reason, "QuotaExceeded");
    assert_in_range(wait_of(&w).before_ms, 8000, 9000);
}

static json_t *accept_server(struct world *w, const char *name)
{
    struct kube_call *call = fake_kube_open(0);
    json_t *pod = pod_of(call);
    assert_string_equal(kube_json_metadata(pod, "name"), name);
    answer(w, call, 0, "{}");
    assert_true(kube_cache_put(&w->cache, pod));
    notify(w, KUBE_CHANGE_ADDED, pod, RUNNING);
    return pod;
}

static void remove_server(struct world *w, uint32_t point)
{
    const struct replica_id id = {{point, 0, 0}, ROLE_PSERVER, 0};
    w->launcher->ops->remove(w->launcher, &id, false);
    turn(w);
    answer(w, fake_kube_open(0), 0, "{}"); /* the DELETE */
}

/* Each other attempt that may run takes a lane; of its point, or of another run, none may. */
#define P "test-abcde-p"
TEST(a_lane_begins_while_another_is_measured)
{
    for (uint32_t n_lanes = 2; n_lanes <= 3; n_lanes++) {
        _cleanup_(world_close) struct world w;
        world_open_lanes(&w, n_lanes);
        create_server(&w, 0, 0);
        json_t *first = accept_server(&w, P "0t0a0-pserver-0");
        create_server(&w, 1, 0);
        json_t *second = accept_server(&w, "test-abcde-p1t0a0-pserver-0");
        remove_server(&w, 0);
        /* Of two lanes none is left for another point; of three one is, but not for this point. */
        const uint32_t point = n_lanes == 2 ? 2 : 0, attempt = n_lanes == 2 ? 0 : 1;
        create_server(&w, point, attempt);
        pass_ms(&w, 6000);
        assert_int_equal(fake_kube_n_open(), 0); /* the first still terminates */
        assert_string_equal(wait_of(&w).reason, "PodsRemain");
        assert_true(wait_of(&w).is_partial);
        remove_pod(&w, first);
        json_decref(accept_server(&w, n_lanes == 2 ? P "2t0a0-pserver-0" : P "0t0a1-pserver-0"));
        remove_server(&w, 1);
        json_t *foreign = put_pod(&w, "other", OF_A_RUN GOING, RUNNING);
        remove_pod(&w, second);
        create_server(&w, 1, 1);
        assert_int_equal(fake_kube_n_open(), 0);
        remove_pod(&w, foreign);
        json_decref(accept_server(&w, "test-abcde-p1t0a1-pserver-0"));
    }
}

/* Also before the status says so: its deadline waits from the start. */
TEST(a_run_whose_lanes_all_wait_does_not_go_on)
{
    _cleanup_(world_close) struct world w;
    world_open_lanes(&w, 2);
    json_t *pod = put_pod(&w, "old", OF_A_RUN GOING, RUNNING);
    create_server(&w, 0, 0);
    create_server(&w, 1, 0);
    pass_ms(&w, 5100);
    assert_string_equal(wait_of(&w).reason, "PodsRemain");
    assert_false(wait_of(&w).is_partial);
    assert_in_range(wait_of(&w).before_ms, 5000, 5100);
    remove_pod(&w, pod);
}

/* A pause that is over has been given back: the next one begins after it. */
TEST(no_time_of_a_wait_is_given_back_twice)
{
    _cleanup_(world_close) struct world w;
    world_open_lanes(&w, 1);
    json_t *pod = put_pod(&w, "old", OF_A_RUN GOING, RUNNING);
    create_server(&w, 0, 0);
    pass_ms(&w, 20000);
    assert_string_equal(wait_of(&w).reason, "PodsRemain");
    remove_pod(&w, pod);
    assert_string_equal(wait_of(&w).reason, ""); /* the creation has no answer yet */
    answer(&w, fake_kube_open(0), -EDQUOT, "exceeded quota");
    pass_ms(&w, 5500);
    assert_string_equal(wait_of(&w).reason, "QuotaExceeded");
    assert_in_range(wait_of(&w).before_ms, 5000, 5600);
}

/* What one lane waits for needs help, and what another waits for ends by itself. When the one ends,
 * the other has lasted long enough to be told at once. */
TEST(a_refusal_comes_before_pods_that_remain)
{
    _cleanup_(world_close) struct world w;
    world_open_lanes(&w, 3);
    create_server(&w, 0, 0);
    json_decref(accept_server(&w, P "0t0a0-pserver-0"));
    remove_server(&w, 0);
    create_server(&w, 0, 1);
    create_server(&w, 1, 0);
    pass_ms(&w, 6000);
    assert_string_equal(wait_of(&w).reason, "PodsRemain"); /* the other has no answer yet */
    answer(&w, fake_kube_open(0), -EIO, "failed calling webhook");
    assert_string_equal(wait_of(&w).reason, "CreationFails");
    assert_false(wait_of(&w).is_partial);
    pass_ms(&w, 2000);
    json_decref(accept_server(&w, P "1t0a0-pserver-0"));
    assert_string_equal(wait_of(&w).reason, "PodsRemain");
    assert_true(wait_of(&w).is_partial);
    remove_server(&w, 1);
    pass_ms(&w, 4000);
    assert_true(wait_of(&w).is_partial); /* it may be between two trials */
    pass_ms(&w, 2000);
    assert_false(wait_of(&w).is_partial);
}

/* Whoever deletes a pod says any number of seconds: the server takes it, and
 * its date wraps around. */
TEST(any_grace_period_is_told)
{
    static const struct {
        const char *grace_s, *since;
    } rows[] = {
        {"0", "2026-01-01T00:00:30Z"},
        {"86400", "2025-12-31T00:00:30Z"},
        {"9223372036854775807", "2026-01-01T00:00:30Z"}, /* kubectl delete --grace-period=... */
        {"1000000000000", "2026-01-01T00:00:30Z"},
        {"-9223372036854775808", "2026-01-01T00:00:30Z"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_(world_close) struct world w;
        world_open(&w, POD_BY_DNS);
        _cleanup_(freep) char *going = xasprintf(
            OF_A_RUN
            ",\"deletionTimestamp\":\"2026-01-01T00:00:30Z\",\"deletionGracePeriodSeconds\":%s",
            rows[i].grace_s);
        json_decref(put_pod(&w, "old", going, RUNNING));
        create_gang(&w, 0);
        pass_ms(&w, 5100);
        _cleanup_(freep) char *text =
            xasprintf("pod 'old' on node 'n1', terminating since %s", rows[i].since);
        assert_string_equal(wait_of(&w).text, text);
    }
}

TEST(what_has_ended_is_not_waited_for)
{
    _cleanup_(world_close) struct world w;
    world_open(&w, POD_BY_DNS);
    json_decref(put_pod(&w, "old", OF_A_RUN, ENDED)); /* cleanPodPolicy keeps it */
    create_gang(&w, 0);
    open_gates(&w);
    assert_int_equal(fake_kube_open(0)->req.method, KUBE_POST);
}

/* Its run is not driven, and was not deleted either: nobody else will end it. */
TEST(an_abandoned_pod_is_deleted)
{
    _cleanup_(world_close) struct world w;
    world_open(&w, POD_BY_DNS);
    json_t *pod = put_pod(&w, "old", OF_A_RUN, RUNNING);
    create_gang(&w, 0);
    turn(&w);
    assert_int_equal(fake_kube_n_open(), 1);
    assert_int_equal(fake_kube_open(0)->req.method, KUBE_DELETE);
    assert_non_null(strstr(fake_kube_open(0)->req.body, "uid-old"));
    answer(&w, fake_kube_open(0), 0, "{}");
    pass_ms(&w, 20000);
    assert_int_equal(fake_kube_n_open(), 0); /* asked for once, and waited for */
    assert_non_null(strstr(wait_of(&w).text, "which nobody has deleted")); /* the watch is late */
    remove_pod(&w, pod);
    open_gates(&w);
    assert_int_equal(fake_kube_open(0)->req.method, KUBE_POST);
}

/* Orphaned on purpose: it is its owner's to delete. One whose containers have ended may be kept by
 * cleanPodPolicy, and its phase is to come. */
TEST(what_is_not_ours_to_delete_is_told)
{
    static const struct {
        const char *owner, *status;
    } rows[] = {
        {"", RUNNING},
        {OF_A_RUN, "{\"phase\":\"Running\"," CONTAINER("{\"terminated\":{\"exitCode\":0}}") "}"},
    };
    for (size_t i = 0; i < 2; i++) {
        _cleanup_(world_close) struct world w;
        world_open(&w, POD_BY_DNS);
        json_decref(put_pod(&w, "old", rows[i].owner, rows[i].status));
        create_gang(&w, 0);
        pass_ms(&w, 60000);
        assert_int_equal(fake_kube_n_open(), 0);
        assert_string_equal(wait_of(&w).text, "pod 'old' on node 'n1', which nobody has deleted, "
                                              "created 2025-12-31T00:00:00Z");
    }
}

/* The API server forgot it, or the watch missed its end: it is looked up, and waited
 * for while it is there. */
TEST(a_pod_that_does_not_go_blocks_without_limit)
{
    _cleanup_(world_close) struct world w;
    world_open_pods(&w);
    remove_gang(&w);
    struct kube_call *call;
    answer_all(&w, KUBE_DELETE, 0, "{}");
    assert_false(w.launcher->ops->is_removing(w.launcher));
    create_gang(&w, 1);
    for (int i = 0; i < 3; i++) {
        pass_ms(&w, 30100);
        for (size_t k = 0; (call = fake_kube_open(0)) != NULL; k++) {
            assert_true(k < 10);
            const bool is_get = call->req.method == KUBE_GET;
            assert_true(is_get || call->req.method == KUBE_DELETE);
            const size_t which = strstr(call->req.path, "pserver") != NULL     ? 0
                                 : strstr(call->req.path, "trainer-0") != NULL ? 1
                                                                               : 2;
            _cleanup_(freep) char *text = json_dumps(w.pods[which], 0);
            answer(&w, call, 0, is_get ? text : "{}");
        }
        assert_string_equal(wait_of(&w).reason, "PodsRemain");
    }
    pass_ms(&w, 30100);
    answer_all(&w, KUBE_GET, -ENOENT, "gone"); /* which the watch did not report */
    open_gates(&w);
    assert_int_equal(fake_kube_open(0)->req.method, KUBE_POST);
}

/* Refused for good, as it seems: the pod is not left to itself, and people are told. */
TEST(a_refused_deletion_is_tried_again)
{
    _cleanup_(world_close) struct world w;
    world_open_pods(&w);
    remove_gang(&w);
    fake_kube.http_code = 403;
    answer_all(&w, KUBE_DELETE, -EACCES, "HTTP 403: a webhook says no");
    assert_true(w.launcher->ops->is_removing(w.launcher));
    create_gang(&w, 1);
    pass_ms(&w, 2100);
    answer_all(&w, KUBE_DELETE, -EACCES, "HTTP 403: a webhook says no");
    pass_ms(&w, 3000);
    assert_string_equal(wait_of(&w).reason, "DeletionFails");
    assert_string_equal(wait_of(&w).text,
                        "pod 'test-abcde-p0t0a0-pserver-0': HTTP 403: a webhook says no");
    answer_all(&w, KUBE_DELETE, 0, "{}");
    pass_ms(&w, 5100);
    assert_string_equal(wait_of(&w).reason, "PodsRemain");
    assert_false(w.launcher->ops->is_removing(w.launcher));
}

/* Its DELETE was answered before the watch showed it: the launcher of the next run
 * would not know of it. */
TEST(a_removal_is_confirmed_when_the_watch_has_shown_the_pod)
{
    for (int is_shown = 0; is_shown < 2; is_shown++) {
        _cleanup_(world_close) struct world w;
        world_open_gang(&w);
        struct kube_call *post = fake_kube_open(0);
        _cleanup_(json_decrefp) json_t *pod = pod_of(post);
        _cleanup_(freep) char *text = json_dumps(pod, 0);
        remove_gang(&w);
        answer(&w, post, 0, "{}");
        answer(&w, fake_kube_open(0), 0, text); /* GET */
        answer(&w, fake_kube_open(0), 0, "{}"); /* DELETE */
        assert_int_equal(fake_kube_n_open(), 0);
        assert_true(w.launcher->ops->is_removing(w.launcher));
        const unsigned n_changes = w.n_changes;
        if (is_shown) {
            notify(&w, KUBE_CHANGE_ADDED, pod, NULL);
        } else { /* it came and went between two lists */
            pass_ms(&w, 15100);
            answer(&w, fake_kube_open(0), -ENOENT, "gone");
        }
        assert_true(w.n_changes > n_changes); /* the driver waits for that */
        assert_false(w.launcher->ops->is_removing(w.launcher));
    }
}

#define QUOTA "HTTP 403 Forbidden: pods is forbidden: exceeded quota: few, requested: pods=1"
#define WEBHOOK "HTTP 500: failed calling webhook \"a.b.c\": connection refused"

/* Nobody has refused the pod: others will end, or somebody will raise the quota,
 * or mend the webhook. */
TEST(a_full_quota_and_a_broken_webhook_are_waited_for)
{
    static const struct {
        int r, http_code;
        const char *text, *reason;
    } rows[] = {{-EDQUOT, 403, QUOTA, "QuotaExceeded"}, {-EIO, 500, WEBHOOK, "CreationFails"}};
    for (size_t i = 0; i < 2; i++) {
        _cleanup_(world_close) struct world w;
        world_open_gang(&w);
        fake_kube.http_code = rows[i].http_code;
        unsigned n_posts = 0;
        for (int s = 0; s < 600; s++) {
            struct kube_call *call = fake_kube_open(0);
            if (call != NULL) {
                assert_int_equal(fake_kube_n_open(), 1); /* one pod asks for all */
                answer(&w, call, rows[i].r, rows[i].text);
                n_posts++;
            }
            pass_ms(&w, 1000);
            const struct run_wait wait = wait_of(&w);
            assert_string_equal(wait.reason, s < 4 ? "" : rows[i].reason);
            assert_string_equal(wait.text, s < 4 ? "" : rows[i].text);
        }
        assert_in_range(n_posts, 15, 25); /* 2, 4, 8, 16, then every 32 s */
        assert_int_equal(seen(&w, &ids[0])->state, REPLICA_PENDING);
        assert_int_equal(w.counters.failed, 0);
        pass_ms(&w, 32000);
        assert_int_equal(accept_pods(&w, w.pods), 3);
        assert_string_equal(wait_of(&w).reason, "");
    }
}

/* A gang that holds room without being whole keeps others from ending: it goes, costs no attempt,
 * and the next one comes after a pause. */
TEST(half_a_gang_in_a_full_quota_gives_way)
{
    _cleanup_(world_close) struct world w;
    world_open_gang(&w);
    _cleanup_(json_decrefp) json_t *pod = pod_of(fake_kube_open(0));
    answer(&w, fake_kube_open(0), 0, "{}");
    notify(&w, KUBE_CHANGE_ADDED, pod, NULL);
    fake_kube.http_code = 403;
    int s = 0;
    for (; s < 60 && seen(&w, &ids[1])->state == REPLICA_PENDING; s++) {
        answer_all(&w, KUBE_POST, -EDQUOT, QUOTA);
        pass_ms(&w, 1000);
    }
    assert_in_range(s, 13, 17);
    assert_int_equal(seen(&w, &ids[1])->failure, FAILURE_NO_ROOM);
    assert_string_equal(seen(&w, &ids[1])->message, QUOTA);
    assert_string_equal(wait_of(&w).reason, "QuotaExceeded"); /* without a break, also below */
    remove_gang(&w);
    create_gang(&w, 1);
    assert_string_equal(wait_of(&w).reason, "QuotaExceeded");
    assert_int_equal(fake_kube_open(0)->req.method, KUBE_DELETE);
    answer(&w, fake_kube_open(0), 0, "{}");
    answer_all(&w, KUBE_GET, -ENOENT, "no"); /* the one whose POST was under way */
    notify(&w, KUBE_CHANGE_REMOVED, pod, NULL);
    pass_ms(&w, 8000);
    assert_int_equal(fake_kube_n_open(), 0);
    assert_string_equal(wait_of(&w).reason, "QuotaExceeded");
    assert_string_equal(wait_of(&w).text, QUOTA);
    pass_ms(&w, 2000);
    assert_int_equal(fake_kube_open(0)->req.method, KUBE_POST);
    assert_string_equal(wait_of(&w).reason, "QuotaExceeded"); /* it still lacks room */
    assert_int_equal(accept_pods(&w, w.pods), 3);
    pass_ms(&w, 100);
    assert_string_equal(wait_of(&w).reason, "QuotaExceeded");
    for (size_t i = 0; i < 3; i++) {
        notify(&w, KUBE_CHANGE_UPDATED, w.pods[i], RUNNING);
    }
    pass_ms(&w, 100);
    assert_string_equal(wait_of(&w).reason, ""); /* all run */
}

#define OUT_OF_CPU                                                                                 \
    "{\"phase\":\"Failed\",\"reason\":\"OutOfcpu\",\"message\":\"Node didn't have enough "         \
    "resource\"}"

#define PREEMPTED                                                                                  \
    "{\"phase\":\"Running\",\"conditions\":[{\"type\":\"TerminationTarget\",\"status\":\"True\","  \
    "\"reason\":\"WorkloadEvictedDueToPreempted\",\"message\":\"m\"}]}"

#define AT(s) "\"2026-01-01T00:00:" s "Z\""
#define RAN_FIRST                                                                                  \
    "{\"phase\":\"Succeeded\"," CONTAINER("{\"terminated\":{\"exitCode\":0,\"startedAt\":" AT(     \
        "02") ",\"finishedAt\":" AT("05") "}}") "}"
#define RUNS_THEN                                                                                  \
    "{\"phase\":\"Running\"," CONTAINER("{\"running\":{\"startedAt\":" AT("07") "}}") "}"

/* Their pods were asked for long ago. */
static void antedate(const struct world *w)
{
    vec_each (struct pod_member *, it, &((struct pods *)w->launcher)->members) {
        (*it)->made_unix_ms = 1767225601000; /* one second past midnight */
    }
}

/* The kubelet sees less room than the scheduler, often right after other pods ended: gangs that
 * find none wait together no longer than their run wants. A gang that was preempted had a place. */
static void check_pauses(const char *first, const char *status, enum failure_class failure,
                         const char *reason, const char *text, enum failure_class last)
{
    static const int64_t pauses_s[] = {10, 20, 40, 80, 160, 300, 300};
    _cleanup_(world_close) struct world w;
    world_open_gang(&w);
    pods_limit_wait(w.launcher, 600 * 1000);
    for (uint32_t attempt = 0; attempt < 7; attempt++) {
        assert_int_equal(accept_pods(&w, w.pods), 3);
        antedate(&w);
        notify(&w, KUBE_CHANGE_UPDATED, w.pods[1], first);
        notify(&w, KUBE_CHANGE_UPDATED, w.pods[2], status);
        struct replica_id id = ids[2];
        id.attempt.number = attempt;
        assert_int_equal(seen(&w, &id)->failure, attempt < 6 ? failure : last);
        for (size_t i = 0; i < 3; i++) {
            id = ids[i];
            id.attempt.number = attempt;
            w.launcher->ops->remove(w.launcher, &id, false);
        }
        create_gang(&w, attempt + 1);
        while (fake_kube_n_open() > 0) {
            answer(&w, fake_kube_open(0), 0, "{}");
        }
        for (size_t i = 0; i < 3; i++) {
            notify(&w, KUBE_CHANGE_REMOVED, w.pods[i], NULL);
        }
        pass_ms(&w, 5000);
        pass_ms(&w, (pauses_s[attempt] - 5) * 1000 - 100);
        assert_int_equal(fake_kube_n_open(), 0);
        assert_string_equal(wait_of(&w).reason, reason);
        assert_string_equal(wait_of(&w).text, text);
        pass_ms(&w, 200);
        assert_int_equal(fake_kube_open(0)->req.method, KUBE_POST);
    }
}

TEST(pauses_between_gangs_without_room_become_longer)
{
    check_pauses(RUNNING, OUT_OF_CPU, FAILURE_NO_ROOM, "NoRoom",
                 "rejected by the node: OutOfcpu: Node didn't have enough resource",
                 FAILURE_WAIT_OVER);
    check_pauses(RUNNING, PREEMPTED, FAILURE_PREEMPTED, "Preempted",
                 "preempted by queue '' (WorkloadEvictedDueToPreempted): m", FAILURE_PREEMPTED);
    /* The first success does not end the wait of the others. */
    check_pauses(RAN_FIRST, RUNS_THEN, FAILURE_NONE, "NoRoom",
                 "trainer/1: measured from 5.0 s on and trainer/0 until 4.0 s (since the first "
                 "start), so they did not measure together",
                 FAILURE_WAIT_OVER);
}

/* The run's Secret comes before its pods. */
TEST(a_gate_that_stays_shut_is_told)
{
    _cleanup_(world_close) struct world w;
    world_open(&w, POD_BY_DNS);
    create_gang(&w, 0);
    pass_ms(&w, 4900);
    assert_string_equal(wait_of(&w).reason, "");
    pass_ms(&w, 200);
    assert_string_equal(wait_of(&w).reason, "CreationFails");
    assert_string_equal(wait_of(&w).text,
                        "the API server does not answer the creation of the run's Secret");
    fake_kube.http_code = 403;
    answer(&w, fake_kube_open(0), -EDQUOT, "exceeded quota: secrets");
    pass_ms(&w, 1900);
    pass_ms(&w, 3200);
    assert_string_equal(wait_of(&w).reason, "QuotaExceeded");
    assert_string_equal(wait_of(&w).text, "exceeded quota: secrets");
    assert_int_equal(seen(&w, &ids[0])->state, REPLICA_PENDING);
}

/* A webhook may hang for half a minute before the API server says anything. */
TEST(a_creation_without_an_answer_is_told)
{
    _cleanup_(world_close) struct world w;
    world_open_gang(&w);
    pass_ms(&w, 5100);
    assert_string_equal(wait_of(&w).reason, "CreationFails");
    assert_non_null(
        strstr(wait_of(&w).text, "does not answer the creation of pod 'test-abcde-p0t0a0-"));
    assert_int_equal(accept_pods(&w, w.pods), 3);
    assert_string_equal(wait_of(&w).reason, "");
}

/* Its kubelet says no more: the pod seems to run, and only the control plane has touched it. */
TEST(a_node_that_is_not_ready_is_told)
{
#define READY(status)                                                                              \
    "{\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"" status              \
    "\"}]," CONTAINER("{\"running\":{}}") "}"
    _cleanup_(world_close) struct world w;
    world_open_pods(&w);
    for (size_t i = 0; i < 3; i++) {
        const char *node = i == 0 ? "n1" : "n4";
        (void)json_object_set_new(json_object_get(w.pods[i], "spec"), "nodeName",
                                  json_string(node));
        notify(&w, KUBE_CHANGE_UPDATED, w.pods[i], READY("True"));
    }
    pass_ms(&w, 10000);
    assert_string_equal(wait_of(&w).reason, "");
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[1], READY("False"));
    pass_ms(&w, 6000);
    assert_string_equal(wait_of(&w).reason, "NodeNotReady");
    assert_string_equal(wait_of(&w).text, "trainer/0: node 'n4' is not ready");
    assert_int_equal(seen(&w, &ids[1])->state, REPLICA_RUNNING); /* it may come back */
    assert_string_equal(seen(&w, &ids[1])->message, "node 'n4' is not ready");
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[2], READY("False"));
    turn(&w);
    assert_string_equal(wait_of(&w).text, "trainer/0 and others: node 'n4' is not ready");
    for (size_t i = 1; i < 3; i++) {
        notify(&w, KUBE_CHANGE_UPDATED, w.pods[i], READY("True"));
    }
    turn(&w);
    assert_string_equal(wait_of(&w).reason, "");
    assert_null(seen(&w, &ids[1])->message);
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[1], READY("False"));
    notify(&w, KUBE_CHANGE_REMOVED, w.pods[1], NULL);
    turn(&w);
    assert_int_equal(seen(&w, &ids[1])->failure, FAILURE_INFRASTRUCTURE);
    assert_string_equal(
        seen(&w, &ids[1])->message,
        "the pod was deleted, but not by benchd; it was on node 'n4', which is not ready");
}

/* A wait is told once it has lasted 5 s, and until it is over or another one has lasted as long. */
TEST(a_short_wait_does_not_hide_a_long_one)
{
    static const struct {
        int64_t at_s;
        const char *reason, *told;
    } rows[] = {
        {0, "QuotaExceeded", ""},
        {4, "QuotaExceeded", ""},
        {5, "QuotaExceeded", "QuotaExceeded"},
        {6, "PodsRemain", "QuotaExceeded"},
        {10, "PodsRemain", "QuotaExceeded"},
        {11, "PodsRemain", "PodsRemain"},
        {12, "QuotaExceeded", "PodsRemain"},
        {13, "PodsRemain", "PodsRemain"},
        {14, "QuotaExceeded", "PodsRemain"},
        {19, "QuotaExceeded", "QuotaExceeded"},
        {20, "", ""},
        {21, "QuotaExceeded", ""},
        {26, "QuotaExceeded", "QuotaExceeded"},
        {27, "CreationFails", "QuotaExceeded"}, /* one answer that says something else */
        {28, "QuotaExceeded", "QuotaExceeded"},
    };
    struct pod_wait_told w = {0};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct run_wait now = {0};
        text_put(now.reason, sizeof(now.reason), "%s", rows[i].reason);
        text_put(now.text, sizeof(now.text), "%s", rows[i].reason);
        pod_wait_look(&w, &now, rows[i].at_s * INT64_C(1000000000));
        assert_string_equal(w.told.reason, rows[i].told);
        assert_string_equal(w.told.text, rows[i].told);
    }
}

#define UNSCHEDULABLE(message)                                                                     \
    "{\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\","      \
    "\"reason\":\"Unschedulable\",\"message\":\"" message "\"}]}"
#define GATED                                                                                      \
    "{\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\","      \
    "\"reason\":\"SchedulingGated\",\"message\":\"m\"}]}"

/* A full cluster is a queue: as long as nothing of the gang has a place, nothing fails. */
TEST(a_place_is_waited_for)
{
    _cleanup_(world_close) struct world w;
    world_open_pods(&w);
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[0], UNSCHEDULABLE("0/2 nodes"));
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[1], GATED);
    pass_ms(&w, 4900);
    assert_string_equal(wait_of(&w).reason, ""); /* that is usual */
    pass_ms(&w, 200);
    assert_string_equal(wait_of(&w).reason, "Queued");
    assert_string_equal(wait_of(&w).text, "trainer/0: a scheduling gate holds the pod: m");
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[1], UNSCHEDULABLE("0/2 nodes"));
    pass_ms(&w, 100);
    pass_ms(&w, 5000);
    assert_string_equal(wait_of(&w).reason, "WaitsForNodes");
    const unsigned n_changes = w.n_changes;
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[0], UNSCHEDULABLE("0/3 nodes"));
    assert_int_equal(w.n_changes, n_changes + 1); /* the scheduler's words have changed */
    assert_string_equal(wait_of(&w).text, "pserver/0 and others: no node fits the pod: 0/3 nodes");
    pass_ms(&w, 10 * 24 * 3600 * 1000);
    assert_int_equal(seen(&w, &ids[0])->state, REPLICA_PENDING);
    w.launcher->ops->free(w.launcher); /* kill -9: the next process knows what the status says */
    w.wait = (struct run_wait){.reason = "WaitsForNodes", .text = "old"};
    (void)kube_cache_put(&w.cache, w.pods[0]);
    (void)kube_cache_put(&w.cache, w.pods[1]);
    make_launcher(&w, POD_BY_DNS);
    assert_string_equal(wait_of(&w).text, "old");
    turn(&w);
    assert_string_equal(wait_of(&w).reason, "WaitsForNodes");
    assert_string_equal(wait_of(&w).text, "pserver/0 and others: no node fits the pod: 0/3 nodes");
    /* Half a gang keeps nodes from others, which may keep theirs from it. */
    json_object_set_new(json_object_get(w.pods[2], "metadata"), "creationTimestamp",
                        json_string("2026-01-01T00:00:00Z"));
    notify(&w, KUBE_CHANGE_ADDED, w.pods[2],
           "{\"phase\":\"Running\"," CONTAINER(
               "{\"running\":{\"startedAt\":\"2026-01-01T00:00:00Z\"}}") "}");
    assert_int_equal(seen(&w, &ids[0])->failure, FAILURE_NO_ROOM);
    pass_ms(&w, 6000);
    assert_string_equal(wait_of(&w).reason, "NoRoom");
}
