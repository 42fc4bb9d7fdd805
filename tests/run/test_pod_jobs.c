/* The launcher with a job object: a Job of two workers, its controller played by the test. Each row
 * of `ends` is one way in which an attempt can go. */
#include <errno.h>

#include "tests/test.h"
#include "base/str.h"
#include "decide/policy_attempt.h"
#include "kube/json.h"
#include "jobs_world.h"

#define COMPLETE "{\"conditions\":[{\"type\":\"Complete\",\"status\":\"True\"}]}"
#define FAILED                                                                                     \
    "{\"conditions\":[{\"type\":\"Failed\",\"status\":\"True\",\"reason\":"                        \
    "\"BackoffLimitExceeded\","                                                                    \
    "\"message\":\"limit\"}]}"

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
        _cleanup_(jobs_close) struct jobs_world j = {0};
        jobs_open(&j);
        jobs_create(&j);
        jobs_watch(&j, KUBE_CHANGE_ADDED, "a", "0", RUNNING);
        jobs_watch(&j, KUBE_CHANGE_ADDED, "b", "1", RUNNING);
        jobs_pass(&j, 3000);
        json_object_set_new(j.job, "status", json_loads(rows[i].job, 0, NULL));
        json_object_set_new(json_object_get(j.job, "spec"), "suspend",
                            json_boolean(rows[i].is_suspended));
        jobs_watch(&j, rows[i].change, rows[i].pod, rows[i].index, rows[i].status);
        jobs_pass(&j, 3000);
        const struct observed_replica *first = jobs_worker(&j, 0);
        if (first->failure != rows[i].failure || strstr(first->message, rows[i].words) == NULL) {
            fail_msg("%s: got %d '%s'", rows[i].name, first->failure, first->message);
        }
        jobs_remove(&j);
        jobs_finish_deletion(&j);
    }
}

/* Without a container, so without a log that is read for figures. */
#define SIMULATED(state, phase)                                                                    \
    "{\"phase\":\"" phase "\",\"containerStatuses\":[{\"name\":\"main\",\"state\":" state "}]}"
#define ENDS "{\"terminated\":{\"exitCode\":0}}"

TEST(an_attempt_that_succeeds)
{
    _cleanup_(jobs_close) struct jobs_world j = {.is_queued = true};
    jobs_open(&j);
    jobs_create(&j);
    assert_int_equal(j.n_posts, 1);
    assert_string_equal(kube_json_metadata(j.job, "name"), NAME);
    assert_string_equal(kube_json_metadata(j.extra, "name"), "settings-" NAME);
    _cleanup_(freep) char *text = json_dumps(j.job, JSON_SORT_KEYS);
    assert_non_null(strstr(text, "\"configMap\": {\"name\": \"settings-" NAME "\"}"));
    assert_non_null(strstr(text, "\"parallelism\": 2"));
    assert_non_null(strstr(text, "\"serviceAccountName\": \"replicas\""));
    assert_non_null(strstr(text, "\"image\": \"r.example/team/i\""));
    assert_non_null(strstr(text, "\"terminationMessagePolicy\": \"FallbackToLogsOnError\""));
    assert_true(j.w.launcher->ops->is_settling(j.w.launcher, NULL));
    struct run_wait wait;
    jobs_pass(&j, 8000);
    j.w.launcher->ops->wait(j.w.launcher, &wait);
    assert_string_equal(wait.text, "Job '" NAME "' is suspended: its queue has not admitted it");
    json_object_set_new(json_object_get(j.job, "spec"), "suspend", json_false());
    jobs_pass(&j, 8000);
    j.w.launcher->ops->wait(j.w.launcher, &wait);
    assert_string_equal(wait.reason, "Queued");
    assert_string_equal(wait.text, "Job '" NAME "' exists, and its controller has not made all of "
                                   "its pods");
    jobs_watch(&j, KUBE_CHANGE_ADDED, "a", NULL,
               SIMULATED("{\"running\":{}}", "Running")); /* without numbers, in their order */
    jobs_watch(&j, KUBE_CHANGE_ADDED, "b", NULL, SIMULATED("{\"running\":{}}", "Running"));
    assert_false(j.w.launcher->ops->is_settling(j.w.launcher, NULL));
    jobs_pass(&j, 3000);
    assert_int_equal(jobs_worker(&j, 0)->state, REPLICA_RUNNING);
    jobs_watch(&j, KUBE_CHANGE_UPDATED, "a", NULL, SIMULATED(ENDS, "Succeeded"));
    jobs_watch(&j, KUBE_CHANGE_UPDATED, "b", NULL, SIMULATED(ENDS, "Succeeded"));
    jobs_pass(&j, 3000);
    assert_int_equal(jobs_worker(&j, 1)->state, REPLICA_RUNNING);
    assert_true(jobs_worker(&j, 1)->has_exited); /* until the object says so, too */
    json_object_set_new(j.job, "status", json_loads(COMPLETE, 0, NULL));
    const unsigned n_changes = j.w.n_changes;
    jobs_pass(&j, 1000);
    assert_int_equal(j.w.n_changes, n_changes + 1);
    assert_int_equal(jobs_worker(&j, 0)->state, REPLICA_SUCCEEDED);
    jobs_remove(&j);
    jobs_watch(&j, KUBE_CHANGE_REMOVED, "a", NULL, SIMULATED(ENDS, "Succeeded"));
    jobs_watch(&j, KUBE_CHANGE_REMOVED, "b", NULL, SIMULATED(ENDS, "Succeeded"));
    jobs_finish_deletion(&j);
    assert_false(j.w.launcher->ops->is_removing(j.w.launcher));
}

