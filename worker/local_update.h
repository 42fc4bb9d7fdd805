/* What a trainer with local steps (core/exchange_mode.h) does between two exchanges, range by range
 * while the model makes its gradients, so that they are still in the caches and can leave at once:
 * Adam updates each range of the trainer's own parameters. In the last step these are what it
 * sends. Without local steps a range is passed on as it is. */
#pragma once

#include <stdbool.h>

#include "core/exchange_mode.h"
#include "worker/model/adam.h"

struct local_update {
    struct exchange_mode mode;
    size_t n;              /* parameters */
    struct adam *adam;     /* (n) of the local steps, borrowed */
    uint64_t step;         /* of the backward pass under way */
    size_t from;           /* gradients from here on are final */
    int64_t ns;            /* spent in this pass */
    float *grads, *params; /* (n) of the model, borrowed */
};

/* `adam` is used with local steps only. */
void local_update_init(struct local_update *b, const struct exchange_mode *mode, struct adam *adam,
                       size_t n);
/* A backward pass begins, of this step. */
void local_update_begin(struct local_update *b, uint64_t step, float *grads, float *params);
/* The gradients from `offset` on are final, and the parameters from there on are not read
 * any more in this pass. Returns whether what is sent after this step is there now, from
 * `offset` on: then it may go. */
bool local_update_ready(struct local_update *b, size_t offset);
