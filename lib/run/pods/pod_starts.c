/* See pod_starts.h. */
#include "run/pods/pod_starts.h"

#include "base/clock.h"
#include "core/record.h"
#include "run/pods/pods_internal.h"

static void set_span(struct metrics *m, const char *name, int64_t from_ms, int64_t to_ms)
{
    if (from_ms != 0 && to_ms != 0) {
        metrics_set(m, name, to_ms > from_ms ? (double)(to_ms - from_ms) / 1000 : 0);
    }
}

char *pod_starts_add(const struct pods *l, const struct pod_member *m, const char *summary)
{
    const struct workload_facts *w = pod_queue_facts(l, &m->id.attempt);
    _cleanup_(metrics_done) struct metrics metrics = {0};
    int64_t first_ms = 0, last_ms = 0;
    if (w == NULL || summary == NULL) {
        return NULL;
    }
    vec_each (struct pod_member *, it, &l->members) {
        const int64_t ms = pod_member_started_unix_ms(*it);
        if (ms != 0 && attempt_id_eq(&(*it)->id.attempt, &m->id.attempt)) {
            first_ms = first_ms == 0 || ms < first_ms ? ms : first_ms;
            last_ms = ms > last_ms ? ms : last_ms;
        }
    }
    set_span(&metrics, "queue_s", w->created_unix_ms, w->admitted_unix_ms);
    set_span(&metrics, "admission_s", w->admitted_unix_ms, last_ms);
    set_span(&metrics, "start_spread_s", first_ms, last_ms);
    return record_add_seen(summary, NULL, &metrics);
}

int64_t pod_starts_longest_ms(const struct pod_gang *g)
{
    const int64_t now_ms = clock_steady_unix_ms();
    int64_t first_ms = now_ms;
    vec_each (struct pod_member *, it, &g->owner->members) {
        const int64_t ms = pod_member_started_unix_ms(*it);
        if (pod_gang_has(g, *it) && ms != 0 && ms < first_ms) {
            first_ms = ms;
        }
    }
    return now_ms - first_ms;
}
