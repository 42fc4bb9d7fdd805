/* The launcher with a job object: a Job of two workers, its controller played by the test. Each row
 * of `ends` is one way in which an attempt can go. */
#include <errno.h>

#include "tests/test.h"
#include "base/str.h"
#include "kube/json.h"
#include "pods_world.h"
#include "spec/spec_load.h"

static const char definition[] =
    "apiVersion: benchd.io/v1alpha1\nkind: Benchmark\nmetadata: {name: jobs}\nspec:\n"
    "  systems: [{name: a, profile: job, log: torch-ddp, job: {\n"
    "    template: {apiVersion: batch/v1, kind: Job, spec: {template: {spec: {volumes: [{name: c, "
    "configMap: {name: x}}],\n"
    "      containers: [{name: main, image: i}]}}}},\n"
    "    set: [{path: /spec/template/spec/volumes/0/configMap/name, object: settings}],\n"
    "    objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {a: "
    "b}}]}}]\n"
    "  workload: {model: m, batchSize: 8, exchange: {kind: AllReduce}}\n"
    "  sweep: {grid: {workers: [2]}}\n"
    "  roles: {worker: {replicas: {from: workers}}}\n"
    "  repeats: {min: 1}\n";

#define NAME "jobs-1-p0t0a0"
#define COMPLETE "{\"conditions\":[{\"type\":\"Complete\",\"status\":\"True\"}]}"
#define FAILED                                                                                     \
    "{\"conditions\":[{\"type\":\"Failed\",\"status\":\"True\",\"reason\":"                        \
    "\"BackoffLimitExceeded\","                                                                    \
    "\"message\":\"limit\"}]}"

static const struct replica_id workers[2] = {{{0, 0, 0}, ROLE_WORKER, 0},
                                             {{0, 0, 0}, ROLE_WORKER, 1}};

struct jobs_world {
    struct world w;
    json_t *job;    /* the object, as the server has it; NULL: none */
    json_t *extra;  /* the ConfigMap */
    int refuse;     /* -Exxx of a POST; 0: none */
    bool is_queued; /* a webhook suspends it */
    unsigned n_posts, n_deletes;
};

static void open_world(struct jobs_world *j)
{
    struct diags diags = {0};
    struct spec *spec;
    world_open(&j->w, POD_BY_DNS);
    j->w.launcher->ops->free(j->w.launcher);
    (void)uv_run(&j->w.loop, UV_RUN_DEFAULT);
    run_def_free(j->w.def);
    assert_int_equal(spec_load(definition, strlen(definition), NULL, &spec, &diags), 0);
    const struct run_def_params params = {.name = "jobs-1", .uid = "u-1"};
    assert_int_equal(run_def_new(spec, &params, &j->w.def, &diags), 0);
    make_launcher(&j->w, POD_BY_DNS);
}

static void close_world(struct jobs_world *j)
{
    world_close(&j->w);
    json_decref(j->job);
    json_decref(j->extra);
}

static void answer_post(struct jobs_world *j, struct kube_call *call)
{
    json_t *body = json_loads(call->req.body, 0, NULL);
    json_object_set_new(json_object_get(body, "metadata"), "uid", json_string("job-1"));
    json_object_set_new(json_object_get(body, "metadata"), "creationTimestamp",
                        json_string("2100-01-01T00:00:00Z"));
    const bool is_job = strstr(call->req.path, "/jobs") != NULL;
    const bool is_extra = strstr(call->req.path, "/configmaps") != NULL;
    json_t **place = is_job ? &j->job : &j->extra;
    if (j->is_queued && is_job) {
        json_object_set_new(json_object_get(body, "spec"), "suspend", json_true());
    }
    const bool is_known = is_job || is_extra;
    const int r = is_known && *place != NULL ? -EEXIST : is_known ? j->refuse : 0;
    j->n_posts += is_job;
    if (r == 0 && is_known) {
        *place = json_incref(body);
    }
    _cleanup_(freep) char *text = json_dumps(body, 0);
    answer(&j->w, call, r, r < 0 ? "no" : text);
    json_decref(body);
}

