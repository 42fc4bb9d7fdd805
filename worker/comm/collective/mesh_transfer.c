/* All-reduce over TCP, step by step of the plan: numbers go to one rank while others come from one,
 * in chunks, which are added while the cache holds them. See mesh.h. */
#include <poll.h>
#include <sched.h>

#include "base/clock.h"
#include "worker/comm/collective/mesh.h"
#include "worker/tensor/accumulate.h"

#define TURN_BYTES ((size_t)512 << 10)
/* A call of a short message polls its sockets for so long before it sleeps: waking takes longer
 * than a small message. In a long one the other side works at the same time, and
 * the CPU time is lost. */
#define SPIN_NS INT64_C(50000)
#define SPIN_BYTES ((size_t)1 << 20)
#define QUEUED_MAX 2 /* chunks with the connection */

struct outgoing {
    struct meet_peer *peer;
    enum frame_type type;
    const float *from; /* (n) */
    size_t at, n, n_queued;
    uint32_t n_frames;
    bool has_crc; /* of the only frame */
    uint32_t crc;
};

static void queue(struct mesh *m, struct outgoing *out)
{
    while (out->n_queued < out->n && conn_n_bulk(&out->peer->conn) < QUEUED_MAX) {
        const size_t n = mesh_chunk(out->n - out->n_queued);
        const struct frame f = {
            .type = out->type,
            .step = m->step,
            .offset = out->at + out->n_queued,
            .slice = out->n_frames++,
            .message = (uint32_t)m->message,
        };
        const float *from = out->from + out->n_queued;
        if (out->has_crc) {
            conn_send_payload(&out->peer->conn, &f, from, n * sizeof(float), out->crc);
        } else {
            conn_send_slice(&out->peer->conn, &f, from, n);
        }
        out->n_queued += n;
    }
}

static bool is_sent(const struct outgoing *out)
{
    return out->n_queued == out->n && !conn_wants_tx(&out->peer->conn);
}

static bool has_arrived(const struct mesh_incoming *in)
{
    return in->n_done == in->n;
}

/* Of the chunk that comes. */
static size_t missing_bytes(const struct mesh_incoming *in)
{
    const size_t all = mesh_chunk(in->n - in->n_done) * sizeof(float);
    const size_t arrived = frame_parser_arrived(&in->peer->conn.rx); /* or of a control frame */
    return arrived < all ? all - arrived : 0;
}

/* Sleeps until a socket has something to do, MESH_TICK_MS at most. */
static void sleep_turn(const struct mesh *m, const struct outgoing *out)
{
    struct pollfd fds[2];
    nfds_t n = 0;
    const struct mesh_incoming *in = &m->incoming;
    const bool receives = !has_arrived(in), sends = !is_sent(out);
    if (receives) {
        conn_wake_at(&in->peer->conn, missing_bytes(in));
        const bool both = sends && in->peer == out->peer;
        fds[n++] = (struct pollfd){.fd = in->peer->conn.fd,
                                   .events = (short)(POLLIN | (both ? POLLOUT : 0))};
    }
    if (sends && (!receives || in->peer != out->peer)) {
        fds[n++] = (struct pollfd){.fd = out->peer->conn.fd, .events = POLLOUT};
    }
    (void)poll(fds, n, MESH_TICK_MS); /* on an error the turn finds nothing to do */
}

/* Both directions, as far as the sockets go. */
static int one_turn(struct mesh *m, struct outgoing *out, struct err *err)
{
    int e = 0;
    const uint64_t budget_end = out->peer->conn.bytes_tx + TURN_BYTES;
    bool is_full = false;
    while (e >= 0 && !is_full && !is_sent(out) && out->peer->conn.bytes_tx < budget_end) {
        queue(m, out);
        e = conn_pump_tx(&out->peer->conn, MESH_CHUNK_BYTES, err);
        is_full = conn_wants_tx(&out->peer->conn);
    }
    if (e < 0) {
        return e;
    }
    return has_arrived(&m->incoming) ? 0 : mesh_read(m, m->incoming.peer, TURN_BYTES, err);
}

