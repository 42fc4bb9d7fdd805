/* See pod_leftovers.h. */
#include "run/pods/pod_leftovers.h"

#include "base/clock.h"
#include "base/text.h"
#include "pod/body.h"

bool pod_is_leftover(const struct pod_facts *pod, const struct run_def *def,
                     const struct attempt_id *due)
{
    struct replica_id id;
    return !pod_is_over(pod) && !(pod_identify(def, pod, &id) && attempt_id_eq(&id.attempt, due));
}

bool pod_leftover_is_abandoned(const struct pod_facts *pod)
{
    return !pod->is_going && pod->is_of_a_run && !pod_has_stopped(pod);
}

void pod_leftover_say(const char *name, const struct pod_facts *pod, size_t n_more, char *text,
                      size_t size)
{
    const bool has_node = *pod->node != '\0', was_deleted = pod->asked_to_go_unix_ms != 0;
    const int64_t since_unix_ms = was_deleted ? pod->asked_to_go_unix_ms : pod->created_unix_ms;
    char since[CLOCK_RFC3339_SIZE] = "", more[40] = "";
    if (since_unix_ms != 0) {
        clock_format_rfc3339(since_unix_ms, since);
    }
    if (n_more > 0) {
        text_put(more, sizeof(more), ", and %zu more", n_more);
    }
    text_put(text, size, "pod '%s' on %s%s%s, %s%s%s", name, has_node ? "node '" : "no node",
             pod->node, has_node ? "'" : "",
             was_deleted ? "terminating since " : "which nobody has deleted, created ", since,
             more);
}
