/* The simulation of a trial, see gang.h: set up, the loop, what came of it. */
#include "predict/gang.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

#include "base/vec_walk.h"
#include "predict/gang_internal.h"

/* Of the step's exchange; there is one. */
static struct slices plan_of(const struct gang_params *p)
{
    return p->is_ring ? ring_slices(p->n_params, p->n_trainers)
                      : slices_of_gang(p->n_params, p->n_servers, p->n_trainers);
}

static double slowest_link(const struct gang_params *p)
{
    return fmin(gang_link_of(p, 0), p->n_trainers > 1 ? gang_link_of(p, 1) : INFINITY);
}

int gang_check(const struct gang_params *p, struct err *err)
{
    const uint64_t n_steps = (uint64_t)p->n_warmup_steps + p->n_steps;
    const char *replicas = p->is_ring ? "workers" : "trainers";
    uint64_t n_slices = 0;
    if ((uint64_t)p->n_trainers * p->n_servers > GANG_MAX_CONNECTIONS) {
        return err_set(err, E2BIG,
                       "%" PRIu32 " trainers with %" PRIu32 " servers each are more than %d "
                       "connections",
                       p->n_trainers, p->n_servers, GANG_MAX_CONNECTIONS);
    }
    if (p->is_ring || p->n_servers > 0) {
        n_slices = plan_of(p).n;
    }
    if (n_slices * p->n_trainers > GANG_MAX_SLICES) {
        return err_set(err, E2BIG,
                       "%" PRIu32 " %s with %" PRIu64 " slices each are more than %d slices",
                       p->n_trainers, replicas, n_slices, GANG_MAX_SLICES);
    }
    const uint64_t n_looks = p->is_ring ? 0 : p->n_trainers / GANG_LOOKS_AN_EVENT;
    const uint64_t n_each = 2 * (n_slices * (1 + n_looks) + p->n_layers) * p->n_trainers;
    if (n_steps > GANG_MAX_EVENTS / n_each) {
        return err_set(err, E2BIG,
                       "%" PRIu64 " steps of %" PRIu32 " %s with %" PRIu32 " layers and %" PRIu64
                       " slices are more than %d events",
                       n_steps, p->n_trainers, replicas, p->n_layers, n_slices, GANG_MAX_EVENTS);
    }
    return 0;
}

/* What a task that is done leads to. */
static void finish(struct gang *g, uint32_t worker, const struct task *task)
{
    const uint32_t n_trainers = g->p->n_trainers, server = gang_server_of(g, worker, task);
    if (worker < n_trainers) {
        if (task->kind == TASK_SEND) {
            wire_push_up(g, server, worker, task->slice);
        } else {
            server_taken(g, server, worker);
            trainer_arrived(g, worker, gang_slice(g, server, task->slice));
        }
        return;
    }
    switch (task->kind) {
    case TASK_SEND:
        wire_push_down(g, server, task->peer, task->slice);
        break;
    case TASK_RECEIVE:
        if (server_received(g, server, task->peer, task->slice)) {
            worker_start(g, worker, &(struct task){TASK_UPDATE, 0, task->slice});
        }
        break;
    case TASK_UPDATE:
        server_updated(g, server);
        break;
    }
}

static void act(struct gang *g, uint32_t actor)
{
    if (actor == gang_actor_cores(g)) {
        uint32_t thread;
        double end_s;
        if (!cores_next(&g->cores, &thread, &end_s)) {
            return;
        }
        cores_end(&g->cores, g->now_s, thread);
        gang_plan_cores(g);
        actor = thread;
    } else if (actor >= gang_actor_landing(g, 0)) {
        wire_land(g, actor - gang_actor_landing(g, 0));
        return;
    } else if (actor >= gang_actor_wire(g, 0)) {
        const uint32_t wire = actor - gang_actor_wire(g, 0), gone = wire_act(g, wire);
        if (g->p->is_ring) {
            ring_gone(g, wire, gone);
        }
        return;
    } else {
        agenda_set(&g->agenda, actor, INFINITY);
    }
    if (actor < g->p->n_trainers) {
        trainer_act(g, actor);
    } else {
        worker_act(g, actor - g->p->n_trainers);
    }
}

