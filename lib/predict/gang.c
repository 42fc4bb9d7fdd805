/* The simulation of a trial, see gang.h: set up, the loop, what came of it. */
#include "predict/gang.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

#include "base/vec_walk.h"
#include "predict/gang_internal.h"

/* A long ring is simulated as one of GANG_MAX_RANKS ranks, each of which is several workers that
 * follow each other: what goes to the next rank is as many slices and takes as long as all hops
 * between these workers, and a rank sends as many bytes as a worker. */
static struct gang_params coarse(const struct gang_params *p)
{
    struct gang_params c = *p;
    if (p->is_ring && p->n_trainers > GANG_MAX_RANKS) {
        const double n = p->n_trainers, ranks = GANG_MAX_RANKS, hops = (n - 1) / (ranks - 1);
        const double bytes = hops * ranks / n;
        c.n_trainers = GANG_MAX_RANKS;
        c.trainer_bytes_per_s /= bytes;
        c.first_bytes_per_s /= bytes;
        c.costs.worker *= bytes;
        c.costs.worker_update *= ranks / n;
        c.latency_s *= hops;
        c.n_cores *= ranks / n;
    }
    return c;
}

/* Of the step's exchange; there is one, and of a ring as many rounds as its workers have. */
static struct slices plan_of(const struct gang_params *p)
{
    if (!p->is_ring) {
        return slices_of_gang(p->n_params, p->n_servers, p->n_trainers);
    }
    struct slices s = ring_slices(p->n_params, p->n_trainers);
    const uint32_t n_ranks = coarse(p).n_trainers;
    s.n = s.n / s.n_servers * n_ranks;
    s.n_servers = n_ranks;
    return s;
}

static uint64_t n_slices(const struct gang_params *p)
{
    return p->is_ring || p->n_servers > 0 ? plan_of(p).n : 0;
}

static uint32_t n_simulated_steps(const struct gang_params *p, uint32_t n_trainers)
{
    const uint64_t n_each = 2 * (n_slices(p) + p->n_layers) * n_trainers;
    const uint64_t most = GANG_MAX_EVENTS / n_each;
    const uint64_t n = most > GANG_MIN_STEPS ? most : GANG_MIN_STEPS;
    return n < p->n_steps ? (uint32_t)n : p->n_steps;
}

static double slowest_link(const struct gang_params *p)
{
    return fmin(gang_link_of(p, 0), p->n_trainers > 1 ? gang_link_of(p, 1) : INFINITY);
}

int gang_check(const struct gang_params *p, struct err *err)
{
    const char *replicas = p->is_ring ? "workers" : "trainers";
    const uint32_t n_trainers = coarse(p).n_trainers;
    if (n_slices(p) * n_trainers > GANG_MAX_SLICES) {
        return err_set(err, E2BIG,
                       "%" PRIu32 " %s with %" PRIu64 " slices each are more than %d slices",
                       p->n_trainers, replicas, n_slices(p), GANG_MAX_SLICES);
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
    } else if (actor == gang_actor_landing(g)) {
        wires_land(g);
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
    g->slices = plan_of(g->real);
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

static void init(struct gang *g, const struct gang_params *real)
{
    const struct gang_params *p = &g->coarse;
    *g = (struct gang){.p = p,
                       .real = real,
                       .coarse = coarse(real),
                       .finish = real->is_ring ? ring_finish : finish,
                       .arrived = trainer_arrived,
                       .exchanged = trainer_exchanged};
    g->coarse.n_steps = n_simulated_steps(real, p->n_trainers);
    agenda_init(&g->agenda, gang_actor_landing(g) + 1);
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
    }
    vec_done(&g->landings.queue);
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
 * over the simulated steps. */
static double late_s(const struct gang_params *p, uint32_t n_steps)
{
    double sum = 0;
    for (uint64_t step = p->n_warmup_steps; step < (uint64_t)p->n_warmup_steps + n_steps; step++) {
        double max = 0, mean = 0;
        for (uint32_t t = 0; t < p->n_trainers; t++) {
            const double factor = gang_factor(p->seed, t, step, p->jitter_ratio);
            max = fmax(max, factor);
            mean += factor / p->n_trainers;
        }
        sum += max - mean;
    }
    const double nominal_s = array_sum(p->layers, p->n_layers, l, l->forward_s + l->backward_s);
    return nominal_s * sum / n_steps;
}

static double n_steps_for_one(const struct gang *g)
{
    return (double)g->real->n_steps / g->p->n_steps;
}

/* The longest that one of n workers worked. */
static double busiest_s(const struct gang *g, uint32_t first, uint32_t n)
{
    double most_s = 0;
    for (uint32_t i = 0; i < n; i++) {
        most_s = fmax(most_s, g->workers[first + i].busy_s);
    }
    return most_s * n_steps_for_one(g);
}

static void count_servers(const struct gang *g, double span_s, struct gang_result *r)
{
    const struct gang_params *p = g->p;
    const double bytes = (double)p->n_params * sizeof(float) * g->real->n_steps;
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
    const double n = p->n_trainers;
    const double bytes = (double)p->n_params * sizeof(float) * g->real->n_steps;
    r->worker_share = busiest_s(g, 0, p->n_trainers) / span_s;
    r->trainer_link_share = bytes * 2 * (n - 1) / n / slowest_link(p) / span_s;
}

static struct gang_result sum_up(const struct gang *g)
{
    const struct gang_params *p = g->p;
    const double n_steps = g->real->n_steps, n = p->n_trainers * n_steps;
    struct gang_result r = {0};
    double end_s = 0, sum_s = 0;
    for (uint32_t t = 0; t < p->n_trainers; t++) {
        const struct spent *it = &g->trainers[t].spent;
        r.steps_per_s += n_steps / it->at_s;
        sum_s += it->at_s;
        end_s = fmax(end_s, it->at_s);
        r.forward_s += it->forward_s / n;
        r.backward_s += it->backward_s / n;
        r.update_s += it->update_s / n;
        r.exposed_s += it->exposed_s / n;
    }
    r.step_s = sum_s / n;
    r.cores_share = p->n_cores == 0 ? 0 : g->cores.used_s * n_steps_for_one(g) / end_s / p->n_cores;
    r.late_s = late_s(g->real, p->n_steps);
    r.n_transfers = g->n_transfers / p->n_steps * g->real->n_steps;
    r.n_steps = p->n_steps;
    if (p->is_ring) {
        r.steps_per_s *= (double)g->real->n_trainers / p->n_trainers;
        count_ring(g, end_s, &r);
    } else if (p->n_servers > 0) {
        count_servers(g, end_s, &r);
    }
    return r;
}

struct gang_result gang_run(const struct gang_params *p)
{
    struct gang g;
    uint32_t actor;
    double at_s;
    init(&g, p);
    for (uint32_t t = 0; t < g.p->n_trainers; t++) {
        g.trainers[t].step = p->n_warmup_steps;
        trainer_begin(&g, t);
    }
    while (g.n_done < g.p->n_trainers && agenda_first(&g.agenda, &actor, &at_s)) {
        g.now_s = at_s;
        act(&g, actor);
        if (!agenda_first(&g.agenda, &actor, &at_s) || at_s > g.now_s) {
            wires_settle(&g);
        }
    }
    assert(g.n_done == g.p->n_trainers); /* the limits of the exchange keep every trainer moving */
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
