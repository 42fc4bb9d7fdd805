/* What a usable summary is (docs/contracts/summary.md). This is the only rule: by it an attempt has
 * a result or not (the launchers, for lib/decide), a trial has a throughput (lib/result), and the
 * live view shows one (ctl). Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "core/exchange_kind.h"
#include "core/phase.h"
#include "core/record.h"
#include "core/replica.h"

#define SUMMARY_MISSING "wrote no summary"
#define SUMMARY_REFUSED "wrote a summary that is refused" /* ": why" follows */

/* Why no throughput follows from a trainer's summary: "'samples' is 0"; NULL: one does. Static. */
const char *summary_fault(const struct summary *s);
/* samples / duration, in samples/s, of a summary without a fault. */
double summary_throughput(const struct summary *s);

/* Did the replica look at the machine? */
bool noise_is_known(const struct noise *n);

/* A throughput follows from it. NULL: false. */
bool summary_is_usable(const struct summary *s);
/* Why none does, to continue a sentence that begins with the replica: SUMMARY_MISSING, or
 * SUMMARY_REFUSED and why. Owned. */
char *summary_explain(const struct summary *s);

/* As the line of its record, without a newline; owned. */
char *summary_write(const struct summary *s, const struct replica_id *id);

/* The throughput of a trial, of the row that the store keeps of its attempt, for decisions that
 * depend on it and the live view. lib/result/trial_result.c makes the same figure of all that it
 * knows of the replicas, and says why it is missing.
 * NaN: the attempt did not succeed, a replica that leads it left no usable summary, or their
 * units do not add up. `sizes`: how many replicas of each role the point has. */
double throughput_of_attempt(const struct attempt_row *row,
                             const uint32_t sizes[static ROLE_COUNT]);
/* The unit of that throughput. Where that is NaN, it means nothing. */
enum summary_unit throughput_unit_of_attempt(const struct attempt_row *row,
                                             const uint32_t sizes[static ROLE_COUNT]);

/* Which replica probes the machine, and when its noise makes a trial invalid, if a definition asks
 * for that (runPolicy.invalidRepeats, docs/contracts/retries.md). The rule looks at one trial
 * alone, never at its throughput, so it cannot choose the trials that somebody likes. Pure. */

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
/* Adds the probes that the launcher made around the attempt, if the replica made none. */
void noise_add_seen(struct noise *noise, const struct noise *seen);
/* Adds what the launcher counted in the measured steps, if the replica did not count it itself. Its
 * CPU time is that of all processes of the program. */
void summary_add_counts(struct summary *s, const struct noise *counted, int64_t throttled_ns);

/* "clock 12% lower after the measured steps than before" (of a launcher: "after the attempt");
 * false: nothing, or nothing is known. */
bool noise_is_invalid(const struct noise *n, char *ret_why, size_t size);
