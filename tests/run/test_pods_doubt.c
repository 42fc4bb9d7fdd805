/* Pods that only the API server knows of: after a POST without an answer, a second POST may be
 * refused, or may make a second pod of the name when somebody has deleted the first. And those
 * whose labels were taken. */
#include <errno.h>

#include "tests/test.h"
#include "pods_world.h"

static struct kube_call *find_open(enum kube_method method)
{
    struct kube_call *call;
    for (size_t i = 0; (call = fake_kube_open(i)) != NULL; i++) {
        if (call->req.method == method) {
            return call;
        }
    }
    return NULL;
}

/* A POST without an answer, which has made the first pod; the second POST is on its way, and the
 * watch shows the first. */
static json_t *post_twice(struct world *w)
{
    world_open_gang(w);
    json_t *first = pod_of(fake_kube_open(0));
    answer(w, fake_kube_open(0), -ECONNRESET, "broken");
    pass_ms(w, 2100);
    assert_int_equal(fake_kube_open(0)->req.method, KUBE_POST);
    notify(w, KUBE_CHANGE_ADDED, first, NULL);
    return first;
}

/* Somebody deletes it, and the API server says so. */
static void deleted_by_somebody(struct world *w, json_t *pod)
{
    json_object_set_new(json_object_get(pod, "metadata"), "deletionTimestamp",
                        json_string("2026-11-22T21:00:00Z"));
    notify(w, KUBE_CHANGE_REMOVED, pod, NULL);
}

/* The rest of the gang. */
static void refuse_posts(struct world *w)
{
    struct kube_call *call;
    while ((call = find_open(KUBE_POST)) != NULL) {
        answer(w, call, -EINVAL, "no");
    }
}

static const char *pod_name_of(const json_t *pod)
{
    return json_string_value(json_object_get(json_object_get(pod, "metadata"), "name"));
}

static json_t *second_of(const json_t *first)
{
    json_t *second = json_deep_copy(first);
    json_object_set_new(json_object_get(second, "metadata"), "uid", json_string("second"));
    return second;
}

static void expect_deletion_of_second(struct world *w)
{
    assert_non_null(find_open(KUBE_DELETE));
    assert_non_null(strstr(find_open(KUBE_DELETE)->req.body, "\"second\""));
    assert_null(find_open(KUBE_POST)); /* the next attempt waits for its end */
    assert_true(w->launcher->ops->is_removing(w->launcher));
}

TEST(the_first_is_deleted_before_the_answer)
{
    _cleanup_(world_close) struct world w;
    _cleanup_(json_decrefp) json_t *first = post_twice(&w), *second = second_of(first);
    _cleanup_(freep) char *text = json_dumps(second, 0);
    deleted_by_somebody(&w, first);
    assert_int_equal(seen(&w, &ids[0])->state, REPLICA_LOST);
    refuse_posts(&w);
    remove_gang(&w);
    create_gang(&w, 1);
    pass_ms(&w, 2100);
    assert_null(find_open(KUBE_POST));
    answer(&w, find_open(KUBE_GET), 0, text);
    expect_deletion_of_second(&w);
}

/* The run was deleted, and its pods not (--cascade=orphan), before the watch showed this one. */
TEST(a_pod_that_loses_its_owner_unseen_is_deleted)
{
    _cleanup_(world_close) struct world w;
    world_open_gang(&w);
    _cleanup_(json_decrefp) json_t *pod = pod_of(fake_kube_open(0));
    _cleanup_(freep) char *made = json_dumps(pod, 0);
    answer(&w, fake_kube_open(0), 0, made);
    refuse_posts(&w);
    remove_gang(&w);
    pass_ms(&w, 15100);
    (void)json_object_del(json_object_get(pod, "metadata"), "ownerReferences");
    _cleanup_(freep) char *orphan = json_dumps(pod, 0);
    answer(&w, find_open(KUBE_GET), 0, orphan);
    assert_non_null(find_open(KUBE_DELETE));
    assert_non_null(strstr(find_open(KUBE_DELETE)->req.body, pod_name_of(pod))); /* its uid here */
    assert_true(w.launcher->ops->is_removing(w.launcher));
}

TEST(the_answer_names_another_pod)
{
    _cleanup_(world_close) struct world w;
    _cleanup_(json_decrefp) json_t *first = post_twice(&w), *second = second_of(first);
    _cleanup_(freep) char *text = json_dumps(second, 0);
    answer(&w, fake_kube_open(0), 0, text);
    notify(&w, KUBE_CHANGE_REMOVED, first, NULL);
    assert_int_equal(seen(&w, &ids[0])->state, REPLICA_LOST);
    refuse_posts(&w);
    remove_gang(&w);
    create_gang(&w, 1);
    expect_deletion_of_second(&w);
}

