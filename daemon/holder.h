/* The Lease on the loop: renews it for as long as the process lives. Edge file: clocks, a timer. */
#pragma once

#include "kube/client.h"
#include "kube/lease.h"

struct holder;
/* `on_change`: leader now, or lost. */
struct holder *holder_new(struct kube_client *client, const struct kube_lease_params *params,
                          void (*on_change)(void *ctx), void *ctx);
enum kube_lease_state holder_state(const struct holder *h);
/* Right now, by the clock: also when the loop had no time to notice. */
bool holder_may_write(struct holder *h);
/* Whose the Lease is, as seen last; "" if nobody's. */
const char *holder_name(const struct holder *h);
/* NULL when all is well. */
const struct err *holder_error(const struct holder *h);
/* Gives the Lease up, if it is ours, after a renewal under way; `on_done` comes in any case, within
 * 4 s, and never from inside the call. Once. */
void holder_release(struct holder *h, void (*on_done)(void *ctx), void *ctx);
/* No callback any more; the memory goes with the loop's next turn. Before the client. */
void holder_free(struct holder *h);
