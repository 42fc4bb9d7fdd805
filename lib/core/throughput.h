/* The throughput of a trial, of the row that the store keeps of its attempt
 * (docs/contracts/result.md, "Numbers"). lib/run asks, for decisions that depend on it, and the
 * live view. lib/result/trial_result.c makes the same figure of all that it knows of the
 * replicas, and says why it is missing. Pure. */
#pragma once

#include "core/phase.h"
#include "core/record.h"

/* Of an attempt that succeeded. `sizes`: how many replicas of each role the point has. NaN: none,
 * because a replica that leads (role.h) left no usable summary, or their units do not add up. */
double throughput_of_attempt(const struct attempt_row *row,
                             const uint32_t sizes[static ROLE_COUNT]);
/* The unit of that throughput. Where that is NaN, it means nothing. */
enum summary_unit throughput_unit_of_attempt(const struct attempt_row *row,
                                             const uint32_t sizes[static ROLE_COUNT]);
