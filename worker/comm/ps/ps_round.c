/* The rounds of a parameter server: gives credit for gradients while there is room for them, adds
 * each trainer's gradients in order, passes a complete sum to the optimiser and sends the new
 * parameters to all trainers. ps_server.c calls it for each frame. */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "worker/comm/link/crc32c.h"
#include "worker/comm/ps/ps_internal.h"
#include "worker/tensor/accumulate.h"

/* The i-th slice that a trainer sends: they go from the last one to the first, as backward makes
 * them. Everything here counts slices in this order. */
static uint32_t own_id(const struct ps_server *s, size_t i)
{
    return (s->n_slices - 1 - (uint32_t)i) * s->params.slices.n_servers + s->number;
}

static struct slice own_slice(const struct ps_server *s, size_t i)
{
    return slices_get(&s->params.slices, own_id(s, i));
}

static bool is_async(const struct ps_server *s)
{
    return s->params.mode.kind == EXCHANGE_ASYNC;
}

void ps_round_init(struct ps_server *s)
{
    s->n_slices = s->params.slices.n / s->params.slices.n_servers;
    s->param_offsets = xnew_array(size_t, s->n_slices);
    s->param_crcs = xnew_array(uint32_t, s->n_slices);
    s->lasts = xnew_array(struct ps_last, s->params.n_trainers);
    _cleanup_(freep) size_t *lens = xnew_array(size_t, s->n_slices);
    size_t offset = 0, max_len = 0;
    for (uint32_t i = s->n_slices; i-- > 0;) {
        lens[i] = own_slice(s, i).len;
        max_len = lens[i] > max_len ? lens[i] : max_len;
        s->param_offsets[i] = offset;
        offset += lens[i];
    }
    /* Threads share the limits out: each counts a slice as so many. */
    const size_t max_bytes =
        max_len * frame_wire_bytes(s->params.wire) * s->params.slices.n_threads;
    flow_init(&s->up, s->params.n_trainers, max_bytes);
    flow_init(&s->down, s->params.n_trainers, max_bytes);
    if (is_async(s)) {
        ps_single_init(&s->single, s->params.n_trainers, s->params.wire, s->n_slices, max_len,
                       s->down.max_each);
        return;
    }
    flow_join(&s->up);
    reduce_init(&s->reduce, s->params.n_trainers, s->params.wire, lens, s->n_slices,
                s->params.early_bytes);
    if (s->params.wire == EXCHANGE_WIRE_BF16) {
        s->narrowed = xnew_array(uint16_t, offset + 1);
    }
}

void ps_round_done(struct ps_server *s)
{
    for (uint32_t t = 0; t < s->params.n_trainers; t++) {
        struct ps_peer *p = s->trainers[t];
        if (p != NULL && p->receiving != NULL && is_async(s)) {
            ps_single_drop(&s->single, p->receiving);
        } else if (p != NULL && p->receiving != NULL) {
            reduce_drop(&s->reduce, p->next, t, p->receiving);
        }
    }
    reduce_done(&s->reduce);
    ps_single_done(&s->single);
    flow_done(&s->up);
    flow_done(&s->down);
    free(s->lasts);
    free(s->narrowed);
    free(s->param_crcs);
    free(s->param_offsets);
}

/* It sends no more, while others go on: it has left, or waits at the barrier. */
static int blame_idle(struct ps_server *s, const struct ps_peer *peer, struct err *err)
{
    (void)err_set(err, EPROTO,
                  "trainer/%" PRIu32 " %s after %" PRIu64 " steps, "
                  "but others continue; give all trainers the same number of %s",
                  peer->conn.peer.index, peer->gone ? "finished" : "waits at the barrier",
                  peer->step, peer->gone ? "steps" : "warm-up steps");
    fault_from_err(&s->meet.fault, -EPROTO, &peer->conn.peer, err);
    return -EPROTO;
}

