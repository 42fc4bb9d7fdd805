/* A trainer, or a worker of a ring, that sleeps where it would compute: it asks for parameters
 * and hands over gradients layer by layer as the model does, at recorded times, and sends and
 * receives the real bytes, which are checked by their sums (docs/exchange.md, "Emulated trainers").
 * Edge file: maps and locks. Used by role_trainer.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "core/emulation_limits.h"
#include "worker/model/model.h"
#include "worker/role_env.h"

/* ---- how long layers take ---- */

/* Times that `benchworker bench -o trace` recorded, or that somebody wrote down (docs/exchange.md,
 * "Emulated trainers"). */
struct layer_time {
    size_t offset, n; /* its parameters; n is 0 for a layer without */
    int64_t forward_ns, backward_ns;
};
struct layer_times {
    struct layer_time *layers; /* (n_layers) owned, in the order of the model */
    uint32_t n_layers;
};

#define LAYER_TIMES_LAYER_NS_MAX (EMULATED_LAYER_US_MAX * INT64_C(1000))

/* From "conv1_1=310000:640000,...": nanoseconds forward and backward, in any order. Every layer
 * with parameters is named; one without may be left out and then takes no time. -EINVAL. */
int layer_times_read(const struct model_def *def, const char *text, struct layer_times *ret,
                     struct err *err);
void layer_times_done(struct layer_times *p);

/* What a step's times are multiplied with: about 1, with a standard deviation of jitter_ratio, cut
 * at three of them. A function of (seed, trainer, step). */
double layer_times_factor(uint64_t seed, uint32_t trainer, uint64_t step, double jitter_ratio);

/* A shorter wait for parameters does not count: it is what asking costs. */
#define LAYER_TIMES_WAITED_NS INT64_C(100000)
/* When a layer ends that was due to begin at due_ns. Its parameters were asked for at asked_ns and
 * were there at got_ns. If the trainer had to wait for them, the layer began when they came. If
 * not, it began when it was due, even if the sleep before it took too long: a computing trainer
 * does not oversleep. */
int64_t layer_times_end(int64_t due_ns, int64_t asked_ns, int64_t got_ns, int64_t layer_ns);

/* ---- the arena ---- */

/* What all emulated trainers of a trial on one machine share, in one file in memory:
 *
 *   head | checksums (steps, slices) | gradients (n + a window for each trainer) | parameters (n)
 *
 * The gradients are read only and the same memory for all: trainer i sends them from its own place
 * on, so each sends other values, and other ones in the next step. Parameters are received into the
 * same memory by all and never read: what is checked is the checksum of each frame, against the
 * checksums here, which the first trainer computes alone, slice by slice: the sum in trainer order
 * and Adam, for every step.
 *
 * The workers of a ring apply the optimiser themselves and pass parameters on, so each has its own:
 * a private copy of those here, which no process writes to. Their sums begin at the rank after a
 * slice's owner (ring_plan.h).
 *
 * So 100 trainers need the memory of one. The first trainer that opens the file fills it, under a
 * lock that its death releases; the others wait. */
struct emulated_arena {
    void *shared; /* the mapping of the whole file, owned */
    size_t bytes;
    const uint32_t *checksums; /* (n_steps, slices.n) of the parameters after each step */
    const float *grads;
    /* (slices.n_params). Of a ring: this process's own, at first as they are
     * before the first step. */
    float *params;
};

/* ---- the trainer ---- */

struct emulation {
    struct layer_times times;
    const struct role_env *env;
    double factor;               /* of this step */
    struct emulated_arena arena; /* empty without an exchange */
};

/* -EINVAL: the trace or the file is wrong. Call emulation_done also on failure. */
int emulation_open(const struct role_env *e, struct emulation *ret, struct err *err);
void emulation_done(struct emulation *e);

/* What the trainer sends in a step; NULL without an exchange. */
const float *emulation_grads(const struct emulation *e, uint64_t step);
/* The two passes of a step; `hooks` are called as model.h says. */
void emulation_forward(struct emulation *e, uint64_t step, const struct model_hooks *hooks);
void emulation_backward(struct emulation *e, const struct model_hooks *hooks);
