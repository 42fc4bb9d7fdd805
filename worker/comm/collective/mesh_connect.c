/* The rendezvous of a mesh: a rank dials those before it and accepts those after it. Strangers
 * (wrong secret, another run or attempt, garbage, a second process of a rank) are rejected and
 * change nothing. See mesh.h. */
#include <inttypes.h>
#include <poll.h>

#include "base/clock.h"
#include "worker/comm/collective/mesh.h"

#define TURN_BYTES ((size_t)64 << 10)
#define LATE_NS INT64_C(2000000000)
#define DIAL_TICK_MS 20

void mesh_peers_init(struct mesh *m, const struct net_addr *addrs)
{
    const struct collective_params *p = &m->params;
    meet_init(&m->meet, &p->gang);
    m->meet.relays = true;
    m->meet.params.differs = COLLECTIVE_DIFFERS;
    m->meet.max_guests += p->n_ranks;
    m->peers = xnew_array(struct meet_peer, p->n_ranks);
    for (uint32_t i = 0; i < p->n_ranks; i++) {
        meet_peer_init(&m->meet, &m->peers[i], ROLE_WORKER, i, i < mesh_self(m) ? &addrs[i] : NULL);
    }
}

void mesh_peers_done(struct mesh *m)
{
    free_each(m->peers, m->params.n_ranks, meet_peer_done);
    meet_done(&m->meet);
}

static bool all_joined(const struct mesh *m)
{
    return m->n_joined == m->params.n_ranks - 1;
}

/* ---- ranks before this one ---- */

/* Of a rank that was dialled, until it has said WELCOME. */
static int on_dialled_frame(void *ctx, struct conn *c, const struct frame *f,
                            const uint8_t *payload, struct err *err)
{
    struct mesh *m = ctx;
    struct meet_peer *p = meet_peer_of(c);
    if (!c->secured) {
        return meet_on_challenge(&m->meet, p, f, payload, err);
    }
    if (f->type == FRAME_WELCOME) {
        p->state = MEET_JOINED;
        m->n_joined++;
        return 1; /* read on as a peer */
    }
    if (f->type == FRAME_ABORT) {
        return mesh_on_frame(m, c, f, payload, err);
    }
    return err_set(err, EPROTO, "%s arrived before WELCOME", frame_type_to_string(f->type));
}

static int dialled_turn(struct mesh *m, struct meet_peer *p, struct err *err)
{
    static const struct conn_handler handler = {.place = meet_no_place, .frame = on_dialled_frame};
    if (p->state == MEET_DIAL) {
        const int e = meet_dial(&m->meet, p, err);
        return e < 0 ? e : 0;
    }
    if (p->state != MEET_HANDSHAKE) {
        return 0;
    }
    const int e = conn_pump_rx(&p->conn, m->meet.now_ns, TURN_BYTES, &handler, m, err);
    if (e == -ECONNRESET) {
        meet_dial_anew(&m->meet, p, DIAL_CLOSED);
        return 0;
    }
    if (e < 0) {
        return meet_blame(&m->meet, &p->id, NULL, e, err);
    }
    return meet_dial_silent(&m->meet, p) ? 0 : conn_pump_tx(&p->conn, TURN_BYTES, err);
}

/* ---- ranks after this one, and strangers ---- */

/* A host of meet.h, as the next one. */
static int admit(void *ctx, const struct frame_id *id, struct err *err)
{
    const struct mesh *m = ctx;
    if (m->meet.fault.exit_code != 0) {
        return 0;
    }
    if (id->role != ROLE_WORKER || id->index <= mesh_self(m) || id->index >= m->params.n_ranks) {
        return err_set(err, EPROTO,
                       "it connected to worker/%" PRIu32 ", which only later ranks dial; check "
                       "--worker-addrs",
                       mesh_self(m));
    }
    return m->peers[id->index].state == MEET_DIAL;
}

/* The connection of a guest that has joined becomes that of its rank. */
static void welcome(void *ctx, struct meet_peer *guest)
{
    struct mesh *m = ctx;
    struct meet_peer *p = &m->peers[guest->id.index];
    p->conn = meet_take_conn(guest);
    p->state = MEET_JOINED;
    m->n_joined++;
}

/* ---- the rendezvous ---- */

static int check_rendezvous(struct mesh *m, struct err *err)
{
    struct meet_absent absent = {0};
    for (uint32_t i = 0; meet_is_due(&m->meet) && i < m->params.n_ranks; i++) {
        const struct meet_peer *p = &m->peers[i];
        if (i != mesh_self(m) && p->state < MEET_JOINED) {
            meet_absent_add(&absent, &p->id, i < mesh_self(m) ? &p->dial : NULL);
        }
    }
    return meet_absent_check(&m->meet, &absent, err);
}

static int timeout_ms(const struct mesh *m)
{
    int ms = MESH_TICK_MS;
    for (uint32_t i = 0; i < mesh_self(m); i++) {
        const struct meet_peer *p = &m->peers[i];
        if (p->state == MEET_DIAL) {
            const bool is_due = p->dial.state == DIAL_WAIT && m->meet.now_ns >= p->dial.again_ns;
            ms = is_due ? 0 : ms < DIAL_TICK_MS ? ms : DIAL_TICK_MS;
        }
    }
    return ms;
}

/* Returns which of `fds` are those of meet_poll. */
static const struct pollfd *wait_turn(const struct mesh *m, struct pollfd *fds)
{
    size_t n = 0;
    for (uint32_t i = 0; i < m->params.n_ranks; i++) {
        const struct meet_peer *p = &m->peers[i];
        if (p->state == MEET_DIAL && p->dial.fd >= 0) {
            fds[n++] = (struct pollfd){.fd = p->dial.fd, .events = POLLOUT};
        } else if (p->state == MEET_HANDSHAKE) {
            fds[n++] = conn_watch(&p->conn);
        } /* those that have joined may have sent numbers already: mesh_beat looks */
    }
    const size_t n_all = n + meet_poll(&m->meet, fds + n);
    (void)poll(fds, n_all, timeout_ms(m)); /* an error: it finds nothing to do */
    return fds + n;
}

static int one_turn(struct mesh *m, struct err *err)
{
    const struct meet_host host = {admit, welcome, m};
    _cleanup_(freep) struct pollfd *fds =
        xnew_array(struct pollfd, m->params.n_ranks + m->meet.guests.len + 1);
    const struct pollfd *guests = wait_turn(m, fds);
    m->meet.now_ns = clock_monotonic_ns();
    int e = 0;
    for (uint32_t i = 0; i < mesh_self(m) && e >= 0; i++) {
        e = dialled_turn(m, &m->peers[i], err);
    }
    return e < 0 ? e : meet_guests_turn(&m->meet, &host, guests, err);
}

int mesh_connect(struct mesh *m, struct err *err)
{
    meet_begin(&m->meet);
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
    m->meet.now_ns = clock_monotonic_ns();
    const int64_t end_ns = m->meet.now_ns + LATE_NS;
    struct err ignored;
    while (!all_joined(m) && m->meet.now_ns < end_ns && m->meet.now_ns < m->meet.rendezvous_by_ns) {
        if (one_turn(m, &ignored) < 0) {
            return;
        }
        mesh_tell_fault(m); /* whoever has said WELCOME; those that have dialled were refused */
    }
}
