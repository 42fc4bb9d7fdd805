/* The communication thread of a trainer. Each turn of its loop connects, reads, sends heartbeats
 * and writes on every link, and works on the one job that the trainer waits for. Only this thread
 * uses the links; the mailbox (job, job_done, ended, fault) is shared with exchange_ps.c under the
 * mutex. */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/exit_code.h"
#include "base/mem.h"
#include "worker/comm/client_internal.h"

#define TURN_BYTES ((size_t)4 << 20)
#define TICK_MS 250
#define DIAL_TICK_MS 20
#define FAREWELL_NS INT64_C(1000000000)

static uint32_t n_links(const struct client *c)
{
    return c->params.slices.n_servers;
}

static void count_bytes(const struct client *c, uint64_t *ret_tx, uint64_t *ret_rx)
{
    *ret_tx = *ret_rx = 0;
    for (uint32_t i = 0; i < n_links(c); i++) {
        *ret_tx += c->links[i].conn.bytes_tx;
        *ret_rx += c->links[i].conn.bytes_rx;
    }
}

static bool all_joined(const struct client *c)
{
    for (uint32_t i = 0; i < n_links(c); i++) {
        if (c->links[i].state != LINK_JOINED) {
            return false;
        }
    }
    return true;
}

/* ---- jobs ---- */

/* Reads and writes the mailbox, once in each turn. */
static void look_into_mailbox(struct client *c)
{
    (void)pthread_mutex_lock(&c->mutex); /* cannot fail: initialised, not recursive */
    const bool is_new = c->doing == JOB_NONE && c->job != JOB_NONE && !c->job_done;
    if (is_new || c->job == JOB_ABANDON) { /* which does not wait for a round */
        c->begun = c->begun && c->doing == c->job;
        c->job_ns = c->doing == c->job ? c->job_ns : clock_monotonic_ns();
        c->doing = c->job;
        c->doing_grads = c->grads;
        c->doing_params = c->new_params;
    }
    c->doing_ready_offset = c->ready_offset;
    c->doing_main_waits = c->main_waits;
    if (c->n_passed_on < c->n_received) {
        c->n_passed_on = c->n_received;
        memcpy(c->has_arrived, c->is_received, c->params.slices.n * sizeof(bool));
        (void)pthread_cond_broadcast(&c->cond);
    }
    (void)pthread_mutex_unlock(&c->mutex);
}

static void finish_job(struct client *c)
{
    (void)pthread_mutex_lock(&c->mutex);
    c->round_times = c->doing_times;
    memcpy(c->has_arrived, c->is_received, c->params.slices.n * sizeof(bool));
    c->n_passed_on = c->n_received;
    c->job_done = c->job == c->doing; /* not if the trainer has given up since */
    (void)pthread_cond_broadcast(&c->cond);
    (void)pthread_mutex_unlock(&c->mutex);
    c->doing = JOB_NONE;
}

static void begin_round(struct client *c)
{
    count_bytes(c, &c->job_bytes_tx, &c->job_bytes_rx);
    c->doing_times = (struct round_times){0};
    c->n_received = c->n_passed_on = 0;
    c->version = c->step > 0 ? c->least_version : 0;
    c->least_version = UINT32_MAX;
    memset(c->is_received, 0, c->params.slices.n * sizeof(bool));
    for (uint32_t i = 0; i < n_links(c); i++) {
        struct link *l = &c->links[i];
        l->n_offered = l->n_sent = l->n_received = l->n_told = 0;
    }
}

/* Called after each write: records when the last gradient was handed to the kernel. */
static void note_sent(struct client *c)
{
    if (c->doing != JOB_ROUND || !c->begun || c->doing_times.sent_ns != 0) {
        return;
    }
    for (uint32_t i = 0; i < n_links(c); i++) {
        const struct link *l = &c->links[i];
        if (l->n_sent < c->params.slices.n / n_links(c) || conn_has_bulk(&l->conn)) {
            return;
        }
    }
    c->doing_times.sent_ns = clock_monotonic_ns();
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
    c->doing_times.done_ns = clock_monotonic_ns();
    c->doing_times.bytes_tx = tx - c->job_bytes_tx;
    c->doing_times.bytes_rx = rx - c->job_bytes_rx;
    c->step++;
    finish_job(c);
}

static void send_all(struct client *c, enum frame_type type)
{
    for (uint32_t i = 0; i < n_links(c); i++) {
        conn_send(&c->links[i].conn, type, NULL, 0);
    }
}

static void continue_barrier(struct client *c)
{
    for (uint32_t i = 0; i < n_links(c); i++) {
        if (!c->links[i].released) {
            return;
        }
    }
    finish_job(c);
}

