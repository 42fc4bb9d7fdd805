/* Async: a server applies each trainer's gradients on their own, when they arrive. There are no
 * rounds and no sums: a slice of the parameters has a version, the number of gradients that were
 * applied to it.
 *
 * A gradient's staleness is the number of versions between the parameters that its trainer computed
 * with and those that it is applied to.
 *
 * Parameters that are on their way to one trainer may change for another, so each is sent as a
 * copy, which lives until TAKEN. Memory: at most the limits of flow.h in both directions. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "core/exchange_kind.h"
#include "exchange/flow.h"

struct ps_single {
    uint32_t n_trainers;
    enum exchange_wire wire;
    size_t n_slices, max_len; /* the longest slice, in floats */
    uint64_t *versions;       /* (n_slices) owned */
    uint64_t *seen;           /* (n_trainers, n_slices) owned: the version that each trainer has */
    void **copies;     /* (n_trainers, max_each) owned: parameters on their way, a ring each */
    uint64_t max_each; /* of the flow to one trainer */
    VEC(void *) spare; /* owned buffers of the longest slice */
    uint64_t staleness_sum, staleness_max, n_gradients; /* measured */
};

void ps_single_init(struct ps_single *s, uint32_t n_trainers, enum exchange_wire wire,
                    size_t n_slices, size_t max_len, uint64_t max_each);
void ps_single_done(struct ps_single *s);

/* A buffer for a gradient, and where it lands in it. */
void *ps_single_take(struct ps_single *s);
void *ps_single_landing(const struct ps_single *s, void *buffer, size_t len);
void ps_single_drop(struct ps_single *s, void *buffer);
/* The gradient is complete: makes fp32 of it and counts it. Returns the version that its update
 * makes, from 1. */
uint64_t ps_single_arrived(struct ps_single *s, uint32_t trainer, size_t slice, void *buffer,
                           size_t len);

/* The len parameters of a slice as they go to the trainer, as its `number`-th. Borrowed until
 * ps_single_release of that number. */
const void *ps_single_send(struct ps_single *s, uint32_t trainer, size_t slice, uint64_t number,
                           const float *params, size_t len);
void ps_single_release(struct ps_single *s, uint32_t trainer, uint64_t number);
