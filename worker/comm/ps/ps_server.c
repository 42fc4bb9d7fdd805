/* The loop of a parameter server: accepts and drops connections, reads and writes in turns. See
 * ps_server.h; the rounds are in ps_round.c. */
#include "worker/comm/ps/ps_server.h"

#include <inttypes.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/mem.h"
#include "worker/comm/link/comm_thread.h"
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

/* ---- threads ---- */

static void wake(const struct ps_server *s)
{
    const uint64_t one = 1;
    (void)!write(s->wake_fd, &one, sizeof(one)); /* fails only if it is readable already */
}

/* This thread has failed: so do all. */
static void pass_on_fault(struct ps_server *s)
{
    struct ps_threads *all = s->threads;
    (void)pthread_mutex_lock(&all->mutex); /* fails only if it is misused, here and below */
    all->fault = all->fault.exit_code == 0 ? s->meet.fault : all->fault;
    (void)pthread_mutex_unlock(&all->mutex);
    for (uint32_t i = 0; i < s->params.slices.n_threads; i++) {
        wake(&all->servers[i]);
    }
}

/* Takes what other threads have for this one. */
static int take_news(struct ps_server *s, struct err *err)
{
    uint64_t count;
    (void)!read(s->wake_fd, &count, sizeof(count)); /* another turn may have read it */
    (void)pthread_mutex_lock(&s->threads->mutex);
    vec_each (struct ps_peer *, it, &s->joined) {
        s->trainers[(*it)->conn.peer.index] = *it;
        s->n_joined++;
    }
    s->joined.len = 0;
    const struct fault fault = s->threads->fault;
    (void)pthread_mutex_unlock(&s->threads->mutex);
    if (fault.exit_code == 0 || s->meet.fault.exit_code != 0) {
        return 0;
    }
    s->meet.fault = fault;
    return fault_to_err(&fault, err);
}

/* A host of meet.h, as the next one: of the first thread, for all. */
static int admit(void *ctx, const struct frame_id *id, struct err *err)
{
    const struct ps_server *s = ctx;
    if (id->role != ROLE_TRAINER || id->index >= s->params.n_trainers) {
        return err_set(err, EPROTO, "this run has %" PRIu32 " trainers", s->params.n_trainers);
    }
    const uint32_t n = s->threads->n_joined[id->index];
    return n < s->params.slices.n_threads ? (int)n + 1 : 0;
}

