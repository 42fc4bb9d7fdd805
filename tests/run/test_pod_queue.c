/* The place of an attempt in a queue: what is asked of Kueue, what its answers mean for the pods,
 * and that no Workload is left that nobody needs. */
#include <errno.h>

#include "tests/test.h"
#include "base/clock.h"
#include "base/mem.h"
#include "kube/json.h"
#include "pods_world.h"

#define CONDITION(type, status, words)                                                             \
    "{\"type\":\"" type "\",\"status\":\"" status "\",\"reason\":\"Because\",\"message\":\"" words \
    "\",\"lastTransitionTime\":\"2026-01-01T00:00:05Z\"}"
#define PENDING "{\"conditions\":[" CONDITION("QuotaReserved", "False", "20 more needed") "]}"
#define TOO_LARGE                                                                                  \
    "{\"conditions\":[" CONDITION("QuotaReserved", "False", "request > maximum capacity (4)") "]}"
#define ASSIGNED                                                                                   \
    "\"admission\":{\"clusterQueue\":\"c\",\"podSetAssignments\":["                                \
    "{\"name\":\"pserver\",\"flavors\":{\"cpu\":\"small\"}},"                                      \
    "{\"name\":\"trainer\",\"flavors\":{\"cpu\":\"large\",\"memory\":\"large\"}}]}"
#define ADMITTED "{" ASSIGNED ",\"conditions\":[" CONDITION("Admitted", "True", "admitted") "]}"
/* As Kueue leaves it: it is still called admitted. */
#define EVICTED                                                                                    \
    "{" ASSIGNED ",\"conditions\":[" CONDITION("Admitted", "True", "admitted") "," CONDITION(      \
        "Evicted", "True", "Preempted to accommodate another") "]}"

static void open_queue(struct world *w, const char *priority_class)
{
    world_open(w, POD_BY_DNS);
    w->launcher->ops->free(w->launcher);
    w->def->options.queue = xstrdup("team");
    w->def->options.priority_class = xstrdup_or_null(priority_class);
    make_launcher(w, POD_BY_DNS);
    assert_null(seen(w, &ids[0])); /* as a driver looks first */
    open_gates(w);
}

/* The only open call. */
static struct kube_call *only(enum kube_method method, const char *path)
{
    struct kube_call *call = fake_kube_open(0);
    if (fake_kube_n_open() != 1 || call->req.method != method ||
        strstr(call->req.path, path) == NULL) {
        fail_msg("%zu calls, the first is %d '%s', expected one, %d '...%s...'", fake_kube_n_open(),
                 call == NULL ? -1 : (int)call->req.method, call == NULL ? "" : call->req.path,
                 method, path);
    }
    return call;
}

static struct kube_call *find_call(enum kube_method method, const char *path)
{
    struct kube_call *call;
    for (size_t i = 0; (call = fake_kube_open(i)) != NULL; i++) {
        if (call->req.method == method && strstr(call->req.path, path) != NULL) {
            return call;
        }
    }
    return NULL;
}

/* A running pod of attempt 2 of run "other" in the cache; owned. */
static json_t *pod_of_another(struct world *w)
{
    json_t *pod = json_loads(
        "{\"metadata\":{\"name\":\"other\",\"uid\":\"o\",\"ownerReferences\":[{\"uid\":\"other\"}],"
        "\"labels\":{\"benchd.io/role\":\"trainer\",\"benchd.io/point\":\"0\",\"benchd.io/trial\":"
        "\"0\",\"benchd.io/attempt\":\"2\",\"benchd.io/replica-index\":\"0\"}},\"spec\":{},"
        "\"status\":" RUNNING "}",
        0, NULL);
    assert_non_null(pod);
    assert_true(kube_cache_put(&w->cache, pod));
    return pod;
}

