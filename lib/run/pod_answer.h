/* Does an answer of the API server speak about the object that was sent, or about the moment? Pure:
 * the time is passed in. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kube/status.h"

/* A right may be missing because all of benchd's rights were taken: then its Lease expires first
 * and the run stays as it is. A right that is still missing after `wait_ms` fails the attempt. */
struct pod_denial {
    int64_t wait_ms;
    int64_t since_ns; /* the first of the denials without a success between them; 0: none */
};

/* True: the same request may succeed later. Notes a denial. */
bool pod_answer_is_transient(struct pod_denial *denial, int r, const struct kube_response *res,
                             int64_t now_ns);
/* A request that changes pods has succeeded. */
void pod_denial_clear(struct pod_denial *denial);
