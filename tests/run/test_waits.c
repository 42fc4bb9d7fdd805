/* The table of the situations in which nothing happens: in each the status says so within 30 s,
 * with the words of the server, and goes on to say so. docs/troubleshooting.md has the reasons. */
#include <errno.h>

#include "tests/test.h"
#include "base/mem.h"
#include "base/str.h"
#include "decide/policy_wait.h"
#include "jobs_world.h"
#include "kube/json.h"

#define HELD "\"deletionTimestamp\":\"2026-01-01T00:00:30Z\",\"finalizers\":[\"example.com/hold\"]"
#define HOLDER "finalizer 'example.com/hold' holds it"

struct reply {
    enum kube_method method;
    const char *path; /* a part of it */
    int r;
    const char *text; /* NULL: no answer comes */
};

/* Answers as the row says, else well. */
static void serve(struct world *w, const struct reply replies[3])
{
    size_t n_open = 0;
    struct kube_call *call;
    while ((call = fake_kube_open(n_open)) != NULL) {
        const struct reply *found = NULL;
        for (size_t i = 0; i < 3 && found == NULL; i++) {
            const bool is_it = replies[i].path != NULL && replies[i].method == call->req.method &&
                               strstr(call->req.path, replies[i].path) != NULL;
            found = is_it ? &replies[i] : NULL;
        }
        if (found != NULL && found->text == NULL) {
            n_open++;
        } else {
            answer(w, call, found == NULL ? 0 : found->r, found == NULL ? "{}" : found->text);
        }
    }
}

/* ---- pods of benchd's own ---- */

#define PENDING(more) "{\"phase\":\"Pending\"" more "}"
#define WAITING(reason, message)                                                                   \
    PENDING(                                                                                       \
        ",\"containerStatuses\":[{\"name\":\"main\",\"image\":\"i:1\",\"state\":{\"waiting\":{"    \
        "\"reason\":\"" reason "\",\"message\":\"" message "\"}}}]")
#define NOT_SCHEDULED(reason, message)                                                             \
    PENDING(                                                                                       \
        ",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\",\"reason\":\"" reason    \
        "\",\"message\":\"" message "\"}]")
#define EVENT(type, reason, note, about)                                                           \
    "{\"items\":[{\"type\":\"" type "\",\"reason\":\"" reason "\",\"note\":\"" note                \
    "\",\"regarding\":{\"name\":\"" about "\"},\"eventTime\":\"2026-01-01T00:00:01Z\"}]}"

enum start {
    BEFORE_PODS,  /* the attempt is asked for */
    AFTER_LAST,   /* the same, when the last one has failed so: `status` */
    WHILE_PODS,   /* all pods are there; trainer/0 has `status`, the others run */
    WHILE_LEAVES, /* the same, and the attempt is removed */
};