/* The watch shows the Workload of attempt `number`, made by run `uid`. */
static void show(struct world *w, uint32_t number, const char *uid, const char *status)
{
    const struct attempt_id id = {.number = number};
    _cleanup_(freep) char *name = pod_attempt_name(w->def, &id);
    _cleanup_(freep) char *text = xasprintf(
        "{\"metadata\":{\"name\":\"%s\",\"uid\":\"uid-%u\",\"ownerReferences\":[{\"uid\":\"%s\"}],"
        "\"labels\":{\"benchd.io/point\":\"0\",\"benchd.io/trial\":\"0\",\"benchd.io/attempt\":"
        "\"%u\"}},\"status\":%s}",
        name, number, uid, number, status);
    _cleanup_(json_decrefp) json_t *object = json_loads(text, 0, NULL);
    assert_non_null(object);
    (void)kube_cache_put(&w->workload_cache, object); /* false: it is as it was */
    pod_queue_notice(w->launcher);
    turn(w);
}

static void hide(struct world *w, uint32_t number)
{
    const struct attempt_id id = {.number = number};
    _cleanup_(freep) char *name = pod_attempt_name(w->def, &id);
    _cleanup_(json_decrefp) json_t *object =
        json_pack("{s:{s:s, s:s}}", "metadata", "name", name, "uid",
                  kube_cache_get(&w->workload_cache, name)->uid);
    kube_cache_remove(&w->workload_cache, object);
    pod_queue_notice(w->launcher);
    turn(w);
}

static bool is_removing(const struct world *w)
{
    return w->launcher->ops->is_removing(w->launcher);
}

static const char large[] = "{\"metadata\":{\"name\":\"large\"},\"spec\":{\"nodeLabels\":{\"pool\":"
                            "\"b\"},\"tolerations\":[{\"key\":\"gpu\"}]}}";

/* Asks, is admitted, and has pods. */
static void admit(struct world *w, uint32_t number, json_t *pods[3])
{
    create_gang(w, number);
    answer(w, only(KUBE_POST, "/workloads"), 0, "{}");
    show(w, number, w->def->uid, ADMITTED);
    answer(w, only(KUBE_GET, "/resourceflavors/small"), 0, "{\"metadata\":{\"name\":\"small\"}}");
    answer(w, only(KUBE_GET, "/resourceflavors/large"), 0, large);
    assert_int_equal(accept_pods(w, pods), 3);
}

TEST(pods_come_when_the_queue_admits_them)
{
    _cleanup_(world_close) struct world w;
    open_queue(&w, NULL);
    create_gang(&w, 0);
    struct kube_call *post =
        only(KUBE_POST, "/apis/kueue.x-k8s.io/v1beta2/namespaces/ns/workloads?");
    _cleanup_(json_decrefp) json_t *body = json_loads(post->req.body, 0, NULL);
    const json_t *spec = json_object_get(body, "spec");
    const json_t *set = json_array_get(json_object_get(spec, "podSets"), 1);
    assert_string_equal(json_string_value(json_object_get(spec, "queueName")), "team");
    assert_null(json_object_get(spec, "priorityClassRef"));
    assert_int_equal(json_array_size(json_object_get(spec, "podSets")), 2);
    assert_string_equal(json_string_value(json_object_get(set, "name")), "trainer");
    assert_int_equal(json_integer_value(json_object_get(set, "count")), 2);
    assert_null(strstr(post->req.body, "BENCHD_")); /* no variable of any replica */
    assert_true(pod_is_owned(w.def, body));
    answer(&w, post, 0, "{}");
    show(&w, 0, w.def->uid, PENDING);
    pass_ms(&w, 6000);
    assert_int_equal(fake_kube_n_open(), 0);
    assert_string_equal(wait_of(&w).reason, "Queued");
    assert_string_equal(wait_of(&w).text,
                        "queue 'team' has not admitted it: Because: 20 more needed");
    assert_int_equal(seen(&w, &ids[0])->state, REPLICA_PENDING);
    show(&w, 0, w.def->uid, ADMITTED);
    answer(&w, only(KUBE_GET, "/resourceflavors/small"), 0, "{\"metadata\":{\"name\":\"small\"}}");
    answer(&w, only(KUBE_GET, "/resourceflavors/large"), 0, large);
    assert_int_equal(accept_pods(&w, w.pods), 3);
    for (size_t i = 0; i < 3; i++) { /* each role goes to its flavor's nodes, once */
        const json_t *of = json_object_get(w.pods[i], "spec");
        const json_t *pool = json_object_get(json_object_get(of, "nodeSelector"), "pool");
        assert_string_equal(i == 0 ? "" : "b", pool == NULL ? "" : json_string_value(pool));
        assert_int_equal(json_array_size(json_object_get(of, "tolerations")), i > 0);
    }
    pass_ms(&w, 6000);
    assert_string_equal(wait_of(&w).reason, "");
    assert_false(is_removing(&w));
}

