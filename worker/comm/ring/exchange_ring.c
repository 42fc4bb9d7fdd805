/* The life and the communication thread of a worker's exchange, see exchange_ring.h; its calls are
 * those of the mailbox. Each turn of its loop connects, reads, sends heartbeats and
 * writes, and works on the one job that the worker waits for (mailbox.h). Only this thread uses the
 * connections. */
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "worker/comm/ring/ring_internal.h"

#define TURN_BYTES ((size_t)1 << 20)
#define TICK_MS 250
#define DIAL_TICK_MS 20
#define LATE_NS INT64_C(2000000000)

static void count_bytes(const struct ring *r, uint64_t *ret_tx, uint64_t *ret_rx)
{
    *ret_tx = r->next.conn.bytes_tx + (r->prev != NULL ? r->prev->conn.bytes_tx : 0);
    *ret_rx = r->next.conn.bytes_rx + (r->prev != NULL ? r->prev->conn.bytes_rx : 0);
}

/* ---- jobs ---- */

/* Once in each turn. */
static void look_into_mailbox(struct ring *r)
{
    struct ring_round *round = &r->round;
    mailbox_look(&r->box, round->is_new, round->n_new);
    if (r->box.doing == JOB_ROUND) {
        round->grads = r->box.doing_grads;
        round->params = r->box.doing_params;
        round->ready_offset = r->box.doing_ready_offset;
    }
}

static void finish_round(struct ring *r)
{
    uint64_t tx, rx;
    count_bytes(r, &tx, &rx);
    r->box.doing_times.done_ns = clock_monotonic_ns();
    r->box.doing_times.bytes_tx = tx - r->job_bytes_tx;
    r->box.doing_times.bytes_rx = rx - r->job_bytes_rx;
    mailbox_finish(&r->box);
    ring_round_next(r);
}

/* READY goes round from rank 0 when every rank waits, then RELEASE. */
static void continue_barrier(struct ring *r)
{
    const bool is_first = r->params.gang.self.index == 0;
    if (!r->ready_sent && (is_first || r->ready_came)) {
        r->ready_sent = true;
        conn_send(&r->next.conn, FRAME_READY, NULL, 0);
    }
    if (r->n_ranks > 1 && !(is_first ? r->ready_came : r->release_came)) {
        return;
    }
    if (ring_next(r->n_ranks, r->params.gang.self.index) != 0) {
        conn_send(&r->next.conn, FRAME_RELEASE, NULL, 0);
    }
    r->ready_came = r->release_came = r->ready_sent = false;
    mailbox_finish(&r->box);
}

static void say_goodbye(struct ring *r)
{
    struct conn *conns[2];
    const size_t n = ring_conns(r, conns);
    meet_goodbye(&r->meet, conns, n);
}

/* A neighbour that has said goodbye takes no part in another step or barrier. */
static int check_gone(struct ring *r, struct err *err)
{
    const struct meet_peer *gone = r->n_ranks > 1 && r->next.state == MEET_GONE     ? &r->next
                                   : r->prev != NULL && r->prev->state == MEET_GONE ? r->prev
                                                                                    : NULL;
    if (gone == NULL) {
        return 0;
    }
    const int e = err_set(err, EPROTO, "it finished after %" PRIu64 " steps, but others continue",
                          r->round.step);
    return meet_blame(&r->meet, &gone->id, NULL, e, err);
}

/* Its gradients came before this rank has reached the barrier, so that no check refused them. */
static int check_barrier(struct ring *r, struct err *err)
{
    const int e = ring_round_check_barrier(r, err);
    return e < 0 ? meet_blame(&r->meet, &r->prev->id, NULL, e, err) : 0;
}

/* Begins a job. 1: the thread is done; -ECANCELED: the worker gives up. */
static int work(struct ring *r, struct err *err)
{
    if (r->box.doing == JOB_NONE) {
        return 0;
    }
    if (!ring_all_joined(r)) {
        /* A neighbour without a handshake cannot learn which rank gave up: allow the
         * handshakes some time. */
        bool is_late =
            r->box.doing == JOB_ABANDON &&
            r->meet.now_ns - r->box.job_ns >= heartbeat_limit_ns(r->params.gang.silence_ns) / 2;
        return is_late ? -ECANCELED : 0;
    }
    if (r->box.doing == JOB_ABANDON) {
        return -ECANCELED; /* mailbox_fail takes the fault out of the mailbox */
    }
    if (r->box.begun) {
        return 0;
    }
    r->box.begun = true;
    if (r->box.doing == JOB_GOODBYE) {
        say_goodbye(r);
        return 1;
    }
    if (r->box.doing == JOB_ROUND) {
        count_bytes(r, &r->job_bytes_tx, &r->job_bytes_rx);
        r->box.doing_times = (struct round_times){0};
    }
    const int e = check_gone(r, err);
    return e < 0 || r->box.doing != JOB_BARRIER ? e : check_barrier(r, err);
}

