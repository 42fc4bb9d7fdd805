/* The steps of a simulated ring of workers, as worker/comm/ring/ring_round.c has them. */
#include <string.h>

#include "base/mem.h"
#include "predict/gang_internal.h"

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Parameters that a rank sends: not those of the next rank. */
static uint32_t n_to_pass_on(const struct gang *g)
{
    return g->p->n_trainers > 1 ? g->slices.n - g->each : 0;
}

static uint32_t prev_of(const struct gang *g, uint32_t t)
{
    return ring_prev(g->p->n_trainers, t);
}

void ring_init(struct gang *g)
{
    const struct gang_params *p = g->p;
    ring_plan_init(g);
    g->ranks = xnew_array(struct rank, p->n_trainers);
    for (uint32_t t = 0; t < p->n_trainers; t++) {
        struct rank *k = &g->ranks[t];
        k->ready_offset = SIZE_MAX;
        k->is_free = xnew_array(bool, g->n_buffers);
        k->is_new = xnew_array(bool, g->slices.n);
        k->is_passed_on = xnew_array(bool, g->slices.n);
    }
    for (uint32_t i = 0; i < gang_n_wires(g); i++) {
        const double from = gang_link_of(p, i), to = gang_link_of(p, ring_next(p->n_trainers, i));
        g->wires[i].bytes_per_s = from < to ? from : to;
    }
}

void ring_done(struct gang *g)
{
    for (uint32_t t = 0; g->ranks != NULL && t < g->p->n_trainers; t++) {
        free(g->ranks[t].is_free);
        free(g->ranks[t].is_new);
        free(g->ranks[t].is_passed_on);
    }
    free(g->ranks);
    ring_plan_done(g);
}

bool ring_has_ended(const struct gang *g, uint32_t t)
{
    return g->ranks[t].n_ended == g->ranks[t].n_begun;
}

/* The worker's own gradient of the slice is final. */
static bool is_ready(const struct gang *g, const struct rank *k, uint32_t slice)
{
    return g->offsets[slice] >= k->ready_offset;
}

/* ---- what goes ---- */

/* True if the next gradient of the plan could go: it is here, and the next rank has a buffer
 * for it in this step. */
static bool send_gradient(struct gang *g, uint32_t t)
{
    struct rank *k = &g->ranks[t];
    const struct rank *next = &g->ranks[ring_next(g->p->n_trainers, t)];
    if (next->n_ended != k->n_ended ||
        k->n_sent >= least(g->n_hops, next->n_freed + g->n_buffers)) {
        return false;
    }
    const struct ring_hop hop = ring_hop(g, t, k->n_sent);
    if (hop.is_first ? !is_ready(g, k, hop.slice) : hop.received >= k->n_added) {
        return false;
    }
    k->n_queued++;
    worker_push(g, t, (struct task){TASK_SEND, 0, k->n_sent++});
    return true;
}

static bool is_for_next(const struct gang *g, uint32_t t, uint32_t slice)
{
    return slice % g->p->n_trainers != ring_next(g->p->n_trainers, t);
}

/* The first in the arena of those that are here. */
static bool send_params(struct gang *g, uint32_t t)
{
    struct rank *k = &g->ranks[t];
    if (k->n_to_go == 0 || k->n_params_sent - k->n_params_taken >= g->n_buffers) {
        return false;
    }
    while (!k->is_new[k->lowest] || k->is_passed_on[k->lowest] || !is_for_next(g, t, k->lowest)) {
        k->lowest++;
    }
    const uint32_t slice = k->lowest;
    k->is_passed_on[slice] = true;
    k->n_passed_on++;
    k->n_to_go--;
    k->n_params_sent++;
    k->n_queued++;
    worker_push(g, t, (struct task){TASK_SEND, 0, g->n_hops + slice});
    return true;
}

static void advance(struct gang *g, uint32_t t);

/* The step has ended here once everything is here and has gone on; then the rank before may send
 * those of the next one. */
