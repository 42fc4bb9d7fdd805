/* Memory that a trainer and a parameter server of one host read from each other, in place of
 * payloads. A trainer lends its gradients to all servers, a server its parameters to all trainers;
 * each writes its own memory only. The layouts are pure, and both sides compute them.
 *
 *     trainer's segment    the gradients as the arena has them, in the format of the wire
 *     server's segment     its slices of the parameters in order, likewise; or, in modes in which
 *                          parameters go as a copy for each trainer (ps_single.h), a ring of copies
 *                          for each
 *
 * Every pair decides for itself, right after WELCOME. The states of both sides:
 *
 *    trainer  SILENT -- says LISTEN --> WAITS -- hears ASK --> ASKS -- says VERDICT --> YES or NO
 *    server   SILENT -- hears LISTEN --> ASKS -- says ASK --> WAITS -- hears VERDICT --> YES or NO
 *
 * ASKS: it asks for the other's memory (shm_peers.h). A side that cannot continue says so, with
 * the reason, and both are at NO: that pair sends payloads. A trainer that offers gradients and
 * has said nothing stays SILENT, which is NO too. A server gives no credit before it knows. From
 * YES on, GRADIENT and PARAMS of the pair have no payload: what they name lies in the memory of
 * their sender. The rules of frames, credits and TAKEN are the same, and they alone say when
 * memory may be overwritten:
 *
 *     gradients     not before the trainer has received the new parameters of their slice
 *     parameters    not before every trainer has said TAKEN of the step; a copy, not before its
 *                   trainer has
 *
 * Frames order the accesses, because each goes through the kernel. No offset or length in memory
 * comes from a peer. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/exchange_kind.h"
#include "exchange/slices.h"
#include "worker/comm/link/conn.h"
#include "worker/comm/shm/share_token.h"
#include "worker/comm/shm/shm_peers.h"

/* ---- layouts: pure ---- */

struct lend_plan {
    struct slices slices;
    enum exchange_wire wire;
    bool has_copies;     /* exchange_mode_is_single */
    uint32_t n_trainers; /* if it has */
};
size_t lend_bytes(const struct lend_plan *p, uint32_t slice);
struct shm_layout lend_trainer_layout(const struct lend_plan *p);
struct shm_layout lend_server_layout(const struct lend_plan *p, uint32_t server);
/* Where a slice is, in bytes from the start of the gradients or parameters of a segment. */
size_t lend_gradient_at(const struct lend_plan *p, uint32_t slice);
/* As the `number`-th parameters of all that go from its server to that trainer; both
 * count only with copies. */
size_t lend_params_at(const struct lend_plan *p, uint32_t slice, uint32_t trainer, uint64_t number);
/* The memory of a server's segment that one trainer needs, in floats: all, or its copies. */
void lend_params_of(const struct lend_plan *p, uint32_t server, uint32_t trainer, size_t *ret_at,
                    size_t *ret_n);

/* ---- one pair ---- */

enum lend_state { LEND_SILENT, LEND_WAITS, LEND_ASKS, LEND_YES, LEND_NO };

/* In shm_peers.h servers have the first numbers, then trainers. A server may be asked by all, a
 * trainer by servers only. Frames wake, so no doorbell is rung. */
struct lend_pair {
    enum lend_state state;
    char why[SHARE_WHY_MAX + 1]; /* of NO */
};
/* Both lend. */
bool lend_is_agreed(const struct lend_pair *p);
/* Says that this side can. */
void lend_say(struct conn *c, enum share_round round);
/* NO, with the reason. */
void lend_refuse(struct lend_pair *p, const char *why);
/* The same, and says so. */
void lend_say_no(struct lend_pair *p, struct conn *c, enum share_round round, const char *why);
