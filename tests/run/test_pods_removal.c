/* How the pod launcher deletes pods, and what the next ones wait for. */
#include "tests/test.h"
#include "pods_world.h"

TEST(removal_waits_for_the_answer_and_for_the_end)
{
    _cleanup_(world_close) struct world w;
    world_open_gang(&w);
    struct kube_call *post = fake_kube_open(0);
    _cleanup_(json_decrefp) json_t *pod = pod_of(post);
    _cleanup_(freep) char *text = json_dumps(pod, 0);
    remove_gang(&w);
    assert_int_equal(fake_kube_n_open(), 1); /* the POST: it may have its effect */
    create_gang(&w, 1);
    answer(&w, post, 0, "{}");
    assert_int_equal(fake_kube_n_open(), 1);
    assert_int_equal(fake_kube_open(0)->req.method, KUBE_GET); /* the watch has not told its uid */
    answer(&w, fake_kube_open(0), 0, text);
    assert_int_equal(fake_kube_n_open(), 1);
    struct kube_call *delete = fake_kube_open(0);
    assert_int_equal(delete->req.method, KUBE_DELETE);
    assert_non_null(strstr(delete->req.body, "test-abcde-p0t0a0-pserver-0")); /* its uid here */
    assert_true(w.launcher->ops->is_removing(w.launcher));
    const unsigned n_changes = w.n_changes;
    answer(&w, delete, 0, "{}");
    assert_true(w.launcher->ops->is_removing(w.launcher)); /* until the watch has shown it */
    notify(&w, KUBE_CHANGE_ADDED, pod, NULL);
    assert_false(w.launcher->ops->is_removing(w.launcher));
    assert_true(w.n_changes > n_changes);    /* the driver may have waited for that */
    assert_int_equal(fake_kube_n_open(), 0); /* the next attempt waits until it is gone */
    notify(&w, KUBE_CHANGE_REMOVED, pod, NULL);
    assert_int_equal(fake_kube_n_open(), 1);
    assert_non_null(strstr(fake_kube_open(0)->req.body, "p0t0a1-pserver-0"));
}

/* The API server answers 404 to the DELETE of a pod that the watch has shown, as after a restore of
 * etcd. benchd sends no second DELETE; it waits until the watch or a list says that it is gone. */
TEST(what_is_gone_already_is_waited_for_too)
{
    _cleanup_(world_close) struct world w;
    world_open_pods(&w);
    remove_gang(&w);
    answer_all(&w, KUBE_DELETE, -ENOENT, "HTTP 404");
    create_gang(&w, 1);
    assert_int_equal(fake_kube_n_open(), 0); /* it waits, and nothing is deleted again */
    for (size_t i = 0; i < 3; i++) {
        notify(&w, KUBE_CHANGE_REMOVED, w.pods[i], NULL);
    }
    assert_non_null(strstr(fake_kube_open(0)->req.body, "p0t0a1-"));
}

/* The gang, made and ended: trainers have left, their pods' phase is to come. */
static void make_ended_gang(struct world *w, const char *status)
{
    world_open_pods(w);
    for (size_t i = 0; i < 3; i++) {
        notify(w, KUBE_CHANGE_UPDATED, w->pods[i], status);
    }
    answer_all(w, KUBE_GET, 0, ""); /* logs */
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(seen(w, &ids[i])->state, REPLICA_SUCCEEDED);
    }
    remove_gang(w);
}

static size_t count_open(enum kube_method method)
{
    size_t n = 0;
    struct kube_call *call;
    for (size_t i = 0; (call = fake_kube_open(i)) != NULL; i++) {
        n += call->req.method == method;
    }
    return n;
}

/* Nothing of them runs: the next ones need not wait until they are gone. */
TEST(pods_that_are_over_are_not_waited_for)
{
    _cleanup_(world_close) struct world w;
    make_ended_gang(&w, ENDED);
    assert_int_equal(count_open(KUBE_DELETE), 3);
    assert_true(w.launcher->ops->is_removing(w.launcher));
    create_gang(&w, 1);
    assert_int_equal(count_open(KUBE_POST), 1);
}

