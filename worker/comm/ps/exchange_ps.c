/* The life and the communication thread of a trainer's exchange, see exchange_ps.h; its calls are
 * those of the mailbox. Each turn of its loop connects, reads, sends heartbeats
 * and writes on every link, and works on the one job that the trainer waits for (mailbox.h). Only
 * this thread uses the links. */
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "worker/comm/ps/client_internal.h"

#define TURN_BYTES ((size_t)4 << 20)
#define TICK_MS 250
#define DIAL_TICK_MS 20

static uint32_t n_links(const struct client *c)
{
    return c->params.slices.n_servers;
}

static void count_bytes(const struct client *c, uint64_t *ret_tx, uint64_t *ret_rx)
{
    *ret_tx = array_sum(c->links, n_links(c), l, l->peer.conn.bytes_tx);
    *ret_rx = array_sum(c->links, n_links(c), l, l->peer.conn.bytes_rx);
}

static bool all_joined(const struct client *c)
{
    return array_all(c->links, n_links(c), l, l->peer.state == MEET_JOINED);
}

/* ---- jobs ---- */

static void begin_round(struct client *c)
{
    count_bytes(c, &c->job_bytes_tx, &c->job_bytes_rx);
    c->box.doing_times = (struct round_times){0};
    c->n_received = 0;
    memset(c->is_received, 0, c->params.slices.n * sizeof(bool));
    for (uint32_t i = 0; i < n_links(c); i++) {
        struct link *l = &c->links[i];
        l->n_offered = l->n_sent = l->n_received = l->n_told = 0;
    }
}

static bool has_sent_all(const struct client *c, const struct link *l)
{
    return l->n_sent >= c->params.slices.n / n_links(c) && conn_n_bulk(&l->peer.conn) == 0;
}

/* Called after each write: records when the last gradient was handed to the kernel. */
static void note_sent(struct client *c)
{
    if (c->box.doing == JOB_ROUND && c->box.begun && c->box.doing_times.sent_ns == 0 &&
        array_all(c->links, n_links(c), l, has_sent_all(c, l))) {
        c->box.doing_times.sent_ns = clock_monotonic_ns();
    }
}

static void continue_round(struct client *c)
{
    for (uint32_t i = 0; i < n_links(c); i++) {
        link_offer(c, &c->links[i]);
    }
    if (c->n_received < c->params.slices.n) {
        return;
    }
    uint64_t tx, rx;
    count_bytes(c, &tx, &rx);
    c->box.doing_times.done_ns = clock_monotonic_ns();
    c->box.doing_times.bytes_tx = tx - c->job_bytes_tx;
    c->box.doing_times.bytes_rx = rx - c->job_bytes_rx;
    c->step++;
    c->n_received = 0;
    mailbox_finish(&c->box);
}

static void continue_barrier(struct client *c)
{
    if (array_all(c->links, n_links(c), l, l->released)) {
        mailbox_finish(&c->box);
    }
}

static bool is_culprit(const struct client *c, const struct link *l)
{
    const struct fault *f = &c->meet.fault;
    return f->has_peer && f->peer.role == ROLE_PSERVER && f->peer.index == l->peer.id.index;
}

/* The open connections to servers that this trainer has joined. */
static size_t joined_conns(const struct client *c, struct conn **ret)
{
    size_t n = 0;
    for (uint32_t i = 0; i < n_links(c); i++) {
        struct link *l = &c->links[i];
        if (l->peer.state == MEET_JOINED && l->peer.conn.fd >= 0) {
            ret[n++] = &l->peer.conn;
        }
    }
    return n;
}

static void say_goodbye(struct client *c)
{
    _cleanup_(freep) struct conn **conns = xnew_array(struct conn *, n_links(c));
    meet_goodbye(&c->meet, conns, joined_conns(c, conns));
}

/* Begins a job. 1: the thread is done; -ECANCELED: the trainer gives up. */
static int work(struct client *c)
{
    if (c->box.doing == JOB_NONE) {
        return 0;
    }
    if (c->box.doing == JOB_ABANDON) {
        return -ECANCELED; /* mailbox_fail takes the fault out of the mailbox */
    }
    if (!all_joined(c)) {
        return 0;
    }
    if (!c->box.begun) {
        c->box.begun = true;
        switch (c->box.doing) {
        case JOB_ROUND:
            begin_round(c);
            break;
        case JOB_BARRIER:
            for (uint32_t i = 0; i < n_links(c); i++) {
                conn_send(&c->links[i].peer.conn, FRAME_READY, NULL, 0);
            }
            break;
        default:
            say_goodbye(c);
            return 1;
        }
    }
    return 0;
}

