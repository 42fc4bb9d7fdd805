/* The rounds of a parameter server: adds each trainer's gradients in order, passes a complete sum
 * to the optimiser and sends the new parameters to all trainers. ps_server.c calls it for each
 * frame. */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "worker/comm/crc32c.h"
#include "worker/comm/ps_internal.h"

static struct slice own_slice(const struct ps_server *s, size_t i)
{
    uint32_t id = (uint32_t)i * s->params.slices.n_servers + s->params.self.index;
    return slices_get(&s->params.slices, id);
}

void ps_round_init(struct ps_server *s)
{
    s->n_slices = s->params.slices.n / s->params.slices.n_servers;
    s->param_offsets = xnew_array(size_t, s->n_slices);
    _cleanup_(freep) size_t *lens = xnew_array(size_t, s->n_slices);
    size_t offset = 0;
    for (uint32_t i = 0; i < s->n_slices; i++) {
        lens[i] = own_slice(s, i).len;
        s->param_offsets[i] = offset;
        offset += lens[i];
    }
    reduce_init(&s->reduce, s->params.n_trainers, lens, s->n_slices);
}

void ps_round_done(struct ps_server *s)
{
    vec_each (struct ps_peer *, p, &s->peers) {
        if ((*p)->receiving != NULL) {
            reduce_drop(&s->reduce, (*p)->next, (*p)->conn.peer.index, (*p)->receiving);
        }
    }
    reduce_done(&s->reduce);
    free(s->param_offsets);
    s->param_offsets = NULL;
}

/* A trainer has left, so the sums of a round will never be complete. */
static int blame_leaver(struct ps_server *s, struct err *err)
{
    for (uint32_t t = 0; t < s->params.n_trainers; t++) {
        struct ps_peer *peer = s->trainers[t];
        if (peer != NULL && peer->gone) {
            (void)err_set(err, EPROTO,
                          "trainer/%" PRIu32 " finished after %" PRIu64 " steps, "
                          "but others continue; give all trainers the same number of steps",
                          t, peer->step);
            fault_from_err(&s->fault, -EPROTO, &peer->conn.peer, err);
            break;
        }
    }
    return -EPROTO;
}

/* True if the trainer has begun the current round. */
static bool is_in_round(const struct ps_server *s, const struct ps_peer *peer)
{
    return peer->step > s->round || peer->next > 0 || peer->receiving != NULL;
}

/* True if a trainer waits at the barrier. */
static bool is_barrier_closed(const struct ps_server *s)
{
    return s->n_ready > 0 && !s->measuring;
}

int ps_round_check_left(struct ps_server *s, struct err *err)
{
    for (uint32_t t = 0; t < s->params.n_trainers; t++) {
        const struct ps_peer *peer = s->trainers[t];
        if (is_barrier_closed(s) || (peer != NULL && is_in_round(s, peer))) {
            return blame_leaver(s, err);
        }
    }
    return 0;
}

/* Some trainers go on training while others wait at the barrier. Both would wait forever while
 * their heartbeats continue, because a trainer that waits at the barrier sends
 * no more gradients. */
static int blame_waiter(struct ps_server *s, struct err *err)
{
    uint32_t t = 0; /* the loop ends: at least one trainer is ready */
    while (s->trainers[t] == NULL || !s->trainers[t]->ready) {
        t++;
    }
    (void)err_set(err, EPROTO,
                  "trainer/%" PRIu32 " waits at the barrier after %" PRIu64 " steps, "
                  "but others continue; give all trainers the same number of warm-up steps",
                  t, s->trainers[t]->step);
    fault_from_err(&s->fault, -EPROTO, &s->trainers[t]->conn.peer, err);
    return -EPROTO;
}

