/* The pod launcher over a client without a network: what it asks for, in which order, and what it
 * makes of answers and watch events. */
#include "tests/core/summary_fixture.h"
#include "pods_world.h"

TEST(the_first_goes_alone)
{
    _cleanup_(world_close) struct world w;
    world_open(&w, POD_BY_DNS);
    create_gang(&w, 0);
    assert_int_equal(fake_kube_n_open(), 2);
    assert_non_null(strstr(fake_kube_open(0)->req.path, "/secrets"));
    assert_non_null(strstr(fake_kube_open(1)->req.path, "/services"));
    assert_true(w.launcher->ops->is_settling(w.launcher, NULL));
    open_gates(&w);
    assert_int_equal(fake_kube_n_open(), 1);
    assert_non_null(strstr(fake_kube_open(0)->req.path, "fieldValidation=Strict"));
    struct kube_call *first = fake_kube_open(0);
    _cleanup_(json_decrefp) json_t *pod = pod_of(first);
    _cleanup_(freep) char *text = json_dumps(pod, 0);
    answer(&w, first, 0, text);
    assert_int_equal(fake_kube_n_open(), 2); /* the others at once */
    assert_true(w.launcher->ops->is_settling(w.launcher, NULL));
    const unsigned n_changes = w.n_changes;
    assert_int_equal(accept_pods(&w, w.pods), 2);
    assert_int_equal(w.n_changes, n_changes + 1); /* when the last one was created */
    assert_false(w.launcher->ops->is_settling(w.launcher, NULL));
    assert_int_equal(w.counters.created, 3);
    assert_int_equal(seen(&w, &ids[2])->state, REPLICA_PENDING);
}

TEST(a_refused_pod_costs_one_request)
{
    _cleanup_(world_close) struct world w;
    world_open_gang(&w);
    size_t n = fake_kube.n;
    answer(&w, fake_kube_open(0), -EACCES, "HTTP 403: violates PodSecurity");
    assert_int_equal(fake_kube.n, n);
    assert_int_equal(seen(&w, &ids[0])->state, REPLICA_FAILED);
    assert_int_equal(seen(&w, &ids[0])->failure, FAILURE_PERMANENT);
    assert_int_equal(w.counters.failed, 1);
    struct replica_output output;
    for (size_t i = 0; i < 3; i++) { /* nothing to fetch, nothing to delete */
        assert_int_equal(w.launcher->ops->collect(w.launcher, &ids[i], &output, NULL), 0);
    }
    remove_gang(&w);
    assert_null(seen(&w, &ids[0]));
    assert_int_equal(fake_kube_n_open(), 0);
    assert_false(w.launcher->ops->is_removing(w.launcher));
}

TEST(a_pod_that_is_there_is_ours_or_foreign)
{
    static const char *const lacks[] = {"ownerReferences", "labels", ""}; /* somebody edited it */
    for (int i = 0; i < 3; i++) {
        const bool is_ours = i == 2;
        _cleanup_(world_close) struct world w;
        world_open_gang(&w);
        _cleanup_(json_decrefp) json_t *pod = pod_of(fake_kube_open(0));
        (void)json_object_del(json_object_get(pod, "metadata"), lacks[i]);
        _cleanup_(freep) char *text = json_dumps(pod, 0);
        answer(&w, fake_kube_open(0), -EEXIST, "already exists");
        assert_int_equal(fake_kube_open(0)->req.method, KUBE_GET);
        answer(&w, fake_kube_open(0), 0, text);
        const struct observed_replica *r = seen(&w, &ids[0]);
        assert_int_equal(r->state, is_ours ? REPLICA_PENDING : REPLICA_FAILED);
        if (!is_ours) {
            assert_non_null(strstr(r->message, "does not belong to this run"));
            remove_gang(&w);
            assert_int_equal(fake_kube_n_open(), 0); /* it is left alone */
        }
    }
}

TEST(by_address_servers_come_first)
{
    _cleanup_(world_close) struct world w;
    world_open(&w, POD_BY_IP);
    create_gang(&w, 0);
    assert_int_equal(fake_kube_n_open(), 1); /* no Service */
    open_gates(&w);
    _cleanup_(drop_pods) json_t *trainers[3] = {0};
    assert_int_equal(accept_pods(&w, w.pods), 1);
    assert_int_equal(fake_kube_n_open(), 0);
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[0], RUNNING);
    assert_int_equal(fake_kube_n_open(), 2);
    assert_non_null(strstr(fake_kube_open(0)->req.body, "10.0.0.7:7164"));
    assert_non_null(strstr(fake_kube_open(0)->req.body, "\"serviceAccountName\":\"replicas\""));
    assert_int_equal(accept_pods(&w, trainers), 2);
}

