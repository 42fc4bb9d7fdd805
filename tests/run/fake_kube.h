/* The client of lib/kube without a network, for the pod launcher's tests: calls are kept until the
 * test answers them. Defines what kube/client.h and kube/follow.h declare, so that the linker takes
 * these instead. */
#pragma once

#include <stdbool.h>

#include "kube/client.h"
#include "kube/follow.h"

struct kube_call { /* here: one call, open until it was answered or cancelled */
    struct kube_request req;
    struct kube_call_options options;
    kube_done_fn on_done;
    void *ctx;
    bool is_open;
};

#define FAKE_CALLS_MAX 8192
struct fake_kube {
    struct kube_call calls[FAKE_CALLS_MAX]; /* in the order in which they were made */
    size_t n;
    struct kube_follow_params follow; /* the latest one under way */
    unsigned n_following;
    bool is_following, has_container_ended;
    int64_t line_ns;      /* of kube_follow_line_ns */
    int http_code;        /* of failures; 0: 500 */
    int64_t date_unix_ms; /* the server's clock in each answer; 0: none is sent */
};
extern struct fake_kube fake_kube;
void fake_kube_reset(void);
/* The i-th of the open calls; NULL: there are not so many. */
struct kube_call *fake_kube_open(size_t i);
size_t fake_kube_n_open(void);
/* r < 0: an error with `text`; else a 2xx with the body `text`. */
void fake_kube_answer(struct kube_call *call, int r, const char *text);