void *ps_round_place(struct ps_server *s, struct ps_peer *peer, const struct frame *f,
                     struct err *err)
{
    if (f->type != FRAME_GRADIENT || !peer->joined || peer->gone) {
        (void)err_set(err, EPROTO, "a parameter server does not accept %s",
                      frame_type_to_string(f->type));
        return NULL;
    }
    if (s->n_gone > 0) {
        (void)blame_leaver(s, err);
        return NULL;
    }
    if (is_barrier_closed(s)) {
        (void)blame_waiter(s, err);
        return NULL;
    }
    struct slice want = own_slice(s, peer->next);
    uint32_t id = (uint32_t)peer->next * s->params.slices.n_servers + s->params.self.index;
    if (f->step != peer->step || f->slice != id || f->offset != want.offset ||
        f->payload_len != want.len * sizeof(float)) {
        (void)err_set(err, EPROTO,
                      "gradient of step %" PRIu64 ", slice %" PRIu32 ", offset %" PRIu64
                      ", %" PRIu32 " bytes; expected step %" PRIu64 ", slice %" PRIu32
                      ", offset %zu, %zu bytes",
                      f->step, f->slice, f->offset, f->payload_len, peer->step, id, want.offset,
                      want.len * sizeof(float));
        return NULL;
    }
    /* The trainer must have all parameters of the previous round: applying this gradient would
     * change parameters that are still being sent. */
    if (peer->step != s->round || (peer->next == 0 && conn_has_bulk(&peer->conn))) {
        (void)err_set(err, EPROTO,
                      "gradient of step %" PRIu64 " arrived before the parameters of "
                      "the previous step were sent",
                      f->step);
        return NULL;
    }
    peer->receiving = reduce_take(&s->reduce, peer->next, peer->conn.peer.index);
    return peer->receiving;
}

void ps_round_lap(struct ps_server *s, int64_t *phase)
{
    int64_t now_ns = clock_monotonic_ns();
    *phase += now_ns - s->lap_ns;
    s->lap_ns = now_ns;
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
    s->last_round = s->stats;
}

/* The gradients of all trainers for slice i are added: applies them and sends
 * the new parameters. */
static void finish_slice(struct ps_server *s, size_t i)
{
    const struct ps_server_params *p = &s->params;
    struct slice slice = own_slice(s, i);
    float *params = p->params + s->param_offsets[i];
    ps_round_lap(s, &s->stats.receive_ns); /* this function is called while reading */
    p->apply(p->apply_ctx, s->round + 1, s->param_offsets[i], slice.len, params,
             s->reduce.slices[i].sum, 1.0f / (float)p->n_trainers);
    ps_round_lap(s, &s->stats.update_ns);

    struct frame f = {
        .type = FRAME_PARAMS,
        .step = s->round,
        .slice = (uint32_t)i * p->slices.n_servers + p->self.index,
        .offset = slice.offset,
        .priority = (uint32_t)i,
    };
    uint32_t crc = crc32c(0, params, slice.len * sizeof(float));
    for (uint32_t t = 0; t < p->n_trainers; t++) {
        conn_send_slice(&s->trainers[t]->conn, &f, params, slice.len, &crc);
    }
    s->n_complete++;
    if (s->n_complete == s->n_slices) {
        end_round(s);
    }
}

int ps_round_gradient(struct ps_server *s, struct ps_peer *peer, const struct frame *f,
                      struct err *err)
{
    (void)f; /* checked in ps_round_place */
    (void)err;
    size_t i = peer->next;
    float *grad = take_ptr(peer->receiving);
    peer->next++;
    if (peer->next == s->n_slices) {
        peer->next = 0;
        peer->step++;
    }
    if (reduce_add(&s->reduce, i, peer->conn.peer.index, grad)) {
        finish_slice(s, i);
    }
    return 0;
}

void ps_round_bytes(const struct ps_server *s, uint64_t *ret_tx, uint64_t *ret_rx)
{
    *ret_tx = *ret_rx = 0;
    for (uint32_t t = 0; t < s->params.n_trainers; t++) {
        *ret_tx += s->trainers[t]->conn.bytes_tx;
        *ret_rx += s->trainers[t]->conn.bytes_rx;
    }
}

int ps_round_ready(struct ps_server *s, struct ps_peer *peer, struct err *err)
{
    if (peer->ready || peer->next != 0 || peer->step != s->round) {
        return err_set(err, EPROTO, "READY was sent twice or within a round");
    }
    peer->ready = true;
    s->n_ready++;
    if (s->n_gone > 0) {
        return blame_leaver(s, err);
    }
    for (uint32_t t = 0; t < s->params.n_trainers; t++) {
        if (s->trainers[t] != NULL && is_in_round(s, s->trainers[t])) {
            return blame_waiter(s, err);
        }
    }
    if (s->n_ready < s->params.n_trainers) {
        return 0;
    }
    for (uint32_t t = 0; t < s->params.n_trainers; t++) {
        conn_send(&s->trainers[t]->conn, FRAME_RELEASE, NULL, 0);
    }
    s->measuring = true;
    s->barrier_ns = s->round_began_ns = s->lap_ns = clock_monotonic_ns();
    s->stats = (struct ps_server_stats){0};
    ps_round_bytes(s, &s->barrier_bytes_tx, &s->barrier_bytes_rx);
    return 0;
}