/* ---- set up ---- */

static void place_layers(struct gang *g)
{
    g->first_slice = xnew_array(uint32_t, g->p->n_layers);
    g->last_slice = xnew_array(uint32_t, g->p->n_layers);
    for (uint32_t i = 0; i < g->p->n_layers; i++) {
        const struct gang_layer *l = &g->p->layers[i];
        for (uint32_t s = 0; s < g->slices.n && l->n > 0; s++) {
            const struct slice slice = slices_get(&g->slices, s);
            if (slice.offset + slice.len <= l->offset) {
                g->first_slice[i] = s + 1;
            }
            if (slice.len > 0 && slice.offset < l->offset + l->n) {
                g->last_slice[i] = s;
            }
        }
    }
}

static void set_links(struct gang *g)
{
    const uint32_t n = gang_n_workers(g), n_trainers = g->p->n_trainers;
    share_init(&g->share, 2 * n, 2 * n_trainers * g->p->n_servers);
    for (uint32_t i = 0; i < 2 * n; i++) {
        share_limit(&g->share, i,
                    i % n < n_trainers ? gang_link_of(g->p, i % n) : g->p->server_bytes_per_s);
    }
}

static void init_exchange(struct gang *g)
{
    const struct gang_params *p = g->p;
    g->slices = plan_of(p);
    g->each = g->slices.n / g->slices.n_servers;
    g->bytes = xnew_array(double, g->slices.n);
    for (uint32_t i = 0; i < g->slices.n; i++) {
        g->bytes[i] = (double)(slices_get(&g->slices, i).len * sizeof(float));
    }
    place_layers(g);
    g->wires = xnew_array(struct wire, gang_n_wires(g));
    g->has_arrived = xnew_array(bool, (size_t)p->n_trainers * g->slices.n);
    g->servers = xnew_array(struct server, p->n_servers);
    for (uint32_t i = 0; i < p->n_servers; i++) {
        server_init(g, &g->servers[i]);
    }
    if (p->is_ring) {
        ring_init(g);
    }
}

static void init(struct gang *g, const struct gang_params *p)
{
    *g = (struct gang){.p = p,
                       .finish = p->is_ring ? ring_finish : finish,
                       .arrived = trainer_arrived,
                       .exchanged = trainer_exchanged};
    agenda_init(&g->agenda, gang_actor_landing(g, p->latency_s > 0 ? gang_n_wires(g) : 0));
    cores_init(&g->cores, p->n_cores, gang_actor_cores(g));
    g->trainers = xnew_array(struct trainer, p->n_trainers);
    g->workers = xnew_array(struct worker, gang_n_workers(g));
    set_links(g);
    if (gang_has_exchange(g)) {
        init_exchange(g);
    }
}

static void done(struct gang *g)
{
    for (uint32_t i = 0; i < gang_n_workers(g); i++) {
        vec_done(&g->workers[i].queue);
    }
    for (uint32_t i = 0; i < gang_n_wires(g); i++) {
        vec_done(&g->wires[i].queue);
        vec_done(&g->wires[i].landing.queue);
    }
    for (uint32_t i = 0; i < g->p->n_servers; i++) {
        server_done(&g->servers[i]);
    }
    ring_done(g);
    agenda_done(&g->agenda);
    cores_done(&g->cores);
    share_done(&g->share);
    free(g->trainers);
    free(g->servers);
    free(g->workers);
    free(g->wires);
    free(g->has_arrived);
    free(g->bytes);
    free(g->first_slice);
    free(g->last_slice);
}

/* ---- what came of it ---- */

/* How much longer the slowest trainer of a step computes than the mean one; mean
 * over the measured steps. */
