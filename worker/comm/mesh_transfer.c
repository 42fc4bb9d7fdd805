/* All-reduce over TCP: numbers go to one rank while others come from one, in chunks, which are added while the cache
 * holds them. Where the plan allows it they flow: a step does not wait until the numbers of the one before have left. None
 * is overwritten before that: what takes its place is made of it, so the next rank has it. See mesh.h. */
#include <poll.h>
#include <sched.h>

#include "base/clock.h"
#include "worker/comm/mesh.h"
#include "worker/tensor/accumulate.h"

#define TURN_BYTES ((size_t)512 << 10)
/* A call of a short message polls its sockets for so long before it sleeps: waking takes longer than a small message. In a
 * long one the other side works meanwhile, and the CPU time is lost. */
#define SPIN_NS INT64_C(50000)
#define SPIN_BYTES ((size_t)1 << 20)
#define QUEUED_MAX 2 /* chunks with the connection */
#define CHUNK_FLOATS (MESH_CHUNK_BYTES / sizeof(float))

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* What goes to one peer: the steps i to `end` of the row, `n` floats of step i. */
struct outgoing {
    struct mesh_peer *peer;
    uint32_t i, end;
    enum frame_type type;
    const float *from; /* (n) */
    size_t at, n, n_queued;
    uint32_t n_frames;
};

static void begin_sending(const struct mesh *m, struct outgoing *out, uint32_t i)
{
    size_t at;
    const struct collective_step step = mesh_step_at(m, i, &at);
    *out = (struct outgoing){
        .peer = &m->peers[step.to],
        .i = i,
        .end = out->end,
        .type = step.adds ? FRAME_GRADIENT : FRAME_PARAMS,
        .from = (step.sends_own ? m->row.from : m->row.to) + at + step.send.at,
        .at = step.send.at,
        .n = step.send.n,
    };
}

/* True if the numbers of out's step are there: those of a segment's first step are this rank's own, and those of another one
 * are what the step before has received. */
static bool is_ready(const struct mesh *m, const struct outgoing *out)
{
    return out->i % m->row.n_plan == 0 || m->incoming.i >= out->i;
}

static bool is_queued(const struct outgoing *out)
{
    return out->n_queued == out->n && out->i + 1 == out->end;
}

/* As many chunks as are there, and as the connection takes. */
static int queue(struct mesh *m, struct outgoing *out, struct err *err)
{
    while (!is_queued(out) && conn_n_bulk(&out->peer->conn) < QUEUED_MAX) {
        if (out->n_queued == out->n) {
            begin_sending(m, out, out->i + 1);
            continue;
        }
        const int e = mesh_check_gone(m, out->peer, err);
        if (e < 0 || !is_ready(m, out)) {
            return e;
        }
        const size_t n = least(out->n - out->n_queued, CHUNK_FLOATS);
        const struct frame f = {
            .type = out->type,
            .step = m->step + out->i / m->row.n_plan,
            .offset = out->at + out->n_queued,
            .slice = out->n_frames++,
            .message = (uint32_t)m->message,
        };
        conn_send_slice(&out->peer->conn, &f, out->from + out->n_queued, n);
        out->n_queued += n;
    }
    return 0;
}

static bool is_sent(const struct outgoing *out)
{
    return is_queued(out) && !conn_wants_tx(&out->peer->conn);
}

static bool has_arrived(const struct mesh_incoming *in)
{
    return in->n_done == in->n; /* it goes on to the next step itself */
}

/* Sleeps until a socket has something to do, MESH_TICK_MS at most. */
static void sleep_turn(const struct mesh *m, const struct outgoing *out)
{
    struct pollfd fds[2];
    nfds_t n = 0;
    const struct mesh_incoming *in = &m->incoming;
    const bool receives = !has_arrived(in), sends = conn_wants_tx(&out->peer->conn);
    if (receives) {
        const bool both = sends && in->peer == out->peer;
        fds[n++] = (struct pollfd){.fd = in->peer->conn.fd,
                                   .events = (short)(POLLIN | (both ? POLLOUT : 0))};
    }
    if (sends && (!receives || in->peer != out->peer)) {
        fds[n++] = (struct pollfd){.fd = out->peer->conn.fd, .events = POLLOUT};
    }
    (void)poll(fds, n, MESH_TICK_MS); /* on an error the turn finds nothing to do */
}

