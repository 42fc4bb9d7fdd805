/* See facts.h. */
#include "pod/facts.h"

#include <string.h>

#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "base/vec.h"
#include "core/json_field.h"

/* ---- which container counts ---- */

/* benchd gives both to its container alone. A watch leaves variables out. */
static bool has_contract(const json_t *container)
{
    const json_t *mounts = json_object_get(container, "volumeMounts");
    return fact_find(mounts, "name", POD_SECRET_VOLUME) != NULL ||
           fact_find(json_object_get(container, "env"), "name", "BENCHD_ROLE") != NULL;
}

const json_t *pod_main_container(const json_t *pod)
{
    const json_t *list = json_object_get(json_object_get(pod, "spec"), "containers");
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (has_contract(json_array_get(list, i))) {
            return json_array_get(list, i);
        }
    }
    return json_array_get(list, 0);
}

/* ---- metadata ---- */

const char *object_held_by(const json_t *metadata)
{
    const json_t *first = json_array_get(json_object_get(metadata, "finalizers"), 0);
    return json_is_string(first) ? json_string_value(first) : "";
}

bool pod_is_of_a_run(const json_t *owners)
{
    for (size_t i = 0; i < json_array_size(owners); i++) {
        const json_t *owner = json_array_get(owners, i);
        if (json_is_true(json_object_get(owner, "controller")) &&
            str_eq(fact_text(owner, "kind"), "BenchmarkRun")) {
            return true;
        }
    }
    return false;
}

static bool label_number(const json_t *labels, const char *key, uint32_t *ret)
{
    const char *text = json_string_value(json_object_get(labels, key));
    int64_t number;
    if (text == NULL || parse_i64_in(text, 0, UINT32_MAX, &number) < 0) {
        return false;
    }
    *ret = (uint32_t)number;
    return true;
}

bool pod_read_attempt(const json_t *labels, struct attempt_id *ret)
{
    return label_number(labels, "benchd.io/point", &ret->point) &&
           label_number(labels, "benchd.io/trial", &ret->trial) &&
           label_number(labels, "benchd.io/attempt", &ret->number);
}

/* Of a job object's pod, by the label that POD_LABEL_INDEX_FROM names. */
static uint32_t read_job_index(const json_t *labels)
{
    _cleanup_(freep) char *name = xstrdup(fact_text(labels, POD_LABEL_INDEX_FROM));
    char *slash = strchr(name, '_');
    uint32_t index = POD_INDEX_ANY;
    if (slash != NULL) {
        *slash = '/';
    }
    return label_number(labels, name, &index) ? index : POD_INDEX_ANY;
}

static bool read_id(const json_t *labels, bool is_of_a_job, struct replica_id *ret)
{
    const int role = role_from_string(fact_text(labels, "benchd.io/role"));
    ret->role = role < 0 ? ret->role : (enum role)role;
    ret->index = is_of_a_job ? read_job_index(labels) : 0;
    return role >= 0 && pod_read_attempt(labels, &ret->attempt) &&
           (is_of_a_job || label_number(labels, "benchd.io/replica-index", &ret->index));
}

/* The server adds the grace period. Whoever deletes a pod may say any number. */
static int64_t asked_to_go(const json_t *metadata)
{
    const int64_t due_s = fact_date(metadata, "deletionTimestamp") / 1000;
    const json_int_t grace_s =
        json_integer_value(json_object_get(metadata, "deletionGracePeriodSeconds"));
    return (due_s - (grace_s >= 0 && grace_s < due_s ? grace_s : 0)) * 1000;
}

static void read_metadata(struct pod_facts *f, const json_t *metadata, struct fact_texts *t)
{
    const json_t *owners = json_object_get(metadata, "ownerReferences");
    const json_t *labels = json_object_get(metadata, "labels");
    f->is_of_a_run = pod_is_of_a_run(owners);
    f->is_of_a_job = !f->is_of_a_run && *fact_text(labels, POD_LABEL_RUN_UID) != '\0';
    f->owner_uid = f->is_of_a_job ? fact_put_text(t, labels, POD_LABEL_RUN_UID)
                                  : fact_put_text(t, json_array_get(owners, 0), "uid");
    f->is_going = *fact_text(metadata, "deletionTimestamp") != '\0';
    f->held_by = fact_put(t, object_held_by(metadata));
    f->has_id = read_id(labels, f->is_of_a_job, &f->id);
    f->queue = fact_put_text(t, labels, "kueue.x-k8s.io/queue-name");
    f->created_unix_ms = fact_date(metadata, "creationTimestamp");
    f->asked_to_go_unix_ms = asked_to_go(metadata);
}

/* ---- status ---- */

/* Of several with that type the first counts. */
static const json_t *condition(const json_t *status, const char *type, const char *value)
{
    const json_t *item = fact_find(json_object_get(status, "conditions"), "type", type);
    return str_eq(fact_text(item, "status"), value) ? item : NULL;
}

static void put_condition(struct fact_texts *t, const json_t *condition, const char **ret_reason,
                          const char **ret_message)
{
    if (condition != NULL) {
        *ret_reason = fact_put_text(t, condition, "reason");
        *ret_message = fact_put_text(t, condition, "message");
    }
}

