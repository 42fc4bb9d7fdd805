/* See draws.h. */
#include "draws.h"

#include <math.h>

#include "base/splitmix.h"

double draw_uniform(uint64_t *state)
{
    return (double)((splitmix_next(state) >> 11) + 1) / 9007199254740992.0;
}

double draw_normal(uint64_t *state)
{
    const double radius = sqrt(-2 * log(draw_uniform(state)));
    return radius * cos(2 * M_PI * draw_uniform(state));
}
