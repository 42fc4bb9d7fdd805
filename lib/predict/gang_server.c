/* The rounds of a simulated parameter server, as worker/comm/ps/ps_round.c has them. */
#include <string.h>

#include "exchange/room.h"
#include "predict/gang_internal.h"

void server_init(struct gang *g, struct server *v)
{
    const uint32_t n_trainers = g->p->n_trainers;
    const size_t max_bytes = slices_longest(&g->slices) * sizeof(float);
    flow_init(&v->up, n_trainers, max_bytes);
    flow_init(&v->down, n_trainers, max_bytes);
    flow_join(&v->up);
    v->n_buffers = room_buffers(ROOM_EARLY_BYTES, max_bytes);
    v->next = xnew_array(uint32_t, g->each);
    v->is_early = xnew_array(bool, (size_t)g->each *n_trainers);
    v->is_sent = xnew_array(bool, (size_t)g->each *n_trainers);
}

void server_done(struct server *v)
{
    flow_done(&v->up);
    flow_done(&v->down);
    free(v->next);
    free(v->is_early);
    free(v->is_sent);
}

struct room_ask {
    const struct server *v;
    uint32_t each;
};

static bool may_come(void *ctx, uint32_t t, uint64_t number)
{
    const struct room_ask *ask = ctx;
    const struct server *v = ask->v;
    const uint32_t i = (uint32_t)(number % ask->each);
    return room_is_free(v->n_buffers, v->n_reserved, t, i == v->first && t == v->next[i]);
}

/* Of the slices of `step` that are complete and that the trainer has not been sent,
 * the first in the arena. */
static uint32_t next_params(const struct gang *g, const struct server *v, uint32_t t, uint64_t step)
{
    const bool *is_sent = v->is_sent + (size_t)t * g->each;
    uint32_t i = step < v->round ? g->each : v->n_complete;
    do {
        i--; /* there is one: flow_next says so */
    } while (is_sent[i]);
    return i;
}

static void send_params(struct gang *g, uint32_t server, uint32_t t)
{
    struct server *v = &g->servers[server];
    bool *is_sent = v->is_sent + (size_t)t * g->each;
    const uint64_t number = v->down.links[t].sent - 1;
    if (number % g->each == 0) {
        memset(is_sent, 0, g->each * sizeof(bool));
    }
    const uint32_t i = next_params(g, v, t, number / g->each);
    is_sent[i] = true;
    worker_push(g, gang_worker_of_server(g, server), (struct task){TASK_SEND, t, i});
}

/* Gives credit and sends parameters, as far as the limits allow. */
static void serve(struct gang *g, uint32_t server)
{
    struct server *v = &g->servers[server];
    struct room_ask ask = {v, g->each};
    uint32_t t;
    while (flow_next(&v->down, NULL, NULL, &t)) {
        send_params(g, server, t);
    }
    while (flow_next(&v->up, may_come, &ask, &t)) {
        const uint32_t i = (uint32_t)((v->up.links[t].sent - 1) % g->each);
        v->n_reserved += t != 0;
        worker_push(g, t, (struct task){TASK_SEND, server, i});
    }
}

void server_offered(struct gang *g, uint32_t server, uint32_t t, uint32_t n)
{
    struct flow *up = &g->servers[server].up;
    flow_offer(up, t, up->links[t].ready + n);
    serve(g, server);
}

bool server_received(struct gang *g, uint32_t server, uint32_t t, uint32_t slice)
{
    struct server *v = &g->servers[server];
    bool *is_early = v->is_early + (size_t)slice * g->p->n_trainers;
    flow_take(&v->up, t, v->up.links[t].taken + 1);
    is_early[t] = true;
    while (is_early[v->next[slice]]) {
        is_early[v->next[slice]] = false;
        v->n_reserved -= v->next[slice] != 0;
        v->next[slice]++;
        if (v->next[slice] == g->p->n_trainers) {
            v->next[slice] = 0;
            v->first = slice + 1 < g->each ? slice + 1 : 0;
            return true;
        }
    }
    serve(g, server);
    return false;
}

void server_updated(struct gang *g, uint32_t server)
{
    struct server *v = &g->servers[server];
    for (uint32_t t = 0; t < g->p->n_trainers; t++) {
        flow_offer(&v->down, t, v->down.links[t].ready + 1);
    }
    v->n_complete++;
    if (v->n_complete == g->each) {
        v->n_complete = 0;
        v->round++;
    }
    serve(g, server);
}

void server_taken(struct gang *g, uint32_t server, uint32_t t)
{
    struct flow *down = &g->servers[server].down;
    flow_take(down, t, down->links[t].taken + 1);
    serve(g, server);
}