TEST(a_trial_says_how_it_came_to_run)
{
    _cleanup_(world_close) struct world w;
    open_queue(&w, NULL);
    admit(&w, 0, w.pods);
    for (size_t i = 0; i < 3; i++) {
        notify(&w, KUBE_CHANGE_UPDATED, w.pods[i], RUNNING);
    }
    const struct pods *l = (const struct pods *)w.launcher;
    _cleanup_(freep) char *uid = xasprintf(
        "%s\"}],\"creationTimestamp\":\"2026-01-01T00:00:02Z\",\"x\":[{\"y\":\"", w.def->uid);
    show(&w, 0, uid, ADMITTED);
    _cleanup_(summary_done) struct summary s = {0};
    metrics_set(&s.metrics, "evaluation_s", 1);
    pod_gang_add_starts(l, l->members.items[0], &s);
    assert_true(metrics_get(&s.metrics, "evaluation_s") == 1);
    assert_true(metrics_get(&s.metrics, "queue_s") == 3);
    assert_true(metrics_get(&s.metrics, "admission_s") > 3);
    pod_gang_add_starts(l, l->members.items[0], NULL); /* it wrote none */
}

TEST(an_eviction_costs_no_attempt_and_gives_the_quota_back)
{
    _cleanup_(world_close) struct world w;
    open_queue(&w, NULL);
    admit(&w, 0, w.pods);
    notify(&w, KUBE_CHANGE_UPDATED, w.pods[0], RUNNING);
    answer_slices(&w);
    const unsigned n_changes = w.n_changes;
    show(&w, 0, w.def->uid, EVICTED);
    assert_true(w.n_changes > n_changes);
    assert_int_equal(seen(&w, &ids[0])->failure, FAILURE_PREEMPTED);
    assert_string_equal(seen(&w, &ids[0])->message, "Because: Preempted to accommodate another");
    remove_gang(&w);
    for (size_t i = 0; i < 3; i++) { /* the pods go first */
        assert_non_null(strstr(fake_kube_open(0)->req.path, "/pods/"));
        answer(&w, fake_kube_open(0), 0, "{}");
    }
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(fake_kube_n_open(), 0);
        notify(&w, KUBE_CHANGE_REMOVED, w.pods[i], NULL);
    }
    struct kube_call *delete = only(KUBE_DELETE, "/workloads/");
    assert_non_null(strstr(delete->req.body, "\"uid-0\""));
    assert_true(is_removing(&w));
    answer(&w, delete, 0, "{}");
    assert_true(is_removing(&w)); /* the watch has yet to say so */
    create_gang(&w, 1);           /* without a pause: it waits in the queue */
    answer(&w, only(KUBE_POST, "/workloads"), 0, "{}");
    hide(&w, 0);
    assert_int_equal(fake_kube_n_open(), 0);
}

/* What the queue has taken back before any pod was made is asked for again, by the same name. */
TEST(a_place_that_is_lost_before_the_pods_is_asked_for_again)
{
    _cleanup_(world_close) struct world w;
    open_queue(&w, NULL);
    create_gang(&w, 0);
    answer(&w, only(KUBE_POST, "/workloads"), 0, "{}");
    show(&w, 0, w.def->uid, EVICTED);
    answer(&w, only(KUBE_DELETE, "/workloads/"), 0, "{}");
    hide(&w, 0);
    assert_int_equal(seen(&w, &ids[0])->state, REPLICA_PENDING);
    (void)only(KUBE_POST, "/workloads");
}

TEST(pods_without_their_workload_are_preempted)
{
    _cleanup_(world_close) struct world w;
    open_queue(&w, NULL);
    admit(&w, 0, w.pods);
    hide(&w, 0);
    assert_int_equal(seen(&w, &ids[1])->failure, FAILURE_PREEMPTED);
    assert_non_null(strstr(seen(&w, &ids[1])->message, "deleted"));
}