/* A trainer has left, so the sums of a round will never be complete. */
static int blame_leaver(struct ps_server *s, struct err *err)
{
    return blame_idle(
        s, array_find_item(s->trainers, s->params.n_trainers, it, it != NULL && it->gone), err);
}

/* Slices of all completed rounds; without rounds, of the trainer's complete steps. */
static uint64_t n_done(const struct ps_server *s, const struct ps_peer *peer)
{
    return (is_async(s) ? peer->step : s->round) * s->n_slices;
}

/* True if the trainer has begun the current round. */
static bool is_in_round(const struct ps_server *s, const struct ps_peer *peer)
{
    return s->up.links[peer->conn.peer.index].ready > n_done(s, peer);
}

/* True if the trainer has begun the current round, or has not all parameters of the last one. */
static bool is_busy(const struct ps_server *s, const struct ps_peer *peer)
{
    return is_in_round(s, peer) || s->down.links[peer->conn.peer.index].taken != n_done(s, peer);
}

/* True if a trainer waits at the barrier. */
static bool is_barrier_closed(const struct ps_server *s)
{
    return s->n_ready > 0 && !s->measuring;
}

/* Some trainers go on training while others wait at the barrier. Both would wait forever while
 * their heartbeats continue, because a trainer that waits at the barrier sends
 * no more gradients. */
static int blame_waiter(struct ps_server *s, struct err *err)
{
    return blame_idle(
        s, array_find_item(s->trainers, s->params.n_trainers, it, it != NULL && it->ready), err);
}

static bool is_any_in_round(const struct ps_server *s)
{
    return array_any(s->trainers, s->params.n_trainers, it, *it != NULL && is_in_round(s, *it));
}

static int check_left(struct ps_server *s, struct err *err)
{
    if (is_barrier_closed(s)) {
        return blame_leaver(s, err);
    }
    return !is_async(s) && is_any_in_round(s) ? blame_leaver(s, err) : 0;
}

/* -EPROTO and the fault if another trainer has left or waits at the barrier, while one goes on. In
 * Async no trainer waits for another. */
static int check_others(struct ps_server *s, struct err *err)
{
    if (is_async(s)) {
        return 0;
    }
    if (s->n_gone > 0) {
        return blame_leaver(s, err);
    }
    return is_barrier_closed(s) ? blame_waiter(s, err) : 0;
}

void *ps_round_place(void *server, struct conn *c, const struct frame *f, struct err *err)
{
    struct ps_server *s = server;
    struct ps_peer *peer = (struct ps_peer *)c;
    if (f->type != FRAME_GRADIENT || peer->gone) {
        (void)err_set(err, EPROTO, "a parameter server does not accept %s",
                      frame_type_to_string(f->type));
        return NULL;
    }
    if (check_others(s, err) < 0) {
        return NULL;
    }
    struct slice want = own_slice(s, peer->next);
    uint32_t id = own_id(s, peer->next);
    const size_t bytes = want.len * frame_wire_bytes(s->params.wire);
    if (f->step != peer->step || f->slice != id || f->offset != want.offset ||
        f->payload_len != bytes) {
        (void)err_set(
            err, EPROTO,
            "gradient of step %" PRIu64 ", slice %" PRIu32 ", offset %" PRIu64 ", %" PRIu32
            " bytes; expected step %" PRIu64 ", slice %" PRIu32 ", offset %zu, %zu bytes",
            f->step, f->slice, f->offset, f->payload_len, peer->step, id, want.offset, bytes);
        return NULL;
    }
    const uint32_t t = peer->conn.peer.index;
    if (s->up.links[t].taken == s->up.links[t].sent) {
        (void)err_set(err, EPROTO,
                      "gradient of step %" PRIu64 ", slice %" PRIu32 " came without a credit",
                      f->step, id);
        return NULL;
    }
    if (is_async(s)) {
        peer->receiving = ps_single_take(&s->single);
        return ps_single_landing(&s->single, peer->receiving, want.len);
    }
    peer->receiving = reduce_take(&s->reduce, peer->next, t);
    return peer->receiving;
}

