/* What the API server answered, and how long it took, counted for /metrics. Plain data of a fixed
 * size: codes and kinds that are not in the lists count as "other". client.c counts; pure.
 *
 * A try counts when its answer is there: a request that is sent again counts twice. A watch or a
 * followed log counts when its headers have arrived. What was cancelled does not count. */
#pragma once

#include "base/histogram.h"
#include "kube/request.h"
#include "kube/status.h"

/* As the API server's own metrics name them. */
enum kube_verb {
    KUBE_VERB_GET,
    KUBE_VERB_LIST,
    KUBE_VERB_WATCH,
    KUBE_VERB_POST,
    KUBE_VERB_PUT,
    KUBE_VERB_PATCH,
    KUBE_VERB_DELETE,
    KUBE_N_VERBS
};
extern const char *const kube_verb_names[]; /* "LIST" */
enum kube_verb kube_verb_of(const struct kube_request *req);

#define KUBE_N_TARGETS 12
extern const char
    *const kube_targets[KUBE_N_TARGETS]; /* "pods", "pods/log", ...; the last: "other" */
size_t kube_target_of(const struct kube_request *req); /* an index of kube_targets */

#define KUBE_N_METHODS (KUBE_DELETE + 1)
#define KUBE_N_CODES 17
extern const char *const kube_codes[KUBE_N_CODES]; /* "200", ..., "other"; the last: "<error>" */

struct kube_traffic {
    uint64_t answers[KUBE_N_METHODS][KUBE_N_CODES];
    struct histogram times[KUBE_N_TARGETS][KUBE_N_VERBS];
};
void kube_traffic_count(struct kube_traffic *t, const struct kube_request *req,
                        const struct kube_response *res, int64_t took_ns);
