/* The rendezvous of a mesh: a rank dials those before it and accepts those after it. Strangers
 * (wrong secret, another run or attempt, garbage, a second process of a rank) are rejected and
 * change nothing. See mesh.h. */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "worker/comm/collective/mesh.h"

#define TURN_BYTES ((size_t)64 << 10)
#define HANDSHAKE_NS INT64_C(10000000000)
#define LATE_NS INT64_C(2000000000)
#define DIAL_TICK_MS 20
/* What the digest of a rank is of: other settings than those of a training. */
#define DIFFERS "its sizes, calls, algorithm, backend or number of ranks"

void mesh_peers_init(struct mesh *m, const struct net_addr *addrs)
{
    m->peers = xnew_array(struct mesh_peer, m->params.n_ranks);
    for (uint32_t i = 0; i < m->params.n_ranks; i++) {
        struct mesh_peer *p = &m->peers[i];
        p->id = m->params.self;
        p->id.index = i;
        p->conn.fd = -1;
        p->dial.fd = -1;
        if (i < mesh_self(m)) {
            dial_init(&p->dial, &addrs[i]);
        }
        meet_dials(&p->handshake, &m->params.self, m->params.secret, m->params.digest);
    }
}

static void free_guest(struct mesh_peer *p)
{
    conn_close(&p->conn);
    free(p);
}

void mesh_peers_done(struct mesh *m)
{
    for (uint32_t i = 0; i < m->params.n_ranks; i++) {
        dial_done(&m->peers[i].dial);
        conn_close(&m->peers[i].conn);
    }
    free(m->peers);
    vec_each (struct mesh_peer *, it, &m->guests) {
        free_guest(*it);
    }
    vec_done(&m->guests);
}

static bool all_joined(const struct mesh *m)
{
    return m->n_joined == m->params.n_ranks - 1;
}

/* ---- ranks before this one ---- */

static int dial_peer(struct mesh *m, struct mesh_peer *p, struct err *err)
{
    const int e = meet_dial(&p->dial, &p->conn, &p->handshake, m->now_ns, err);
    p->state = e > 0 ? MESH_HANDSHAKE : p->state;
    return e < 0 ? e : 0;
}

struct caller {
    struct mesh *mesh;
    struct mesh_peer *peer;
};

/* Of a rank that was dialled, until it has said WELCOME. */
static int on_dialled_frame(void *ctx, struct conn *c, const struct frame *f,
                            const uint8_t *payload, struct err *err)
{
    struct mesh *m = ((struct caller *)ctx)->mesh;
    struct mesh_peer *p = ((struct caller *)ctx)->peer;
    if (!c->secured) {
        return meet_on_challenge(c, &p->handshake, &p->id, DIFFERS, f, payload, m->now_ns, err);
    }
    if (f->type == FRAME_WELCOME) {
        p->state = MESH_JOINED;
        m->n_joined++;
        return 1; /* read on as a peer */
    }
    if (f->type == FRAME_ABORT) {
        return mesh_on_frame(m, p, f, payload, err);
    }
    return err_set(err, EPROTO, "%s arrived before WELCOME", frame_type_to_string(f->type));
}

static void *no_place(void *ctx, struct conn *c, const struct frame *f, struct err *err)
{
    (void)ctx, (void)c;
    (void)err_set(err, EPROTO, "%s came before the handshake's end", frame_type_to_string(f->type));
    return NULL;
}

static int read_handshake(struct mesh *m, struct mesh_peer *p,
                          int (*on_frame)(void *, struct conn *, const struct frame *,
                                          const uint8_t *, struct err *),
                          struct err *err)
{
    const struct conn_handler handler = {no_place, on_frame, NULL};
    struct caller caller = {m, p};
    return conn_pump_rx(&p->conn, m->now_ns, TURN_BYTES, &handler, &caller, err);
}

static int dialled_turn(struct mesh *m, struct mesh_peer *p, struct err *err)
{
    if (p->state == MESH_DIAL) {
        return dial_peer(m, p, err);
    }
    if (p->state != MESH_HANDSHAKE) {
        return 0;
    }
    int e = read_handshake(m, p, on_dialled_frame, err);
    const bool is_late = e == 0 && !p->conn.secured && m->now_ns >= p->dial.answer_by_ns;
    if (e == -ECONNRESET || is_late) {
        conn_close(&p->conn); /* it is starting, ending, or not what the name means any more */
        dial_again(&p->dial, m->now_ns, is_late ? DIAL_SILENT : DIAL_CLOSED);
        p->state = MESH_DIAL;
        return 0;
    }
    return e < 0 ? mesh_blame(m, p, e, err) : conn_pump_tx(&p->conn, TURN_BYTES, err);
}

/* ---- ranks after this one, and strangers ---- */