#define STOPPED "{\"phase\":\"Running\"," CONTAINER("{\"terminated\":{\"exitCode\":0}}") "}"

TEST(pods_that_have_stopped_are_deleted_when_over)
{
    _cleanup_(world_close) struct world w;
    make_ended_gang(&w, STOPPED);
    create_gang(&w, 1);
    assert_int_equal(fake_kube_n_open(), 0);
    assert_true(w.launcher->ops->is_removing(w.launcher)); /* freed now, it would leave them */
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[0], ENDED);
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[0], ENDED);
    assert_int_equal(count_open(KUBE_DELETE), 1);
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[1], ENDED);
    assert_int_equal(count_open(KUBE_POST), 0);
    notify(&w, KUBE_CHANGE_REMOVED, w.pods[2], NULL); /* by somebody */
    assert_int_equal(count_open(KUBE_DELETE), 2);
    assert_int_equal(count_open(KUBE_POST), 1);
}

/* Requests are sent in order: 160 deletions of pods that hold nothing took 3 s
 * before the first POST. */
TEST(what_is_created_does_not_queue_behind_deletions)
{
    _cleanup_(world_close) struct world w;
    make_ended_gang(&w, STOPPED);
    create_gang(&w, 1);
    for (size_t i = 0; i < 3; i++) {
        notify(&w, KUBE_CHANGE_UPDATED, w.pods[i], ENDED);
    }
    assert_int_equal(count_open(KUBE_DELETE), 2); /* DELETIONS_BESIDE_POSTS */
    assert_int_equal(count_open(KUBE_POST), 1);
    answer(&w, fake_kube_open(0), 0, "{}");
    assert_int_equal(count_open(KUBE_DELETE), 2); /* the third one follows */
}

/* Nobody wants the results of a run that is cancelled: its pods get little time to end. */
TEST(a_hurried_removal_shortens_the_grace)
{
    for (int is_hurried = 0; is_hurried <= 1; is_hurried++) {
        _cleanup_(world_close) struct world w;
        world_open_pods(&w);
        w.launcher->is_hurried = is_hurried;
        remove_gang(&w);
        struct kube_call *call;
        for (size_t i = 0; (call = fake_kube_open(i)) != NULL; i++) {
            const bool is_short = strstr(call->req.body, "\"gracePeriodSeconds\":5") != NULL;
            assert_true(call->req.method != KUBE_DELETE || is_short == is_hurried);
        }
        assert_int_equal(count_open(KUBE_DELETE), 3);
    }
}

/* The next trial waits for them, so nothing holds them up. */
TEST(pods_that_may_run_are_deleted_at_once)
{
    _cleanup_(world_close) struct world w;
    make_ended_gang(&w, STOPPED);
    create_gang(&w, 1);
    pass_ms(&w, 3100);
    assert_int_equal(count_open(KUBE_DELETE), 3);
}

/* A node that is lost right behind the end tells no phase. */
TEST(pods_whose_phase_does_not_come_are_deleted)
{
    _cleanup_(world_close) struct world w;
    make_ended_gang(&w, STOPPED);
    assert_int_equal(count_open(KUBE_DELETE), 0);
    pass_ms(&w, 2900);
    assert_int_equal(count_open(KUBE_DELETE), 0);
    pass_ms(&w, 200);
    assert_int_equal(count_open(KUBE_DELETE), 3);
    create_gang(&w, 1);
    for (size_t i = 0; i < 3; i++) {
        answer(&w, fake_kube_open(0), 0, "{}");
    }
    assert_int_equal(fake_kube_n_open(), 0); /* the next ones wait */
    pass_ms(&w, 29900);
    assert_int_equal(fake_kube_n_open(), 0);
    pass_ms(&w, 200);
    assert_int_equal(count_open(KUBE_GET), 3); /* are they still there? */
    answer_all(&w, KUBE_GET, -ENOENT, "gone");
    assert_int_equal(count_open(KUBE_POST), 1);
}

#define NO_RIGHT                                                                                   \
    "{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"code\":403,"                                  \
    "\"message\":\"pods is forbidden: User \\\"u\\\" cannot delete resource \\\"pods\\\"\"}"