#define AT(s) "\"2026-01-01T00:00:" s "Z\""

/* Parallelism 1: the controller makes a pod when the last one has ended. That is no lack of room,
 * so it costs attempts, and a run cannot repeat it for ever. */
TEST(pods_that_run_one_after_another)
{
    static const uint32_t sizes[ROLE_COUNT] = {[ROLE_WORKER] = 2};
    _cleanup_(jobs_close) struct jobs_world j = {0};
    jobs_open(&j);
    jobs_create(&j);
    vec_each (struct pod_member *, it, &((struct pods *)j.w.launcher)->members) {
        (*it)->made_unix_ms = 1767225601000; /* long ago, one second past midnight */
    }
    jobs_watch(
        &j, KUBE_CHANGE_ADDED, "a", "0",
        "{\"phase\":\"Succeeded\"," CONTAINER("{\"terminated\":{\"exitCode\":0,\"startedAt\":" AT(
            "02") ",\"finishedAt\":" AT("05") "}}") "}");
    json_t *second = jobs_pod(
        &j, "b", "1",
        "{\"phase\":\"Running\"," CONTAINER("{\"running\":{\"startedAt\":" AT("08") "}}") "}");
    json_object_set_new(json_object_get(second, "metadata"), "creationTimestamp",
                        json_string("2026-01-01T00:00:06Z"));
    notify(&j.w, KUBE_CHANGE_ADDED, second, NULL);
    json_decref(second);
    struct observed_replica both[2] = {*jobs_worker(&j, 0)};
    both[1] = *jobs_worker(&j, 1);
    struct attempt_verdict verdict;
    attempt_judge(&(struct gang){.members = both, .n_members = 2, .size = sizes}, 0, &verdict);
    assert_true(verdict.has_ended);
    assert_int_equal(verdict.end, ATTEMPT_END_INFRASTRUCTURE);
    assert_string_equal(verdict.error, "worker/1: measured from 6.0 s on and worker/0 until 4.0 s "
                                       "(since the first start), so they did not measure together");
    jobs_remove(&j);
    jobs_watch(&j, KUBE_CHANGE_REMOVED, "a", "0", "{}");
    jobs_watch(&j, KUBE_CHANGE_REMOVED, "b", "1", "{}");
    jobs_finish_deletion(&j);
}

