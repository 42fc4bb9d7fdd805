/* A parameter server's side of lend.h: the memory of trainers that it sees, and its own that they
 * see. */
#include <string.h>

#include "base/mem.h"
#include "base/vec_walk.h"
#include "worker/comm/ps/ps_internal.h"

void ps_share_init(struct ps_server *s)
{
    s->plan = (struct lend_plan){
        .slices = s->params.slices,
        .wire = s->params.wire,
        .has_copies = exchange_mode_is_single(&s->params.mode),
        .n_trainers = s->params.n_trainers,
    };
    const uint32_t n = s->params.slices.n_servers + s->params.n_trainers;
    shm_peers_init(&s->shm, s->params.gang.secret, &s->params.gang.self, s->number, n);
}

/* In shm_peers.h. */
static uint32_t number_of(const struct ps_server *s, const struct ps_peer *peer)
{
    return s->params.slices.n_servers + peer->conn.peer.index;
}

void *ps_share_gradient(const struct ps_server *s, const struct ps_peer *peer, uint32_t slice)
{
    return (uint8_t *)s->shm.peers[number_of(s, peer)].segment.grads +
           lend_gradient_at(&s->plan, slice);
}

void *ps_share_take(struct ps_server *s, const uint8_t *lent, size_t len)
{
    if (!s->plan.has_copies || s->params.wire == EXCHANGE_WIRE_FP32) {
        return (void *)(uintptr_t)lent; /* it is never written to */
    }
    void *buffer = ps_single_take(&s->single);
    memcpy(ps_single_landing(&s->single, buffer, len), lent, len * sizeof(uint16_t));
    return buffer;
}

void ps_share_drop(struct ps_server *s, const struct ps_peer *peer, void *grad)
{
    if (!lend_is_agreed(&peer->pair) || s->params.wire != EXCHANGE_WIRE_FP32) {
        ps_single_drop(&s->single, grad);
    }
}

void *ps_share_copy(const struct ps_server *s, uint32_t trainer, uint32_t slice, uint64_t number)
{
    return (uint8_t *)s->shm.own.params + lend_params_at(&s->plan, slice, trainer, number);
}

/* The parameters as they are sent live there from now on. None has been sent or changed: no sum is
 * complete before all trainers have decided. */
static void move_params(struct ps_server *s)
{
    if (s->narrowed == NULL) {
        memcpy(s->shm.own.params, s->params.params,
               slices_server_params(&s->params.slices, s->number) * sizeof(float));
        s->params.params = s->shm.own.params;
        return;
    }
    free(s->narrowed);
    s->narrowed = (uint16_t *)(void *)s->shm.own.params;
    s->is_narrowed_lent = true;
}

/* The memory that this trainer reads. */
static int open_own(struct ps_server *s, uint32_t t, struct err *err)
{
    const bool is_new = s->shm.own.at == NULL;
    const uint32_t self = s->number;
    int r = 0;
    if (is_new) {
        const struct shm_layout layout = lend_server_layout(&s->plan, self);
        r = shm_peers_open(&s->shm, &layout, err);
    }
    if (r >= 0 && (is_new || s->plan.has_copies)) {
        size_t at, n;
        lend_params_of(&s->plan, self, t, &at, &n);
        r = shm_segment_reserve(&s->shm.own, at, n, err);
    }
    if (r < 0 && is_new) {
        shm_peers_close(&s->shm);
    } else if (r >= 0 && is_new && !s->plan.has_copies) {
        move_params(s);
    }
    return r;
}

static void ask_trainer(struct ps_server *s, struct ps_peer *peer)
{
    const struct frame_id *id = &peer->conn.peer;
    const struct shm_layout layout = lend_trainer_layout(&s->plan);
    struct err err = {0};
    const char *what = " does not see its memory";
    int r = shm_peers_ask(&s->shm, number_of(s, peer), &layout, false, s->meet.now_ns,
                          s->meet.rendezvous_by_ns, &err);
    if (r == 0) {
        return;
    }
    if (r > 0) {
        what = "";
        r = open_own(s, id->index, &err);
    }
    if (r >= 0) {
        peer->pair.state = LEND_WAITS;
        lend_say(&peer->conn, SHARE_ASK);
        return;
    }
    (void)err_wrap(&err, r, "pserver/%u%s", s->params.gang.self.index, what);
    shm_peers_forget(&s->shm, number_of(s, peer));
    lend_say_no(&peer->pair, &peer->conn, SHARE_ASK, err.msg);
    s->n_lend_open--;
}

static int on_listen(struct ps_server *s, struct ps_peer *peer, const struct share_token *t)
{
    if (!t->can) {
        lend_refuse(&peer->pair, t->why);
    } else if (s->params.transport == EXCHANGE_TRANSPORT_TCP) {
        lend_say_no(&peer->pair, &peer->conn, SHARE_ASK, "the server's transport is Tcp");
    } else {
        s->n_lend_open++;
        peer->pair.state = LEND_ASKS;
    }
    return 0;
}

static int on_verdict(struct ps_server *s, struct ps_peer *peer, const struct share_token *t)
{
    if (t->can) {
        peer->pair.state = LEND_YES;
        s->n_lend_yes++;
        if (!s->plan.has_copies) {
            reduce_lend(&s->reduce, peer->conn.peer.index);
        }
    } else {
        shm_peers_forget(&s->shm, number_of(s, peer));
        lend_refuse(&peer->pair, t->why);
    }
    s->n_lend_open--;
    return 0;
}

int ps_share_on_frame(struct ps_server *s, struct ps_peer *peer, const struct frame *f,
                      const uint8_t *payload, struct err *err)
{
    struct share_token t;
    const int r = share_token_read(payload, f->payload_len, &t, err);
    if (r < 0) {
        return r;
    }
    const enum lend_state state = peer->pair.state;
    if (t.round == SHARE_LISTEN && state == LEND_SILENT) {
        return on_listen(s, peer, &t);
    }
    if (t.round == SHARE_VERDICT && state == LEND_WAITS) {
        return on_verdict(s, peer, &t);
    }
    return err_set(err, EPROTO, "SHARE of round %d is not expected now", (int)t.round);
}

void ps_share_offers(struct ps_peer *peer)
{
    if (peer->pair.state == LEND_SILENT) {
        lend_refuse(&peer->pair, "it has not said that it lends");
    }
}

static bool is_decided(const struct ps_peer *peer)
{
    return peer != NULL && (peer->pair.state == LEND_YES || peer->pair.state == LEND_NO);
}

bool ps_share_turn(struct ps_server *s)
{
    const uint32_t n_before = s->n_lend_open;
    for (uint32_t t = 0; s->n_lend_open > 0 && t < s->params.n_trainers; t++) {
        if (s->trainers[t] != NULL && s->trainers[t]->pair.state == LEND_ASKS) {
            ask_trainer(s, s->trainers[t]);
        }
    }
    if (s->shm.listener.fd >= 0) {
        shm_peers_answer(&s->shm, s->meet.now_ns);
        if (array_all(s->trainers, s->params.n_trainers, it, is_decided(*it))) {
            shm_peers_stop_giving(&s->shm); /* no further request can arrive */
        }
    }
    return s->n_lend_open < n_before;
}