static void welcome(void *ctx, struct meet_peer *guest)
{
    struct ps_server *s = ctx, *to = &s->threads->servers[guest->number];
    struct ps_peer *peer = xnew(struct ps_peer);
    s->threads->n_joined[guest->id.index]++;
    s->meet.has_all = array_sum(s->threads->n_joined, s->params.n_trainers, n, *n) ==
                      s->params.n_trainers * s->params.slices.n_threads;
    peer->conn = meet_take_conn(guest);
    peer->conn.wire = s->params.wire;
    peer->is_sent = xnew_array(bool, s->n_slices);
    (void)pthread_mutex_lock(&s->threads->mutex);
    *vec_push(&to->joined) = peer;
    (void)pthread_mutex_unlock(&s->threads->mutex);
    wake(to);
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

/* By the first thread, for all. */
static int check_rendezvous(struct ps_server *s, struct err *err)
{
    struct meet_absent absent = {0};
    struct frame_id id = s->params.gang.self;
    id.role = ROLE_TRAINER;
    const bool is_due = s->meet.listener.fd >= 0 && !s->meet.has_all && meet_is_due(&s->meet);
    for (id.index = 0; is_due && id.index < s->params.n_trainers; id.index++) {
        if (s->threads->n_joined[id.index] < s->params.slices.n_threads) {
            meet_absent_add(&absent, &id, NULL);
        }
    }
    return meet_absent_check(&s->meet, &absent, err);
}

/* Sleeps until there is something to do. fds gets the trainers in order, then those of meet_poll,
 * then other threads. 1: those have news. */
static int wait_turn(struct ps_server *s, struct pollfd *fds, struct err *err)
{
    size_t n = s->params.n_trainers;
    for (uint32_t t = 0; t < n; t++) {
        struct ps_peer *p = s->trainers[t];
        fds[t] = p != NULL ? conn_set_watch(&s->conns, t, &p->conn) : (struct pollfd){.fd = -1};
    }
    n += meet_poll(&s->meet, fds + n);
    fds[n] = (struct pollfd){.fd = s->wake_fd, .events = POLLIN};
    const int r = conn_set_wait(&s->conns, fds, n + 1, TICK_MS);
    return r < 0 ? err_set_errno(err, -r, "watch connections") : fds[n].revents != 0;
}

static int one_turn(struct ps_server *s, struct err *err)
{
    _cleanup_(freep) struct pollfd *fds =
        xnew_array(struct pollfd, s->params.n_trainers + s->meet.guests.len + 3);
    const int has_news = wait_turn(s, fds, err);
    ps_round_lap(s, &s->stats.wait_ns);
    s->meet.now_ns = s->lap_ns;
    int r = has_news < 0 ? has_news : meet_check_self(&s->meet, err);
    r = r < 0 || !has_news ? r : take_news(s, err);
    r = r < 0 ? r : read_all(s, fds, err);
    ps_round_lap(s, &s->stats.receive_ns);
    r = r < 0 ? r : check_life(s, err);
    if (r >= 0) {
        ps_round_look(s);
        r = write_all(s, err);
    }
    r = r < 0 ? r : check_rendezvous(s, err);
    ps_round_lap(s, &s->stats.send_ns);
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
    while (s->n_joined < s->params.n_trainers && s->meet.now_ns < end_ns &&
           s->meet.now_ns < s->meet.rendezvous_by_ns && one_turn(s, &ignored) >= 0) {
        tell_all(s);
    }
}

void ps_server_stats_done(struct ps_server_stats *s)
{
    free(s->round_ns);
    *s = (struct ps_server_stats){0};
}

static void *serve(void *server)
{
    struct ps_server *s = server;
    struct err err;
    int r = s->wake_fd < 0 ? err_set_errno(&err, -s->wake_fd, "eventfd") : 0;
    meet_begin(&s->meet);
    s->lap_ns = s->meet.now_ns;
    while (r >= 0 && s->n_gone < s->params.n_trainers) {
        r = one_turn(s, &err);
    }
    if (r < 0) {
        fault_from_err(&s->meet.fault, r, &s->params.gang.self, &err);
        pass_on_fault(s);
        tell_all(s);
        tell_late_comers(s);
    }
    return NULL;
}

static void init(struct ps_server *s, const struct ps_server_params *params, uint32_t thread,
                 struct ps_threads *threads)
{
    *s = (struct ps_server){.params = *params, .threads = threads};
    s->number = slices_server(&params->slices, params->gang.self.index, thread);
    s->first_param = slices_process_params(&params->slices, params->gang.self.index, thread);
    s->params.params += s->first_param;
    s->params.early_bytes /= params->slices.n_threads;
    const int wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    s->wake_fd = wake_fd < 0 ? -errno : wake_fd; /* reported by `serve` */
    s->params.gang.listen_fd = thread == 0 ? params->gang.listen_fd : -1;
    meet_init(&s->meet, &s->params.gang);
    s->trainers = xnew_array(struct ps_peer *, params->n_trainers);
    conn_set_init(&s->conns, params->n_trainers);
    ps_round_init(s);
}

static void done(struct ps_server *s)
{
    ps_round_done(s);
    vec_each (struct ps_peer *, it, &s->joined) {
        free_trainer(*it); /* it came when this thread had ended */
    }
    vec_done(&s->joined);
    for (uint32_t t = 0; t < s->params.n_trainers; t++) {
        free_trainer(s->trainers[t]);
    }
    conn_set_done(&s->conns);
    meet_done(&s->meet);
    vec_done(&s->round_ns);
    free(s->trainers);
    fd_close(&s->wake_fd);
}

/* Runs all threads, the first one in the caller's, until the last has ended. */
static void run_threads(struct ps_threads *all, uint32_t n)
{
    uint32_t n_started = 1;
    for (int code = 0; n_started < n && code == 0; n_started += code == 0) {
        struct ps_server *s = &all->servers[n_started];
        code = comm_thread_start(&s->thread, serve, s);
        if (code != 0) {
            struct err err;
            const int r = err_set_errno(&err, code, "start a thread");
            fault_from_err(&s->meet.fault, r, &s->params.gang.self, &err);
            pass_on_fault(s);
        }
    }
    (void)serve(&all->servers[0]);
    while (n_started-- > 1) {
        (void)pthread_join(all->servers[n_started].thread, NULL); /* it was started */
    }
}

int ps_server_run(const struct ps_server_params *params, struct ps_server_stats *ret_stats,
                  struct fault *ret_fault, struct err *err)
{
    const uint32_t n = params->slices.n_threads;
    struct ps_server *servers = xnew_array(struct ps_server, n);
    struct ps_threads all = {.mutex = PTHREAD_MUTEX_INITIALIZER,
                             .servers = servers,
                             .n_joined = xnew_array(uint32_t, params->n_trainers)};
    for (uint32_t i = 0; i < n; i++) {
        init(&servers[i], params, i, &all);
    }
    run_threads(&all, n);
    *ret_fault = all.fault;
    const int r = all.fault.exit_code != 0 ? fault_to_err(&all.fault, err) : 0;
    if (r == 0) {
        ps_round_stats(servers, n, ret_stats);
    }
    for (uint32_t i = 0; i < n; i++) {
        done(&servers[i]);
    }
    free(all.n_joined);
    free(servers);
    (void)close(params->gang.listen_fd); /* a listener has nothing to lose */
    return r;
}
