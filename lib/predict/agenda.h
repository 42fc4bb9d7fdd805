/* What happens next: actors, each with at most one time at which it acts. A heap whose times may
 * change. Of several at the same time the one with the lowest number is first, so that a simulation
 * is a function of its input. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct agenda_entry {
    double time_s;
    uint32_t actor;
};
struct agenda {
    struct agenda_entry *heap; /* owned */
    uint32_t *place;           /* (n_actors) in the heap, from 1; 0: it has no time; owned */
    uint32_t n;
};

void agenda_init(struct agenda *a, uint32_t n_actors);
void agenda_done(struct agenda *a);
/* From now on the actor acts at this time, and at no other; INFINITY: not at all. */
void agenda_set(struct agenda *a, uint32_t actor, double time_s);
/* The first actor and its time; false if no actor has one. */
bool agenda_first(const struct agenda *a, uint32_t *ret_actor, double *ret_time_s);
