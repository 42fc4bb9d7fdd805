/* The loop of a parameter server: accepts and drops connections, reads and writes in turns. See
 * ps_server.h; the rounds are in ps_round.c. */
#include "worker/comm/ps/ps_server.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "worker/comm/ps/ps_internal.h"

/* Per connection and direction. Turns are short and fair, and the credits that a slice has freed
 * leave before the next one is read. */
#define TURN_BYTES ((size_t)1 << 20)
#define LATE_NS INT64_C(2000000000)
#define TICK_MS 250

/* ---- connections ---- */

static void free_trainer(struct ps_peer *peer)
{
    if (peer != NULL) {
        conn_close(&peer->conn);
        free(peer->is_sent);
        free(peer);
    }
}

static bool all_joined(const struct ps_server *s)
{
    return s->n_joined == s->params.n_trainers;
}

/* A host of meet.h, as the next one. */
static int admit(void *ctx, const struct frame_id *id, struct err *err)
{
    const struct ps_server *s = ctx;
    if (id->role != ROLE_TRAINER || id->index >= s->params.n_trainers) {
        return err_set(err, EPROTO, "this run has %" PRIu32 " trainers", s->params.n_trainers);
    }
    if (s->trainers[id->index] != NULL) {
        return 0;
    }
    return 1;
}

static void welcome(void *ctx, struct meet_peer *guest)
{
    struct ps_server *s = ctx;
    struct ps_peer *peer = xnew(struct ps_peer);
    s->trainers[guest->id.index] = peer;
    peer->conn = meet_take_conn(guest);
    peer->conn.wire = s->params.wire;
    peer->is_sent = xnew_array(bool, s->n_slices);
    s->n_joined++;
    s->meet.has_all = all_joined(s);
}

/* ---- turns ---- */

/* -ECONNRESET: this trainer is lost, and no replica is blamed yet. */
static int read_peer(struct ps_server *s, struct ps_peer *peer, struct err *err)
{
    static const struct conn_handler handler = {ps_round_place, ps_round_frame, ps_round_part};
    const bool has_left = peer->gone; /* it has said goodbye: its end is no fault */
    int r = conn_pump_rx(&peer->conn, s->meet.now_ns, TURN_BYTES, &handler, s, err);
    return r == 0 || has_left ? 0
           : r == -ECONNRESET ? r
                              : meet_blame(&s->meet, &peer->conn.peer, NULL, r, err);
}

/* Sums are made slice by slice and in trainer order: what is added at once need not wait in a
 * buffer, out of the cache. */