/* What is ready, as far as the socket goes. */
static int send_turn(struct mesh *m, struct outgoing *out, struct err *err)
{
    struct conn *c = &out->peer->conn;
    const uint64_t budget_end = c->bytes_tx + TURN_BYTES;
    bool is_full = false;
    while (!is_full && c->bytes_tx < budget_end) {
        int e = queue(m, out, err);
        if (e < 0 || !conn_wants_tx(c)) {
            return e;
        }
        e = conn_pump_tx(c, MESH_CHUNK_BYTES, err);
        if (e < 0) {
            return e;
        }
        is_full = conn_wants_tx(c);
    }
    return 0;
}

/* Both directions. */
static int one_turn(struct mesh *m, struct outgoing *out, struct err *err)
{
    const int e = send_turn(m, out, err);
    return e < 0 || has_arrived(&m->incoming) ? e : mesh_read(m, m->incoming.peer, TURN_BYTES, err);
}

/* Until both are through. Between two looks others of this CPU may run. */
static int run(struct mesh *m, struct outgoing *out, struct err *err)
{
    const struct conn *tx = &out->peer->conn, *rx = &m->incoming.peer->conn;
    const bool is_short = m->row.n * sizeof(float) <= SPIN_BYTES;
    uint64_t moved = UINT64_MAX;
    int64_t idle_since_ns = 0;
    while (!is_sent(out) || !has_arrived(&m->incoming)) {
        m->now_ns = clock_monotonic_ns();
        int e = one_turn(m, out, err);
        if (e >= 0 && m->now_ns - m->beat_ns >= MESH_TICK_MS * INT64_C(1000000)) {
            e = mesh_beat(m, err);
        }
        if (e < 0) {
            return e;
        }
        const uint64_t now_moved = tx->bytes_tx + rx->bytes_rx;
        if (now_moved != moved) {
            moved = now_moved;
            idle_since_ns = m->now_ns;
        } else if (is_short && m->now_ns - idle_since_ns < SPIN_NS) {
            (void)sched_yield(); /* cannot fail */
        } else {
            sleep_turn(m, out);
        }
    }
    return 0;
}

/* Steps i to `end`, all with the same two peers. */
static int transfer(struct mesh *m, uint32_t i, uint32_t end, struct err *err)
{
    struct outgoing out = {.end = end};
    begin_sending(m, &out, i);
    mesh_expect(m, i, end);
    struct mesh_incoming *in = &m->incoming;
    int e = mesh_check_gone(m, in->peer, err);
    e = e < 0 ? e : run(m, &out, err);
    if (e >= 0 && in->adds_late) {
        grad_add(in->to, in->landing, in->n);
    }
    in->peer = NULL;
    return e;
}

int mesh_all_reduce(struct mesh *m, const float *from, float *to, size_t n, struct err *err)
{
    const uint32_t n_ranks = m->params.n_ranks;
    const enum collective_way way = collective_way_of(m->params.algorithm, n_ranks, n);
    if (n == 0) {
        return 0;
    }
    m->row = (struct mesh_row){
        .way = way,
        .n_plan = collective_n_steps(way, n_ranks),
        .from = from,
        .to = to,
        .n = n,
        .segment = collective_segment(way, n_ranks, n),
    };
    const uint32_t n_segments = (uint32_t)((n + m->row.segment - 1) / m->row.segment);
    const uint32_t n_steps = n_segments * m->row.n_plan;
    const uint32_t at_once = collective_flows(way, n_ranks) ? n_steps : 1;
    int e = 0;
    m->message = n;
    for (uint32_t i = 0; i < n_steps && e >= 0; i += at_once) {
        e = transfer(m, i, i + at_once, err);
    }
    m->step += n_segments;
    return e;
}