/* Ends the connections; what the peers still send is read and discarded. */
static void farewell(struct client *c, int64_t limit_ns)
{
    struct conn **conns = xnew_array(struct conn *, n_links(c));
    size_t n = 0;
    for (uint32_t i = 0; i < n_links(c); i++) {
        struct link *l = &c->links[i];
        bool is_culprit = c->doing_fault.has_peer && c->doing_fault.peer.role == ROLE_PSERVER &&
                          c->doing_fault.peer.index == i;
        if (l->conn.fd >= 0 && !(is_culprit && l->conn.secured)) {
            conns[n++] = &l->conn;
        } else if (l->conn.fd >= 0) {
            struct err ignored;
            (void)conn_pump_tx(&l->conn, SIZE_MAX, &ignored); /* no wait for the culprit */
        }
    }
    conn_farewell(conns, n, limit_ns);
    free(conns);
}

/* Begins a job. 1: the thread is done; -ECANCELED: the trainer gives up. */
static int work(struct client *c)
{
    if (c->doing == JOB_NONE) {
        return 0;
    }
    if (!all_joined(c)) {
        /* A server without a handshake cannot learn which peer gave up: allow the
         * handshakes some time. */
        bool is_late = c->doing == JOB_ABANDON &&
                       c->now_ns - c->job_ns >= heartbeat_limit_ns(c->params.silence_ns) / 2;
        return is_late ? -ECANCELED : 0;
    }
    if (c->doing == JOB_ABANDON) {
        return -ECANCELED; /* client_abandon has put the fault into the mailbox */
    }
    if (!c->begun) {
        c->begun = true;
        switch (c->doing) {
        case JOB_ROUND:
            begin_round(c);
            break;
        case JOB_BARRIER:
            send_all(c, FRAME_READY);
            break;
        default:
            send_all(c, FRAME_GOODBYE);
            farewell(c, heartbeat_limit_ns(c->params.silence_ns));
            return 1;
        }
    }
    return 0;
}

static void check_progress(struct client *c)
{
    if (c->begun && c->doing == JOB_ROUND) {
        continue_round(c);
    } else if (c->begun && c->doing == JOB_BARRIER) {
        continue_barrier(c);
    }
}

/* ---- turns ---- */

static int check_self(struct client *c, struct err *err)
{
    int64_t away_ns;
    if (!heartbeat_was_away(&c->self, c->now_ns, &away_ns)) {
        return 0;
    }
    return fault_from_absence(&c->doing_fault, away_ns, &c->params.self, err);
}

/* Everyone waits for the main thread of this trainer while it computes. */
static int check_main(struct client *c, struct err *err)
{
    if (!c->params.watches_main || c->doing_main_waits) {
        c->watchdog = (struct watchdog){0};
        return 0;
    }
    int64_t cpu_ns = clock_process_cpu_ns() - clock_thread_cpu_ns();
    if (!watchdog_is_stuck(&c->watchdog, cpu_ns, c->now_ns)) {
        return 0;
    }
    return err_set(err, EDEADLK,
                   "the main thread has done nothing for %.0f s: nobody reads its stdout, its data "
                   "do not come, or it was stopped",
                   (double)WATCHDOG_LIMIT_NS / 1e9);
}

static int check_rendezvous(struct client *c, struct err *err)
{
    if (c->now_ns < c->rendezvous_by_ns || all_joined(c)) {
        return 0;
    }
    if (link_were_away(c, -ETIMEDOUT, err)) {
        return -ETIMEDOUT;
    }
    struct buf text = BUF_INIT;
    const struct frame_id *first = NULL;
    for (uint32_t i = 0; i < n_links(c); i++) {
        const struct link *l = &c->links[i];
        if (l->state == LINK_JOINED) {
            continue;
        }
        first = first == NULL ? &l->peer : first;
        buf_printf(&text, "%spserver/%" PRIu32 " (%.100s%s%s)", text.len > 0 ? ", " : "", i,
                   l->dial.addr.text, l->dial.why[0] != '\0' ? ": " : "", l->dial.why);
    }
    (void)err_set(err, ETIMEDOUT, "%.300s: no answer within %.0f s", buf_cstr(&text),
                  (double)c->params.rendezvous_ns / 1e9);
    buf_done(&text);
    fault_from_err(&c->doing_fault, -ETIMEDOUT, first, err);
    return -ETIMEDOUT;
}

/* Sleeps until there is something to do. fds gets the links in order, the mailbox, those who ask
 * for memory, and the servers that are asked. */
