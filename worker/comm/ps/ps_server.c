/* The loop of a parameter server: accepts and drops connections, reads and writes in turns. See
 * ps_server.h; the rounds are in ps_round.c. */
#include "worker/comm/ps/ps_server.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "worker/comm/link/net.h"
#include "worker/comm/ps/ps_internal.h"

/* Per connection and direction. Turns are short and fair, and the credits that a slice has freed
 * leave before the next one is read. */
#define TURN_BYTES ((size_t)1 << 20)
#define FAREWELL_NS INT64_C(1000000000)
#define LATE_NS INT64_C(2000000000)
#define TICK_MS 250

/* ---- connections ---- */

static void drop_peer(struct ps_server *s, struct ps_peer *peer)
{
    for (size_t i = 0; i < s->peers.len; i++) {
        if (s->peers.items[i] == peer) {
            s->peers.items[i] = s->peers.items[--s->peers.len];
            break;
        }
    }
    conn_close(&peer->conn);
    free(peer->is_sent);
    free(peer);
}

static bool all_joined(const struct ps_server *s)
{
    return s->n_joined == s->params.n_trainers;
}

static int accept_all(struct ps_server *s, struct err *err)
{
    for (;;) {
        const bool is_full = s->peers.len >= s->n_joined + MEET_STRANGERS;
        const int fd = meet_accept(&s->listener, is_full, s->now_ns, err);
        if (fd < 0) {
            /* Without a place for every trainer there is no trial. Strangers may wait. */
            return fd == -EAGAIN || all_joined(s) ? 0 : fd;
        }
        struct ps_peer *peer = xnew(struct ps_peer);
        peer->joins_by_ns = s->now_ns + s->params.handshake_ns;
        *vec_push(&s->peers) = peer;
        const int r = meet_accepts(&peer->conn, &peer->handshake, fd, &s->params.self,
                                   s->params.secret, s->params.digest, err);
        peer->conn.wire = s->params.wire;
        if (r < 0) {
            return r;
        }
    }
}

static bool is_name_taken(const struct ps_server *s, const struct frame_id *id)
{
    return id->role == ROLE_TRAINER && meet_is_of_this_attempt(&s->params.self, id) &&
           id->index < s->params.n_trainers && s->trainers[id->index] != NULL;
}

/* The peer has proved the secret. -ESTALE: reject it; -EPROTO: the replicas do not fit together. */
static int join(struct ps_server *s, struct ps_peer *peer, struct err *err)
{
    const struct frame_id *id = &peer->handshake.trainer.id;
    if (is_name_taken(s, id)) {
        meet_refuse(&peer->conn, &peer->handshake, &s->fault, s->rejected);
        peer->refused = true;
        return 0;
    }
    int r = handshake_agree(&peer->handshake.server, &peer->handshake.trainer, err);
    if (r < 0) {
        return r;
    }
    if (id->role != ROLE_TRAINER || id->index >= s->params.n_trainers) {
        return err_set(err, EPROTO, "this run has %" PRIu32 " trainers", s->params.n_trainers);
    }
    conn_send(&peer->conn, FRAME_WELCOME, NULL, 0);
    peer->joined = true;
    peer->is_sent = xnew_array(bool, s->n_slices);
    s->trainers[id->index] = peer;
    s->n_joined++;
    return 0;
}

static int handshake_frame(struct ps_server *s, struct ps_peer *peer, const struct frame *f,
                           const uint8_t *payload, struct err *err)
{
    if (all_joined(s) && !meet_is_of_this_attempt(&s->params.self, &f->from)) {
        /* It may belong to the next attempt, and find the server of that attempt at this address:
         * it connects again, where an answer would make it fail. */
        return err_set(err, ESTALE, "it belongs to another run or attempt");
    }
    const int r = meet_on_guest(&peer->conn, &peer->handshake, f, payload, s->now_ns, err);
    return r > 0 ? join(s, peer, err) : r;
}

/* ---- frames ---- */

struct sender {
    struct ps_server *server;
    struct ps_peer *peer;
};

static void *on_place(void *ctx, struct conn *c, const struct frame *f, struct err *err)
{
    struct sender *sender = ctx;
    (void)c;
    return ps_round_place(sender->server, sender->peer, f, err);
}

static void on_part(void *ctx, struct conn *c, size_t n)
{
    struct sender *sender = ctx;
    (void)c;
    ps_round_part(sender->server, sender->peer, n);
}