static const struct row {
    const char *name, *reason, *words;
    enum start start;
    const char *node, *status; /* of trainer/0 */
    const char *other;         /* a pod of another run, as JSON */
    struct reply replies[3];
} rows[] = {
    {"a deleted pod is held", "PodsRemain", HOLDER, BEFORE_PODS,
     .other = "{\"metadata\":{\"name\":\"old\",\"uid\":\"o\"," HELD
              "},\"status\":{\"phase\":\"Running\"}}"},
    {"the name is held", "CreationFails", "pserver-0' is terminating; " HOLDER, BEFORE_PODS,
     .replies = {{KUBE_POST, "/pods?", -EEXIST, "exists"}, {KUBE_GET, "/pods/", 0, "HELD"}}},
    {"a full quota", "QuotaExceeded", "exceeded quota: q", BEFORE_PODS,
     .replies = {{KUBE_POST, "/pods?", -EDQUOT, "exceeded quota: q"}}},
    {"a broken webhook", "CreationFails", "failed calling webhook", BEFORE_PODS,
     .replies = {{KUBE_POST, "/pods?", -EIO, "failed calling webhook"}}},
    {"a Secret is refused for now", "CreationFails", "failed calling webhook", BEFORE_PODS,
     .replies = {{KUBE_POST, "/secrets?", -EIO, "failed calling webhook"}}},
    {"a Service without an answer", "CreationFails", "does not answer the creation of the run's S",
     BEFORE_PODS, .replies = {{KUBE_POST, "/services?", 0, NULL}}},
    {"the first pod without an answer", "CreationFails", "does not answer the creation of pod 't",
     BEFORE_PODS, .replies = {{KUBE_POST, "/pods?", 0, NULL}}},
    {"pods that no watch shows", "NoProgress", "created, and the watch does not show it",
     BEFORE_PODS, .replies = {{KUBE_GET, "/pods/", 0, NULL}}},
    {"no room on a node", "NoRoom", "Node didn't have enough", AFTER_LAST,
     .status = "{\"phase\":\"Failed\",\"reason\":\"OutOfcpu\",\"message\":\"Node didn't have "
               "enough\"}",
     .replies = {{KUBE_POST, "/pods?", 0, NULL}}},
    {"a preemption", "Preempted", "higher priority", AFTER_LAST,
     .status = "{\"phase\":\"Running\",\"conditions\":[{\"type\":\"DisruptionTarget\",\"status\":"
               "\"True\",\"reason\":\"PreemptionByScheduler\",\"message\":\"m\"}]}",
     .replies = {{KUBE_POST, "/pods?", 0, NULL}}},
    {"no scheduler", "NoProgress", "trainer/0: no scheduler has placed its pod", WHILE_PODS,
     .status = PENDING("")},
    {"no node", "WaitsForNodes", "0/2 nodes", WHILE_PODS,
     .status = NOT_SCHEDULED("Unschedulable", "0/2 nodes")},
    {"a scheduling gate", "Queued", "gate m", WHILE_PODS,
     .status = NOT_SCHEDULED("SchedulingGated", "gate m")},
    {"an image that cannot be pulled", "ImagePullFails", "image 'i:1': ErrImagePull: not found",
     WHILE_PODS, "n1", WAITING("ErrImagePull", "not found")},
    {"an image that is pulled slowly", "NoProgress", "trainer/0 on node 'n1': Pulling: image i:1",
     WHILE_PODS, "n1", WAITING("ContainerCreating", ""),
     .replies = {{KUBE_GET, "/events?", 0, EVENT("Normal", "Pulling", "image i:1", "x")}}},
    {"a container that cannot be created", "ContainerCreationFails", "secret s not found",
     WHILE_PODS, "n1", WAITING("CreateContainerConfigError", "secret s not found")},
    {"a volume that cannot be mounted", "PodNotSetUp", "on node 'n1': FailedMount: no such claim",
     WHILE_PODS, "n1",
     PENDING(",\"conditions\":[{\"type\":\"PodReadyToStartContainers\",\"status\":"
             "\"False\"}]"),
     .replies = {{KUBE_GET, "/events?", 0, EVENT("Warning", "FailedMount", "no such claim", "x")}}},
    {"a kubelet that is silent", "PodNotSetUp", "on node 'n1': its volumes", WHILE_PODS, "n1",
     PENDING("")},
    {"a node that is not ready", "NodeNotReady", "node 'n1' is not ready", WHILE_PODS, "n1",
     "{\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\"}]," CONTAINER(
         "{\"running\":{}}") "}"},
    {"addresses that cannot be written", "CreationFails", "cannot find each other: no", WHILE_PODS,
     "n1", RUNNING, .replies = {{KUBE_PATCH, "/endpointslices/", -EIO, "no"}}},
    {"a deletion that is refused", "DeletionFails", "a webhook says no", WHILE_LEAVES, "n1",
     RUNNING, .replies = {{KUBE_DELETE, "/pods/", -EIO, "a webhook says no"}}},
};