/* A gang of another size; the first is pserver/0. */
static void create_gang_of(struct world *w, uint32_t pservers, uint32_t trainers)
{
    const struct gang_spec gang = {
        .replicas = {[ROLE_PSERVER] = pservers, [ROLE_TRAINER] = trainers}};
    struct gang_addresses addresses;
    memcpy(w->def->matrix.points[0].replicas, gang.replicas, sizeof(gang.replicas));
    assert_int_equal(w->launcher->ops->prepare(w->launcher, &gang, &addresses, NULL), 0);
    for (uint32_t i = 0; i < pservers + trainers; i++) {
        const struct replica_spec spec = {.id = {.role = i < pservers ? ROLE_PSERVER : ROLE_TRAINER,
                                                 .index = i < pservers ? i : i - pservers}};
        assert_int_equal(w->launcher->ops->create(w->launcher, &spec, NULL), 0);
    }
    turn(w);
    open_gates(w);
}

TEST(by_address_all_servers_come_first)
{
    _cleanup_(world_close) struct world w;
    world_open(&w, POD_BY_IP);
    create_gang_of(&w, 2, 1);
    _cleanup_(drop_pods) json_t *trainers[3] = {0};
    assert_int_equal(accept_pods(&w, w.pods), 2);
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[0], RUNNING);
    assert_int_equal(fake_kube_n_open(), 0); /* the other has no address yet */
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[1], RUNNING);
    assert_int_equal(accept_pods(&w, trainers), 1);
}

/* The API server is everybody's. */
TEST(at_most_40_pods_are_posted_at_a_time)
{
    _cleanup_(world_close) struct world w;
    world_open(&w, POD_BY_DNS);
    create_gang_of(&w, 1, 49);
    answer(&w, fake_kube_open(0), 0, "{}");
    turn(&w);
    assert_int_equal(fake_kube_n_open(), 40);
    answer(&w, fake_kube_open(0), 0, "{}");
    assert_int_equal(fake_kube_n_open(), 40);
    for (int i = 0; i < 20; i++) {
        answer(&w, fake_kube_open(0), 0, "{}");
    }
    assert_int_equal(fake_kube_n_open(), 28); /* the last ones */
}

TEST(vanished_pods_are_lost_and_ends_are_final)
{
    _cleanup_(world_close) struct world w;
    world_open_pods(&w);
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[0], ENDED);
    notify(&w, KUBE_CHANGE_REMOVED, w.pods[0], NULL);
    assert_int_equal(seen(&w, &ids[0])->state, REPLICA_SUCCEEDED);
    assert_null(seen(&w, &ids[0])->summary); /* it left none */
    unsigned n_changes = w.n_changes;
    notify(&w, KUBE_CHANGE_REMOVED, w.pods[2], NULL);
    assert_int_equal(seen(&w, &ids[2])->state, REPLICA_LOST);
    assert_int_equal(w.n_changes, n_changes + 1);
    json_t *other = json_deep_copy(w.pods[1]); /* a namesake with another uid is not it */
    json_object_set_new(json_object_get(other, "metadata"), "uid", json_string("x"));
    notify(&w, KUBE_CHANGE_REMOVED, other, NULL);
    assert_int_equal(seen(&w, &ids[1])->state, REPLICA_PENDING);
    json_decref(other);
}

/* A watch may report a pod late, or another one of that name. */
TEST(an_end_stands_whatever_is_reported_later)
{
    _cleanup_(world_close) struct world w;
    world_open_pods(&w);
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[0], ENDED);
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[0], RUNNING);
    assert_int_equal(seen(&w, &ids[0])->state, REPLICA_SUCCEEDED);
    _cleanup_(json_decrefp) json_t *namesake = json_deep_copy(w.pods[1]);
    json_object_set_new(json_object_get(namesake, "metadata"), "uid", json_string("x"));
    notify(&w, KUBE_CHANGE_UPDATED, namesake, ENDED);
    assert_int_equal(seen(&w, &ids[1])->state, REPLICA_PENDING);
}

