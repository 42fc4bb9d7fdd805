/* The Secret and the Service of a run, which the pods wait for. */
#include "tests/test.h"
#include "pods_world.h"

static void assert_only_call(enum kube_method method, const char *path)
{
    const struct kube_call *call = fake_kube_open(0);
    if (fake_kube_n_open() != 1 || call->req.method != method ||
        strstr(call->req.path, path) == NULL) {
        fail_msg("%zu calls, the first is %d '%s', expected one, %d '...%s...'", fake_kube_n_open(),
                 call == NULL ? -1 : (int)call->req.method, call == NULL ? "" : call->req.path,
                 method, path);
    }
}

/* Somebody deleted it between our POST and our GET. */
TEST(a_service_that_went_meanwhile_is_posted_again)
{
    _cleanup_(world_close) struct world w;
    world_open(&w, POD_BY_DNS);
    create_gang(&w, 0);
    answer(&w, fake_kube_open(0), 0, "{}"); /* the Secret */
    answer(&w, fake_kube_open(0), -EEXIST, "already exists");
    assert_only_call(KUBE_GET, "/services/");
    answer(&w, fake_kube_open(0), -ENOENT, "HTTP 404");
    turn(&w);
    assert_int_equal(seen(&w, &ids[0])->state, REPLICA_PENDING);
    assert_int_equal(w.counters.failed, 0);
    pass_ms(&w, 2100);
    assert_only_call(KUBE_POST, "/services");
}

TEST(a_refused_secret_is_posted_again_for_the_next_attempt)
{
    _cleanup_(world_close) struct world w;
    world_open(&w, POD_BY_IP);
    create_gang(&w, 0);
    answer(&w, fake_kube_open(0), -EINVAL, "HTTP 422: no such thing");
    turn(&w);
    assert_int_equal(seen(&w, &ids[0])->state, REPLICA_FAILED);
    assert_string_equal(seen(&w, &ids[0])->message, "HTTP 422: no such thing");
    pass_ms(&w, 10000);
    assert_int_equal(fake_kube_n_open(), 0); /* this attempt has failed */
    remove_gang(&w);
    create_gang(&w, 1);
    assert_only_call(KUBE_POST, "/secrets");
}

/* Somebody deleted them between two attempts: a kubelet that looks for the Secret, or a policy that
 * is not there, shows only in the pods. */
TEST(each_attempt_finds_what_it_needs)
{
    _cleanup_(world_close) struct world w;
    world_open(&w, POD_BY_DNS);
    w.launcher->ops->free(w.launcher);
    w.has_policy = true;
    make_launcher(&w, POD_BY_DNS);
    for (uint32_t attempt = 0; attempt < 2; attempt++) {
        create_gang(&w, attempt);
        static const char *const paths[] = {"/secrets", "/services", "/networkpolicies"};
        for (size_t i = 0; i < 3; i++) {
            struct kube_call *call = fake_kube_open(0);
            assert_int_equal(call->req.method, KUBE_POST);
            assert_non_null(strstr(call->req.path, paths[i]));
            _cleanup_(json_decrefp) json_t *ours = json_loads(call->req.body, 0, NULL);
            _cleanup_(freep) char *text = json_dumps(ours, 0);
            const bool is_there = attempt == 1 && i > 0;
            answer(&w, call, is_there || attempt == 1 ? -EEXIST : 0, "{}");
            if (is_there) { /* asked for at the end */
                struct kube_call *get = fake_kube_open(fake_kube_n_open() - 1);
                assert_int_equal(get->req.method, KUBE_GET);
                answer(&w, get, 0, text);
            }
        }
        turn(&w);
        const struct kube_call *pod = fake_kube_open(0);
        assert_non_null(pod);
        assert_non_null(strstr(pod->req.path, "/pods"));
        assert_int_equal(w.counters.failed, 0);
        remove_gang(&w);
        answer_all(&w, KUBE_POST, -EINVAL, "no pod was made");
        turn(&w);
    }
}

TEST(a_service_that_is_there_is_ours_or_foreign)
{
    for (int is_ours = 0; is_ours < 2; is_ours++) {
        _cleanup_(world_close) struct world w;
        world_open(&w, POD_BY_DNS);
        create_gang(&w, 0);
        answer(&w, fake_kube_open(0), -EEXIST, "already exists"); /* the Secret: taken */
        struct kube_call *call = fake_kube_open(0);
        _cleanup_(json_decrefp) json_t *service = json_loads(call->req.body, 0, NULL);
        if (!is_ours) {
            json_object_del(json_object_get(service, "metadata"), "ownerReferences");
        }
        _cleanup_(freep) char *text = json_dumps(service, 0);
        answer(&w, call, -EEXIST, "already exists");
        call = fake_kube_open(0);
        assert_int_equal(call->req.method, KUBE_GET);
        assert_non_null(strstr(call->req.path, "/services/"));
        answer(&w, call, 0, text);
        turn(&w);
        const struct observed_replica *r = seen(&w, &ids[0]);
        assert_int_equal(r->state, is_ours ? REPLICA_PENDING : REPLICA_FAILED);
        assert_int_equal(fake_kube_n_open(), is_ours); /* the first pod, or nothing */
        if (!is_ours) {
            assert_non_null(strstr(r->message, "does not belong to this run"));
        }
    }
}

/* Pods that were there before their policy could talk to anybody, or in a namespace that denies by
 * default to nobody. */
TEST(no_pod_comes_before_the_policy)
{
    for (int is_foreign = 0; is_foreign < 2; is_foreign++) {
        _cleanup_(world_close) struct world w;
        world_open(&w, POD_BY_IP);
        w.launcher->ops->free(w.launcher);
        w.has_policy = true;
        make_launcher(&w, POD_BY_IP);
        create_gang(&w, 0);
        answer(&w, fake_kube_open(0), 0, "{}"); /* the Secret */
        assert_only_call(KUBE_POST, "/networkpolicies");
        pass_ms(&w, 6000);
        struct run_wait wait = {0};
        w.launcher->ops->wait(w.launcher, &wait);
        assert_string_equal(
            wait.text, "the API server does not answer the creation of the run's NetworkPolicy");
        answer(&w, fake_kube_open(0), is_foreign ? -EEXIST : 0, "{}");
        if (is_foreign) {
            assert_only_call(KUBE_GET, "/networkpolicies/");
            answer(&w, fake_kube_open(0), 0, "{\"metadata\":{\"name\":\"run-1\"}}");
            turn(&w);
            assert_string_equal(
                seen(&w, &ids[0])->message,
                "a NetworkPolicy 'run-1' exists already and does not belong to this "
                "run; delete it");
            assert_int_equal(fake_kube_n_open(), 0);
        } else {
            assert_only_call(KUBE_POST, "/pods");
        }
    }
}

TEST(a_gate_that_fails_for_now_is_tried_again)
{
    _cleanup_(world_close) struct world w;
    world_open(&w, POD_BY_IP);
    create_gang(&w, 0);
    answer(&w, fake_kube_open(0), -EIO, "HTTP 500");
    pass_ms(&w, 1900);
    assert_int_equal(fake_kube_n_open(), 0);
    pass_ms(&w, 200);
    assert_non_null(strstr(fake_kube_open(0)->req.path, "/secrets"));
    assert_int_equal(w.counters.failed, 0);
}
