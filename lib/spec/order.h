/* The order in which the trials of a run's points run: a pure function of the seed, laid down in
 * docs/contracts/order.md so that another implementation comes to the same one. */
#pragma once

#include <stdint.h>

#include "spec/spec.h"

struct slot { /* one trial to run */
    uint32_t point, trial;
};
/* n_points x repeats slots, owned: repeat by repeat, each repeat shuffled by the seed (Interleaved)
 * or point by point in order (Sequential). */
struct slot *order_slots(uint32_t n_points, uint32_t repeats, enum order_kind order, uint64_t seed);
