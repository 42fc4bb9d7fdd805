/* The real clock, see wall_clock.h. Edge file: reads the clock. */
#include "run/wall_clock.h"

#include "base/clock.h"

static int64_t real_unix_ms(void *ctx)
{
    (void)ctx; /* there is one real clock */
    return clock_steady_unix_ms();
}

const struct wall_clock wall_clock_real = {.unix_ms = real_unix_ms};
