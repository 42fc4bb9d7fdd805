/* A parameter server's side of lend.h. Shared by the files of the server's
 * side, as ps_internal.h. */
#pragma once

#include "worker/comm/link/frame.h"

struct ps_server;
struct ps_peer;

/* Call it after ps_round_init. */
void ps_share_init(struct ps_server *s);
int ps_share_on_frame(struct ps_server *s, struct ps_peer *peer, const struct frame *f,
                      const uint8_t *payload, struct err *err);
/* The trainer offers gradients: without a LISTEN before, it does not lend. */
void ps_share_offers(struct ps_peer *peer);
/* Asks trainers for their memory, and answers those who ask for this server's.
 * True: a pair is decided. */
bool ps_share_turn(struct ps_server *s);
/* The trainer's gradient of a slice. */
void *ps_share_gradient(const struct ps_server *s, const struct ps_peer *peer, uint32_t slice);
/* A gradient there, of len floats, as the mode wants it: it stays there, or with bf16 in a mode
 * without sums it is copied to be widened. Given back by ps_share_drop, in modes without sums, as
 * any other gradient. */
void *ps_share_take(struct ps_server *s, const uint8_t *lent, size_t len);
void ps_share_drop(struct ps_server *s, const struct ps_peer *peer, void *grad);
/* The place of the copy of parameters that goes to the trainer as its `number`-th. */
void *ps_share_copy(const struct ps_server *s, uint32_t trainer, uint32_t slice, uint64_t number);