static void put_other(struct world *w, const char *text)
{
    json_auto_t *pod = text == NULL ? NULL : json_loads(text, 0, NULL);
    if (pod != NULL) {
        assert_true(kube_cache_put(&w->cache, pod));
    }
}

static void remove_attempt(struct world *w)
{
    remove_gang(w);
    create_gang(w, 1);
    for (struct kube_call *call; (call = fake_kube_open(0)) != NULL;) {
        answer(w, call, 0, "{}");
    }
    for (size_t i = 0; i < 3; i++) {
        notify(w, KUBE_CHANGE_REMOVED, w->pods[i], NULL);
    }
}

static void show_pods(struct world *w, const struct row *row)
{
    for (size_t i = 0; i < 3; i++) {
        const char *node = i == 1 ? row->node : "n2";
        json_object_set_new(json_object_get(w->pods[i], "spec"), "nodeName", json_string(node));
        notify(w, KUBE_CHANGE_UPDATED, w->pods[i], i == 1 ? row->status : RUNNING);
    }
}

static void begin(struct world *w, const struct row *row)
{
    if (row->start == BEFORE_PODS) {
        world_open(w, POD_BY_DNS);
        put_other(w, row->other);
        create_gang(w, 0);
        return;
    }
    world_open_pods(w);
    show_pods(w, row);
    if (row->start == AFTER_LAST) {
        remove_attempt(w);
    } else if (row->start == WHILE_LEAVES) {
        remove_gang(w);
    }
}

/* The pod that is in the way: as the one that is asked for, and it does not go. */
static char *held_pod(void)
{
    const struct kube_call *post = &fake_kube.calls[fake_kube.n - 1];
    for (size_t i = 0; i < fake_kube.n; i++) {
        post = strstr(fake_kube.calls[i].req.path, "/pods?") != NULL ? &fake_kube.calls[i] : post;
    }
    json_auto_t *pod = pod_of(post);
    json_auto_t *held = json_loads("{" HELD "}", 0, NULL);
    (void)json_object_update(json_object_get(pod, "metadata"), held);
    return json_dumps(pod, 0);
}

/* From 30 s on the status says it at every moment. */
static void check(const char *name, const struct world *w, int64_t ms, const char *reason,
                  const char *words)
{
    const struct run_wait wait = wait_of(w);
    if (ms >= 30000 && (!str_eq(wait.reason, reason) || strstr(wait.text, words) == NULL)) {
        fail_msg("%s: after %d s: %s '%s'", name, (int)(ms / 1000), wait.reason, wait.text);
    }
}

TEST(what_pods_wait_for)
{
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(world_close) struct world w;
        struct reply replies[3];
        begin(&w, &rows[i]);
        memcpy(replies, rows[i].replies, sizeof(replies));
        _cleanup_(freep) char *held = NULL;
        for (int64_t ms = 0; ms <= 60000; ms += 500) {
            check(rows[i].name, &w, ms, rows[i].reason, rows[i].words);
            if (held == NULL && replies[1].text != NULL && str_eq(replies[1].text, "HELD")) {
                serve(&w, (struct reply[3]){{KUBE_POST, "/pods?", 0, NULL}});
                replies[1].text = held = held_pod();
            }
            serve(&w, replies);
            pass_ms(&w, 500);
        }
    }
}

/* ---- job objects ---- */

static void suspend(struct jobs_world *j)
{
    json_object_set_new(json_object_get(j->job, "spec"), "suspend", json_true());
}

static void remove_while_held(struct jobs_world *j)
{
    json_object_set_new(json_object_get(j->job, "metadata"), "finalizers",
                        json_pack("[s]", "example.com/hold"));
    jobs_pass(j, 3000); /* a list shows it */
    jobs_remove(j);
}

static void refuse_lists(struct jobs_world *j)
{
    jobs_remove(j);
    j->faults.refuse_list = -EIO;
}

#define SUCCEEDED                                                                                  \
    "{\"phase\":\"Succeeded\",\"containerStatuses\":[{\"name\":\"main\",\"state\":{"               \
    "\"terminated\":"                                                                              \
    "{\"exitCode\":0}}}]}"