static void end_if_done(struct gang *g, uint32_t t)
{
    struct rank *k = &g->ranks[t];
    if (ring_has_ended(g, t) || k->n_new < g->slices.n || k->n_sent < g->n_hops ||
        k->n_passed_on < n_to_pass_on(g) || k->n_queued > 0) {
        return;
    }
    k->n_ended++;
    k->ready_offset = SIZE_MAX;
    k->n_sent = k->n_received = k->n_added = k->n_freed = 0;
    k->n_new = k->n_passed_on = k->lowest = 0;
    memset(k->is_new, 0, g->slices.n * sizeof(bool));
    memset(k->is_passed_on, 0, g->slices.n * sizeof(bool));
    g->exchanged(g, t);
    if (g->p->n_trainers > 1) {
        advance(g, prev_of(g, t));
    }
}

/* Gradients first: all ranks wait for them. */
static void advance(struct gang *g, uint32_t t)
{
    struct rank *k = &g->ranks[t];
    while (g->p->n_trainers > 1 && k->n_queued < RING_QUEUED_MAX &&
           (send_gradient(g, t) || send_params(g, t))) {
    }
    end_if_done(g, t);
}

/* ---- what comes ---- */

static void note_new(struct gang *g, uint32_t t, uint32_t slice)
{
    struct rank *k = &g->ranks[t];
    k->is_new[slice] = true;
    k->n_new++;
    if (g->p->n_trainers > 1 && is_for_next(g, t, slice)) {
        k->n_to_go++;
        k->lowest = least(k->lowest, slice);
    }
    g->arrived(g, t, slice);
}

/* Buffers are free in the order in which they were filled. */
static void release(struct gang *g, uint32_t t, uint32_t hop)
{
    struct rank *k = &g->ranks[t];
    k->is_free[hop % g->n_buffers] = true;
    while (k->n_freed < k->n_added && k->is_free[k->n_freed % g->n_buffers]) {
        k->is_free[k->n_freed % g->n_buffers] = false;
        k->n_freed++;
    }
    advance(g, prev_of(g, t));
}

/* What has come gets this worker's gradient, in its order, as far as that is
 * ready; the owner updates. */
static void add_arrived(struct gang *g, uint32_t t)
{
    struct rank *k = &g->ranks[t];
    while (k->n_added < k->n_received) {
        const uint32_t hop = k->n_added, slice = ring_slice_of(g, prev_of(g, t), hop);
        if (!is_ready(g, k, slice)) {
            return;
        }
        k->n_added++;
        if (slice % g->p->n_trainers == t) {
            worker_push(g, t, (struct task){TASK_UPDATE, hop, slice});
        }
    }
}

/* A ring of one has no other rank to wait for. */
static void update_alone(struct gang *g)
{
    struct rank *k = &g->ranks[0];
    while (k->n_added < g->slices.n && is_ready(g, k, g->slices.n - 1 - k->n_added)) {
        k->n_added++;
        worker_push(g, 0, (struct task){TASK_UPDATE, 0, g->slices.n - k->n_added});
    }
}

void ring_ready(struct gang *g, uint32_t t, size_t offset)
{
    g->ranks[t].ready_offset = offset;
    if (g->p->n_trainers == 1) {
        update_alone(g);
        return;
    }
    add_arrived(g, t);
    advance(g, t);
}

void ring_gone(struct gang *g, uint32_t rank, uint32_t item)
{
    g->ranks[rank].n_queued--;
    if (ring_is_gradient(g, item)) {
        const struct ring_hop hop = ring_hop(g, rank, item);
        if (!hop.is_first) {
            release(g, rank, hop.received);
        }
    }
    advance(g, rank);
}

static void receive(struct gang *g, uint32_t t, uint32_t item)
{
    if (ring_is_gradient(g, item)) {
        g->ranks[t].n_received++;
        add_arrived(g, t);
    } else {
        g->ranks[prev_of(g, t)].n_params_taken++;
        note_new(g, t, item - g->n_hops);
        advance(g, prev_of(g, t));
    }
    advance(g, t);
}

void ring_finish(struct gang *g, uint32_t worker, const struct task *task)
{
    switch (task->kind) {
    case TASK_SEND:
        wire_push_on(g, worker, task->slice);
        break;
    case TASK_RECEIVE:
        receive(g, worker, task->slice);
        break;
    case TASK_UPDATE:
        note_new(g, worker, task->slice);
        if (g->p->n_trainers > 1) {
            release(g, worker, task->peer);
        }
        advance(g, worker);
        break;
    }
}
