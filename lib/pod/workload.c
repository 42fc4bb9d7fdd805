/* See workload.h. */
#include "pod/workload.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "core/json_field.h"
#include "pod/body.h"
#include "pod/facts.h"

/* Without the variables, of which no queue reads any: they have the addresses of all replicas. */
static json_t *template_of(json_t *pod)
{
    json_t *spec = json_deep_copy(json_object_get(pod, "spec"));
    static const char *const lists[] = {"initContainers", "containers"};
    size_t i;
    json_t *container;
    for (size_t k = 0; k < COUNT_OF(lists); k++) {
        json_array_foreach (json_object_get(spec, lists[k]), i, container) {
            (void)json_object_del(container, "env"); /* it may have none */
        }
    }
    return json_pack("{s:{s:O}, s:o}", "metadata", "labels",
                     json_object_get(json_object_get(pod, "metadata"), "labels"), "spec", spec);
}

json_t *workload_body(const struct run_def *def, const struct attempt_id *id,
                      json_t *const pods[ROLE_COUNT], const uint32_t replicas[ROLE_COUNT],
                      int64_t priority)
{
    const struct run_options *s = &def->options;
    _cleanup_(freep) char *name = pod_attempt_name(def, id);
    json_t *sets = json_array();
    for (enum role role = 0; role < ROLE_COUNT; role++) {
        if (replicas[role] > 0) {
            (void)json_array_append_new(
                sets, json_pack("{s:s, s:I, s:o}", "name", role_to_string(role), "count",
                                (json_int_t)replicas[role], "template", template_of(pods[role])));
        }
    }
    json_t *spec = json_pack("{s:s, s:o}", "queueName", s->queue, "podSets", sets);
    if (s->priority_class != NULL) { /* Kueue looks up the value for its own jobs only */
        json_object_set_new(spec, "priority", json_integer(priority));
        json_object_set_new(spec, "priorityClassRef",
                            json_pack("{s:s, s:s, s:s}", "group", "kueue.x-k8s.io", "kind",
                                      "WorkloadPriorityClass", "name", s->priority_class));
    }
    json_t *object = pod_new_object(def, "kueue.x-k8s.io/v1beta2", "Workload", name);
    pod_set_attempt_labels(def, id, json_object_get(json_object_get(object, "metadata"), "labels"));
    json_object_set_new(object, "spec", spec);
    return object;
}

/* ---- what the queue says ---- */

static const json_t *condition(const json_t *workload, const char *type)
{
    return fact_find(json_object_get(json_object_get(workload, "status"), "conditions"), "type",
                     type);
}

static bool is_true(const json_t *condition)
{
    return str_eq(fact_text(condition, "status"), "True");
}

/* Kueue has no reason of its own for this. Another flavor may be free later. */
static bool is_too_large(const char *message)
{
    return strstr(message, "> maximum capacity") != NULL &&
           strstr(message, "insufficient unused quota") == NULL;
}

/* The condition that explains the state. An evicted Workload is still called admitted. */
static const json_t *read_state(const json_t *workload, enum workload_state *ret)
{
    const json_t *evicted = condition(workload, "Evicted");
    const json_t *admitted = condition(workload, "Admitted");
    const json_t *reserved = condition(workload, "QuotaReserved");
    if (is_true(evicted)) {
        *ret = WORKLOAD_EVICTED;
        return evicted;
    }
    if (is_true(admitted)) {
        *ret = WORKLOAD_ADMITTED;
        return admitted;
    }
    *ret = is_true(reserved) || !is_too_large(fact_text(reserved, "message")) ? WORKLOAD_QUEUED
                                                                              : WORKLOAD_NEVER;
    return reserved;
}

static void read_workload(struct workload_facts *f, const json_t *workload, const char *admission,
                          const char *words, struct fact_texts *t)
{
    const json_t *metadata = json_object_get(workload, "metadata");
    const json_t *owners = json_object_get(metadata, "ownerReferences");
    f->owner_uid = fact_put_text(t, json_array_get(owners, 0), "uid");
    f->has_attempt = pod_read_attempt(json_object_get(metadata, "labels"), &f->attempt);
    f->created_unix_ms = fact_date(metadata, "creationTimestamp");
    f->admitted_unix_ms = fact_date(condition(workload, "Admitted"), "lastTransitionTime");
    f->words = fact_put(t, words);
    f->admission = fact_put(t, admission);
}

void *workload_facts_decode(json_t *workload)
{
    struct workload_facts f = {0};
    const json_t *why = read_state(workload, &f.state);
    const json_t *admission = json_object_get(json_object_get(workload, "status"), "admission");
    _cleanup_(freep) char *json = json_dumps(admission, JSON_COMPACT); /* NULL: none */
    _cleanup_(freep) char *words =
        why == NULL ? xstrdup("")
                    : xasprintf("%s: %s", fact_text(why, "reason"), fact_text(why, "message"));
    struct fact_texts texts = {0};
    read_workload(&f, workload, json == NULL ? "" : json, words, &texts); /* to count them */
    struct workload_facts *block = xmalloc(sizeof(f) + texts.len);
    texts.at = (char *)(block + 1);
    read_workload(&f, workload, json == NULL ? "" : json, words, &texts);
    return memcpy(block, &f, sizeof(f));
}

void workload_say(const struct workload_facts *w, const char *queue, char *text, size_t size)
{
    const bool has_words = w != NULL && *w->words != '\0';
    text_put(text, size, "queue '%s' has not admitted it%s%s", queue, has_words ? ": " : " yet",
             has_words ? w->words : "");
}

/* ---- the place that it gives ---- */

static const json_t *flavors_of(const json_t *admission, size_t i)
{
    return json_object_get(json_array_get(json_object_get(admission, "podSetAssignments"), i),
                           "flavors");
}

const char *workload_flavor(const json_t *admission, size_t n)
{
    const size_t n_sets = json_array_size(json_object_get(admission, "podSetAssignments"));
    for (size_t i = 0; i < n_sets; i++) {
        const char *resource;
        json_t *flavor;
        json_object_foreach ((json_t *)flavors_of(admission, i), resource, flavor) {
            if (n-- == 0) {
                return json_string_value(flavor);
            }
        }
    }
    return NULL;
}

/* What json_object_update() and json_array_extend() do where the pod has no such field yet. */
static void merge(json_t *spec, const char *key, const json_t *more)
{
    json_t *own = json_object_get(spec, key);
    if (own == NULL) {
        (void)json_object_set_new(spec, key, json_deep_copy(more)); /* NULL: nothing to set */
    } else if (json_is_object(own)) {
        (void)json_object_update(own, (json_t *)more);
    } else {
        (void)json_array_extend(own, (json_t *)more);
    }
}

void workload_dress(const json_t *admission, const json_t *flavors, enum role role, json_t *pod)
{
    const json_t *set =
        fact_find(json_object_get(admission, "podSetAssignments"), "name", role_to_string(role));
    json_t *spec = json_object_get(pod, "spec");
    json_auto_t *seen = json_object();
    const char *resource;
    json_t *name;
    json_object_foreach (json_object_get(set, "flavors"), resource, name) {
        const json_t *flavor = json_object_get(flavors, json_string_value(name));
        if (json_object_get(seen, json_string_value(name)) == NULL) {
            (void)json_object_set_new(seen, json_string_value(name), json_true());
            merge(spec, "nodeSelector", json_object_get(flavor, "nodeLabels"));
            merge(spec, "tolerations", json_object_get(flavor, "tolerations"));
        }
    }
}
