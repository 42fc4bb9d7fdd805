/* A trainer's side of lend.h: its gradients that servers see, and the servers' parameters. */
#include <stdio.h>

#include "base/log.h"
#include "worker/comm/ps/client_internal.h"
#include "worker/tensor/bf16.h"
#include "worker/tensor/one_pass.h"

void client_share_init(struct client *c)
{
    const struct exchange_ps_params *p = &c->params;
    c->plan = (struct lend_plan){
        .slices = p->slices,
        .wire = p->wire,
        .has_copies = exchange_mode_is_single(&p->mode),
        .n_trainers = p->n_trainers,
    };
    const uint32_t n_servers = p->slices.n_servers;
    shm_peers_init(&c->shm, p->gang.secret, &p->gang.self, n_servers + p->gang.self.index,
                   n_servers);
    if (p->transport == EXCHANGE_TRANSPORT_TCP) {
        return;
    }
    const struct shm_layout layout = lend_trainer_layout(&c->plan);
    struct err err = {0};
    if (shm_peers_open(&c->shm, &layout, &err) < 0) {
        shm_peers_cannot(&c->shm, &err);
    }
}

/* All servers are decided: the transport is shared memory if it is for all of them; else the
 * first reason counts. */
static void finish(struct client *c)
{
    const uint32_t n = c->params.slices.n_servers;
    const char *why = NULL;
    uint32_t n_lends = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct lend_pair *p = &c->links[i].pair;
        n_lends += p->state == LEND_YES;
        why = why == NULL && p->state == LEND_NO ? p->why : why;
    }
    shm_peers_stop_giving(&c->shm);
    mailbox_set_transport(&c->box,
                          why == NULL ? EXCHANGE_TRANSPORT_SHARED_MEMORY : EXCHANGE_TRANSPORT_TCP,
                          why == NULL ? "" : why);
    if (why != NULL && why[0] != '\0') {
        char shared[32];
        (void)snprintf(shared, sizeof(shared), "%u of %u", n_lends, n);
        log_event(LOG_LEVEL_INFO, "not all parameter servers share memory with this trainer", "why",
                  why, "servers", shared, NULL);
    }
}

void client_share_begin(struct client *c, struct link *l)
{
    if (c->params.transport == EXCHANGE_TRANSPORT_TCP) {
        lend_refuse(&l->pair, "");
    } else if (c->shm.why[0] != '\0') {
        lend_say_no(&l->pair, &l->peer.conn, SHARE_LISTEN, c->shm.why);
    } else {
        l->pair.state = LEND_WAITS;
        lend_say(&l->peer.conn, SHARE_LISTEN);
    }
}

int client_share_on_frame(struct link *l, const struct frame *f, const uint8_t *payload,
                          struct err *err)
{
    struct share_token t;
    const int r = share_token_read(payload, f->payload_len, &t, err);
    if (r < 0) {
        return r;
    }
    if (l->peer.state != MEET_JOINED || t.round != SHARE_ASK || l->pair.state != LEND_WAITS) {
        return err_set(err, EPROTO, "SHARE of round %d is not expected now", (int)t.round);
    }
    if (t.can) {
        l->pair.state = LEND_ASKS;
    } else {
        lend_refuse(&l->pair, t.why);
    }
    return 0;
}

static void ask_server(struct client *c, struct link *l)
{
    struct lend_pair *p = &l->pair;
    const struct shm_layout layout = lend_server_layout(&c->plan, l->number);
    struct err err = {0};
    /* The server has seen this trainer's memory, so it is on this host. */
    const int r = shm_peers_ask(&c->shm, l->number, &layout, true, c->meet.now_ns,
                                c->meet.rendezvous_by_ns, &err);
    if (r > 0) {
        p->state = LEND_YES;
        lend_say(&l->peer.conn, SHARE_VERDICT);
    } else if (r < 0) {
        (void)err_wrap(&err, r, "trainer/%u does not see the memory of pserver/%u",
                       c->params.gang.self.index, l->peer.id.index);
        lend_say_no(p, &l->peer.conn, SHARE_VERDICT, err.msg);
    }
}

int client_share_turn(struct client *c, struct link *l, struct err *err)
{
    const struct lend_pair *p = &l->pair;
    if (p->state == LEND_ASKS) {
        ask_server(c, l);
    }
    if (l->is_decided || (p->state != LEND_YES && p->state != LEND_NO)) {
        return 0;
    }
    l->is_decided = true;
    c->n_decided++;
    if (c->n_decided == c->params.slices.n_servers) {
        finish(c);
    }
    return p->state == LEND_NO && c->params.transport == EXCHANGE_TRANSPORT_SHARED_MEMORY
               ? err_set(err, ENOTSUP, "transport SharedMemory: %s", p->why)
               : 0;
}

void client_share_gradient(struct client *c, uint32_t slice)
{
    const struct slice s = slices_get(&c->params.slices, slice);
    const float *from = c->box.doing_grads + s.offset;
    void *to = (uint8_t *)c->shm.own.grads + lend_gradient_at(&c->plan, slice);
    if (c->params.wire == EXCHANGE_WIRE_BF16) {
        bf16_narrow(to, from, s.len);
    } else if (to != (const void *)from) {
        one_pass_copy(to, from, s.len);
    }
}

void *client_share_params(const struct client *c, const struct link *l, uint32_t slice)
{
    const uint64_t each = c->params.slices.n / c->params.slices.n_servers;
    return (uint8_t *)c->shm.peers[l->number].segment.params +
           lend_params_at(&c->plan, slice, c->params.gang.self.index,
                          c->step * each + l->n_received);
}