static void drop_guest(struct mesh *m, struct mesh_peer *guest)
{
    for (size_t i = 0; i < m->guests.len; i++) {
        if (m->guests.items[i] == guest) {
            m->guests.items[i] = m->guests.items[--m->guests.len];
            free_guest(guest);
            return;
        }
    }
}

static int accept_all(struct mesh *m, struct err *err)
{
    for (;;) {
        const bool is_full = m->guests.len >= m->params.n_ranks + MEET_STRANGERS;
        const int fd = meet_accept(&m->listener, is_full, m->now_ns, err);
        if (fd < 0) {
            return fd == -EAGAIN ? 0 : fd; /* the caller still waits for somebody */
        }
        struct mesh_peer *guest = xnew(struct mesh_peer);
        *vec_push(&m->guests) = guest;
        guest->state = MESH_HANDSHAKE;
        guest->dial.fd = -1;
        guest->joins_by_ns = m->now_ns + HANDSHAKE_NS;
        const int e = meet_accepts(&guest->conn, &guest->handshake, fd, &m->params.self,
                                   m->params.secret, m->params.digest, err);
        if (e < 0) {
            return e;
        }
    }
}

/* Sends ABORT in place of WELCOME: the fault as it was met, or that the name is taken. */
static void refuse(struct mesh *m, struct mesh_peer *guest)
{
    uint8_t payload[FRAME_SMALL_PAYLOAD];
    guest->is_refused = true;
    if (m->fault.exit_code == 0) {
        meet_refuse(&guest->conn, &guest->handshake, &m->fault, m->rejected);
    } else {
        conn_send(&guest->conn, FRAME_ABORT, payload,
                  fault_pass_on(&m->fault, &m->relay, &m->params.self, payload));
    }
}

/* The guest has proved the secret. -ESTALE: reject it; -EPROTO: the ranks do not fit together. */
static int join(struct mesh *m, struct mesh_peer *guest, struct err *err)
{
    const struct frame_id *id = &guest->handshake.trainer.id;
    guest->id = *id;
    const bool is_expected =
        id->role == ROLE_WORKER && id->index > mesh_self(m) && id->index < m->params.n_ranks;
    const bool is_taken = is_expected && m->peers[id->index].state != MESH_DIAL;
    if (meet_is_of_this_attempt(&m->params.self, id) && (is_taken || m->fault.exit_code != 0)) {
        refuse(m, guest);
        return 0;
    }
    const int e = meet_agree(&guest->handshake.server, &guest->handshake.trainer, DIFFERS, err);
    if (e < 0) {
        return e;
    }
    if (!is_expected) {
        return err_set(err, EPROTO,
                       "it connected to worker/%" PRIu32 ", which only later ranks dial; check "
                       "--worker-addrs",
                       mesh_self(m));
    }
    conn_send(&guest->conn, FRAME_WELCOME, NULL, 0);
    guest->state = MESH_JOINED;
    return 1; /* read on when it has its place */
}

static int on_guest_frame(void *ctx, struct conn *c, const struct frame *f, const uint8_t *payload,
                          struct err *err)
{
    struct mesh *m = ((struct caller *)ctx)->mesh;
    struct mesh_peer *guest = ((struct caller *)ctx)->peer;
    if (guest->is_refused) {
        return 0;
    }
    const int e = meet_on_guest(c, &guest->handshake, f, payload, m->now_ns, err);
    return e > 0 ? join(m, guest, err) : e;
}

/* The connection of a guest that has joined becomes that of its rank. */
static int welcome(struct mesh *m, struct mesh_peer *guest, struct err *err)
{
    struct mesh_peer *p = &m->peers[guest->id.index];
    p->conn = guest->conn;
    p->state = MESH_JOINED;
    guest->conn = (struct conn){.fd = -1};
    m->n_joined++;
    drop_guest(m, guest);
    return conn_pump_tx(&p->conn, TURN_BYTES, err);
}

static int guest_turn(struct mesh *m, struct mesh_peer *guest, struct err *err)
{
    int e = read_handshake(m, guest, on_guest_frame, err);
    if (guest->state == MESH_JOINED) {
        return welcome(m, guest, err);
    }
    if (e >= 0) {
        e = conn_pump_tx(&guest->conn, TURN_BYTES, err);
    }
    if (guest->is_refused && (e < 0 || m->now_ns >= guest->joins_by_ns)) {
        drop_guest(m, guest); /* it knows the reason */
        return 0;
    }
    if (e == -EPROTO && guest->conn.secured) {
        return mesh_blame(m, guest, e, err);
    }
    if (e < 0) {
        meet_note_failed(&guest->handshake, e, err, m->rejected);
        drop_guest(m, guest);
    } else if (m->now_ns >= guest->joins_by_ns) {
        meet_note_rejected(&guest->handshake, "the handshake took too long", m->rejected);
        drop_guest(m, guest);
    }
    return 0;
}