/* The wait for a right counts from the first denial after the last success. */
TEST(a_deletion_ends_the_wait_for_a_right)
{
    _cleanup_(world_close) struct world w;
    make_ended_gang(&w, ENDED);
    fake_kube.http_code = 403;
    answer(&w, fake_kube_open(0), -EACCES, NO_RIGHT);
    pass_ms(&w, 8000);
    answer_all(&w, KUBE_DELETE, 0, "{}");
    pass_ms(&w, 8000);
    create_gang(&w, 1);
    assert_int_equal(count_open(KUBE_POST), 1);
    answer(&w, fake_kube_open(0), -EACCES, NO_RIGHT);
    assert_int_equal(w.counters.failed, 0); /* 16 s after the first denial, which was over */
}

/* Removed before the watch showed it: deleted by what the watch says then. */
TEST(a_removed_pod_that_the_watch_shows_late)
{
    _cleanup_(world_close) struct world w;
    world_open_gang(&w);
    struct kube_call *post = fake_kube_open(0);
    _cleanup_(json_decrefp) json_t *pod = pod_of(post);
    answer(&w, post, 0, "{}");
    remove_gang(&w);
    notify(&w, KUBE_CHANGE_ADDED, pod, NULL);
    assert_null(seen(&w, &ids[0])); /* not taken for a stray */
    struct kube_call *call, *delete = NULL;
    for (size_t i = 0; (call = fake_kube_open(i)) != NULL; i++) {
        delete = call->req.method == KUBE_DELETE ? call : delete;
        if (call->req.method == KUBE_GET) {
            _cleanup_(freep) char *text = json_dumps(pod, 0);
            answer(&w, call, 0, text);
            i = (size_t)-1;
        }
    }
    assert_non_null(delete);
    answer(&w, delete, 0, "{}");
    notify(&w, KUBE_CHANGE_REMOVED, pod, NULL);
    while ((call = fake_kube_open(0)) != NULL) { /* the two whose POST was under way */
        const bool is_post = call->req.method == KUBE_POST;
        answer(&w, call, is_post ? -EINVAL : -ENOENT, "no");
    }
    assert_false(w.launcher->ops->is_removing(w.launcher));
}

/* Its POST had no answer, and may have had its effect. The watch may show that to nobody. */
TEST(a_removed_pod_whose_post_failed_is_looked_for)
{
    _cleanup_(world_close) struct world w;
    world_open_gang(&w);
    struct kube_call *post = fake_kube_open(0);
    _cleanup_(json_decrefp) json_t *pod = pod_of(post);
    _cleanup_(freep) char *text = json_dumps(pod, 0);
    answer(&w, post, -ECONNRESET, "broken");
    assert_int_equal(fake_kube_n_open(), 0); /* to be sent again */
    assert_true(w.launcher->ops->is_settling(w.launcher, NULL));
    remove_gang(&w);
    assert_true(w.launcher->ops->is_removing(w.launcher));
    create_gang(&w, 1);
    assert_int_equal(fake_kube_n_open(), 1);
    assert_int_equal(fake_kube_open(0)->req.method, KUBE_GET);
    answer(&w, fake_kube_open(0), 0, text);
    assert_int_equal(fake_kube_n_open(), 1);
    assert_int_equal(fake_kube_open(0)->req.method, KUBE_DELETE);
}

TEST(what_is_lost_is_not_deleted_and_what_runs_is)
{
    _cleanup_(world_close) struct world w;
    world_open_pods(&w);
    notify(&w, KUBE_CHANGE_REMOVED, w.pods[0], NULL);
    assert_int_equal(seen(&w, &ids[0])->state, REPLICA_LOST);
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[1], RUNNING);
    w.launcher->ops->remove(w.launcher, &ids[0], false);
    turn(&w);
    assert_int_equal(count_open(KUBE_DELETE), 0);
    w.launcher->ops->remove(w.launcher, &ids[1], true); /* has not ended */
    turn(&w);
    assert_int_equal(count_open(KUBE_DELETE), 1);
    assert_null(seen(&w, &ids[1]));
}
