/* activeDeadlineSeconds: how long a run may still take. Pure. */
#pragma once

#include <stdint.h>

#define DEADLINE_NONE INT64_MAX

/* Milliseconds left: 0 when it has passed, DEADLINE_NONE without a deadline (`deadline_s` 0) or the
 * run has not started (`started_unix_ms` 0). */
int64_t deadline_remaining_ms(int64_t started_unix_ms, int64_t deadline_s, int64_t now_unix_ms);
