/* Does an answer of the API server speak about the object that was sent, or about the moment? Pure:
 * the time is passed in. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kube/status.h"

#define POD_RETRY_NS (2 * INT64_C(1000000000))

/* Why a request is made again and again. */
struct pod_trouble {
    int code;         /* -Exxx of the last answer; 0: none */
    char *words;      /* of the server; owned; NULL: none */
    unsigned n_times; /* in a row */
};
/* Notes one more; returns how long the request waits now. */
int64_t pod_trouble_note(struct pod_trouble *t, int r, const struct kube_response *res,
                         const char *words);
void pod_trouble_clear(struct pod_trouble *t);

/* A right may be missing because all of benchd's rights were taken: then its Lease expires first
 * and the run stays as it is. A right that is still missing after `wait_ms` fails the attempt. */
struct pod_denial {
    int64_t wait_ms;
    /* The first of the denials without a success or a full quota between them; 0: none. */
    int64_t since_ns;
};

/* True: the same request may succeed later. Notes a denial. */
bool pod_answer_is_transient(struct pod_denial *denial, int r, const struct kube_response *res,
                             int64_t now_ns);
/* How long the request waits before it is sent again, after `n_before` such answers in a row. A
 * full quota, a broken webhook and an overloaded server get longer and longer pauses, and
 * Retry-After is obeyed; a server that is away is asked sooner. */
int64_t pod_answer_wait_ns(unsigned n_before, int r, const struct kube_response *res);
/* The reason of the condition that users see: CamelCase, static. */
const char *pod_answer_reason(int r);
/* A request that changes pods has succeeded. */
void pod_denial_clear(struct pod_denial *denial);