static void wait_turn(struct client *c, struct pollfd *fds)
{
    int timeout_ms = TICK_MS;
    uint32_t n = n_links(c);
    for (uint32_t i = 0; i < n; i++) {
        struct link *l = &c->links[i];
        if (l->state == LINK_DIAL) {
            fds[i] = (struct pollfd){.fd = l->dial.fd, .events = POLLOUT};
            timeout_ms = DIAL_TICK_MS;
        } else {
            fds[i] = conn_watch(&l->conn);
        }
    }
    fds[n] = (struct pollfd){.fd = c->wake_fd, .events = POLLIN};
    fds[n + 1] =
        (struct pollfd){.fd = net_listener_poll(&c->lend.listener, c->now_ns), .events = POLLIN};
    for (uint32_t i = 0; i < n; i++) {
        const struct lend_pair *p = &c->links[i].pair;
        fds[n + 2 + i] = (struct pollfd){.fd = p->ask.fd, .events = POLLIN};
        if (p->state == LEND_ASKS && p->ask.fd < 0) {
            timeout_ms = SHM_ASK_AGAIN_MS; /* no descriptor says when */
        }
    }
    (void)poll(fds, 2 * n + 2, timeout_ms); /* on an error the turn finds nothing to do */
    uint64_t count;
    if (fds[n].revents != 0 && read(c->wake_fd, &count, sizeof(count)) < 0) {
        return; /* fails only with EAGAIN: another turn has read the wake-up */
    }
    if (fds[n + 1].revents != 0) {
        lend_answer(&c->lend, c->params.n_trainers, c->now_ns);
    }
}

static int link_turn(struct client *c, struct link *l, const struct pollfd *fd, struct err *err)
{
    int r = 0;
    if (l->state == LINK_DIAL) {
        r = link_dial(c, l, err);
    } else if (fd->fd == l->conn.fd && fd->revents != 0) {
        r = link_read(c, l, err);
        link_tell_taken(c, l);
    }
    r = r < 0 ? r : client_share_turn(c, l, err);
    return r < 0 ? r : link_check_life(c, l, err);
}

/* 0: continue; 1: done; -Exxx: failed. */
static int one_turn(struct client *c, struct pollfd *fds, struct err *err)
{
    wait_turn(c, fds);
    c->now_ns = clock_monotonic_ns();
    int r = check_self(c, err);
    for (uint32_t i = 0; r >= 0 && i < n_links(c); i++) {
        r = link_turn(c, &c->links[i], &fds[i], err);
    }
    if (r >= 0) {
        look_into_mailbox(c);
        r = work(c);
        check_progress(c);
    }
    if (r == 0) {
        r = check_main(c, err);
    }
    for (uint32_t i = 0; r == 0 && i < n_links(c); i++) {
        struct link *l = &c->links[i];
        r = l->state == LINK_DIAL ? 0 : conn_pump_tx(&l->conn, TURN_BYTES, err);
    }
    note_sent(c);
    return r == 0 ? check_rendezvous(c, err) : r;
}

static void tell_all(struct client *c)
{
    uint8_t payload[FRAME_SMALL_PAYLOAD];
    size_t len = fault_to_abort(&c->doing_fault, &c->params.self, payload);
    for (uint32_t i = 0; i < n_links(c); i++) {
        struct link *l = &c->links[i];
        if (l->state == LINK_JOINED && l->conn.fd >= 0) {
            conn_drop_queue(&l->conn);
            conn_send(&l->conn, FRAME_ABORT, payload, len);
        }
    }
    farewell(c, FAREWELL_NS);
}

static void fail(struct client *c, int r, struct err *err)
{
    bool is_abandoned = c->doing == JOB_ABANDON;
    if (is_abandoned) {
        (void)pthread_mutex_lock(&c->mutex);
        c->doing_fault = c->fault;
        (void)pthread_mutex_unlock(&c->mutex);
    }
    fault_from_err(&c->doing_fault, r, &c->params.self, err);
    tell_all(c);
    if (!is_abandoned && c->params.on_fault != NULL) {
        struct exchange_fault f = {.exit_code = c->doing_fault.exit_code};
        if (c->doing_fault.has_peer) {
            frame_id_name(&c->doing_fault.peer, f.peer);
        }
        c->params.on_fault(c->params.ctx, &f, c->doing_fault.message);
    }
}

void *client_main(void *client)
{
    struct client *c = client;
    struct err err = {0};
    struct pollfd *fds = xnew_array(struct pollfd, 2 * n_links(c) + 2);
    c->now_ns = clock_monotonic_ns();
    c->rendezvous_by_ns = c->now_ns + c->params.rendezvous_ns;
    heartbeat_begin(&c->self, c->params.silence_ns, c->now_ns);
    int r;
    do {
        r = one_turn(c, fds, &err);
    } while (r == 0);
    if (r < 0) {
        fail(c, r, &err);
    }
    for (uint32_t i = 0; i < n_links(c); i++) {
        link_done(&c->links[i]);
    }
    free(fds);
    (void)pthread_mutex_lock(&c->mutex);
    c->fault = c->doing_fault;
    c->ended = true;
    c->job_done = true;
    (void)pthread_cond_broadcast(&c->cond);
    (void)pthread_mutex_unlock(&c->mutex);
    return NULL;
}