static int by_order_of_sums(const void *a, const void *b)
{
    const struct ps_peer *p = *(struct ps_peer *const *)a, *q = *(struct ps_peer *const *)b;
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

static int read_all(struct ps_server *s, const struct pollfd *fds, struct err *err)
{
    const uint32_t n = s->params.n_trainers;
    const struct meet_host host = {admit, welcome, s};
    _cleanup_(freep) struct ps_peer **list = xnew_array(struct ps_peer *, n);
    size_t n_list = 0;
    for (uint32_t t = 0; t < n; t++) {
        if (fds[t].fd >= 0 && fds[t].revents != 0) {
            list[n_list++] = s->trainers[t];
        }
    }
    qsort(list, n_list, sizeof(*list), by_order_of_sums);
    for (size_t i = 0; i < n_list; i++) {
        int r = read_peer(s, list[i], err);
        if (r == -ECONNRESET) {
            struct err other;
            r = read_last_words(s, &other);
            *err = r < 0 ? other : *err;
            return r < 0 ? r : meet_blame(&s->meet, &list[i]->conn.peer, NULL, -ECONNRESET, err);
        }
        if (r < 0) {
            return r;
        }
    }
    return meet_guests_turn(&s->meet, &host, fds + n, err);
}

static int write_all(struct ps_server *s, struct err *err)
{
    for (uint32_t t = 0; t < s->params.n_trainers; t++) {
        struct ps_peer *p = s->trainers[t];
        if (p != NULL && conn_wants_tx(&p->conn)) {
            int r = conn_pump_tx(&p->conn, TURN_BYTES, err);
            if (r < 0) {
                return r;
            }
        }
        if (p != NULL && p->gone && !conn_wants_tx(&p->conn)) {
            conn_close(&p->conn); /* the trainer waits for it in conn_farewell */
        }
    }
    return 0;
}

static int check_life(struct ps_server *s, struct err *err)
{
    for (uint32_t t = 0; t < s->params.n_trainers; t++) {
        struct ps_peer *p = s->trainers[t];
        const int r = p == NULL || p->gone ? 0 : meet_beat(&s->meet, &p->conn, NULL, err);
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

static int check_rendezvous(struct ps_server *s, struct err *err)
{
    if (all_joined(s) || s->meet.now_ns < s->meet.rendezvous_by_ns) {
        return 0;
    }
    if (meet_were_away(&s->meet, -ETIMEDOUT, err)) {
        return -ETIMEDOUT;
    }
    _cleanup_(buf_done) struct buf names = BUF_INIT;
    const struct frame_id *self = &s->params.self;
    struct frame_id first = {self->run, self->attempt, ROLE_TRAINER, UINT32_MAX};
    uint32_t n_missing = 0;
    for (uint32_t t = 0; t < s->params.n_trainers; t++) {
        if (s->trainers[t] == NULL) {
            first.index = n_missing == 0 ? t : first.index;
            if (meet_names(&names, n_missing++)) {
                buf_printf(&names, "trainer/%" PRIu32, t);
            }
        }
    }
    meet_names_end(&names, n_missing);
    (void)err_set(err, ETIMEDOUT, "%s did not connect within %.0f s%s", buf_cstr(&names),
                  (double)s->params.rendezvous_ns / 1e9, s->meet.rejected);
    fault_from_err(&s->meet.fault, -ETIMEDOUT, &first, err);
    return -ETIMEDOUT;
}

/* Sleeps until there is something to do. fds gets the trainers in order, then those of meet_poll,
 * then what is shared. */
static void wait_turn(struct ps_server *s, struct pollfd *fds)
{
    size_t n = s->params.n_trainers;
    for (uint32_t t = 0; t < n; t++) {
        const struct ps_peer *p = s->trainers[t];
        fds[t] = p != NULL ? conn_watch(&p->conn) : (struct pollfd){.fd = -1};
    }
    n += meet_poll(&s->meet, fds + n);
    int timeout_ms = TICK_MS;
    n += shm_peers_poll(&s->shm, s->meet.now_ns, fds + n, &timeout_ms);
    (void)poll(fds, n, timeout_ms); /* on an error the turn finds nothing to do */
}

static int one_turn(struct ps_server *s, struct err *err)
{
    _cleanup_(freep) struct pollfd *fds =
        xnew_array(struct pollfd, 2 * s->params.n_trainers + s->meet.guests.len + 2);
    wait_turn(s, fds);
    ps_round_lap(s, &s->stats.wait);
    s->meet.now_ns = s->lap_ns;
    int r = meet_check_self(&s->meet, err);
    r = r < 0 ? r : read_all(s, fds, err);
    ps_round_share(s);
    ps_round_lap(s, &s->stats.receive);
    r = r < 0 ? r : check_life(s, err);
    if (r >= 0) {
        ps_round_look(s);
        r = write_all(s, err);
    }
    r = r < 0 ? r : check_rendezvous(s, err);
    ps_round_lap(s, &s->stats.send);
    return r;
}

/* Sends ABORT to all trainers and waits up to a second, but not for the culprit. A trainer that
 * does not get it in time detects the closed connection. */
static void tell_all(struct ps_server *s)
{
    _cleanup_(freep) struct conn **conns = xnew_array(struct conn *, s->params.n_trainers);
    size_t n = 0;
    for (uint32_t t = 0; t < s->params.n_trainers; t++) {
        struct ps_peer *peer = s->trainers[t];
        if (peer != NULL && !peer->gone && peer->conn.fd >= 0) {
            conns[n++] = &peer->conn;
        }
    }
    meet_send_fault(&s->meet, conns, n);
    meet_farewell(&s->meet, conns, n, MEET_FAREWELL_NS);
}

/* Trainers that connect late must learn the cause too: they would blame a server that refuses the
 * connection. */
static void tell_late_comers(struct ps_server *s)
{
    int64_t end_ns = s->meet.now_ns + LATE_NS;
    struct err ignored;
    while (!all_joined(s) && s->meet.now_ns < end_ns && s->meet.now_ns < s->meet.rendezvous_by_ns &&
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
    struct ps_server s = {.params = *params};
    meet_init(&s.meet, &params->self, s.params.secret, s.params.digest, listen_fd);
    s.meet.handshake_ns = params->handshake_ns;
    s.meet.late = s.late;
    (void)snprintf(s.late, sizeof(s.late), "the handshake took longer than %g s",
                   (double)params->handshake_ns / 1e9); /* fits */
    struct err local;
    err = err != NULL ? err : &local;
    s.trainers = xnew_array(struct ps_peer *, params->n_trainers);
    meet_begin(&s.meet, params->rendezvous_ns, params->silence_ns);
    s.lap_ns = s.meet.now_ns;
    s.lap_cpu_ns = clock_thread_cpu_ns();
    ps_round_init(&s);
    ps_share_init(&s);
    int r = 0;
    while (r >= 0 && s.n_gone < params->n_trainers) {
        r = one_turn(&s, err);
    }
    if (r < 0) {
        fault_from_err(&s.meet.fault, r, &s.params.self, err);
        tell_all(&s);
        tell_late_comers(&s);
        r = fault_to_err(&s.meet.fault, err);
    } else {
        fill_stats(&s, ret_stats);
    }
    *ret_fault = s.meet.fault;
    ps_round_done(&s);
    for (uint32_t t = 0; t < params->n_trainers; t++) {
        free_trainer(s.trainers[t]);
    }
    meet_done(&s.meet);
    shm_peers_done(&s.shm);
    vec_done(&s.round_ns);
    free(s.trainers);
    (void)close(s.meet.listener.fd); /* a listener has nothing to lose */
    return r;
}
