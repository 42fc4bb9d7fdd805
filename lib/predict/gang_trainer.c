/* The steps of a simulated trainer, as worker/role_trainer.c has them. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/splitmix.h"
#include "predict/gang_internal.h"

#define CUT 3.0
/* Of the measured steps the first ones are not like the others, nor is the last one. */
#define MARK_STEPS 2
static_assert(MARK_STEPS + 1 < GANG_MIN_STEPS, "a step is like the others");

/* 0 to 1, neither of them. */
static double uniform(uint64_t *state)
{
    return ((double)(splitmix_next(state) >> 11) + 0.5) / 9007199254740992.0;
}

double gang_factor(uint64_t seed, uint32_t trainer, uint64_t step, double jitter_ratio)
{
    if (jitter_ratio == 0) {
        return 1;
    }
    uint64_t state = seed;
    state = splitmix_next(&state) ^ trainer;
    state = splitmix_next(&state) ^ step;
    const double radius = sqrt(-2 * log(uniform(&state)));
    const double z = radius * cos(6.283185307179586 * uniform(&state));
    return 1 + jitter_ratio * fmax(-CUT, fmin(z, CUT));
}

static uint64_t n_all_steps(const struct gang *g)
{
    return (uint64_t)g->p->n_warmup_steps + g->p->n_steps;
}

/* The exchange of this step goes on while the next one computes, unless nothing comes after it. */
static bool hides_exchange(const struct gang *g, uint64_t step)
{
    return step + 1 != n_all_steps(g);
}

static void compute(struct gang *g, uint32_t t, enum trainer_state state, double nominal_s)
{
    struct trainer *r = &g->trainers[t];
    r->state = state;
    r->waits_at_s = g->now_s;
    const double work_s = nominal_s * r->factor;
    if (g->p->compute_sleeps || g->p->n_cores == 0) {
        agenda_set(&g->agenda, t, g->now_s + work_s);
    } else {
        gang_work(g, t, work_s);
    }
}

/* Has all of the layer's parameters, or of all of them, that are on their way? */
static bool has_params(struct gang *g, uint32_t t)
{
    struct trainer *r = &g->trainers[t];
    const struct gang_layer *l = &g->p->layers[r->layer];
    const bool *has = g->has_arrived + (size_t)t * g->slices.n;
    if (!r->is_exchanging || l->n == 0) {
        return true;
    }
    r->checked = r->checked > g->first_slice[r->layer] ? r->checked : g->first_slice[r->layer];
    while (r->checked <= g->last_slice[r->layer] && has[r->checked]) {
        r->checked++;
    }
    return r->checked > g->last_slice[r->layer];
}

static void begin_layer(struct gang *g, uint32_t t)
{
    struct trainer *r = &g->trainers[t];
    if (has_params(g, t)) {
        compute(g, t, TRAINER_FORWARD, g->p->layers[r->layer].forward_s);
    } else {
        r->state = TRAINER_NEED;
        r->waits_at_s = g->now_s;
    }
}

/* It has all parameters, or of a ring it has passed them on, too. */
static bool has_exchanged(const struct gang *g, uint32_t t)
{
    return g->p->is_ring ? ring_has_ended(g, t) : g->trainers[t].n_arrived == g->slices.n;
}

static void begin_backward(struct gang *g, uint32_t t)
{
    struct trainer *r = &g->trainers[t];
    r->layer = g->p->n_layers - 1;
    if (gang_has_exchange(g)) {
        memset(g->has_arrived + (size_t)t * g->slices.n, 0, g->slices.n * sizeof(bool));
        r->is_exchanging = true;
        r->n_arrived = r->n_ready = 0;
    }
    if (g->p->is_ring) {
        g->ranks[t].n_begun++; /* it takes part in the exchange of this step */
    }
    compute(g, t, TRAINER_BACKWARD, g->p->layers[r->layer].backward_s);
}

/* The gradients from this layer on are final: offers the slices that hold no others. */
static void ready(struct gang *g, uint32_t t, size_t offset)
{
    struct trainer *r = &g->trainers[t];
    const uint32_t n = g->slices.n;
    if (g->p->is_ring) {
        ring_ready(g, t, offset);
        return;
    }
    while (r->n_ready < n && slices_get(&g->slices, n - 1 - r->n_ready).offset >= offset) {
        server_offered(g, (n - 1 - r->n_ready) % g->slices.n_servers, t, 1);
        r->n_ready++;
    }
}

/* The slowest of the workers that a trainer of a coarse ring is. */
static void draw_factor(const struct gang *g, uint32_t t)
{
    struct trainer *r = &g->trainers[t];
    const uint64_t n = g->real->n_trainers, n_each = g->p->n_trainers;
    const uint32_t first = (uint32_t)(n * t / n_each), end = (uint32_t)(n * (t + 1) / n_each);
    double sum = 0;
    r->factor = -INFINITY;
    for (uint32_t i = first; i < end; i++) {
        const double factor = gang_factor(g->p->seed, i, r->step, g->p->jitter_ratio);
        r->factor = fmax(r->factor, factor);
        sum += factor / (end - first);
    }
    r->mean_ratio = sum / r->factor;
}