/* Whoever ends the run while it is queued: nothing is left behind. */
TEST(a_removed_attempt_leaves_the_queue)
{
    enum { ASKING, ASKED, SHOWN };
    for (int when = ASKING; when <= SHOWN; when++) {
        _cleanup_(world_close) struct world w;
        open_queue(&w, NULL);
        create_gang(&w, 0);
        if (when >= ASKED) {
            answer(&w, only(KUBE_POST, "/workloads"), 0, "{}");
        }
        if (when >= SHOWN) {
            show(&w, 0, w.def->uid, PENDING);
        }
        remove_gang(&w);
        assert_true(is_removing(&w));
        if (when == ASKING) {
            answer(&w, only(KUBE_POST, "/workloads"), 0, "{}");
        }
        if (when < SHOWN) {
            assert_int_equal(fake_kube_n_open(), 0);
            show(&w, 0, w.def->uid, PENDING);
        }
        const unsigned n_changes = w.n_changes;
        answer(&w, only(KUBE_DELETE, "/workloads/"), 0, "{}");
        hide(&w, 0);
        assert_false(is_removing(&w));
        assert_int_equal(w.n_changes, n_changes + 1);
    }
}

/* Of a benchd that is dead: its Workload is this attempt's, or goes. */
TEST(a_restarted_benchd_goes_on_in_the_queue)
{
    _cleanup_(world_close) struct world w;
    open_queue(&w, NULL);
    show(&w, 1, w.def->uid, PENDING);
    w.launcher->ops->free(w.launcher);
    make_launcher(&w, POD_BY_DNS);
    turn(&w);
    assert_int_equal(fake_kube_n_open(), 0); /* the driver has not said what it wants */
    create_gang(&w, 1);
    assert_int_equal(fake_kube_n_open(), 0);
    pass_ms(&w, 6000);
    assert_string_equal(wait_of(&w).reason, "Queued");
    w.launcher->ops->free(w.launcher);
    make_launcher(&w, POD_BY_DNS); /* and one that finds the run cancelled */
    assert_null(seen(&w, &ids[0]));
    turn(&w);
    assert_non_null(strstr(only(KUBE_DELETE, "/workloads/")->req.body, "\"uid-1\""));
    assert_true(is_removing(&w));
    answer(&w, fake_kube_open(0), -EIO, "HTTP 500: broken");
    pass_ms(&w, 6000);
    assert_string_equal(wait_of(&w).reason, "DeletionFails");
    answer(&w, only(KUBE_DELETE, "/workloads/"), -ENOENT, "gone");
    hide(&w, 1);
    assert_false(is_removing(&w));
}

/* Of a run that is parked, for instance: it would hold the quota that this one waits for. */
TEST(what_another_run_has_left_is_deleted)
{
    _cleanup_(world_close) struct world w;
    open_queue(&w, NULL);
    create_gang(&w, 0);
    answer(&w, only(KUBE_POST, "/workloads"), 0, "{}");
    show(&w, 0, w.def->uid, PENDING);
    json_t *pod = pod_of_another(&w);
    show(&w, 2, "other", ADMITTED);
    assert_null(find_call(KUBE_DELETE, "/workloads/")); /* its pod may run */
    kube_cache_remove(&w.cache, pod);
    json_decref(pod);
    pass_ms(&w, 100);
    assert_non_null(strstr(find_call(KUBE_DELETE, "/workloads/")->req.body, "\"uid-2\""));
    assert_false(is_removing(&w)); /* that is no business of this run's end */
}

