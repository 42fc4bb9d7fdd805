/* Whether the trial of an ended attempt is retried: docs/contracts/retries.md, "What follows".
 * Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "decide/policy_attempt.h"
#include "spec/spec.h"

/* The outcome that the attempt's row gets. `attempts_before` counts the trial's rows so far. Void
 * means that another attempt follows. */
enum attempt_outcome retry_decide(enum attempt_end end, enum on_trial_failure on_trial_failure,
                                  uint32_t attempts_before, int64_t backoff_limit);
/* Whether the row is Invalid instead, and another attempt follows: runPolicy.invalidRepeats are
 * left. `invalid_before` counts the run's Invalid rows so far. With none left a noisy trial counts,
 * so a run always ends. */
bool invalid_decide(enum attempt_end end, uint32_t invalid_before, int64_t invalid_repeats);
