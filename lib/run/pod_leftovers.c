/* See pod_leftovers.h. */
#include "run/pod_leftovers.h"

#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "base/text.h"
#include "kube/json.h"
#include "kube/rfc3339.h"
#include "pod/body.h"
#include "pod/state.h"

bool pod_is_leftover(const struct run_def *def, const struct attempt_id *due, const json_t *pod)
{
    struct replica_id id;
    return !pod_is_over(pod) && !(pod_identify(def, pod, &id) && attempt_id_eq(&id.attempt, due));
}

static bool is_of_a_run(const json_t *pod)
{
    const json_t *list = json_object_get(json_object_get(pod, "metadata"), "ownerReferences");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *owner = json_array_get(list, i);
        const char *kind = json_string_value(json_object_get(owner, "kind"));
        if (json_is_true(json_object_get(owner, "controller")) && kind != NULL &&
            str_eq(kind, "BenchmarkRun")) {
            return true;
        }
    }
    return false;
}

bool pod_leftover_is_abandoned(const json_t *pod)
{
    return *kube_json_metadata(pod, "deletionTimestamp") == '\0' && is_of_a_run(pod) &&
           !pod_has_stopped(pod);
}

/* When its deletion was asked for: the server adds the grace period. "" if nobody asked. */
static void deletion_asked_at(const json_t *pod, char ret[static CLOCK_RFC3339_SIZE])
{
    const char *due = kube_json_metadata(pod, "deletionTimestamp");
    const json_t *grace_s =
        json_object_get(json_object_get(pod, "metadata"), "deletionGracePeriodSeconds");
    int64_t due_ns;
    ret[0] = '\0';
    if (kube_time_parse(due, strlen(due), &due_ns) == 0) {
        clock_format_rfc3339(due_ns / 1000000 - json_integer_value(grace_s) * 1000, ret);
    }
}

void pod_leftover_say(const struct kube_object *object, size_t n_more, char *text, size_t size)
{
    const json_t *node = json_object_get(json_object_get(object->json, "spec"), "nodeName");
    const char *node_name = json_string_value(node);
    char since[CLOCK_RFC3339_SIZE], more[40] = "";
    deletion_asked_at(object->json, since);
    if (n_more > 0) {
        text_put(more, sizeof(more), ", and %zu more", n_more);
    }
    text_put(text, size, "pod '%s' on %s%s%s, %s%s%s", object->name,
             node_name == NULL ? "no node" : "node '", node_name == NULL ? "" : node_name,
             node_name == NULL ? "" : "'",
             since[0] != '\0' ? "terminating since " : "which nobody has deleted, created ",
             since[0] != '\0' ? since : kube_json_metadata(object->json, "creationTimestamp"),
             more);
}
