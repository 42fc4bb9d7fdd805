/* Draws for made-up figures. */
#pragma once

#include <math.h>

#include "base/splitmix.h"

/* Between 0 and 1, and neither. */
static inline double uniform(uint64_t *state)
{
    return ((double)(splitmix_next(state) >> 11) + 0.5) / 9007199254740992.0;
}

static inline double normal(uint64_t *state)
{
    return sqrt(-2 * log(uniform(state))) * cos(2 * M_PI * uniform(state));
}
