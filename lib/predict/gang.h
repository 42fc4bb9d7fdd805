/* One trial of trainers and parameter servers, or of workers that form a ring, simulated: what
 * docs/prediction.md says in words. Pure: the same parameters, the same result.
 *
 * What decides is the code that benchworker runs: the plan of slices, who may send next, room for
 * early gradients, the order of a ring (lib/exchange). What is modelled: layers take recorded
 * times, a step of a trainer is longer or shorter by a factor; links are shared fairly; a server
 * and the communication thread of a trainer do one thing at a time, in the order in which it came,
 * each byte at a cost.
 *
 * A worker is a trainer of a ring: where nothing else is said, "trainer" means both. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct gang_layer {
    size_t offset, n; /* its parameters, in floats; n is 0 for a layer without */
    double forward_s, backward_s;
};

/* Seconds of one thread for a byte. */
struct gang_costs {
    double receive, send; /* of a server */
    double update;        /* the optimiser's, for a byte of parameters */
    double trainer;       /* of a trainer's communication thread, sent or received */
    double worker;        /* the same of a worker's, with the additions of what it receives */
    double worker_update; /* the optimiser's there, for a byte of the worker's own parameters */
    double local_update;  /* the optimiser's of a trainer without an exchange */
};

struct gang_params {
    const struct gang_layer *layers; /* (n_layers) in the order of the model */
    uint32_t n_layers;
    size_t n_params;                /* of all layers; the last layer with some ends there */
    uint32_t n_trainers, n_servers; /* no servers: each trainer is alone, or all are a ring */
    bool is_ring;                   /* n_servers is 0 */
    /* Warm-up steps are not simulated, because the measured ones begin after a barrier that waits
     * for everything: they only are the first that a factor is drawn for. */
    uint32_t n_warmup_steps, n_steps;
    double jitter_ratio; /* standard deviation of the factor of a step */
    uint64_t seed;
    struct gang_costs costs;
    double trainer_bytes_per_s,
        server_bytes_per_s;   /* of a link, each way; INFINITY: no link is there */
    double first_bytes_per_s; /* the same of the first trainer's link; 0: it is as the others' */
    double latency_s;         /* from when a slice has left a link until it is at its end */
    double n_cores;           /* that all share; 0: each thread has a core of its own */
    bool compute_sleeps;      /* emulated trainers: computing needs no core */
};

#define GANG_MAX_SLICES 5000000 /* of all trainers; each connection has one at least */
/* Ends of layers, and slices there and back. Of a longer trial fewer steps are simulated, but
 * GANG_MIN_STEPS: docs/prediction.md says how well. */
#define GANG_MAX_EVENTS 5300000
#define GANG_MIN_STEPS 5
/* A ring of more workers is simulated as one of so many: docs/prediction.md says how well. */
#ifndef GANG_MAX_RANKS
#define GANG_MAX_RANKS 64
#endif

/* Means over the trainers and the measured steps; a share is of the measured time. */
struct gang_result {
    double steps_per_s;                   /* of one trainer, summed over the trainers */
    double step_s, forward_s, backward_s; /* forward and backward without waiting */
    double update_s;                      /* of a trainer without an exchange */
    double exposed_s;                     /* waited for the exchange */
    double late_s;       /* the slowest trainer of a step computes longer than the mean by */
    double server_share; /* of time, the busiest server works */
    /* of what the link carries in its busier direction; of trainers the slowest link */
    double server_link_share, trainer_link_share;
    double worker_share;  /* of time, the busiest worker's communication thread works */
    double cores_share;   /* of the shared cores; 0: none are shared */
    uint64_t n_transfers; /* slices that crossed a simulated link */
    uint64_t n_steps;     /* that were simulated */
};

/* Of a trainer's link, each way. In gang_base.c. */
double gang_link_of(const struct gang_params *p, uint32_t trainer);

/* -E2BIG with a text that says what is too large. */
int gang_check(const struct gang_params *p, struct err *err);
/* The parameters have passed gang_check. */
struct gang_result gang_run(const struct gang_params *p);

/* Is half of what a step waits for the exchange, or more, not waited without the latency? `r` is of
 * these parameters. It simulates again: what else is waited for hides a latency, or does not. */
bool gang_waits_for_latency(const struct gang_params *p, const struct gang_result *r);

/* What the times of a step are multiplied with; a mean of 1, cut at three standard
 * deviations. In gang_trainer.c. */
double gang_factor(uint64_t seed, uint32_t trainer, uint64_t step, double jitter_ratio);