/* ---- turns ---- */

static int check_rendezvous(struct ring *r, struct err *err)
{
    struct meet_absent absent = {0};
    struct frame_id prev = r->next.id;
    prev.index = ring_prev(r->n_ranks, r->params.gang.self.index);
    const bool is_due = r->n_ranks > 1 && meet_is_due(&r->meet);
    if (is_due && r->next.state < MEET_JOINED) {
        meet_absent_add(&absent, &r->next.id, &r->next.dial);
    }
    if (is_due && r->prev == NULL) {
        meet_absent_add(&absent, &prev, NULL);
    }
    return meet_absent_check(&r->meet, &absent, err);
}

enum { AT_WAKE, AT_NEXT, AT_PREV, AT_MEET };

/* For wait_turn. */
static struct pollfd *new_fds(const struct ring *r)
{
    return xnew_array(struct pollfd, AT_MEET + 1 + r->meet.guests.len);
}

/* Sleeps until there is something to do. */
static void wait_turn(struct ring *r, struct pollfd *fds)
{
    const bool dials = r->next.state == MEET_DIAL;
    fds[AT_WAKE] = (struct pollfd){.fd = r->box.wake_fd, .events = POLLIN};
    fds[AT_NEXT] = dials ? (struct pollfd){.fd = r->next.dial.fd, .events = POLLOUT}
                         : conn_watch(&r->next.conn);
    fds[AT_PREV] = (struct pollfd){.fd = -1};
    if (r->prev != NULL) {
        conn_wake_at_frame(&r->prev->conn);
        fds[AT_PREV] = conn_watch(&r->prev->conn);
    }
    const size_t n = AT_MEET + meet_poll(&r->meet, fds + AT_MEET);
    (void)poll(fds, n, dials ? DIAL_TICK_MS : TICK_MS); /* on an error the turn finds nothing */
    uint64_t count;
    if (fds[AT_WAKE].revents != 0 && read(r->box.wake_fd, &count, sizeof(count)) < 0) {
        return; /* fails only with EAGAIN: another turn has read the wake-up */
    }
}

static int read_all(struct ring *r, const struct pollfd *fds, struct err *err)
{
    int e = ring_prev_turn(r, fds[AT_PREV].fd >= 0, err); /* also what is no whole frame */
    const bool is_readable = fds[AT_NEXT].fd >= 0 && fds[AT_NEXT].revents != 0;
    e = e < 0 ? e : ring_next_turn(r, is_readable, err);
    return e < 0 ? e : ring_guests_turn(r, fds + AT_MEET, err);
}

/* Sends what the sockets take, slice by slice: what goes next is decided when
 * there is room for it. */
static int write_all(struct ring *r, struct err *err)
{
    struct conn *next = &r->next.conn;
    const uint64_t begin = next->bytes_tx;
    int e = 0;
    if (r->next.state >= MEET_HANDSHAKE && next->fd >= 0) {
        bool is_full;
        do {
            e = conn_pump_tx(next, TURN_BYTES, err);
            is_full = conn_wants_tx(next);
            ring_round_advance(r);
        } while (e >= 0 && !is_full && conn_wants_tx(next) && next->bytes_tx - begin < TURN_BYTES);
    }
    if (e >= 0 && r->prev != NULL && r->prev->conn.fd >= 0) {
        ring_round_tell(r);
        e = conn_pump_tx(&r->prev->conn, TURN_BYTES, err);
    }
    return e;
}