/* Trainers wait for the addresses of their servers. */
TEST(a_new_address_is_a_change)
{
    _cleanup_(world_close) struct world w;
    world_open_pods(&w);
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[0], RUNNING);
    const unsigned n_changes = w.n_changes;
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[0], RUNNING);
    assert_int_equal(w.n_changes, n_changes);
    json_object_set_new(json_object_get(w.pods[0], "status"), "podIP", json_string("10.0.0.8"));
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[0], NULL);
    assert_int_equal(w.n_changes, n_changes + 1);
}

/* Between two lists of the watch a pod can come and go: nobody tells. */
TEST(a_pod_that_the_watch_never_shows_is_asked_for)
{
    _cleanup_(world_close) struct world w;
    world_open_gang(&w);
    answer_all(&w, KUBE_POST, 0, "{}");
    assert_false(w.launcher->ops->is_settling(w.launcher, NULL));
    pass_ms(&w, 14900);
    assert_int_equal(fake_kube_n_open(), 0);
    pass_ms(&w, 200);
    assert_int_equal(fake_kube_n_open(), 3);
    assert_int_equal(fake_kube_open(0)->req.method, KUBE_GET);
    const unsigned n_changes = w.n_changes;
    answer(&w, fake_kube_open(0), -ENOENT, "HTTP 404");
    assert_int_equal(seen(&w, &ids[0])->state, REPLICA_LOST);
    assert_true(w.n_changes > n_changes);
}

#define UNSCHEDULABLE                                                                              \
    "{\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\","                           \
    "\"status\":\"False\",\"reason\":\"Unschedulable\",\"message\":\"m\"}]}"

#define NO_IMAGE                                                                                   \
    "{\"phase\":\"Pending\","                                                                      \
    "\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"waiting\":{"                           \
    "\"reason\":\"ErrImagePull\",\"message\":\"not found\"}}}]}"

/* Its time to find a node runs out behind its end: that does not change how it ended. */
TEST(a_pod_that_vanished_waits_for_nothing)
{
    _cleanup_(world_close) struct world w;
    world_open_pods(&w);
    for (size_t i = 1; i < 3; i++) {
        notify(&w, KUBE_CHANGE_UPDATED, w.pods[i], UNSCHEDULABLE);
    }
    notify(&w, KUBE_CHANGE_REMOVED, w.pods[2], NULL);
    pods_limit_wait(w.launcher, -1);
    pass_ms(&w, 2);
    assert_int_equal(seen(&w, &ids[1])->failure, FAILURE_WAIT_OVER);
    assert_int_equal(seen(&w, &ids[2])->state, REPLICA_LOST);
    assert_int_equal(seen(&w, &ids[2])->failure, FAILURE_INFRASTRUCTURE);
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[0], NO_IMAGE); /* a wait with a limit of its own */
    pass_ms(&w, 119900);
    assert_int_equal(seen(&w, &ids[0])->state, REPLICA_PENDING);
    pass_ms(&w, 200);
    assert_int_equal(seen(&w, &ids[0])->failure, FAILURE_PERMANENT);
}

/* A 401 is about us, not about the pod. */
TEST(refused_credentials_are_waited_for)
{
    _cleanup_(world_close) struct world w;
    world_open_gang(&w);
    fake_kube.http_code = 401;
    answer(&w, fake_kube_open(0), -EACCES, "HTTP 401");
    assert_int_equal(seen(&w, &ids[0])->state, REPLICA_PENDING);
    assert_int_equal(w.counters.failed, 0);
}

#define NO_RIGHT                                                                                   \
    "{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"code\":403,"                                  \
    "\"message\":\"pods is forbidden: User \\\"u\\\" cannot create resource \\\"pods\\\"\"}"

/* All rights may be gone, and the Lease soon; one that stays away is told. */
TEST(a_missing_right_is_waited_for_a_while)
{
    for (int is_over = 0; is_over < 2; is_over++) {
        _cleanup_(world_close) struct world w;
        world_open(&w, POD_BY_DNS);
        w.launcher->ops->free(w.launcher);
        w.denied_wait_ms = is_over ? -1 : 0;
        make_launcher(&w, POD_BY_DNS);
        create_gang(&w, 0);
        open_gates(&w);
        fake_kube.http_code = 403;
        answer(&w, fake_kube_open(0), -EACCES, NO_RIGHT);
        assert_int_equal(seen(&w, &ids[0])->state, is_over ? REPLICA_FAILED : REPLICA_PENDING);
        assert_int_equal(w.counters.failed, is_over);
    }
}