void trainer_begin(struct gang *g, uint32_t t)
{
    struct trainer *r = &g->trainers[t];
    draw_factor(g, t);
    r->layer = 0;
    r->checked = 0;
    begin_layer(g, t);
}

/* Steps that are not simulated are like the mean one since the mark. */
static void skip_steps(const struct gang *g, struct trainer *r)
{
    const uint32_t n = g->p->n_steps - 1 - MARK_STEPS;
    const double more = (double)(g->real->n_steps - g->p->n_steps) / n;
    r->spent.forward_s += (r->spent.forward_s - r->mark.forward_s) * more;
    r->spent.backward_s += (r->spent.backward_s - r->mark.backward_s) * more;
    r->spent.update_s += (r->spent.update_s - r->mark.update_s) * more;
    r->spent.exposed_s += (r->spent.exposed_s - r->mark.exposed_s) * more;
    r->skipped_s = (g->now_s - r->mark.at_s) * more;
}

static void end_step(struct gang *g, uint32_t t)
{
    struct trainer *r = &g->trainers[t];
    r->step++;
    r->spent.at_s = g->now_s + r->skipped_s;
    if (r->step == g->p->n_warmup_steps + MARK_STEPS) {
        r->mark = r->spent;
    } else if (r->step + 1 == n_all_steps(g) && g->p->n_steps < g->real->n_steps) {
        skip_steps(g, r);
    }
    if (r->step == n_all_steps(g)) {
        r->state = TRAINER_DONE;
        g->n_done++;
    } else {
        trainer_begin(g, t);
    }
}

static void end_backward(struct gang *g, uint32_t t)
{
    struct trainer *r = &g->trainers[t];
    if (!gang_has_exchange(g)) {
        compute(g, t, TRAINER_UPDATE,
                (double)g->p->n_params * sizeof(float) * g->p->costs.local_update / r->factor);
    } else if (hides_exchange(g, r->step) || has_exchanged(g, t)) {
        end_step(g, t);
    } else {
        r->state = TRAINER_END;
        r->waits_at_s = g->now_s;
    }
}

/* It has computed; the rest of its mean worker's time is waiting for the slowest one. */
static void count(const struct gang *g, struct trainer *r, double *sum_s)
{
    const double took_s = g->now_s - r->waits_at_s;
    *sum_s += took_s * r->mean_ratio;
    r->spent.exposed_s += took_s - took_s * r->mean_ratio;
}

void trainer_act(struct gang *g, uint32_t t)
{
    struct trainer *r = &g->trainers[t];
    const struct gang_layer *l = &g->p->layers[r->layer];
    switch (r->state) {
    case TRAINER_FORWARD:
        count(g, r, &r->spent.forward_s);
        r->layer++;
        if (r->layer < g->p->n_layers) {
            begin_layer(g, t);
        } else if (g->p->is_ring && !ring_has_ended(g, t)) {
            r->state = TRAINER_PASS;
            r->waits_at_s = g->now_s;
        } else {
            begin_backward(g, t);
        }
        break;
    case TRAINER_BACKWARD:
        count(g, r, &r->spent.backward_s);
        if (gang_has_exchange(g) && l->n > 0) {
            ready(g, t, l->offset);
        }
        if (r->layer > 0) {
            r->layer--;
            compute(g, t, TRAINER_BACKWARD, g->p->layers[r->layer].backward_s);
        } else {
            end_backward(g, t);
        }
        break;
    case TRAINER_UPDATE:
        r->spent.update_s += g->now_s - r->waits_at_s;
        end_step(g, t);
        break;
    default:
        break; /* no other trainer has a time */
    }
}

void trainer_arrived(struct gang *g, uint32_t t, uint32_t slice)
{
    struct trainer *r = &g->trainers[t];
    g->has_arrived[(size_t)t * g->slices.n + slice] = true;
    r->n_arrived++;
    if (r->state == TRAINER_NEED && has_params(g, t)) {
        r->spent.exposed_s += g->now_s - r->waits_at_s;
        compute(g, t, TRAINER_FORWARD, g->p->layers[r->layer].forward_s);
    } else if (r->state == TRAINER_END && has_exchanged(g, t)) {
        r->spent.exposed_s += g->now_s - r->waits_at_s;
        end_step(g, t);
    }
}

void trainer_exchanged(struct gang *g, uint32_t t)
{
    struct trainer *r = &g->trainers[t];
    if (r->state == TRAINER_PASS) {
        r->spent.exposed_s += g->now_s - r->waits_at_s;
        begin_backward(g, t);
    } else if (r->state == TRAINER_END) {
        r->spent.exposed_s += g->now_s - r->waits_at_s;
        end_step(g, t);
    }
}
