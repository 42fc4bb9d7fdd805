/* What a usable summary is (docs/contracts/summary.md). This is the only rule: by it an attempt has
 * a result or not (the launchers, for lib/decide), a trial has a throughput (lib/result), and the
 * live view shows one (ctl). Pure. */
#pragma once

#include "base/err.h"
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

/* The summary in a line that the store keeps of this replica; it may have a fault. Its series are
 * the caller's: summary_done(). -ENODATA: line is NULL; -EPROTO: damaged, another record, or
 * another replica's. err continues a sentence that begins with the replica: SUMMARY_MISSING or
 * SUMMARY_REFUSED. */
int summary_read(const char *line, const struct replica_id *id, struct summary *ret,
                 struct err *err);
/* The same without its series, and -EPROTO where the summary has a fault.
 * Nothing in it is owned. */
int summary_read_usable(const char *line, const struct replica_id *id, struct summary *ret,
                        struct err *err);

/* The throughput of a trial, of the row that the store keeps of its attempt, for decisions that
 * depend on it and the live view. lib/result/trial_result.c makes the same figure of all that it
 * knows of the replicas, and says why it is missing.
 * NaN: the attempt did not succeed, a replica that leads (role.h) left no usable summary, or their
 * units do not add up. `sizes`: how many replicas of each role the point has. */
double throughput_of_attempt(const struct attempt_row *row,
                             const uint32_t sizes[static ROLE_COUNT]);
/* The unit of that throughput. Where that is NaN, it means nothing. */
enum summary_unit throughput_unit_of_attempt(const struct attempt_row *row,
                                             const uint32_t sizes[static ROLE_COUNT]);