/* One denied creation after another: the time counts from the first of them. */
TEST(a_denial_is_over_when_something_succeeds)
{
    _cleanup_(world_close) struct world w;
    world_open_gang(&w);
    fake_kube.http_code = 403;
    answer(&w, fake_kube_open(0), -EACCES, NO_RIGHT);
    pass_ms(&w, 8000);
    answer(&w, fake_kube_open(0), 0, "{}"); /* that is tried again, and was made */
    pass_ms(&w, 8000);
    answer(&w, fake_kube_open(0), -EACCES, NO_RIGHT);
    assert_int_equal(w.counters.failed, 0);
    pass_ms(&w, 11900); /* ... and of the next denial */
    answer(&w, fake_kube_open(0), -EACCES, NO_RIGHT);
    assert_int_equal(w.counters.failed, 0);
    pass_ms(&w, 2100);
    answer(&w, fake_kube_open(1), -EACCES, NO_RIGHT);
    assert_int_equal(w.counters.failed, 1);
}

TEST(a_terminating_pod_is_not_taken_over)
{
    _cleanup_(world_close) struct world w;
    world_open_gang(&w);
    _cleanup_(json_decrefp) json_t *pod = pod_of(fake_kube_open(0));
    json_object_set_new(json_object_get(pod, "metadata"), "deletionTimestamp",
                        json_string("2026-01-01T00:00:00Z"));
    _cleanup_(freep) char *text = json_dumps(pod, 0);
    answer(&w, fake_kube_open(0), -EEXIST, "already exists");
    answer(&w, fake_kube_open(0), 0, text);
    assert_int_equal(seen(&w, &ids[0])->state, REPLICA_PENDING);
    assert_true(w.launcher->ops->is_settling(w.launcher, NULL));
    assert_int_equal(fake_kube_n_open(), 0);
    pass_ms(&w, 2000);
    assert_int_equal(fake_kube_open(0)->req.method, KUBE_POST); /* asked for anew */
}

/* A run was deleted and one of its name was made at once: the garbage collector has yet to come. */
TEST(a_pod_of_a_deleted_run_of_its_name_is_waited_for)
{
    _cleanup_(world_close) struct world w;
    world_open_gang(&w);
    _cleanup_(json_decrefp) json_t *pod = pod_of(fake_kube_open(0));
    json_t *owner =
        json_array_get(json_object_get(json_object_get(pod, "metadata"), "ownerReferences"), 0);
    json_object_set_new(owner, "uid", json_string("of-the-deleted-run"));
    json_object_set_new(pod, "status", json_pack("{s:s}", "phase", "Succeeded"));
    _cleanup_(freep) char *text = json_dumps(pod, 0);
    for (unsigned i = 0; i < 4; i++) {
        answer(&w, fake_kube_open(0), -EEXIST, "already exists");
        answer(&w, fake_kube_open(0), 0, text);
        assert_int_equal(seen(&w, &ids[0])->state, REPLICA_PENDING);
        assert_int_equal(fake_kube_n_open(), 0); /* it is left alone */
        pass_ms(&w, 10000);
    }
    assert_string_equal(wait_of(&w).reason, "CreationFails");
    assert_string_equal(
        wait_of(&w).text,
        "a pod 'test-abcde-p0t0a0-pserver-0', of a deleted run, is not removed yet");
    answer(&w, fake_kube_open(0), 0, text);
    assert_string_equal(wait_of(&w).reason, "");
}

/* Whatever is heard in one turn of the loop is one change. */
TEST(a_tick_reports_once)
{
    _cleanup_(world_close) struct world w;
    world_open_pods(&w);
    const unsigned n_changes = w.n_changes;
    for (size_t i = 0; i < 3; i++) {
        json_object_set_new(w.pods[i], "status", json_loads(RUNNING, 0, NULL));
        notify_soon(&w, KUBE_CHANGE_UPDATED, w.pods[i]);
    }
    assert_int_equal(w.n_changes, n_changes);
    turn(&w);
    assert_int_equal(w.n_changes, n_changes + 1);
    turn(&w);
    assert_int_equal(w.n_changes, n_changes + 1);
}