static double late_s(const struct gang_params *p)
{
    double sum = 0;
    for (uint64_t step = p->n_warmup_steps; step < (uint64_t)p->n_warmup_steps + p->n_steps;
         step++) {
        double max = 0, mean = 0;
        for (uint32_t t = 0; t < p->n_trainers; t++) {
            const double factor = gang_factor(p->seed, t, step, p->jitter_ratio);
            max = fmax(max, factor);
            mean += factor / p->n_trainers;
        }
        sum += max - mean;
    }
    const double nominal_s = array_sum(p->layers, p->n_layers, l, l->forward_s + l->backward_s);
    return nominal_s * sum / p->n_steps;
}

/* The longest that one of n workers worked. */
static double busiest_s(const struct gang *g, uint32_t first, uint32_t n)
{
    double most_s = 0;
    for (uint32_t i = 0; i < n; i++) {
        most_s = fmax(most_s, g->workers[first + i].busy_s);
    }
    return most_s;
}

static void count_servers(const struct gang *g, double span_s, struct gang_result *r)
{
    const struct gang_params *p = g->p;
    const double bytes = (double)p->n_params * sizeof(float) * p->n_steps;
    double most = 0;
    for (uint32_t i = 0; i < p->n_servers; i++) {
        most = fmax(most, (double)slices_server_params(&g->slices, i) / (double)p->n_params);
    }
    r->server_share = busiest_s(g, p->n_trainers, p->n_servers) / span_s;
    r->server_link_share = bytes * most * p->n_trainers / p->server_bytes_per_s / span_s;
    r->trainer_link_share = bytes / slowest_link(p) / span_s;
}

static void count_ring(const struct gang *g, double span_s, struct gang_result *r)
{
    const struct gang_params *p = g->p;
    const double n = p->n_trainers, bytes = (double)p->n_params * sizeof(float) * p->n_steps;
    r->worker_share = busiest_s(g, 0, p->n_trainers) / span_s;
    r->trainer_link_share = bytes * 2 * (n - 1) / n / slowest_link(p) / span_s;
}

static struct gang_result sum_up(const struct gang *g)
{
    const struct gang_params *p = g->p;
    const double n = (double)p->n_trainers * p->n_steps;
    struct gang_result r = {0};
    double end_s = 0, sum_s = 0;
    for (uint32_t t = 0; t < p->n_trainers; t++) {
        const struct trainer *it = &g->trainers[t];
        const double span_s = it->end_s - g->barrier_s;
        r.steps_per_s += p->n_steps / span_s;
        sum_s += span_s;
        end_s = fmax(end_s, it->end_s);
        r.forward_s += it->forward_s / n;
        r.backward_s += it->backward_s / n;
        r.update_s += it->update_s / n;
        r.exposed_s += it->exposed_s / n;
    }
    r.step_s = sum_s / n;
    r.cores_share = p->n_cores == 0 ? 0 : g->cores.used_s / (end_s - g->barrier_s) / p->n_cores;
    r.late_s = late_s(p);
    r.n_transfers = g->n_transfers;
    if (p->is_ring) {
        count_ring(g, end_s - g->barrier_s, &r);
    } else if (p->n_servers > 0) {
        count_servers(g, end_s - g->barrier_s, &r);
    }
    return r;
}

struct gang_result gang_run(const struct gang_params *p)
{
    struct gang g;
    uint32_t actor;
    double at_s;
    init(&g, p);
    for (uint32_t t = 0; t < p->n_trainers; t++) {
        trainer_begin(&g, t);
    }
    while (g.n_done < p->n_trainers && agenda_first(&g.agenda, &actor, &at_s)) {
        g.now_s = at_s;
        act(&g, actor);
        if (!agenda_first(&g.agenda, &actor, &at_s) || at_s > g.now_s) {
            wires_settle(&g);
        }
    }
    assert(g.n_done == p->n_trainers); /* the limits of the exchange keep every trainer moving */
    const struct gang_result r = sum_up(&g);
    done(&g);
    return r;
}

bool gang_waits_for_latency(const struct gang_params *p, const struct gang_result *r)
{
    struct gang_params without = *p;
    without.latency_s = 0;
    return p->latency_s > 0 && gang_run(&without).exposed_s <= r->exposed_s / 2;
}