/* A process that was killed has made the object; its run is cancelled, or goes on. */
TEST(what_an_earlier_process_has_made)
{
    for (int goes_on = 0; goes_on < 2; goes_on++) {
        _cleanup_(jobs_close) struct jobs_world j = {0};
        jobs_open(&j);
        assert_true(j.w.launcher->ops->is_removing(j.w.launcher)); /* nothing is known yet */
        jobs_create(&j);
        j.w.launcher->ops->free(j.w.launcher);
        (void)uv_run(&j.w.loop, UV_RUN_DEFAULT);
        make_launcher(&j.w, POD_BY_DNS);
        if (goes_on) {
            jobs_create(&j);
        } else {
            turn(&j.w);
            jobs_serve(&j);
        }
        jobs_pass(&j, 3000);
        assert_int_equal(j.n_posts, 1);
        assert_int_equal(j.n_deletes, !goes_on);
        if (goes_on) {
            jobs_watch(&j, KUBE_CHANGE_ADDED, "a", "0", RUNNING);
            assert_int_equal(jobs_worker(&j, 0)->state, REPLICA_RUNNING);
            jobs_remove(&j);
        }
        jobs_finish_deletion(&j);
    }
}

/* A run was deleted and one of its name was made at once: the garbage collector has yet to come. */
TEST(an_object_of_a_deleted_run_is_waited_for)
{
    _cleanup_(jobs_close) struct jobs_world j = {0};
    jobs_open(&j);
    j.job = json_pack("{s:{s:s, s:s, s:[{s:s, s:s, s:b}]}}", "metadata", "name", NAME, "uid", "old",
                      "ownerReferences", "kind", "BenchmarkRun", "uid", "of-the-deleted-run",
                      "controller", 1);
    jobs_create(&j);
    jobs_pass(&j, 10000);
    assert_int_equal(jobs_worker(&j, 0)->state, REPLICA_PENDING);
    assert_string_equal(wait_of(&j.w).reason, "CreationFails");
    assert_string_equal(wait_of(&j.w).text,
                        "an object of that name, of a deleted run, is not removed yet");
    json_decref(j.job);
    j.job = NULL;
    jobs_pass(&j, 30000);
    assert_non_null(j.job);
    assert_int_equal(jobs_worker(&j, 0)->failure, FAILURE_NONE);
    assert_int_equal(j.n_deletes, 0); /* of the earlier one */
    jobs_remove(&j);
    jobs_finish_deletion(&j);
}

/* The run was deleted with --cascade=orphan, say: nobody would ever remove it. */
TEST(an_object_of_no_run_fails_with_advice)
{
    _cleanup_(jobs_close) struct jobs_world j = {0};
    jobs_open(&j);
    j.job = json_pack("{s:{s:s, s:s}}", "metadata", "name", NAME, "uid", "orphan");
    jobs_create(&j);
    jobs_pass(&j, 10000);
    assert_int_equal(jobs_worker(&j, 0)->failure, FAILURE_PERMANENT);
    assert_string_equal(jobs_worker(&j, 0)->message,
                        "Job '" NAME "' exists already and is not of this run; delete it or give "
                        "the run another name");
    jobs_remove(&j);
    jobs_pass(&j, 3000);
    assert_int_equal(j.n_deletes, 0);
}