TEST(nothing_ticks_without_pods)
{
    _cleanup_(world_close) struct world w;
    world_open(&w, POD_BY_DNS);
    const struct pods *l = (const struct pods *)w.launcher;
    create_gang(&w, 0);
    assert_true(uv_is_active((const uv_handle_t *)&l->timer));
    remove_gang(&w); /* before any is posted */
    turn(&w);
    assert_int_equal(l->members.len, 0);
    assert_false(uv_is_active((const uv_handle_t *)&l->timer));
}

TEST(a_new_launcher_takes_over)
{
    _cleanup_(world_close) struct world w;
    world_open_pods(&w);
    (void)kube_cache_put(&w.cache, w.pods[0]);
    (void)kube_cache_put(&w.cache, w.pods[1]);
    w.launcher->ops->free(w.launcher);
    assert_int_equal(fake_kube_n_open(), 0); /* the pods live on */
    make_launcher(&w, POD_BY_DNS);
    assert_non_null(seen(&w, &ids[0]));
    assert_non_null(seen(&w, &ids[1]));
    assert_null(seen(&w, &ids[2]));
    notify(&w, KUBE_CHANGE_ADDED, w.pods[2], NULL); /* its POST came late */
    assert_non_null(seen(&w, &ids[2]));
    assert_false(w.launcher->ops->is_settling(w.launcher, NULL));
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[0], ENDED);
    w.launcher->ops->remove(w.launcher, &ids[0], true);
    turn(&w);
    assert_null(seen(&w, &ids[0]));
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[0], NULL);
    assert_null(seen(&w, &ids[0])); /* forgotten is forgotten */
    assert_int_equal(fake_kube_n_open(), 0);
}

static size_t n_asked_for_nodes(struct kube_call **ret)
{
    static const char path[] = "/api/v1/nodes/";
    size_t n = 0;
    for (size_t i = 0; fake_kube_open(i) != NULL; i++) {
        if (strncmp(fake_kube_open(i)->req.path, path, strlen(path)) == 0) {
            *ret = fake_kube_open(i);
            n++;
        }
    }
    return n;
}

/* The only other question: one for all. */
static void answer_version(struct world *w)
{
    size_t i = 0;
    while (fake_kube_open(i) != NULL && strcmp(fake_kube_open(i)->req.path, "/version") != 0) {
        i++;
    }
    assert_non_null(fake_kube_open(i));
    answer(w, fake_kube_open(i), 0, "{\"gitVersion\":\"v1.37.2\"}");
}

static void run_on(struct world *w, json_t *pod, const char *node)
{
    json_object_set_new(json_object_get(pod, "spec"), "nodeName", json_string(node));
    notify(w, KUBE_CHANGE_UPDATED, pod, RUNNING);
}

static size_t ask_for_nodes(struct world *w, struct kube_call **ret)
{
    for (size_t i = 0; i < 3; i++) {
        run_on(w, w->pods[i], "n1");
        assert_true(i == 2 || n_asked_for_nodes(ret) == 0); /* the others still start */
    }
    return n_asked_for_nodes(ret);
}

TEST(a_node_is_read_before_all_pods_run_for_who_collects)
{
    _cleanup_(world_close) struct world w;
    struct node_labels labels = {.more = {NULL}};
    struct kube_call *call = NULL;
    struct replica_output output;
    world_open_pods(&w);
    struct pods *l = (struct pods *)w.launcher;
    l->params.node_labels = &labels;
    run_on(&w, w.pods[1], "n1");
    assert_int_equal(n_asked_for_nodes(&call), 0);
    assert_int_equal(w.launcher->ops->collect(w.launcher, &ids[1], &output, NULL), -EAGAIN);
    assert_int_equal(n_asked_for_nodes(&call), 1);
    assert_int_equal(w.launcher->ops->collect(w.launcher, &ids[1], &output, NULL), -EAGAIN);
    assert_int_equal(n_asked_for_nodes(&call), 1);
    answer(&w, call, 0, "{\"kind\":\"Node\",\"metadata\":{}}");
    assert_true(pod_nodes_ask(l, l->members.items[1])); /* the version is not known yet */
    answer_version(&w);
    assert_false(pod_nodes_ask(l, l->members.items[1]));
    assert_int_equal(n_asked_for_nodes(&call), 0);
}

