/* A trainer, or a worker of a ring, that sleeps where it would compute: it asks for parameters
 * and hands over gradients layer by layer as the model does, at recorded times, and sends and
 * receives the real bytes, which are checked by their sums (docs/exchange.md, "Emulated trainers").
 * Used by role_trainer.c. */
#pragma once

#include "base/err.h"
#include "worker/emulated_arena.h"
#include "worker/model/model.h"
#include "worker/layer_times.h"
#include "worker/role_env.h"

struct emulation {
    struct layer_times times;
    double jitter_ratio;
    uint64_t seed;
    uint32_t trainer;
    double factor;               /* of this step */
    struct emulated_arena arena; /* empty without an exchange */
};

/* -EINVAL: the trace or the file is wrong. Call emulation_done also on failure. */
int emulation_open(const struct role_env *e, struct emulation *ret, struct err *err);
void emulation_done(struct emulation *e);

/* The two passes of a step; `hooks` are called as model.h says. */
void emulation_forward(struct emulation *e, uint64_t step, const struct model_hooks *hooks);
void emulation_backward(struct emulation *e, const struct model_hooks *hooks);
