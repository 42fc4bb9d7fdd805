/* Agreeing on shared memory, see ring_share.h. */
#include "worker/comm/ring/ring_share.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "worker/comm/ring/ring_internal.h"

/* The first reason counts. */
static void cannot(struct share_token *t, const struct ring *r, const char *what)
{
    if (t->can) {
        t->can = false;
        (void)snprintf(t->why, sizeof(t->why), "worker/%u: %.180s", r->params.self.index,
                       what); /* fits */
    }
}

/* ---- begin and end ---- */

static int begin(struct ring *r, struct err *err)
{
    struct ring_share *s = &r->share;
    s->layout = shm_layout_of(r->params.slices.n_params, r->params.slices.n / r->n_ranks);
    int e = shm_segment_new(&s->segment, &s->layout, err);
    e = e < 0 ? e : doorbell_new(&s->bell, err);
    if (e < 0) {
        return e;
    }
    shm_pass_key(r->params.secret, &r->params.self, &s->key);
    s->listener.fd = shm_pass_listen(&s->key, r->params.self.index, err);
    return s->listener.fd;
}

void ring_share_init(struct ring *r)
{
    struct ring_share *s = &r->share;
    *s = RING_SHARE_NONE;
    if (r->n_ranks == 1 || r->params.transport == EXCHANGE_TRANSPORT_TCP) {
        return;
    }
    s->is_open = true;
    s->own.can = true;
    s->peers = xnew_array(struct shm_segment, r->n_ranks);
    s->doorbells = xnew_array(int, r->n_ranks);
    for (uint32_t i = 0; i < r->n_ranks; i++) {
        s->peers[i].fd = s->doorbells[i] = -1;
    }
    struct err why = {0};
    if (begin(r, &why) < 0) {
        cannot(&s->own, r, why.msg);
    }
}

static void stop_giving(struct ring_share *s)
{
    if (s->listener.fd >= 0) {
        (void)close(s->listener.fd); /* a process that asks now is a stranger */
        s->listener.fd = -1;
    }
}

static void forget_peers(struct ring *r)
{
    struct ring_share *s = &r->share;
    for (uint32_t i = 0; s->peers != NULL && i < r->n_ranks; i++) {
        shm_segment_done(&s->peers[i]);
        if (s->doorbells[i] >= 0) {
            (void)close(s->doorbells[i]); /* nothing to lose */
            s->doorbells[i] = -1;
        }
    }
}

void ring_share_done(struct ring *r)
{
    stop_giving(&r->share);
    shm_ask_done(&r->share.ask);
    forget_peers(r);
    free(r->share.peers);
    free(r->share.doorbells);
    doorbell_done(&r->share.bell);
    shm_segment_done(&r->share.segment);
}

/* ---- the rounds ---- */

/* The memory of the parameters that others copy. It is not needed over TCP. */
static int reserve_own(struct ring *r, struct err *err)
{
    int e = 0;
    for (uint32_t i = r->params.self.index; e >= 0 && i < r->params.slices.n; i += r->n_ranks) {
        const struct slice own = slices_get(&r->params.slices, i);
        e = shm_segment_reserve(&r->share.segment, own.offset, own.len, err);
    }
    return e;
}

static void begin_to_ask(struct ring *r, struct share_token *t)
{
    struct ring_share *s = &r->share;
    s->asks_until_ns = shm_ask_until(r->now_ns, r->rendezvous_by_ns);
    struct err no_memory = {0};
    if (t->can && reserve_own(r, &no_memory) < 0) {
        cannot(t, r, no_memory.msg);
    }
}

/* 0: not yet. Rank 0 asks first. If another rank asks, rank 0 has seen all: a rank that is not
 * there then has ended, which the connections show. */
static int ask_one(struct ring *r, uint32_t rank, struct err *err)
{
    struct ring_share *s = &r->share;
    const uint32_t self = r->params.self.index;
    int e = shm_ask_turn(&s->ask, &s->key, self, rank, &s->layout, &s->peers[rank],
                         &s->doorbells[rank], err);
    e = e == -ENOENT && self != 0 ? 0 : e;
    return e == 0 && r->now_ns >= s->asks_until_ns
               ? err_set(err, ETIMEDOUT, "no answer on its local socket")
               : e;
}