/* Answers whatever is asked, as the server would; pods' DELETEs take effect by the watch. */
static void serve(struct jobs_world *j)
{
    for (struct kube_call *call; (call = fake_kube_open(0)) != NULL;) {
        const bool is_of_job = strstr(call->req.path, "/jobs") != NULL ||
                               strstr(call->req.path, "/configmaps") != NULL;
        assert_string_equal(call->req.user == NULL ? "" : call->req.user,
                            is_of_job ? "system:serviceaccount:ns:benchd-jobs" : "");
        if (call->req.method == KUBE_POST) {
            answer_post(j, call);
        } else if (call->req.method == KUBE_GET && strstr(call->req.path, "/jobs?") != NULL) {
            _cleanup_(freep) char *item = j->job == NULL ? xstrdup("") : json_dumps(j->job, 0);
            _cleanup_(freep) char *list = xasprintf("{\"items\":[%s]}", item);
            answer(&j->w, call, 0, list);
        } else if (call->req.method == KUBE_DELETE && strstr(call->req.path, "/jobs/") != NULL) {
            assert_non_null(strstr(call->req.body, "Foreground"));
            j->n_deletes++;
            json_object_set_new(json_object_get(j->job, "metadata"), "deletionTimestamp",
                                json_string("2026-01-01T00:00:00Z"));
            answer(&j->w, call, 0, "{}");
        } else {
            answer(&j->w, call, 0, "{}");
        }
    }
}

static void pass(struct jobs_world *j, int64_t ms)
{
    for (int64_t at = 0; at < ms; at += 500) {
        pass_ms(&j->w, 500);
        serve(j);
    }
}

static void create(struct jobs_world *j)
{
    const struct gang_spec gang = {.replicas = {[ROLE_WORKER] = 2}};
    struct gang_addresses addresses;
    for (size_t i = 0; i < 2; i++) {
        const struct replica_spec spec = {.id = workers[i]};
        struct launcher *l = j->w.launcher;
        assert_int_equal(l->ops->prepare(l, &gang, &addresses, NULL), 0);
        assert_int_equal(l->ops->create(l, &spec, NULL), 0);
    }
    turn(&j->w);
    serve(j);
    pass(j, 1000);
}

/* A pod as the Job's controller makes it of the template. */
static json_t *pod(const struct jobs_world *j, const char *name, const char *index,
                   const char *status)
{
    const json_t *template = json_object_get(json_object_get(j->job, "spec"), "template");
    json_t *made = json_deep_copy(template);
    json_t *metadata = json_object_get(made, "metadata");
    json_object_set_new(metadata, "name", json_string(name));
    json_object_set_new(metadata, "uid", json_string(name));
    json_object_set_new(
        metadata, "ownerReferences",
        json_pack("[{s:s, s:s, s:b}]", "kind", "Job", "uid", "job-1", "controller", 1));
    json_object_set_new(json_object_get(metadata, "labels"),
                        "batch.kubernetes.io/job-completion-index",
                        index == NULL ? NULL : json_string(index));
    json_object_set_new(made, "status", json_loads(status, 0, NULL));
    return made;
}

static void watch(struct jobs_world *j, enum kube_change change, const char *name,
                  const char *index, const char *status)
{
    json_t *made = pod(j, name, index, status);
    notify(&j->w, change, made, NULL);
    json_decref(made);
}

static const struct observed_replica *worker(struct jobs_world *j, size_t i)
{
    return seen(&j->w, &workers[i]);
}

static void remove_workers(struct jobs_world *j)
{
    for (size_t i = 0; i < 2; i++) {
        j->w.launcher->ops->remove(j->w.launcher, &workers[i], false);
    }
    turn(&j->w);
    serve(j);
}

/* The controller's end: the pods have gone, then the object. */
static void finish_deletion(struct jobs_world *j)
{
    pass(j, 1000);
    assert_true(j->w.launcher->ops->is_removing(j->w.launcher));
    assert_int_equal(j->n_deletes, 1);
    json_decref(j->job);
    j->job = NULL;
    const unsigned n_changes = j->w.n_changes;
    pass(j, 3000);
    assert_true(j->w.n_changes > n_changes);
}

#define ONE_RESTART                                                                                \
    "{\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"main\",\"containerID\":\"c\","      \
    "\"restartCount\":1,\"state\":{\"running\":{}}}]}"
#define EXIT_3                                                                                     \
    "{\"phase\":\"Failed\",\"containerStatuses\":[{\"name\":\"main\",\"containerID\":\"c\","       \
    "\"state\":{\"terminated\":{\"exitCode\":3}}}]}"