/* The same of one that is not the first of its gang. */
TEST(any_member_may_be_made_twice)
{
    _cleanup_(world_close) struct world w;
    world_open_gang(&w);
    answer(&w, fake_kube_open(0), 0, "{}"); /* it goes alone */
    struct kube_call *post = find_open(KUBE_POST);
    _cleanup_(json_decrefp) json_t *first = pod_of(post), *second = second_of(first);
    _cleanup_(freep) char *text = json_dumps(second, 0);
    answer(&w, post, -ECONNRESET, "broken");
    answer(&w, find_open(KUBE_POST), 0, "{}"); /* the third */
    pass_ms(&w, 2100);
    assert_non_null(find_open(KUBE_POST)); /* again */
    notify(&w, KUBE_CHANGE_ADDED, first, NULL);
    deleted_by_somebody(&w, first);
    refuse_posts(&w);
    remove_gang(&w);
    create_gang(&w, 1);
    pass_ms(&w, 2100);
    size_t n_deletions = 0;
    struct kube_call *call;
    for (size_t i = 0; (call = fake_kube_open(i)) != NULL; i++) {
        if (call->req.method == KUBE_GET && strstr(call->req.path, pod_name_of(first)) != NULL) {
            answer(&w, call, 0, text);
            i = (size_t)-1;
        }
    }
    for (size_t i = 0; (call = fake_kube_open(i)) != NULL; i++) {
        n_deletions +=
            call->req.method == KUBE_DELETE && strstr(call->req.body, "\"second\"") != NULL;
    }
    assert_int_equal(n_deletions, 1);
    assert_null(find_open(KUBE_POST));
}

/* A world whose gang runs. */
static void open_running(struct world *w)
{
    world_open_pods(w);
    for (size_t i = 0; i < 3; i++) {
        notify(w, KUBE_CHANGE_UPDATED, w->pods[i], RUNNING);
    }
}

/* The watch shows it as deleted. It is looked for, unless the API server has said that
 * somebody deletes it. */
TEST(a_pod_whose_labels_were_taken_is_deleted)
{
    for (int is_deleted = 0; is_deleted < 2; is_deleted++) {
        _cleanup_(world_close) struct world w;
        open_running(&w);
        _cleanup_(json_decrefp) json_t *bare = json_deep_copy(w.pods[2]);
        json_object_del(json_object_get(bare, "metadata"), "labels");
        _cleanup_(freep) char *text = json_dumps(bare, 0);
        if (is_deleted) {
            deleted_by_somebody(&w, w.pods[2]);
        } else {
            notify(&w, KUBE_CHANGE_REMOVED, w.pods[2], NULL);
        }
        assert_int_equal(seen(&w, &ids[2])->state, REPLICA_LOST);
        remove_gang(&w);
        create_gang(&w, 1);
        struct kube_call *call;
        while ((call = find_open(KUBE_DELETE)) != NULL) {
            answer(&w, call, 0, "{}");
        }
        notify(&w, KUBE_CHANGE_REMOVED, w.pods[0], NULL);
        notify(&w, KUBE_CHANGE_REMOVED, w.pods[1], NULL);
        pass_ms(&w, 2100);
        assert_true((find_open(KUBE_POST) != NULL) == is_deleted);
        assert_true((find_open(KUBE_GET) != NULL) != is_deleted);
        if (!is_deleted) {
            answer(&w, find_open(KUBE_GET), 0, text);
            call = find_open(KUBE_DELETE);
            assert_non_null(strstr(call->req.body, "p0t0a0-trainer-1")); /* its uid here */
            answer(&w, call, 0, "{}");
            pass_ms(&w, 15100); /* no watch tells that it has gone */
            assert_null(find_open(KUBE_POST));
            answer(&w, find_open(KUBE_GET), -ENOENT, "no");
            assert_non_null(find_open(KUBE_POST));
        }
    }
}

/* What has vanished from the watch is found by its name, and deleted by its uid. */
static void expect_found_and_deleted(struct world *w, const json_t *pod)
{
    pass_ms(w, 2100);
    _cleanup_(freep) char *text = json_dumps(pod, 0);
    answer(w, find_open(KUBE_GET), 0, text);
    struct kube_call *call = find_open(KUBE_DELETE);
    assert_non_null(strstr(call->req.body, "p0t0a0-trainer-1")); /* its uid here */
    answer(w, call, 0, "{}");
}

/* Its run was deleted, and its pods not (--cascade=orphan): it is found by its uid. */
TEST(a_pod_whose_owner_was_taken_is_deleted)
{
    _cleanup_(world_close) struct world w;
    open_running(&w);
    (void)json_object_del(json_object_get(w.pods[2], "metadata"), "ownerReferences");
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[2], RUNNING);
    assert_int_equal(seen(&w, &ids[2])->state, REPLICA_LOST);
    expect_found_and_deleted(&w, w.pods[2]);
}

TEST(a_pod_that_changes_after_its_owner_was_taken_is_deleted)
{
    _cleanup_(world_close) struct world w;
    open_running(&w);
    (void)json_object_del(json_object_get(w.pods[2], "metadata"), "ownerReferences");
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[2], RUNNING);
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[2], RUNNING);
    pass_ms(&w, 2100);
    assert_non_null(find_open(KUBE_DELETE));
}

