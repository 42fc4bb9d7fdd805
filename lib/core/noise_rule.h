/* Which replica probes the machine, and when its noise makes a trial invalid, if a definition asks
 * for that (runPolicy.invalidRepeats, docs/contracts/retries.md). The rule looks at one trial
 * alone, never at its throughput, so it cannot choose the trials that somebody likes. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/exchange_kind.h"
#include "core/exchange_mode.h"
#include "core/record.h"

/* Far beyond what result/noise.h names: such a trial measured another machine. */
#define NOISE_INVALID_CLOCK 0.10 /* from before to after */
#define NOISE_INVALID_COPY 0.40
#define NOISE_INVALID_STEAL 0.05 /* of the busy time */
/* Ticks are 10 ms long, so a share of less time than this is no share. */
#define NOISE_STEAL_MIN_BUSY_NS INT64_C(1000000000)

/* Does trainer 0 of benchworker look at its machine around the measured steps? Only where no other
 * member of its gang computes between the last step of its warm-up and the barrier, and after its
 * last step: without warm-up others may still start, and only Sync lets all end a step together. */
bool noise_worker_looks(enum exchange_kind exchange, bool has_warmup,
                        const struct exchange_mode *mode);
/* Adds what the launcher saw around the attempt to what a replica of it says: the probes if it made
 * none, the busy time if it counted none. */
void noise_add_seen(struct noise *noise, const struct noise *seen);

/* "clock 12% lower after the measured steps than before" (of a launcher: "after the attempt");
 * false: nothing, or nothing is known. */
bool noise_is_invalid(const struct noise *n, char *ret_why, size_t size);