/* Until both are through. Between two looks others of this CPU may run. */
static int run(struct mesh *m, struct outgoing *out, struct err *err)
{
    const struct conn *tx = &out->peer->conn, *rx = &m->incoming.peer->conn;
    const bool is_short = m->message * sizeof(float) <= SPIN_BYTES;
    uint64_t moved = UINT64_MAX;
    int64_t idle_since_ns = 0;
    while (!is_sent(out) || !has_arrived(&m->incoming)) {
        m->meet.now_ns = clock_monotonic_ns();
        int e = one_turn(m, out, err);
        if (e >= 0 && m->meet.now_ns - m->beat_ns >= MESH_TICK_MS * INT64_C(1000000)) {
            e = mesh_beat(m, err);
        }
        if (e < 0) {
            return e;
        }
        const uint64_t now_moved = tx->bytes_tx + rx->bytes_rx;
        if (now_moved != moved) {
            moved = now_moved;
            idle_since_ns = m->meet.now_ns;
        } else if (is_short && m->meet.now_ns - idle_since_ns < SPIN_NS) {
            (void)sched_yield(); /* cannot fail */
        } else {
            sleep_turn(m, out);
        }
    }
    return 0;
}

/* Where the numbers of this step land, and what is added to them. */
static struct mesh_incoming plan_incoming(struct mesh *m, const struct collective_step *step,
                                          const float *from, float *to)
{
    const float *own = step->adds_own ? from : to;
    struct mesh_incoming in = {
        .peer = &m->peers[step->from],
        .type = step->adds ? FRAME_GRADIENT : FRAME_PARAMS,
        .to = to + step->receive.at,
        .add = step->adds ? own + step->receive.at : NULL,
        .landing = to + step->receive.at,
        .at = step->receive.at,
        .n = step->receive.n,
    };
    const bool is_in_place = in.add == in.to;
    /* What is still being sent must not change (doubling): all of it is received
     * into another buffer. */
    in.adds_late = is_in_place && step->send.at == step->receive.at && step->send.n > 0;
    in.lands_in_chunk = is_in_place && !in.adds_late;
    if (is_in_place) {
        in.landing = m->landing;
    }
    return in;
}

/* One step. `from` and `to` are whole segments. */
static int transfer(struct mesh *m, const struct collective_step *step, const float *from,
                    float *to, struct err *err)
{
    struct outgoing out = {
        .peer = &m->peers[step->to],
        .type = step->adds ? FRAME_GRADIENT : FRAME_PARAMS,
        .from = (step->sends_own ? from : to) + step->send.at,
        .at = step->send.at,
        .n = step->send.n,
        .has_crc = m->incoming.is_passed_on,
        .crc = m->incoming.crc,
    };
    m->incoming = plan_incoming(m, step, from, to);
    struct mesh_incoming *in = &m->incoming;
    in->is_passed_on = step->is_passed_on && !in->adds_late && in->n == mesh_chunk(in->n);
    /* A peer that needs nothing more from the others may have finished: few
     * numbers leave blocks empty. */
    int e = in->n > 0 ? mesh_check_gone(m, in->peer, err) : 0;
    e = e < 0 || out.n == 0 ? e : mesh_check_gone(m, out.peer, err);
    e = e < 0 ? e : run(m, &out, err);
    if (e >= 0 && in->adds_late) {
        grad_add(in->to, in->landing, in->n);
    }
    in->peer = NULL;
    return e;
}

/* Of one segment: all steps of the plan. */
static int reduce_segment(struct mesh *m, enum collective_way way, const float *from, float *to,
                          size_t n, struct err *err)
{
    const uint32_t n_ranks = m->params.n_ranks, n_steps = collective_n_steps(way, n_ranks);
    int e = 0;
    m->incoming.is_passed_on = false;
    for (uint32_t k = 0; k < n_steps && e >= 0; k++) {
        const struct collective_step step = collective_step_at(way, n_ranks, mesh_self(m), n, k);
        e = transfer(m, &step, from, to, err);
    }
    m->step++;
    return e;
}

int mesh_all_reduce(struct mesh *m, const float *from, float *to, size_t n, struct err *err)
{
    const uint32_t n_ranks = m->params.n_ranks;
    const enum collective_way way = collective_way_of(m->params.algorithm, n_ranks, n);
    const size_t most = collective_segment(way, n_ranks, n);
    int e = 0;
    m->message = n;
    for (size_t at = 0; at < n && e >= 0; at += most) {
        e = reduce_segment(m, way, from + at, to + at, n - at < most ? n - at : most, err);
    }
    return e;
}