static int on_frame(void *ctx, struct conn *c, const struct frame *f, const uint8_t *payload,
                    struct err *err)
{
    (void)c;
    struct ps_server *s = ((struct sender *)ctx)->server;
    struct ps_peer *peer = ((struct sender *)ctx)->peer;
    if (peer->refused) {
        return 0;
    }
    if (!peer->joined) {
        return handshake_frame(s, peer, f, payload, err);
    }
    return ps_round_frame(s, peer, f, payload, err);
}

/* ---- turns ---- */

/* True if this process was stopped itself, so that the peer is not to blame for r. */
static bool were_away(struct ps_server *s, int r, struct err *err)
{
    return fault_is_absence(&s->fault, r, &s->self, clock_monotonic_ns(), &s->params.self, err);
}

/* A joined trainer is lost or broke the protocol: puts its name into the text and the fault. */
static int blame(struct ps_server *s, const struct frame_id *id, int r, struct err *err)
{
    if (s->fault.exit_code == 0 && !were_away(s, r, err)) {
        char name[32];
        frame_id_name(id, name);
        (void)err_wrap(err, r, "%s", name);
        fault_from_err(&s->fault, r, id, err);
    }
    return r;
}

/* -ECONNRESET: this trainer is lost, and no replica is blamed yet. */
static int read_peer(struct ps_server *s, struct ps_peer *peer, struct err *err)
{
    static const struct conn_handler handler = {on_place, on_frame, on_part};
    struct sender sender = {s, peer};
    const bool has_left = peer->gone; /* it has said goodbye: its end is no fault */
    int r = conn_pump_rx(&peer->conn, s->now_ns, TURN_BYTES, &handler, &sender, err);
    if (r == 0) {
        return 0;
    }
    if (peer->refused) {
        drop_peer(s, peer);
        return 0;
    }
    if (peer->joined || (peer->conn.secured && r == -EPROTO && !all_joined(s))) {
        return has_left ? 0 : r == -ECONNRESET ? r : blame(s, &peer->conn.peer, r, err);
    }
    meet_note_failed(&peer->handshake, r, err, s->rejected);
    drop_peer(s, peer);
    return 0;
}

/* Sums are made slice by slice and in trainer order: what is added at once need not wait in a
 * buffer, out of the cache. Strangers come last. */
static int by_order_of_sums(const void *a, const void *b)
{
    const struct ps_peer *p = *(struct ps_peer *const *)a, *q = *(struct ps_peer *const *)b;
    if (p->joined != q->joined || !p->joined) {
        return (int)q->joined - (int)p->joined;
    }
    if (p->step != q->step || p->next != q->next) {
        return p->step < q->step || (p->step == q->step && p->next < q->next) ? -1 : 1;
    }
    return p->conn.peer.index < q->conn.peer.index ? -1 : 1;
}

/* Reads what the trainers have sent by now, before one is blamed for the end of its connection:
 * what another one says or does may be the reason, and must not depend on the order of reading. */
static int read_last_words(struct ps_server *s, struct err *err)
{
    for (uint32_t t = 0; t < s->params.n_trainers; t++) {
        struct ps_peer *peer = s->trainers[t];
        int r = peer != NULL && peer->conn.fd >= 0 ? read_peer(s, peer, err) : 0;
        if (r < 0 && r != -ECONNRESET) {
            return r;
        }
    }
    return 0;
}