static void read_conditions(struct pod_facts *f, const json_t *status, struct fact_texts *t)
{
    const json_t *not_ready = condition(status, "Ready", "False");
    put_condition(t, condition(status, "DisruptionTarget", "True"), &f->disruption_reason,
                  &f->disruption_message);
    put_condition(t, condition(status, "TerminationTarget", "True"), &f->eviction_reason,
                  &f->eviction_message);
    put_condition(t, condition(status, "PodScheduled", "False"), &f->unscheduled_reason,
                  &f->unscheduled_message);
    f->is_not_set_up = condition(status, "PodReadyToStartContainers", "False") != NULL;
    f->is_unheard_of = not_ready != NULL && *fact_text(not_ready, "reason") == '\0';
}

/* Its state, by the member that is there. */
static const json_t *state_of(const json_t *container, enum pod_step *ret_step)
{
    static const char *const names[] = {[POD_STEP_WAITING] = "waiting",
                                        [POD_STEP_RUNNING] = "running",
                                        [POD_STEP_TERMINATED] = "terminated"};
    const json_t *states = json_object_get(container, "state");
    for (*ret_step = POD_STEP_TERMINATED; *ret_step > POD_STEP_NONE; --*ret_step) {
        const json_t *state = json_object_get(states, names[*ret_step]);
        if (state != NULL) {
            return state;
        }
    }
    return NULL;
}

static void read_main(struct pod_facts *f, const struct pod_container *c, const json_t *item,
                      const json_t *state, struct fact_texts *t)
{
    const json_int_t n_restarts = json_integer_value(json_object_get(item, "restartCount"));
    f->main = c;
    f->image_id = fact_put_text(t, item, "imageID");
    f->started_unix_ms = fact_date(state, "startedAt");
    f->finished_unix_ms = fact_date(state, "finishedAt");
    f->n_restarts = n_restarts > 0 && n_restarts <= UINT32_MAX ? (uint32_t)n_restarts : 0;
    f->has_container_id = *fact_text(item, "containerID") != '\0';
}

static void read_container(struct pod_facts *f, uint32_t at, const json_t *item,
                           struct fact_texts *t)
{
    struct pod_container *c = &f->containers[at];
    const bool is_init = at < f->n_init;
    const json_t *state = state_of(item, &c->step);
    c->name = is_init ? fact_put_text(t, item, "name") : "";
    c->image = c->step == POD_STEP_WAITING ? fact_put_text(t, item, "image") : "";
    c->reason = fact_put_text(t, state, "reason");
    c->message = fact_put_text(t, state, "message");
    c->exit_code = (int32_t)json_integer_value(json_object_get(state, "exitCode"));
    c->signal = (int32_t)json_integer_value(json_object_get(state, "signal"));
    if (!is_init && f->main == NULL && str_eq(fact_text(item, "name"), f->container)) {
        read_main(f, c, item, state, t);
    }
}

static void read_status(struct pod_facts *f, const json_t *status, struct fact_texts *t)
{
    const char *phase = fact_text(status, "phase");
    f->phase = str_eq(phase, "Succeeded") ? POD_SUCCEEDED
               : str_eq(phase, "Failed")  ? POD_FAILED
                                          : POD_GOES_ON;
    f->reason = fact_put_text(t, status, "reason");
    f->message = fact_put_text(t, status, "message");
    f->ip = fact_put_text(t, status, "podIP");
    read_conditions(f, status, t);
    const json_t *init = json_object_get(status, "initContainerStatuses");
    const json_t *others = json_object_get(status, "containerStatuses");
    f->n_init = (uint32_t)json_array_size(init);
    f->n_containers = f->n_init + (uint32_t)json_array_size(others);
    f->image_id = "";
    for (uint32_t i = 0; i < f->n_containers; i++) {
        read_container(
            f, i, json_array_get(i < f->n_init ? init : others, i < f->n_init ? i : i - f->n_init),
            t);
    }
}

/* ---- the whole ---- */

static void read_pod(struct pod_facts *f, const json_t *pod, struct fact_texts *t)
{
    const json_t *container = pod_main_container(pod);
    const json_t *limits = json_object_get(json_object_get(container, "resources"), "limits");
    read_metadata(f, json_object_get(pod, "metadata"), t);
    f->node = fact_put_text(t, json_object_get(pod, "spec"), "nodeName");
    f->container = fact_put_text(t, container, "name");
    f->memory_limit = fact_put_text(t, limits, "memory");
    read_status(f, json_object_get(pod, "status"), t);
}

void *pod_facts_decode(json_t *pod)
{
    const json_t *status = json_object_get(pod, "status");
    const size_t n = json_array_size(json_object_get(status, "initContainerStatuses")) +
                     json_array_size(json_object_get(status, "containerStatuses"));
    const size_t size = sizeof(struct pod_facts) + n * sizeof(struct pod_container);
    struct fact_texts texts = {0};
    struct pod_facts *f = xcalloc(1, size);
    read_pod(f, pod, &texts); /* to count them */
    f = xrealloc(f, size + texts.len);
    texts.at = (char *)f + size;
    memset(f, 0, size);
    read_pod(f, pod, &texts);
    return f;
}

/* ---- what follows from them ---- */

bool pod_is_over(const struct pod_facts *pod)
{
    return pod->phase != POD_GOES_ON;
}

bool pod_has_stopped(const struct pod_facts *pod)
{
    return pod->n_containers > pod->n_init &&
           array_all(pod->containers, pod->n_containers, it, it->step == POD_STEP_TERMINATED);
}
