/* When the noise of the machine makes a trial invalid, where a definition asks for that (runPolicy.invalidRepeats,
 * docs/contracts/retries.md). The rule looks at one trial alone, never at its throughput, so it cannot choose the
 * trials that somebody likes. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/record.h"

/* Far beyond what result/noise.h names: such a trial measured another machine. */
#define NOISE_INVALID_CLOCK 0.10 /* from before to after */
#define NOISE_INVALID_COPY 0.40
#define NOISE_INVALID_STEAL 0.05 /* of the busy time */
/* Ticks are 10 ms long, so a share of less time than this is no share. */
#define NOISE_STEAL_MIN_BUSY_NS INT64_C(1000000000)

/* "clock 12% lower after the measured steps than before"; false: nothing, or nothing is known. */
bool noise_is_invalid(const struct noise *n, char *ret_why, size_t size);