static void set_label(json_t *pod, const char *key, const char *value)
{
    json_t *labels = json_object_get(json_object_get(pod, "metadata"), "labels");
    assert_int_equal(json_object_set_new(labels, key, json_string(value)), 0);
}

/* To a replica that the run does not have, and to one that it has: the pod is looked for by its
 * name and deleted, and the others go on. */
TEST(a_pod_whose_labels_were_edited_is_deleted)
{
    static const char *const edits[][2] = {{"benchd.io/replica-index", "400000000"},
                                           {"benchd.io/replica-index", "2"},
                                           {"benchd.io/point", "99999"},
                                           {"benchd.io/replica-index", "0"},
                                           {"benchd.io/role", "pserver"}};
    for (size_t i = 0; i < sizeof(edits) / sizeof(edits[0]); i++) {
        _cleanup_(world_close) struct world w;
        open_running(&w);
        answer_slices(&w);
        set_label(w.pods[2], edits[i][0], edits[i][1]);
        notify(&w, KUBE_CHANGE_UPDATED, w.pods[2], RUNNING);
        assert_int_equal(seen(&w, &ids[2])->state, REPLICA_LOST);
        assert_int_equal(seen(&w, &ids[0])->state, REPLICA_RUNNING);
        assert_int_equal(seen(&w, &ids[1])->state, REPLICA_RUNNING);
        expect_found_and_deleted(&w, w.pods[2]);
    }
}

TEST(the_watch_shows_another_pod)
{
    _cleanup_(world_close) struct world w;
    world_open_pods(&w);
    _cleanup_(json_decrefp) json_t *second = second_of(w.pods[0]);
    notify(&w, KUBE_CHANGE_REMOVED, w.pods[0], NULL);
    notify(&w, KUBE_CHANGE_ADDED, second, NULL); /* an earlier benchd's late request, say */
    assert_int_equal(seen(&w, &ids[0])->state, REPLICA_LOST);
    expect_deletion_of_second(&w);
}

/* The first POST made the pod, and the second one is refused: the pod runs,
 * and nobody has seen it. */
TEST(a_refused_repetition_leaves_no_pod)
{
    for (int is_there = 0; is_there < 2; is_there++) {
        _cleanup_(world_close) struct world w;
        world_open_gang(&w);
        _cleanup_(json_decrefp) json_t *pod = pod_of(fake_kube_open(0));
        _cleanup_(freep) char *text = json_dumps(pod, 0);
        answer(&w, fake_kube_open(0), -ECONNRESET, "broken");
        pass_ms(&w, 2100);
        answer(&w, fake_kube_open(0), -EINVAL, "HTTP 422: a new policy says no");
        assert_int_equal(seen(&w, &ids[0])->failure, FAILURE_PERMANENT);
        remove_gang(&w);
        create_gang(&w, 1);
        assert_true(w.launcher->ops->is_removing(w.launcher));
        assert_null(find_open(KUBE_POST));
        answer(&w, find_open(KUBE_GET), is_there ? 0 : -ENOENT, is_there ? text : "no");
        assert_true((find_open(KUBE_DELETE) != NULL) == is_there);
        assert_true((find_open(KUBE_POST) == NULL) == is_there);
    }
}

/* The pod was created, the watch does not show it, and the right to look it up is gone. */
TEST(a_refused_look_leaves_no_pod)
{
    _cleanup_(world_close) struct world w;
    world_open_gang(&w);
    _cleanup_(json_decrefp) json_t *pod = pod_of(fake_kube_open(0));
    _cleanup_(freep) char *text = json_dumps(pod, 0);
    answer(&w, fake_kube_open(0), 0, "{}");
    pass_ms(&w, 15100);
    fake_kube.http_code = 403;
    answer(&w, find_open(KUBE_GET), -EACCES, "HTTP 403: no");
    assert_int_equal(seen(&w, &ids[0])->state, REPLICA_FAILED);
    w.launcher->ops->remove(w.launcher, &ids[0], false);
    turn(&w);
    answer(&w, find_open(KUBE_GET), -EACCES, "HTTP 403: no"); /* nor is it given up then */
    pass_ms(&w, 2100);
    answer(&w, find_open(KUBE_GET), 0, text);
    assert_non_null(find_open(KUBE_DELETE));
}

/* A driver has given up: a POST must not have its effect after the launcher was freed. */
TEST(what_is_being_created_is_known_in_the_end)
{
    _cleanup_(world_close) struct world w;
    world_open_gang(&w);
    assert_false(w.launcher->ops->stop_creating(w.launcher));
    answer(&w, find_open(KUBE_POST), -ECONNRESET, "broken");
    assert_false(w.launcher->ops->stop_creating(w.launcher)); /* it may exist */
    pass_ms(&w, 2100);
    assert_null(find_open(KUBE_POST)); /* none of the gang is posted any more */
    assert_false(w.launcher->ops->stop_creating(w.launcher));
    answer(&w, find_open(KUBE_GET), -ENOENT, "no");
    assert_true(w.launcher->ops->stop_creating(w.launcher));
}
