/* What events say of a pod or a job object with which nothing happens. A kubelet that cannot set up
 * a pod, and a controller of which the pods are refused, try for ever and say why in events
 * alone. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "decide/policy_wait.h"

struct pods;
struct pod_gang;
struct kube_call;

/* Usual up to here; with POD_WAIT_TOLD_NS people read of it after 25 s. */
#define POD_STILL_USUAL_NS (20 * INT64_C(1000000000))

/* Where no event says more. */
#define POD_SETUP_WORDS "its volumes, its sandbox or its network are not ready"

struct pod_events {
    struct kube_call *call; /* for those of `of`; NULL: none */
    char *of;               /* the uid of a pod, or the name of a job object; owned; NULL: none */
    char *words;            /* of the last event of it; owned; NULL: not known */
    int64_t due_ns;         /* not asked again before */
};

/* Asks for the last event of the first such object or pod. */
void pod_events_tick(struct pods *l, int64_t now_ns);
/* What was answered about that pod or object; NULL: nothing. Borrowed. */
static inline const char *pod_events_words(const struct pod_events *e, const char *of)
{
    return of != NULL && str_eq_or_null(e->of, of) ? e->words : NULL;
}
/* Says which pod of the gang is not set up, and why. */
void pod_events_say_setup(const struct pod_gang *g, struct run_wait *ret);
/* The gang has been quiet for a while: says what its first unfinished member waits for. */
void pod_events_say_still(const struct pod_gang *g, struct run_wait *ret);
void pod_events_done(struct pod_events *e);