void ps_round_part(void *server, struct conn *c, size_t n)
{
    struct ps_server *s = server;
    struct ps_peer *peer = (struct ps_peer *)c;
    if (!is_async(s)) {
        reduce_add_part(&s->reduce, peer->next, peer->conn.peer.index, peer->receiving,
                        n / frame_wire_bytes(s->params.wire));
    }
}

static void end_round(struct ps_server *s)
{
    s->n_complete = 0;
    s->round++;
    if (!s->measuring) {
        return;
    }
    ps_round_lap(s, &s->stats.receive_ns);
    *vec_push(&s->round_ns) = s->lap_ns - s->round_began_ns;
    s->round_began_ns = s->lap_ns;
    s->stats.duration_ns = s->lap_ns - s->barrier_ns;
    s->stats.cpu_ns = clock_thread_cpu_ns() - s->barrier_cpu_ns;
    s->stats.staleness_sum = s->single.staleness_sum;
    s->stats.staleness_max = s->single.staleness_max;
    s->stats.n_stale = s->single.n_gradients;
    s->last_round = s->stats;
}

/* The parameters of slice i as they are sent. */
static const void *wire_params(const struct ps_server *s, size_t i)
{
    const size_t offset = s->param_offsets[i];
    return s->narrowed != NULL ? (const void *)(s->narrowed + offset) : s->params.params + offset;
}

/* The gradients of all trainers for slice i are added: applies them. The new parameters may go. */
static void finish_slice(struct ps_server *s, size_t i)
{
    const struct ps_server_params *p = &s->params;
    struct slice slice = own_slice(s, i);
    float *params = p->params + s->param_offsets[i];
    ps_round_lap(s, &s->stats.receive_ns); /* this function is called while reading */
    p->apply(p->apply_ctx, s->round + 1, s->first_param + s->param_offsets[i], slice.len, params,
             reduce_sum(&s->reduce, i), 1.0f / (float)p->n_trainers);
    ps_round_lap(s, &s->stats.update_ns);

    if (s->narrowed != NULL) {
        bf16_narrow(s->narrowed + s->param_offsets[i], params, slice.len);
    }
    s->param_crcs[i] = crc32c(0, wire_params(s, i), slice.len * frame_wire_bytes(p->wire));
    for (uint32_t t = 0; t < p->n_trainers; t++) {
        flow_offer(&s->down, t, s->down.links[t].ready + 1);
    }
    s->n_complete++;
    if (s->n_complete == s->n_slices) {
        end_round(s);
    }
}

/* Trainer t's gradient of slice i is here: applies it alone. */
static void apply_single(struct ps_server *s, size_t i, uint32_t t, void *grad)
{
    const struct ps_server_params *p = &s->params;
    const size_t offset = s->param_offsets[i], len = own_slice(s, i).len;
    ps_round_lap(s, &s->stats.receive_ns); /* this function is called while reading */
    const uint64_t version = ps_single_arrived(&s->single, t, i, grad, len);
    p->apply(p->apply_ctx, version, s->first_param + offset, len, p->params + offset, grad, 1.0f);
    ps_round_lap(s, &s->stats.update_ns);
    ps_single_drop(&s->single, grad);
    flow_offer(&s->down, t, s->down.links[t].ready + 1);
    s->n_complete++;
    if (s->n_complete == s->n_slices * p->n_trainers) {
        end_round(s);
    }
}

/* Of the slices of `step` that are complete and that the trainer has not been sent, the first in
 * the arena: the next forward wants it soonest. */
static uint32_t next_params(const struct ps_server *s, const struct ps_peer *peer, uint64_t step)
{
    const uint64_t complete = is_async(s) ? peer->step : s->round;
    const uint32_t next = is_async(s) ? (uint32_t)peer->next : s->n_complete;
    uint32_t i = step < complete ? s->n_slices : next;
    do {
        i--; /* there is one: flow_next says so */
    } while (peer->is_sent[i]);
    return i;
}

