/* Which finished run of a store is erased next because of its age, the number of runs or the size
 * of the store (benchd --keep, --keep-runs, --keep-bytes). Called by daemon/retention.c,
 * which erases that run and asks again. Pure.
 *
 * Always the oldest first. An age is the time from the run's end, as the clock that stored it said,
 * to `now`. A wrong clock must not erase results:
 *   - An end before RETENTION_FIRST_DATE_MS is no date (a clock that was not set):
 *     callers leave such runs out.
 *   - An end in the future has no age yet; the run counts as a new one.
 *   - benchd passes as `now` the earlier of two clocks, its own and the API server's. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RETENTION_FIRST_DATE_MS INT64_C(1577836800000) /* 2020-01-01: older than this program */

struct retention_policy { /* 0: no limit */
    int64_t age_ms, n_runs, store_bytes;
};

enum retention_reason {
    RETENTION_ALL,
    RETENTION_PAST_AGE,
    RETENTION_PAST_COUNT,
    RETENTION_PAST_SIZE
};
#define RETENTION_N_REASONS 4

struct retention_run {
    int64_t ended_unix_ms;
    bool is_in_use; /* somebody works with it: not now */
};

struct retention_facts {
    const struct retention_run
        *oldest; /* finished runs with a date, by their end, or the first of them */
    size_t n_oldest;
    size_t n_finished; /* all of them */
    int64_t store_bytes;
    int64_t now_unix_ms;
};

struct retention_verdict {
    enum retention_reason reason; /* RETENTION_ALL: nothing is to be erased, or not now */
    size_t run;                   /* else: the index in `oldest` */
};

struct retention_verdict retention_decide(const struct retention_policy *policy,
                                          const struct retention_facts *facts);
