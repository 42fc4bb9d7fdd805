/* The date as the driver sees it: that of clock_steady_unix_ms, which setting the clock does not
 * change, or a test's. */
#pragma once

#include <stdint.h>

struct wall_clock {
    int64_t (*unix_ms)(void *ctx);
    void *ctx;
};

extern const struct wall_clock wall_clock_real;
