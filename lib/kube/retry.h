/* When a request is sent again, and after how long: one table by code. Pure: random numbers come
 * from a seed, and the caller does the waiting.
 *
 *   no connection, timeout, broken        back off
 *   429, 5xx with Retry-After             that long, plus jitter
 *   408, 500, 502, 503, 504               back off
 *   401, 403 for system:anonymous         once: read the credentials again, at once
 *   TLS failure                           once: read certificates again, at once
 *   403, 404, 409, 410, 422, other 4xx    never */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kube/status.h"

/* Exponential with full jitter in the upper half: min, 2 min, 4 min ... max. */
struct kube_backoff {
    int64_t min_ns, max_ns;
    unsigned failures; /* in a row */
    uint64_t state;    /* of the random numbers */
};
void kube_backoff_init(struct kube_backoff *b, int64_t min_ns, int64_t max_ns, uint64_t seed);
int64_t kube_backoff_next(struct kube_backoff *b); /* counts a failure */
void kube_backoff_reset(struct kube_backoff *b);
/* value * (1 .. 1 + spread). */
int64_t kube_jitter(uint64_t *state, int64_t value, double spread);

enum kube_verdict {
    KUBE_RETRY_NO,      /* the answer is final, good or bad */
    KUBE_RETRY_WAIT,    /* retry after *ret_wait_ns */
    KUBE_RETRY_REFRESH, /* retry at once with credentials read again */
};

struct kube_retry {
    struct kube_backoff backoff;
    unsigned max_tries; /* 1: only REFRESH is possible */
    unsigned tries;     /* answers seen */
    bool is_refreshed;
};
#define KUBE_RETRY_TRIES 10
void kube_retry_init(struct kube_retry *r, unsigned max_tries, uint64_t seed);
enum kube_verdict kube_retry_decide(struct kube_retry *r, const struct kube_response *res,
                                    int64_t *ret_wait_ns);
/* The server wants other credentials: 401, or 403 for system:anonymous. */
bool kube_is_unauthenticated(const struct kube_response *res);
