/* See pod_leftovers.h. */
#include "run/pods/pod_leftovers.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "base/text.h"
#include "kube/json.h"
#include "base/rfc3339.h"
#include "pod/body.h"
#include "pod/state.h"

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

static bool is_abandoned(const json_t *pod)
{
    return *kube_json_metadata(pod, "deletionTimestamp") == '\0' && is_of_a_run(pod) &&
           !pod_has_stopped(pod);
}

/* When its deletion was asked for: the server adds the grace period. "" if it was not asked for.
 * Whoever deletes a pod may say any number; of one that is longer than any date the server's own
 * date is taken as it is. */
static void deletion_asked_at(const json_t *pod, char ret[static CLOCK_RFC3339_SIZE])
{
    const char *due = kube_json_metadata(pod, "deletionTimestamp");
    const json_int_t grace_s = json_integer_value(
        json_object_get(json_object_get(pod, "metadata"), "deletionGracePeriodSeconds"));
    int64_t due_ns;
    ret[0] = '\0';
    if (rfc3339_parse(due, strlen(due), &due_ns) == 0) {
        const int64_t due_s = due_ns / 1000000000;
        const bool is_date = grace_s >= 0 && grace_s <= due_s;
        clock_format_rfc3339((due_s - (is_date ? grace_s : 0)) * 1000, ret);
    }
}

/* ---- marks ---- */

enum {
    MARK_THERE = 1, /* set in each, so that a cache without marks is found out */
    MARK_OVER = 2,
    MARK_ABANDONED = 4,
    MARK_OF_ATTEMPT = 8, /* and the bits from here on say of which */
};

/* The bits of MARK_OF_ATTEMPT; two attempts may have the same. */
static uint64_t mark_of(const char *run_uid, const struct attempt_id *id)
{
    uint64_t hash = 14695981039346656037U; /* FNV-1a */
    for (; *run_uid != '\0'; run_uid++) {
        hash = (hash ^ (unsigned char)*run_uid) * 1099511628211U;
    }
    const uint32_t numbers[] = {id->point, id->trial, id->number};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        hash = (hash ^ numbers[i]) * 1099511628211U;
    }
    return hash * 2 * MARK_OF_ATTEMPT | MARK_OF_ATTEMPT;
}

uint64_t pod_leftover_mark(const json_t *pod)
{
    const char *uid = pod_owner_uid(pod);
    struct replica_id id;
    return MARK_THERE | (pod_is_over(pod) ? MARK_OVER : 0U) |
           (is_abandoned(pod) ? MARK_ABANDONED : 0U) |
           (uid != NULL && pod_read_id(pod, &id) ? mark_of(uid, &id.attempt) : 0U);
}

bool pod_is_leftover(const struct kube_cache *cache, const struct kube_entry *e,
                     const struct run_def *def, const struct attempt_id *due)
{
    const uint64_t attempt_bits = ~(uint64_t)(MARK_OF_ATTEMPT - 1);
    assert((e->mark & MARK_THERE) != 0);
    if ((e->mark & MARK_OVER) != 0) {
        return false;
    }
    if ((e->mark & attempt_bits) != mark_of(def->uid, due)) {
        return true;
    }
    json_t *pod = kube_cache_json(cache, e); /* of this attempt, or of one with the same bits */
    struct replica_id id;
    const bool is_due = pod_identify(def, pod, &id) && attempt_id_eq(&id.attempt, due);
    json_decref(pod);
    return !is_due;
}

bool pod_leftover_is_abandoned(const struct kube_entry *e)
{
    return (e->mark & MARK_ABANDONED) != 0;
}

/* ---- words ---- */

void pod_leftover_say(const json_t *pod, size_t n_more, char *text, size_t size)
{
    const json_t *node = json_object_get(json_object_get(pod, "spec"), "nodeName");
    const char *node_name = json_string_value(node);
    char since[CLOCK_RFC3339_SIZE], more[40] = "";
    deletion_asked_at(pod, since);
    if (n_more > 0) {
        text_put(more, sizeof(more), ", and %zu more", n_more);
    }
    text_put(text, size, "pod '%s' on %s%s%s, %s%s%s", kube_json_metadata(pod, "name"),
             node_name == NULL ? "no node" : "node '", node_name == NULL ? "" : node_name,
             node_name == NULL ? "" : "'",
             since[0] != '\0' ? "terminating since " : "which nobody has deleted, created ",
             since[0] != '\0' ? since : kube_json_metadata(pod, "creationTimestamp"), more);
}
