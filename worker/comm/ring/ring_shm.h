/* A step of the ring through shared memory, in place of ring_round.c's. A rank adds its slices
 * straight out of the others' gradients, applies the optimiser, and the others copy the new
 * parameters out of its memory.
 *
 *     every rank     gradients final -> `ready` grows
 *     owner          all ranks are ready: g1 + g2 + ... + its own, applies -> `done` of the slice
 *     every other    `done` -> copies the parameters
 *
 * The order of the additions is the ring's (ring_plan.h), so the bits are those over TCP. No rank
 * waits for a turn: there are no buffers in between that could be full. A rank begins a step when
 * it has all parameters of the one before; so a rank that sees its `ready` of a step knows that it
 * reads nothing of an older one, and may overwrite what it has read, and a rank that sees all
 * `done` knows that its gradients were read. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ring;

/* Does what can be done now, at most a few MiB of it. True: there may be more. */
bool ring_shm_advance(struct ring *r);
/* Says that this rank is about to sleep (`sleeps`). True: there is something to do first. */
bool ring_shm_wants_to_sleep(struct ring *r);
/* Everything is here. */
bool ring_shm_is_done(const struct ring *r);
/* True if this rank of the ring has done all that others need of it in this step. */
bool ring_shm_has_all_of(const struct ring *r, uint32_t rank);
/* A rank that has gradients of the step that this rank has not begun; this rank: none has. */
uint32_t ring_shm_who_goes_on(const struct ring *r);
