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
 * ASKS: it asks for the other's memory (shm_pass.h). A side that cannot continue says so, with
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

#include "core/exchange.h"
#include "exchange/slices.h"
#include "worker/comm/link/conn.h"
#include "worker/comm/shm/share_token.h"
#include "worker/comm/shm/shm_pass.h"
#include "worker/comm/shm/shm_segment.h"

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

/* ---- what this process lends ---- */

struct lend {
    struct auth_key key;
    uint32_t n_servers, self;     /* names in shm_pass.h: servers first, then trainers */
    struct net_listener listener; /* fd -1: gives nothing to anybody */
    int unrung_fd; /* shm_pass.h hands a doorbell over; frames wake, so this one leads nowhere */
    struct shm_segment own; /* at NULL: none */
};
void lend_init(struct lend *l, const uint8_t secret[static AUTH_SECRET_SIZE],
               const struct frame_id *self, uint32_t n_servers);
/* Makes the segment, and listens for those who ask. */
int lend_open(struct lend *l, const struct shm_layout *layout, struct err *err);
/* Answers who asks, when the listener is readable: a trainer only servers, a server all. */
void lend_answer(struct lend *l, uint32_t n_trainers, int64_t now_ns);
void lend_stop_giving(struct lend *l);
void lend_done(struct lend *l);

/* ---- one pair ---- */

enum lend_state { LEND_SILENT, LEND_WAITS, LEND_ASKS, LEND_YES, LEND_NO };

struct lend_pair {
    enum lend_state state;
    bool is_seen; /* by the peer, on this host */
    struct shm_ask ask;
    int64_t asks_until_ns;
    struct shm_segment theirs;   /* at NULL: none */
    char why[SHARE_WHY_MAX + 1]; /* of NO */
};
#define LEND_PAIR_INIT ((struct lend_pair){.ask = SHM_ASK_INIT, .theirs = {.fd = -1}})

/* It is not known yet. */
bool lend_is_open(const struct lend_pair *p);
/* Says that this side can. */
void lend_say(struct conn *c, enum share_round round);
/* NO, with the reason; what was mapped is given back. */
void lend_refuse(struct lend_pair *p, const char *why);
/* The same, and says so. */
void lend_say_no(struct lend_pair *p, struct conn *c, enum share_round round, const char *why);
/* ASKS from now on: as long as the rendezvous, at least 3 s. is_seen: the peer sees this process,
 * so it is on this host; if it is not there any more, it has ended, which its connection shows. */
void lend_begin_to_ask(struct lend_pair *p, bool is_seen, int64_t now_ns, int64_t rendezvous_by_ns);
/* 1: `theirs` is mapped; 0: not yet; -Exxx: it cannot be had. Call it when ask.fd is readable, or
 * soon if that is -1. */
int lend_ask(struct lend_pair *p, const struct lend *l, const struct frame_id *peer,
             const struct shm_layout *layout, int64_t now_ns, struct err *err);
void lend_pair_done(struct lend_pair *p);
