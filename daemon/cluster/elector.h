/* Takes the Lease when it can, and renews it for as long as the process lives. On the loop; the
 * rules are lib/kube/lease.h. Edge file: clocks, a timer. */
#pragma once

#include <uv.h>

#include "kube/client.h"
#include "kube/lease.h"

struct elector { /* other files read the first two */
    struct kube_lease *lease;
    enum kube_lease_state state; /* as reported last */
    struct kube_client *client;
    uv_timer_t timer;
    struct kube_call *call;
    void (*on_change)(void *ctx);
    void (*on_done)(void *ctx); /* of the release */
    void *ctx, *done_ctx;
    int64_t release_by_ns; /* 0: not releasing */
};
/* Calls `on_change` when this process becomes the leader and when it loses the Lease. */
struct elector *elector_new(struct kube_client *client, const struct kube_lease_params *params,
                            void (*on_change)(void *ctx), void *ctx);
/* Decided by the clock, so it is right even before the loop noticed that the Lease ran out. */
bool elector_may_write(struct elector *e);
/* For what cannot be taken back: the earlier of two clocks, this machine's (as this process counts
 * it) and the API server's. Results are old only when both say so. */
int64_t elector_careful_unix_ms(const struct elector *e);
/* Gives up the Lease, if it is ours, after any renewal in flight. `on_done` always comes, within
 * 4 s, and never from inside the call. Call it once. */
void elector_release(struct elector *e, void (*on_done)(void *ctx), void *ctx);
/* No callback comes after this; the loop's next turn frees the memory. Free
 * it before the client. */
void elector_free(struct elector *e);