TEST(without_the_right_one_answer_is_enough)
{
    _cleanup_(world_close) struct world w;
    struct node_labels labels = {.more = {NULL}};
    struct kube_call *call = NULL;
    world_open_pods(&w);
    ((struct pods *)w.launcher)->params.node_labels = &labels;
    run_on(&w, w.pods[0], "n1");
    run_on(&w, w.pods[1], "n2");
    run_on(&w, w.pods[2], "n3");
    assert_int_equal(n_asked_for_nodes(&call), 3);
    fake_kube.http_code = 403;
    answer(&w, call, -EACCES,
           "{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"message\":\"nodes is forbidden: "
           "User \\\"u\\\" cannot get resource \\\"nodes\\\"\"}");
    assert_int_equal(n_asked_for_nodes(&call), 0);
}

TEST(labels_of_a_node_are_read_once)
{
    static const struct {
        const char *name, *labels; /* NULL: benchd may not read nodes */
        uint32_t devices;
        const char *expected; /* of a trainer that says an accelerator of its own, and no driver */
    } rows[] = {
        {"all",
         "\"node.kubernetes.io/instance-type\":\"p5\",\"topology.kubernetes.io/zone\":\"z\","
         "\"nvidia.com/gpu.product\":\"X\",\"nvidia.com/cuda.driver-version.full\":\"535.1\","
         "\"rack\":\"r7\",\"other\":\"x\"",
         2,
         "{\"accelerator\":\"own\",\"gpu_driver\":\"nvidia "
         "535.1\",\"instance_type\":\"p5\",\"kubernetes\":\"v1.37.2\","
         "\"node_labels\":{\"rack\":\"r7\"},\"zone\":\"z\"}"},
        {"the older labels of a driver",
         "\"nvidia.com/cuda.driver.major\":\"470\",\"nvidia.com/cuda.driver.minor\":\"82\","
         "\"nvidia.com/cuda.driver.rev\":\"01\"",
         2,
         "{\"accelerator\":\"own\",\"gpu_driver\":\"nvidia "
         "470.82.01\",\"kubernetes\":\"v1.37.2\"}"},
        {"a pod without a GPU on a node with one",
         "\"topology.kubernetes.io/zone\":\"z\",\"nvidia.com/cuda.driver-version.full\":\"5\"", 0,
         "{\"accelerator\":\"own\",\"gpu_driver\":null,\"kubernetes\":\"v1.37.2\",\"zone\":\"z\"}"},
        {"none", "\"a\":\"b\"", 2,
         "{\"accelerator\":\"own\",\"gpu_driver\":null,\"kubernetes\":\"v1.37.2\"}"},
        {"no right", NULL, 2,
         "{\"accelerator\":\"own\",\"gpu_driver\":null,\"kubernetes\":\"v1.37.2\"}"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        _cleanup_(world_close) struct world w;
        struct node_labels labels = {.more = {"rack", "absent"}};
        struct kube_call *call = NULL;
        world_open_pods(&w);
        struct pods *l = (struct pods *)w.launcher;
        l->params.node_labels = &labels;
        w.def->matrix.points[0].devices = rows[i].devices;
        assert_int_equal(ask_for_nodes(&w, &call), 1);
        assert_true(pod_nodes_ask(l, l->members.items[1]));
        if (rows[i].labels == NULL) {
            fake_kube.http_code = 403;
            answer(
                &w, call, -EACCES,
                "{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"message\":\"nodes is forbidden: "
                "User \\\"u\\\" cannot get resource \\\"nodes\\\"\"}");
        } else {
            _cleanup_(freep) char *node =
                xasprintf("{\"kind\":\"Node\",\"metadata\":{\"labels\":{%s}}}", rows[i].labels);
            answer(&w, call, 0, node);
        }
        answer_version(&w);
        assert_int_equal(ask_for_nodes(&w, &call), 0); /* not again */
        assert_int_equal(labels.is_denied, rows[i].labels == NULL);
        assert_false(pod_nodes_ask(l, l->members.items[1]));
        json_t *environment = environment_parse("{\"accelerator\":\"own\",\"gpu_driver\":null}");
        print_message("# row '%s'\n", rows[i].name);
        pod_nodes_add(l, l->members.items[1], &environment);
        assert_facts(environment, rows[i].expected);
        json_decref(environment);
    }
}
