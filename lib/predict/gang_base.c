/* The actors of a simulation, and work that takes time. */
#include <math.h>

#include "predict/gang_internal.h"

uint32_t gang_n_workers(const struct gang *g)
{
    return g->p->n_trainers + g->p->n_servers;
}

uint32_t gang_actor_worker(const struct gang *g, uint32_t worker)
{
    return g->p->n_trainers + worker;
}

uint32_t gang_actor_cores(const struct gang *g)
{
    return g->p->n_trainers + gang_n_workers(g);
}

uint32_t gang_actor_wire(const struct gang *g, uint32_t wire)
{
    return gang_actor_cores(g) + 1 + wire;
}

uint32_t gang_actor_landing(const struct gang *g)
{
    return gang_actor_wire(g, gang_n_wires(g));
}

uint32_t gang_n_wires(const struct gang *g)
{
    if (g->p->is_ring) {
        return g->p->n_trainers > 1 ? g->p->n_trainers : 0;
    }
    return 2 * g->p->n_trainers * g->p->n_servers;
}

bool gang_has_exchange(const struct gang *g)
{
    return g->p->is_ring || g->p->n_servers > 0;
}

uint32_t gang_worker_of_server(const struct gang *g, uint32_t server)
{
    return g->p->n_trainers + server;
}

uint32_t gang_slice(const struct gang *g, uint32_t server, uint32_t i)
{
    return (g->each - 1 - i) * g->slices.n_servers + server;
}

void gang_plan_cores(struct gang *g)
{
    uint32_t thread;
    double end_s;
    const bool is_one = cores_next(&g->cores, &thread, &end_s);
    agenda_set(&g->agenda, gang_actor_cores(g), is_one ? fmax(end_s, g->now_s) : INFINITY);
}

void gang_work(struct gang *g, uint32_t thread, double work_s)
{
    if (g->p->n_cores == 0) {
        agenda_set(&g->agenda, thread, g->now_s + work_s);
        return;
    }
    cores_begin(&g->cores, g->now_s, thread, work_s);
    gang_plan_cores(g);
}

uint32_t gang_server_of(const struct gang *g, uint32_t worker, const struct task *task)
{
    return worker < g->p->n_trainers ? task->peer : worker - g->p->n_trainers;
}

double gang_link_of(const struct gang_params *p, uint32_t trainer)
{
    return trainer == 0 && p->first_bytes_per_s > 0 ? p->first_bytes_per_s : p->trainer_bytes_per_s;
}