TEST(what_the_queue_never_admits_fails_the_trial)
{
    static const struct {
        const char *status, *created, *message;
    } rows[] = {
        {TOO_LARGE, "",
         "queue 'team' has not admitted it: Because: request > maximum capacity (4)"},
        {"{}", "2026-01-01T00:00:00Z",
         "waited 86400 s (scheduling.waitSeconds): queue 'team' has not admitted it yet"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        _cleanup_(world_close) struct world w;
        open_queue(&w, NULL);
        create_gang(&w, 0);
        answer(&w, only(KUBE_POST, "/workloads"), 0, "{}");
        _cleanup_(freep) char *uid = xasprintf(
            "%s\"}],\"creationTimestamp\":\"%s\",\"x\":[{\"y\":\"", w.def->uid, rows[i].created);
        show(&w, 0, uid, rows[i].status);
        assert_int_equal(seen(&w, &ids[0])->failure, FAILURE_WAIT_OVER);
        assert_string_equal(seen(&w, &ids[0])->message, rows[i].message);
        assert_int_equal(seen(&w, &ids[1])->state, REPLICA_PENDING);
        remove_gang(&w);
        (void)only(KUBE_DELETE, "/workloads/");
    }
}

#define NO_RIGHT                                                                                   \
    "{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"code\":403,"                                  \
    "\"message\":\"User \\\"u\\\" cannot get resource \\\"x\\\"\"}"

TEST(a_priority_is_read_of_its_class)
{
    _cleanup_(world_close) struct world w;
    open_queue(&w, "low");
    create_gang(&w, 0);
    answer(&w, only(KUBE_GET, "/apis/kueue.x-k8s.io/v1beta2/workloadpriorityclasses/low"), 0,
           "{\"value\":7}");
    struct kube_call *post = only(KUBE_POST, "/workloads");
    assert_non_null(strstr(post->req.body, "\"priority\":7,\"priorityClassRef\":{\"group\":"
                                           "\"kueue.x-k8s.io\",\"kind\":\"WorkloadPriorityClass\","
                                           "\"name\":\"low\"}"));
}

TEST(an_answer_about_the_request_ends_the_attempt)
{
    _cleanup_(world_close) struct world w;
    open_queue(&w, "low");
    create_gang(&w, 0);
    answer(&w, only(KUBE_GET, "/workloadpriorityclasses/low"), -ENOENT, "HTTP 404: no class");
    assert_int_equal(seen(&w, &ids[0])->failure, FAILURE_PERMANENT);
    assert_string_equal(seen(&w, &ids[0])->message, "HTTP 404: no class");
}

/* Retried, and then refused with what to do. */
TEST(a_right_that_is_missing_is_named)
{
    _cleanup_(world_close) struct world w;
    open_queue(&w, NULL);
    create_gang(&w, 0);
    fake_kube.http_code = 403;
    for (int i = 0; i < 20 && seen(&w, &ids[0])->failure == FAILURE_NONE; i++) {
        answer(&w, only(KUBE_POST, "/workloads"), -EACCES, NO_RIGHT);
        pass_ms(&w, 2100);
    }
    assert_int_equal(seen(&w, &ids[0])->failure, FAILURE_PERMANENT);
    assert_non_null(strstr(seen(&w, &ids[0])->message, "manifests/kueue.yaml"));
}

/* Kueue is not there (any more), or what is there is not known: a wait that says so. */
TEST(without_kueue_it_waits)
{
    _cleanup_(world_close) struct world w;
    open_queue(&w, NULL);
    w.workloads.is_known = false;
    (void)err_set(&w.workloads.error, EACCES, "HTTP 403: workloads is forbidden");
    create_gang(&w, 0);
    pass_ms(&w, 6000);
    assert_int_equal(fake_kube_n_open(), 0);
    assert_string_equal(wait_of(&w).text,
                        "the Workloads of Kueue are not known: HTTP 403: workloads is forbidden");
    remove_gang(&w); /* what is there is not known, and so not gone */
    pass_ms(&w, 6000);
    assert_true(is_removing(&w));
    assert_string_equal(wait_of(&w).reason, "DeletionFails");
    create_gang(&w, 0);
    w.workloads.is_known = true;
    for (int i = 0; i < 4; i++) {
        pass_ms(&w, 33000);
        answer(&w, only(KUBE_POST, "/workloads"), -ENOENT, "HTTP 404: no such kind");
        assert_int_equal(seen(&w, &ids[0])->state, REPLICA_PENDING);
    }
    pass_ms(&w, 6000);
    assert_string_equal(wait_of(&w).reason, "CreationFails");
    assert_string_equal(wait_of(&w).text, "HTTP 404: no such kind");
}
