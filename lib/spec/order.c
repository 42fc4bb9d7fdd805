/* See order.h. */
#include "spec/order.h"

#include "base/mem.h"
#include "base/splitmix.h"

static void shuffle(uint32_t *items, uint32_t n, uint64_t *state)
{
    for (uint32_t i = n; i-- > 1;) {
        uint32_t j = splitmix_below(state, i + 1);
        uint32_t moved = items[i];
        items[i] = items[j];
        items[j] = moved;
    }
}

struct slot *order_slots(uint32_t n_points, uint32_t repeats, enum order_kind order, uint64_t seed)
{
    struct slot *slots = xnew_array(struct slot, (size_t)n_points * repeats + 1);
    struct slot *slot = slots;
    if (order == ORDER_SEQUENTIAL) {
        for (uint32_t point = 0; point < n_points; point++) {
            for (uint32_t trial = 0; trial < repeats; trial++) {
                *slot++ = (struct slot){point, trial};
            }
        }
        return slots;
    }
    uint32_t *points = xnew_array(uint32_t, (size_t)n_points + 1);
    uint64_t state = seed;
    for (uint32_t trial = 0; trial < repeats; trial++) {
        for (uint32_t i = 0; i < n_points; i++) {
            points[i] = i;
        }
        shuffle(points, n_points, &state);
        for (uint32_t i = 0; i < n_points; i++) {
            *slot++ = (struct slot){points[i], trial};
        }
    }
    free(points);
    return slots;
}