/* Queues the parameters that trainer t gets next. */
static void send_params(struct ps_server *s, uint32_t t)
{
    struct ps_peer *peer = s->trainers[t];
    const uint64_t number = s->down.links[t].sent - 1, step = number / s->n_slices;
    if (number % s->n_slices == 0) {
        memset(peer->is_sent, 0, s->n_slices * sizeof(bool));
    }
    const uint32_t i = next_params(s, peer, step);
    const struct slice slice = own_slice(s, i);
    const struct frame f = {
        .type = FRAME_PARAMS,
        .step = step,
        .slice = own_id(s, i),
        .offset = slice.offset,
    };
    peer->is_sent[i] = true;
    const size_t bytes = slice.len * frame_wire_bytes(s->params.wire);
    if (is_async(s)) {
        const void *copy = ps_single_send(&s->single, t, i, number,
                                          s->params.params + s->param_offsets[i], slice.len);
        conn_send_payload(&peer->conn, &f, copy, bytes, crc32c(0, copy, bytes));
        return;
    }
    conn_send_payload(&peer->conn, &f, wire_params(s, i), bytes, s->param_crcs[i]);
}

static bool may_come(void *ctx, uint32_t t, uint64_t number)
{
    const struct ps_server *s = ctx;
    return is_async(s) || reduce_has_room(&s->reduce, number % s->n_slices, t);
}

/* Gives credit for gradients and sends parameters, as far as the limits allow. Called whenever one
 * of them may have moved. */
static void serve(struct ps_server *s)
{
    uint32_t t;
    while (flow_next(&s->down, NULL, NULL, &t)) {
        send_params(s, t);
    }
    while (flow_next(&s->up, may_come, s, &t)) {
        if (!is_async(s)) {
            reduce_reserve(&s->reduce, (s->up.links[t].sent - 1) % s->n_slices, t);
        }
    }
    for (t = 0; t < s->params.n_trainers; t++) { /* reports to each of them, once */
        struct ps_peer *peer = s->trainers[t];
        const uint64_t sent = s->up.links[t].sent;
        if (peer != NULL && peer->credited < sent) {
            const uint64_t before = peer->step * s->n_slices;
            conn_send_count(&peer->conn, FRAME_CREDIT, peer->step, (uint32_t)(sent - before));
            peer->credited = sent;
        }
    }
}

void ps_round_look(struct ps_server *s)
{
    if (is_async(s)) {
        const bool up = flow_look(&s->up, s->meet.now_ns),
                   down = flow_look(&s->down, s->meet.now_ns);
        if (up || down) {
            serve(s);
        }
    }
}

static int on_offer(struct ps_server *s, struct ps_peer *peer, const struct frame *f,
                    struct err *err)
{
    const uint32_t t = peer->conn.peer.index;
    const uint64_t before = peer->step * s->n_slices; /* of its earlier steps */
    if (check_others(s, err) < 0) {
        return -EPROTO;
    }
    if (f->step != peer->step || f->slice > s->n_slices ||
        before + f->slice <= s->up.links[t].ready) {
        return err_set(err, EPROTO,
                       "OFFER of %" PRIu32 " slices of step %" PRIu64
                       "; expected more than %" PRIu64 ", at most %" PRIu32 ", of step %" PRIu64,
                       f->slice, f->step, s->up.links[t].ready - before, s->n_slices, peer->step);
    }
    /* The trainer must have all parameters of the previous round: applying its gradients would
     * change parameters that are still being sent. */
    if (s->down.links[t].taken < before) {
        return err_set(err, EPROTO,
                       "OFFER of step %" PRIu64 " came before the parameters of the previous step "
                       "had arrived",
                       f->step);
    }
    flow_offer(&s->up, t, before + f->slice);
    serve(s);
    return 0;
}

