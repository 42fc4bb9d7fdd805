/* The threads that send and receive, and the connections between them. What comes of a task that is
 * done is the business of g->finish. */
#include <math.h>
#include <string.h>

#include "predict/gang_internal.h"

/* ---- queues: popped items are dropped once the queue is empty, or half of it is ---- */

#define QUEUE_LEN(q) ((q)->queue.len - (q)->head)
#define QUEUE_POP(q)                                                                               \
    do {                                                                                           \
        (q)->head++;                                                                               \
        if ((q)->head == (q)->queue.len) {                                                         \
            (q)->head = (q)->queue.len = 0;                                                        \
        } else if ((q)->head >= 64 && 2 * (q)->head >= (q)->queue.len) {                           \
            (q)->queue.len -= (q)->head;                                                           \
            memmove((q)->queue.items, (q)->queue.items + (q)->head,                                \
                    (q)->queue.len * sizeof(*(q)->queue.items));                                   \
            (q)->head = 0;                                                                         \
        }                                                                                          \
    } while (0)

static uint32_t n_pairs(const struct gang *g)
{
    return g->p->n_trainers * g->p->n_servers;
}

/* ---- connections ---- */

static void on_due(void *ctx, uint32_t wire, double at_s)
{
    struct gang *g = ctx;
    agenda_set(&g->agenda, gang_actor_wire(g, wire), at_s);
}

void wires_settle(struct gang *g)
{
    share_settle(&g->share, g->now_s, on_due, g);
}

static uint32_t slice_on(const struct gang *g, uint32_t wire, uint32_t slice)
{
    return g->p->is_ring ? ring_slice_of(g, wire, slice)
                         : gang_slice(g, wire % n_pairs(g) / g->p->n_trainers, slice);
}

/* Its first slice begins to move. No other connection of a ring crosses the two links in this
 * direction, so its rate is always the same. */
static void begin(struct gang *g, uint32_t wire)
{
    const struct wire *w = &g->wires[wire];
    const double bytes = g->bytes[slice_on(g, wire, w->queue.items[w->head])];
    if (g->p->is_ring) {
        on_due(g, wire, g->now_s + bytes / w->bytes_per_s);
        return;
    }
    const uint32_t pair = wire % n_pairs(g), n_trainers = g->p->n_trainers;
    const uint32_t first = wire == pair ? 0 : gang_n_workers(g); /* of the links that way */
    share_begin(&g->share, wire, first + pair % n_trainers, first + n_trainers + pair / n_trainers,
                bytes);
}

/* The slice goes as soon as those before it on the same connection have gone. */
static void push(struct gang *g, uint32_t wire, uint32_t slice)
{
    *vec_push(&g->wires[wire].queue) = slice;
    if (QUEUE_LEN(&g->wires[wire]) == 1) {
        begin(g, wire);
    }
}

void wire_push_up(struct gang *g, uint32_t server, uint32_t t, uint32_t slice)
{
    push(g, server * g->p->n_trainers + t, slice);
}

void wire_push_down(struct gang *g, uint32_t server, uint32_t t, uint32_t slice)
{
    push(g, n_pairs(g) + server * g->p->n_trainers + t, slice);
}

void wire_push_on(struct gang *g, uint32_t rank, uint32_t item)
{
    push(g, rank, item);
}

/* It is at the end of the connection. */
static void arrive(struct gang *g, uint32_t wire, uint32_t slice)
{
    const uint32_t n_trainers = g->p->n_trainers;
    if (g->p->is_ring) {
        worker_push(g, ring_next(n_trainers, wire), (struct task){TASK_RECEIVE, 0, slice});
        return;
    }
    const uint32_t pair = wire % n_pairs(g), t = pair % n_trainers, server = pair / n_trainers;
    const bool is_up = wire < n_pairs(g);
    worker_push(g, is_up ? gang_worker_of_server(g, server) : t,
                (struct task){TASK_RECEIVE, is_up ? t : server, slice});
}

static void leave(struct gang *g, uint32_t wire, uint32_t slice)
{
    if (g->p->latency_s == 0) {
        arrive(g, wire, slice);
        return;
    }
    const double at_s = g->now_s + g->p->latency_s;
    *vec_push(&g->landings.queue) = (struct landing){at_s, wire, slice};
    if (QUEUE_LEN(&g->landings) == 1) {
        agenda_set(&g->agenda, gang_actor_landing(g), at_s);
    }
}

void wires_land(struct gang *g)
{
    const struct landing it = g->landings.queue.items[g->landings.head];
    QUEUE_POP(&g->landings);
    agenda_set(&g->agenda, gang_actor_landing(g),
               QUEUE_LEN(&g->landings) > 0 ? g->landings.queue.items[g->landings.head].at_s
                                           : INFINITY);
    arrive(g, it.wire, it.slice);
}

uint32_t wire_act(struct gang *g, uint32_t wire)
{
    struct wire *w = &g->wires[wire];
    const uint32_t slice = w->queue.items[w->head];
    const uint32_t next = g->p->is_ring ? SHARE_NONE : share_stop(&g->share, wire);
    g->n_transfers++;
    QUEUE_POP(w);
    on_due(g, wire, INFINITY);
    if (next != SHARE_NONE) {
        on_due(g, next, g->now_s);
    }
    if (QUEUE_LEN(w) > 0) {
        begin(g, wire);
    }
    leave(g, wire, slice);
    return slice;
}

/* ---- threads ---- */

static double cost_in_ring(const struct gang *g, uint32_t rank, const struct task *task)
{
    if (task->kind == TASK_UPDATE) {
        return g->bytes[task->slice] * g->p->costs.worker_update;
    }
    const uint32_t from = task->kind == TASK_SEND ? rank : ring_prev(g->p->n_trainers, rank);
    return g->bytes[ring_slice_of(g, from, task->slice)] * g->p->costs.worker;
}

static double cost_of(const struct gang *g, uint32_t worker, const struct task *task)
{
    if (g->p->is_ring) {
        return cost_in_ring(g, worker, task);
    }
    const struct gang_costs *c = &g->p->costs;
    const double bytes = g->bytes[gang_slice(g, gang_server_of(g, worker, task), task->slice)];
    if (worker < g->p->n_trainers) {
        return bytes * c->trainer;
    }
    return bytes * (task->kind == TASK_RECEIVE ? c->receive
                    : task->kind == TASK_SEND  ? c->send
                                               : c->update);
}

void worker_start(struct gang *g, uint32_t worker, const struct task *task)
{
    struct worker *w = &g->workers[worker];
    const double cost_s = cost_of(g, worker, task);
    if (cost_s == 0) {
        g->finish(g, worker, task);
        return;
    }
    w->is_busy = true;
    w->doing = *task;
    w->began_s = g->now_s;
    gang_work(g, gang_actor_worker(g, worker), cost_s);
}

void worker_push(struct gang *g, uint32_t worker, struct task task)
{
    struct worker *w = &g->workers[worker];
    if (w->is_busy || QUEUE_LEN(w) > 0) {
        *vec_push(&w->queue) = task;
    } else {
        worker_start(g, worker, &task);
    }
}

void worker_act(struct gang *g, uint32_t worker)
{
    struct worker *w = &g->workers[worker];
    const struct task done = w->doing;
    w->busy_s += g->now_s - w->began_s;
    w->is_busy = false;
    g->finish(g, worker, &done);
    while (!w->is_busy && QUEUE_LEN(w) > 0) {
        const struct task next = w->queue.items[w->head];
        QUEUE_POP(w);
        worker_start(g, worker, &next);
    }
}