/* ---- the rendezvous ---- */

/* Names a rank that is missing. */
static int check_rendezvous(struct mesh *m, struct err *err)
{
    if (m->now_ns < m->rendezvous_by_ns || all_joined(m)) {
        return 0;
    }
    if (mesh_were_away(m, -ETIMEDOUT, err)) {
        return -ETIMEDOUT;
    }
    const struct mesh_peer *first = NULL;
    struct buf text = BUF_INIT;
    for (uint32_t i = 0; i < m->params.n_ranks; i++) {
        const struct mesh_peer *p = &m->peers[i];
        if (i == mesh_self(m) || p->state >= MESH_JOINED) {
            continue;
        }
        first = first == NULL ? p : first;
        buf_printf(&text, "%sworker/%" PRIu32, text.len > 0 ? ", " : "", i);
        if (i < mesh_self(m)) {
            buf_printf(&text, " (%.100s%s%s)", p->dial.addr.text,
                       p->dial.why[0] != '\0' ? ": " : "", p->dial.why);
        }
    }
    const bool has_rejected = m->rejected[0] != '\0';
    (void)err_set(err, ETIMEDOUT, "%s did not connect within %.0f s%s%s%s", buf_cstr(&text),
                  (double)m->params.rendezvous_ns / 1e9,
                  has_rejected ? " (rejected a connection that claimed to be " : "",
                  has_rejected ? m->rejected : "", has_rejected ? ")" : "");
    buf_done(&text);
    fault_from_err(&m->fault, -ETIMEDOUT, &first->id, err);
    return -ETIMEDOUT;
}

static int timeout_ms(const struct mesh *m)
{
    int ms = MESH_TICK_MS;
    for (uint32_t i = 0; i < mesh_self(m); i++) {
        const struct mesh_peer *p = &m->peers[i];
        if (p->state == MESH_DIAL) {
            const bool is_due = p->dial.state == DIAL_WAIT && m->now_ns >= p->dial.again_ns;
            ms = is_due ? 0 : ms < DIAL_TICK_MS ? ms : DIAL_TICK_MS;
        }
    }
    return ms;
}

static void wait_turn(struct mesh *m)
{
    struct pollfd *fds = xnew_array(struct pollfd, m->params.n_ranks + m->guests.len + 1);
    nfds_t n = 0;
    for (uint32_t i = 0; i < m->params.n_ranks; i++) {
        const struct mesh_peer *p = &m->peers[i];
        if (p->state == MESH_DIAL && p->dial.fd >= 0) {
            fds[n++] = (struct pollfd){.fd = p->dial.fd, .events = POLLOUT};
        } else if (p->state == MESH_HANDSHAKE) {
            fds[n++] = conn_watch(&p->conn);
        } /* those that have joined may have sent numbers already: mesh_beat looks */
    }
    vec_each (struct mesh_peer *, it, &m->guests) {
        fds[n++] = conn_watch(&(*it)->conn);
    }
    fds[n++] = (struct pollfd){.fd = net_listener_poll(&m->listener, m->now_ns), .events = POLLIN};
    (void)poll(fds, n, timeout_ms(m)); /* an error: it finds nothing to do */
    free(fds);
}

static int one_turn(struct mesh *m, struct err *err)
{
    wait_turn(m);
    m->now_ns = clock_monotonic_ns();
    int e = 0;
    for (uint32_t i = 0; i < mesh_self(m) && e >= 0; i++) {
        e = dialled_turn(m, &m->peers[i], err);
    }
    /* In reverse, because a guest that leaves moves the last one into its place. */
    for (size_t i = m->guests.len; e >= 0 && i-- > 0;) {
        e = guest_turn(m, m->guests.items[i], err);
    }
    return e < 0 ? e : accept_all(m, err);
}

int mesh_connect(struct mesh *m, struct err *err)
{
    m->now_ns = clock_monotonic_ns();
    m->rendezvous_by_ns = m->now_ns + m->params.rendezvous_ns;
    heartbeat_begin(&m->self, m->params.silence_ns, m->now_ns);
    while (!all_joined(m)) {
        int e = one_turn(m, err);
        e = e < 0 ? e : mesh_beat(m, err);
        e = e < 0 ? e : check_rendezvous(m, err);
        if (e < 0) {
            return e;
        }
    }
    return 0;
}

void mesh_tell_late_comers(struct mesh *m)
{
    m->now_ns = clock_monotonic_ns();
    const int64_t end_ns = m->now_ns + LATE_NS;
    struct err ignored;
    while (!all_joined(m) && m->now_ns < end_ns && m->now_ns < m->rendezvous_by_ns) {
        if (one_turn(m, &ignored) < 0) {
            return;
        }
        mesh_tell_fault(m); /* whoever has said WELCOME; those that have dialled were refused */
    }
}