static int on_taken(struct ps_server *s, struct ps_peer *peer, const struct frame *f,
                    struct err *err)
{
    const struct flow_link *l = &s->down.links[peer->conn.peer.index];
    const uint64_t step = l->taken / s->n_slices, before = l->taken;
    if (f->step != step || f->slice > s->n_slices || step * s->n_slices + f->slice <= l->taken ||
        step * s->n_slices + f->slice > l->sent) {
        return err_set(
            err, EPROTO,
            "TAKEN of %" PRIu32 " slices of step %" PRIu64 "; expected more than %" PRIu64
            ", at most the %" PRIu64 " that were sent, of step %" PRIu64,
            f->slice, f->step, l->taken - step * s->n_slices, l->sent - step * s->n_slices, step);
    }
    flow_take(&s->down, peer->conn.peer.index, step * s->n_slices + f->slice);
    for (uint64_t number = before; is_async(s) && number < l->taken; number++) {
        ps_single_release(&s->single, peer->conn.peer.index, number);
    }
    serve(s);
    return 0;
}

/* It has arrived where ps_round_place has put it. */
static void on_gradient(struct ps_server *s, struct ps_peer *peer)
{
    size_t i = peer->next;
    void *grad = take_ptr(peer->receiving);
    peer->next++;
    const uint32_t t = peer->conn.peer.index;
    if (peer->next == s->n_slices) {
        peer->next = 0;
        peer->step++;
        if (!is_async(s)) {
            ps_round_note_arrival(s, t);
        }
    }
    flow_take(&s->up, t, s->up.links[t].taken + 1);
    if (is_async(s)) {
        apply_single(s, i, t, grad);
    } else if (reduce_add(&s->reduce, i, t, grad)) {
        finish_slice(s, i);
    }
    serve(s);
}

static int on_ready(struct ps_server *s, struct ps_peer *peer, struct err *err)
{
    if (peer->ready || is_busy(s, peer)) {
        return err_set(err, EPROTO, "READY was sent twice or within a round");
    }
    peer->ready = true;
    s->n_ready++;
    if (s->n_gone > 0) {
        return blame_leaver(s, err);
    }
    if (!is_async(s) && is_any_in_round(s)) {
        return blame_waiter(s, err);
    }
    if (s->n_ready < s->params.n_trainers) {
        return 0;
    }
    for (uint32_t t = 0; t < s->params.n_trainers; t++) {
        conn_send(&s->trainers[t]->conn, FRAME_RELEASE, NULL, 0);
    }
    s->measuring = true;
    s->barrier_ns = s->round_began_ns = s->lap_ns = clock_monotonic_ns();
    s->barrier_cpu_ns = clock_thread_cpu_ns();
    s->stats = (struct ps_server_stats){0};
    s->single.staleness_sum = s->single.staleness_max = s->single.n_gradients = 0;
    ps_round_bytes(s, &s->barrier_bytes_tx, &s->barrier_bytes_rx);
    return 0;
}

static int on_goodbye(struct ps_server *s, struct ps_peer *peer, struct err *err)
{
    if (peer->gone || is_busy(s, peer)) {
        return err_set(err, EPROTO, "GOODBYE was sent twice or within a round");
    }
    peer->gone = true;
    s->n_gone++;
    int r = check_left(s, err);
    return r < 0 ? r : 1;
}

int ps_round_frame(void *server, struct conn *c, const struct frame *f, const uint8_t *payload,
                   struct err *err)
{
    struct ps_server *s = server;
    struct ps_peer *peer = (struct ps_peer *)c;
    switch (f->type) {
    case FRAME_HEARTBEAT:
        return 0;
    case FRAME_OFFER:
        return on_offer(s, peer, f, err);
    case FRAME_GRADIENT:
        on_gradient(s, peer);
        return 0;
    case FRAME_TAKEN:
        return on_taken(s, peer, f, err);
    case FRAME_READY:
        return on_ready(s, peer, err);
    case FRAME_GOODBYE:
        return on_goodbye(s, peer, err);
    case FRAME_ABORT:
        return meet_on_abort(&s->meet, false, f, payload, err);
    default:
        return err_set(err, EPROTO, "a parameter server does not accept %s",
                       frame_type_to_string(f->type));
    }
}