/* One rank after the other. True: all have been asked, or one of them cannot be. */
static bool ask_others(struct ring *r, struct share_token *t)
{
    struct ring_share *s = &r->share;
    if (s->asks_until_ns == 0) {
        begin_to_ask(r, t);
    }
    for (; t->can && s->n_asked < r->n_ranks; s->n_asked++) {
        struct err err = {0};
        const int e = s->n_asked == r->params.self.index ? 1 : ask_one(r, s->n_asked, &err);
        if (e == 0) {
            return false;
        }
        if (e < 0) {
            char text[SHARE_WHY_MAX + 1];
            (void)snprintf(text, sizeof(text), "it does not see the memory of worker/%u: %.130s",
                           s->n_asked, err.msg); /* fits */
            cannot(t, r, text);
        }
    }
    shm_ask_done(&s->ask);
    s->asks_until_ns = 0;
    return true;
}

bool ring_share_asks_again(const struct ring *r)
{
    return r->share.asks_until_ns != 0 && r->share.ask.fd < 0;
}

static int decide(struct ring *r, const struct share_token *verdict, struct err *err)
{
    struct ring_share *s = &r->share;
    stop_giving(s);
    s->own = *verdict;
    s->is_open = false;
    s->is_shared = verdict->can;
    mailbox_set_transport(&r->box,
                          verdict->can ? EXCHANGE_TRANSPORT_SHARED_MEMORY : EXCHANGE_TRANSPORT_TCP,
                          verdict->why);
    if (verdict->can) {
        return 0;
    }
    forget_peers(r);
    if (r->params.transport == EXCHANGE_TRANSPORT_SHARED_MEMORY) {
        return err_set(err, ENOTSUP, "transport SharedMemory: %s", verdict->why);
    }
    if (r->params.self.index == 0) {
        log_event(LOG_LEVEL_INFO, "the workers exchange over TCP", "why", verdict->why, NULL);
    }
    return 0;
}

/* What this rank adds, before it passes the frame on. False: not yet. */
static bool add_own(struct ring *r, struct share_token *t)
{
    if (t->round == SHARE_ASK) {
        return ask_others(r, t);
    }
    if (t->round == SHARE_LISTEN && !r->share.own.can && t->can) {
        t->can = false;
        (void)snprintf(t->why, sizeof(t->why), "%s", r->share.own.why);
    }
    return true;
}

static void pass_on(struct ring *r, const struct share_token *t)
{
    uint8_t payload[4 + SHARE_WHY_MAX];
    const size_t n = share_token_encode(t, payload);
    conn_send(&r->next.conn, FRAME_SHARE, payload, n);
    r->share.sent = t->round;
}

/* Rank 0: the round that follows the one that has come back. That it does not see a rank goes round
 * before the verdict, which a rank that has ended stops. */
static void next_round(struct share_token *t)
{
    t->round = t->round == SHARE_ASK || !t->can ? SHARE_VERDICT : t->round + 1;
}

int ring_share_on_frame(struct ring *r, const struct frame *f, const uint8_t *payload,
                        struct err *err)
{
    struct ring_share *s = &r->share;
    struct share_token t;
    const int e = share_token_read(payload, f->payload_len, &t, err);
    if (e < 0) {
        return e;
    }
    const bool is_first = r->params.self.index == 0;
    /* A verdict may cut the rounds short. */
    const bool fits = is_first ? t.round == s->sent : t.round > s->sent;
    if (!s->is_open || s->has_come || !fits) {
        return err_set(err, EPROTO, "SHARE of round %d is not expected now", (int)t.round);
    }
    if (is_first) {
        next_round(&t);
    }
    s->came = t;
    s->has_come = true;
    return 0;
}

void ring_share_answer(struct ring *r)
{
    struct ring_share *s = &r->share;
    if (s->listener.fd >= 0) {
        shm_pass_answer(&s->listener, r->now_ns, &s->key, r->params.self.index, r->n_ranks,
                        &s->segment, s->bell.hand_fd);
    }
}

int ring_share_turn(struct ring *r, struct err *err)
{
    struct ring_share *s = &r->share;
    if (!s->is_open || r->next.state != RING_JOINED) {
        return 0;
    }
    const bool is_first = r->params.self.index == 0;
    struct share_token *t = &s->came;
    if (is_first && !s->has_come && s->sent == 0) {
        *t = (struct share_token){.round = SHARE_LISTEN, .can = true};
        s->has_come = true;
    }
    if (!s->has_come || !add_own(r, t)) {
        return 0;
    }
    s->has_come = false;
    const bool is_verdict = t->round == SHARE_VERDICT;
    if (!is_verdict || is_first || ring_next(r->n_ranks, r->params.self.index) != 0) {
        pass_on(r, t);
    }
    return is_verdict ? decide(r, t, err) : 0;
}