static int read_all(struct ps_server *s, const struct pollfd *fds, size_t n, struct err *err)
{
    /* A list of its own, because a rejected peer moves others of s->peers. */
    _cleanup_(freep) struct ps_peer **list = xnew_array(struct ps_peer *, n + 1);
    size_t n_list = 0;
    for (size_t i = 0; i < n; i++) {
        if (fds[i].fd >= 0 && fds[i].revents != 0) {
            list[n_list++] = s->peers.items[i];
        }
    }
    qsort(list, n_list, sizeof(*list), by_order_of_sums);
    for (size_t i = 0; i < n_list; i++) {
        int r = read_peer(s, list[i], err);
        if (r == -ECONNRESET) {
            struct err other;
            r = read_last_words(s, &other);
            *err = r < 0 ? other : *err;
            return r < 0 ? r : blame(s, &list[i]->conn.peer, -ECONNRESET, err);
        }
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

static int write_all(struct ps_server *s, struct err *err)
{
    vec_each (struct ps_peer *, p, &s->peers) {
        if (conn_wants_tx(&(*p)->conn)) {
            int r = conn_pump_tx(&(*p)->conn, TURN_BYTES, err);
            if (r < 0) {
                return r;
            }
        }
        if ((*p)->gone && !conn_wants_tx(&(*p)->conn)) {
            conn_close(&(*p)->conn); /* the trainer waits for it in conn_farewell */
        }
    }
    return 0;
}

static void check_handshake(struct ps_server *s, struct ps_peer *peer)
{
    if (s->now_ns < peer->joins_by_ns) {
        return;
    }
    if (peer->refused) {
        drop_peer(s, peer); /* it knows the reason and does not close */
        return;
    }
    char why[64];
    (void)snprintf(why, sizeof(why), "the handshake took longer than %g s",
                   (double)s->params.handshake_ns / 1e9);
    meet_note_rejected(&peer->handshake, why, s->rejected);
    drop_peer(s, peer);
}

static int check_life(struct ps_server *s, struct err *err)
{
    for (size_t i = s->peers.len; i-- > 0;) {
        struct ps_peer *peer = s->peers.items[i];
        if (!peer->joined) {
            check_handshake(s, peer);
            continue;
        }
        if (peer->gone) {
            continue;
        }
        const int r = conn_beat(&peer->conn, &s->self, s->now_ns, err);
        if (r < 0) {
            return blame(s, &peer->conn.peer, r, err);
        }
    }
    return 0;
}

static int check_rendezvous(struct ps_server *s, struct err *err)
{
    if (all_joined(s) || s->now_ns < s->rendezvous_by_ns) {
        return 0;
    }
    if (were_away(s, -ETIMEDOUT, err)) {
        return -ETIMEDOUT;
    }
    struct buf names = BUF_INIT;
    const struct frame_id *self = &s->params.self;
    struct frame_id first = {self->run, self->attempt, ROLE_TRAINER, UINT32_MAX};
    for (uint32_t t = 0; t < s->params.n_trainers; t++) {
        if (s->trainers[t] == NULL) {
            first.index = first.index == UINT32_MAX ? t : first.index;
            buf_printf(&names, "%strainer/%" PRIu32, names.len > 0 ? ", " : "", t);
        }
    }
    const bool has_rejected = s->rejected[0] != '\0';
    (void)err_set(err, ETIMEDOUT, "%.250s did not connect within %.0f s%s%s%s", buf_cstr(&names),
                  (double)s->params.rendezvous_ns / 1e9,
                  has_rejected ? " (rejected a connection that claimed to be " : "", s->rejected,
                  has_rejected ? ")" : "");
    buf_done(&names);
    fault_from_err(&s->fault, -ETIMEDOUT, &first, err);
    return -ETIMEDOUT;
}

static int check_self(struct ps_server *s, struct err *err)
{
    int64_t away_ns;
    if (!heartbeat_was_away(&s->self, s->now_ns, &away_ns)) {
        return 0;
    }
    return fault_from_absence(&s->fault, away_ns, &s->params.self, err);
}

/* Sleeps until there is something to do. fds gets the peers in order, then the listener,
 * then what is shared. */
static void wait_turn(struct ps_server *s, struct pollfd *fds)
{
    size_t n = 0;
    vec_each (struct ps_peer *, p, &s->peers) {
        fds[n++] = conn_watch(&(*p)->conn);
    }
    fds[n++] = (struct pollfd){.fd = net_listener_poll(&s->listener, s->now_ns), .events = POLLIN};
    int timeout_ms = TICK_MS;
    n += shm_peers_poll(&s->shm, s->now_ns, fds + n, &timeout_ms);
    (void)poll(fds, n, timeout_ms); /* on an error the turn finds nothing to do */
}

static int one_turn(struct ps_server *s, struct err *err)
{
    size_t n = s->peers.len;
    _cleanup_(freep) struct pollfd *fds = xnew_array(struct pollfd, n + 2 + s->params.n_trainers);
    wait_turn(s, fds);
    ps_round_lap(s, &s->stats.wait);
    s->now_ns = s->lap_ns;
    int r = check_self(s, err);
    if (r >= 0) {
        r = read_all(s, fds, n, err);
    }
    ps_round_share(s);
    ps_round_lap(s, &s->stats.receive);
    if (r >= 0) {
        r = check_life(s, err);
    }
    if (r >= 0) {
        ps_round_look(s);
        r = write_all(s, err);
    }
    if (r >= 0 && fds[n].revents != 0) {
        r = accept_all(s, err);
    }
    if (r >= 0) {
        r = check_rendezvous(s, err);
    }
    ps_round_lap(s, &s->stats.send);
    return r;
}

/* Sends ABORT to all trainers and waits up to a second, but not for the culprit. A trainer that
 * does not get it in time detects the closed connection. */
static void tell_all(struct ps_server *s)
{
    uint8_t payload[FRAME_SMALL_PAYLOAD];
    size_t len = fault_to_abort(&s->fault, &s->params.self, payload);
    struct conn **conns = xnew_array(struct conn *, s->params.n_trainers);
    size_t n = 0;
    for (uint32_t t = 0; t < s->params.n_trainers; t++) {
        struct ps_peer *peer = s->trainers[t];
        if (peer == NULL || peer->gone || peer->conn.fd < 0) {
            continue;
        }
        conn_drop_queue(&peer->conn);
        conn_send(&peer->conn, FRAME_ABORT, payload, len);
        if (s->fault.has_peer && s->fault.peer.role == ROLE_TRAINER && s->fault.peer.index == t) {
            struct err ignored;
            (void)conn_pump_tx(&peer->conn, SIZE_MAX, &ignored); /* no wait for the culprit */
            conn_close(&peer->conn);
        } else {
            conns[n++] = &peer->conn;
        }
    }
    conn_farewell(conns, n, FAREWELL_NS);
    free(conns);
}

/* Trainers that connect late must learn the cause too: they would blame a server that refuses the
 * connection. */
static void tell_late_comers(struct ps_server *s)
{
    int64_t end_ns = s->now_ns + LATE_NS;
    struct err ignored;
    while (!all_joined(s) && s->now_ns < end_ns && s->now_ns < s->rendezvous_by_ns &&
           one_turn(s, &ignored) >= 0) {
        tell_all(s);
    }
}

static void fill_stats(struct ps_server *s, struct ps_server_stats *ret)
{
    *ret = s->last_round;
    if (s->measuring) {
        ps_round_bytes(s, &ret->bytes_tx, &ret->bytes_rx);
        ret->bytes_tx -= s->barrier_bytes_tx;
        ret->bytes_rx -= s->barrier_bytes_rx;
    }
    ret->round_ns = take_ptr(s->round_ns.items);
    ret->n_rounds = s->round_ns.len;
    ps_round_last(s, ret);
    ps_round_late(s, ret);
    ret->early_peak_bytes = s->reduce.n_peak * s->reduce.buffer_bytes;
}

void ps_server_stats_done(struct ps_server_stats *s)
{
    free(s->round_ns);
    *s = (struct ps_server_stats){0};
}

int ps_server_run(const struct ps_server_params *params, int listen_fd,
                  struct ps_server_stats *ret_stats, struct fault *ret_fault, struct err *err)
{
    struct ps_server s = {.params = *params, .listener = {.fd = listen_fd}};
    struct err local;
    err = err != NULL ? err : &local;
    s.trainers = xnew_array(struct ps_peer *, params->n_trainers);
    s.now_ns = s.lap_ns = clock_monotonic_ns();
    s.lap_cpu_ns = clock_thread_cpu_ns();
    s.rendezvous_by_ns = s.now_ns + params->rendezvous_ns;
    heartbeat_begin(&s.self, params->silence_ns, s.now_ns);
    ps_round_init(&s);
    ps_share_init(&s);
    int r = 0;
    while (r >= 0 && s.n_gone < params->n_trainers) {
        r = one_turn(&s, err);
    }
    if (r < 0) {
        fault_from_err(&s.fault, r, &s.params.self, err);
        tell_all(&s);
        tell_late_comers(&s);
        r = fault_to_err(&s.fault, err);
    } else {
        fill_stats(&s, ret_stats);
    }
    *ret_fault = s.fault;
    ps_round_done(&s);
    while (s.peers.len > 0) {
        drop_peer(&s, s.peers.items[0]);
    }
    shm_peers_done(&s.shm);
    vec_done(&s.peers);
    vec_done(&s.round_ns);
    free(s.trainers);
    (void)close(s.listener.fd); /* a listener has nothing to lose */
    return r;
}
