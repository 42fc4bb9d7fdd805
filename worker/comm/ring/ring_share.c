/* Agreeing on shared memory, see ring_share.h. */
#include "worker/comm/ring/ring_share.h"

#include <string.h>

#include "base/log.h"
#include "worker/comm/ring/ring_internal.h"

void ring_share_init(struct ring *r)
{
    struct ring_share *s = &r->share;
    const struct exchange_ring_params *p = &r->params;
    if (r->n_ranks == 1 || p->transport == EXCHANGE_TRANSPORT_TCP) {
        return;
    }
    const struct shm_layout layout = shm_layout_of(p->slices.n_params, p->slices.n / r->n_ranks);
    struct err why = {0};
    s->is_open = true;
    shm_peers_init(&s->shm, p->gang.secret, &p->gang.self, p->gang.self.index, r->n_ranks);
    if (shm_peers_open(&s->shm, &layout, &why) < 0) {
        shm_peers_cannot(&s->shm, &why);
    }
}

/* ---- the rounds ---- */

/* The memory of the parameters that others copy. It is not needed over TCP. */
static void reserve_own(struct ring *r)
{
    struct err no_memory = {0};
    int e = 0;
    for (uint32_t i = r->params.gang.self.index; e >= 0 && i < r->params.slices.n;
         i += r->n_ranks) {
        const struct slice own = slices_get(&r->params.slices, i);
        e = shm_segment_reserve(&r->share.shm.own, own.offset, own.len, &no_memory);
    }
    if (e < 0) {
        shm_peers_cannot(&r->share.shm, &no_memory);
    }
}

static int decide(struct ring *r, const struct share_token *verdict, struct err *err)
{
    struct ring_share *s = &r->share;
    shm_peers_stop_giving(&s->shm);
    s->is_open = false;
    s->is_shared = verdict->can;
    mailbox_set_transport(&r->box,
                          verdict->can ? EXCHANGE_TRANSPORT_SHARED_MEMORY : EXCHANGE_TRANSPORT_TCP,
                          verdict->why);
    if (verdict->can) {
        return 0;
    }
    shm_peers_forget_all(&s->shm);
    if (r->params.transport == EXCHANGE_TRANSPORT_SHARED_MEMORY) {
        return err_set(err, ENOTSUP, "transport SharedMemory: %s", verdict->why);
    }
    if (r->params.gang.self.index == 0) {
        log_event(LOG_LEVEL_INFO, "the workers exchange over TCP", "why", verdict->why, NULL);
    }
    return 0;
}

/* What this rank adds, before it passes the frame on. False: not yet. Rank 0 asks first. If another
 * rank asks, rank 0 has seen all: a rank that is not there then has ended. */
static bool add_own(struct ring *r, struct share_token *t)
{
    struct shm_peers *shm = &r->share.shm;
    const bool are_there = r->params.gang.self.index != 0;
    if (t->round == SHARE_ASK && t->can &&
        !shm_peers_ask_all(shm, are_there, r->meet.now_ns, r->meet.rendezvous_by_ns)) {
        return false;
    }
    if (t->round != SHARE_VERDICT && t->can && shm->why[0] != '\0') {
        t->can = false;
        memcpy(t->why, shm->why, sizeof(t->why));
    }
    return true;
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
    const bool is_first = r->params.gang.self.index == 0;
    /* A verdict may cut the rounds short. */
    const bool fits = is_first ? t.round == s->sent : t.round > s->sent;
    if (!s->is_open || s->has_come || !fits) {
        return err_set(err, EPROTO, "SHARE of round %d is not expected now", (int)t.round);
    }
    if (is_first) { /* That it does not see a rank goes round before the verdict, which a rank that
                     * has ended stops. */
        t.round = t.round == SHARE_ASK || !t.can ? SHARE_VERDICT : t.round + 1;
    }
    if (t.round == SHARE_VERDICT && t.can && !shm_peers_sees_all(&s->shm)) {
        return err_set(err, EPROTO, "SHARE says that all share memory, but this worker sees less");
    }
    if (t.round == SHARE_ASK && t.can) {
        reserve_own(r);
    }
    s->came = t;
    s->has_come = true;
    return 0;
}

int ring_share_turn(struct ring *r, struct err *err)
{
    struct ring_share *s = &r->share;
    if (!s->is_open || r->next.state != MEET_JOINED) {
        return 0;
    }
    const bool is_first = r->params.gang.self.index == 0;
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
    if (!is_verdict || is_first || ring_next(r->n_ranks, r->params.gang.self.index) != 0) {
        share_token_send(&r->next.conn, t);
        s->sent = t->round;
    }
    return is_verdict ? decide(r, t, err) : 0;
}