TEST(ways_to_fail)
{
    static const struct {
        const char *name;
        const char *pod, *index, *status; /* in addition to a and b, which run; NULL: none */
        enum kube_change change;
        const char *job; /* the object's status then */
        bool is_suspended;
        enum failure_class failure;
        const char *words;
    } rows[] = {
        {"exit", "a", "0", EXIT_3, KUBE_CHANGE_UPDATED, FAILED, false, FAILURE_PERMANENT,
         "exit code 3"},
        {"restarted", "a", "0", ONE_RESTART, KUBE_CHANGE_UPDATED, "{}", false,
         FAILURE_INFRASTRUCTURE, "its container was started 2 times; a measurement is one start"},
        {"replaced", "c", "0", RUNNING, KUBE_CHANGE_ADDED, "{}", false, FAILURE_INFRASTRUCTURE,
         "pod 'c' was made in its place; a measurement is one start"},
        {"one more", "c", "2", RUNNING, KUBE_CHANGE_ADDED, "{}", false, FAILURE_PERMANENT,
         "Job '" NAME "' has pod 'c' too, and the point has 2 of role worker; job.set must give it "
         "their number"},
        {"deleted", "a", "0", RUNNING, KUBE_CHANGE_REMOVED, "{}", false, FAILURE_INFRASTRUCTURE,
         "the pod was deleted, but not by benchd"},
        {"deleted as it failed", "a", "0", RUNNING, KUBE_CHANGE_REMOVED, FAILED, false,
         FAILURE_INFRASTRUCTURE, "Job '" NAME "' failed: BackoffLimitExceeded: limit"},
        {"suspended", "a", "0", RUNNING, KUBE_CHANGE_REMOVED, "{}", true, FAILURE_PREEMPTED,
         "Job '" NAME "' was suspended"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct jobs_world j = {0};
        open_world(&j);
        create(&j);
        watch(&j, KUBE_CHANGE_ADDED, "a", "0", RUNNING);
        watch(&j, KUBE_CHANGE_ADDED, "b", "1", RUNNING);
        pass(&j, 3000);
        json_object_set_new(j.job, "status", json_loads(rows[i].job, 0, NULL));
        json_object_set_new(json_object_get(j.job, "spec"), "suspend",
                            json_boolean(rows[i].is_suspended));
        watch(&j, rows[i].change, rows[i].pod, rows[i].index, rows[i].status);
        pass(&j, 3000);
        const struct observed_replica *first = worker(&j, 0);
        if (first->failure != rows[i].failure || strstr(first->message, rows[i].words) == NULL) {
            fail_msg("%s: got %d '%s'", rows[i].name, first->failure, first->message);
        }
        remove_workers(&j);
        finish_deletion(&j);
        close_world(&j);
    }
}

/* Without a container, so without a log that is read for figures. */
#define SIMULATED(state, phase)                                                                    \
    "{\"phase\":\"" phase "\",\"containerStatuses\":[{\"name\":\"main\",\"state\":" state "}]}"
#define ENDS "{\"terminated\":{\"exitCode\":0}}"

TEST(an_attempt_that_succeeds)
{
    _cleanup_(close_world) struct jobs_world j = {.is_queued = true};
    open_world(&j);
    create(&j);
    assert_int_equal(j.n_posts, 1);
    assert_string_equal(kube_json_metadata(j.job, "name"), NAME);
    assert_string_equal(kube_json_metadata(j.extra, "name"), "settings-" NAME);
    _cleanup_(freep) char *text = json_dumps(j.job, JSON_SORT_KEYS);
    assert_non_null(strstr(text, "\"configMap\": {\"name\": \"settings-" NAME "\"}"));
    assert_non_null(strstr(text, "\"parallelism\": 2"));
    assert_non_null(strstr(text, "\"serviceAccountName\": \"replicas\""));
    assert_true(j.w.launcher->ops->is_settling(j.w.launcher, NULL));
    struct run_wait wait;
    pass(&j, 8000);
    j.w.launcher->ops->wait(j.w.launcher, &wait);
    assert_string_equal(wait.text, "Job '" NAME "' is suspended: its queue has not admitted it");
    json_object_set_new(json_object_get(j.job, "spec"), "suspend", json_false());
    pass(&j, 8000);
    j.w.launcher->ops->wait(j.w.launcher, &wait);
    assert_string_equal(wait.reason, "Queued");
    assert_string_equal(wait.text, "Job '" NAME "' exists, and its controller has not made all of "
                                   "its pods");
    watch(&j, KUBE_CHANGE_ADDED, "a", NULL,
          SIMULATED("{\"running\":{}}", "Running")); /* without numbers, in their order */
    watch(&j, KUBE_CHANGE_ADDED, "b", NULL, SIMULATED("{\"running\":{}}", "Running"));
    assert_false(j.w.launcher->ops->is_settling(j.w.launcher, NULL));
    pass(&j, 3000);
    assert_int_equal(worker(&j, 0)->state, REPLICA_RUNNING);
    watch(&j, KUBE_CHANGE_UPDATED, "a", NULL, SIMULATED(ENDS, "Succeeded"));
    watch(&j, KUBE_CHANGE_UPDATED, "b", NULL, SIMULATED(ENDS, "Succeeded"));
    pass(&j, 3000);
    assert_int_equal(worker(&j, 1)->state, REPLICA_RUNNING);
    assert_true(worker(&j, 1)->has_exited); /* until the object says so, too */
    json_object_set_new(j.job, "status", json_loads(COMPLETE, 0, NULL));
    const unsigned n_changes = j.w.n_changes;
    pass(&j, 1000);
    assert_int_equal(j.w.n_changes, n_changes + 1);
    assert_int_equal(worker(&j, 0)->state, REPLICA_SUCCEEDED);
    remove_workers(&j);
    watch(&j, KUBE_CHANGE_REMOVED, "a", NULL, SIMULATED(ENDS, "Succeeded"));
    watch(&j, KUBE_CHANGE_REMOVED, "b", NULL, SIMULATED(ENDS, "Succeeded"));
    finish_deletion(&j);
    assert_false(j.w.launcher->ops->is_removing(j.w.launcher));
}

/* A process that was killed has made the object; its run is cancelled, or goes on. */
TEST(what_an_earlier_process_has_made)
{
    for (int goes_on = 0; goes_on < 2; goes_on++) {
        struct jobs_world j = {0};
        open_world(&j);
        assert_true(j.w.launcher->ops->is_removing(j.w.launcher)); /* nothing is known yet */
        create(&j);
        j.w.launcher->ops->free(j.w.launcher);
        (void)uv_run(&j.w.loop, UV_RUN_DEFAULT);
        make_launcher(&j.w, POD_BY_DNS);
        if (goes_on) {
            create(&j);
        } else {
            turn(&j.w);
            serve(&j);
        }
        pass(&j, 3000);
        assert_int_equal(j.n_posts, 1);
        assert_int_equal(j.n_deletes, !goes_on);
        if (goes_on) {
            watch(&j, KUBE_CHANGE_ADDED, "a", "0", RUNNING);
            assert_int_equal(worker(&j, 0)->state, REPLICA_RUNNING);
            remove_workers(&j);
        }
        finish_deletion(&j);
        close_world(&j);
    }
}

/* A run was deleted and one of its name was made at once: the garbage collector has yet to come. */
TEST(an_object_of_a_deleted_run_is_waited_for)
{
    struct jobs_world j = {0};
    open_world(&j);
    j.job = json_pack("{s:{s:s, s:s, s:[{s:s, s:s, s:b}]}}", "metadata", "name", NAME, "uid", "old",
                      "ownerReferences", "kind", "BenchmarkRun", "uid", "of-the-deleted-run",
                      "controller", 1);
    create(&j);
    pass(&j, 10000);
    assert_int_equal(worker(&j, 0)->state, REPLICA_PENDING);
    assert_string_equal(wait_of(&j.w).reason, "CreationFails");
    assert_string_equal(wait_of(&j.w).text,
                        "an object of that name, of a deleted run, is not removed yet");
    json_decref(j.job);
    j.job = NULL;
    pass(&j, 30000);
    assert_non_null(j.job);
    assert_int_equal(worker(&j, 0)->failure, FAILURE_NONE);
    assert_int_equal(j.n_deletes, 0); /* of the earlier one */
    remove_workers(&j);
    finish_deletion(&j);
    close_world(&j);
}

/* The run was deleted with --cascade=orphan, say: nobody would ever remove it. */
TEST(an_object_of_no_run_fails_with_advice)
{
    struct jobs_world j = {0};
    open_world(&j);
    j.job = json_pack("{s:{s:s, s:s}}", "metadata", "name", NAME, "uid", "orphan");
    create(&j);
    pass(&j, 10000);
    assert_int_equal(worker(&j, 0)->failure, FAILURE_PERMANENT);
    assert_string_equal(worker(&j, 0)->message,
                        "Job '" NAME "' exists already and does not belong to this run; delete it "
                        "or give the run another name");
    remove_workers(&j);
    pass(&j, 3000);
    assert_int_equal(j.n_deletes, 0);
    close_world(&j);
}

TEST(a_refused_object_fails_with_advice)
{
    static const struct {
        int r;
        const char *words;
    } rows[] = {
        {-ENOENT, "Job '" NAME "' cannot be created: the cluster has no jobs of batch; install it"},
        {-EINVAL, "Job '" NAME "' cannot be created: no"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct jobs_world j = {.refuse = rows[i].r};
        open_world(&j);
        create(&j);
        assert_int_equal(worker(&j, 0)->failure, FAILURE_PERMANENT);
        assert_string_equal(worker(&j, 0)->message, rows[i].words);
        assert_int_equal(j.n_posts, 1);
        remove_workers(&j);
        pass(&j, 3000);
        assert_false(j.w.launcher->ops->is_removing(j.w.launcher));
        close_world(&j);
    }
}