TEST(a_refused_object_fails_with_advice)
{
    static const struct {
        int r;
        const char *words;
    } rows[] = {
        {-ENOENT, "Job '" NAME "' cannot be created; install its kind in the cluster: no"},
        {-EINVAL, "Job '" NAME "' cannot be created: no"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(jobs_close) struct jobs_world j = {.faults.refuse = rows[i].r};
        jobs_open(&j);
        jobs_create(&j);
        assert_int_equal(jobs_worker(&j, 0)->failure, FAILURE_PERMANENT);
        assert_string_equal(jobs_worker(&j, 0)->message, rows[i].words);
        assert_int_equal(j.n_posts, 1);
        jobs_remove(&j);
        jobs_pass(&j, 3000);
        assert_false(j.w.launcher->ops->is_removing(j.w.launcher));
    }
}

#define FORBIDDEN                                                                                  \
    "{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"message\":\"b cannot create configmaps\"}"

/* The job object exists by then, so it is deleted: its controller would make pods again. */
TEST(a_job_whose_objects_are_refused_is_deleted)
{
    static const struct {
        int r, http_code;
        const char *words, *message;
    } rows[] = {
        {-EACCES, 403, FORBIDDEN,
         "; apply manifests/rbac.yaml and manifests/jobs/objects.yaml: " FORBIDDEN},
        {-EINVAL, 422, "no", ": no"},
        {-ENOENT, 404, "no", "; install its kind in the cluster: no"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(jobs_close) struct jobs_world j = {
            .faults = {.refuse_extra = rows[i].r, .words = rows[i].words}};
        j.w.denied_wait_ms = 12000;
        jobs_open(&j);
        fake_kube.http_code = rows[i].http_code;
        jobs_create(&j);
        jobs_pass(&j, 13000);
        _cleanup_(freep) char *words = xasprintf("Job '" NAME "' needs ConfigMap 'settings-" NAME
                                                 "', which cannot be created%s",
                                                 rows[i].message);
        assert_int_equal(jobs_worker(&j, 0)->failure, FAILURE_PERMANENT);
        assert_string_equal(jobs_worker(&j, 0)->message, words);
        jobs_remove(&j);
        jobs_finish_deletion(&j);
        assert_false(j.w.launcher->ops->is_removing(j.w.launcher));
    }
}

/* A pause between two tries of a POST is not cut short by the list between them. */
TEST(a_post_that_fails_is_not_repeated_at_once)
{
    _cleanup_(jobs_close) struct jobs_world j = {.faults.refuse = -EDQUOT};
    jobs_open(&j);
    jobs_create(&j);
    jobs_pass(&j, 29000);
    assert_in_range(j.n_posts, 4, 5); /* after 2, 4, 8 and 16 s */
    assert_string_equal(wait_of(&j.w).reason, "QuotaExceeded");
}

/* It went between the POST and the list that looked for it. */
TEST(a_name_that_was_just_freed_is_taken)
{
    _cleanup_(jobs_close) struct jobs_world j = {.faults.refuse = -EEXIST};
    jobs_open(&j);
    jobs_create(&j);
    assert_int_equal(j.n_posts, 1);
    j.faults.refuse = 0;
    jobs_pass(&j, 5000);
    assert_non_null(j.job);
    assert_int_equal(jobs_worker(&j, 0)->failure, FAILURE_NONE);
    jobs_remove(&j);
    jobs_finish_deletion(&j);
}

#define RUNS_SINCE                                                                                 \
    "{\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"main\",\"containerID\":\"c\","      \
    "\"state\":{\"running\":{\"startedAt\":\"2026-01-01T00:00:00Z\"}}}]}"

/* A quota or a limit has changed, say: its controller cannot make the rest, and says so. */
TEST(half_of_the_pods_give_way)
{
    _cleanup_(jobs_close) struct jobs_world j = {
        .faults.events = "{\"items\":[{\"type\":\"Warning\",\"reason\":"
                         "\"FailedCreate\",\"note\":\"no\",\"regarding\":{"
                         "\"name\":\"" NAME "\"}}]}"};
    jobs_open(&j);
    jobs_create(&j);
    j.w.launcher->ops->free(j.w.launcher); /* the next process finds a pod that has run for long */
    (void)uv_run(&j.w.loop, UV_RUN_DEFAULT);
    make_launcher(&j.w, POD_BY_DNS);
    jobs_watch(&j, KUBE_CHANGE_ADDED, "a", "0", RUNS_SINCE);
    jobs_create(&j);
    jobs_pass(&j, 3000);
    assert_int_equal(jobs_worker(&j, 1)->failure, FAILURE_NO_ROOM);
    assert_non_null(strstr(jobs_worker(&j, 1)->message, "Job '" NAME "' lacks some of its pods: "));
    jobs_remove(&j);
    jobs_finish_deletion(&j);
}
