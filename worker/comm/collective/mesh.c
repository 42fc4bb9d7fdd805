/* Control frames of a mesh, signs of life, and faults. See mesh.h. */
#include "worker/comm/collective/mesh.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"

#define ALL_BYTES ((size_t)16 << 20) /* of control frames, from one peer */

/* ---- reading ---- */

int mesh_on_frame(void *mesh, struct conn *c, const struct frame *f, const uint8_t *payload,
                  struct err *err)
{
    struct mesh *m = mesh;
    struct meet_peer *p = meet_peer_of(c);
    switch (f->type) {
    case FRAME_GRADIENT:
    case FRAME_PARAMS:
        return mesh_arrived(m, f) ? 1 : 0; /* of m->incoming.peer: mesh_place has seen to it */
    case FRAME_HEARTBEAT:
        return 0;
    case FRAME_ABORT:
        return meet_on_abort(&m->meet, p->state == MEET_HANDSHAKE, f, payload, err);
    case FRAME_GOODBYE:
        p->state = MEET_GONE;
        return 1;
    default:
        return err_set(err, EPROTO, "a rank does not accept %s now", frame_type_to_string(f->type));
    }
}

/* The frame after it, too: one at a time, because a later call's numbers may follow. */
static int on_control_frame(void *ctx, struct conn *c, const struct frame *f,
                            const uint8_t *payload, struct err *err)
{
    const int e = mesh_on_frame(ctx, c, f, payload, err);
    return e < 0 ? e : 1;
}

/* What a peer's socket holds. */
enum next {
    NEXT_NOTHING,
    NEXT_CONTROL, /* or the end of the stream */
    NEXT_NUMBERS,
    NEXT_WRONG, /* numbers that are read to be refused */
};

/* Numbers of this segment, of a message of another length: the ranks make different calls. If these
 * go different ways, each might wait for ever for another one. */
static bool is_of_another_call(const struct mesh *m, const uint8_t *head)
{
    uint64_t step;
    uint32_t message;
    memcpy(&step, head + FRAME_STEP_AT, sizeof(step));
    memcpy(&message, head + FRAME_MESSAGE_AT, sizeof(message));
    return m->incoming.peer != NULL && le64toh(step) == m->step &&
           le32toh(message) != (uint32_t)m->message;
}

#define HEAD_BYTES (FRAME_MESSAGE_AT + sizeof(uint32_t))

static ssize_t peek(const struct conn *c, uint8_t ret[static HEAD_BYTES])
{
    return recv(c->fd, ret, HEAD_BYTES, MSG_PEEK | MSG_DONTWAIT);
}

/* Nothing follows what the socket holds. */
static bool has_ended(const struct conn *c)
{
    struct pollfd p = {.fd = c->fd, .events = POLLRDHUP};
    return poll(&p, 1, 0) > 0;
}

/* It looks at a header before its MAC is checked: a forged header only causes its frame to be read
 * later, or now and refused. */
static enum next look(const struct mesh *m, const struct conn *c)
{
    uint8_t head[HEAD_BYTES];
    if (frame_parser_is_inside(&c->rx)) {
        return NEXT_CONTROL; /* a header begins to be read when its type is known */
    }
    ssize_t n = peek(c, head);
    if (n > 0 && n < (ssize_t)sizeof(head) && has_ended(c)) {
        n = peek(c, head); /* what came before the end */
        if (n < (ssize_t)sizeof(head)) {
            return NEXT_CONTROL;
        }
    }
    if (n < 0 ? errno == EAGAIN || errno == EINTR : n > 0 && n < (ssize_t)sizeof(head)) {
        return NEXT_NOTHING; /* what comes from now on may be numbers */
    }
    const bool has_numbers =
        n > 0 && (head[FRAME_TYPE_AT] == FRAME_GRADIENT || head[FRAME_TYPE_AT] == FRAME_PARAMS);
    return !has_numbers ? NEXT_CONTROL : is_of_another_call(m, head) ? NEXT_WRONG : NEXT_NUMBERS;
}

/* Numbers of a later call wait in the socket. Through shared memory no such frame may arrive: it is
 * read and refused. */
static bool is_to_be_read(const struct mesh *m, enum next next)
{
    return next == NEXT_CONTROL || next == NEXT_WRONG ||
           (next == NEXT_NUMBERS && m->share.is_shared);
}

/* Control frames of a peer of which no numbers are wanted. */
static int read_control(struct mesh *m, struct meet_peer *p, struct err *err)
{
    static const struct conn_handler handler = {mesh_place, on_control_frame, mesh_part};
    const uint64_t end = p->conn.bytes_rx + ALL_BYTES;
    enum next next = NEXT_CONTROL;
    while (p->state == MEET_JOINED && p->conn.bytes_rx < end &&
           is_to_be_read(m, next = look(m, &p->conn))) {
        const uint64_t before = p->conn.bytes_rx;
        const int e = conn_pump_rx(&p->conn, m->meet.now_ns, ALL_BYTES, &handler, m, err);
        if (e < 0 || p->conn.bytes_rx == before) {
            return e; /* or a part of a frame */
        }
    }
    if (next == NEXT_NUMBERS) {
        p->conn.heartbeat.last_heard_ns = m->meet.now_ns; /* it is ahead of this rank */
    }
    return 0;
}