static void check_progress(struct client *c)
{
    if (c->box.begun && c->box.doing == JOB_ROUND) {
        continue_round(c);
    } else if (c->box.begun && c->box.doing == JOB_BARRIER) {
        continue_barrier(c);
    }
}

/* ---- turns ---- */

static int check_rendezvous(struct client *c, struct err *err)
{
    struct meet_absent absent = {0};
    for (uint32_t i = 0; meet_is_due(&c->meet) && i < n_links(c); i++) {
        const struct meet_peer *p = &c->links[i].peer;
        if (p->state != MEET_JOINED) {
            meet_absent_add(&absent, &p->id, &p->dial);
        }
    }
    return meet_absent_check(&c->meet, &absent, err);
}

/* Sleeps until there is something to do. fds gets the links in order, the mailbox, and what
 * dials. */
static int wait_turn(struct client *c, struct pollfd *fds, struct err *err)
{
    int timeout_ms = TICK_MS;
    const uint32_t n_wake = n_links(c);
    size_t n = n_wake;
    fds[n++] = (struct pollfd){.fd = c->box.wake_fd, .events = POLLIN};
    for (uint32_t i = 0; i < n_links(c); i++) {
        struct meet_peer *p = &c->links[i].peer;
        if (p->state == MEET_DIAL) {
            fds[i] = (struct pollfd){.fd = -1};
            fds[n++] = (struct pollfd){.fd = p->dial.fd, .events = POLLOUT};
            timeout_ms = DIAL_TICK_MS;
        } else {
            fds[i] = conn_set_watch(&c->conns, i, &p->conn);
        }
    }
    const int r = conn_set_wait(&c->conns, fds, n, timeout_ms);
    uint64_t count;
    if (fds[n_wake].revents != 0) {
        (void)!read(c->box.wake_fd, &count, sizeof(count)); /* another turn may have read it */
    }
    return r < 0 ? err_set_errno(err, -r, "watch connections") : 0;
}

static int link_turn(struct client *c, struct link *l, const struct pollfd *fd, struct err *err)
{
    int r = 0;
    if (l->peer.state == MEET_DIAL) {
        r = link_dial(c, l, err);
    } else if (fd->fd == l->peer.conn.fd && fd->revents != 0) {
        r = link_read(c, l, err);
        link_tell_taken(c, l);
    }
    return r < 0 ? r : link_check_life(c, l, err);
}

/* 0: continue; 1: done; -Exxx: failed. */
static int one_turn(struct client *c, struct pollfd *fds, struct err *err)
{
    int r = wait_turn(c, fds, err);
    c->meet.now_ns = clock_monotonic_ns();
    r = r < 0 ? r : meet_check_self(&c->meet, err);
    for (uint32_t i = 0; r >= 0 && i < n_links(c); i++) {
        r = link_turn(c, &c->links[i], &fds[i], err);
    }
    if (r >= 0) {
        mailbox_look(&c->box, c->is_received, c->n_received);
        r = work(c);
        check_progress(c);
    }
    if (r == 0) {
        r = mailbox_check_main(&c->box, c->meet.now_ns, err);
    }
    for (uint32_t i = 0; r == 0 && i < n_links(c); i++) {
        struct link *l = &c->links[i];
        r = l->peer.state == MEET_DIAL ? 0 : conn_pump_tx(&l->peer.conn, TURN_BYTES, err);
    }
    note_sent(c);
    return r == 0 ? check_rendezvous(c, err) : r;
}

/* The culprit's connection ends too, if this trainer has not joined it: what it still sends is read
 * and discarded. */
static void tell_all(struct client *c)
{
    _cleanup_(freep) struct conn **conns = xnew_array(struct conn *, n_links(c));
    size_t n = joined_conns(c, conns);
    meet_send_fault(&c->meet, conns, n);
    for (uint32_t i = 0; i < n_links(c); i++) {
        struct link *l = &c->links[i];
        if (l->peer.state != MEET_JOINED && l->peer.conn.fd >= 0 && is_culprit(c, l)) {
            conns[n++] = &l->peer.conn;
        }
    }
    meet_farewell(&c->meet, conns, n, MEET_FAREWELL_NS);
}