static void end_pods(struct jobs_world *j)
{
    jobs_watch(j, KUBE_CHANGE_ADDED, "a", "0", SUCCEEDED);
    jobs_watch(j, KUBE_CHANGE_ADDED, "b", "1", SUCCEEDED);
}

static void make_one_pod(struct jobs_world *j)
{
    jobs_watch(j, KUBE_CHANGE_ADDED, "a", "0", RUNNING);
}

static const struct job_row {
    const char *name, *reason, *words;
    struct jobs_faults faults;
    void (*begin)(struct jobs_world *j); /* once it is created */
} job_rows[] = {
    {"a suspended object", "Queued", "is suspended: its queue has not admitted it",
     .begin = suspend},
    {"refused pods", "Queued", "all of its pods: FailedCreate: forbidden",
     .faults.events = EVENT("Warning", "FailedCreate", "forbidden", NAME)},
    {"refused pods of one of several templates", "Queued", "FailedCreate: violates PodSecurity",
     .faults.events = EVENT("Warning", "FailedCreate", "violates PodSecurity", NAME "-second-0"),
     .begin = make_one_pod},
    {"a controller that is not there", "Queued", "its controller has not made all of its pods",
     .faults.events = EVENT("Warning", "FailedCreate", "of another", NAME "1-x")},
    {"a full quota", "QuotaExceeded", "exceeded quota",
     .faults = {.refuse = -EDQUOT, .words = "exceeded quota"}},
    {"no answer", "NoProgress", "worker/0: its pod is not created yet", .faults.mute = "/jobs?f"},
    {"an object that it needs", "CreationFails", "failed calling webhook",
     .faults = {.refuse_extra = -EIO, .words = "failed calling webhook"}},
    {"lists that fail", "CreationFails", "list fails",
     .faults = {.refuse_list = -EIO, .words = "list fails"}},
    {"a deletion that is refused", "DeletionFails", "a webhook says no",
     .faults = {.refuse_delete = -EIO, .words = "a webhook says no"}, .begin = jobs_remove},
    {"a deletion without an answer", "PodsRemain", "is being deleted, and something of it may run",
     .faults.mute = "/jobs/", .begin = jobs_remove},
    {"a deletion that no list confirms", "DeletionFails", "list fails",
     .faults.words = "list fails", .begin = refuse_lists},
    {"a deleted object is held", "PodsRemain", HOLDER, .begin = remove_while_held},
    {"an object that does not say how it ended", "NoProgress", "job object is awaited",
     .begin = end_pods},
    {"refused pods of a template without a role", "NoProgress", "FailedCreate: no such account",
     .faults.events = EVENT("Warning", "FailedCreate", "no such account", NAME "-second-0"),
     .begin = end_pods},
};

TEST(what_job_objects_wait_for)
{
    for (size_t i = 0; i < N_ROWS(job_rows); i++) {
        _cleanup_(jobs_close) struct jobs_world j = {.faults = job_rows[i].faults};
        jobs_open(&j);
        jobs_create(&j);
        if (job_rows[i].begin != NULL) {
            job_rows[i].begin(&j);
        }
        for (int64_t ms = 0; ms <= 45000; ms += 500) {
            check(job_rows[i].name, &j.w, ms, job_rows[i].reason, job_rows[i].words);
            jobs_pass(&j, 500);
        }
    }
}

/* RunParked is the daemon's: tests/daemon/test_run_park.c. */
TEST(every_reason_has_a_row)
{
    for (size_t i = 0; wait_kinds[i].reason != NULL; i++) {
        bool has_row = str_eq(wait_kinds[i].reason, "RunParked");
        for (size_t k = 0; k < N_ROWS(rows); k++) {
            has_row = has_row || str_eq(rows[k].reason, wait_kinds[i].reason);
        }
        if (!has_row) {
            fail_msg("%s has no row", wait_kinds[i].reason);
        }
    }
}