static int refuse_to_go_on(const struct mesh *m, struct err *err)
{
    return err_set(err, EPROTO, "it finished before segment %" PRIu64 ", but others continue",
                   m->step);
}

int mesh_check_gone(struct mesh *m, const struct meet_peer *p, struct err *err)
{
    return p->state != MEET_GONE ? 0
                                 : meet_blame(&m->meet, &p->id, NULL, refuse_to_go_on(m, err), err);
}

/* Without blame. */
static int read_any(struct mesh *m, struct meet_peer *p, size_t budget, struct err *err)
{
    struct mesh_incoming *in = &m->incoming;
    if (in->peer != p || in->n_done == in->n) {
        return read_control(m, p, err);
    }
    static const struct conn_handler handler = {mesh_place, mesh_on_frame, mesh_part};
    const int e = conn_pump_rx(&p->conn, m->meet.now_ns, budget, &handler, m, err);
    if (e >= 0 && p->state == MEET_GONE && in->n_done < in->n) {
        return refuse_to_go_on(m, err);
    }
    return e;
}

/* A peer has closed its connection. Others may have sent an ABORT that names the cause: then the
 * closed connection is a consequence. */
static int read_last_words(struct mesh *m, const struct meet_peer *closed, struct err *err)
{
    for (uint32_t i = 0; i < m->params.n_ranks; i++) {
        struct meet_peer *p = &m->peers[i];
        if (p != closed && i != mesh_self(m) && p->state == MEET_JOINED &&
            read_any(m, p, ALL_BYTES, err) == -ECANCELED) {
            return -ECANCELED;
        }
    }
    return 0;
}

int mesh_read(struct mesh *m, struct meet_peer *p, size_t budget, struct err *err)
{
    const int e = read_any(m, p, budget, err);
    if (p->state == MEET_GONE) {
        conn_close(&p->conn);
    }
    struct err other;
    if (e == -ECONNRESET && read_last_words(m, p, &other) < 0) {
        *err = other;
        return -ECANCELED;
    }
    return e < 0 ? meet_blame(&m->meet, &p->id, NULL, e, err) : 0;
}

/* ---- life ---- */

static int check_peer(struct mesh *m, struct meet_peer *p, struct err *err)
{
    if (p->state != MEET_JOINED) {
        return 0;
    }
    int e = mesh_read(m, p, MESH_CHUNK_BYTES, err);
    if (e < 0 || p->state != MEET_JOINED) {
        return e;
    }
    e = meet_beat(&m->meet, &p->conn, NULL, err);
    return e < 0 ? e : conn_pump_tx(&p->conn, MESH_CHUNK_BYTES, err);
}

int mesh_beat(struct mesh *m, struct err *err)
{
    m->meet.now_ns = m->beat_ns = clock_monotonic_ns();
    int e = meet_check_self(&m->meet, err);
    if (e < 0) {
        return e;
    }
    shm_peers_answer(&m->share.shm, m->meet.now_ns);
    for (uint32_t i = 0; i < m->params.n_ranks && e >= 0; i++) {
        e = i == mesh_self(m) ? 0 : check_peer(m, &m->peers[i], err);
    }
    return e;
}

/* ---- the end ---- */

/* The open connections to ranks that have joined. */
static size_t joined_conns(const struct mesh *m, struct conn **ret)
{
    size_t n = 0;
    for (uint32_t i = 0; i < m->params.n_ranks; i++) {
        struct meet_peer *p = &m->peers[i];
        if (i != mesh_self(m) && p->state == MEET_JOINED && p->conn.fd >= 0) {
            ret[n++] = &p->conn;
        }
    }
    return n;
}

void mesh_tell_fault(struct mesh *m)
{
    _cleanup_(freep) struct conn **conns = xnew_array(struct conn *, m->params.n_ranks);
    const size_t n = joined_conns(m, conns);
    meet_send_fault(&m->meet, conns, n);
    meet_farewell(&m->meet, conns, n, MEET_FAREWELL_NS);
}

void mesh_fail(struct mesh *m, int e, struct err *err)
{
    fault_from_err(&m->meet.fault, e, &m->params.gang.self, err);
    m->incoming.peer = NULL;
    m->ended = true;
    mesh_tell_fault(m);
}

void mesh_goodbye(struct mesh *m)
{
    _cleanup_(freep) struct conn **conns = xnew_array(struct conn *, m->params.n_ranks);
    const size_t n = joined_conns(m, conns);
    m->ended = true;
    for (size_t i = 0; i < n; i++) {
        conn_drop_queue(conns[i]);
    }
    meet_goodbye(&m->meet, conns, n);
}