/* 0: continue; 1: done; -Exxx: failed. */
static int one_turn(struct ring *r, struct err *err)
{
    _cleanup_(freep) struct pollfd *fds = new_fds(r);
    wait_turn(r, fds);
    r->meet.now_ns = clock_monotonic_ns();
    int e = meet_check_self(&r->meet, err);
    e = e < 0 ? e : read_all(r, fds, err);
    if (e >= 0) {
        look_into_mailbox(r);
        e = work(r, err);
    }
    if (e == 0 && r->box.begun && r->box.doing == JOB_BARRIER) {
        continue_barrier(r);
    }
    if (e == 0) {
        ring_round_advance(r);
        e = mailbox_check_main(&r->box, r->meet.now_ns, err);
    }
    e = e != 0 ? e : ring_check_life(r, err);
    e = e != 0 ? e : write_all(r, err);
    if (e == 0 && r->box.begun && r->box.doing == JOB_ROUND && ring_round_is_done(r)) {
        finish_round(r);
    }
    return e != 0 ? e : check_rendezvous(r, err);
}

/* ---- faults ---- */

/* To both neighbours, who pass it on: whoever is left hears of it from one side or the other. */
static void tell_both(struct ring *r)
{
    struct conn *conns[2];
    const size_t n = ring_conns(r, conns);
    meet_send_fault(&r->meet, conns, n);
    meet_farewell(&r->meet, conns, n, MEET_FAREWELL_NS);
}

/* Neighbours that connect late must learn the cause too: they would blame a rank that refuses the
 * connection. */
static void tell_late_comers(struct ring *r)
{
    const int64_t end_ns = r->meet.now_ns + LATE_NS;
    struct err ignored;
    /* A neighbour that has joined got the report; what is still read of it, such as its
     * end, would end this. */
    struct conn *told[2];
    const size_t n_told = ring_conns(r, told);
    for (size_t i = 0; i < n_told; i++) {
        conn_close(told[i]);
    }
    while (!ring_all_joined(r) && r->meet.now_ns < end_ns &&
           r->meet.now_ns < r->meet.rendezvous_by_ns) {
        _cleanup_(freep) struct pollfd *fds = new_fds(r);
        wait_turn(r, fds);
        r->meet.now_ns = clock_monotonic_ns();
        if (read_all(r, fds, &ignored) < 0 || write_all(r, &ignored) < 0) {
            return;
        }
        tell_both(r);
    }
}

static void fail(struct ring *r, int e, const struct err *err)
{
    const bool is_abandoned = mailbox_fail(&r->box, &r->meet.fault, e, err);
    tell_both(r);
    tell_late_comers(r);
    if (!is_abandoned) {
        mailbox_report_fault(&r->box, &r->meet.fault);
    }
}

static void *ring_main(void *ring)
{
    struct ring *r = ring;
    struct err err = {0};
    meet_begin(&r->meet);
    int e;
    do {
        e = one_turn(r, &err);
    } while (e == 0);
    if (e < 0) {
        fail(r, e, &err);
    }
    ring_peers_done(r);
    mailbox_end(&r->box, &r->meet.fault);
    return NULL;
}

/* ---- life ---- */

void exchange_ring_digest(const char *model, uint64_t seed, const struct slices *slices,
                          enum exchange_transport transport, uint8_t ret[static AUTH_DIGEST_SIZE])
{
    _cleanup_(freep) char *text =
        xasprintf("AllReduce Sync FP32 model=%s seed=%" PRIu64 " params=%zu workers=%" PRIu32
                  " slices=%" PRIu32 " transport=%s",
                  model, seed, slices->n_params, slices->n_servers, slices->n,
                  exchange_transport_names[transport]);
    auth_sha256(text, strlen(text), ret);
}

static void free_memory(struct ring *r)
{
    fd_close(&r->params.gang.listen_fd);
    ring_round_done(r);
    free(r);
}

static void worker_free(struct exchange *x)
{
    struct ring *r = (struct ring *)x;
    mailbox_done(&r->box);
    free_memory(r);
}

int exchange_ring_new(const struct exchange_ring_params *params, struct exchange **ret,
                      struct err *err)
{
    const struct mailbox_params box = {params->gang.self, params->slices, params->owner,
                                       worker_free};
    struct ring *r = xnew(struct ring);
    r->params = *params;
    r->n_ranks = params->slices.n_servers;
    meet_init(&r->meet, &params->gang);
    r->meet.relays = true;
    ring_round_init(r);
    int e = mailbox_init(&r->box, &box, err);
    if (e < 0) {
        free_memory(r);
        return e;
    }
    ring_peers_init(r, &params->next);
    e = mailbox_start(&r->box, ring_main, err);
    if (e < 0) {
        worker_free(&r->box.base);
        return e;
    }
    *ret = &r->box.base;
    return 0;
}