static bool is_late(const struct link *l)
{
    return l->peer.state != MEET_JOINED && !l->is_over;
}

/* One turn of a server that has not heard of the fault. */
static void late_turn(struct client *c, struct link *l, const struct pollfd *fd)
{
    struct err ignored;
    int r = 0;
    if (l->peer.state == MEET_DIAL) {
        r = link_dial(c, l, &ignored);
    } else if (fd->fd == l->peer.conn.fd && fd->revents != 0) {
        r = link_read(c, l, &ignored);
    }
    r = r < 0 ? r : link_check_life(c, l, &ignored);
    if (r >= 0 && l->peer.state != MEET_DIAL) {
        r = conn_pump_tx(&l->peer.conn, TURN_BYTES, &ignored);
    }
    if (r < 0) {
        conn_close(&l->peer.conn);
        l->is_over = true;
    }
}

/* Servers that this trainer joins late must learn the cause too: they would blame a trainer that
 * does not come, or whose connection ends. */
static void tell_late_comers(struct client *c, struct pollfd *fds)
{
    const int64_t end_ns = c->meet.now_ns + heartbeat_limit_ns(c->params.gang.silence_ns) / 2;
    while (c->meet.now_ns < end_ns && c->meet.now_ns < c->meet.rendezvous_by_ns) {
        if (!array_any(c->links, n_links(c), l, is_late(l) && !is_culprit(c, l))) {
            return;
        }
        struct err ignored;
        if (wait_turn(c, fds, &ignored) < 0) {
            return;
        }
        c->meet.now_ns = clock_monotonic_ns();
        for (uint32_t i = 0; i < n_links(c); i++) {
            struct link *l = &c->links[i];
            if (is_late(l)) {
                late_turn(c, l, &fds[i]);
            }
        }
        tell_all(c);
    }
}

static void fail(struct client *c, int r, const struct err *err, struct pollfd *fds)
{
    const bool is_abandoned = mailbox_fail(&c->box, &c->meet.fault, r, err);
    tell_all(c);
    tell_late_comers(c, fds);
    if (!is_abandoned) {
        mailbox_report_fault(&c->box, &c->meet.fault);
    }
}

static void *client_main(void *client)
{
    struct client *c = client;
    struct err err = {0};
    _cleanup_(freep) struct pollfd *fds = xnew_array(struct pollfd, 2 * n_links(c) + 2);
    conn_set_init(&c->conns, n_links(c));
    meet_begin(&c->meet);
    int r;
    do {
        r = one_turn(c, fds, &err);
    } while (r == 0);
    if (r < 0) {
        fail(c, r, &err, fds);
    }
    for (uint32_t i = 0; i < n_links(c); i++) {
        meet_peer_done(&c->links[i].peer);
    }
    conn_set_done(&c->conns);
    mailbox_end(&c->box, &c->meet.fault);
    return NULL;
}

/* ---- life ---- */

static void client_free(struct exchange *x)
{
    struct client *c = (struct client *)x;
    mailbox_done(&c->box);
    free(c->links);
    free(c->is_received);
    free(c);
}

int exchange_ps_new(const struct exchange_ps_params *params, struct exchange **ret, struct err *err)
{
    const struct mailbox_params box = {params->gang.self, params->slices, params->owner,
                                       client_free};
    struct client *c = xnew(struct client);
    int r = mailbox_init(&c->box, &box, err);
    if (r < 0) {
        free(c);
        return r;
    }
    c->params = *params;
    c->params.servers = NULL;
    meet_init(&c->meet, &params->gang);
    c->links = xnew_array(struct link, params->slices.n_servers);
    c->is_received = xnew_array(bool, params->slices.n);
    for (uint32_t i = 0; i < params->slices.n_servers; i++) {
        const uint32_t process = i / params->slices.n_threads;
        meet_peer_init(&c->meet, &c->links[i].peer, ROLE_PSERVER, process,
                       &params->servers[process]);
    }
    r = mailbox_start(&c->box, client_main, err);
    if (r < 0) {
        client_free(&c->box.base);
        return r;
    }
    *ret = &c->box.base;
    return 0;
}
